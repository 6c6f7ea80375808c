"""Batches in the store. One is written down before it is sent, and its answers are taken in together with its end: so a
process may die at any moment, and the next one knows what is where."""

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import astuple, replace
from typing import Any, Literal

from eqlab.core.answers import Answer
from eqlab.core.values import dataclass
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


_BATCH = ("id", "run_id", "subject", "provider", "state", "remote", "made_at", "fit", "items")
_ITEM = ("number", "benchmark", "trial_id", "repeat", "attempt", "failed", "more_room")
"""The columns, in the order of the fields above."""


class Batches:
    """What one subject of one run has with a provider."""

    def __init__(self, store: Store, run: str, subject: str) -> None:
        self._store, self._run, self._subject = store, run, subject

    def make(self, name: str, provider: str, fit: Mapping[str, Any], items: Sequence[BatchItem]) -> StoredBatch:
        """Write a batch down under our own name for it; durable when this returns."""
        batch = StoredBatch(name, self._run, self._subject, provider, "made", "", time.time(), fit, len(items))
        with self._store.database.writing() as transaction:
            row = (name, self._run, self._subject, provider, "made", "", batch.made_at, json.dumps(fit), len(items), "")
            transaction.insert("batches", (*_BATCH, "note"), [row])
            transaction.insert("batch_items", ("batch_id", *_ITEM), [(name, *astuple(item)) for item in items])
        return batch

    def sent(self, batch: StoredBatch, remote: str) -> None:
        with self._store.database.writing() as transaction:
            command = "UPDATE batches SET state = 'sent', remote = :remote WHERE id = :batch"
            transaction.run(command, batch=batch.id, remote=remote)

    def void(self, batch: StoredBatch, note: str) -> None:
        with self._store.database.writing() as transaction:
            command = "UPDATE batches SET state = 'void', note = :note WHERE id = :batch"
            transaction.run(command, batch=batch.id, note=note)

    def take_in(self, batch: StoredBatch, answers: Sequence[Answer]) -> list[Answer]:
        """Store what came of a batch, and that it is over, in one step. Returns the answers that were new: a batch that
        is taken in twice changes nothing."""
        with self._store.database.writing() as transaction:
            new = write_absent(transaction, answers)
            transaction.run("UPDATE batches SET state = 'taken' WHERE id = :batch", batch=batch.id)
        return new

    def under_way(self) -> list[StoredBatch]:
        """Batches that are not over, the oldest first."""
        query = (
            f"SELECT {', '.join(_BATCH)} FROM batches "
            "WHERE run_id = :run AND subject = :subject AND state IN ('made', 'sent') ORDER BY made_at"
        )
        rows = self._store.rows(query, {"run": self._run, "subject": self._subject})
        fit = _BATCH.index("fit")
        return [replace(StoredBatch(*row), fit=json.loads(row[fit])) for row in rows]

    def newest_fit(self) -> Mapping[str, Any] | None:
        """How the model was last asked; None before its first batch."""
        query = "SELECT fit FROM batches WHERE run_id = :run AND subject = :subject ORDER BY made_at DESC LIMIT 1"
        found = list(self._store.rows(query, {"run": self._run, "subject": self._subject}))
        return json.loads(found[0][0]) if found else None

    def known_remotes(self) -> set[str]:
        """The provider's names of all batches in this store, whosesoever."""
        return {remote for (remote,) in self._store.rows("SELECT remote FROM batches WHERE remote <> ''", {})}

    def items(self, batch: StoredBatch) -> list[BatchItem]:
        query = f"SELECT {', '.join(_ITEM)} FROM batch_items WHERE batch_id = :batch ORDER BY number"
        return [BatchItem(*row) for row in self._store.rows(query, {"batch": batch.id})]
