"""Talks of people with models in SQL: turns, each on disk before anybody is told, and calls to models, each written
down before it is sent. A turn is kept only if it is the one whose turn it is."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from msgspec import structs
from sqlalchemy import ColumnElement, Connection, case, func, insert, select, update

from eqlab.core.answers import Answer
from eqlab.core.benchmark import Turn
from eqlab.core.design import steps_from_json
from eqlab.core.grouping import grouped
from eqlab.core.moves import ENDED, Unknown
from eqlab.core.runs import PERSON
from eqlab.core.trials import Trial
from eqlab.core.values import dataclass
from eqlab.store.engine import Within, despite_deadlock, reading, take_turn, writing
from eqlab.store.schema import answers, participants, planned, talk_calls
from eqlab.store.store import read_answer, write_trials
from eqlab.store.study.moves import Answering
from eqlab.store.study.participation import Participation
from eqlab.store.study.places import Changes, Person, find_people, lock_person

TURNS = 10_000
"""Positions in a person's plan that the turns of one page may take; pages themselves have those below."""
Attempts = Mapping[str, Sequence[Answer]]
"""A person's answers by trial."""
Chain = Callable[[Trial, Attempts], tuple[list[Turn], Trial | None]]
"""From the first trial of a talk and what was answered: the turns that are settled, and the one that comes next."""
Kept = Literal["kept", "again", "ahead", "ended"]
Asked = Literal["", "asked", "failed"]
"""Of the turn that comes next: whether a model is being asked for it; or was, and nothing stands. Then it is asked
again only when the person wants it."""


@dataclass(frozen=True, slots=True)
class TalkPosition:
    """Where somebody stands in a talk."""

    first: Trial
    step: int
    turns: tuple[Turn, ...]
    pending: Trial | None
    """The turn that comes next; None where the talk is over."""
    attempts: tuple[Answer, ...]
    """At the pending turn, that settled nothing."""
    arm: str
    seed: int
    asked: Asked = ""


@dataclass(frozen=True, slots=True)
class CallLimits:
    cost: float | None
    cost_person: float | None
    calls: int
    calls_person: int


@dataclass(frozen=True, slots=True)
class Call:
    """A question to a model that may be asked: its number; or why not."""

    id: int | None
    why: Literal["", "asked", "failed", "waits", "spent", "gone"] = ""
    """`asked`: somebody is at it; `failed`: somebody was, and the person has not asked for more; `waits`: a limit, if
    all that is under way costs the most that it may; `spent`: a limit; `gone`: it is not this one's turn any more."""


@dataclass(frozen=True, slots=True)
class CallTotals:
    calls: int
    """Requests that went out, those that were sent once more included."""
    under_way: int
    """Their tokens and cost are counted at their worst, as of those after them."""
    left: int
    """By a crash: nobody is at them any more."""
    failed: int
    """Without a reply, for whatever reason; what they took is counted as far as it is known."""
    tokens: int
    cost: float | None
    """None where it is not known, or in several currencies."""


@dataclass(frozen=True, slots=True)
class Silence:
    """An arm whose model gives no reply."""

    arm: str
    since: int
    """The last call that went well; 0: none has."""
    people: int
    """Who asked in vain after it."""


def talk_position(participation: Participation, person: str, chain: Chain) -> TalkPosition | None:
    """None where the person is at no talk."""
    with reading(participation.store.engine) as connection:
        who = find_people(connection, participation.study.id, [person]).get(person)
        if who is None:
            raise Unknown
        return _position(connection, participation, who, chain)


def keep_turn(
    participation: Participation, person: str, number: int, trial: str, answer: Answer, chain: Chain, **detail: Any
) -> Kept:
    """Keep a person's turn: `number` of the talk on the person's current page, whose trial must be `trial`. If nothing
    follows, the person goes on to the next page."""

    def keep(connection: Connection, who: Person, changes: Changes) -> Kept:
        position = _position(connection, participation, who, chain)
        if position is None or who.state in ENDED:
            return "ended" if who.state in ENDED else "again"
        if number != len(position.turns) or position.pending is None or position.pending.id != trial:
            return "again" if number < len(position.turns) or position.pending is None else "ahead"
        own = structs.replace(answer, subject=f"{PERSON}{person}", trial=trial, attempt=len(position.attempts) + 1)
        _write(connection, participation, position, [own], changes)
        answering = Answering(connection, participation.design, changes, own.at)
        changes.note(person, "said", page=who.step, turn=number, **detail)
        turns, following = chain(position.first, _with(_answers(connection, participation, person), [own]))
        if following is None and turns:
            answering.move_on(who)
        else:
            answering.stay(who)
        return "kept"

    return _locked(participation, person, answer.at, keep)


