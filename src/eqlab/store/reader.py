"""What is read of a store for looking at it: runs, progress, trials with their answers.

Plain SQL with named parameters, which sqlite3 and SQLAlchemy both take: `eqlab show` must not wait for SQLAlchemy."""

import json
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import lru_cache
from itertools import groupby
from typing import Any

from eqlab.core.answers import Answer
from eqlab.core.benchmark import Scored
from eqlab.core.errors import StoreError, UsageError
from eqlab.core.runs import PEOPLE, RunConfig, config_from_json
from eqlab.core.secrets import without_secrets
from eqlab.core.trials import Trial, from_json

_COLUMNS = {"run": "run_id", "trial": "trial_id", "values": '"values"'}
_FIELDS = [field.name for field in fields(Answer)]
_ANSWER = ", ".join(f"a.{_COLUMNS.get(name, name)}" for name in _FIELDS)
_OF_PLANNED = (
    "a.run_id = p.run_id AND a.subject = p.subject AND a.trial_id = p.trial_id AND a.repeat = p.repeat"  # the key
)
_PROGRESS = """
    SELECT p.subject, count(*), (
        SELECT count(*) FROM (
            SELECT DISTINCT a.trial_id, a.repeat FROM answers a
            WHERE a.run_id = :run AND a.subject = p.subject AND a.status <> 'error'
        ) replied
    ) FROM planned p WHERE p.run_id = :run GROUP BY p.subject ORDER BY p.subject
"""


@dataclass(frozen=True, slots=True)
class StoredRun:
    config: RunConfig
    created_at: float
    provenance: Mapping[str, Any]
    """Of the newest session."""

    @property
    def id(self) -> str:
        return self.config.id


class Reader(ABC):
    """Reading that needs no more than rows for a query."""

    where: str

    @property
    def shown(self) -> str:
        """Where the store is, without a password."""
        return without_secrets(self.where)

    @abstractmethod
    def rows(self, query: str, values: Mapping[str, Any]) -> Iterator[Sequence[Any]]:
        """The rows of a query with `:name` parameters, fetched as they are asked for."""

    @abstractmethod
    def close(self) -> None: ...

    def run_ids(self) -> list[str]:
        """Newest first."""
        return [row[0] for row in self.rows("SELECT id FROM runs ORDER BY created_at DESC, id", {})]

    def find_run(self, name: str) -> StoredRun:
        """The run with this id, the one id that begins with it, or the newest for `last`."""
        ids = self.run_ids()
        if not ids:
            raise UsageError(f"The store {self.shown} holds no run yet.", "Start one with 'eqlab run'.")
        found = ids[:1] if name == "last" else [run for run in ids if run.startswith(name)]
        if len(found) != 1:
            what = "no run" if not found else f"{len(found)} runs"
            raise UsageError(f"'{name}' names {what} in {self.shown}.", "'eqlab runs' lists them.")
        return self.read_run(found[0])

    def read_run(self, run: str) -> StoredRun:
        ((created_at, config),) = self.rows("SELECT created_at, config FROM runs WHERE id = :run", {"run": run})
        newest = "SELECT provenance FROM sessions WHERE run_id = :run ORDER BY id DESC LIMIT 1"
        provenance = [row[0] for row in self.rows(newest, {"run": run})]
        try:
            return StoredRun(config_from_json(config), created_at, json.loads(provenance[0]) if provenance else {})
        except (TypeError, KeyError, ValueError) as error:
            raise StoreError(f"Run {run} in {self.shown} cannot be read: {error}.", "Upgrade eqlab.") from error

    def progress(self, run: str) -> dict[str, tuple[int, int]]:
        """(trials with a good answer or at least one that was answered, trials planned) by subject."""
        return {row[0]: (int(row[2]), int(row[1])) for row in self.rows(_PROGRESS, {"run": run})}

    def planned_count(self, run: str, subjects: Collection[str]) -> int:
        """Trials planned for these subjects; `people` stands for every person."""
        query = "SELECT subject, count(*) FROM planned WHERE run_id = :run GROUP BY subject"
        people = PEOPLE in subjects
        rows = self.rows(query, {"run": run})
        return sum(int(row[1]) for row in rows if row[0] in subjects or (people and row[0].startswith("person:")))

    def scored(
        self, run: str, subject: str, benchmark: str, *, items: Sequence[str] = (), status: str = ""
    ) -> Iterator[Scored]:
        """Every planned trial with all its attempts, in the order of asking; of all persons for `people`.

        `items` and `status` narrow down what is read, not exactly: the caller still looks at each."""
        where, values = _asked(run, subject, benchmark)
        if items:
            patterns = {f"item{number}": f"%{_like(item)}%" for number, item in enumerate(items)}
            like = " OR ".join(f"body LIKE :{name} ESCAPE '!'" for name in patterns)
            where += f" AND p.trial_id IN (SELECT id FROM trials WHERE {like})"
            values |= patterns
        if status == "unanswered":
            where += f" AND NOT EXISTS (SELECT 1 FROM answers a WHERE {_OF_PLANNED})"
        elif status:
            where += f" AND EXISTS (SELECT 1 FROM answers a WHERE {_OF_PLANNED} AND a.status = :status)"
            values["status"] = status
        query = (
            f"SELECT p.subject, p.position, p.repeat, p.trial_id, t.body, {_ANSWER} FROM planned p "
            f"JOIN trials t ON t.id = p.trial_id LEFT JOIN answers a ON {_OF_PLANNED} "
            f"WHERE {where} ORDER BY p.subject, p.position, a.attempt"
        )
        for (_, _, repeat, trial, body), group in groupby(self.rows(query, values), key=lambda row: tuple(row[:5])):
            attempts = tuple(read_answer(row[5:]) for row in group if row[5] is not None)
            yield Scored(read_trial(trial, body), repeat, attempts)


def _asked(run: str, subject: str, benchmark: str) -> tuple[str, dict[str, Any]]:
    values = {"run": run, "subject": "person:%" if subject == PEOPLE else subject, "benchmark": benchmark}
    compared = "LIKE" if subject == PEOPLE else "="
    return f"p.run_id = :run AND p.subject {compared} :subject AND p.benchmark = :benchmark", values


def _like(item: str) -> str:
    """An item's id as it stands in a trial's JSON, for LIKE."""
    text = json.dumps(item, ensure_ascii=False)
    return text.replace("!", "!!").replace("%", "!%").replace("_", "!_")


@lru_cache(maxsize=4096)
def read_trial(trial_id: str, body: str) -> Trial:
    """Repeats and models bring the same trials again, in the same order: a benchmark's trials must all fit in."""
    return from_json(body, trial_id)


def read_answer(row: Sequence[Any]) -> Answer:
    named = dict(zip(_FIELDS, row, strict=True))
    named["values"] = json.loads(named["values"])
    return Answer(**named)
