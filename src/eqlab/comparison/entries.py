"""What is compared: one subject's points item by item, whatever the benchmark, and what became of its other answers."""

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from statistics import fmean
from typing import Literal

import numpy as np
import numpy.typing as npt

from eqlab.analysis.intervals import mean_estimate
from eqlab.comparison.contender import (
    REFERENCE,
    Contender,
    Lost,
    bounds_of,
    clusters,
    compared,
    item_means,
    lost_of,
    rater,
    shares,
    speakers,
    told_apart,
    why_no_rank,
)
from eqlab.core.errors import UsageError
from eqlab.core.plural import many
from eqlab.core.results import POINTS, Estimate, ItemScore, Result
from eqlab.core.runs import PEOPLE, PERSON
from eqlab.core.values import dataclass

Floats = npt.NDArray[np.float64]
SHARE, OVERALL = "P(Good)", "overall, 0 to 100"
"""What raters say of a reply: on the form Bad, Okay, Good; on a rubric's scales together."""
Missing = Literal["drop", "zero"]
"""What becomes of an item whose answers could not be used: left out, or 0 points (the largest distance, where a score
is one)."""


@dataclass(frozen=True, slots=True)
class EntrySource:
    """A result and where it is from."""

    result: Result
    origin: str
    """"run 0123456789" or "published"."""
    item_set: str
    """Hash of the item files: items are the same if they have the same id in the same files."""
    settings: str = ""
    """The model's own settings, where it has some: tells apart two results of one name."""
    label: str = ""
    """What the run says is behind the model's name (`--label`)."""


@dataclass(frozen=True, slots=True)
class Entry:
    name: str
    """Unique among those of one comparison."""
    rater: str
    """Who rated it, if a rater did: what different raters say is not compared."""
    origin: str
    item_set: str
    result: Result
    score: Estimate
    counts: Mapping[str, int]
    items: tuple[str, ...]
    """Ids of the items with points."""
    points: Floats
    """Items × repeats, NaN where there is no answer that counts."""
    unused: int
    """Answers, or items whose repeats are scored together, that could not be used."""
    trials: tuple[tuple[str, ...], ...]
    """Items × repeats: which trial it was; another trial of the same item is another order or wording."""
    counts_zero: bool = False
    """Whether answers that could not be used count as 0 points, so that a score stands however few could be read."""
    lost: Lost | None = None
    """Answers that could not be used; None where there are none, where they count as 0, and in what a rater says."""
    label: str = ""
    """What the run says is behind the model's name."""

    @property
    def kind(self) -> tuple[str, str, str, str]:
        """Entries of one kind are compared: benchmark, title, rater, measure. People may stand in another measure than
        models do."""
        return self.result.benchmark, self.result.title, self.rater, "" if self.rater else self.result.headline.name

    @property
    def means(self) -> dict[str, float]:
        """Points per item, averaged over repeats; items without any are left out."""
        rows = zip(self.items, self.points.tolist(), strict=True)
        return {item: fmean([value for value in row if math.isfinite(value)]) for item, row in rows}

    @property
    def contender(self) -> Contender:
        result, points = self.result, self.means
        people = not self.rater and (result.subject == PEOPLE or result.subject.startswith(PERSON))
        points = {} if people else points
        why = why_no_rank(self.score, points, valid=result.valid or self.counts_zero, note=self.score.note)
        if not self.rater and not result.ranked:
            why = why_undefined(result)
        why = REFERENCE if people and not why else why
        if self.rater:
            bounds = result.others.score_range if result.others else None
            return Contender(self.name, self.score, points, self.item_set, why, bounds=bounds)
        bounds = bounds_of(result, points)
        lost = self.lost if points else None
        about = (
            self.name,
            self.score,
            points,
            self.item_set,
            why,
            people,
            result.baselines,
            bounds,
            result.better,
            lost,
        )
        return Contender(*about, compared(result), speakers(result), clusters(result.items))

    @property
    def repeats(self) -> int:
        """Columns of `points`."""
        return int(self.points.shape[1]) if self.points.size else 0

    @property
    def asked(self) -> int:
        """How often each item was asked, where its repeats are scored together too."""
        said = self.result.rules.get("repeats")
        return said if self.repeats == 1 and isinstance(said, int) else self.repeats


