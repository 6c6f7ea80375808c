"""Batches in the store. One is written down before it is sent, and its answers are taken in together with its end: so a
process may die at any moment, and the next one knows what is where."""

import json
import time
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from sqlalchemy import insert, select, update

from eqlab.core.answers import Answer
from eqlab.core.values import dataclass
from eqlab.store.engine import reading, writing
from eqlab.store.schema import batch_items, batches
from eqlab.store.store import Store, write_absent

State = Literal["made", "sent", "taken", "void"]
"""`made`: written down, perhaps sent; `void`: the provider does not have it, or refused it whole."""


@dataclass(frozen=True, slots=True)
class BatchItem:
    """One attempt at a trial."""

    number: int
    benchmark: str
    trial: str
    repeat: int
    attempt: int
    failed: int
    """Attempts before it that could not be read."""
    more_tokens: int


@dataclass(frozen=True, slots=True)
class StoredBatch:
    id: str
    run: str
    subject: str
    provider: str
    state: State
    remote: str
    """The provider's name for it; empty while that is not known."""
    made_at: float
    fit: Mapping[str, Any]
    """How the model was asked."""
    items: int


class Batches:
    """What one subject of one run has with a provider."""

    def __init__(self, store: Store, run: str, subject: str) -> None:
        self._store, self._run, self._subject = store, run, subject

    def make(self, name: str, provider: str, fit: Mapping[str, Any], items: Sequence[BatchItem]) -> StoredBatch:
        """Write a batch down under our own name for it; durable when this returns."""
        batch = StoredBatch(name, self._run, self._subject, provider, "made", "", time.time(), fit, len(items))
        row = {
            "id": batch.id,
            "run_id": batch.run,
            "subject": batch.subject,
            "provider": provider,
            "state": batch.state,
            "remote": "",
            "made_at": batch.made_at,
            "fit": json.dumps(fit),
            "items": batch.items,
            "note": "",
        }
        with writing(self._store.engine) as connection:
            connection.execute(insert(batches), row)
            connection.execute(insert(batch_items), [_item_row(batch.id, item) for item in items])
        return batch

    def sent(self, batch: StoredBatch, remote: str) -> None:
        self._move(batch, "sent", remote=remote)

    def void(self, batch: StoredBatch, note: str) -> None:
        self._move(batch, "void", note=note)

    def _move(self, batch: StoredBatch, state: State, **more: str) -> None:
        with writing(self._store.engine) as connection:
            connection.execute(update(batches).where(batches.c.id == batch.id).values(state=state, **more))

    def take_in(self, batch: StoredBatch, answers: Sequence[Answer]) -> list[Answer]:
        """Store what came of a batch, and that it is over, in one step. Returns the answers that were new: a batch that
        is taken in twice changes nothing."""
        with writing(self._store.engine) as connection:
            new = write_absent(connection, answers)
            connection.execute(update(batches).where(batches.c.id == batch.id).values(state="taken"))
        return new

    def under_way(self) -> list[StoredBatch]:
        """Batches that are not over, the oldest first."""
        query = select(batches).where(
            batches.c.run_id == self._run, batches.c.subject == self._subject, batches.c.state.in_(("made", "sent"))
        )
        with reading(self._store.engine) as connection:
            return [_batch(row) for row in connection.execute(query.order_by(batches.c.made_at))]

    def newest_fit(self) -> Mapping[str, Any] | None:
        """How the model was last asked; None before its first batch."""
        query = select(batches.c.fit).where(batches.c.run_id == self._run, batches.c.subject == self._subject)
        with reading(self._store.engine) as connection:
            found = connection.execute(query.order_by(batches.c.made_at.desc()).limit(1)).scalar()
        return None if found is None else json.loads(found)

    def known_remotes(self) -> set[str]:
        """The provider's names of all batches in this store, whosesoever."""
        with reading(self._store.engine) as connection:
            return set(connection.execute(select(batches.c.remote).where(batches.c.remote != "")).scalars())

    def items(self, batch: StoredBatch) -> list[BatchItem]:
        query = select(batch_items).where(batch_items.c.batch_id == batch.id).order_by(batch_items.c.number)
        with reading(self._store.engine) as connection:
            rows = connection.execute(query).all()
        return [
            BatchItem(row.number, row.benchmark, row.trial_id, row.repeat, row.attempt, row.failed, row.more_room)
            for row in rows
        ]


def _item_row(batch: str, item: BatchItem) -> dict[str, Any]:
    return {
        "batch_id": batch,
        "number": item.number,
        "benchmark": item.benchmark,
        "trial_id": item.trial,
        "repeat": item.repeat,
        "attempt": item.attempt,
        "failed": item.failed,
        "more_room": item.more_tokens,
    }


def _batch(row: Any) -> StoredBatch:
    return StoredBatch(
        row.id,
        row.run_id,
        row.subject,
        row.provider,
        row.state,
        row.remote,
        row.made_at,
        json.loads(row.fit),
        row.items,
    )
