"""One person's data: all of it in one answer, or gone. Their place opens again."""

import json
from typing import Any

from sqlalchemy import ColumnElement, Connection, delete, insert, select

from eqlab.core.moves import Unknown
from eqlab.store.engine import writing
from eqlab.store.schema import answers, events, panel_ids, participants, planned, studies
from eqlab.store.study import places
from eqlab.store.study.participants import lock_person
from eqlab.store.study.participation import Participation


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
        del one["hash"]  # that there is a panel's id is theirs to know; its hash would link it to others' copies
    for one in found["answers"]:
        one["values"] = json.loads(one["values"])
    for one in found["participants"]:
        one["steps"] = json.loads(one["steps"])
    for one in found["events"]:
        one["detail"] = json.loads(one["detail"])
    return {"study": participation.study.id, "person": person, **found}


def erase_person(participation: Participation, person: str) -> int:
    """Delete everything about a person; returns how many answers went. That somebody was erased stays known."""
    with writing(participation.store.engine) as connection:
        if connection.dialect.name == "sqlite":
            connection.exec_driver_sql("PRAGMA secure_delete=ON")  # overwritten on disk, not only unlinked
        who = lock_person(connection, participation.study.id, person)
        if who.place is not None:
            places.give_back(connection, participation.study.id, who.place, person)
        early = _answered_unlocked(connection, participation, person)
        gone = _delete(connection, participation, person)
        detail = json.dumps({"answered_unlocked": early})
        note = {"study_id": participation.study.id, "at": participation.clock(), "kind": "erased", "detail": detail}
        connection.execute(insert(events), note)
    return gone


def find_by_panel(participation: Participation, panel_hash: str) -> str | None:
    """Whose panel id this is, by its keyed hash."""
    query = select(panel_ids.c.person).where(
        panel_ids.c.study_id == participation.study.id, panel_ids.c.hash == panel_hash
    )
    with participation.store.engine.connect() as connection:
        person: str | None = connection.execute(query).scalar()
    return person


def _answered_unlocked(connection: Connection, participation: Participation, person: str) -> bool:
    """Whether they answered a trial before the analysis plan was locked: the one thing about them that later analyses
    must know to be called confirmatory."""
    trials = {trial.id for batch in participation.design.batches for trial in batch.trials}
    locked = connection.execute(select(studies.c.locked_at).where(studies.c.id == participation.study.id)).scalar()
    given = select(answers.c.trial_id, answers.c.at).where(
        answers.c.run_id == participation.design.run.id, answers.c.subject == f"person:{person}"
    )
    return any(row.trial_id in trials and (locked is None or row.at <= locked) for row in connection.execute(given))


def _delete(connection: Connection, participation: Participation, person: str) -> int:
    gone = 0
    for name, table, where in _tables(participation, person):
        rows = connection.execute(delete(table).where(*where)).rowcount
        gone = rows if name == "answers" else gone
    return gone


def _tables(participation: Participation, person: str) -> list[tuple[str, Any, tuple[ColumnElement[bool], ...]]]:
    """Every table that knows a person, with the rows that are theirs."""
    study, run, subject = participation.study.id, participation.design.run.id, f"person:{person}"
    return [
        (table.name, table, (table.c.run_id == run, table.c.subject == subject)) for table in (answers, planned)
    ] + [
        (table.name, table, (table.c.study_id == study, table.c.person == person))
        for table in (events, panel_ids, participants)
    ]
