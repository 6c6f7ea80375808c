"""A plain reply reads the same under all rules, so it is not read twice: checked on every published reply."""

import pytest

from eqlab.benchmarks.eqbench.score import PRESETS
from eqlab.benchmarks.eqbench.trials import choose, choose_again, read_scores
from eqlab.runs.published_results import PublishedReader

NAMES = ("Calm", "Angry", "Sad", "Proud")
FOUR = "Calm: 1\nAngry: 2\nSad: 3\nProud: 4"


def reread(scored, one, other):
    first = choose(scored, one)
    again, anew = choose_again(first, other), choose(scored, other)
    assert (again.status, again.answer, again.scores.first, again.scores.revised) == (
        anew.status, anew.answer, anew.scores.first, anew.scores.revised,
    )  # fmt: skip
    return again is first


def test_every_published_reply_reads_the_same_again(published):
    reader = PublishedReader(published, revision=True)
    kept = total = 0
    for path in reader.files()[::6]:
        for scored in reader.read(path).scored:
            for one, other in (("leaderboard", "published-code"), ("published-code", "leaderboard")):
                kept += reread(scored, PRESETS[one], PRESETS[other])
                total += 1
    assert 0 < kept < total


@pytest.mark.parametrize(
    ("text", "names", "plain"),
    [
        (FOUR, NAMES, True),
        (f"{FOUR}\nDoubt: 5", NAMES, False),
        (f"First pass scores:\n{FOUR}\nCritique: none\nRevised scores:\n{FOUR}", NAMES, True),
        (f"First pass scores:\n{FOUR}\nRevised scores:\n{FOUR}\nSure: 9", NAMES, False),
        ("Calm: 0\nAngry: 0\nSad: 0\nProud: 0", NAMES, False),
        ("at peace: 1\nAngry: 2\nSad: 3\nProud: 4", ("at peace", "Angry", "Sad", "Proud"), False),
    ],
)
def test_what_is_plain(text, names, plain):
    assert read_scores(text, names, PRESETS["leaderboard"]).plain is plain
