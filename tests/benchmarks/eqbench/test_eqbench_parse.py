import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eqlab.benchmarks.eqbench.score import PRESETS
from eqlab.benchmarks.eqbench.trials import english_pairs, german_pairs, is_complete, read_scores

NAMES = ("Calm", "Sad", "Proud", "Angry")
BOARD, CODE = PRESETS["leaderboard"], PRESETS["published-code"]
GOOD = "Calm: 1\nSad: 0\nProud: 10\nAngry: 4"


def first(text, rules=BOARD, revision=False):
    return read_scores(text, NAMES, rules, "en", revision).first


@pytest.mark.parametrize("rules", [BOARD, CODE])
def test_a_plain_reply(rules):
    assert first(GOOD, rules) == {"Calm": 1, "Sad": 0, "Proud": 10, "Angry": 4}


def test_a_fifth_pair_voids_the_answer_only_under_the_strict_rule():
    text = GOOD + "\nConfidence: 8/10"
    assert first(text, CODE) is None
    assert first(text, BOARD) == first(GOOD)


def test_a_preamble_line_is_no_obstacle():
    # another port stops at the first empty line, and gives such a reply 0 instead of 100
    assert first(f"Sure, here are my scores.\n\n{GOOD}", CODE) == first(GOOD)


def test_emotions_of_several_words():
    # `\\w+` reads "at peace: 5" as "peace"; other ports lose such answers in Spanish and Catalan
    names = ("at peace", "peace", "let down", "Angry")
    text = "Well, here: 1\nat peace: 5\npeace: 2\nlet down: 7\nAngry: 0"
    scores = read_scores(text, names, BOARD, "en", False)
    assert scores.first == {"at peace": 5, "peace": 2, "let down": 7, "Angry": 0}
    assert read_scores("heat peace: 5", ("at peace", "let down", "Sad", "Angry"), BOARD, "en", False).first is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (GOOD.replace("Calm: 1", "Calm: 7.5"), 7),
        (GOOD.replace("Calm: 1", "Calm: 7/10"), 7),
        (GOOD.replace("Calm: 1", "Calm: 12"), 12),
        (GOOD + "\nCalm: 9", 9),
        (GOOD.replace("Calm: 1", "Calm:\n\n 3"), 3),
    ],
)
def test_quirks_that_change_scores_are_kept(text, expected):
    assert first(text, CODE)["Calm"] == expected
    assert first(text, BOARD)["Calm"] == expected


@pytest.mark.parametrize(
    "text",
    [
        GOOD.replace("Calm: 1", "Calm:1"),
        GOOD.replace("Calm: 1", "**Calm**: 1"),
        GOOD.replace("Calm: 1", "calm: 1"),
        GOOD.replace("Calm: 1", "Calm: -1"),
        GOOD.replace("Calm: 1\n", ""),
        "",
        "Calm: 0\nSad: 0\nProud: 0\nAngry: 0",
    ],
)
@pytest.mark.parametrize("rules", [BOARD, CODE])
def test_what_is_no_answer(text, rules):
    assert first(text, rules) is None


BOTH = f"First pass scores:\n{GOOD}\n\nCritique: Calm: maybe 3.\n\nRevised scores:\n" + GOOD.replace("Sad: 0", "Sad: 2")


def test_revision_passes_are_split():
    scores = read_scores(BOTH, NAMES, BOARD)
    assert scores.first["Sad"] == 0
    assert scores.revised["Sad"] == 2
    assert is_complete(scores, True, BOARD)


def test_the_reply_decides_whether_it_has_two_passes():
    assert read_scores(GOOD, NAMES, BOARD, revision=True).first == first(GOOD)
    without_heading = f"{GOOD}\nRevised scores:\n{GOOD}"
    scores = read_scores(without_heading, NAMES, BOARD)
    assert scores.first is None
    assert scores.revised is not None


def test_half_an_answer_is_kept_but_not_complete():
    zeros = BOTH.replace(f"First pass scores:\n{GOOD}", "First pass scores:\nCalm: 0\nSad: 0\nProud: 0\nAngry: 0")
    scores = read_scores(zeros, NAMES, BOARD)
    assert scores.first == dict.fromkeys(NAMES, 0)
    assert scores.revised is not None
    assert not is_complete(scores, True, BOARD)