def kept_turn(participation: Participation, person: str, step: int, number: int, chain: Chain) -> Answer | None:
    """What is on disk as this turn of the talk on this page."""
    with reading(participation.store.engine) as connection:
        who = find_people(connection, participation.study.id, [person]).get(person)
        steps = steps_from_json(who.steps) if who is not None else ()
        if not 0 <= step < len(steps) or steps[step].kind != "talk":
            return None
        first = participation.design.trials[steps[step].trial]
        turns, _ = chain(first, _answers(connection, participation, person))
    return turns[number].answer if number < len(turns) else None


def leave_talk(participation: Participation, person: str, step: int, chain: Chain) -> Kept:
    """From a talk that is over to the next page."""

    def leave(connection: Connection, who: Person, changes: Changes) -> Kept:
        position = _position(connection, participation, who, chain)
        if who.state in ENDED:
            return "ended"
        if position is None or position.step != step:
            return "again"
        if position.pending is not None:
            return "ahead"
        Answering(connection, participation.design, changes, participation.clock()).move_on(who)
        return "kept"

    return _locked(participation, person, participation.clock(), leave)


@despite_deadlock
def begin_call(
    participation: Participation,
    person: str,
    trial: str,
    worst: tuple[int, float],
    limits: CallLimits,
    seconds: float,
    chain: Chain,
) -> Call:
    """Write down a question to a model before it is sent, if the limits allow it with everything that is under way at
    its worst, and nobody is asking the same or has in vain."""
    study, now = participation.study.id, participation.clock()
    with writing(participation.store.engine) as connection:
        take_turn(connection, f"talk {study}")
        who = find_people(connection, study, [person], lock=True).get(person)  # or nobody, once they are erased
        position = _position(connection, participation, who, chain) if who else None
        if (
            position is None or position.pending is None or position.pending.id != trial
        ):  # another process has had the answer
            return Call(None, "gone")
        if position.asked:
            return Call(None, position.asked)
        return _record(connection, study, person, trial, worst, limits, now, now + seconds)


@despite_deadlock
def repeat_call(
    participation: Participation,
    calls: Sequence[int],
    trial: str,
    took: tuple[int, float],
    worst: tuple[int, float],
    limits: CallLimits,
    seconds: float,
) -> Call:
    """Write down that a question is sent once more, if the limits allow it: what its calls took so far, and the new one
    at its worst until it ends."""
    study, now = participation.study.id, participation.clock()
    with writing(participation.store.engine) as connection:
        take_turn(connection, f"talk {study}")
        person = connection.execute(select(talk_calls.c.person).where(talk_calls.c.id == calls[0])).scalar()
        if person is None or not find_people(connection, study, [person], lock=True):
            return Call(None, "gone")
        _settle(connection, calls, took)
        return _record(connection, study, person, trial, worst, limits, now, now + seconds)


@despite_deadlock
def widen_call(participation: Participation, call: int, worst: tuple[int, float], limits: CallLimits) -> bool:
    """Write down that a question that is not sent yet may cost more than was thought, if the limits allow it."""
    study, (tokens, cost) = participation.study.id, worst
    with writing(participation.store.engine) as connection:
        take_turn(connection, f"talk {study}")
        here = talk_calls.c.study_id == study
        person = connection.execute(select(talk_calls.c.person).where(talk_calls.c.id == call)).scalar()
        others = talk_calls.c.id != call
        if (
            person is None
            or (limits.cost is not None and _spent(connection, (here, others))[1] + cost > limits.cost)
            or (
                limits.cost_person is not None
                and _spent(connection, (here, others, talk_calls.c.person == person))[1] + cost > limits.cost_person
            )
        ):
            return False
        connection.execute(update(talk_calls).where(talk_calls.c.id == call).values(tokens=tokens, cost=cost))
        return True


def _settle(connection: Connection, calls: Sequence[int], took: tuple[int, float]) -> None:
    """The first of a question's calls has what all of them took."""
    first, *repeats = calls
    connection.execute(update(talk_calls).where(talk_calls.c.id == first).values(tokens=took[0], cost=took[1]))
    connection.execute(update(talk_calls).where(talk_calls.c.id.in_(repeats)).values(tokens=0, cost=0.0))


def _record(
    connection: Connection,
    study: str,
    person: str,
    trial: str,
    worst: tuple[int, float],
    limits: CallLimits,
    now: float,
    until: float,
) -> Call:
    every = _spent(connection, (talk_calls.c.study_id == study,))
    own = _spent(connection, (talk_calls.c.study_id == study, talk_calls.c.person == person))
    tokens, cost = worst
    if every[0] >= limits.calls or own[0] >= limits.calls_person:
        return Call(None, "spent")
    if limits.cost is not None and every[1] + cost > limits.cost:
        settled = every[1] - _spent(connection, (talk_calls.c.study_id == study, _held(now)))[1]
        return Call(None, "waits" if settled + cost <= limits.cost else "spent")
    if limits.cost_person is not None and own[1] + cost > limits.cost_person:
        return Call(None, "spent")
    row = {
        "study_id": study, "person": person, "trial_id": trial, "at": now, "until": until,
        "state": "asked", "tokens": tokens, "cost": cost,
    }  # fmt: skip
    made = connection.execute(insert(talk_calls), row).inserted_primary_key
    return Call(int(made[0]) if made else None)


