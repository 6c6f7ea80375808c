"""A person's moves through a study (arriving, consenting, sending a page), what becomes of a move, and where the person
then stands."""

from collections.abc import Mapping
from dataclasses import field
from typing import Any, Literal

from eqlab.core.design import Step
from eqlab.core.errors import StoreError
from eqlab.core.study import Ending
from eqlab.core.trials import Trial
from eqlab.core.values import dataclass

State = Literal[
    "arrived", "taking", "finished", "extra", "declined", "failed", "full", "stopped", "returned", "banned",
    "took_another",
]  # fmt: skip
"""took_another: who took part in a study after which nobody may take part in this one."""
ENDED: frozenset[State] = frozenset(
    {"finished", "extra", "declined", "failed", "full", "took_another", "stopped", "returned", "banned"}
)
Why = Literal["paused", "closed", "erased", "simulated", "elsewhere"]
"""Why somebody is not let in."""
ENDING: Mapping[State, Ending] = {
    "finished": "complete",
    "extra": "complete",
    "declined": "declined",
    "failed": "failed",
    "full": "full",
}


@dataclass(frozen=True, slots=True)
class Arrival:
    """Somebody at the door."""

    panel_hash: str | None
    """Of the id that a panel gives; who comes without one is always somebody new."""
    language: str
    vouched: bool = True
    """Whether it is certain that it is them: a panel's signed link."""
    session: str | None = None
    """Whom this browser has been so far."""
    tombstone: str | None = None
    """What will be kept of the id if the person is erased."""
    device: str | None = None
    """phone, tablet or computer."""
    simulated: bool = False


@dataclass(frozen=True, slots=True)
class ConsentMove:
    person: str
    agreed: bool


@dataclass(frozen=True, slots=True)
class FilledPage:
    """A page that somebody has filled in."""

    person: str
    number: int
    attempt: int
    values: Mapping[str, Any]
    shown_at: float | None = None
    """When the person got the page."""
    away: float = 0.0
    """Seconds for which it was out of sight."""
    pasted: int | None = None
    """Characters that were pasted into its fields; None where nobody counted them."""
    correct: bool = False
    """Whether it changes the answer to the page before the current one."""
    typed: bool = False
    """Whether the values are of their own types already, as a program sends them; a form's are all text."""


Move = Arrival | ConsentMove | FilledPage


@dataclass(frozen=True, slots=True)
class Saved:
    """What became of a move: `saved`; `again` (was saved before); `ahead` or `ended` (changed nothing);
    `refused` (with the reason by field, or under "" for the whole form); `turned_away` at the door or at the consent
    (with the reason under "")."""

    person: str
    outcome: Literal["saved", "again", "ahead", "ended", "refused", "turned_away"]
    problems: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class View:
    """Where a person stands: what the next page is made of."""

    person: str
    state: State
    number: int
    """Of the page, from 0."""
    total: int
    """Pages in all; the most that it can be until it is `sure`."""
    step: Step | None
    """None when taking part has ended."""
    attempt: int
    """From 1; 2 is the second try of the quiz."""
    trial: Trial | None
    arm: str | None
    ending: Ending | None
    language: str
    back: bool = False
    """Whether the answer before can still be changed."""
    sure: bool = True
    """False while it is not drawn which of batches of several lengths the person gets."""


class Unknown(StoreError):
    """No such person in this study."""

    def __init__(
        self, message: str = "Nobody by this name takes part.", hint: str = "Open the study's link again."
    ) -> None:
        super().__init__(message, hint)
