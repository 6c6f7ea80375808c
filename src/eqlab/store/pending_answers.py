"""Answers that a failing store could not take: kept in a file until it can, and then taken in exactly once.

They are paid for, so room for them is set aside before the first question: a full disk takes them all the same.
Files lie in folders that nobody else may enter; what is read and deleted is the file that was opened, never what a name
leads to by then."""

import fcntl
import json
import os
import stat
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from msgspec import structs

from eqlab.core.answers import Answer
from eqlab.core.environment import data_folder
from eqlab.store.location import sqlite_path, store_key

RESERVE = 4 * 2**20
"""Bytes set aside: more than the answers that are under way at once come to. On a disk that copies when it writes
(btrfs, ZFS) room that was set aside is no promise."""
_NUL = b"\0"
_TRIES = 3


def _folders(where: str) -> list[Path]:
    """Where answers are kept, the first that can be written first: beside the store, in the user's data folder."""
    path = sqlite_path(where)
    beside = [path.parent / f".{path.name}.unstored"] if path is not None else []
    return [*beside, data_folder() / "unstored"]


def _places_of_old(where: str) -> list[Path]:
    """Where 0.1 kept them. The shared temporary folder was one too, and is never looked into again."""
    path = sqlite_path(where)
    return [path.parent, data_folder()] if path is not None else [data_folder()]


def waiting(where: str) -> list[Path]:
    """Files with answers for this store: regular files of ours, no links."""
    pattern = f"eqlab-unstored-{store_key(where)}-*.jsonl"
    folders = [folder for folder in _folders(where) if _private(folder)]
    found = [path for folder in (*folders, *_places_of_old(where)) for path in sorted(folder.glob(pattern))]
    return [path for path in dict.fromkeys(found) if _holds_something(path)]


def _private(folder: Path) -> bool:
    """Whether a folder is ours, and nobody else can put anything there."""
    try:
        found = folder.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid() and not found.st_mode & 0o077


def _open_own(path: Path, flags: int) -> int | None:
    """A file of ours by its number; None for anything else: a link, another's file, a pipe."""
    try:
        number = os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    found = os.fstat(number)
    if stat.S_ISREG(found.st_mode) and found.st_uid == os.geteuid() and found.st_nlink == 1:
        return number
    os.close(number)
    return None


def _holds_something(path: Path) -> bool:
    number = _open_own(path, os.O_RDONLY)
    if number is None:
        return False
    try:
        return os.pread(number, 1, 0) not in (b"", _NUL)
    finally:
        os.close(number)


class PendingAnswers:
    """What one session could not store. `reserve` sets room aside; without it a file is made with the first answer."""

    def __init__(self, where: str) -> None:
        self._where = where
        self._number: int | None = None
        self._end = 0
        self.paths: list[Path] = []
        self.kept = 0
        self.lost = 0
        """Answers that no folder took."""

    def reserve(self) -> None:
        """Set room aside. A disk that has none left even now is no reason to stop: it may have some later."""
        if any(self._open(folder) for folder in _folders(self._where)) and self._number is not None:
            with suppress(OSError):
                _set_aside(self._number, RESERVE)

    def keep(self, answers: Sequence[Answer]) -> None:
        """Durable when this returns, or counted as lost. A part that was written before a failure does no harm:
        an answer that lies in two files is taken in once."""
        lines = "".join(json.dumps(structs.asdict(answer)) + "\n" for answer in answers).encode()
        if self._append(lines) or any(self._open(folder) and self._append(lines) for folder in _folders(self._where)):
            self.kept += len(answers)
        else:
            self.lost += len(answers)

    def close(self) -> None:
        """Let go of the file; one that holds nothing goes."""
        if self._number is None:
            return
        if self._end == 0:
            _remove(self.paths.pop(), self._number)
        os.close(self._number)
        self._number = None

    def _append(self, lines: bytes) -> bool:
        if self._number is None:
            return False
        try:
            written = 0
            while written < len(lines):
                written += os.pwrite(self._number, lines[written:], self._end + written)
            os.fsync(self._number)
        except OSError:
            number, self._number = self._number, None
            os.close(number)
            return False
        self._end += len(lines)
        return True

    def _open(self, folder: Path) -> bool:
        """Make a file and hold it. Somebody who tidies up at this very moment may take it away before it is held:
        another one is made then."""
        return any(self._make(folder) for _ in range(_TRIES))

    def _make(self, folder: Path) -> bool:
        path = folder / f"eqlab-unstored-{store_key(self._where)}-{os.getpid()}-{time.time_ns()}.jsonl"
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            if not _private(folder):
                return False
            number = os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        except OSError:
            return False
        fcntl.flock(number, fcntl.LOCK_EX)  # a file that is being written is not taken in
        if not _still_named(path, number):
            os.close(number)
            return False
        self._number, self._end = number, 0
        self.paths.append(path)
        return True


def _set_aside(number: int, size: int) -> None:
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(number, 0, size)
    else:  # macOS
        os.pwrite(number, _NUL * size, 0)
        os.fsync(number)


def _remove(path: Path, number: int) -> None:
    """Delete the file that was opened, and nothing that has taken its name since."""
    if _still_named(path, number):
        with suppress(OSError):
            path.unlink()


def _still_named(path: Path, number: int) -> bool:
    """Whether the name still leads to the file that was opened."""
    opened = os.fstat(number)
    try:
        named = path.lstat()
    except OSError:
        return False
    return (named.st_dev, named.st_ino) == (opened.st_dev, opened.st_ino)


@contextmanager
def held(path: Path) -> Iterator[tuple[list[Answer], Callable[[], None]] | None]:
    """The answers in a file and how to delete it, while nobody else reads or writes it; None if somebody does, or if it
    is not ours. A line that a crash cut off is left out."""
    number = _open_own(path, os.O_RDWR)
    if number is None:
        yield None
        return
    try:
        try:
            fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield None
            return
        yield _answers(number), lambda: _remove(path, number)
    finally:
        os.close(number)


def remove_empty(where: str) -> None:
    """Room that a killed session had set aside, and nobody uses any more."""
    pattern = f"eqlab-unstored-{store_key(where)}-*.jsonl"
    for folder in _folders(where):
        if not _private(folder):
            continue
        for path in folder.glob(pattern):
            if not _holds_something(path):
                with held(path) as found:
                    if found is not None:
                        found[1]()
        with suppress(OSError):
            folder.rmdir()  # only when nothing is left in it


def _answers(number: int) -> list[Answer]:
    with os.fdopen(os.dup(number), "rb") as file:
        file.seek(0)
        return [answer for line in file if (answer := _read(line)) is not None]


def _read(line: bytes | str) -> Answer | None:
    try:
        return Answer(**json.loads(line))
    except (ValueError, TypeError):
        return None
