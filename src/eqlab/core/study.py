"""A study as data: everything its file says. The server knows no study; it knows this shape."""

from collections.abc import Mapping
from dataclasses import field, fields, is_dataclass
from typing import Any, Literal

from eqlab.core.forms import Scale
from eqlab.core.values import dataclass

Ending = Literal["complete", "declined", "failed", "full"]
ENDINGS: tuple[Ending, ...] = ("complete", "declined", "failed", "full")
"""How taking part can end for a panel: each has a completion code of its own."""
PLACEHOLDER = "CHANGE ME"
"""Stands where only the researcher knows what to write; `eqlab study check` warns about it."""
Exclusion = Literal["failed_attention", "too_fast", "straight_lining", "incomplete", "failed_gold", "inconsistent"]
EXCLUSIONS: tuple[Exclusion, ...] = (
    *("failed_attention", "too_fast", "straight_lining", "incomplete"),
    *("failed_gold", "inconsistent"),
)
"""Why somebody's answers may be left out of the analysis."""
Ask = Literal["one", "several", "number", "text"]
ASKS: tuple[Ask, ...] = ("one", "several", "number", "text")
INSTRUMENTS_TEXT = "These lines are about you. For each one, choose the answer that fits you best."

LATE: Mapping[str, Any] = {"late": True}
"""Marks what came after 0.1. Left at its default it is no part of a study's hash: a study that began before keeps its
pages."""
NOT_TOLD: Mapping[str, Any] = {"told": False}
"""Marks what is no part of the hash, because the pages themselves are."""


@dataclass(frozen=True, slots=True)
class QuizQuestion:
    """One question of the comprehension check."""

    text: str
    options: tuple[str, ...]
    answer: int
    """Number of the right option, from 1."""


@dataclass(frozen=True, slots=True)
class Consent:
    version: str
    text: str
    """Paragraphs are set apart by blank lines, here and in every text of a study."""
    contact: str
    keep_until: str
    """Until when the data are kept, in words or as a date."""


@dataclass(frozen=True, slots=True)
class Tutorial:
    text: str = ""
    questions: tuple[QuizQuestion, ...] = ()
    tries: int = 2


@dataclass(frozen=True, slots=True)
class OwnQuestion:
    """A question of the researcher's own, before the trials or after them."""

    key: str
    ask: Ask
    text: str
    options: tuple[str, ...] = ()
    low: float = 0.0
    high: float = 0.0
    """Of a number: its range."""
    optional: bool = False
    """Whether it may be left empty."""
    prefer_not: bool = False
    """Whether "prefer not to say" is an answer."""


@dataclass(frozen=True, slots=True)
class Gold:
    """A page that looks like a trial and whose right answer is beyond doubt."""

    text: str
    accept: tuple[int, ...]
    """Values that are right."""
    scale: str = ""
    """Which scale they are about; empty: the first."""


@dataclass(frozen=True, slots=True)
class Arrangement:
    """How arms are given to people."""

    arms_per_person: int = 1
    """1: between people; all arms: within; in between: mixed."""
    blocked: bool = False
    """Whether a person sees one arm after the other, in a counterbalanced order, instead of all mixed."""


@dataclass(frozen=True, slots=True)
class Quota:
    """Places by the answer to a question asked before the trials: each stratum has its own, balanced over the arms."""

    question: str = ""
    places: tuple[tuple[str, int], ...] = ()
    """(option of the question, people). Who gives another answer finds the study full."""


@dataclass(frozen=True, slots=True)
class Checks:
    attention: int = 2
    """Instructed items among the trials; never a reason to stop anybody."""
    least_seconds: float = 2.0
    """A page answered faster counts as too fast."""
    instruction: str = "To show that you are reading, choose “{answer}” here."
    """What an instructed item says; {answer} is replaced by the answer to choose."""
    repeat: int = field(default=0, metadata=LATE)
    """Trials that a person gets once more near the end, to see whether they answer alike."""
    gold: tuple[Gold, ...] = field(default=(), metadata=LATE)
    """Put among every person's trials, all of them."""
    question: str = field(default="", metadata=NOT_TOLD)
    choices: tuple[str, ...] = field(default=(), metadata=NOT_TOLD)
    """What an instructed item asks where every item has choices of its own: words that answer none of them. Empty: the
    first item's, as in studies begun with 0.2."""


@dataclass(frozen=True, slots=True)
class Places:
    batch_size: int = 10
    people_per_batch: int = 1
    lease_minutes: float = 60.0
    """How long a place is held without a save before somebody else may have it."""
    order: Literal["even", "blocks"] = field(default="even", metadata=LATE)
    """`even`: the arm with the largest share open is next; `blocks`: permuted blocks, drawn before the study begins."""
    block: int = field(default=1, metadata=LATE)
    """How often each arm is in a block."""


@dataclass(frozen=True, slots=True)
class Pay:
    currency: str = "GBP"
    per_hour: float = 9.0
    """The hourly rate aimed at."""
    reward: float = 0.0
    """What one person gets for taking part."""
    fee: float = 0.0
    """The panel's fee as a share of the reward."""


@dataclass(frozen=True, slots=True)
class Panel:
    """Where people come from: names of the parameters in their address, and where they go at the end."""

    name: str = "none"
    person: str = ""
    """Parameter that carries the panel's id of a person; empty: no panel, anybody with the link may take part."""
    session: str = ""
    study: str = ""
    complete_url: str = ""
    """Where a person is sent at the end; {code} is replaced."""
    codes: tuple[tuple[Ending, str], ...] = ()
    id_pattern: str = ""
    """What a person's id looks like, as a regular expression for the whole of it; empty: anything without blanks."""
    signed: bool = False
    """Whether people need a link of their own that the server has signed (`eqlab study people links`)."""

    def code(self, ending: Ending) -> str:
        return dict(self.codes).get(ending, "")


