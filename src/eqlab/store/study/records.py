"""What is stored about people: a study's rows for its analysis, one person's data in one answer, and its deletion."""

import json
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import field
from typing import Any, Literal

from sqlalchemy import ColumnElement, Connection, Row, and_, delete, func, insert, not_, select, update

from eqlab.core.design import Design
from eqlab.core.errors import StoreError
from eqlab.core.moves import State, Unknown
from eqlab.core.runs import PERSON, SIMULATED, is_simulated
from eqlab.core.trials import Trial, from_json, without
from eqlab.core.values import dataclass
from eqlab.store.engine import (
    despite_deadlock,
    reading,
    scrub,
    snapshot,
    take_turn,
    writing,
)
from eqlab.store.schema import (
    answers,
    arrivals,
    events,
    panel_ids,
    participants,
    planned,
    runs,
    talk_calls,
    tombstones,
    trials,
)
from eqlab.store.store import Store
from eqlab.store.study import places
from eqlab.store.study.chain import Link, extend, read_chain
from eqlab.store.study.lock import answered_before_lock
from eqlab.store.study.participation import Participation
from eqlab.store.study.places import lock_person
from eqlab.store.study.researchers import AuditEntry, audit_of, forget_in_audit, note

_PAGE = 200
"""Trials read at once."""


@dataclass(frozen=True, slots=True)
class Event:
    number: int
    """From 1, in the order in which things happened."""
    at: float
    person: str | None
    kind: str
    detail: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Records:
    people: tuple[Row[Any], ...]
    """Rows of `participants` in the order of arrival, which does not depend on the store."""
    answers: Mapping[str, list[Row[Any]]]
    """Rows of `answers` by person."""
    events: tuple[Event, ...]
    trials: Mapping[str, Trial] = field(default_factory=dict)
    """Turns of talks, which no design has."""
    links: Sequence[Link] = ()
    """The chain of events."""
    audit: Sequence[AuditEntry] = ()
    """What researchers did."""


def read_records(store: Store, design: Design, at: Connection | None = None) -> Records:
    """Everybody who came, what they answered, what happened, as they were at one moment: now, or when the snapshot `at`
    was taken."""
    with snapshot(store.engine) if at is None else nullcontext(at) as connection:
        happened = _events(connection, design.study.id)
        everybody = connection.execute(
            select(participants)
            .where(participants.c.study_id == design.study.id)
            .order_by(participants.c.arrived_at, participants.c.person)
        ).all()
        given = _answers(connection, design.run.id)
        links, audit = read_chain(connection, design.study.id), audit_of(connection, design.study.id)
        turns = {row.trial_id for own in given.values() for row in own} - set(design.trials)
        said = _turns(connection, sorted(turns))  # somebody who is erased a moment later takes theirs along
    return Records(tuple(everybody), given, happened, said, links, audit)


def _turns(connection: Connection, ids: Sequence[str]) -> dict[str, Trial]:
    found: dict[str, Trial] = {}
    for start in range(0, len(ids), _PAGE):
        page = select(trials.c.id, trials.c.body).where(trials.c.id.in_(ids[start : start + _PAGE]))
        found |= {row.id: from_json(row.body, row.id) for row in connection.execute(page)}
    return found


def people_by_hash(store: Store, study: str) -> dict[str, tuple[State, str | None]]:
    """State and arm of everybody who came from a panel, by the hash of their id there: of those who consented with it,
    or who came with it last."""
    found: dict[str, tuple[State, str | None]] = {}
    with reading(store.engine) as connection:
        for table in (arrivals, panel_ids):
            same = (participants.c.study_id == table.c.study_id) & (participants.c.person == table.c.person)
            query = select(table.c.hash, participants.c.state, participants.c.arm).join(participants, same)
            rows = connection.execute(query.where(table.c.study_id == study).order_by(participants.c.arrived_at))
            found |= {row.hash: (row.state, row.arm) for row in rows}
    return found


def erased_marks(store: Store, study: str) -> frozenset[str]:
    """What remains of the panel ids of everybody who was erased."""
    with reading(store.engine) as connection:
        return frozenset(connection.execute(select(tombstones.c.hash).where(tombstones.c.study_id == study)).scalars())


def answers_of(store: Store, run: str, person: str) -> Sequence[Any]:
    """What one person answered, earlier attempts first."""
    own = (answers.c.run_id == run) & (answers.c.subject == f"{PERSON}{person}")
    with reading(store.engine) as connection:
        return connection.execute(select(answers).where(own).order_by(answers.c.attempt)).all()


def count_answers(store: Store, run: str) -> int:
    query = select(func.count()).select_from(answers).where(answers.c.run_id == run)
    with reading(store.engine) as connection:
        return int(connection.execute(query).scalar_one())


