"""EmoBench as a benchmark: its options, its files, and the steps in their order.

From answers to marks, and from marks to a result. The scenario is the unit of every interval: a scenario asked in
four orders is still one.

EmoBench with people: the same scenarios, each asked once, in one language."""

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import partial
from statistics import fmean
from typing import TYPE_CHECKING, Any

from msgspec import structs

from eqlab.analysis.intervals import clustered_share
from eqlab.benchmarks.common.choices import (
    Mark,
    Unit,
    accuracy,
    bias_estimates,
    bias_table,
    by_chance,
    guessed_share,
    languages,
    mark,
    no_skill,
    read_choices,
)
from eqlab.benchmarks.common.outcome import count_outcomes, is_valid, not_answered_yet
from eqlab.benchmarks.common.people import Knowers, check_scale, instructed, knows, template
from eqlab.benchmarks.common.selection import balanced_batches, spread
from eqlab.benchmarks.emobench.items import (
    APPLICATION_FILE,
    OPEN,
    QUESTIONS,
    TASKS,
    UNDERSTANDING_FILE,
    EmoBenchOptions,
    Scenario,
    build_trial,
    chosen_scenarios,
    plan,
    question,
)
from eqlab.core.answers import STATUSES, UNANSWERED, Reading
from eqlab.core.benchmark import NO_CONTEXT, Asking, Context, OptionHelp, Scored, Selection, Source
from eqlab.core.design import Batch, Design
from eqlab.core.errors import UsageError
from eqlab.core.forms import Form
from eqlab.core.grouping import group_means
from eqlab.core.plural import many
from eqlab.core.results import Baseline, Estimate, ItemScore, Norms, Result, Table, whiskers
from eqlab.core.runs import OWN, PEOPLE, PERSON
from eqlab.core.studied import Analysed, PeopleResult, Recovered, StudyForm, StudyPages, Truth
from eqlab.core.study import Study
from eqlab.core.trials import Trial
from eqlab.core.values import dataclass

if TYPE_CHECKING:
    from eqlab.core.studied import StudyKind


def shown(one: Mark) -> ItemScore:
    """As it stands in the list of items: in the words of the choices."""
    words = {scale.key: dict(scale.anchors) for scale in one.trial.form.scales}
    given = one.answer.values if one.answer and one.right else {}
    points = None if one.all_right is None else 100.0 * one.all_right
    return ItemScore(
        one.item,
        one.trial.id,
        one.repeat,
        one.status,
        points,
        title=f"{one.trial.condition}, {one.trial.key['category']}",
        text=one.answer.text if one.answer else "",
        values={key: words[key].get(value, value) for key, value in given.items()},
        reference={key: words[key][value] for key, value in one.trial.key["correct"].items()},
        attempts=one.attempts,
        points=points,
        shown=one.trial.stimulus,
    )


HEADLINE = "right answers"
BOTH = "understanding, emotion and cause both right"


def result(subject: str, scored: Iterable[Scored], options: Mapping[str, Any]) -> Result:
    marks = [mark(one) for one in scored]
    people = subject == PEOPLE or subject.startswith(PERSON)
    unit: Unit = _person if people else _scenario
    read = [one for one in marks if one.all_right is not None]
    counts = count_outcomes(one.status for one in marks)
    valid = is_valid(counts)
    headline = accuracy(HEADLINE, read, unit)
    chance = by_chance(read, unit)
    return Result(
        benchmark="emobench",
        title="EmoBench",
        subject=subject,
        rules={**options, "mode": marks[0].trial.mode if marks else "text", "orders": _orders(marks)},
        sentence=_sentence(subject, headline, chance, valid, people),
        headline=headline,
        score_range=(0.0, 100.0),
        estimates=(*parts(read, unit), *_strict(marks, unit), *languages(read), *bias_estimates(read)),
        counts=counts,
        items=tuple(shown(one) for one in marks),
        item_range=(0.0, 100.0),
        baselines=_baselines(read, unit, chance),
        valid=valid,
        caveats=_caveats(marks, read, counts, options),
        tables=(*_by_category(read, unit), *bias_table(read)),
        noun="scenarios",
        norms=_norms(read) if people else None,
    )


