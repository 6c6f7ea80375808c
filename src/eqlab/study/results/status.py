"""How a study stands: places, people, times against pay, checks, where people leave, what it will cost.
Pure but for one read of the store; nobody's name is in it."""

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from statistics import median
from typing import Any

from eqlab.analysis.intervals import clustered_share, proportion_estimate
from eqlab.core.design import Design
from eqlab.core.moves import ENDED
from eqlab.core.results import Estimate
from eqlab.core.study import Pay, Study
from eqlab.core.values import dataclass
from eqlab.store.study.participation import Participation
from eqlab.store.study.places import read_places
from eqlab.store.study.studies import read_status
from eqlab.store.study.talks import Silence, silences
from eqlab.study.panels import ending_of
from eqlab.study.results.participants import Participant, Participants, read_participants
from eqlab.study.talks import ModelCalls, model_calls

_LAST_EVENTS = 20
_HIDDEN = ("place", "batch", "arm")
"""Details of events that would help to recognise a person, or tell whose arm an ending was."""
_SAID = {"full": "turned away (the study was full)", "took_another": "turned away (took part in another study)"}
"""States whose own word says too little."""


@dataclass(frozen=True, slots=True)
class ArmStatus:
    arm: str
    open: int
    """Free now, those held too long included."""
    held: int
    done: int
    extra: int
    """Finished after the place had gone to somebody else."""

    @property
    def places(self) -> int:
        return self.open + self.held + self.done


@dataclass(frozen=True, slots=True)
class Times:
    """Minutes from arriving to the end, of those who came to it: what a panel measures."""

    minutes: Estimate
    """The median."""
    fast: float | None
    """5th percentile."""
    paid_for: float | None
    """Minutes that the reward pays for at the rate aimed at."""
    per_hour: float | None
    """What the reward comes to per hour at the median."""
    too_low: bool | None


@dataclass(frozen=True, slots=True)
class PageStatus:
    """One page of the way. Where people's orders differ, the page at this position."""

    number: int
    """From 1."""
    kind: str
    reached: int
    here: int
    """Not yet answered, and seen within the time that a place is held."""
    left: int
    """Stopped, declined, failed or silent for longer."""
    seconds: float | None
    """Median time on the page."""


@dataclass(frozen=True, slots=True)
class StudyBudget:
    currency: str
    each: float
    """One person with the panel's fee."""
    spent: float
    expected: float
    """When every place is done, extra people so far included."""


@dataclass(frozen=True, slots=True)
class Happened:
    at: float
    kind: str
    detail: dict[str, Any]


@dataclass(frozen=True, slots=True)
class StudyStatus:
    study: str
    title: str
    at: float
    arms: tuple[ArmStatus, ...]
    people: dict[str, int]
    """By state."""
    erased: int
    times: Times
    attention: Estimate
    """Checks failed, in percent of those answered."""
    attention_people: dict[int, int]
    """How many of those who finished failed 0, 1, 2 … checks."""
    straight_lining: Estimate
    """People, of those whose pages could show it."""
    too_fast: Estimate
    """Pages answered faster than the study's least time, in percent of pages timed."""
    pages: tuple[PageStatus, ...]
    budget: StudyBudget | None
    events: tuple[Happened, ...]
    """The last first."""
    simulated: int = 0
    """Simulated people among them."""
    impossible: int = 0
    """People whose browser claimed page times that cannot be."""
    door: str = "open"
    """open, paused or closed."""
    first_at: float | None = None
    """When the first person came."""
    finished_at: tuple[float, ...] = ()
    """When each came to the end, in order, to the minute."""
    minutes: tuple[float, ...] = ()
    """What each of them needed, in order of length."""
    models: ModelCalls | None = None
    """What models were asked, in a study of talks."""
    silences: tuple[Silence, ...] = ()
    """Models of arms that give no reply now."""

    @property
    def places(self) -> int:
        return sum(arm.places for arm in self.arms)

    @property
    def done(self) -> int:
        return sum(arm.done for arm in self.arms)

    @property
    def people_said(self) -> str:
        return ", ".join(f"{n} {_SAID.get(state, state)}" for state, n in self.people.items()) or "nobody yet"


def study_status(participation: Participation) -> StudyStatus:
    rooms = read_places(participation.store, participation.study.id)
    status = summarise(participation.design, read_participants(participation), rooms, participation.clock())
    models = model_calls(participation)
    silent = tuple(silences(participation)) if models is not None else ()
    return replace(status, door=read_status(participation), models=models, silences=silent)