def _events(connection: Connection, study: str) -> tuple[Event, ...]:
    rows = connection.execute(select(events).where(events.c.study_id == study).order_by(events.c.id))
    return tuple(
        Event(number, row.at, row.person, row.kind, _detail(row.detail)) for number, row in enumerate(rows, start=1)
    )


def _detail(text: str) -> dict[str, Any]:
    """What a server said may have ended in half a letter, which no file can hold: a question mark stands for it."""
    detail: dict[str, Any] = json.loads(text)
    if "\\ud" not in text:
        return detail
    whole: dict[str, Any] = json.loads(json.dumps(detail, ensure_ascii=False).encode("utf-8", "replace"))
    return whole


def _answers(connection: Connection, run: str) -> dict[str, list[Row[Any]]]:
    found: dict[str, list[Row[Any]]] = {}
    query = select(answers).where(answers.c.run_id == run, answers.c.subject.startswith(PERSON))
    for row in connection.execute(query):
        found.setdefault(row.subject.removeprefix(PERSON), []).append(row)
    return found


# -- one person's data ----------------------------------------------------------------------------------------

_CHUNK = 500


def export_person(participation: Participation, person: str, at: Connection | None = None) -> dict[str, Any]:
    """Everything that is stored about a person, as plain values: now, or when the snapshot `at` was taken."""
    with snapshot(participation.store.engine) if at is None else nullcontext(at) as connection:
        found = {
            name: [dict(row) for row in connection.execute(select(table).where(*where)).mappings()]
            for name, table, where in _tables(participation, person)
            if name != "planned"
        }
    if not found["participants"]:
        raise Unknown(
            f"Nobody is called {person} in study '{participation.study.id}'.", "'eqlab study export' lists people."
        )
    for row in (*found["arrivals"], *found["panel_ids"]):
        # that there is an id is theirs to know; its hash would link it to others' copies
        del row["hash"], row["tombstone"]
    for table, column in (("answers", "values"), ("participants", "steps"), ("events", "detail")):
        for row in found[table]:
            row[column] = json.loads(row[column])
    return {"study": participation.study.id, "person": person, **found}


def erase_person(
    participation: Participation, person: str, by: Literal["person", "researcher"] = "researcher", who: str = ""
) -> int:
    """Delete everything about a person and open their place; returns how many answers went. That somebody was erased,
    when, by whom and in which arm stays known, and so does a tombstone of the panel's id."""
    return erase_cleanly(participation, person, by, who)[0]


def erase_cleanly(
    participation: Participation, person: str, by: Literal["person", "researcher"] = "researcher", who: str = ""
) -> tuple[int, bool]:
    """The same; and whether nothing is left in the database's own files either, which takes until nobody reads, and
    room on the disk."""
    gone = erase(participation, person, by, who)
    try:
        return gone, scrub(participation.store.engine)
    except StoreError:  # erased they are
        return gone, False


def erased_lately(participation: Participation, within: float = 7 * 86_400) -> bool:
    """Whether somebody was erased in the last week."""
    query = select(events.c.id).where(
        events.c.study_id == participation.study.id,
        events.c.kind == "erased",
        events.c.at > participation.clock() - within,
    )
    with reading(participation.store.engine) as connection:
        return connection.execute(query.limit(1)).first() is not None


@despite_deadlock
def erase(
    participation: Participation, person: str, by: Literal["person", "researcher"] = "researcher", who: str = ""
) -> int:
    """Delete somebody's rows, without a look at the files: `scrub` follows."""
    study, now = participation.study.id, participation.clock()
    with writing(participation.store.engine) as connection:
        take_turn(connection, "plan")  # somebody else may be saying the same words, whose trial goes or stays
        row = lock_person(connection, study, person)
        if row.place is not None:
            places.give_back(connection, study, row.place, person)
        answered = participation.trials_answered(connection, person)
        early = answered_before_lock(connection, study, person, answered.values())
        _bury(connection, study, person)
        shut_out = _shut_out(connection, study, person)
        for other in _other_browsers(connection, study, person):
            _delete(connection, participation, other)
        gone = _delete(connection, participation, person)
        if gone:
            _forget_ratings(connection, f"{PERSON}{person}")
        if not is_simulated(person):
            detail = {"by": by, "answered_unlocked": early, "answered": len(answered), "arm": row.arm}
            detail |= {"shut_out": shut_out} if shut_out else {}
            happened = {"study_id": study, "at": now, "kind": "erased", "detail": json.dumps(detail)}
            connection.execute(insert(events), happened)
            if by == "researcher":
                note(connection, now, who, "erased", study, answered=len(answered), arm=row.arm)
            if row.assigned_at is not None or gone:
                extend(connection, study, now, [(person, "erased")], detail)
            forget_in_audit(connection, study, person)
    return gone


