"""Places and participants in SQL. A place is open, held (every save renews), done, or shut: left by somebody after the
locked study was full, and for nobody any more. It becomes somebody's only by an update that finds it open, so two
people can never hold one; whoever counts open places has taken the study's turn, so arms stay even. Participants' rows
are read and locked together, and what a transaction changes is gathered row by row and written together at its end,
since a statement costs far more than a row."""

import json
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

from sqlalchemy import Connection, Table, bindparam, func, insert, select, update

from eqlab.core.answers import Answer
from eqlab.core.design import Design, choose_arm
from eqlab.core.moves import Unknown
from eqlab.core.runs import PERSON, is_simulated
from eqlab.core.values import dataclass
from eqlab.store.engine import Prepared, Within, reading, take_turn
from eqlab.store.schema import arrivals, events, panel_ids, participants, places, planned, studies
from eqlab.store.store import Store, write_answers
from eqlab.store.study.chain import LINKED, extend

_OF_STUDY = places.c.study_id == bindparam("study")
_OPEN = (_OF_STUDY, places.c.state == "open")
_OVERDUE = (_OF_STUDY, places.c.state == "held", places.c.held_until < bindparam("now"))
_MINE = (_OF_STUDY, places.c.number == bindparam("place"))
_OPEN_BY_ARM = Prepared(select(places.c.arm, func.count().label("n")).where(*_OPEN).group_by(places.c.arm))
_FIRST_OPEN = Prepared(
    select(places.c.number, places.c.batch)
    .where(*_OPEN, places.c.arm == bindparam("in_arm"))
    .order_by(places.c.number)
    .limit(1)
)
_FIRST_OF_STRATUM = Prepared(
    select(places.c.number, places.c.arm, places.c.batch)
    .where(*_OPEN, places.c.number >= bindparam("low"), places.c.number < bindparam("high"))
    .order_by(places.c.number)
    .limit(1)
)
_FIND_OVERDUE = Prepared(select(places.c.number, places.c.person).where(*_OVERDUE))
_REOPEN_OVERDUE = update(places).where(*_OVERDUE).values(state="open", person=None, held_until=None)
# A place held for longer than anybody can: the machine's clock was set back, and nobody waits for it to catch up.
_SHORTEN = Prepared(
    update(places)
    .where(_OF_STUDY, places.c.state == "held", places.c.held_until > bindparam("longest"))
    .values(held_until=bindparam("longest"))
)
_HOLD_OPEN = Prepared(
    update(places)
    .where(*_MINE, places.c.state == "open")
    .values(state="held", person=bindparam("who"), held_until=bindparam("until"))
)
# Still held, or open again after a long silence: whoever holds a place, and nobody else took it, keeps it.
_HELD_BY_ME = (places.c.state == "held") & (places.c.person == bindparam("who"))
_STILL_MINE = (*_MINE, (places.c.state == "open") | _HELD_BY_ME)
_RENEW = Prepared(
    update(places).where(*_STILL_MINE).values(state="held", person=bindparam("who"), held_until=bindparam("until"))
)
_DONE = Prepared(update(places).where(*_STILL_MINE).values(state="done", person=bindparam("who"), held_until=None))
FILLED = ("done", "shut")
_GIVE_BACK = (
    update(places)
    .where(*_MINE, places.c.person == bindparam("who"))
    .values(state=bindparam("left"), person=None, held_until=None)
)
_IS_FULL = select(studies.c.id).where(
    studies.c.id == bindparam("study"),
    studies.c.locked_at.is_not(None),
    ~select(places.c.number).where(_OF_STUDY, places.c.state.not_in(FILLED)).exists(),
)
_ANY_FREE = Prepared(
    select(places.c.number)
    .where(
        _OF_STUDY, (places.c.state == "open") | ((places.c.state == "held") & (places.c.held_until < bindparam("now")))
    )
    .limit(1)
)


@dataclass(frozen=True, slots=True)
class Claim:
    place: int
    arm: str
    batch: int


@dataclass(frozen=True, slots=True)
class Renewal:
    place: int
    person: str
    until: float


def create(connection: Connection, design: Design) -> None:
    rows = [
        {"study_id": design.study.id, "number": place.number, "arm": place.arm, "batch": place.batch, "state": "open"}
        for place in design.places()
    ]
    connection.execute(insert(places), rows)


def read_places(store: Store, study: str) -> list[tuple[str, str, float | None]]:
    """(arm, state, held until) of every place."""
    query = select(places.c.arm, places.c.state, places.c.held_until).where(places.c.study_id == study)
    with reading(store.engine) as connection:
        return [(row.arm, row.state, row.held_until) for row in connection.execute(query)]


def anything_free(connection: Connection, study: str, now: float) -> bool:
    return bool(_ANY_FREE.find(connection, study=study, now=now))


