"""A study as data: everything its file says. The server knows no study; it knows this shape."""

from dataclasses import dataclass, field
from typing import Literal

Kind = Literal["rating", "evoked", "eqbench"]
KINDS: tuple[Kind, ...] = ("rating", "evoked", "eqbench")
Ending = Literal["complete", "declined", "failed", "full"]
ENDINGS: tuple[Ending, ...] = ("complete", "declined", "failed", "full")
"""How taking part can end for a panel: each has a completion code of its own."""
Exclusion = Literal["failed_attention", "too_fast", "straight_lining", "incomplete"]
EXCLUSIONS: tuple[Exclusion, ...] = ("failed_attention", "too_fast", "straight_lining", "incomplete")
"""Why somebody's answers may be left out of the analysis."""
INSTRUMENTS_TEXT = "These lines are about you. For each one, choose the answer that fits you best."


@dataclass(frozen=True, slots=True)
class Question:
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
    questions: tuple[Question, ...] = ()
    tries: int = 2


@dataclass(frozen=True, slots=True)
class Checks:
    attention: int = 2
    """Instructed items among the trials; never a reason to stop anybody."""
    least_seconds: float = 2.0
    """A page answered faster counts as too fast."""
    instruction: str = "To show that you are reading, choose “{answer}” here."
    """What an instructed item says; {answer} is replaced by the answer to choose."""


@dataclass(frozen=True, slots=True)
class Places:
    batch_size: int = 10
    people_per_batch: int = 1
    lease_minutes: float = 60.0
    """How long a place is held without a save before somebody else may have it."""


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

    def code(self, ending: Ending) -> str:
        return dict(self.codes).get(ending, "")


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
    kind: Kind
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
    arms_by: Literal["factor", "emotion"] = "factor"
    """evoked: what makes an arm."""
    tutorial: Tutorial = field(default_factory=Tutorial)
    checks: Checks = field(default_factory=Checks)
    places: Places = field(default_factory=Places)
    pay: Pay = field(default_factory=Pay)
    panel: Panel = field(default_factory=Panel)
    analysis: AnalysisPlan = field(default_factory=AnalysisPlan)
    not_after: tuple[str, ...] = ()
    """Studies in the same store whose participants may not take part in this one."""
