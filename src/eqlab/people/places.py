"""Places in SQL: open, held (every save renews), done. Whoever changes who holds what has taken the study's turn first,
so two people can never hold one place."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, bindparam, func, insert, select, update

from eqlab.people.design import Design, choose_arm
from eqlab.store.engine import take_turn
from eqlab.store.schema import places

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
_FIND_OVERDUE = select(places.c.number, places.c.person).where(*_OVERDUE)
_REOPEN_OVERDUE = update(places).where(*_OVERDUE).values(state="open", person=None, held_until=None)
_HOLD_OPEN = (
    update(places)
    .where(*_MINE, places.c.state == "open")
    .values(state="held", person=bindparam("who"), held_until=bindparam("until"))
)
_HELD_BY_ME = (*_MINE, places.c.state == "held", places.c.person == bindparam("who"))
_RENEW = update(places).where(*_HELD_BY_ME).values(held_until=bindparam("until"))
_DONE = update(places).where(*_HELD_BY_ME).values(state="done", held_until=None)
_GIVE_BACK = (
    update(places).where(*_MINE, places.c.person == bindparam("who")).values(state="open", person=None, held_until=None)
)
_ANY_FREE = select(func.count()).where(
    _OF_STUDY, (places.c.state == "open") | ((places.c.state == "held") & (places.c.held_until < bindparam("now")))
)


@dataclass(frozen=True, slots=True)
class Claim:
    place: int
    arm: str
    batch: int


def create(connection: Connection, design: Design) -> None:
    rows = [
        {"study_id": design.study.id, "number": one.number, "arm": one.arm, "batch": one.batch, "state": "open"}
        for one in design.places()
    ]
    connection.execute(insert(places), rows)


def anything_free(connection: Connection, study: str, now: float) -> bool:
    return bool(connection.execute(_ANY_FREE, {"study": study, "now": now}).scalar_one())


def reopen_overdue(connection: Connection, study: str, now: float) -> list[tuple[int, str]]:
    """Open again what was held too long without a save: (place, person) of each."""
    take_turn(connection, f"places {study}")
    overdue = [(row[0], row[1]) for row in connection.execute(_FIND_OVERDUE, {"study": study, "now": now})]
    if overdue:
        connection.execute(_REOPEN_OVERDUE, {"study": study, "now": now})
    return overdue


def claim(
    connection: Connection,
    study: str,
    arms: Sequence[str],
    person: str,
    seed: int,
    until: float,
    sizes: Mapping[str, int] | None = None,
) -> Claim | None:
    """Hold the next place of the arm with most open ones; None when the study is full. The caller has reopened what
    is overdue, and so taken the turn."""
    counts = {row[0]: row[1] for row in connection.execute(_OPEN_BY_ARM, {"study": study})}
    arm = choose_arm(counts, arms, seed, sizes)
    if arm is None:
        return None
    number, batch = connection.execute(_FIRST_OPEN, {"study": study, "in_arm": arm}).one()
    connection.execute(_HOLD_OPEN, {"study": study, "place": number, "who": person, "until": until})
    return Claim(number, arm, batch)


def keep(connection: Connection, study: str, place: int, person: str, until: float) -> bool:
    """Renew a held place, or take it back if nobody else has it; False when somebody else has."""
    mine = {"study": study, "place": place, "who": person, "until": until}
    if connection.execute(_RENEW, mine).rowcount:
        return True
    take_turn(connection, f"places {study}")
    return bool(connection.execute(_HOLD_OPEN, mine).rowcount)


def finish(connection: Connection, study: str, place: int, person: str) -> None:
    connection.execute(_DONE, {"study": study, "place": place, "who": person})


def give_back(connection: Connection, study: str, place: int, person: str) -> bool:
    """Open a place that its person will not fill; False when it was not theirs any more."""
    take_turn(connection, f"places {study}")
    return bool(connection.execute(_GIVE_BACK, {"study": study, "place": place, "who": person}).rowcount)
