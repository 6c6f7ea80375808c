"""Two listeners' difference for speakers nobody has asked: talks with several speakers, personas and speakers both
taken as samples. The verdict's own differences are over personas, and hold for these speakers alone."""

from collections.abc import Sequence
from itertools import combinations

from eqlab.analysis.reml import variances
from eqlab.comparison.entries import Entry
from eqlab.core.results import Estimate, Table

_GAPS = (-100.0, 100.0)
_TERMS = (
    ("persona", "speaker", "listener:persona", "listener:speaker"),
    ("persona", "speaker", "listener:speaker"),
    ("persona", "listener:speaker"),
)
"""Crossings of the listener are what a difference is uncertain by: as many as the talks can tell apart, and never
without the speakers'. An interval that forgot them would be too narrow."""
FEWEST = 2
TITLE = "For other speakers too"
End = tuple[str, str, float]
"""Persona, speaker, final emotion."""


def over_speakers(entries: Sequence[Entry]) -> list[tuple[str, str, Estimate]]:
    """(A, B, A − B) of every two listeners that talked with the same two speakers or more, in the entries' order."""
    ends = {entry.name: _ends(entry) for entry in entries}
    found = []
    for a, b in combinations(ends, 2):
        both = {end[1] for end in ends[a]} & {end[1] for end in ends[b]}
        if len(both) >= FEWEST:
            own = [[end for end in ends[name] if end[1] in both] for name in (a, b)]
            found.append((a, b, difference(*own)))
    return found


def difference(one: Sequence[End], other: Sequence[End]) -> Estimate:
    """The first listener's mean minus the second's, with an interval over personas and speakers (REML, listeners fixed,
    Satterthwaite's t)."""
    values = [end[2] for end in (*one, *other)]
    factors = {
        "listener": ["a"] * len(one) + ["b"] * len(other),
        "persona": [end[0] for end in (*one, *other)],
        "speaker": [end[1] for end in (*one, *other)],
    }
    personas = len({end[0] for end in one} & {end[0] for end in other})
    for terms in _TERMS if len(set(values)) > 1 else ():
        fitted = variances(values, factors, terms, fixed="listener")
        effect = fitted.effect({"a": 1.0, "b": -1.0}) if fitted else None
        if effect is not None:
            low, high = max(_GAPS[0], effect.low), min(_GAPS[1], effect.high)
            return Estimate("A − B", effect.value, personas, effect.se, low, high, digits=1, of="personas")
    return Estimate("A − B", None, personas, digits=1, note="the talks do not tell speakers and personas apart")


def _ends(entry: Entry) -> list[End]:
    return [(talk.item, talk.partner, talk.score) for talk in entry.result.transcripts if talk.score is not None]


def table(found: Sequence[tuple[str, str, Estimate]]) -> Table:
    return Table(
        TITLE,
        ("A", "B", "A − B"),
        tuple(found),
        "Personas and speakers both as samples: the interval holds for other speakers like these. Two speakers know "
        "little of all others, and the interval says so.",
    )
