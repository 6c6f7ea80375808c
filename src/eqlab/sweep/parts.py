"""Answers as Parquet parts in a folder that workers and driver share: a disk, or an object store by its fsspec URL.

A part appears whole or not at all. The driver stores what is in it and is not stored yet, and deletes it after the
commit; killed in between, it stores nothing the second time. So every answer is merged exactly once."""

import io
import json
import os
import queue
import threading
import time
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from msgspec import structs

from eqlab.core.answers import Answer
from eqlab.core.errors import StoreError, UsageError
from eqlab.store.store import Store, add_absent

LINGER = 1.0
"""Seconds of answers in a part: what a lost worker can lose besides the requests under way."""
MOST = 1000
"""Answers in a part, at most."""
_COLUMNS = Answer.__struct_fields__
_MAPPINGS = ("values", "sent", "usage")
_NUMBERS = {"repeat": int, "attempt": int, "transport_retries": int, "tokens_in": int, "tokens_out": int} | {
    "temperature": float,
    "latency": float,
    "at": float,
}


class Parts:
    def __init__(self, url: str) -> None:
        try:
            import fsspec
        except ModuleNotFoundError as error:
            raise UsageError("Parts need an extra.", "pip install 'eqlab[ray]'") from error
        if urlsplit(url).password:
            raise UsageError("--parts holds a password.", "Give the workers their credentials in their environment.")
        try:
            self._files, self._root = fsspec.core.url_to_fs(url)
        except (ValueError, ImportError) as error:
            raise UsageError(f"--parts '{url}' cannot be used: {error}.", "Give a path or an fsspec URL.") from error
        self._local = "file" in self._files.protocol

    def write(self, run: str, name: str, answers: Sequence[Answer]) -> None:
        """Durable when this returns."""
        folder = f"{self._root}/{run}"
        content = to_parquet(answers)
        try:
            if self._local:
                _write_privately(Path(self._root), f"{run}/{name}.parquet", content)
            else:
                self._files.makedirs(folder, exist_ok=True)
                self._files.pipe_file(f"{folder}/{name}.parquet", content)
        except OSError as error:
            raise StoreError(f"No part can be written to {folder}: {error}.", "Fix --parts.") from error

    def merge(self, run: str, store: Store) -> int:
        """Move what has arrived for a run into the store; returns how many answers were new."""
        added = 0
        folder = f"{self._root}/{run}"
        self._files.invalidate_cache()
        try:
            names = sorted(self._files.glob(f"{folder}/*.parquet"))
            for name in names:
                added += add_absent(store, [one for one in from_parquet(self._files.cat_file(name)) if one.run == run])
                self._files.rm_file(name)
        except OSError as error:
            raise StoreError(f"The parts in {folder} cannot be read: {error}.", "Fix --parts and go on.") from error
        return added


class PartsWriter:
    """Put answers in; a thread writes a part whenever a second has gone by, or many have come."""

    def __init__(self, parts: Parts, run: str, shard: str) -> None:
        self._parts, self._run, self._shard = parts, run, shard
        self._queue: queue.SimpleQueue[Answer | None] = queue.SimpleQueue()
        self._failure: StoreError | None = None
        self._thread = threading.Thread(target=self._work, name="eqlab-parts", daemon=True)
        self._thread.start()

    def put(self, answer: Answer) -> None:
        """Raises if parts can no longer be written, so that nothing more is asked in vain."""
        if self._failure is not None:
            raise self._failure
        self._queue.put(answer)

    def close(self) -> None:
        self._queue.put(None)
        self._thread.join()
        if self._failure is not None:
            raise self._failure

    def _work(self) -> None:
        number, open_ = 0, True
        while open_:
            first = self._queue.get()
            batch: list[Answer] = [] if first is None else [first]
            open_ = first is not None
            until = time.monotonic() + LINGER
            while open_ and len(batch) < MOST and (left := until - time.monotonic()) > 0:
                try:
                    one = self._queue.get(timeout=left)
                except queue.Empty:
                    break
                if one is None:
                    open_ = False
                else:
                    batch.append(one)
            if batch:
                try:
                    self._parts.write(self._run, f"{self._shard}-{number:05}", batch)
                except StoreError as error:
                    self._failure = error
                    return
                number += 1


def _write_privately(root: Path, name: str, content: bytes) -> None:
    """For its owner alone, as stores are, and under its name only when it is whole and on the disk: a disk shows a file
    while it is being written, which an object store does not."""
    file = root / name
    for folder in (root, file.parent):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    hidden = file.with_name(f".{file.name}.{uuid.uuid4().hex}")
    with open(os.open(hidden, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as part:
        part.write(content)
        part.flush()
        os.fsync(part.fileno())
    hidden.rename(file)


def to_parquet(answers: Sequence[Answer]) -> bytes:
    import polars as pl

    rows = [
        structs.asdict(answer)
        | {name: json.dumps(dict(getattr(answer, name)), ensure_ascii=False) for name in _MAPPINGS}
        for answer in answers
    ]
    for row in rows:
        for name, value in row.items():
            if isinstance(value, str):  # lone surrogates of broken models have no UTF-8
                row[name] = value.encode("utf-8", "replace").decode("utf-8")
    schema: dict[str, Any] = {name: _NUMBERS.get(name, str) for name in _COLUMNS}
    buffer = io.BytesIO()
    pl.DataFrame(rows, schema=schema).write_parquet(buffer)
    return buffer.getvalue()


def from_parquet(content: bytes) -> list[Answer]:
    import polars as pl

    try:
        rows = pl.read_parquet(io.BytesIO(content)).select(_COLUMNS).to_dicts()
    except pl.exceptions.PolarsError as error:
        raise StoreError(f"A part is not what eqlab writes: {error}.", "Remove foreign files from --parts.") from error
    return [Answer(**row | {name: json.loads(row[name]) for name in _MAPPINGS}) for row in rows]
