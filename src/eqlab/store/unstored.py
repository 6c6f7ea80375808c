"""Answers that a failing store could not take: kept in a file until it can, and then taken in exactly once.

They are paid for, so they go to the first folder that takes them: beside the store, the user's data folder, the
temporary folder (a full disk is often only one of these). JSON lines, readable by their owner only."""

import fcntl
import json
import os
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import TextIO

from eqlab.core.answers import Answer
from eqlab.core.folders import data_folder
from eqlab.store.place import sqlite_path, store_key


def _folders(where: str) -> list[Path]:
    path = sqlite_path(where)
    beside = [path.parent] if path is not None else []
    return [*beside, data_folder(), Path(tempfile.gettempdir())]


def waiting(where: str) -> list[Path]:
    """Files with answers for this store, our own ones only."""
    pattern = f"eqlab-unstored-{store_key(where)}-*.jsonl"
    found = {path.resolve(): None for folder in _folders(where) for path in sorted(folder.glob(pattern))}
    return [path for path in found if path.stat().st_uid == os.getuid()]


class Unstored:
    """What one session could not store; a file is made with the first answer."""

    def __init__(self, where: str) -> None:
        self._where = where
        self._file: TextIO | None = None
        self.paths: list[Path] = []
        self.kept = 0
        self.lost = 0
        """Answers that no folder took."""

    def keep(self, answers: Sequence[Answer]) -> None:
        """Durable when this returns, or counted as lost. A part that was written before a failure does no harm:
        an answer that lies in two files is taken in once."""
        lines = "".join(json.dumps(asdict(answer)) + "\n" for answer in answers)
        if self._append(lines) or any(self._open(folder) and self._append(lines) for folder in _folders(self._where)):
            self.kept += len(answers)
        else:
            self.lost += len(answers)

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    def _append(self, lines: str) -> bool:
        if self._file is None:
            return False
        try:
            self._file.write(lines)
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError:
            file, self._file = self._file, None
            with suppress(OSError):  # closing tries to write once more
                file.close()
            return False
        return True

    def _open(self, folder: Path) -> bool:
        path = folder / f"eqlab-unstored-{store_key(self._where)}-{os.getpid()}-{time.time_ns()}.jsonl"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            number = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_APPEND, 0o600)
        except OSError:
            return False
        self._file = os.fdopen(number, "w", encoding="utf-8")
        fcntl.flock(self._file, fcntl.LOCK_EX)  # a file that is being written is not taken in
        self.paths.append(path)
        return True


@contextmanager
def held(path: Path) -> Iterator[list[Answer] | None]:
    """The answers in a file, while nobody else reads or writes it; None if somebody does. A line that a crash cut
    off is left out."""
    with path.open(encoding="utf-8") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield None
            return
        yield [answer for line in file if (answer := _read(line)) is not None]


def _read(line: str) -> Answer | None:
    try:
        return Answer(**json.loads(line))
    except (ValueError, TypeError):
        return None
