"""People as subjects of any benchmark: the kind of study that every benchmark with scales or choices has by default,
its simulated people and its result; and how kinds correct and show the contrasts that a study plans."""

import math
import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from statistics import fmean
from typing import TYPE_CHECKING, Any

from msgspec import structs

from eqlab.analysis.intervals import mean_estimate
from eqlab.analysis.multiplicity import holm
from eqlab.analysis.norms import percentile
from eqlab.benchmarks.common import outcome
from eqlab.benchmarks.common.selection import balanced_batches
from eqlab.core.answers import Answer
from eqlab.core.benchmark import NO_CONTEXT, Benchmark, Normed, Scored, Selection, Talks, item_sets_of
from eqlab.core.errors import UsageError
from eqlab.core.forms import Form, Scale, problems
from eqlab.core.grouping import grouped
from eqlab.core.plural import many, one_of
from eqlab.core.results import Better, Cell, Estimate, ItemScore, Norms, Result, Table, goodness
from eqlab.core.runs import PEOPLE, PERSON
from eqlab.core.text import basis_of, value_of
from eqlab.core.trials import Trial
from eqlab.core.values import dataclass
from eqlab.tables.cells import p_text

if TYPE_CHECKING:  # what studies are made of is loaded where there is one: every command would wait for it
    from eqlab.core.design import Design
    from eqlab.core.studied import Analysed, Contrast, PeopleResult, Recovered, StudyForm, StudyPages, Truth
    from eqlab.core.study import Checks, Study


def instructed(
    checks: "Checks", scale: Scale, answers: Sequence[int], others: Sequence[Scale] = ()
) -> tuple[Trial, ...]:
    """On a scale like the trials' own: one for each of the answers, and at least as many as a person gets. Which of
    them a person gets is drawn. `others`: the trials' further scales, so that nobody tells the page by its form; the
    same answer is asked for wherever it reads the same, and anything will do elsewhere."""
    if not checks.attention:
        return ()
    pages = []
    for index in range(max(len(answers), checks.attention)):
        value = answers[index % len(answers)]
        told = checks.instruction.replace("{answer}", _reads(scale, value))
        alike = [one for one in (scale, *others) if one.holds(value) and _reads(one, value) == _reads(scale, value)]
        key = {"right": {one.key: value for one in alike}}
        pages.append(Trial("attention", (f"check{index + 1}",), "attention", told, Form((scale, *others)), "", key=key))
    return tuple(pages)


def check_scale(checks: "Checks", trials: Iterable[Trial]) -> Scale:
    """What instructed items are asked on: the trials' own first scale where all have the same, else words that answer
    no item. A check on an item's own question would tell people how to answer it."""
    scales = [trial.form.scales[0] for trial in trials]
    asked = {
        (one.low, one.high, one.text if one.anchors else "", frozenset(dict(one.anchors).values())) for one in scales
    }
    if len(asked) == 1 or not checks.choices:
        return scales[0]
    return Scale("check", checks.question, 1, len(checks.choices), tuple(enumerate(checks.choices, start=1)))


def _reads(scale: Scale, value: int) -> str:
    return dict(scale.anchors).get(value, str(value))


_ORDERS = 100
"""At most so many orders of words or options are drawn for a study; beyond, people share them evenly."""
_PEOPLE, _DRAWS = 20_000, 200
"""Simulated people, and answers by chance to each trial, to know the score that a truth is worth."""