@pytest.mark.parametrize("rules", [BOARD, CODE])
def test_a_number_of_fifteen_digits_is_read_and_a_longer_one_is_no_score(rules):
    fifteen, sixteen = "9" * 15, "1" + "0" * 15
    assert first(GOOD.replace("Calm: 1", f"Calm: {fifteen}"), rules)["Calm"] == int(fifteen)
    assert first(GOOD.replace("Calm: 1", f"Calm: {sixteen}"), rules) is None
    assert first(GOOD.replace("Calm: 1", "Calm: 0000000000000001"), rules) is None  # counted, not weighed


def test_a_revision_run_is_not_complete_without_its_revised_pass():
    """Such a reply is asked again, and kept as unreadable when all tries are used up; a plain run takes it."""
    alone = read_scores(GOOD, NAMES, BOARD)
    assert alone.revised is None
    assert is_complete(alone, False, BOARD)
    assert not is_complete(alone, True, BOARD)
    from eqlab.benchmarks.eqbench.benchmark import EqBench
    from eqlab.benchmarks.eqbench.items import Question
    from eqlab.benchmarks.eqbench.score import EqBenchOptions
    from eqlab.benchmarks.eqbench.trials import build_trial

    benchmark = EqBench()
    question = Question("1", "en", "Ann: Hm.", "Ann", tuple(NAMES), dict.fromkeys(NAMES, 1.0))
    for revision, status in (("no", "ok"), ("yes", "unparseable")):
        options = benchmark.options("open", {"revision": revision})
        trial = build_trial(question, EqBenchOptions.of(options), structured=False)
        assert benchmark.read(trial, GOOD, options).status == status
    assert benchmark.read(trial, GOOD, options).values["first_pass"] == first(GOOD)
    assert benchmark.read(trial, BOTH, options).status == "ok"
    zeros = re.sub(r"\d+", "0", GOOD)
    assert benchmark.read(trial, zeros, options).note == "all four scores are 0, which the rules take for no answer"
    assert benchmark.read(trial, "I would rather not say.", options).note.startswith("no four scores for ")


def test_four_zeros_twice_are_no_answer():
    zeros = "Calm: 0\nSad: 0\nProud: 0\nAngry: 0"
    scores = read_scores(f"First pass scores:\n{zeros}\nRevised scores:\n{zeros}", NAMES, BOARD)
    assert scores.first is None
    assert scores.revised is None


DE = ("Reuevoll", "Gleichgültig", "Zuneigend", "Verärgert")
GUT = "Reuevoll: 1\nGleichgültig: 2\nZuneigend: 0\nVerärgert: **9**"


def test_german():
    for rules in (BOARD, CODE):
        assert read_scores(GUT, DE, rules, "de", False).first["Verärgert"] == 9


def test_german_losses_of_the_published_code_are_mended_by_names():
    glued = f"Hier sind meine Bewertungen\n{GUT}"
    comma = GUT.replace("Reuevoll: 1", "Reuevoll: 7,5")
    odd_heading = f"Erste Bewertung:\n{GUT}\nRevidierte Bewertung:\n{GUT}"
    for text in (glued, comma):
        assert read_scores(text, DE, CODE, "de", False).first is None
        assert read_scores(text, DE, BOARD, "de", False).first is not None
    assert read_scores(odd_heading, DE, CODE, "de").revised is None
    assert read_scores(odd_heading, DE, BOARD, "de").revised is not None


@given(st.text(alphabet="aB7_: .\n*é", max_size=60))
def test_the_fast_pattern_finds_what_the_published_one_finds(text):
    assert english_pairs(text) == re.findall(r"(\w+):\s+(\d+)", text)


@given(st.text(alphabet="aBü7,: .\n*é", max_size=60))
def test_the_fast_german_pattern_finds_what_the_published_one_finds(text):
    published = r"([a-zA-ZäöüßÄÖÜ\s]+):\s*\**(\d+(?:,\d+)?)\**"
    assert german_pairs(text) == re.findall(published, text)


@given(st.lists(st.integers(0, 10), min_size=4, max_size=4).filter(any), st.permutations(NAMES))
def test_every_well_formed_reply_is_read_back(values, order):
    wanted = dict(zip(NAMES, values, strict=True))
    text = "\n".join(f"{name}: {wanted[name]}" for name in order)
    for rules in (BOARD, CODE):
        assert first(text, rules) == wanted


@given(st.text())
def test_no_text_crashes_the_reader(text):
    for rules in (BOARD, CODE):
        for language, names in (("en", NAMES), ("de", DE)):
            scores = read_scores(text, names, rules, language)
            assert scores.first is None or set(scores.first) == set(names)
