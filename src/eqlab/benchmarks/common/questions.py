"""A benchmark of questions with scales or choices, each scored by itself: the skeleton. Who derives from `Questions`
says what is asked and what an answer is worth; asking, reading, counting, baselines, result and studies follow."""

import random
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from eqlab.analysis.intervals import mean_estimate
from eqlab.benchmarks.common import outcome
from eqlab.benchmarks.common.choices import choice, lettered, numbered, read_choices, turned
from eqlab.benchmarks.common.outcome import Asked
from eqlab.benchmarks.common.reading import SCALED, read_json, read_numbers
from eqlab.benchmarks.common.selection import spread
from eqlab.benchmarks.options import Options
from eqlab.core.answers import Reading, final
from eqlab.core.benchmark import NO_CONTEXT, Asking, Context, OptionHelp, Scored, Selection, Source
from eqlab.core.forms import Form, Scale
from eqlab.core.grouping import group_means, grouped
from eqlab.core.plural import many
from eqlab.core.results import Baseline, Better, Estimate, ItemScore, Result
from eqlab.core.runs import PEOPLE, PERSON
from eqlab.core.trials import Trial
from eqlab.core.values import dataclass

if TYPE_CHECKING:
    from eqlab.core.studied import StudyKind

O = TypeVar("O", bound=Options)  # noqa: E741


@dataclass(frozen=True, slots=True)
class Question:
    """One item as it is asked."""

    id: str
    text: str
    """What the subject looks at."""
    scales: tuple[Scale, ...]
    key: Mapping[str, Any] = field(default_factory=dict)
    """What scoring needs and no subject sees, as plain JSON. Under `reference` or `correct`, by scale: the best answer,
    which simulated people who know it give."""
    total: int | None = None
    """What the values add up to, where points are dealt out."""
    condition: str = "plain"
    """An item asked under several conditions has repeats that are counted on."""
    shuffled: bool = False
    """Whether the scales stand in an order drawn by seed, item and repeat."""
    turned: bool = False
    """Whether the options of its choices stand in an order drawn by seed and item, and turned by one place from repeat
    to repeat, so that over as many repeats as options each stands everywhere once. `key["correct"]`, by scale the place
    of the right option, follows."""
    ends: tuple[str, str] = ("", "")
    """How to answer, in the question's own language: in free text, and for a structured answer. Empty: in English."""
    drawn_by: str = ""
    """What that order is drawn by; empty: its id. Items of one name (a question in two languages) have one order, and
    count as one where a run is limited, so that they stay together."""


