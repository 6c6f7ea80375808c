"""Who is compared: a subject with its score as it is displayed and its points item by item; or why it has no rank."""

from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from statistics import fmean

from eqlab.analysis.intervals import FEWEST, mean_estimate
from eqlab.core.grouping import group_means, grouped
from eqlab.core.results import WITH_OTHER_ITEMS, Baseline, Better, Estimate, ItemScore, Result, field_of
from eqlab.core.runs import PEOPLE, PERSON, RunConfig
from eqlab.core.text import is_number, short_name
from eqlab.core.values import dataclass

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
    lost: "Lost | None" = None
    """Its answers that cannot be used; None where there are none, or where the score is no mean over items."""
    compared: Estimate | None = None
    """The score with the interval that a comparison claims, where the displayed one claims less: a short form's is of
    the score on the very questions of the full form, and "better" speaks of such questions."""
    speakers: frozenset[str] = frozenset()
    """Whom it talked with, where its items are talks."""
    clusters: Mapping[str, str] = field(default_factory=dict)
    """By item what it shares with others that are alike for that, and which are the units of a comparison then."""

    @property
    def ranked(self) -> bool:
        return not self.why_no_rank

    @property
    def certain(self) -> float | None:
        """The score that refusing cannot raise, by which tables are sorted: with every lost answer as the worst."""
        return self.lost.at_worst if self.lost else self.score.value

    @property
    def at_worst(self) -> "Contender":
        """The same with every lost answer as the worst that its form allows."""
        if self.lost is None:
            return self
        score = mean_estimate(self.score.name, list(self.lost.worst.values()), digits=self.score.digits)
        return replace(self, points=self.lost.worst, score=score, bounds=None, lost=None)


def contender(name: str, result: Result, item_set: str = "") -> Contender:
    """A result with one score of its own."""
    people = result.subject == PEOPLE or result.subject.startswith(PERSON)
    scores = own_items(result)
    points = {} if people else item_means(scores)  # of people, who answered is the unit and not the item
    score, baselines = result.headline, result.baselines
    why = why_no_rank(score, points, valid=result.valid, note=score.note)
    if not result.ranked:
        why = "the score tells of those who are rated"
    why = REFERENCE if people and not why else why
    bounds = bounds_of(result, points)
    lost = lost_of(scores, result) if points else None
    about = (name, score, points, item_set, why, people, baselines, bounds, result.better, lost)
    return Contender(*about, compared(result), speakers(result), clusters(scores))


def clusters(items: Sequence[ItemScore]) -> dict[str, str]:
    """The cluster of each item that is in one; empty where fewer than five clusters would be left to compare."""
    names = list(field_of(items, "item"))
    found = {name: cluster for name, cluster in zip(names, field_of(items, "cluster"), strict=True) if cluster}
    alone = len(set(names)) - len(found)
    return found if len(set(found.values())) + alone >= FEWEST else {}


def compared(result: Result) -> Estimate | None:
    """The estimate of a result that takes its items for a sample, where the headline does not."""
    return next((estimate for estimate in result.estimates if estimate.name == WITH_OTHER_ITEMS), None)


def speakers(result: Result) -> frozenset[str]:
    """Who the others in its talks were; people are one, of whom each is a sample."""
    return frozenset(PEOPLE if talk.partner.startswith(PERSON) else talk.partner for talk in result.transcripts)


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
    return group_means(zip(field_of(items, "item"), field_of(items, "points"), strict=True))


def own_items(result: Result) -> Sequence[ItemScore]:
    """Without those that show another's reply: what a rater says of others is not its own score."""
    return [item for item in result.items if not item.group] if any(field_of(result.items, "group")) else result.items


@dataclass(frozen=True, slots=True)
class Lost:
    """Answers that were refused, could not be read or did not come, and what they are worth at the worst and at the
    best: the bounds between which the score lies whatever they would have been."""

    counts: Mapping[str, int]
    """Answers by status."""
    items: Mapping[str, frozenset[str]]
    """The statuses of the answers lost, by item."""
    worst: Mapping[str, float]
    """Points by item, of all items, with every lost answer as the worst that the form allows: refusing cannot raise
    their mean."""
    best: Mapping[str, float]
    wrong: Mapping[str, float]
    """The same with every lost answer as 0 points; as the worst, where that is better than 0."""

    @property
    def at_worst(self) -> float:
        """The score that refusing cannot raise."""
        return fmean(self.worst.values())

    @property
    def at_best(self) -> float:
        return fmean(self.best.values())

    @property
    def as_wrong(self) -> float:
        """The score with errors counted as wrong."""
        return fmean(self.wrong.values())

    @property
    def words(self) -> str:
        """ "2 refused and 1 unreadable"."""
        named = [f"{count} {_STATUS.get(status, 'without a score')}" for status, count in self.counts.items() if count]
        return " and ".join([", ".join(named[:-1]), named[-1]] if len(named) > 1 else named)


