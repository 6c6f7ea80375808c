"""Looking after a SQLite store: is it sound, a copy while it is in use, and its free space given back.

Through SQLite's own means (integrity check, online backup, VACUUM); a database server has its own tools for these."""

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from eqlab.core.errors import StoreError, UsageError
from eqlab.core.plural import many
from eqlab.core.values import dataclass
from eqlab.store.access import connect_frozen, may_write
from eqlab.store.location import GARBLED, damaged, is_damage, sqlite_path

_PAGES = 4096
"""Pages copied at a time, so that a run can write in between."""


@dataclass(frozen=True, slots=True)
class Condition:
    runs: int
    planned: int
    answers: int
    size: int
    """Bytes of the file."""
    unused: int
    """Bytes in it that hold nothing."""
    problems: tuple[str, ...]


def check(where: str) -> Condition:
    """Every page and index read, every reference looked up."""
    path = _file(where)
    with _open(path) as connection:
        problems = [row[0] for row in connection.execute("PRAGMA integrity_check(20)") if row[0] != "ok"]
        lost = connection.execute("PRAGMA foreign_key_check").fetchall()
        problems += [f"{many(len(lost), 'row refers', 'rows refer')} to something that is not there"] if lost else []
        runs, planned, answers = (
            connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
            for table in ("runs", "planned", "answers")
        )
        page = connection.execute("PRAGMA page_size").fetchone()[0]
        unused = connection.execute("PRAGMA freelist_count").fetchone()[0]
    return Condition(runs, planned, answers, path.stat().st_size, page * unused, tuple(problems))


def back_up(where: str, target: Path, said: Callable[[int, int], None] = lambda *_: None) -> int:
    """A sound copy, even while a run writes; returns its size. `said` hears (pages done, pages in all)."""
    path = _file(where)
    if target.exists():
        raise UsageError(f"{target} is there already.", "Name a file that is not; nothing is overwritten.")
    partial = target.with_name(f"{target.name}.partial")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        partial.unlink(missing_ok=True)
        os.close(os.open(partial, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        with _open(path) as source, closing(sqlite3.connect(partial)) as copy:
            source.backup(copy, pages=_PAGES, progress=lambda _, left, total: said(total - left, total), sleep=0.01)
            copy.execute("PRAGMA journal_mode=DELETE")  # one file, nothing beside it
        partial.rename(target)  # what has the right name is whole
    except (OSError, sqlite3.Error) as error:
        partial.unlink(missing_ok=True)
        raise StoreError(f"The copy {target} cannot be written: {error}.", "Name another file.") from error
    return target.stat().st_size


def compact(where: str) -> tuple[int, int]:
    """Give back free space; returns the file's size before and after. No answer is touched."""
    path = _file(where)
    before = path.stat().st_size
    with _open(path) as connection:
        connection.execute("VACUUM")
        connection.execute("ANALYZE")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return before, path.stat().st_size


def _file(where: str) -> Path:
    path = sqlite_path(where)
    if path is None:
        raise UsageError(
            "This store is a database server.", "Use its own tools: pg_dump for a copy, VACUUM, pg_amcheck."
        )
    if not path.is_file():
        raise UsageError(f"There is no store {path}.", "Name one with --store.")
    return path


@contextmanager
def _open(path: Path) -> Iterator[sqlite3.Connection]:
    with closing(_connect(path)) as connection:
        try:
            yield connection
        except UnicodeDecodeError as error:
            raise damaged(str(path), GARBLED) from error
        except sqlite3.Error as error:
            if is_damage(str(error)):
                raise damaged(str(path), str(error)) from error
            raise StoreError(f"The store {path}: {error}.", "If another program holds it, end that first.") from error


def _connect(path: Path) -> sqlite3.Connection:
    if may_write(path):
        return sqlite3.connect(path, timeout=30, isolation_level=None)
    return connect_frozen(path)[0]
