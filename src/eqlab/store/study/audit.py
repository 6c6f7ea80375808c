"""What researchers did with a study: looked at results, exported, erased, released, paused. Rows are only added."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, insert, or_, select

from eqlab.store.engine import reading, writing
from eqlab.store.schema import audit
from eqlab.store.store import Store

LOOKS = frozenset({"analysed", "exported", "published"})
"""Actions after which somebody knows results."""


@dataclass(frozen=True, slots=True)
class Done:
    at: float
    who: str
    action: str
    study: str | None
    detail: Mapping[str, Any]


def note(connection: Connection, at: float, who: str, action: str, study: str | None = None, **detail: Any) -> None:
    """Within a transaction: what is done and that it was done are on disk together."""
    row = {"at": at, "who": who[:64], "action": action, "study_id": study, "detail": json.dumps(detail)}
    connection.execute(insert(audit), row)


def write_note(store: Store, at: float, who: str, action: str, study: str | None = None, **detail: Any) -> None:
    with writing(store.engine) as connection:
        note(connection, at, who, action, study, **detail)


def read_audit(store: Store, study: str) -> list[Done]:
    """In the order in which things were done; what concerns no study in particular is in every study's."""
    with reading(store.engine) as connection:
        return audit_of(connection, study)


def audit_of(connection: Connection, study: str) -> list[Done]:
    query = select(audit).where(or_(audit.c.study_id == study, audit.c.study_id.is_(None))).order_by(audit.c.id)
    return [
        Done(row.at, row.who, row.action, row.study_id, json.loads(row.detail)) for row in connection.execute(query)
    ]
