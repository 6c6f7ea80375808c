"""How much of a talk's end is the listener's, how much the persona's and the speaker's; and how many personas and
speakers a score needs. All factors are random and crossed; cells may be missing."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

from eqlab.analysis.components import needed, planned
from eqlab.core.results import Estimate, Table

if TYPE_CHECKING:
    from eqlab.analysis.reml import Variances

LISTENER, PERSONA, SPEAKER = "listener", "persona", "speaker"
FACTORS = (LISTENER, PERSONA, SPEAKER)
HALF_WIDTH = 5.0
_USUAL = 60
"""Personas of the open set."""
WIDEST = 50.0
"""An interval that covers a scale of 100 points says nothing."""
_SPEAKERS = (1, 2, 3, 5, 10, 20, 40)
_PERSONAS = (*range(5, 100, 5), *range(100, 500, 10), *range(500, 2001, 50))
"""Looked at one by one: with few speakers more personas can widen an interval, as degrees of freedom are lost."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One talk's end."""

    listener: str
    persona: str
    speaker: str
    final: float


@dataclass(frozen=True, slots=True)
class Facets:
    n: int
    levels: Mapping[str, int]
    fitted: "Variances | None"
    """None where the talks cannot tell the factors apart."""

    def share(self, factor: str) -> float | None:
        """Percent of the variance of one talk's end that is this factor's alone."""
        found = self.fitted.share.get(factor) if self.fitted else None
        return None if found is None else 100 * found

    @property
    def with_speaker(self) -> float | None:
        """Percent that the speaker has part in: alone, and in how it takes listeners and personas."""
        if self.fitted is None or SPEAKER not in self.fitted.variance:
            return None
        found = [share for term, share in self.fitted.share.items() if SPEAKER in term.split(":")]
        return None if None in found else 100 * sum(share or 0.0 for share in found)


def facets(cells: Sequence[Cell]) -> Facets:
    factors = {name: [getattr(cell, name) for cell in cells] for name in FACTORS}
    levels = {name: len(set(values)) for name, values in factors.items()}
    several = {name: values for name, values in factors.items() if levels[name] > 1}
    return Facets(len(cells), levels, _fit([cell.final for cell in cells], several))


def _fit(finals: Sequence[float], factors: Mapping[str, Sequence[str]]) -> "Variances | None":
    """With all crossings of two factors, or with as many as the cells that are there allow; without the speaker where
    nothing tells it from the listeners."""
    if len(set(finals)) < 2 or PERSONA not in factors:
        return None
    from eqlab.analysis.reml import variances  # slow to load, and most talks are not fitted

    crossings = [":".join(pair) for pair in combinations(factors, 2)]
    without = [name for name in factors if name != SPEAKER]
    for terms in ([*factors, *crossings], [*factors, *crossings[:1]], [*factors], without):
        fitted = variances(finals, factors, terms)
        if fitted is not None:
            return fitted
    return None


@dataclass(frozen=True, slots=True)
class Design:
    """What a planned number of speakers buys; None: wider than the scale, or not within 2,000 personas."""

    speakers: int
    alone: bool
    """Whether it speaks of this one speaker and of no other."""
    score: float | None
    """Half width of a listener's score with the usual number of personas."""
    personas_for_score: int | None
    """How many make it ± `HALF_WIDTH`."""
    difference: float | None
    personas_for_difference: int | None


def designs(variance: Mapping[str, float], personas: int) -> list[Design]:
    """The first keeps to one speaker; the others are for any, where the talks tell how much speakers differ."""
    several = _SPEAKERS if SPEAKER in variance else ()
    return [_design(variance, 1, personas, alone=True)] + [_design(variance, n, personas) for n in several]


def _design(variance: Mapping[str, float], speakers: int, personas: int, *, alone: bool = False) -> Design:
    sizes = {PERSONA: personas, SPEAKER: speakers}
    grid = {PERSONA: _PERSONAS, SPEAKER: (speakers,)}
    fixed = (SPEAKER,) if alone else ()
    widths: list[float | None] = []
    counts: list[int | None] = []
    for difference in (False, True):
        width = planned(variance, sizes, subject=LISTENER, difference=difference, fixed=fixed).half_width
        enough = needed(variance, HALF_WIDTH, grid, subject=LISTENER, difference=difference, fixed=fixed)
        widths.append(width if width < WIDEST else None)
        counts.append(enough.sizes[PERSONA] if enough else None)
    return Design(speakers, alone, widths[0], counts[0], widths[1], counts[1])


def note(found: Facets, listeners: str = "listeners", speaker: str = "speaker") -> str:
    """What the shares do not tell, or only roughly; empty: nothing."""
    count = found.levels[SPEAKER]
    if count < 2:
        return f"one {speaker}: what another would change is unknown"
    if found.fitted is not None and SPEAKER not in found.fitted.variance:
        one = listeners.removesuffix("s")
        return f"no {one} was met by two {speaker}s: their effect cannot be told from the {listeners}'"
    return f"from {count} {speaker}s: their variance is a guess of the order of magnitude" if count < 5 else ""


# -- words ---------------------------------------------------------------------------------------------------------


def tables(found: Facets) -> tuple[Table, ...]:
    fitted = found.fitted
    if fitted is None:
        return ()
    rows = tuple((_named(term), fitted.levels.get(term), *_numbers(fitted, term)) for term in fitted.variance)
    beware = note(found)
    shares = Table(
        "Where the end of a talk comes from",
        ("part", "levels", "share of the variance", "variance"),
        rows,
        f"Crossed random effects by REML over {found.n} talks. {beware.capitalize()}{'.' if beware else ''}".strip(),
    )
    return (shares, _designs(fitted)) if LISTENER in fitted.variance else (shares,)


def _numbers(fitted: "Variances", term: str) -> tuple[Estimate, Estimate]:
    low, high = fitted.interval(term) or (None, None)
    share = fitted.share[term]
    return (
        Estimate("share", None if share is None else 100 * share, fitted.n, unit="%", digits=1),
        Estimate("variance", fitted.variance[term], fitted.n, low=low, high=high, digits=1),
    )


def _named(term: str) -> str:
    return "rest" if term == "residual" else term.replace(":", " × ")


def _designs(fitted: "Variances") -> Table:
    """Half widths for a listener's score and for the difference of two, and the personas it takes for ±5."""
    of_score, of_difference = (f"± of a {what}, {_USUAL} personas" for what in ("score", "difference"))
    return Table(
        f"How many personas and speakers for ±{HALF_WIDTH:g}",
        ("speakers", of_score, "personas for a score", of_difference, "personas for a difference"),
        tuple(
            (
                "this one only" if one.alone else f"{one.speakers} of many",
                *(_told(one.score), str(one.personas_for_score or "")),
                *(_told(one.difference), str(one.personas_for_difference or "")),
            )
            for one in designs(fitted.variance, _USUAL)
        ),
        "From the variances above, with Student's t for the planned numbers. 'This one only' speaks of one speaker and "
        "of no other. Empty: wider than the scale, or not within 2,000 personas.",
    )


def _told(width: float | None) -> str:
    return "" if width is None else f"{width:.1f}"
