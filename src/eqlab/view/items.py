"""Item: one question with everybody's answers, people's among them, and what lies behind: the prompt as sent, the raw
replies, tokens and thinking."""

from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean
from typing import Any

import numpy as np
from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from eqlab.analysis.intervals import FEWEST, mean_estimate
from eqlab.analysis.item_quality import ItemQuality, item_quality
from eqlab.benchmarks.registry import load
from eqlab.comparison.contender import item_means, subject_name, told_apart
from eqlab.core.answers import final
from eqlab.core.benchmark import Scored
from eqlab.core.results import Cell, Column, ItemScore, Result, Table
from eqlab.core.runs import PEOPLE, BenchmarkConfig
from eqlab.core.text import distance, item_keys, level
from eqlab.core.trials import Trial, outgoing
from eqlab.core.values import dataclass
from eqlab.store.reader import Reader
from eqlab.study.kinds import kind_of_benchmark
from eqlab.tables import svg as figures
from eqlab.view.runs import result_address, worst_first
from eqlab.view.shelf import HeldRun, Snapshot
from eqlab.view.site import address, asked, must, site_of

MOST = 24
"""Subjects whose replies stand on one page."""
MOST_REPEATS = 10
MOST_ROWS = 200


@dataclass(frozen=True, slots=True)
class Answered:
    """One subject's answers to one item."""

    name: str
    run: str
    result: Result
    scored: tuple[Scored, ...]
    lines: tuple[ItemScore, ...]
    """One a repeat."""

    @property
    def pairs(self) -> list[tuple[Scored, ItemScore]]:
        return list(zip(self.scored, self.lines, strict=True))

    @property
    def points(self) -> float | None:
        return item_means(self.lines).get(self.lines[0].item) if self.lines else None


@dataclass(frozen=True, slots=True)
class Holder:
    """A result whose subject was asked the item."""

    held: HeldRun
    asked: BenchmarkConfig
    result: Result

    def trials(self, item: str) -> list[str]:
        return list(dict.fromkeys(score.trial for score in self.result.items if score.item == item))


def item(request: Request) -> Response:
    site = site_of(request)
    snapshot = site.shelf.settle(0.3)
    run: HeldRun = must(snapshot.run(asked(request, "run")), "No run of this store has this id.")
    benchmark = asked(request, "b")
    holders = list(asked_alike(snapshot, run, benchmark))
    named = _named(holders, run, asked(request, "item"), asked(request, "trial"))
    with site.store() as store:
        answered = [made for holder in holders if (made := _answers(store, holder, named))]
        studies = _studies(snapshot, run, benchmark)
        locked = any(store.shut(study) for study in studies)
        people = list(_people(store, studies, benchmark, {s.trial.id for a in answered for s in a.scored}))
    must(answered or None, "No model of this run was asked this item.", "Choose an item of the result.")
    names = told_apart([own.name for own in answered], [f"run {own.run}" for own in answered])
    answered = [_renamed(own, name) for own, name in zip(answered, names, strict=True)]
    answered.sort(key=lambda own: (own.points is None, -(own.points or 0.0)))
    whose = next((h.result for h in holders if h.held is run and h.result.subject == asked(request, "of")), None)
    order = _order(holders, run, whose)
    place = order.index(named) if named in order else 0
    first = next((own for own in answered if own.run == run.id), answered[0])
    trial = first.scored[0].trial
    table = _table(answered, people)
    return site.page(
        request, "item", one=run, benchmark=benchmark, item=named, title=first.lines[0].title, trial=trial,
        messages=outgoing(trial), table=table, furthest=_furthest(table, answered),
        shown=answered[:MOST], total=len(answered),
        drawn=_drawn(people, trial), people=len(people), locked=locked, quality=_quality(holders, named), final=final,
        before=_link(run, benchmark, order, place - 1, whose), after=_link(run, benchmark, order, place + 1, whose),
        whose=whose, back=result_address(run.id, whose) if whose else "", place=place + 1,
        of=len(order), most_repeats=MOST_REPEATS, topics=first.lines[0].topics,
        reasons=_shared_reasons(answered), kind=kind_of_benchmark(benchmark),
    )  # fmt: skip