def entries(sources: Iterable[EntrySource], missing: Missing = "drop") -> tuple[list[Entry], list[tuple[str, str]]]:
    """(what can be compared, (name, why not) of the rest). Equal names are told apart by settings, else by the run."""
    found: list[Entry] = []
    marks: list[str] = []
    undefined: list[tuple[str, str, str]] = []
    titles: set[str] = set()
    for source in sources:
        titles.add(source.result.title)
        own = list(_entries(source, missing))
        usable = [entry for entry in own if entry.items or _has_interval(entry)]
        found += usable
        marks += [source.settings] * len(usable)
        lacking = why_undefined(source.result)
        undefined += [(entry.name, source.result.title, lacking) for entry in own if entry not in usable]
        if not own:
            why = "it has no answers yet" if not source.result.items else why_undefined(source.result)
            undefined.append((_name(source.result.subject), source.result.title, why))
    kinds = [(entry.kind, entry.name) for entry in found]
    names = dict.fromkeys(kinds)
    renamed: dict[int, str] = {}
    for kind, name in names:
        places = [place for place, one in enumerate(kinds) if one == (kind, name)]
        settings, origins = [marks[place] for place in places], [found[place].origin for place in places]
        renamed |= dict(zip(places, told_apart([name] * len(places), settings, origins), strict=True))
    return [replace(entry, name=renamed[place]) for place, entry in enumerate(found)], [
        (name, f"{title}: {why}" if len(titles) > 1 else why) for name, title, why in undefined
    ]


def stable(entry: Entry, least: int, repeats: int) -> Entry:
    """With an item counted right where at least so many of its first repeats were: one lucky answer is no pass, and one
    slip no failure. Answers that could not be used are not right."""
    scores = {item.score for item in entry.result.items if item.score is not None}
    if not scores <= {0.0, max(scores, default=0.0)} or max(scores, default=1.0) not in (0.0, 1.0, 100.0):
        raise UsageError(
            f"{entry.result.title} has graded scores, and no right and wrong ones that --stable could count.",
            "Drop --stable: the gate averages repeats.",
        )
    if entry.repeats < repeats:
        raise UsageError(
            f"{entry.name} has {many(entry.repeats, 'answer')} to a question, and --stable looks at {repeats}.",
            f"Ask again with --repeats {repeats}.",
        )
    right = (entry.points[:, :repeats] > 0).sum(axis=1) >= least
    points = np.where(right, max(scores, default=0.0), 0.0)
    whole = mean_estimate(f"right in {least} of {repeats}", points.tolist(), unit=entry.score.unit, digits=1)
    result = replace(entry.result, score_range=(0.0, max(scores, default=0.0) or 1.0), baselines=())
    trials = tuple(trial[:1] for trial in entry.trials)
    return replace(entry, result=result, score=whole, points=points[:, None], trials=trials)


def refuse_uncalibrated(found: Iterable[Entry]) -> None:
    """What a judge says is a measurement only where somebody has held it against people: with this rubric, prompt and
    settings."""
    lacking = {
        (entry.rater, str(entry.result.rules.get("rubric", "")))
        for entry in found
        if entry.rater and entry.result.rules.get("calibration") == "none"
    }
    if lacking:
        judge, rubric = min(lacking)
        by_rubric = "" if rubric in ("", "published") else f" --rubric {rubric} --against RUN"
        raise UsageError(
            f"The judge {judge} was never calibrated against people for the rubric '{rubric or 'published'}'.",
            f"Run 'eqlab judge calibrate {judge}{by_rubric}' first, or add --uncalibrated to compare all the same.",
        )


def narrowed(source: EntrySource, items: Collection[str]) -> EntrySource | None:
    """A result on some of its items only: its score is the mean of their points. None for people, whose scores are not
    means over items, and where none of the items has points. Baselines are of all items, and are left out."""
    result = source.result
    scores = tuple(item for item in result.items if item.item in items)
    head, others = result.headline, result.others
    if result.subject == PEOPLE or result.subject.startswith(PERSON):
        return None
    if others is not None:
        shares = tuple(
            (name, _mean_of(share, [item for item in scores if item.group == name])) for name, share in others.shares
        )
        others = replace(others, shares=tuple((name, share) for name, share in shares if share.value is not None))
    else:
        head = _mean_of(head, scores)
        if head.value is None:
            return None
    return replace(
        source, result=replace(result, items=scores, headline=head, others=others, baselines=(), percentile=None)
    )


