"""Shares of variance and intervals over speakers, on worlds whose truth is known."""

from itertools import pairwise

import numpy as np
import pytest
from later import Later

from eqlab.benchmarks.dialogue.result import (
    LISTENER,
    PERSONA,
    SPEAKER,
    Cell,
    designs,
    facet_tables,
    facets,
    final_emotion,
    note,
    speaker_line,
)
from eqlab.benchmarks.dialogue.talked import Said, Talked

stats = Later("scipy.stats")


def cells(seed, *, listeners=6, personas=40, speakers=8, sd=(5.0, 8.0, 10.0, 6.0)):
    draw = np.random.default_rng(seed)
    a, b, c = (draw.normal(0, size, count) for size, count in zip(sd, (listeners, personas, speakers), strict=False))
    return [
        Cell(f"l{i}", f"p{j}", f"s{k}", 50 + a[i] + b[j] + c[k] + draw.normal(0, sd[3]))
        for i in range(listeners) for j in range(personas) for k in range(speakers)
    ]  # fmt: skip


@pytest.mark.claims
def test_shares_are_those_of_the_world():
    truth = {LISTENER: 25.0, PERSONA: 64.0, SPEAKER: 100.0, "residual": 36.0}
    found = [facets(cells(seed)) for seed in range(6)]
    for factor, value in truth.items():
        mean = np.mean([one.fitted.variance[factor] for one in found])
        assert mean == pytest.approx(value, rel=0.4), factor


def test_the_largest_share_is_that_of_the_world():
    found = facets(cells(0))
    assert max(found.fitted.variance, key=found.fitted.variance.get) == SPEAKER
    assert found.with_speaker >= found.share(SPEAKER)
    titles = [table.title for table in facet_tables(found)]
    assert titles == ["Where the end of a talk comes from", "How many personas and speakers for ±5"]


def test_one_speaker_cannot_be_told_from_the_rest():
    found = facets(cells(1, speakers=1))
    assert found.share(SPEAKER) is None
    assert "One speaker" in facet_tables(found)[0].note


def test_speakers_who_met_no_listener_twice_cannot_be_told_apart():
    """Each listener had a speaker of its own: no share is the speaker's, and the reason stands with the others."""
    own = [cell for cell in cells(3, listeners=6, speakers=6) if cell.listener[1:] == cell.speaker[1:]]
    found = facets(own)
    assert found.share(SPEAKER) is None
    assert note(found).startswith("no listener was met by two speakers")
    assert "cannot be told" in facet_tables(found)[0].note


def test_designs_are_those_of_the_formulas():
    """By hand: 100 personas and 4 speakers, a score's error variance is 36/4 + 64/100 + 16/400."""
    variance = {LISTENER: 30.0, PERSONA: 64.0, SPEAKER: 36.0, "residual": 16.0}
    alone, *rows = designs(variance, 100)
    assert alone.alone
    assert [row.speakers for row in rows] == [1, 2, 3, 5, 10, 20, 40]
    five = next(row for row in rows if row.speakers == 5)
    parts = {SPEAKER: (36 / 5, 4), PERSONA: (64 / 100, 99), "residual": (16 / 500, 499)}
    total = sum(value for value, _ in parts.values())
    df = total**2 / sum(value**2 / free for value, free in parts.values())
    assert five.score == pytest.approx(stats.t.ppf(0.975, df) * total**0.5, rel=1e-9)
    assert five.difference == pytest.approx(stats.t.ppf(0.975, 499) * (2 * 16 / 500) ** 0.5, rel=1e-9)
    assert alone.score < five.score, "this speaker only is easier than any"
    assert all(a.score is None or b.score is None or a.score >= b.score for a, b in pairwise(rows))


def test_nothing_is_made_up():
    assert facets([]).fitted is None
    assert facets([Cell("l", f"p{n}", "s", 50.0) for n in range(9)]).fitted is None
    assert facet_tables(facets([])) == ()


def talk(persona, speaker, final):
    said = (Said("speaker", "a"), Said("listener", "b"), Said("speaker", "c", final))
    return Talked(persona, persona, "joy", "work", speaker, 0, "t", 40, said, "turns")


def test_an_interval_over_speakers_holds_for_other_speakers():
    """Five speakers of many, 30 personas: the interval holds the mean over all speakers, over personas alone it seldom
    does."""
    draw = np.random.default_rng(5)
    hits = naive = 0
    for _ in range(150):
        persona, speaker = draw.normal(0, 8, 30), draw.normal(0, 8, 5)
        held = [
            talk(f"p{j}", f"s{k}", round(float(np.clip(50 + persona[j] + speaker[k] + draw.normal(0, 5), 0, 100))))
            for j in range(30) for k in range(5)
        ]  # fmt: skip
        found = final_emotion(held)
        hits += found.low <= 50 <= found.high
        means = [np.mean([one.final for one in held if one.persona == f"p{j}"]) for j in range(30)]
        reach = 2.045 * np.std(means, ddof=1) / 30**0.5
        naive += abs(np.mean(means) - 50) <= reach
    assert hits / 150 >= 0.9
    assert naive / 150 < 0.75


def test_the_line_is_said_with_every_number():
    one = [talk(f"p{n}", "a", 50 + n) for n in range(6)]
    assert "a's word" in speaker_line(one, facets([]))
    both = one + [talk(f"p{n}", "b", 60 + n) for n in range(6)]
    known = facets([Cell("l", t.persona, t.speaker, float(t.final)) for t in both])
    assert speaker_line(both, known).startswith("Depends on who speaks: 52.5 with a, 62.5 with b, 10.0 apart.")
    assert "cannot be told" in speaker_line(both, facets([]))
    assert speaker_line([], facets([])) == ""
