"""Two listeners' difference for speakers nobody has asked: talks with several speakers, personas and speakers both
taken as samples. The verdict's own differences are over personas, and hold for these speakers alone."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from statistics import fmean

import numpy as np

from eqlab.analysis.clusters import crossed_mean
from eqlab.comparison.entries import Entry
from eqlab.core.results import Estimate, Table

_GAPS = (-100.0, 100.0)
_SPEAKERS, _PERSONAS = 2, 5
"""The fewest that both listeners must have talked with."""
TITLE = "For other speakers too"
Ends = Mapping[tuple[str, str], float]
"""Final emotion by persona and speaker, the mean over repeats."""


def over_speakers(entries: Sequence[Entry]) -> list[tuple[str, str, Estimate]]:
    """(A, B, A − B) of every two listeners that talked with the same two speakers or more, in the entries' order."""
    ends = {entry.name: _ends(entry) for entry in entries}
    found = []
    for a, b in combinations(ends, 2):
        both = {speaker for _, speaker in set(ends[a]) & set(ends[b])}
        if len(both) >= _SPEAKERS:
            found.append((a, b, difference(ends[a], ends[b])))
    return found


def difference(one: Ends, other: Ends) -> Estimate:
    """The first minus the second over the talks that both held with the same persona and speaker: the mean over
    personas, with an interval over personas and speakers (two-way clusters, Student's t by the fewer of them)."""
    both = [key for key in one if key in other]
    personas, speakers = [key[0] for key in both], [key[1] for key in both]
    gaps = np.array([one[key] - other[key] for key in both])
    made = replace(crossed_mean("A − B", gaps, personas, speakers, of="personas"), digits=1)
    if made.low is None or made.high is None or made.n < _PERSONAS:
        return replace(made, low=None, high=None, note="too few personas, or talks that all end alike")
    return replace(made, low=max(_GAPS[0], made.low), high=min(_GAPS[1], made.high))


def _ends(entry: Entry) -> dict[tuple[str, str], float]:
    found: dict[tuple[str, str], list[float]] = {}
    for talk in entry.result.transcripts:
        if talk.score is not None:
            found.setdefault((talk.item, talk.partner), []).append(talk.score)
    return {key: fmean(scores) for key, scores in found.items()}


def table(found: Sequence[tuple[str, str, Estimate]]) -> Table:
    return Table(
        TITLE,
        ("A", "B", "A − B"),
        tuple(found),
        "Personas and speakers both as samples: the interval holds for other speakers like these. Two speakers know "
        "little of all others, and the interval says so.",
    )