class Openings:
    """The open places of a study, counted once while this transaction has the turn, and given out one by one. What was
    held too long without a save is open again."""

    def __init__(self, connection: Connection, design: Design, now: float) -> None:
        study = design.study.id
        self._connection, self._study, self._design = connection, study, design
        take_turn(connection, f"places {study}")
        _SHORTEN.run(connection, [{"study": study, "longest": now + design.study.places.lease_minutes * 60}])
        overdue = _FIND_OVERDUE.find(connection, study=study, now=now)
        if overdue:
            connection.execute(_REOPEN_OVERDUE, {"study": study, "now": now})
        self.reopened: list[tuple[int, str]] = [(row.number, row.person) for row in overdue]
        self._counts = self._count()

    def _count(self) -> dict[str, int]:
        return {row.arm: row.n for row in _OPEN_BY_ARM.find(self._connection, study=self._study)}

    def claim(self, person: str, seed: int, until: float) -> Claim | None:
        """Hold the next place of the arm with most open ones; None when the study is full."""
        design = self._design
        while (arm := choose_arm(self._counts, design.arms, seed, design.sizes)) is not None:
            for first in _FIRST_OPEN.find(self._connection, study=self._study, in_arm=arm):
                if self._hold(first.number, person, until):
                    self._counts[arm] -= 1
                    return Claim(first.number, arm, first.batch)
            self._counts = self._count()  # whose place it was has come back for it at this moment
        return None

    def claim_in_order(self, person: str, stratum: str, until: float) -> Claim | None:
        """Hold the next place of a stratum, in the order that was drawn before the study began."""
        numbers = self._design.numbers(stratum)
        within = {"study": self._study, "low": numbers.start, "high": numbers.stop}
        while found := _FIRST_OF_STRATUM.find(self._connection, **within):
            (first,) = found
            if self._hold(first.number, person, until):
                return Claim(first.number, first.arm, first.batch)
        return None

    def _hold(self, place: int, person: str, until: float) -> bool:
        hold = {"study": self._study, "place": place, "who": person, "until": until}
        return bool(_HOLD_OPEN.run(self._connection, [hold]))


def renew(connection: Connection, study: str, renewals: Sequence[Renewal]) -> None:
    """Hold these places longer, or again; not those that somebody else has meanwhile."""
    rows = [{"study": study, "place": one.place, "who": one.person, "until": one.until} for one in renewals]
    _RENEW.run(connection, rows)


def finish(connection: Connection, study: str, place: int, person: str) -> bool:
    """False when somebody else has the place. In turns with whoever leaves one: both know whether the study is full."""
    take_turn(connection, f"places {study}")
    return bool(_DONE.run(connection, [{"study": study, "place": place, "who": person}]))


def give_back(connection: Connection, study: str, place: int, person: str) -> bool:
    """Open a place that its person will not fill; False when it was not theirs any more. Who is in the result of a
    locked study is settled when it is full: a place that is left after that stays shut."""
    take_turn(connection, f"places {study}")
    settled = not is_simulated(person) and connection.execute(_IS_FULL, {"study": study}).first() is not None
    place_left = {"study": study, "place": place, "who": person, "left": "shut" if settled else "open"}
    return bool(connection.execute(_GIVE_BACK, place_left).rowcount)


Person = SimpleNamespace
"""A row of `participants`, as it will be when what is gathered has been written."""

_THEIRS = participants.c.study_id == bindparam("study")
_ONE = select(participants).where(_THEIRS, participants.c.person == bindparam("who"))
_FIND_ONE, _LOCK_ONE = Prepared(_ONE), Prepared(_ONE.with_for_update())
_FIND = select(participants).where(_THEIRS, participants.c.person.in_(bindparam("people", expanding=True)))
_LOCK = _FIND.order_by(participants.c.person).with_for_update()  # all in one order: nobody waits in a circle
_INSERT = {table: Prepared(insert(table).inline()) for table in (participants, arrivals, panel_ids, planned, events)}
_CHANGE = Prepared(update(participants).where(_THEIRS, participants.c.person == bindparam("who")))


def find_people(
    connection: Connection, study: str, people: Collection[str], *, lock: bool = False
) -> dict[str, Person]:
    """Those of them that there are, by name."""
    if not people:
        return {}
    if len(people) == 1:
        (who,) = people
        rows = (_LOCK_ONE if lock else _FIND_ONE).find(connection, study=study, who=who)
        return {row.person: row for row in rows}
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
        self._renewed: list[Renewal] = []
        self._linked: list[tuple[str, str]] = []
        self._changes: dict[str, dict[str, Any]] = defaultdict(dict)

    def add(self, table: Table, row: dict[str, Any]) -> None:
        self._rows[table].append(row)

    def answer(self, answer: Answer) -> None:
        self._answers.append(answer)

    def answered(self, person: str, trial: str) -> Mapping[str, Any] | None:
        """What this transaction will write of a person's answer to a trial."""
        answers = [one for one in self._answers if one.subject == f"{PERSON}{person}" and one.trial == trial]
        return answers[-1].values if answers else None

    def renew(self, place: int, person: str, until: float) -> None:
        self._renewed.append(Renewal(place, person, until))

    def change(self, person: Person, **values: Any) -> None:
        """The next move of the same transaction sees it already."""
        vars(person).update(values)
        self._changes[person.person].update(values)

    def note(self, person: str, kind: str, **detail: Any) -> None:
        detail_text = json.dumps(detail)
        row = {"study_id": self._study, "person": person, "at": self._now, "kind": kind, "detail": detail_text}
        self.add(events, row)
        if kind in LINKED and not is_simulated(person):
            self._linked.append((person, kind))

    def write(self, connection: Connection) -> None:
        for table, rows in self._rows.items():
            if rows:
                _INSERT[table].run(connection, rows)
        if self._answers:
            write_answers(Within(connection), self._answers)
        if self._renewed:
            renew(connection, self._study, self._renewed)
        alike = defaultdict(list)  # one statement for all whose same columns change
        for person, values in self._changes.items():
            alike[frozenset(values)].append({"study": self._study, "who": person, **values})
        for changes in alike.values():
            _CHANGE.run(connection, changes)
        extend(connection, self._study, self._now, self._linked)