class Questions(ABC, Generic[O]):
    """The skeleton. The headline is the mean over items of `points`, repeats averaged first; `together` and
    `comparable` are for one that is no mean."""

    name: ClassVar[str]
    title: ClassVar[str]
    protocol: ClassVar[int] = 1
    item_sets: ClassVar[tuple[str, ...]] = ("open",)
    branches: ClassVar[tuple[str, ...]] = ()
    asks: ClassVar[str] = ""
    """What it asks and what answers are held against, in a sentence or two."""
    option_class: type[O] = Options  # type: ignore[assignment]
    headline: ClassVar[str] = "score"
    unit: ClassVar[str] = ""
    digits: ClassVar[int] = 2
    better: ClassVar[Better] = "higher"
    score_range: ClassVar[tuple[float, float]] = (0.0, 100.0)
    noun: ClassVar[str] = "items"
    instruction: ClassVar[str] = ""
    """What a model is told after the stimulus; empty: how the form is filled in, in plain words."""
    quick_items: ClassVar[int] = 10
    of_people: ClassVar[tuple[str, ...]] = ()
    """Names of further estimates that are told of people's answers together, over items."""
    each_answer_counts: ClassVar[bool] = False
    """Whether a person's score is the plain mean over answers, also of an item asked under several conditions; else
    these are averaged first, as in `together`."""
    counted_condition: ClassVar[str] = ""
    """The one condition that people's scores are made of if anybody answered under it; empty: all count."""
    repeats: ClassVar[int] = 1
    """How often the full profile asks each item; the quick one asks once."""
    asked_with: ClassVar[Asking] = Asking(tries=3, temperature=0.0, temperature_step=0.15, max_tokens=256)

    # -- what a benchmark says --

    @abstractmethod
    def questions(self, files: Mapping[str, bytes], options: O) -> Sequence[Question]:
        """All items; raises DataError on a file that is not what it should be."""

    def points(self, trial: Trial, values: Mapping[str, float]) -> float:
        """What an answer adds to the headline: 100 where all is right."""
        return 100.0 * bool(values == trial.key["correct"])

    def files(self, item_set: str, options: O) -> Sequence[Source]:
        """The item files; none where the items are in the code."""
        return ()

    def instruct(self, form: Form, options: O, *, structured: bool) -> str:
        """What a model is told after the stimulus."""
        return self.instruction or how_to_fill_in(form, structured=structured)

    def together(self, items: Sequence[ItemScore]) -> Estimate:
        """The headline of one subject's items: the mean of their points."""
        return mean_estimate(
            self.headline, item_means(items), unit=self.unit, digits=self.digits, bounds=self.score_range
        )

    def comparable(self, items: Sequence[ItemScore]) -> Sequence[ItemScore]:
        """The items with points whose mean is the headline: what comparisons pair. Here they have them."""
        return items

    def more_estimates(self, scored: Sequence[Scored], items: Sequence[ItemScore], options: O) -> Iterable[Estimate]:
        """What else is worth a number."""
        return ()

    def proviso(self, estimates: Sequence[Estimate]) -> str:
        """What is said wherever the score stands, made of the estimates beside it."""
        return ""

    def caveats(self, options: O) -> Sequence[str]:
        """What a reader must know whatever was answered."""
        return ()

    def people(self, result: Result, options: O) -> Result:
        """What is said of people's result besides; here nothing."""
        return result

    def model(self, result: Result, scored: Sequence[Scored]) -> Result:
        """What is said of a model's result besides; here nothing."""
        return result

    # -- what follows --

    def option_help(self) -> Sequence[OptionHelp]:
        return self.option_class.help()

    def options(self, item_set: str, given: Mapping[str, str]) -> Mapping[str, Any]:
        return self.option_class.read(self.name, item_set, given).plain()

    def sources(self, item_set: str, options: Mapping[str, Any]) -> Sequence[Source]:
        return self.files(item_set, self.option_class.of(options))

    def plan(
        self, files: Mapping[str, bytes], options: Mapping[str, Any], selection: Selection
    ) -> Iterator[tuple[Trial, int]]:
        asked = self.questions(files, self.option_class.of(options))
        names = list(dict.fromkeys(one.drawn_by or one.id for one in asked))
        kept = set(spread(names, selection.limit or (self.quick_items if selection.profile == "quick" else len(names))))
        chosen = [one for one in asked if (one.drawn_by or one.id) in kept]
        before: Counter[str] = Counter()
        for repeat in range(selection.repeats or (1 if selection.profile == "quick" else self.repeats)):
            for question in chosen:
                yield self._trial(question, self.option_class.of(options), selection, repeat), before[question.id]
                before[question.id] += 1

    def _trial(self, question: Question, options: O, selection: Selection, repeat: int) -> Trial:
        scales, key = list(question.scales), dict(question.key)
        if question.turned:
            name = f"{selection.seed} {question.drawn_by or question.id}"
            orders = {scale.key: turned(scale.high, f"{name} {scale.key}", repeat) for scale in scales}
            key["correct"] = {one: orders[one].index(int(right)) + 1 for one, right in key["correct"].items()}
            labels = {scale.key: [dict(scale.anchors)[place] for place in orders[scale.key]] for scale in scales}
            scales = [choice(scale.key, scale.text, labels[scale.key]) for scale in scales]
        if question.shuffled:
            random.Random(f"{selection.seed} {question.id} {repeat}").shuffle(scales)
        form = Form(tuple(scales), total=question.total)
        told = self.told(question, form, options, structured=selection.structured)
        return Trial(
            self.name,
            (question.id,),
            question.condition,
            question.text,
            form,
            f"{question.text}\n\n{told}".strip(),
            mode="json" if selection.structured else "text",
            order_seed=repeat if question.shuffled or question.turned else None,
            key=key,
        )

    def told(self, question: Question, form: Form, options: O, *, structured: bool) -> str:
        """What a model is told after this question."""
        text, end = self.instruct(form, options, structured=structured), question.ends[structured]
        return f"{text.rpartition(chr(10))[0]}\n{end}" if end else text

    def asking(self, trial: Trial, options: Mapping[str, Any]) -> Asking:
        return self.asked_with

    def read(self, trial: Trial, text: str, options: Mapping[str, Any]) -> Reading:
        return read_form(text, trial)

    def item(self, scored: Scored, options: Mapping[str, Any]) -> ItemScore:
        answer, trial = final(scored.attempts), scored.trial
        read = answer.values if answer is not None and answer.status == "ok" else {}
        given = {key: read[key] for key in trial.form.keys if key in read}  # as shown, whatever order the reply had
        points = self.points(trial, given) if given else None
        return ItemScore(
            trial.items[0],
            trial.id,
            scored.repeat,
            answer.status if answer else None,
            points,
            text=answer.text if answer else "",
            title="" if trial.condition == "plain" else f"{trial.items[0]}, {trial.condition}",
            values=given,
            reference=trial.key.get("reference") or trial.key.get("correct") or {},
            attempts=len(scored.attempts),
            points=points,
            shown=trial.stimulus,
        )

    def score(
        self, subject: str, scored: Iterable[Scored], options: Mapping[str, Any], context: Context = NO_CONTEXT
    ) -> Result:
        everything, typed = list(scored), self.option_class.of(options)
        if subject == PEOPLE:
            from eqlab.benchmarks.common.people import people_result

            return self.people(people_result(self, everything, options), typed)
        items = tuple(self.item(one, options) for one in everything)
        counted = outcome.count_outcomes(item.status for item in items)
        valid = outcome.is_valid(counted)
        trials = [one.trial for one in everything]
        asked = " ".join([trial.id for trial in trials])  # of all models the same
        floor = context.once(f"baselines of {asked}", lambda: self.baselines(_asked(subject, everything, items)))
        head = self.together(items)
        flat = outcome.flatness([item.values[key] for key in item.values] for item in items)
        scaled = sum(1 for one in everything if (last := final(one.attempts)) and last.note.endswith(SCALED))
        who = subject.removeprefix("model:")
        estimates = tuple(self.more_estimates(everything, items, typed))
        result = Result(
            self.name,
            self.title,
            subject,
            {**options, "mode": everything[0].trial.mode if everything else "text"},
            outcome.sentence(who, head, self.title, self.noun, floor, self.better, valid=valid),
            head,
            self.score_range,
            (*estimates, *(flat.estimates if flat else ())),
            counted,
            tuple(self.comparable(items)),
            self.score_range,
            baselines=floor,
            valid=valid,
            caveats=(
                *(flat.caveats if flat else ()),
                *(
                    [f"{many(scaled, 'answer was', 'answers were')} {SCALED}: the sum was not as asked."]
                    if scaled
                    else []
                ),
                *outcome.count_caveats(counted, self.noun),
                *self.caveats(typed),
            ),
            noun=self.noun,
            proviso=self.proviso(estimates),
            better=self.better,
        )
        return self.model(result, everything)

    def baselines(self, asked: Asked) -> tuple[Baseline, ...]:
        """The strongest no-skill baselines, on what was asked."""
        return outcome.baselines(asked, self.points, self.better)

    def study(self) -> "StudyKind":
        from eqlab.benchmarks.common.people import BenchmarkStudy

        return BenchmarkStudy(self)


