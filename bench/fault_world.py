"""What can break around a run besides the server: the store's lock, the database, the disk, the clock."""

import signal
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from fault_server import FaultServer
from sqlalchemy import create_engine, inspect, text


@dataclass(frozen=True, slots=True)
class World:
    server: FaultServer
    store: str
    restart: Callable[[float], None]
    """Stop the database, and start it after so many seconds."""
    signal: Callable[[int], None] = lambda _: None
    """Send the command a signal."""


@contextmanager
def store_of(folder: Path, database: bool) -> Iterator[tuple[str, Callable[[float], None]]]:
    """Where answers go, and how to restart what they go to."""
    if not database:
        yield str(folder / "s.db"), lambda _: None
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
    url = where.replace("postgresql://", "postgresql+psycopg://") if "://" in where else f"sqlite:///{where}"
    last = "attempt = (SELECT max(attempt) FROM answers b WHERE b.trial_id = a.trial_id AND b.run_id = a.run_id)"
    engine = create_engine(url)
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

    yield from _in_the_middle(world, hold)


def restarted(world: World) -> Iterator[None]:
    """The database is stopped in the middle and is back two seconds later."""
    yield from _in_the_middle(world, lambda _: world.restart(2.0))


def killed(world: World) -> Iterator[None]:
    """`kill -9` in the middle."""
    yield from _in_the_middle(world, lambda _: world.signal(signal.SIGKILL), after=100)


def told_to_end(world: World) -> Iterator[None]:
    """SIGTERM, as Slurm and Kubernetes send it."""
    yield from _in_the_middle(world, lambda _: world.signal(signal.SIGTERM), after=20)


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

    yield from _in_the_middle(world, plan)


def overwritten(world: World) -> Iterator[None]:
    """Something else is in the store's place; then it is taken away."""
    path = Path(world.store)
    path.write_bytes(b"not what it was " * 4096)
    yield
    path.unlink()


def _in_the_middle(world: World, happen: Callable[[threading.Event], None], after: int = 4) -> Iterator[None]:
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
