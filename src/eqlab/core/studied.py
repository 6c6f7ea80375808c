"""The contract of a kind of study: how people take a benchmark. A benchmark that is `Studied` has a study file, web
pages, simulated people and an analysis; the study room looks its kind up by name and knows none of them."""

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from typing import Any, Literal, Protocol, runtime_checkable

from eqlab.core.benchmark import OptionHelp, Scored, Turn
from eqlab.core.design import Batch, Design
from eqlab.core.results import Estimate, Result, Table
from eqlab.core.runs import ModelConfig
from eqlab.core.study import Study
from eqlab.core.trials import Message, Trial
from eqlab.core.values import dataclass


@dataclass(frozen=True, slots=True)
class StudyForm:
    """What the file of a study of this kind may say."""

    kind: str
    """`kind = "…"` in the file."""
    benchmark: str
    """Whose trials people get, and who scores them."""
    title: str
    """One line about it, for help and errors."""
    template: str
    """The file that `eqlab study init` writes, with its open places as @id@, @arms@, @reference@, @instruments@,
    @panel@, @minutes@, @reward@, @fee@."""
    effect: float
    """What simulated people have in them unless told otherwise."""
    effect_words: str
    """What that number is, in words."""
    arms: Literal["items", "replies", "models"] = "items"
    """Where arms come from: from the items, or from the replies, or the models, that the file names under [arms]."""
    arms_by: tuple[str, ...] = ()
    """What may make an arm, the default first; empty: there is nothing to choose."""
    batch_size: bool = True
    """Whether the file says how many trials a person gets."""
    own_scales: bool = False
    """Whether the file may name the scales that people fill in ([[scale]])."""
    one_scale: bool = False
    """Whether a page has one scale, unless the file names scales of its own: one value throughout is then no sign of
    carelessness."""
    several_arms: bool = False
    """Whether one person may see several arms ([design])."""
    options: tuple[tuple[str, str], ...] = ()
    """Options of the benchmark that the kind itself sets."""
    own_options: tuple[OptionHelp, ...] = ()
    """Options of the kind's own, under [options] in the file beside the benchmark's; for `pages` they are in
    `study.options`, as text."""
    talks: bool = False
    """Whether people talk with models ([talk] in the file); the kind is then `Conversing`."""
    not_for_people: tuple[tuple[str, str, str], ...] = ()
    """(option, value, why): what models can be asked and people cannot."""
    headline: str = ""
    """What the result's first number is, in words, for a registration."""


@dataclass(frozen=True, slots=True)
class StudyPages:
    """What people are asked."""

    batches: tuple[Batch, ...]
    checks: tuple[Trial, ...] = ()
    """Instructed items to draw from; the key of each holds {"right": {scale key: value}}."""
    in_order: bool = False
    """Whether the trials of a batch follow from each other and keep their order."""
    people_per_batch: int | None = None
    """Where the kind itself deals people to batches; None: as the file says."""
    talks: tuple[str, ...] = ()
    """Ids of the trials that are the first turn of a talk."""


@dataclass(frozen=True, slots=True)
class Truth:
    """What is put into simulated people, so that an analysis can be held against it."""

    effect: float
    person_sd: float = 0.9
    """How much people differ, in the unit of the kind's own model."""
    item_sd: float = 0.5
    """The same of items."""
    reply_sd: float = 0.4
    """Of replies to one item, where replies are rated: an arm is better at one prompt than at another."""
    taste_sd: float = 0.4
    """Of arms to one person, where a person sees several: somebody likes one more than others do."""


class SimulatedPeople(Protocol):
    """Everybody who comes to a simulated study, under one truth. Quizzes, instructed items and questionnaires about
    oneself are answered by the study room; this is about the kind's own trials."""

    def person(self, draw: random.Random) -> Any:
        """What one person is like, drawn once; given back with every trial of theirs."""
        ...

    def answer(self, person: Any, trial: Trial, draw: random.Random) -> Mapping[str, Any]:
        """A value for each scale of the form."""
        ...


@dataclass(frozen=True, slots=True)
class Analysed:
    """The people of a study who are analysed."""

    scored: tuple[Scored, ...]
    """Their answers to the benchmark's trials; the subject of an attempt is the person."""
    questionnaires: Mapping[str, Mapping[str, float | None]] = field(default_factory=dict)
    """Scores of the questionnaires before the study, by subject: {"person:ab12": {"TEQ Overall": 52.0}}."""


@dataclass(frozen=True, slots=True)
class Contrast:
    """A difference that the plan names: one arm against the reference."""

    arm: str
    reference: str
    estimate: Estimate
    """With its 95 % interval."""
    p: float
    p_holm: float
    low: float
    high: float
    """Bounds at the plan's own level, 1 − alpha."""