def _order(holders: Sequence[Holder], run: HeldRun, whose: Result | None) -> list[str]:
    """The items of a run as they were asked; of one result, worst first, as its page lists them."""
    if whose is None:
        return list(
            dict.fromkeys(line.item for holder in holders if holder.held is run for line in holder.result.items)
        )
    return list(dict.fromkeys(line.item for line in sorted(whose.items, key=worst_first(whose.better))))


def asked_alike(snapshot: Snapshot, run: HeldRun, benchmark: str) -> Iterator[Holder]:
    """Every scored result on the same items, those of this run first."""
    files = [config.items_sha256 for config in run.stored.config.benchmarks if config.name == benchmark]
    for held in sorted(snapshot.runs, key=lambda held: held is not run):
        for config in held.stored.config.benchmarks:
            if config.name != benchmark or config.items_sha256 not in files:
                continue
            for result in held.results:
                if result.benchmark == benchmark and result.subject != PEOPLE:
                    yield Holder(held, config, result)


def _named(holders: Sequence[Holder], run: HeldRun, item: str, trial: str) -> str:
    """The item by its id, or by a trial about it."""
    if item:
        return item
    for holder in holders:
        for line in holder.result.items:
            if line.trial == trial and (holder.held is run or not item):
                return line.item
    must(None, "This run has no such item.", "Choose one of the result's items.")
    return ""


def _answers(store: Reader, holder: Holder, item: str) -> Answered | None:
    trials = holder.trials(item)
    if not trials:
        return None
    found = tuple(store.scored(holder.held.id, holder.result.subject, holder.asked.name, trials=trials))
    own = [scored for scored in found if scored.trial.id in trials]
    benchmark = load(holder.asked.name)
    lines = tuple(benchmark.item(scored, holder.asked.options) for scored in own)
    return (
        Answered(subject_name(holder.result.subject), holder.held.id, holder.result, tuple(own), lines) if own else None
    )


def _renamed(answered: Answered, name: str) -> Answered:
    return Answered(name, answered.run, answered.result, answered.scored, answered.lines)


def _studies(snapshot: Snapshot, run: HeldRun, benchmark: str) -> list[str]:
    """Runs in which people were asked items of the same content."""
    items = {config.items_sha256 for config in run.stored.config.benchmarks if config.name == benchmark}
    return [
        held.id
        for held in snapshot.runs
        for config in held.stored.config.benchmarks
        if not held.stored.config.models and config.name == benchmark and config.items_sha256 in items
    ]


def _people(
    store: Reader, studies: Sequence[str], benchmark: str, trials: set[str]
) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """(person, values) of everybody who took the same question on a form; nothing of a locked study under way."""
    for study in studies:
        if not store.shut(study):
            about = _same_questions(store, trials)
            for scored in store.scored(study, PEOPLE, benchmark):
                answer = final(scored.attempts)
                if scored.trial.items in about and answer is not None and answer.status == "ok":
                    yield answer.subject, answer.values


def _same_questions(store: Reader, trials: set[str]) -> set[tuple[str, ...]]:
    return {trial.items for name, trial in store.trials(sorted(trials)).items() if name in trials}


