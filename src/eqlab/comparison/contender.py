"""Who is compared: a subject with its score as it is displayed and its points item by item; or why it has no rank."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean

from eqlab.analysis.intervals import FEWEST
from eqlab.core.results import Baseline, Better, Estimate, ItemScore, Result
from eqlab.core.runs import PEOPLE, PERSON
from eqlab.core.text import is_number

REFERENCE = "people are a reference"


@dataclass(frozen=True, slots=True)
class Contender:
    name: str
    """Unique among those compared."""
    score: Estimate
    """As displayed: the order follows it."""
    points: Mapping[str, float] = field(default_factory=dict)
    """By item, repeats and seeds averaged; their mean is the score. Empty where the score is no such mean."""
    item_set: str = ""
    """Hash of the item files: items are the same if they have the same id in the same files."""
    why_no_rank: str = ""
    people: bool = False
    baselines: tuple[Baseline, ...] = ()
    bounds: tuple[float, float] | None = None
    """The ends of the scale, where it has two."""
    better: Better = "higher"

    @property
    def ranked(self) -> bool:
        return not self.why_no_rank


def contender(name: str, result: Result, item_set: str = "") -> Contender:
    """A result with one score of its own."""
    people = result.subject == PEOPLE or result.subject.startswith(PERSON)
    own = [item for item in result.items if not item.group]  # what a rater says of others is not its own score
    points = {} if people else item_means(own)  # of people, who answered is the unit and not the item
    score, baselines = result.headline, result.baselines
    why = why_no_rank(score, points, valid=result.valid, note=score.note)
    if not result.ranked:
        why = "the score tells of those who are rated"
    why = REFERENCE if people and not why else why
    bounds = bounds_of(result, points)
    return Contender(name, score, points, item_set, why, people, baselines, bounds, result.better)


def bounds_of(result: Result, points: Mapping[str, float]) -> tuple[float, float] | None:
    """The ends of the scale, if all points lie between them: then no difference can be larger than their distance."""
    low, high = result.score_range
    return result.score_range if all(low <= value <= high for value in points.values()) else None


def why_no_rank(score: Estimate, points: Mapping[str, float], *, valid: bool = True, note: str = "") -> str:
    """Empty if it can be ranked: the one rule for every table."""
    if not is_number(score.value):
        return note or "no score"
    if not valid:
        return "not valid: too few answers could be read"
    if points and len(points) < FEWEST:
        return f"too few items: {len(points)}, at least {FEWEST} are needed"
    if not points and not (is_number(score.low) and is_number(score.high)):
        return "no interval"
    return ""


def item_means(items: Sequence[ItemScore]) -> dict[str, float]:
    """Points by item, the mean over repeats."""
    found: dict[str, list[float]] = {}
    for item in items:
        if item.points is not None:
            found.setdefault(item.item, []).append(item.points)
    return {item: fmean(points) for item, points in found.items()}


def told_apart(names: Sequence[str], *marks: Sequence[str]) -> list[str]:
    """Names with the first mark that tells equal ones apart (settings, then seeds, then the run), in brackets; the last
    mark is taken where none does. A name that stands alone stays as it is."""
    found = list(names)
    for name in {name for name in names if names.count(name) > 1}:
        places = [place for place, other in enumerate(names) if other == name]
        own = [[mark[place] for place in places] for mark in marks]
        best = next((mark for mark in own if len(set(mark)) == len(mark)), own[-1])
        for place, mark in zip(places, best, strict=True):
            found[place] = f"{name} ({mark})" if mark else name
    return found