_STATUS = {"refused": "refused", "unparseable": "unreadable", "error": "failed"}


def lost_of(items: Sequence[ItemScore], result: Result) -> Lost | None:
    """None where every answer that was given counts."""
    given = [points for points in field_of(items, "points") if points is not None]
    if not given or len(given) == len(items):
        return None
    columns = (field_of(items, name) for name in ("item", "status", "points", "worst"))
    answers = [answer for answer in zip(*columns, strict=True) if answer[1] is not None]
    lost = [(item, str(status)) for item, status, points, _ in answers if points is None]
    if not lost:
        return None
    low, high = result.score_range
    worst, best = (low, high) if result.better == "higher" else (high, low)
    if not low <= min(given) <= max(given) <= high:  # no end is known: nothing worse or better than it has shown
        worst, best = (
            (min(worst, *given), max(best, *given))
            if result.better == "higher"
            else (max(worst, *given), min(best, *given))
        )
    answered = grouped((item, (points, floor)) for item, _, points, floor in answers)
    touched = {item for item, _ in lost}
    means: dict[str, dict[str, float]] = {"worst": {}, "best": {}, "wrong": {}}
    for name, own in answered.items():
        if name not in touched:
            means["worst"][name] = means["best"][name] = means["wrong"][name] = fmean(_points(own, 0.0))
            continue
        floors = [worst if floor is None else floor for _, floor in own]
        wrongs = floors if result.better == "lower" else [max(0.0, floor) for floor in floors]
        means["worst"][name] = fmean(_points(own, *floors))
        means["best"][name] = fmean(_points(own, best))
        means["wrong"][name] = fmean(_points(own, *wrongs))
    statuses: dict[str, set[str]] = {}
    counts = dict.fromkeys(_STATUS, 0)
    for item, status in lost:  # an answer may be read and still have no score: four zeros
        statuses.setdefault(item, set()).add(status)
        counts[status] = counts.get(status, 0) + 1
    named = {item: frozenset(own) for item, own in statuses.items()}
    return Lost(counts, named, means["worst"], means["best"], means["wrong"])


def _points(answers: Sequence[tuple[float | None, float | None]], *without: float) -> list[float]:
    """The points of some answers; `without`: those of lost ones, one for all or each its own."""
    ends = without if len(without) == len(answers) else without * len(answers)
    return [end if points is None else points for (points, _), end in zip(answers, ends, strict=True)]


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


# Whose replies were rated: the share of Good of each, as the rater's own result has it, ready to be compared.
def shares(result: Result) -> dict[str, Estimate]:
    """By whose replies they are; empty for a calibration, for pairs, and for whatever is no rating."""
    return dict(result.others.shares) if result.others else {}


def arms(result: Result, item_set: str = "") -> list[Contender]:
    """Paired over prompts where one judge rated all; from the intervals over whole raters where people did."""
    found = []
    bounds = result.others.score_range if result.others else None
    for name, share in shares(result).items():
        points = item_means([item for item in result.items if item.group == name])
        why = why_no_rank(share, points, valid=result.valid)
        found.append(Contender(name, share, points, item_set, why, bounds=bounds))
    return found


def rater(result: Result) -> str:
    return result.subject.removeprefix("judge:")


# What results are called and what they may be compared with.
MODES = {"text": "free-text answers", "json": "structured (JSON) answers", "form": "people on a form"}


def rules_name(result: Result) -> str:
    return str(result.rules.get("name", result.rules.get("rules", "")))


def mode_name(result: Result) -> str:
    mode = "form" if result.subject == PEOPLE else str(result.rules.get("mode", ""))
    return MODES.get(mode, f"answer mode {mode}" if mode else "answer mode not recorded")


def subject_name(subject: str) -> str:
    """A model by its bare name; people and judges keep their kind."""
    return short_name(subject.removeprefix("model:"), 160)


def comparable(result: Result) -> tuple[str, ...]:
    """Never compare across these. The page knows the run as well and separates more finely."""
    rules = result.rules
    return (result.benchmark, str(rules.get("mode", "")), rules_name(result), str(rules.get("item_set", "")))


def settings_of(config: RunConfig, subject: str) -> str:
    """A model's label and settings in a few words, which tell results of one name apart. Empty if it has none."""
    model_config = next((model for model in config.models if model.subject == subject), None)
    if model_config is None:
        return ""
    settings = [f"{name} {value}" for name, value in sorted(model_config.settings.items())]
    return ", ".join([*([model_config.label] if model_config.label else []), *settings])
