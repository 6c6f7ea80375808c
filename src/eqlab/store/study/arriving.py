"""Coming in: whose panel id is known is the same person again, in the browser where they began or with proof that it is
them; others are new, and told at once when there is no place for them."""

import secrets
from collections.abc import Collection, Sequence

from sqlalchemy import Connection, bindparam, select

from eqlab.core.design import Design, personal_seed, steps_to_json
from eqlab.core.moves import ENDED, SIMULATED, Arrival, Saved, State, Why
from eqlab.store.schema import panel_ids, participants, studies, tombstones
from eqlab.store.study import places
from eqlab.store.study.participants import Changes, Person, find_people

_KNOWN = select(panel_ids.c.study_id, panel_ids.c.hash, panel_ids.c.person).where(
    panel_ids.c.study_id.in_(bindparam("studies", expanding=True)),
    panel_ids.c.hash.in_(bindparam("hashes", expanding=True)),
)
_BURIED = select(tombstones.c.hash).where(
    tombstones.c.study_id == bindparam("study"), tombstones.c.hash.in_(bindparam("hashes", expanding=True))
)
_STANDS = select(studies.c.status, studies.c.locked_at).where(studies.c.id == bindparam("study"))
_SOMEBODY = (
    select(participants.c.person)
    .where(participants.c.study_id == bindparam("study"), participants.c.person.not_like(f"{SIMULATED}%"))
    .limit(1)
)


def find_panel(connection: Connection, studies: Sequence[str], hashes: Collection[str]) -> dict[tuple[str, str], str]:
    """Whose panel ids these are: (study, hash) → person."""
    if not hashes:
        return {}
    rows = connection.execute(_KNOWN, {"studies": list(studies), "hashes": sorted(hashes)})
    return {(row.study_id, row.hash): row.person for row in rows}


class Admission:
    """The door of a study in one transaction. If another transaction lets in the same panel id at the same moment, the
    later of the two fails on the primary key, and finds the person when it is done again."""

    def __init__(
        self, connection: Connection, design: Design, changes: Changes, now: float, arrivals: Sequence[Arrival]
    ) -> None:
        self._study, self._changes, self._now = design.study, changes, now
        self._first = steps_to_json(design.first_steps())
        if not arrivals:
            return
        study = {"study": design.study.id}
        hashes = {one.panel_hash for one in arrivals if one.panel_hash is not None}
        self._known = find_panel(connection, (design.study.id, *design.study.not_after), hashes)
        again = [person for (where, _), person in self._known.items() if where == design.study.id]
        self._people = find_people(connection, design.study.id, again, lock=True)
        buried = {one.tombstone for one in arrivals if one.tombstone is not None}
        self._buried = set(connection.execute(_BURIED, {**study, "hashes": sorted(buried)}).scalars()) if buried else ()
        self._free = places.anything_free(connection, design.study.id, now)
        self._status, self._locked = connection.execute(_STANDS, study).one()
        simulated = any(one.simulated for one in arrivals)
        self._begun = simulated and connection.execute(_SOMEBODY, study).first() is not None

    def let_in(self, arrival: Arrival) -> Saved:
        person = self._known.get((self._study.id, arrival.panel_hash or ""))
        if person is not None:
            return self._again(arrival, person)
        why = self._objection(arrival)
        if why is not None:
            return Saved("", "turned_away", {"": why})
        return Saved(self._new(arrival), "saved")

    def _objection(self, arrival: Arrival) -> Why | None:
        if arrival.simulated and (self._locked is not None or self._begun):
            return "simulated"
        if arrival.tombstone is not None and arrival.tombstone in self._buried:
            return "erased"
        if self._status == "paused":
            return "paused"
        return "closed" if self._status == "closed" else None

    def _again(self, arrival: Arrival, person: str) -> Saved:
        """Whoever knows a panel's id is not yet that person. Before the consent there is nothing to protect."""
        who = self._people.get(person)
        if who is None:  # came in a moment ago, in this transaction
            return Saved(person, "saved")
        if who.consented_at is not None and not arrival.vouched and arrival.session != person:
            return Saved("", "turned_away", {"": "elsewhere"})
        if who.state == "full" and who.consented_at is None and self._may_enter(arrival.panel_hash):
            self._changes.change(who, state="arrived", ended_at=None, seen_at=self._now)
            self._changes.note(person, "admitted")
        return Saved(person, "again")

    def returning(self, person: str) -> Person | None:
        return self._people.get(person)

    def _new(self, arrival: Arrival) -> str:
        person = f"{SIMULATED}{secrets.token_hex(7)}" if arrival.simulated else secrets.token_hex(8)
        state: State = "arrived" if self._may_enter(arrival.panel_hash) else "full"
        self._changes.add(
            participants,
            {
                "study_id": self._study.id,
                "person": person,
                "state": state,
                "step": 0,
                "attempt": 1,
                "steps": self._first,
                "seed": personal_seed(self._study.seed, person),
                "language": arrival.language,
                "arrived_at": self._now,
                "seen_at": self._now,
                "ended_at": self._now if state in ENDED else None,
                "device": arrival.device,
            },
        )
        if arrival.panel_hash is not None:
            own = {"study_id": self._study.id, "hash": arrival.panel_hash, "person": person}
            self._changes.add(panel_ids, {**own, "tombstone": arrival.tombstone})
            self._known[self._study.id, arrival.panel_hash] = person
        self._changes.note(person, "arrived", state=state)
        return person

    def _may_enter(self, panel_hash: str | None) -> bool:
        """People are told that a study is full, or not for them, before they are asked for consent."""
        took_another = any((other, panel_hash) in self._known for other in self._study.not_after)
        return self._free and not took_another and self._status is None
