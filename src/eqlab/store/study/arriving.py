"""Coming in: whose panel id is known is the same person again; others are new, and told at once when there is no place
for them."""

import secrets
from collections.abc import Collection, Sequence

from sqlalchemy import Connection, bindparam, select

from eqlab.core.design import Design, personal_seed, steps_to_json
from eqlab.core.moves import ENDED, Arrival, State
from eqlab.store.schema import panel_ids, participants
from eqlab.store.study import places
from eqlab.store.study.participants import Changes

_KNOWN = select(panel_ids.c.study_id, panel_ids.c.hash, panel_ids.c.person).where(
    panel_ids.c.study_id.in_(bindparam("studies", expanding=True)),
    panel_ids.c.hash.in_(bindparam("hashes", expanding=True)),
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
        hashes = {one.panel_hash for one in arrivals if one.panel_hash is not None}
        self._known = find_panel(connection, (design.study.id, *design.study.not_after), hashes)
        self._free = bool(arrivals) and places.anything_free(connection, design.study.id, now)
        self._first = steps_to_json(design.first_steps())

    def let_in(self, arrival: Arrival) -> str:
        own = (self._study.id, arrival.panel_hash or "")
        if own in self._known:
            return self._known[own]
        person, state = secrets.token_hex(8), self._first_state(arrival.panel_hash)
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
            },
        )
        if arrival.panel_hash is not None:
            self._changes.add(panel_ids, {"study_id": self._study.id, "hash": arrival.panel_hash, "person": person})
            self._known[own] = person
        self._changes.note(person, "arrived", state=state)
        return person

    def _first_state(self, panel_hash: str | None) -> State:
        """People are told that a study is full, or not for them, before they are asked for consent."""
        took_another = any((other, panel_hash) in self._known for other in self._study.not_after)
        return "arrived" if self._free and not took_another else "full"
