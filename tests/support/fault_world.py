"""What can break around a run besides the server: the store's lock, the database, the disk, the clock."""

import os
import signal
import sqlite3
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from fault_server import FaultServer
from sqlalchemy import create_engine, inspect, text
from sqlalchemy.engine import URL, make_url


@dataclass(frozen=True, slots=True)
class World:
    server: FaultServer
    store: str
    folder: Path
    restart: Callable[[float], None]
    """Stop the database, and start it after so many seconds."""
    signal: Callable[[int], None] = lambda _: None
    """Send the command a signal."""
    beside: Callable[[], object] = lambda: None
    """Give a command like it at the same time: another run in the same store."""


@contextmanager
def disk_of(folder: Path, megabytes: int) -> Iterator[None]:
    """A small file system in a folder's place; needs root."""
    if not megabytes:
        yield
        return
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", str(folder)], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


@contextmanager
def store_of(folder: Path, database: bool, name: str = "s.db") -> Iterator[tuple[str, Callable[[float], None]]]:
    """Where answers go, and how to restart what they go to."""
    if not database:
        yield str(folder / name), lambda _: None
        return
    from postgres import own_postgres

    with own_postgres(durable=True) as running:

        def restart(seconds: float) -> None:
            running.stop()
            time.sleep(seconds)
            running.start()

        yield running.uri, restart


def stored_now(where: str) -> str:
    """Trials by what became of them so far, counted in the tables themselves, not by the code under test."""
    url = make_url(where.replace("postgresql://", "postgresql+psycopg://")) if "://" in where else None
    last = "attempt = (SELECT max(attempt) FROM answers b WHERE b.trial_id = a.trial_id AND b.run_id = a.run_id)"
    engine = create_engine(url or URL.create("sqlite", database=where))
    if not inspect(engine).has_table("answers"):
        return "nothing"
    with engine.connect() as connection:
        rows = connection.execute(
            text(f"SELECT status, count(*) FROM answers a WHERE {last} GROUP BY status ORDER BY 1")
        )
        found = ", ".join(f"{count} {status}" for status, count in rows)
    engine.dispose()
    return found or "nothing"


def locked(world: World) -> Iterator[None]:
    """Another program holds the store's write lock for three seconds in the middle."""

    def hold(over: threading.Event) -> None:
        connection = sqlite3.connect(world.store, timeout=30, isolation_level=None)
        connection.execute("BEGIN EXCLUSIVE")
        over.wait(3)
        connection.execute("ROLLBACK")
        connection.close()

    yield from in_the_middle(world, hold)


def restarted(world: World) -> Iterator[None]:
    """The database is stopped in the middle and is back two seconds later."""
    yield from in_the_middle(world, lambda _: world.restart(2.0))


def killed(world: World) -> Iterator[None]:
    """`kill -9` in the middle."""
    yield from in_the_middle(world, lambda _: world.signal(signal.SIGKILL), after=100)


def told_to_end(world: World) -> Iterator[None]:
    """SIGTERM, as Slurm and Kubernetes send it."""
    yield from in_the_middle(world, lambda _: world.signal(signal.SIGTERM), after=20)


def told_to_end_soon(world: World) -> Iterator[None]:
    """SIGTERM while everything waits."""

    def soon(over: threading.Event) -> None:
        over.wait(3)
        world.signal(signal.SIGTERM)

    yield from in_the_middle(world, soon)


def asleep(world: World) -> Iterator[None]:
    """The machine sleeps in the middle, and wakes up."""

    def sleep(over: threading.Event) -> None:
        world.signal(signal.SIGSTOP)
        over.wait(6)
        world.signal(signal.SIGCONT)

    yield from in_the_middle(world, sleep)


def away(seconds: float) -> Callable[[World], Iterator[None]]:
    """Nobody listens at the address for a while."""

    def around(world: World) -> Iterator[None]:
        yield from in_the_middle(world, lambda over: world.server.away(over, seconds))

    return around


def two_at_once(world: World) -> Iterator[None]:
    """Another run of the same model begins meanwhile, in the same store."""
    yield from in_the_middle(world, lambda _: world.beside())


def filled(world: World) -> Iterator[None]:
    """Something else fills the disk in the middle; then it goes."""
    filler = world.folder / "filler"

    def fill(_: threading.Event) -> None:
        with filler.open("wb", buffering=0) as file, suppress(OSError):
            while True:
                file.write(bytes(4096))

    yield from in_the_middle(world, fill)
    filler.unlink()


def links_of_a_stranger(world: World) -> Iterator[None]:
    """Links under the names that answers without a store have: to a file of ours, and to nothing."""
    from eqlab.store.location import store_key

    precious = world.folder / "precious.jsonl"
    precious.write_text("mine\n")
    beside = world.folder / f".{Path(world.store).name}.unstored"
    beside.mkdir(mode=0o700)
    shared = world.folder / "tmp"
    shared.mkdir(mode=0o777)
    os.environ["TMPDIR"] = str(shared)
    for folder in (beside, shared, world.folder):
        name = f"eqlab-unstored-{store_key(world.store)}"
        (folder / f"{name}-1-1.jsonl").symlink_to(precious)
        (folder / f"{name}-2-2.jsonl").symlink_to(world.folder / "nothing")
    yield
    del os.environ["TMPDIR"]


def planned_beside(world: World) -> Iterator[None]:
    """Another program writes down a plan of 60,000 trials in the same store."""
    import eqlab as api
    from eqlab.core.forms import Form
    from eqlab.core.trials import Trial

    def plan(_: threading.Event) -> None:
        request = api.Request(("other",), ("eqbench",), base_url="http://127.0.0.1:9/v1", limit=1)
        config = api.prepare(request).config
        store = api.open_store(world.store)
        trials = (Trial("eqbench", (str(n),), "", f"s{n}", Form(()), f"p{n}") for n in range(60_000))
        store.begin_run(config, (("model:other", "eqbench", one, 0) for one in trials), {})
        store.close()
        with sqlite3.connect(world.store) as connection:  # so that the run is the last one again
            connection.execute("DELETE FROM planned WHERE run_id = ?", (config.id,))
            connection.execute("DELETE FROM sessions WHERE run_id = ?", (config.id,))
        connection.close()

    yield from in_the_middle(world, plan)


def overwritten(world: World) -> Iterator[None]:
    """Something else is in the store's place; then it is taken away."""
    path = Path(world.store)
    path.write_bytes(b"not what it was " * 4096)
    yield
    path.unlink()


def in_the_middle(world: World, happen: Callable[[threading.Event], object], after: int = 4) -> Iterator[None]:
    """As soon as so many answers were sent; `happen` gets what is set when the run is over."""
    over = threading.Event()

    def watch() -> None:
        while world.server.good < after and not over.wait(0.01):
            pass
        happen(over)

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def file_limit(size: int) -> str:
    """No file may grow beyond this: SQLite sees what a full disk looks like, and small files still find room."""
    return f"import resource\nresource.setrlimit(resource.RLIMIT_FSIZE, ({size}, {size}))"


CLOCK = """
import itertools, time
_real, _jumps = time.time, itertools.cycle([0, 86400, -86400, 3.15e7, -3.15e7])
time.time = lambda: _real() + next(_jumps)
"""
