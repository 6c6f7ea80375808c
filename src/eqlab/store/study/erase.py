"""One person's data: all of it in one answer, or gone. Their place opens again."""

import json
from typing import Any, Literal

from sqlalchemy import ColumnElement, Connection, delete, insert, select, update

from eqlab.core.moves import SIMULATED, Unknown, is_simulated
from eqlab.store.engine import scrub, writing
from eqlab.store.schema import (
    answers,
    events,
    panel_ids,
    participants,
    planned,
    studies,
    talk_calls,
    tombstones,
    trials,
)
from eqlab.store.study import places
from eqlab.store.study.audit import note
from eqlab.store.study.participants import lock_person
from eqlab.store.study.participation import Participation

_CHUNK = 500


def export_person(participation: Participation, person: str) -> dict[str, Any]:
    """Everything that is stored about a person, as plain values."""
    with participation.store.engine.connect() as connection:
        found = {
            name: [dict(row) for row in connection.execute(select(table).where(*where)).mappings()]
            for name, table, where in _tables(participation, person)
            if name != "planned"
        }
    if not found["participants"]:
        raise Unknown(
            f"Nobody is called {person} in study '{participation.study.id}'.", "'eqlab study export' lists people."
        )
    for one in found["panel_ids"]:
        del (
            one["hash"],
            one["tombstone"],
        )  # that there is a panel's id is theirs to know; its hash would link it to others' copies
    for one in found["answers"]:
        one["values"] = json.loads(one["values"])
    for one in found["participants"]:
        one["steps"] = json.loads(one["steps"])
    for one in found["events"]:
        one["detail"] = json.loads(one["detail"])
    return {"study": participation.study.id, "person": person, **found}


def erase_person(
    participation: Participation, person: str, by: Literal["person", "researcher"] = "researcher", who: str = ""
) -> int:
    """Delete everything about a person; returns how many answers went. That somebody was erased, when, by whom and in
    which arm stays known, and so does a tombstone of the panel's id."""
    study, now = participation.study.id, participation.clock()
    with writing(participation.store.engine) as connection:
        row = lock_person(connection, study, person)
        if row.place is not None:
            places.give_back(connection, study, row.place, person)
        early, answered = _answered(connection, participation, person)
        _bury(connection, study, person)
        gone = _delete(connection, participation, person)
        if not is_simulated(person):
            detail = json.dumps({"by": by, "answered_unlocked": early, "answered": answered, "arm": row.arm})
            connection.execute(insert(events), {"study_id": study, "at": now, "kind": "erased", "detail": detail})
            if by == "researcher":
                note(connection, now, who, "erased", study, answered=answered, arm=row.arm)
    scrub(participation.store.engine)
    return gone


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


def find_by_panel(participation: Participation, panel_hash: str) -> str | None:
    """Whose panel id this is, by its keyed hash."""
    query = select(panel_ids.c.person).where(
        panel_ids.c.study_id == participation.study.id, panel_ids.c.hash == panel_hash
    )
    with participation.store.engine.connect() as connection:
        person: str | None = connection.execute(query).scalar()
    return person


def _answered(connection: Connection, participation: Participation, person: str) -> tuple[bool, int]:
    """Whether they answered a trial before the analysis plan was locked, and how many trials they answered: what later
    analyses must know to be called confirmatory."""
    trials = {trial.id for batch in participation.design.batches for trial in batch.trials}
    locked = connection.execute(select(studies.c.locked_at).where(studies.c.id == participation.study.id)).scalar()
    query = select(answers.c.trial_id, answers.c.at).where(
        answers.c.run_id == participation.design.run.id, answers.c.subject == f"person:{person}"
    )
    given = [row for row in connection.execute(query) if row.trial_id in trials]
    return any(locked is None or row.at <= locked for row in given), len({row.trial_id for row in given})


def _delete(connection: Connection, participation: Participation, person: str) -> int:
    gone = 0
    said = _own_turns(connection, participation, person)
    for name, table, where in _tables(participation, person):
        rows = connection.execute(delete(table).where(*where)).rowcount
        gone = rows if name == "answers" else gone
    mine = (talk_calls.c.study_id == participation.study.id, talk_calls.c.person == person)
    connection.execute(update(talk_calls).where(*mine).values(person=None))  # what it cost stays known
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


def _tables(participation: Participation, person: str) -> list[tuple[str, Any, tuple[ColumnElement[bool], ...]]]:
    """Every table that knows a person, with the rows that are theirs."""
    study, run, subject = participation.study.id, participation.design.run.id, f"person:{person}"
    return [
        (table.name, table, (table.c.run_id == run, table.c.subject == subject)) for table in (answers, planned)
    ] + [
        (table.name, table, (table.c.study_id == study, table.c.person == person))
        for table in (events, panel_ids, participants)
    ]