def _norms(read: Sequence[Mark]) -> Norms | None:
    """Each person's share of right answers."""
    shares = group_means((_person(one), 100.0 * bool(one.all_right)) for one in read)
    return Norms(tuple(shares.values()), "people of this study") if shares else None


def parts(read: Sequence[Mark], unit: Unit) -> list[Estimate]:
    """Each task, and emotion and cause by themselves, each with what guesses would get."""
    found = []
    understood, applied = ([one for one in read if one.trial.condition == task] for task in TASKS)
    if understood:
        found.append(_noted(accuracy(BOTH, understood, unit), by_chance(understood, unit)))
        for key in ("emotion", "cause"):
            alone = accuracy(f"{key} right", understood, unit, partial(_right, key))
            found.append(_noted(alone, no_skill(understood, unit, partial(_guess, key))))
    if applied:
        found.append(_noted(accuracy("application right", applied, unit), by_chance(applied, unit)))
    return found


def _strict(marks: Sequence[Mark], unit: Unit) -> list[Estimate]:
    """With what could not be read, or was refused, as wrong; the same where there is none, so then it is not said."""
    answered = [one for one in marks if one.answer is not None and one.answer.answered]
    if all(one.all_right is not None for one in answered):
        return []
    refused = clustered_share("refused", [one.status == "refused" for one in answered], [one.item for one in answered])
    name = f"{HEADLINE}, if no answer is a wrong one"
    return [accuracy(name, answered, unit, lambda one: bool(one.all_right)), refused]


def _right(key: str, one: Mark) -> bool | None:
    return one.right.get(key)


def _guess(key: str, one: Mark) -> float:
    return next(1 / scale.high for scale in one.trial.form.scales if scale.key == key)


def _noted(estimate: Estimate, chance: float | None) -> Estimate:
    return estimate if chance is None else structs.replace(estimate, note=f"by chance {chance:.1f}")


def _by_category(read: Sequence[Mark], unit: Unit) -> list[Table]:
    tables = []
    for task in TASKS:
        marks = [one for one in read if one.trial.condition == task]
        groups: dict[tuple[str, str], list[Mark]] = {}
        for one in marks:
            for name in (("category", str(one.trial.key["category"])), ("kind", str(one.trial.key["kind"]))):
                groups.setdefault(name, []).append(one)
        rows = tuple(
            (name, level, accuracy(name, some, unit), by_chance(some, unit), len({_scenario(one) for one in some}))
            for (level, name), some in sorted(groups.items())
        )
        if rows:
            note = "Right if emotion and cause both are." if task == "understanding" else ""
            columns = ("part", "of", "right", "by chance, %", "scenarios")
            tables.append(Table(task.capitalize(), columns, rows, note, draw=(whiskers("right"),)))
    return tables


def _baselines(read: Sequence[Mark], unit: Unit, chance: float | None) -> tuple[Baseline, ...]:
    """What needs no reading of the scenario."""
    longest = no_skill(read, unit, _longest_is_right)
    if chance is None or longest is None:
        return ()
    return (Baseline("a guess", chance), Baseline("always the longest choice", longest))


def _longest_is_right(one: Mark) -> bool:
    return all(
        max(scale.anchors, key=lambda pair: (len(pair[1]), -pair[0]))[0] == one.trial.key["correct"][scale.key]
        for scale in one.trial.form.scales
    )


