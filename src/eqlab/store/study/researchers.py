"""Researchers of a store: names, roles, and who is logged in. Passwords come here as hashes only."""

from dataclasses import dataclass
from typing import Literal

from sqlalchemy import delete, insert, select, update

from eqlab.core.errors import StoreError
from eqlab.store.engine import reading, writing
from eqlab.store.schema import researcher_sessions, researchers
from eqlab.store.store import Store
from eqlab.store.study.audit import note

Role = Literal["viewer", "manager"]
ROLES: tuple[Role, ...] = ("viewer", "manager")
"""A viewer sees how a study stands; a manager also exports, pauses, releases and bans."""


@dataclass(frozen=True, slots=True)
class Researcher:
    name: str
    role: Role
    password_hash: str = ""


def keep_researcher(store: Store, name: str, role: Role, password_hash: str, now: float, who: str) -> bool:
    """Add somebody, or change their role and password; True if they are new. Their sessions end."""
    with writing(store.engine) as connection:
        there = connection.execute(select(researchers.c.name).where(researchers.c.name == name)).first()
        row = {"password_hash": password_hash, "role": role}
        if there is None:
            connection.execute(insert(researchers), {"name": name, "created_at": now, **row})
        else:
            connection.execute(update(researchers).where(researchers.c.name == name).values(**row))
            connection.execute(delete(researcher_sessions).where(researcher_sessions.c.name == name))
        note(connection, now, who, "researcher kept", None, name=name, role=role)
    return there is None


def remove_researcher(store: Store, name: str, now: float, who: str) -> None:
    with writing(store.engine) as connection:
        gone = connection.execute(delete(researchers).where(researchers.c.name == name)).rowcount
        if not gone:
            raise StoreError(f"There is no researcher '{name}'.", "'eqlab study researcher list' names them.")
        connection.execute(delete(researcher_sessions).where(researcher_sessions.c.name == name))
        note(connection, now, who, "researcher removed", None, name=name)


def read_researchers(store: Store) -> list[Researcher]:
    with reading(store.engine) as connection:
        rows = connection.execute(select(researchers).order_by(researchers.c.name))
        return [Researcher(row.name, row.role, row.password_hash) for row in rows]


def begin_session(store: Store, session: str, name: str, now: float) -> None:
    with writing(store.engine) as connection:
        connection.execute(insert(researcher_sessions), {"id": session, "name": name, "since": now})
        note(connection, now, name, "logged in")


def end_session(store: Store, session: str, now: float) -> None:
    """Logging out: the cookie is worth nothing any more, wherever it was copied to."""
    mine = researcher_sessions.c.id == session
    with writing(store.engine) as connection:
        name = connection.execute(select(researcher_sessions.c.name).where(mine)).scalar()
        if name is not None:
            connection.execute(delete(researcher_sessions).where(mine))
            note(connection, now, name, "logged out")


def session_name(store: Store, session: str, since: float) -> str | None:
    """Whose session it is; None when it has ended, or began before `since`."""
    query = select(researcher_sessions.c.name).where(
        researcher_sessions.c.id == session, researcher_sessions.c.since > since
    )
    with reading(store.engine) as connection:
        found: str | None = connection.execute(query).scalar()
    return found