def summarise(
    design: Design, participants: Participants, rooms: Sequence[tuple[str, str, float | None]], now: float
) -> StudyStatus:
    """`rooms` are the places as (arm, state, held until)."""
    study = design.study
    finished = [person for person in participants.people if person.complete]
    arms = _arms(design, rooms, Counter(person.arm for person in finished if person.state == "extra"), now)
    lined = [person for person in finished if person.could_straight_line]
    return StudyStatus(
        study.id,
        study.title,
        now,
        arms,
        dict(sorted(Counter(person.state for person in participants.people).items())),
        participants.erased,
        _times(finished, study.pay),
        _of_pages(
            "attention checks failed",
            participants.people,
            lambda person: person.checks(False),
            lambda person: person.checks(True) + person.checks(False),
        ),
        dict(sorted(Counter(person.checks(False) for person in finished).items())),
        proportion_estimate("straight-lining", sum(person.straight_lining for person in lined), len(lined)),
        _of_pages("pages too fast", finished, lambda person: person.too_fast, lambda person: person.timed),
        _pages(participants.people, now - study.places.lease_minutes * 60),
        _budget(study.pay, arms, sum(_paid_for_stopping(study, person) for person in participants.people)),
        tuple(
            Happened(event.at, event.kind, _detail(event.detail))
            for event in participants.events[: -_LAST_EVENTS - 1 : -1]
        ),
        participants.simulated,
        sum(person.impossible > 0 for person in participants.people),
        first_at=min((person.arrived_at for person in participants.people), default=None),
        finished_at=tuple(
            sorted(60 * (participant.ended_at // 60) for participant in finished if participant.ended_at is not None)
        ),
        minutes=tuple(_minutes(finished)),
    )


def _detail(detail: Mapping[str, Any]) -> dict[str, Any]:
    """An event's detail without what could name a person; pages are counted from 1, as everywhere on the page."""
    return {name: value + 1 if name == "page" else value for name, value in detail.items() if name not in _HIDDEN}


def _arms(
    design: Design, rooms: Sequence[tuple[str, str, float | None]], extra: Counter[str | None], now: float
) -> tuple[ArmStatus, ...]:
    count: Counter[tuple[str, str]] = Counter()
    for arm, state, until in rooms:
        overdue = state == "held" and until is not None and until < now
        count[arm, "open" if overdue else state] += 1
        count[arm, "done"] += state == "shut"
    return tuple(
        ArmStatus(arm, count[arm, "open"], count[arm, "held"], count[arm, "done"], extra[arm]) for arm in design.arms
    )


def _minutes(finished: Sequence[Participant]) -> list[float]:
    """From arrival to the end; nobody's whose end lies before it, since the machine's clock was set back between."""
    took = ((one.ended_at - one.arrived_at) / 60 for one in finished if one.ended_at is not None)
    return sorted(minutes for minutes in took if minutes >= 0)


def _times(finished: Sequence[Participant], pay: Pay) -> Times:
    minutes = _minutes(finished)
    middle = median_estimate("minutes", minutes)
    per_hour = pay.reward / middle.value * 60 if middle.value and pay.reward else None
    return Times(
        middle,
        quantile(minutes, 0.05),
        pay.reward / pay.per_hour * 60 if pay.reward and pay.per_hour else None,
        per_hour,
        None if per_hour is None else per_hour < pay.per_hour,
    )


def _of_pages(
    name: str,
    people: Sequence[Participant],
    hits: Callable[[Participant], int],
    pages: Callable[[Participant], int],
) -> Estimate:
    """A share of pages, of which one person's are alike."""
    every = [(number < hits(person), person.person) for person in people for number in range(pages(person))]
    return clustered_share(name, [hit for hit, _ in every], [person for _, person in every])


def _pages(people: Sequence[Participant], silent_since: float) -> tuple[PageStatus, ...]:
    """Every position on the way, up to the furthest that anybody has planned. Who found it full saw none, or did what
    was asked of them: they left nowhere."""
    away = ("full", "took_another")
    people = [person for person in people if person.state not in away or person.consented_at is not None]
    found = []
    for number in range(max((len(person.steps) for person in people), default=0)):
        participants = [person for person in people if person.page >= number and len(person.steps) > number]
        there = [person for person in participants if person.page == number and person.state != "full"]
        at = [person for person in there if not person.complete]
        gone = [person for person in at if person.state in ENDED or person.seen_at < silent_since]
        kinds = {person.steps[number].kind for person in people if len(person.steps) > number}
        seconds = [
            page.seconds
            for person in participants
            for page in person.pages
            if page.number == number and page.seconds is not None
        ]
        middle = median(seconds) if seconds else None
        kind = " or ".join(sorted(kinds))
        found.append(PageStatus(number + 1, kind, len(participants), len(at) - len(gone), len(gone), middle))
    return tuple(found)


def _paid_for_stopping(study: Study, person: Participant) -> bool:
    return person.state == "stopped" and ending_of(study, "stopped", assigned=person.arm is not None) == "complete"


def _budget(pay: Pay, arms: Sequence[ArmStatus], stopped: int) -> StudyBudget | None:
    """`stopped`: how many get the code of those who complete though they have stopped."""
    if not pay.reward:
        return None
    each = pay.reward * (1 + pay.fee)
    paid = sum(arm.done + arm.extra for arm in arms) + stopped
    left = sum(arm.open + arm.held for arm in arms)
    return StudyBudget(pay.currency, each, each * paid, each * (paid + left))


def quantile(ordered: Sequence[float], share: float) -> float | None:
    """Linear interpolation between order statistics (type 7 of Hyndman & Fan 1996, numpy's default)."""
    if not ordered:
        return None
    place = (len(ordered) - 1) * share
    below = math.floor(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)


def median_estimate(name: str, ordered: Sequence[float]) -> Estimate:
    """The median with an interval from order statistics: the narrowest pair x(k), x(n+1-k) that holds the median with
    at least 95 % probability, whatever the distribution (David & Nagaraja 2003, section 7.1). None for n < 6."""
    n = len(ordered)
    if n == 0:
        return Estimate(name, None, 0, unit="min", digits=1)
    tail, k = 0.0, 0
    while k < n // 2 and tail + math.comb(n, k) / 2**n <= 0.025:
        tail += math.comb(n, k) / 2**n
        k += 1
    low, high = (ordered[k - 1], ordered[n - k]) if k else (None, None)
    return Estimate(name, median(ordered), n, None, low, high, "min", digits=1)
