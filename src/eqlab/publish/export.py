"""A run's answers as one flat table: Parquet, CSV or JSONL."""

import json
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from eqlab.benchmarks.registry import load
from eqlab.core.errors import UsageError
from eqlab.data.files import whole_file
from eqlab.store.reader import Reader, StoredRun
from eqlab.tables.data import safe_csv

_SCHEMA = {
    "run": str, "subject": str, "benchmark": str, "items": str, "condition": str, "mode": str, "trial": str,
    "repeat": int, "attempt": int, "status": str, "score": float, "values": str, "reference": str, "text": str,
    "reasoning": str, "note": str, "model": str, "temperature": float, "latency": float, "transport_retries": int,
    "tokens_in": int, "tokens_out": int, "finish": str, "at": float, "order_seed": int, "prompt": str, "system": str,
}  # fmt: skip

_ASK = 65536
"""Bytes with which a disk is asked once more what is the matter."""
_PART = 10_000
"""Rows that are Python objects at a time."""


def write_answers(store: Reader, stored: StoredRun, path: Path) -> int:
    """One row per attempt, and one for each unanswered trial; returns how many."""
    import polars as pl

    if path.suffix not in (".parquet", ".csv", ".jsonl"):
        raise UsageError(f"'{path.name}' has no known ending.", "Use .parquet, .csv or .jsonl.")
    rows = _rows(store, stored)
    parts = (pl.DataFrame(part, schema=_SCHEMA) for part in iter(lambda: list(islice(rows, _PART)), []))
    count = 0
    with whole_file(path) as file:
        if path.suffix == ".parquet":
            frame = pl.concat([pl.DataFrame(schema=_SCHEMA), *parts], rechunk=False)
            try:
                frame.write_parquet(file)
            except pl.exceptions.ComputeError as error:  # whatever the disk said is lost in it
                file.write(bytes(_ASK))
                file.flush()
                raise OSError(str(error)) from error
            return frame.height
        if path.suffix == ".csv":
            file.write(safe_csv(pl.DataFrame(schema=_SCHEMA)))
        for part in parts:  # text needs no more memory than a part
            if path.suffix == ".csv":
                file.write(safe_csv(part, header=False))
            else:
                file.write(part.write_ndjson().encode())  # polars 1.30 to 1.40 is silent about a full disk
            count += part.height
    return count


def _rows(store: Reader, stored: StoredRun) -> Iterator[dict[str, Any]]:
    for subject, config in stored.config.pairs():
        name, benchmark = config.name, load(config.name)
        for scored in store.scored(stored.id, subject, name):
            trial = scored.trial
            base = {
                "run": stored.id,
                "subject": subject,
                "benchmark": name,
                "items": " ".join(trial.items),
                "condition": trial.condition,
                "mode": trial.mode,
                "trial": trial.id,
                "repeat": scored.repeat,
                "order_seed": trial.order_seed,
                "prompt": trial.prompt,
                "system": trial.system,
                "reference": json.dumps(trial.key.get("reference"), ensure_ascii=False),
            }
            if not scored.attempts:
                yield {**dict.fromkeys(_SCHEMA), **base, "status": "unanswered"}
            line = benchmark.item(scored, config.options)
            for answer in scored.attempts:
                yield {
                    **base,
                    "subject": answer.subject,
                    "attempt": answer.attempt,
                    "status": answer.status,
                    "score": line.score if answer.text == line.text else None,
                    "values": json.dumps(dict(answer.values), ensure_ascii=False),
                    **{
                        column: getattr(answer, column)
                        for column in (
                            "text", "reasoning", "note", "model", "temperature", "latency", "transport_retries",
                            "tokens_in", "tokens_out", "finish", "at",
                        )
                    },
                }  # fmt: skip