def _sentence(subject: str, headline: Estimate, chance: float | None, valid: bool, people: bool) -> str:
    who = "People" if people else subject.removeprefix("model:")
    if headline.value is None or chance is None:
        return f"No answer of {who} could be read."
    things = "scenarios" if not people else "person" if headline.n == 1 else "people"
    bounds = f", 95 % interval {headline.low:z.1f} to {headline.high:z.1f}" if headline.low is not None else ""
    text = f"{who} {'get' if people else 'gets'} {headline.value:.1f} % right ({headline.n} {things}{bounds})"
    text += f"; guesses get {chance:.1f} %."
    return text if valid else f"{text} But too few answers could be read: not valid."


def _caveats(
    marks: Sequence[Mark], read: Sequence[Mark], counts: Mapping[str, int], options: Mapping[str, Any]
) -> tuple[str, ...]:
    said = []
    lost = sum(counts[status] for status in STATUSES[1:])
    if lost:
        told = ", ".join(f"{counts[status]} {status}" for status in STATUSES[1:])
        said.append(f"{lost} of {many(len(marks), 'answer')} {'is' if lost == 1 else 'are'} left out ({told}).")
    said += not_answered_yet(counts[UNANSWERED])
    if _orders(marks) == 1 and read:
        said.append(
            "Asked in one order of choices: a preference for a position cannot be told from knowledge (--repeats 4)."
        )
    if options["item_set"] == "open":
        said.append("Open scenarios: the key is one author's, not a panel's; not comparable with published scores.")
    return tuple(said)


def _orders(marks: Sequence[Mark]) -> int:
    return len({one.trial.order_seed for one in marks})


def _scenario(one: Mark) -> str:
    return one.item


def _person(one: Mark) -> str:
    return one.answer.subject if one.answer else ""


ARM = "scenarios"
_ORDERS = 4
_PEOPLE = 20_000
"""Simulated people, to know the score that a truth is worth."""


WORDS: Mapping[str, str] = QUESTIONS["en"]


@dataclass(frozen=True, slots=True)
class EmoBenchStudy:
    words: Mapping[str, str] = field(default_factory=lambda: WORDS)

    def in_words(self, words: Mapping[str, str]) -> "EmoBenchStudy":
        return replace(self, words={**self.words, **words})

    def form(self) -> StudyForm:
        return StudyForm(
            "emobench",
            "emobench",
            "people take EmoBench",
            template("eqlab.benchmarks.emobench"),
            0.7,
            "share of scenarios that the middle person knows; the others are guessed",
            headline="the share of right answers, the mean over people",
            not_for_people=(
                ("reasoning", "yes", "people are not asked to write (delete the line)"),
                ("language", "both", "a person is asked in one language (write en or zh)"),
            ),
        )

    def pages(self, study: Study, files: Mapping[str, bytes], options: Mapping[str, Any]) -> StudyPages:
        """Scenarios dealt by seed into batches of all categories; the orders of choices take turns."""
        typed = EmoBenchOptions.of(options)
        scenarios = chosen_scenarios(files, typed)
        chosen = spread(scenarios, study.limit or len(scenarios))
        trials = [self._page(scenario, typed, study.seed, place % _ORDERS) for place, scenario in enumerate(chosen)]
        groups = [scenario.category for scenario in chosen]
        dealt = balanced_batches(trials, groups, study.places.batch_size, study.seed)
        batches = tuple(Batch(ARM, number, tuple(own)) for number, own in enumerate(dealt))
        scale = check_scale(study.checks, (trial for batch in batches for trial in batch.trials))
        return StudyPages(batches, instructed(study.checks, scale, tuple(range(scale.low, scale.high + 1))))

    def _page(self, scenario: Scenario, options: EmoBenchOptions, seed: int, order: int) -> Trial:
        """Questions in the study's language; the scenario keeps its own."""
        trial = build_trial(scenario, options, seed, order)
        if self.words == WORDS:
            return trial
        scales = [replace(scale, text=question(scenario, scale.key, self.words)) for scale in trial.form.scales]
        return replace(trial, form=Form(tuple(scales)), id="")

    def warnings(self, design: Design) -> Iterable[str]:
        return ()

    def simulated(self, design: Design, truth: Truth, seed: int) -> Knowers:
        if not 0 < truth.effect < 1:
            raise UsageError(f"{truth.effect:g} is not a share of scenarios.", "Give a number between 0 and 1.")
        trials = [trial for batch in design.batches for trial in batch.trials]
        return Knowers(truth, {trial.id: trial.key["correct"] for trial in trials})

    def result(self, design: Design, people: Analysed) -> PeopleResult:
        (asked,) = design.run.benchmarks
        return PeopleResult(result(PEOPLE, people.scored, asked.options))

    def recovered(self, design: Design, truth: Truth, people_result: PeopleResult) -> Sequence[Recovered]:
        headline = people_result.result.headline
        if headline.value is None:
            return ()
        return (Recovered(headline.name, expected_score(design, truth), headline, null=None),)