@despite_deadlock
def ask_again(participation: Participation, person: str, chain: Chain) -> None:
    """The person wants a model to be asked once more that did not answer."""
    with writing(participation.store.engine) as connection:
        take_turn(connection, f"talk {participation.study.id}")
        who = find_people(connection, participation.study.id, [person]).get(person)
        position = _position(connection, participation, who, chain) if who else None
        if position is None or position.pending is None or position.asked != "failed":
            return
        own = _calls(participation, person, position.pending.id)
        connection.execute(update(talk_calls).where(*own, talk_calls.c.state != "asked").values(state="retried"))


def renew_call(participation: Participation, calls: Sequence[int], seconds: float) -> None:
    """Somebody is still at it."""
    with writing(participation.store.engine) as connection:
        connection.execute(
            update(talk_calls).where(talk_calls.c.id.in_(calls)).values(until=participation.clock() + seconds)
        )


def end_call(
    participation: Participation,
    person: str,
    calls: Sequence[int],
    took: tuple[int, float],
    said: Sequence[Answer],
    chain: Chain,
    down: str = "",
    stopped: bool = False,
) -> Kept:
    """What a question's calls took, and what came of them: both on disk, or neither, and once, however often it is
    tried. What comes too late, after the person has gone on, stopped or been erased, is kept nowhere. `down`: why no
    reply came, in a word; `stopped`: the server stops, and the question is asked again without a word of the person."""

    def settle(connection: Connection) -> None:
        _settle(connection, calls, took)
        own = update(talk_calls).values(until=0.0)
        connection.execute(own.where(talk_calls.c.id.in_(calls)).values(state="retried"))
        if not stopped:
            connection.execute(own.where(talk_calls.c.id == calls[0]).values(state="lost" if down else "done"))

    def end(connection: Connection, who: Person, changes: Changes) -> Kept:
        state = select(talk_calls.c.state).where(talk_calls.c.id == calls[0])
        if connection.execute(state).scalar() != "asked":  # an earlier try was on disk when its connection broke
            return "again"
        settle(connection)
        if down and not stopped:
            changes.note(person, "down", page=who.step, why=down)
        position = None if who.state in ENDED else _position(connection, participation, who, chain)
        if position is None or position.pending is None or not said or said[0].trial != position.pending.id:
            return "again"
        used = len(position.attempts)
        own = [
            structs.replace(one, subject=f"{PERSON}{person}", attempt=used + n) for n, one in enumerate(said, start=1)
        ]
        _write(connection, participation, position, own, changes)
        Answering(connection, participation.design, changes, own[-1].at).stay(who)
        return "kept"

    try:
        return _locked(participation, person, participation.clock(), end)
    except Unknown:
        with writing(participation.store.engine) as connection:
            settle(connection)
        return "ended"


def calls_in(participation: Participation) -> CallTotals:
    """All calls of a study so far."""
    kind = case((_held(participation.clock()), "under way"), else_=talk_calls.c.state)
    query = (
        select(kind, func.count(), func.sum(talk_calls.c.tokens), func.sum(talk_calls.c.cost))
        .where(talk_calls.c.study_id == participation.study.id)
        .group_by(kind)
    )
    with reading(participation.store.engine) as connection:
        rows = {str(kind): (int(n), int(tokens), float(cost)) for kind, n, tokens, cost in connection.execute(query)}
    calls, tokens, cost = (sum(row[at] for row in rows.values()) for at in range(3))
    of = {kind: row[0] for kind, row in rows.items()}
    failed = of.get("lost", 0) + of.get("retried", 0)
    return CallTotals(int(calls), of.get("under way", 0), of.get("asked", 0), failed, int(tokens), float(cost))