@dataclass(frozen=True, slots=True)
class BenchmarkStudy:
    """People take a benchmark as models do: each item once, in batches, on the form that its trials have."""

    benchmark: Benchmark

    def form(self) -> "StudyForm":
        from eqlab.core.studied import StudyForm

        name, title = self.benchmark.name, self.benchmark.title
        text = template("eqlab.benchmarks.common").replace("@kind@", name).replace("@title@", title)
        if "open" not in item_sets_of(self.benchmark):
            text = text.replace('items = "open"', 'items = "published"')
        words = "share of items that the middle person knows; the others are answered by chance"
        headline = f"the mean over people of their score in {title}, the one that models have"
        return StudyForm(name, name, f"people take {title}", text, 0.7, words, headline=headline)

    def pages(self, study: "Study", files: Mapping[str, bytes], options: Mapping[str, Any]) -> "StudyPages":
        """Items dealt by seed into batches whose sizes differ by one at most. Where words or options stand in a drawn
        order, each of a batch's people has another one."""
        from eqlab.core.design import Batch
        from eqlab.core.studied import StudyPages

        people = study.places.people_per_batch
        orders = max(count for count in range(1, _ORDERS + 1) if people % count == 0)
        selection = Selection(limit=study.limit, repeats=orders, seed=study.seed)
        planned: dict[tuple[object, ...], list[Trial]] = {}
        for trial, _ in self.benchmark.plan(files, options, selection):
            planned.setdefault((trial.items, trial.condition), []).append(trial)
        trials = [own[0] for own in planned.values()]
        if not trials or isinstance(self.benchmark, Talks) or not all(_is_closed(trial.form) for trial in trials):
            raise UsageError(
                f"{self.benchmark.name} does not ask for scales or choices, so it has no study by default.",
                "Its package may bring a kind of study of its own (docs/extending.md).",
            )
        if all(trial.order_seed is None for trial in trials):
            orders = 1
        dealt = balanced_batches(list(planned.values()), [""] * len(trials), study.places.batch_size, study.seed)
        batches = tuple(
            Batch("items", turn * len(dealt) + number, tuple(own[turn % len(own)] for own in batch), turn)
            for turn in range(orders)
            for number, batch in enumerate(dealt)
        )
        scale = check_scale(study.checks, (trial for batch in batches for trial in batch.trials))
        checks = instructed(study.checks, scale, _answers(scale))
        return StudyPages(batches, checks, people_per_batch=people // orders)

    def warnings(self, design: "Design") -> Iterable[str]:
        return ()

    def simulated(self, design: "Design", truth: "Truth", seed: int) -> "Knowers":
        if not 0 < truth.effect < 1:
            raise UsageError(f"{truth.effect:g} is not a share of items.", "Give a number between 0 and 1.")
        return Knowers(truth, self._best(design))

    def result(self, design: "Design", people: "Analysed") -> "PeopleResult":
        from eqlab.core.studied import PeopleResult

        (asked,) = design.run.benchmarks
        if hasattr(self.benchmark, "people"):  # it says something of its own of people's result
            return PeopleResult(self.benchmark.score(PEOPLE, people.scored, asked.options))
        return PeopleResult(people_result(self.benchmark, people.scored, asked.options))

    def recovered(self, design: "Design", truth: "Truth", found: "PeopleResult") -> "Sequence[Recovered]":
        from eqlab.core.studied import Recovered

        headline = found.result.headline
        if headline.value is None:
            return ()
        return (Recovered(headline.name, self._expected(design, truth), headline, null=None),)

    def _best(self, design: "Design") -> dict[str, Mapping[str, Any]]:
        (asked,) = design.run.benchmarks
        trials = [trial for batch in design.batches for trial in batch.trials]
        return {trial.id: best_answer(self.benchmark, trial, asked.options) for trial in trials}

    def _expected(self, design: "Design", truth: "Truth") -> float:
        """What such people get on average: a batch is as likely as another, and what is not known is answered by
        chance."""
        (asked,) = design.run.benchmarks
        draw, best = random.Random("expected score"), self._best(design)
        first = design.batches[0].trials[0]
        if math.isnan(worth(self.benchmark, first, best[first.id], asked.options)):
            return self._expected_by_draws(design, Knowers(truth, best), draw)
        known_share = fmean(knows(truth, draw) for _ in range(_PEOPLE))
        means = []
        for batch in design.batches:
            right = fmean(worth(self.benchmark, trial, best[trial.id], asked.options) for trial in batch.trials)
            chance = fmean(
                worth(self.benchmark, trial, outcome.random_values(trial.form, draw), asked.options)
                for trial in batch.trials
                for _ in range(_DRAWS)
            )
            means.append(known_share * right + (1 - known_share) * chance)
        return fmean(means)

    def _expected_by_draws(self, design: "Design", people: "Knowers", draw: random.Random) -> float:
        """The same where a single item is worth nothing by itself: the mean score of simulated people."""
        (asked,) = design.run.benchmarks
        counted = _counted(self.benchmark, [trial for batch in design.batches for trial in batch.trials])
        scores = []
        for batch in design.batches:
            trials = [trial for trial in batch.trials if trial.id in counted]
            for _ in range(_DRAWS):
                person = people.person(draw)
                answers = [(trial, people.answer(person, trial, draw)) for trial in trials]
                items = [answered(self.benchmark, trial, values, asked.options) for trial, values in answers]
                scores.append(own_score(self.benchmark, items))
        return fmean(score for score in scores if score is not None)


@dataclass(frozen=True, slots=True)
class Knowers:
    """People who know an item with a probability of their own, all of its questions at once, and answer by chance
    otherwise."""

    truth: "Truth"
    best: Mapping[str, Mapping[str, Any]] = field(repr=False)
    """The best answer, by trial."""

    def person(self, draw: random.Random) -> float:
        return knows(self.truth, draw)

    def answer(self, person: float, trial: Trial, draw: random.Random) -> Mapping[str, Any]:
        if draw.random() < person:
            return dict(self.best[trial.id])
        return outcome.random_values(trial.form, draw)


def knows(truth: "Truth", draw: random.Random) -> float:
    """The share of items that one person knows, drawn around the truth's."""
    middle = math.log(truth.effect / (1 - truth.effect))
    return 1 / (1 + math.exp(-draw.gauss(middle, truth.person_sd)))


def worth(benchmark: Benchmark, trial: Trial, values: Mapping[str, Any], options: Mapping[str, Any]) -> float:
    """The points of an answer, as the benchmark itself gives them; the worst where it gives none."""
    points = answered(benchmark, trial, values, options).points
    return math.nan if points is None else points


def answered(benchmark: Benchmark, trial: Trial, values: Mapping[str, Any], options: Mapping[str, Any]) -> ItemScore:
    """A trial as somebody who gave these values has it."""
    answer = Answer("", trial.id, f"{PERSON}simulated", 0, 1, "", "ok", values)
    return benchmark.item(Scored(trial, 0, (answer,)), options)


def best_answer(benchmark: Benchmark, trial: Trial, options: Mapping[str, Any]) -> Mapping[str, Any]:
    """The answer that the benchmark gives most points for: by its key (`reference`, `correct`), or found by trying one
    change after the other until none is better."""
    form = trial.form
    for name in ("reference", "correct"):
        told = trial.key.get(name)
        if isinstance(told, Mapping) and set(form.keys) <= set(told):
            whole = _whole({key: told[key] for key in form.keys}, form)
            if not problems(form, whole):
                return whole
    better: Better = getattr(benchmark, "better", "higher")
    best = dict(_whole(dict.fromkeys(form.keys, 0.0), form))
    top = goodness(worth(benchmark, trial, best, options), better)
    for _ in range(20):
        tried = [
            (goodness(worth(benchmark, trial, change, options), better), change) for change in _changes(best, form)
        ]
        goodness_of_change, changed = max(tried, key=lambda pair: pair[0], default=(top, best))
        if goodness_of_change <= top:
            break
        top, best = goodness_of_change, changed
    return best


def _whole(values: Mapping[str, float], form: Form) -> dict[str, int]:
    """As whole numbers on their scales; of points dealt out, with the largest remainders rounded up."""
    if form.total is None:
        return {scale.key: min(max(round(values[scale.key]), scale.low), scale.high) for scale in form.scales}
    given = sum(values.values())
    exact = {key: value * form.total / given if given else form.total / len(values) for key, value in values.items()}
    whole = {key: int(value) for key, value in exact.items()}
    for key in sorted(exact, key=lambda key: whole[key] - exact[key])[: form.total - sum(whole.values())]:
        whole[key] += 1
    return whole


def _changes(values: Mapping[str, int], form: Form) -> list[dict[str, int]]:
    """Every answer that differs in one scale; where points are dealt out, by points from one scale to another."""
    if form.total is None:
        return [
            {**values, scale.key: value}
            for scale in form.scales
            for value in range(scale.low, scale.high + 1)
            if value != values[scale.key]
        ]
    return [
        {**values, a: values[a] - points, b: values[b] + points}
        for a in form.keys
        for b in form.keys
        if a != b
        for points in range(1, values[a] + 1)
    ]


def people_result(benchmark: Benchmark, scored: Iterable[Scored], options: Mapping[str, Any]) -> Result:
    """Of everybody who took a benchmark: the mean over people of each person's mean points. The person is the unit; the
    items stand with what people made of them. People's scores are norms for whoever is asked the same."""
    everything = list(scored)
    items = [(one, benchmark.item(one, options)) for one in everything]
    read = [(one, item) for one, item in items if item.score is not None]
    counted = _counted(benchmark, [one.trial for one, _ in read])
    item_scores: dict[str, list[ItemScore]] = {}
    answers: dict[str, list[Scored]] = {}
    for one, item in read:
        if one.trial.id in counted:
            item_scores.setdefault(one.attempts[-1].subject, []).append(item)
            answers.setdefault(one.attempts[-1].subject, []).append(one)
    without = len({one.attempts[-1].subject for one, _ in read}) - len(answers)
    scores = [score for each in item_scores.values() if (score := own_score(benchmark, each)) is not None]
    like = benchmark.score(f"{PERSON}all", everything, options)  # names, ranges, baselines: as for any subject
    head = like.headline
    headline = structs.replace(
        mean_estimate(head.name, scores, unit=head.unit, digits=head.digits, bounds=_inside(like.score_range, scores)),
        of="people",
    )
    said = f"People score {value_of(headline)} ({basis_of(headline)}) in {like.title}."
    return replace(
        like,
        subject=PEOPLE,
        headline=headline,
        sentence="No answer of a person could be scored." if headline.value is None else said,
        estimates=tuple(_of_people(benchmark, like, list(answers.values()), options)),
        counts=outcome.count_outcomes(item.status for _, item in items),
        items=tuple(_together([item for _, item in items])),
        caveats=(
            *outcome.count_caveats(outcome.count_outcomes(item.status for _, item in items), like.noun),
            *([_without(without, benchmark, like.noun)] if without else []),
        ),
        norms=(norms := Norms(tuple(scores), f"people of this study, {benchmark.title}") if scores else None),
        tables=_persons(benchmark, list(answers.values()), options, norms),
    )


def _counted(benchmark: Benchmark, trials: Sequence[Trial]) -> set[str]:
    """The trials that people's scores are made of, by id: the same kind for everybody, whatever each of them got."""
    condition: str = getattr(benchmark, "counted_condition", "")
    return {one.id for one in trials if one.condition == condition} or {one.id for one in trials}


def _without(count: int, benchmark: Benchmark, noun: str) -> str:
    condition: str = getattr(benchmark, "counted_condition", "")
    return (
        f"{many(count, 'person', 'people')} answered no {one_of(noun)} in the condition '{condition}', which the score "
        f"is made of, and {'is' if count == 1 else 'are'} left out."
    )


def _of_people(
    benchmark: Benchmark, like: Result, answers: Sequence[Sequence[Scored]], options: Mapping[str, Any]
) -> Iterator[Estimate]:
    """What else is told of people, person by person: what one of them likes is not what all do."""
    told = [estimate for estimate in like.estimates if estimate.name in getattr(benchmark, "of_people", ())]
    each = [benchmark.score(f"{PERSON}one", answer, options).estimates for answer in answers] if told else []
    for estimate in told:
        values = [own.value for person in each for own in person if own.name == estimate.name and own.value is not None]
        of_all = mean_estimate(estimate.name, values, unit=estimate.unit, note=estimate.note, digits=estimate.digits)
        yield structs.replace(of_all, of="people")


MOST_PERSONS = 200
"""Rows of the table of persons: beyond that a distribution says more."""


def _persons(
    benchmark: Benchmark, answers: Sequence[Sequence[Scored]], options: Mapping[str, Any], here: Norms | None
) -> tuple[Table, ...]:
    """Each person's score and place: among the people of the published study where the benchmark has their scores, else
    among the people of this one. Persons are numbered from the best on, so that nobody is named."""
    if here is None or len(answers) > MOST_PERSONS:
        return ()
    norms = benchmark.norms(options, NO_CONTEXT) if isinstance(benchmark, Normed) else None
    rows = []
    for answer in answers:
        result = benchmark.score(f"{PERSON}one", answer, options)
        against = norms or here
        measured = next(
            (estimate for estimate in result.estimates if estimate.name == against.measure), result.headline
        )
        place = percentile(measured, against, against.better or result.better)
        rows.append((goodness(measured.value, against.better or result.better), result.headline, measured, place))
    rows.sort(key=lambda row: -row[0])
    against = norms or here
    heads = ["person", rows[0][1].name, *([rows[0][2].name] if norms and norms.measure else []), "above people"]
    body: list[tuple[Cell, ...]] = [
        (str(number), head, *([measured] if norms and norms.measure else []), place)
        for number, (_, head, measured, place) in enumerate(rows, start=1)
    ]
    note = f"Above people: the share of {against.people} {against.source} who do worse"
    return (
        Table(
            "Where each person stands", heads, body, f"{note}; {against.caution}." if against.caution else f"{note}."
        ),
    )


def own_score(benchmark: Benchmark, items: Sequence[ItemScore]) -> float | None:
    """One subject's headline: the mean of the points that the benchmark compares by, item by item unless each answer
    counts. `together` would say the same with an interval, whose draws take seconds for hundreds of people, and nobody
    reads it here."""
    comparable: Callable[[Sequence[ItemScore]], Sequence[ItemScore]] | None = getattr(benchmark, "comparable", None)
    by_item = comparable is not None and not getattr(benchmark, "each_answer_counts", False)
    points: dict[str, list[float]] = {}
    for place, item in enumerate(comparable(items) if comparable is not None else items):
        if item.points is not None:
            points.setdefault(item.item if by_item else str(place), []).append(item.points)
    return fmean(map(fmean, points.values())) if points else None


def _inside(bounds: tuple[float, float], values: Sequence[float]) -> tuple[float, float] | None:
    return bounds if all(bounds[0] <= value <= bounds[1] for value in values) else None


def _together(items: Sequence[ItemScore]) -> Iterable[ItemScore]:
    """One line an item: the mean of what people gave and got."""
    groups = grouped((item.item, item) for item in items)
    for name, group in sorted(groups.items()):
        read = [item for item in group if item.score is not None]
        scores = [item.score for item in read if item.score is not None]
        mean = fmean(scores) if scores else None
        keys = dict.fromkeys(key for item in read for key in item.values)
        numbers = {key: [v for item in read if isinstance(v := item.values.get(key), int | float)] for key in keys}
        yield ItemScore(
            name,
            group[0].trial,
            0,
            "ok" if read else group[0].status,
            mean,
            title=group[0].title,
            values={key: round(fmean(number), 2) for key, number in numbers.items() if number},
            reference=group[0].reference,
            attempts=len(read),
            points=None if any(item.points is None for item in read) else mean,
            shown=group[0].shown,
        )


def _is_closed(form: Form) -> bool:
    return bool(form.scales) and form.scales == form.fields


def _answers(scale: Scale) -> tuple[int, ...]:
    """What instructed items ask for: values spread over the scale, both ends left out where there is room."""
    values = range(scale.low, scale.high + 1)
    inner = values[1:-1] if len(values) > 4 else values
    step = max(1, len(inner) // 4)
    return tuple(inner[::step])[:4]


# -- contrasts and templates, as every kind has them -----------------------------------------------------------------


def first_step(alpha: float, arms: int) -> tuple[float, str]:
    """The level at which one arm must differ from the reference where no other does, Holm's first step, and the words
    for it: power is said of this."""
    others = arms - 1
    return alpha / others, f"alpha {alpha:g}" + (f" over {others} comparisons by Holm" if others > 1 else "")


def corrected(found: "Sequence[Contrast]", planned: int) -> "tuple[Contrast, ...]":
    """Holm's correction over all that were planned: one that could not be estimated counts as p = 1, or the data would
    choose the family."""
    adjusted = holm([*(contrast.p for contrast in found), *[1.0] * (planned - len(found))])
    return tuple(
        replace(contrast, p_holm=contrast.p if p_holm is None else p_holm)
        for contrast, p_holm in zip(found, adjusted, strict=False)
    )


def contrast_table(found: "Sequence[Contrast]", who: str, measure: str, alpha: float, note: str) -> Table:
    """Each with its interval at the plan's own level. A single planned one needs no correction, and none is shown."""
    several = len(found) > 1 or any(contrast.p_holm != contrast.p for contrast in found)
    rows = tuple(
        (
            contrast.arm,
            contrast.reference,
            structs.replace(contrast.estimate, low=contrast.low, high=contrast.high),
            p_text(contrast.p),
            *((p_text(contrast.p_holm),) if several else ()),
            "yes" if contrast.p_holm < alpha else "no",
        )
        for contrast in found
    )
    columns = (
        who,
        "against",
        f"{measure} ({100 * (1 - alpha):g} % interval)",
        "p",
        *(("p after Holm",) if several else ()),
        f"different at {alpha:g}",
    )
    return Table("Planned contrasts", columns, rows, note)


def template(package: str, name: str = "study.toml") -> str:
    """The template of a study file, kept beside the benchmark that it is for."""
    from importlib.resources import files

    return files(package).joinpath(name).read_text(encoding="utf-8")