def expected_score(design: Design, truth: Truth) -> float:
    """What such people get on average: a batch is as likely as another, and what is not known is guessed."""
    draw = random.Random("expected score")
    known = fmean(knows(truth, draw) for _ in range(_PEOPLE))
    guessed = fmean(fmean(guessed_share(trial) for trial in batch.trials) for batch in design.batches)
    return 100 * (known + (1 - known) * guessed)


_TRIES, _TEMPERATURE_STEP, _TOKENS, _ROOM_TO_THINK = 3, 0.15, 64, 1024


class EmoBench:
    name = "emobench"
    title = "EmoBench"
    asks = "Multiple choice: what does somebody feel, and why; and what helps most?"
    open_title = "EQ Lab open choices"
    branches = ("understand", "manage")
    protocol = 1
    item_sets = ("published", "open", OWN)

    def option_help(self) -> Sequence[OptionHelp]:
        return EmoBenchOptions.help()

    def options(self, item_set: str, given: Mapping[str, str]) -> Mapping[str, Any]:
        options = EmoBenchOptions.read(self.name, item_set, given)
        if item_set == "open" and options.language != "en":
            raise UsageError("The open scenarios are English.", "Add '--items published' for Chinese ones.")
        return options.plain()

    def sources(self, item_set: str, options: Mapping[str, Any]) -> Sequence[Source]:
        if item_set != "published":
            return (Source("open", OPEN),) if item_set == "open" else ()
        typed = EmoBenchOptions.of(options)
        files = {"understanding": UNDERSTANDING_FILE, "application": APPLICATION_FILE}
        return tuple(Source("published", path) for task, path in files.items() if typed.task in ("both", task))

    def plan(
        self, files: Mapping[str, bytes], options: Mapping[str, Any], selection: Selection
    ) -> Iterator[tuple[Trial, int]]:
        typed = EmoBenchOptions.of(options)
        return plan(chosen_scenarios(files, typed), typed, selection)

    def asking(self, trial: Trial, options: Mapping[str, Any]) -> Asking:
        """Temperature 0: what varies is the order. Raised only after a reply that could not be read."""
        room = _ROOM_TO_THINK if EmoBenchOptions.of(options).reasoning and trial.mode == "text" else _TOKENS
        return Asking(_TRIES, 0.0, _TEMPERATURE_STEP, room)

    def read(self, trial: Trial, text: str, options: Mapping[str, Any]) -> Reading:
        return read_choices(text, trial)

    def score(
        self, subject: str, scored: Iterable[Scored], options: Mapping[str, Any], context: Context = NO_CONTEXT
    ) -> Result:
        return result(subject, scored, options)

    def item(self, scored: Scored, options: Mapping[str, Any]) -> ItemScore:
        return shown(mark(scored))

    def study(self) -> "StudyKind":
        return EmoBenchStudy()

    def probe_options(self) -> Mapping[str, str]:
        return {}

    def texts(self, files: Mapping[str, bytes], options: Mapping[str, Any]) -> Mapping[str, str]:
        return {scenario.id: scenario.text for scenario in chosen_scenarios(files, EmoBenchOptions.of(options))}