def _shut_out(connection: Connection, study: str, person: str) -> int:
    """How often a researcher has banned or released somebody: what stays known when their events go."""
    query = select(events.c.detail).where(
        events.c.study_id == study, events.c.person == person, events.c.kind.in_(("banned", "released"))
    )
    return sum(json.loads(detail).get("by") == "researcher" for detail in connection.execute(query).scalars())


def clear_simulated(participation: Participation, who: str = "") -> int:
    """Delete every simulated person; returns how many there were. Their places open again."""
    query = select(participants.c.person).where(
        participants.c.study_id == participation.study.id, participants.c.person.like(f"{SIMULATED}%")
    )
    with participation.store.engine.connect() as connection:
        found = list(connection.execute(query).scalars())
    with writing(participation.store.engine) as connection:
        for person in found:
            row = lock_person(connection, participation.study.id, person)
            if row.place is not None:
                places.give_back(connection, participation.study.id, row.place, person)
            _delete(connection, participation, person)
        note(connection, participation.clock(), who, "cleared", participation.study.id, simulated=len(found))
    return len(found)


def _bury(connection: Connection, study: str, person: str) -> None:
    """What remains of the panel's id: a mark that says only that it has been here."""
    own = select(panel_ids.c.tombstone).where(panel_ids.c.study_id == study, panel_ids.c.person == person)
    for mark in connection.execute(own).scalars():
        if mark is not None:
            connection.execute(insert(tombstones), {"study_id": study, "hash": mark})


def _other_browsers(connection: Connection, study: str, person: str) -> list[str]:
    """Who came with the id that became this person's, without consenting: their rows would lead from its mark to it."""
    own = select(panel_ids.c.hash).where(panel_ids.c.study_id == study, panel_ids.c.person == person)
    same = select(arrivals.c.person).where(arrivals.c.study_id == study, arrivals.c.hash.in_(own))
    return sorted(connection.execute(same.where(arrivals.c.person != person)).scalars())


def find_by_panel(participation: Participation, panel_hash: str) -> str | None:
    """Whose panel id this is, by its keyed hash."""
    query = select(panel_ids.c.person).where(
        panel_ids.c.study_id == participation.study.id, panel_ids.c.hash == panel_hash
    )
    with participation.store.engine.connect() as connection:
        person: str | None = connection.execute(query).scalar()
    return person


def _delete(connection: Connection, participation: Participation, person: str) -> int:
    gone = 0
    said = _own_turns(connection, participation, person)
    for name, table, where in _tables(participation, person):
        rows = connection.execute(delete(table).where(*where)).rowcount
        gone = rows if name == "answers" else gone
    mine = (talk_calls.c.study_id == participation.study.id, talk_calls.c.person == person)
    # what it cost stays known; the id of a turn is a hash of what was said
    connection.execute(update(talk_calls).where(*mine).values(person=None, trial_id="", at=0.0))
    _forget_turns(connection, said)
    return gone


def _own_turns(connection: Connection, participation: Participation, person: str) -> list[str]:
    """Trials that repeat what a person has said: the turns of their talks."""
    query = select(planned.c.trial_id).where(
        planned.c.run_id == participation.design.run.id, planned.c.subject == f"person:{person}"
    )
    return sorted(set(connection.execute(query).scalars()) - set(participation.design.trials))


def _forget_turns(connection: Connection, said: list[str]) -> None:
    """Those that nobody else's talk has, word for word."""
    for start in range(0, len(said), _CHUNK):
        some = said[start : start + _CHUNK]
        others = set(connection.execute(select(planned.c.trial_id).where(planned.c.trial_id.in_(some))).scalars())
        connection.execute(delete(trials).where(trials.c.id.in_([one for one in some if one not in others])))


def _forget_ratings(connection: Connection, subject: str) -> None:
    """Judges that 0.2 calibrated against people have questions which tell how these rated. Other questions, of which a
    store has many, are not looked through; later calibrations name the runs that they are held against."""
    calibrated = and_(runs.c.config.contains('"calibration"'), not_(runs.c.config.contains('"against"')))
    asked = select(planned.c.trial_id).join(runs, runs.c.id == planned.c.run_id).where(calibrated)
    knows = trials.c.body.contains(f'"{subject}"', autoescape=True)
    query = select(trials.c.id, trials.c.body).where(trials.c.id.in_(asked), knows)
    for row in connection.execute(query).all():
        connection.execute(update(trials).where(trials.c.id == row.id).values(body=without(row.body, subject)))


def _tables(participation: Participation, person: str) -> list[tuple[str, Any, tuple[ColumnElement[bool], ...]]]:
    """Every table that knows a person, with the rows that are theirs."""
    study, run, subject = participation.study.id, participation.design.run.id, f"person:{person}"
    return [
        (table.name, table, (table.c.run_id == run, table.c.subject == subject)) for table in (answers, planned)
    ] + [
        (table.name, table, (table.c.study_id == study, table.c.person == person))
        for table in (events, arrivals, panel_ids, participants)
    ]