def _table(answered: Sequence[Answered], people: Sequence[tuple[str, Mapping[str, Any]]]) -> Table:
    """Everybody's values side by side, repeats in one cell."""
    keys = list(dict.fromkeys(key for own in answered for line in own.lines for key in item_keys(line)))[:12]
    rows: list[list[Cell]] = []
    reference = next((line.reference for own in answered for line in own.lines if line.reference), {})
    if reference:
        rows.append(["reference", "", "", *(level(reference[key]) if key in reference else "" for key in keys)])
    if people:
        values = {key: [float(own[key]) for _, own in people if _is_value(own.get(key))] for key in keys}
        rows.append(
            ["people", "", "", *(mean_estimate(key, own, digits=1) if own else "" for key, own in values.items())]
        )
    told = [", ".join(dict.fromkeys(line.status or "unanswered" for line in own.lines)) for own in answered]
    for own, statuses in zip(answered[:MOST_ROWS], told, strict=False):
        cells = [
            ", ".join(level(line.values[key]) for line in own.lines if key in line.values) or "none" for key in keys
        ]
        rows.append([own.name, _score(own), statuses, *cells])
    columns = [
        Column("name", "model"),
        Column("score", "points" if any(own.points is not None for own in answered) else "score", "number"),
        Column("status", "status"),
        *(Column(f"v{n}", key) for n, key in enumerate(keys)),
    ]
    if set(told) == {"ok"}:  # nothing to tell, and a phone is narrow
        columns, rows = [columns[0], columns[1], *columns[3:]], [[row[0], row[1], *row[3:]] for row in rows]
    return Table("Answers of all models", columns, rows, key="answers")


def _furthest(table: Table, answered: Sequence[Answered]) -> set[tuple[int, int]]:
    """The cells of each column whose values lie furthest from the reference, repeats averaged."""
    reference = next((line.reference for own in answered for line in own.lines if line.reference), {})
    first = len(table.rows) - len(answered[:MOST_ROWS])
    found = set()
    for place, column in enumerate(table.columns):
        if column.title not in reference or not column.key.startswith("v"):
            continue
        off = {
            row: fmean(far)
            for row, own in enumerate(answered[:MOST_ROWS], start=first)
            if (far := [distance(line.values[column.title], reference[column.title]) for line in own.lines
                        if column.title in line.values])
        }  # fmt: skip
        most = max(off.values(), default=0.0)
        found |= {(row, place) for row, far in off.items() if far == most > 0}
    return found


def _shared_reasons(answered: Sequence[Answered]) -> Mapping[str, str]:
    """Reasons that belong to the item and not to an answer: the same with all of several."""
    every = [line.reasons for own in answered for line in own.lines]
    return every[0] if len(every) > 1 and all(one == every[0] for one in every) else {}


def _is_value(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _score(answered: Answered) -> Cell:
    if answered.points is not None:
        return answered.points
    scores = [line.score for line in answered.lines if line.score is not None]
    return fmean(scores) if scores else ""


def _drawn(people: Sequence[tuple[str, Mapping[str, Any]]], trial: Trial) -> list[tuple[str, Markup, int]]:
    """How people's answers lie on each scale."""
    found = []
    for scale in trial.form.scales[:8]:
        values = [float(own[scale.key]) for _, own in people if _is_value(own.get(scale.key))]
        if values:
            labels = [(float(value), name) for value, name in scale.anchors] if len(scale.anchors) > 2 else ()
            found.append(
                (scale.text or scale.key, figures.histogram(values, (scale.low, scale.high), labels), len(values))
            )
    return found


def _quality(holders: Sequence[Holder], item: str) -> ItemQuality | None:
    """How the item goes with the others, over everybody who was asked all of them; None with fewer than five."""
    points = [
        own for holder in holders if (own := item_means([score for score in holder.result.items if not score.group]))
    ]
    items = list(dict.fromkeys(name for point in points for name in point))
    shared = [name for name in items if all(name in point for point in points)]
    if len(points) < FEWEST or len(shared) < FEWEST or item not in shared:
        return None
    table = np.array([[point[name] for name in shared] for point in points])
    if not (table.std(axis=0) > 0).all():
        return None
    return next((quality for quality in item_quality(table) if shared[quality.item] == item), None)


def _link(run: HeldRun, benchmark: str, order: Sequence[str], place: int, whose: Result | None) -> str:
    if not 0 <= place < len(order):
        return ""
    return address("/item", run=run.id, b=benchmark, item=order[place], of=whose.subject if whose else "")


ROUTES = [Route("/item", item)]
