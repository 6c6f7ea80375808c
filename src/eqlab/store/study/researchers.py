"""Researchers of a store: names, roles, who is logged in, and the audit trail of what they did. Passwords come here as
hashes only; rows of the trail are only added, each with a link in the chain of its study, and lose the pseudonyms of
people who are erased. And token buckets (so
many at once, so many more each second), the same for all processes of a server."""

import json
from collections.abc import Mapping
from typing import Any, Literal

from sqlalchemy import Connection, delete, insert, or_, select, update
from sqlalchemy.exc import IntegrityError

from eqlab.core.errors import StoreError
from eqlab.core.values import dataclass
from eqlab.store.engine import reading, take_turn, writing
from eqlab.store.schema import audit, buckets, researcher_sessions, researchers
from eqlab.store.store import Store
from eqlab.store.study.chain import link_note

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
        name: str | None = connection.execute(query).scalar()
    return name


# -- the audit trail -------------------------------------------------------------------------------------------

LOOKS = frozenset({"analysed", "exported", "published", "read"})
"""Actions after which somebody knows results, or one person's answers."""


@dataclass(frozen=True, slots=True)
class AuditEntry:
    at: float
    who: str
    action: str
    study: str | None
    detail: Mapping[str, Any]


def note(connection: Connection, at: float, who: str, action: str, study: str | None = None, **detail: Any) -> None:
    """Within a transaction, and late in it: what is done and that it was done are on disk together."""
    who, text = who[:64], json.dumps(detail)
    connection.execute(insert(audit), {"at": at, "who": who, "action": action, "study_id": study, "detail": text})
    if study is not None:
        link_note(connection, study, (at, who, action, json.loads(text)))


def forget_in_audit(connection: Connection, study: str, person: str) -> None:
    """Somebody is erased: what was done about them stays known, their pseudonym does not."""
    query = select(audit.c.id, audit.c.detail).where(audit.c.study_id == study, audit.c.detail.contains(person))
    for row in connection.execute(query).all():
        detail = json.loads(row.detail)
        kept = {name: "erased" if value == person else value for name, value in detail.items()}
        connection.execute(update(audit).where(audit.c.id == row.id).values(detail=json.dumps(kept)))


def write_note(store: Store, at: float, who: str, action: str, study: str | None = None, **detail: Any) -> None:
    with writing(store.engine) as connection:
        note(connection, at, who, action, study, **detail)


def read_audit(store: Store, study: str) -> list[AuditEntry]:
    """In the order in which things were done; what concerns no study in particular is in every study's."""
    with reading(store.engine) as connection:
        return audit_of(connection, study)


def audit_of(connection: Connection, study: str) -> list[AuditEntry]:
    query = select(audit).where(or_(audit.c.study_id == study, audit.c.study_id.is_(None))).order_by(audit.c.id)
    return [
        AuditEntry(row.at, row.who, row.action, row.study_id, json.loads(row.detail))
        for row in connection.execute(query)
    ]


_DAY = 24 * 3600.0
"""Seconds after which a bucket that nobody used is forgotten."""
_APART = 60.0
"""Seconds by which clocks of servers may differ: what is more is a clock that was set back."""


def take_token(store: Store, key: str, burst: float, rate: float, now: float) -> bool:
    """Whether one more is allowed now; takes a token if so. `key` must tell nobody whose bucket it is."""
    try:
        return _take(store, key, burst, rate, now)
    except IntegrityError:  # another process has just made the same bucket
        return _take(store, key, burst, rate, now)


def give_token(store: Store, key: str) -> None:
    """Give back the one that was taken last; those taken before stay taken."""
    with writing(store.engine) as connection:
        connection.execute(update(buckets).where(buckets.c.key == key).values(tokens=buckets.c.tokens + 1))


def _take(store: Store, key: str, burst: float, rate: float, now: float) -> bool:
    with writing(store.engine) as connection:
        take_turn(connection, f"bucket {key}")
        row = connection.execute(select(buckets.c.tokens, buckets.c.at).where(buckets.c.key == key)).first()
        tokens = burst if row is None else min(burst, row.tokens + max(0.0, now - row.at) * rate)
        allowed = tokens >= 1
        at = now if row is None or row.at - now > _APART else max(now, row.at)
        left = {"tokens": tokens - 1 if allowed else tokens, "at": at}
        if row is None:
            connection.execute(insert(buckets), {"key": key, **left})
            connection.execute(delete(buckets).where(buckets.c.at < now - _DAY))
        else:
            connection.execute(update(buckets).where(buckets.c.key == key).values(**left))
    return allowed