def _mean_of(whole: Estimate, items: Sequence[ItemScore]) -> Estimate:
    return mean_estimate(whole.name, list(item_means(items).values()), unit=whole.unit, digits=whole.digits)


def _entries(source: EntrySource, missing: Missing) -> Iterable[Entry]:
    """One for the subject, or one for each whose replies a rater rated."""
    result = source.result
    good = shares(result)
    groups = list(dict.fromkeys([*good, *(item.group for item in result.items)]))
    if good or any(groups):
        groups = [group for group in groups if group]
    for group in groups:
        scores = [item for item in result.items if item.group == group]
        yield _entry(source, group, scores, missing, good.get(group))


def _has_interval(entry: Entry) -> bool:
    return entry.score.value is not None and entry.score.low is not None and bool(entry.rater or entry.result.ranked)


def why_undefined(result: Result) -> str:
    if result.why_no_points:
        return result.why_no_points
    if result.headline.value is None:
        return result.headline.note or "it has no score"
    if result.ranked and result.headline.low is None:
        return f"'{result.headline.name}' has no interval (n = {result.headline.n})"
    return f"'{result.headline.name}' is not a score in which more is better"


def _entry(
    source: EntrySource, group: str, scores: Sequence[ItemScore], missing: Missing, share: Estimate | None = None
) -> Entry:
    result = source.result
    together = len({item.item for item in scores}) == len(scores)  # one line per item, its repeats scored together
    repeats = [0] if together else sorted({item.repeat for item in scores})
    column = {item.repeat: 0 if together else repeats.index(item.repeat) for item in scores}
    defined = any(item.points is not None for item in scores)
    worst = 0.0 if result.better == "higher" else result.score_range[1]
    cells: dict[str, list[list[float]]] = {}
    trials: dict[str, list[str]] = {}
    for item in scores:
        points = item.points
        if points is None and missing == "zero" and defined and item.status is not None:
            points = worst
        own = cells.setdefault(item.item, [[] for _ in repeats])
        trials.setdefault(item.item, [""] * len(repeats))[column[item.repeat]] = item.trial
        if points is not None:
            own[column[item.repeat]].append(points)
    # a rater has a line for each of the replies to a prompt
    rows = {name: [fmean(given) if given else np.nan for given in own] for name, own in cells.items()}
    kept = [name for name, values in rows.items() if np.isfinite(values).any()]
    table = np.array([rows[name] for name in kept], dtype=float).reshape(len(kept), len(repeats))
    score = share or result.headline
    entry = Entry(
        name=group or _name(result.subject),
        rater=rater(result) if group else "",
        origin=source.origin,
        item_set=source.item_set,
        result=result,
        score=score,
        counts=result.counts if not group else _counts(scores),
        items=tuple(kept),
        points=table,
        unused=sum(
            item.points is None and item.status is not None and (defined or item.status != "ok") for item in scores
        ),
        trials=tuple(tuple(trials[name]) for name in kept),
        counts_zero=missing == "zero" and bool(kept),
        lost=None if group or missing == "zero" else lost_of(scores, result),
        label="" if group else source.label,
    )
    if missing == "drop" and (not group or share is not None):
        return entry
    means = list(entry.means.values())
    if group:
        unit = "%" if share is None else share.unit
        name = OVERALL if unit == POINTS else SHARE
        return replace(entry, score=mean_estimate(name, means, unit=unit, digits=1, bounds=(0.0, 100.0)))
    return replace(entry, score=mean_estimate(score.name, means, digits=score.digits))


def _counts(scores: Sequence[ItemScore]) -> dict[str, int]:
    counts: Counter[str] = Counter(item.status or "unanswered" for item in scores)
    return {"planned": len(scores), **counts}


def _name(subject: str) -> str:
    return subject.removeprefix("model:")
