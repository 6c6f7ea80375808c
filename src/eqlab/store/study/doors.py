"""A study's door: open, paused (nobody new comes in for now) or closed. Who is inside goes on to the end."""

from typing import Literal

from sqlalchemy import select, update

from eqlab.core.errors import StoreError
from eqlab.store.engine import writing
from eqlab.store.schema import studies
from eqlab.store.study.audit import note
from eqlab.store.study.participation import Participation

Status = Literal["open", "paused", "closed"]


def read_status(participation: Participation) -> Status:
    query = select(studies.c.status).where(studies.c.id == participation.study.id)
    with participation.store.engine.connect() as connection:
        found: Status | None = connection.execute(query).scalar()
    return found or "open"


def set_status(participation: Participation, status: Status, who: str) -> None:
    """Pause, resume or close. A closed study stays closed."""
    mine = studies.c.id == participation.study.id
    with writing(participation.store.engine) as connection:
        was = connection.execute(select(studies.c.status).where(mine)).scalar()
        if was == "closed" and status != "closed":
            raise StoreError(
                f"Study '{participation.study.id}' is closed for good.", "Give a study that goes on a new id."
            )
        connection.execute(update(studies).where(mine).values(status=None if status == "open" else status))
        note(connection, participation.clock(), who, {"open": "resumed"}.get(status, status), participation.study.id)
