"""Participants' rows: read and locked together, and what a transaction changes gathered row by row and written together
at its end, since a statement costs far more than a row."""

import json
from collections import defaultdict
from collections.abc import Collection, Mapping
from types import SimpleNamespace
from typing import Any

from sqlalchemy import Connection, Table, bindparam, insert, select, update

from eqlab.core.answers import Answer
from eqlab.core.moves import Unknown
from eqlab.core.runs import PERSON
from eqlab.store.schema import arrivals, events, panel_ids, participants, planned
from eqlab.store.store import write_answers
from eqlab.store.study import places

Person = SimpleNamespace
"""A row of `participants`, as it will be when what is gathered has been written."""

_FIND = select(participants).where(
    participants.c.study_id == bindparam("study"), participants.c.person.in_(bindparam("people", expanding=True))
)
_LOCK = _FIND.order_by(participants.c.person).with_for_update()  # all in one order: nobody waits in a circle
_INSERT = {table: insert(table) for table in (participants, arrivals, panel_ids, planned, events)}
_CHANGE = update(participants).where(
    participants.c.study_id == bindparam("study"), participants.c.person == bindparam("who")
)


def find_people(
    connection: Connection, study: str, people: Collection[str], *, lock: bool = False
) -> dict[str, Person]:
    """Those of them that there are, by name."""
    if not people:
        return {}
    found = connection.execute(_LOCK if lock else _FIND, {"study": study, "people": sorted(people)})
    return {row.person: Person(**row._mapping) for row in found}


def lock_person(connection: Connection, study: str, person: str) -> Person:
    found = find_people(connection, study, [person], lock=True)
    if person not in found:
        raise Unknown
    return found[person]


class Changes:
    """What one transaction will write of one study."""

    def __init__(self, study: str, now: float) -> None:
        self._study, self._now = study, now
        self._rows: dict[Table, list[dict[str, Any]]] = {table: [] for table in _INSERT}
        self._answers: list[Answer] = []
        self._renewed: list[places.Renewal] = []
        self._changes: dict[str, dict[str, Any]] = defaultdict(dict)

    def add(self, table: Table, row: dict[str, Any]) -> None:
        self._rows[table].append(row)

    def answer(self, answer: Answer) -> None:
        self._answers.append(answer)

    def answered(self, person: str, trial: str) -> Mapping[str, Any] | None:
        """What this transaction will write of a person's answer to a trial."""
        own = [one for one in self._answers if one.subject == f"{PERSON}{person}" and one.trial == trial]
        return own[-1].values if own else None

    def renew(self, place: int, person: str, until: float) -> None:
        self._renewed.append(places.Renewal(place, person, until))

    def change(self, person: Person, **values: Any) -> None:
        """The next move of the same transaction sees it already."""
        vars(person).update(values)
        self._changes[person.person].update(values)

    def note(self, person: str, kind: str, **detail: Any) -> None:
        detail_text = json.dumps(detail)
        row = {"study_id": self._study, "person": person, "at": self._now, "kind": kind, "detail": detail_text}
        self.add(events, row)

    def write(self, connection: Connection) -> None:
        for table, rows in self._rows.items():
            if rows:
                connection.execute(_INSERT[table], rows)
        if self._answers:
            write_answers(connection, self._answers)
        if self._renewed:
            places.renew(connection, self._study, self._renewed)
        alike = defaultdict(list)  # one statement for all whose same columns change
        for person, values in self._changes.items():
            alike[frozenset(values)].append({"study": self._study, "who": person, **values})
        for changes in alike.values():
            connection.execute(_CHANGE, changes)
