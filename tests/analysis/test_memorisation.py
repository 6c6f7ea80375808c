"""The memorisation probe's statistics: overlap, null and share."""

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


def numbered(count):
    return {str(n): " ".join(f"w{n}x{k}" for k in range(20)) for n in range(count)}


def test_known_texts_stand_out_from_the_null():
    truths = numbered(40)
    replies = {name: truth if int(name) < 10 else "something quite else" for name, truth in truths.items()}
    found = probed(replies, truths)
    assert set(found.known) == {str(n) for n in range(10)}
    assert found.share.value == 25.0
    assert found.share.n == 40
    assert found.null_n == 40 * 39
    assert found.p < 1e-9


def test_a_stock_phrase_is_part_of_the_null():
    truths = {name: f"{text} and that was that" for name, text in numbered(30).items()}
    found = probed(dict.fromkeys(truths, "and that was that"), truths)
    assert found.known == ()
    assert found.share.value == 0.0
    assert found.p == 1.0


def test_too_few_texts_give_no_share():
    truths = numbered(5)
    found = probed(truths, truths)
    assert found.share.value is None
    assert found.p is None
    assert found.known == ()