def silences(participation: Participation) -> list[Silence]:
    """Arms in which questions were lost since a model answered there last."""
    arm, call = participants.c.arm, talk_calls.c.id
    whose = (talk_calls.c.study_id == participants.c.study_id) & (talk_calls.c.person == participants.c.person)
    ours = talk_calls.c.study_id == participation.study.id
    good = select(arm, func.max(call)).join_from(talk_calls, participants, whose).group_by(arm)
    lost = select(arm, call, talk_calls.c.person).join_from(talk_calls, participants, whose).order_by(call)
    people: dict[str, set[str]] = {}
    with reading(participation.store.engine) as connection:
        last = {row[0]: int(row[1]) for row in connection.execute(good.where(ours, talk_calls.c.state == "done"))}
        for of, number, person in connection.execute(lost.where(ours, talk_calls.c.state == "lost")):
            if number > last.get(of, 0):
                people.setdefault(of, set()).add(person)
    return [Silence(of, last.get(of, 0), len(asking)) for of, asking in people.items()]


# -- steps of the above ----------------------------------------------------------------------------------------


@despite_deadlock
def _locked(
    participation: Participation, person: str, at: float, work: Callable[[Connection, Person, Changes], Kept]
) -> Kept:
    changes = Changes(participation.study.id, at)
    with writing(participation.store.engine) as connection:
        take_turn(connection, "plan")
        who = lock_person(connection, participation.study.id, person)
        outcome = work(connection, who, changes)
        changes.write(connection)
    return outcome


def _position(connection: Connection, participation: Participation, who: Person, chain: Chain) -> TalkPosition | None:
    steps = steps_from_json(who.steps)
    if who.state in ENDED or steps[who.step].kind != "talk":
        return None
    first = participation.design.trials[steps[who.step].trial]
    # The end of a call and its answers come together: who sees the end, and only then looks for answers, finds them.
    calls = _calls_of(connection, participation, who.person)
    found = _answers(connection, participation, who.person)
    turns, pending = chain(first, found)
    tried = tuple(found.get(pending.id, ())) if pending else ()
    asked = _asked([call for call in calls if call.trial_id == pending.id], participation.clock()) if pending else ""
    return TalkPosition(first, who.step, tuple(turns), pending, tried, who.arm or "", who.seed, asked)


_LONGEST_LEASE = 60.0
"""Seconds; a question that is held for longer was asked before the clock was set back."""


def _held(now: float) -> ColumnElement[bool]:
    """Calls that somebody is at."""
    return (talk_calls.c.state == "asked") & talk_calls.c.until.between(now, now + _LONGEST_LEASE)


def _asked(calls: Sequence[Any], now: float) -> Asked:
    if any(call.state == "asked" and now < call.until <= now + _LONGEST_LEASE for call in calls):
        return "asked"
    return "failed" if any(call.state in ("done", "lost") for call in calls) else ""


def _calls_of(connection: Connection, participation: Participation, person: str) -> Sequence[Any]:
    query = select(talk_calls.c.trial_id, talk_calls.c.state, talk_calls.c.until)
    own = (talk_calls.c.study_id == participation.study.id, talk_calls.c.person == person)
    return connection.execute(query.where(*own)).all()


def _calls(participation: Participation, person: str, trial: str) -> tuple[Any, ...]:
    study = participation.study.id
    return talk_calls.c.study_id == study, talk_calls.c.person == person, talk_calls.c.trial_id == trial


def _answers(connection: Connection, participation: Participation, person: str) -> dict[str, list[Answer]]:
    query = (
        select(answers)
        .where(answers.c.run_id == participation.design.run.id, answers.c.subject == f"{PERSON}{person}")
        .order_by(answers.c.attempt)
    )
    return grouped((row.trial_id, read_answer(row)) for row in connection.execute(query))


def _with(found: Mapping[str, Sequence[Answer]], more: Sequence[Answer]) -> dict[str, list[Answer]]:
    """With what the transaction has yet to write."""
    every = {trial: list(own) for trial, own in found.items()}
    for answer in more:
        every.setdefault(answer.trial, []).append(answer)
    return every


def _write(
    connection: Connection,
    participation: Participation,
    position: TalkPosition,
    said: Sequence[Answer],
    changes: Changes,
) -> None:
    """A turn's trial, its place in the plan, and its answers."""
    trial = position.pending
    if trial is None:
        return
    subject = said[0].subject
    own = (
        planned.c.run_id == participation.design.run.id,
        planned.c.subject == subject,
        planned.c.trial_id == trial.id,
    )
    if connection.execute(select(planned.c.position).where(*own)).first() is None:
        write_trials(Within(connection), [trial])
        row = {
            "run_id": participation.design.run.id,
            "subject": subject,
            "position": TURNS * (position.step + 1) + len(position.turns),
            "benchmark": trial.benchmark,
            "trial_id": trial.id,
            "repeat": 0,
        }
        changes.add(planned, row)
    for answer in said:
        changes.answer(answer)


def _spent(connection: Connection, where: Sequence[Any]) -> tuple[int, float]:
    query = select(func.count(), func.coalesce(func.sum(talk_calls.c.cost), 0.0)).where(*where)
    row = connection.execute(query).one()
    return int(row[0]), float(row[1])