@dataclass(frozen=True, slots=True)
class TalkTerms:
    """A study in which people talk with models: which seat is theirs, what they are told, what it may cost, and what
    becomes of them when a model does not answer. Limits may change while a study runs; they are no part of its hash."""

    person: Literal["speaker", "listener"] = "speaker"
    """`speaker`: people talk of something, a model listens; `listener`: a model speaks as a persona, people reply."""
    about: Literal["own", "personas"] = "own"
    """What people speak of: something of their own, or what has happened to a persona."""
    opening: str = ""
    """What people are asked to talk about."""
    talks: int = 1
    """Talks of one person, all with the model of their arm."""
    turns: int = 6
    """Most replies in a talk."""
    characters: int = 2000
    """Of one message."""
    why: bool = True
    """Whether people may say in a line why they feel so."""
    help: str = ""
    """Where somebody in distress finds help; on every page of a talk."""
    machine: str = ""
    """The sentence that says that the other one is a machine."""
    told: Literal["consent", "debrief"] = "consent"
    """When it is said."""
    stopped: Literal["code", "nothing"] = "code"
    """What somebody who stops on the way gets: the code of those who complete, or none."""
    if_down: Literal["go_on", "wait"] = "go_on"
    """While a model does not answer: people may go on without it, or may only wait, try again or stop."""
    least_wait: float = 2.0
    """Seconds before a reply is shown: a fast model is not known by its speed."""
    pace: int = field(default=80, metadata=NOT_TOLD)
    """Characters of a reply shown in a second."""
    patience: float = field(default=60.0, metadata=NOT_TOLD)
    """Seconds after which a model that says nothing counts as down."""
    max_cost: float | None = field(default=None, metadata=NOT_TOLD)
    max_cost_person: float | None = field(default=None, metadata=NOT_TOLD)
    max_calls: int = field(default=10_000, metadata=NOT_TOLD)
    """Of the whole study, in the currency of the models' prices, and in questions to models."""
    max_calls_person: int = field(default=60, metadata=NOT_TOLD)
    per_minute: int = field(default=10, metadata=NOT_TOLD)
    """Messages of one person in a minute."""
    per_minute_all: int = field(default=300, metadata=NOT_TOLD)


@dataclass(frozen=True, slots=True)
class AnalysisPlan:
    """What the confirmatory analysis will do; `eqlab study lock` freezes it."""

    exclude: tuple[Exclusion, ...] = ("failed_attention",)
    reference: str = ""
    """The arm the others are compared with; empty: the first."""
    alpha: float = 0.05
    note: str = ""
    """Hypotheses in words."""


@dataclass(frozen=True, slots=True)
class Study:
    id: str
    """In the address: lower-case letters, digits and hyphens."""
    kind: str
    title: str
    language: str
    seed: int
    consent: Consent
    debrief: str
    arms: tuple[tuple[str, str], ...] = ()
    """rating: (name, source of replies); empty for kinds that take their arms from the items."""
    items: str = "open"
    """`open` or `published`."""
    options: tuple[tuple[str, str], ...] = ()
    """Options of the benchmark, as `eqlab run -o` takes them."""
    limit: int | None = None
    """At most so many items (prompts, situations, dialogues)."""
    instruments: tuple[str, ...] = ()
    """Questionnaires before the tutorial, by key."""
    instruments_text: str = INSTRUMENTS_TEXT
    """What stands above a questionnaire."""
    arms_by: str = "factor"
    """What makes an arm, where the kind leaves that to the study."""
    tutorial: Tutorial = field(default_factory=Tutorial)
    checks: Checks = field(default_factory=Checks)
    places: Places = field(default_factory=Places)
    pay: Pay = field(default_factory=Pay)
    panel: Panel = field(default_factory=Panel)
    analysis: AnalysisPlan = field(default_factory=AnalysisPlan)
    not_after: tuple[str, ...] = ()
    """Studies in the same store whose participants may not take part in this one."""
    scales: tuple[Scale, ...] = field(default=(), metadata=LATE)
    """What people fill in instead of the kind's own form."""
    design: Arrangement = field(default_factory=Arrangement, metadata=LATE)
    quota: Quota = field(default_factory=Quota, metadata=LATE)
    before: tuple[OwnQuestion, ...] = field(default=(), metadata=LATE)
    """Questions on one page after the consent."""
    after: tuple[OwnQuestion, ...] = field(default=(), metadata=LATE)
    """Questions on one page before the debriefing."""
    talk: TalkTerms | None = field(default=None, metadata=LATE)
    """Where people talk with models."""
    words: str = field(default="", metadata=NOT_TOLD)
    """Language of the words inside the trials; empty: the study's. Studies begun with 0.1 have them in English."""


def told(value: Any) -> Any:
    """A study as plain data, for its hash: without what is late and at its default."""
    if isinstance(value, tuple):
        return [told(one) for one in value]
    if not is_dataclass(value) or isinstance(value, type):
        return value
    plain = {}
    for one in fields(value):
        field_value = getattr(value, one.name)
        default = one.default_factory() if callable(one.default_factory) else one.default
        if one.metadata.get("told", True) and not (one.metadata.get("late") and field_value == default):
            plain[one.name] = told(field_value)
    return plain
