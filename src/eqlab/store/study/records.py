"""A study's rows as they are stored: everybody who came, what they answered, what happened. Read in one transaction."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection, Row, func, select

from eqlab.core.design import Design
from eqlab.core.runs import PERSON
from eqlab.core.trials import Trial
from eqlab.store.engine import reading
from eqlab.store.schema import answers, events, panel_ids, participants, places
from eqlab.store.store import Store

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


def read_records(store: Store, design: Design) -> Records:
    with reading(store.engine) as connection:
        happened = _events(connection, design.study.id)
        everybody = connection.execute(
            select(participants)
            .where(participants.c.study_id == design.study.id)
            .order_by(participants.c.arrived_at, participants.c.person)
        ).all()
        given = _answers(connection, design.run.id)
    turns = {row.trial_id for own in given.values() for row in own} - set(design.trials)
    return Records(tuple(everybody), given, happened, _turns(store, sorted(turns)))


def _turns(store: Store, ids: Sequence[str]) -> dict[str, Trial]:
    found: dict[str, Trial] = {}
    for start in range(0, len(ids), _PAGE):
        page = ids[start : start + _PAGE]
        known = store.trials(page)
        found |= {one: known[one] for one in page}
    return found


def people_by_hash(store: Store, study: str) -> dict[str, str]:
    """The state of everybody who came from a panel, by the hash of their id there."""
    query = (
        select(panel_ids.c.hash, participants.c.state)
        .join(
            participants,
            (participants.c.study_id == panel_ids.c.study_id) & (participants.c.person == panel_ids.c.person),
        )
        .where(panel_ids.c.study_id == study)
    )
    with reading(store.engine) as connection:
        return {row.hash: row.state for row in connection.execute(query)}


def count_answers(store: Store, run: str) -> int:
    query = select(func.count()).select_from(answers).where(answers.c.run_id == run)
    with reading(store.engine) as connection:
        return int(connection.execute(query).scalar_one())


def read_places(store: Store, study: str) -> list[tuple[str, str, float | None]]:
    """(arm, state, held until) of every place."""
    query = select(places.c.arm, places.c.state, places.c.held_until).where(places.c.study_id == study)
    with reading(store.engine) as connection:
        return [(row.arm, row.state, row.held_until) for row in connection.execute(query)]


def _events(connection: Connection, study: str) -> tuple[Event, ...]:
    rows = connection.execute(select(events).where(events.c.study_id == study).order_by(events.c.id))
    return tuple(
        Event(number, row.at, row.person, row.kind, json.loads(row.detail)) for number, row in enumerate(rows, start=1)
    )


def _answers(connection: Connection, run: str) -> dict[str, list[Row[Any]]]:
    found: dict[str, list[Row[Any]]] = {}
    query = select(answers).where(answers.c.run_id == run, answers.c.subject.startswith(PERSON))
    for row in connection.execute(query):
        found.setdefault(row.subject.removeprefix(PERSON), []).append(row)
    return found
