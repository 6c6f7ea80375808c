"""Places in SQL: open, held (every save renews), done. A place becomes somebody's only by an update that finds it open,
so two people can never hold one; whoever counts open places has taken the study's turn, so arms stay even."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, bindparam, func, insert, select, update

from eqlab.core.design import Design, choose_arm
from eqlab.store.engine import reading, take_turn
from eqlab.store.schema import places
from eqlab.store.store import Store

_OF_STUDY = places.c.study_id == bindparam("study")
_OPEN = (_OF_STUDY, places.c.state == "open")
_OVERDUE = (_OF_STUDY, places.c.state == "held", places.c.held_until < bindparam("now"))
_MINE = (_OF_STUDY, places.c.number == bindparam("place"))
_OPEN_BY_ARM = select(places.c.arm, func.count()).where(*_OPEN).group_by(places.c.arm)
_FIRST_OPEN = (
    select(places.c.number, places.c.batch)
    .where(*_OPEN, places.c.arm == bindparam("in_arm"))
    .order_by(places.c.number)
    .limit(1)
)
_FIRST_OF_STRATUM = (
    select(places.c.number, places.c.arm, places.c.batch)
    .where(*_OPEN, places.c.number >= bindparam("low"), places.c.number < bindparam("high"))
    .order_by(places.c.number)
    .limit(1)
)
_FIND_OVERDUE = select(places.c.number, places.c.person).where(*_OVERDUE)
_REOPEN_OVERDUE = update(places).where(*_OVERDUE).values(state="open", person=None, held_until=None)
_HOLD_OPEN = (
    update(places)
    .where(*_MINE, places.c.state == "open")
    .values(state="held", person=bindparam("who"), held_until=bindparam("until"))
)
# Still held, or open again after a long silence: whoever holds a place, and nobody else took it, keeps it.
_HELD_BY_ME = (places.c.state == "held") & (places.c.person == bindparam("who"))
_STILL_MINE = (*_MINE, (places.c.state == "open") | _HELD_BY_ME)
_RENEW = update(places).where(*_STILL_MINE).values(state="held", person=bindparam("who"), held_until=bindparam("until"))
_DONE = update(places).where(*_STILL_MINE).values(state="done", person=bindparam("who"), held_until=None)
_GIVE_BACK = (
    update(places).where(*_MINE, places.c.person == bindparam("who")).values(state="open", person=None, held_until=None)
)
_ANY_FREE = (
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
        {"study_id": design.study.id, "number": one.number, "arm": one.arm, "batch": one.batch, "state": "open"}
        for one in design.places()
    ]
    connection.execute(insert(places), rows)


def read_places(store: Store, study: str) -> list[tuple[str, str, float | None]]:
    """(arm, state, held until) of every place."""
    query = select(places.c.arm, places.c.state, places.c.held_until).where(places.c.study_id == study)
    with reading(store.engine) as connection:
        return [(row.arm, row.state, row.held_until) for row in connection.execute(query)]


def anything_free(connection: Connection, study: str, now: float) -> bool:
    return connection.execute(_ANY_FREE, {"study": study, "now": now}).first() is not None


class Openings:
    """The open places of a study, counted once while this transaction has the turn, and given out one by one. What was
    held too long without a save is open again."""

    def __init__(self, connection: Connection, design: Design, now: float) -> None:
        study = design.study.id
        self._connection, self._study, self._design = connection, study, design
        take_turn(connection, f"places {study}")
        overdue = connection.execute(_FIND_OVERDUE, {"study": study, "now": now}).all()
        if overdue:
            connection.execute(_REOPEN_OVERDUE, {"study": study, "now": now})
        self.reopened: list[tuple[int, str]] = [(row.number, row.person) for row in overdue]
        self._counts = self._count()

    def _count(self) -> dict[str, int]:
        return {row[0]: row[1] for row in self._connection.execute(_OPEN_BY_ARM, {"study": self._study})}

    def claim(self, person: str, seed: int, until: float) -> Claim | None:
        """Hold the next place of the arm with most open ones; None when the study is full."""
        design = self._design
        while (arm := choose_arm(self._counts, design.arms, seed, design.sizes)) is not None:
            first = self._connection.execute(_FIRST_OPEN, {"study": self._study, "in_arm": arm}).first()
            if first is not None:
                hold = {"study": self._study, "place": first.number, "who": person, "until": until}
                if self._connection.execute(_HOLD_OPEN, hold).rowcount:
                    self._counts[arm] -= 1
                    return Claim(first.number, arm, first.batch)
            self._counts = self._count()  # whose place it was has come back for it at this moment
        return None

    def claim_in_order(self, person: str, stratum: str, until: float) -> Claim | None:
        """Hold the next place of a stratum, in the order that was drawn before the study began."""
        numbers = self._design.numbers(stratum)
        within = {"study": self._study, "low": numbers.start, "high": numbers.stop}
        while (first := self._connection.execute(_FIRST_OF_STRATUM, within).first()) is not None:
            hold = {"study": self._study, "place": first.number, "who": person, "until": until}
            if self._connection.execute(_HOLD_OPEN, hold).rowcount:
                return Claim(first.number, first.arm, first.batch)
        return None


def renew(connection: Connection, study: str, renewals: Sequence[Renewal]) -> None:
    """Hold these places longer, or again; not those that somebody else has meanwhile."""
    rows = [{"study": study, "place": one.place, "who": one.person, "until": one.until} for one in renewals]
    connection.execute(_RENEW, rows)


def finish(connection: Connection, study: str, place: int, person: str) -> bool:
    """False when somebody else has the place."""
    return bool(connection.execute(_DONE, {"study": study, "place": place, "who": person}).rowcount)


def give_back(connection: Connection, study: str, place: int, person: str) -> bool:
    """Open a place that its person will not fill; False when it was not theirs any more."""
    take_turn(connection, f"places {study}")
    return bool(connection.execute(_GIVE_BACK, {"study": study, "place": place, "who": person}).rowcount)