def _asked(subject: str, scored: Sequence[Scored], items: Sequence[ItemScore]) -> Asked:
    """A model's questions; of people each person's own, of those with a score."""
    if not subject.startswith(PERSON):
        return [list({one.trial.id: one.trial for one in scored}.values())] if scored else []
    answered = [one for one, item in zip(scored, items, strict=True) if item.score is not None]
    return list(grouped((one.attempts[-1].subject, one.trial) for one in answered).values())


def read_form(text: str, trial: Trial) -> Reading:
    """A reply to any form of scales: structured, multiple choice, or numbers by name."""
    if trial.mode == "json":
        return read_json(text, trial.form)
    return read_choices(text, trial) if _is_choice(trial.form) else read_numbers(text, trial.form)


def _is_choice(form: Form) -> bool:
    return bool(form.scales) and all(len(scale.anchors) == scale.high - scale.low + 1 for scale in form.scales)


def item_means(items: Iterable[ItemScore]) -> list[float]:
    """Points by item, repeats averaged: the independent units behind the interval."""
    return list(group_means((item.item, item.points) for item in items).values())


def mean_by_item(name: str, values: Iterable[tuple[str, float | None]], note: str = "", digits: int = 2) -> Estimate:
    """The mean over items of each item's mean, with its interval."""
    return mean_estimate(name, list(group_means(values).values()), note=note, digits=digits)


_DEALT_ZH = "请把{total}分分配给下面{count}种情绪，某种情绪越强，分数越高；总分必须是{total}。\n{words}\n\n{end}"
_ENDS_ZH = ("请每行写一个词、一个冒号和分数，不要写别的。", "请只回答一个 JSON 对象，以这些词为键，分数为值。")


def how_to_fill_in(form: Form, *, structured: bool = False, language: str = "en") -> str:
    """The form in words, as a model gets it; of feelings that points are dealt out over in Chinese, too."""
    if form.total is not None and language == "zh":
        words = {"total": form.total, "count": len(form.keys), "words": "\n".join(form.keys)}
        return _DEALT_ZH.format(**words, end=_ENDS_ZH[structured])
    if _is_choice(form):
        show = numbered if structured else lettered
        asked = "\n\n".join(f"{scale.text}\n{show(scale)}" for scale in form.scales)
        if structured:
            return f"{asked}\n\nAnswer with a JSON object: {_keys(form)} and the number of your choice."
        return f"{asked}\n\nAnswer with the letter{'' if len(form.scales) == 1 else ' for each question, a line each'}."
    lines = "\n".join(f"{scale.key}: {scale.text}" if scale.text != scale.key else scale.key for scale in form.scales)
    low, high = form.scales[0].low, form.scales[0].high
    if form.total is not None:
        how = f"Deal out {form.total} points over these, as many to each as fits; they must add up to {form.total}."
    else:
        ends = "".join(f"; {value} is {label}" for value, label in form.scales[0].anchors)
        how = f"Give each of these a whole number from {low} to {high}{ends}."
    if structured:
        return f"{how}\n{lines}\n\nAnswer with a JSON object: {_keys(form)} and their numbers."
    return f'{how}\n{lines}\n\nAnswer with one line each, as "{form.scales[0].key}: number", and nothing else.'


def _keys(form: Form) -> str:
    return ", ".join(f'"{key}"' for key in form.keys)