@dataclass(frozen=True, slots=True)
class PeopleResult:
    """What a kind makes of the people who are analysed."""

    result: Result
    contrasts: tuple[Contrast, ...] = ()
    """Those the plan names; empty where the kind plans none, or no model fits."""
    planned: tuple[Table, ...] = ()
    """Tables about the plan: confirmatory if the plan was locked in time."""
    exploratory: tuple[Table, ...] = ()
    """Tables that need more than the answers (questionnaires); exploratory always, as the result's own tables are."""


@dataclass(frozen=True, slots=True)
class Recovered:
    """What was put in, and what the analysis finds."""

    name: str
    put_in: float
    found: Estimate
    null: float | None = 0.0
    """What it would be if there were nothing to find; None where that is no question, as with a score."""

    decided: bool | None = None
    """Whether the plan's own test finds it: at its alpha, after its correction. None where the plan tests nothing."""

    @property
    def told(self) -> bool | None:
        """Whether the effect was found: by the plan's test, else by a 95 % interval that leaves out the null."""
        if self.decided is not None:
            return self.decided
        if self.null is None or self.found.low is None or self.found.high is None:
            return None
        return not self.found.low <= self.null <= self.found.high

    @property
    def inside(self) -> bool | None:
        """Whether the 95 % interval holds the truth; None without an interval."""
        if self.found.low is None or self.found.high is None:
            return None
        return self.found.low <= self.put_in <= self.found.high


def recovered_contrast(contrast: Contrast, truth: Truth, alpha: float) -> Recovered:
    """A planned contrast under a truth that puts the same effect into every arm."""
    return Recovered(contrast.estimate.name, truth.effect, contrast.estimate, decided=contrast.p_holm < alpha)


class StudyKind(Protocol):
    """One kind of study."""

    def form(self) -> StudyForm: ...

    def pages(self, study: Study, files: Mapping[str, bytes], options: Mapping[str, Any]) -> StudyPages:
        """What people are asked. `files` are the benchmark's sources, or the arms' replies where the file names
        them; raises DataError or UsageError where nothing can be made of them."""
        ...

    def warnings(self, design: Design) -> Iterable[str]:
        """What a researcher should look at before the first person comes; nothing of it stops a study."""
        ...

    def simulated(self, design: Design, truth: Truth, seed: int) -> SimulatedPeople: ...

    def result(self, design: Design, people: Analysed) -> PeopleResult: ...

    def recovered(self, design: Design, truth: Truth, people_result: PeopleResult) -> Sequence[Recovered]:
        """The study's headline questions with the answers that were put in; empty where nothing was estimated."""
        ...


@runtime_checkable
class Worded(Protocol):
    """A kind whose pages have words of their own around the items. Its `words` are English; a language file has the
    same keys under [kinds.KIND]."""

    @property
    def words(self) -> Mapping[str, str]: ...

    def in_words(self, words: Mapping[str, str]) -> StudyKind:
        """The same kind with these words."""
        ...


@runtime_checkable
class Conversing(Protocol):
    """A kind whose people talk with models: what follows in a talk, and who is asked."""

    @property
    def words(self) -> Mapping[str, str]: ...

    def options(self, study: Study) -> Mapping[str, str]:
        """The benchmark's options of the run that the talks belong to."""
        ...

    def models(self, study: Study) -> Mapping[str, ModelConfig]:
        """The model of each arm."""
        ...

    def next_turn(self, study: Study, turns: Sequence[Turn]) -> Trial | None:
        """As a benchmark that talks does; None ends the talk."""
        ...

    def of_person(self, study: Study, trial: Trial) -> bool:
        """Whether the person answers a turn, and not the model."""
        ...

    def scripted(self, study: Study, arm: str, messages: Sequence[Message]) -> str:
        """What a model of this arm would say to simulated people: known beforehand, so that the truth is."""
        ...


@runtime_checkable
class TalkingPeople(Protocol):
    """Simulated people who can talk."""

    def turn(self, person: Any, trial: Trial, heard: str, draw: random.Random) -> Mapping[str, Any]:
        """What somebody says to the words they have heard last: `says` and, where they tell it, `emotion`, `feeling`
        and `leaves`."""
        ...


@runtime_checkable
class Powered(Protocol):
    """A kind that can say what a study of this size will find."""

    def power(self, design: Design) -> str:
        """One sentence; empty where there is nothing to say."""
        ...


@dataclass(frozen=True, slots=True)
class PlannedContrasts:
    """What a study tests to answer its question, known before anybody has answered: each of these arms against the
    reference."""

    arms: tuple[str, ...]
    reference: str
    test: str
    """What is compared, and how, in words."""
    scales: int = 1
    """On each of so many scales."""


@runtime_checkable
class Planning(Protocol):
    """A kind whose `result` has contrasts."""

    def planned(self, design: Design) -> PlannedContrasts | None:
        """Those that `result` will make of a complete study; None where this study plans none."""
        ...


@runtime_checkable
class Studied(Protocol):
    """A benchmark that people can take: `study` is its kind."""

    def study(self) -> StudyKind: ...
