"""The memorisation probe's statistics: overlap, null and share."""

import random
from difflib import SequenceMatcher

from hypothesis import given
from hypothesis import strategies as st

from eqlab.analysis.memorisation import halves, longest_run, overlap, probed, words

letters = st.lists(st.sampled_from("abcd"), max_size=25)


@given(letters, letters)
def test_longest_run_is_the_longest_common_substring(first, second):
    match = SequenceMatcher(None, first, second, autojunk=False).find_longest_match()
    assert longest_run(first, second) == match.size == longest_run(second, first)


@given(st.text(alphabet="ab \n", max_size=60))
def test_halves_lose_nothing_but_space(text):
    first, second = halves(text)
    assert "".join((first + second).split()) == "".join(text.split())


def test_overlap_is_a_share_of_the_truth():
    assert overlap(words("He said: The cat, sat."), words("the cat sat down")) == 0.75
    assert overlap(["a"], []) == 0.0


def test_a_run_ends_between_words_of_the_first_half():
    given = {("ann", "lee"), ("lee", "said")}
    assert longest_run(words("Ann Lee said no more"), words("then Ann Lee said no more"), given) == 3


def beside(truths, firsts=None):
    return {name: ((firsts or {}).get(name, ""), truth) for name, truth in truths.items()}


def numbered(count):
    return {str(n): " ".join(f"w{n}x{k}" for k in range(20)) for n in range(count)}


def test_known_texts_stand_out_from_the_null():
    truths = numbered(40)
    replies = {name: truth if int(name) < 10 else "something quite else" for name, truth in truths.items()}
    found = probed(replies, beside(truths))
    assert set(found.known) == {str(n) for n in range(10)}
    assert found.share.value == 25.0
    assert found.share.n == 40
    assert found.null_n == 40 * 39
    assert found.p < 1e-9


def test_a_stock_phrase_is_part_of_the_null():
    truths = {name: f"{text} and that was that" for name, text in numbered(30).items()}
    found = probed(dict.fromkeys(truths, "and that was that"), beside(truths))
    assert found.known == ()
    assert found.share.value == 0.0
    assert found.p == 1.0


def test_a_topic_that_the_first_half_gives_away_is_part_of_the_null():
    """Reply and second half share the words of their topic, in no common order: nothing was remembered."""
    draw = random.Random(1)
    own = {str(n): [f"t{n}x{k}" for k in range(5)] for n in range(30)}
    replies, truths = ({name: " ".join(draw.choices(topic, k=30)) for name, topic in own.items()} for _ in "ab")
    assert probed(replies, beside(truths)).p > 0.01
    assert probed(truths, beside(truths)).p < 1e-9


def test_a_name_of_several_words_that_the_first_half_gives_away_is_not_remembered():
    names = {str(n): f"Ann{n} van der Lee{n}" for n in range(30)}
    firsts, replies, truths = (
        {number: f"{word}a {name} {word}b" for number, name in names.items()} for word in ("first", "reply", "truth")
    )
    assert probed(replies, beside(truths)).p < 1e-9
    assert probed(replies, beside(truths, firsts)).p == 1.0


def test_too_few_texts_give_no_share():
    truths = numbered(5)
    found = probed(truths, beside(truths))
    assert found.share.value is None
    assert found.p is None
    assert found.known == ()
