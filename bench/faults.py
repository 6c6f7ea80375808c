"""What a bad day looks like: every fault against `eqlab run`; what the user sees, what is lost, what is scored wrong.

Each case runs the command line in a process of its own against a misbehaving loopback server (or with a broken store or
clock), then once more with everything healed. Nothing may be missing, asked twice without need, or read wrongly.

    python bench/faults.py [NAME …]
"""

import os
import resource
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from fault_server import (
    Fault,
    FaultServer,
    drip,
    html,
    huge,
    nan_usage,
    no_choices,
    none,
    refusal,
    refusing,
    reset_in_body,
    revoked,
    saying,
    serving,
    silence,
    stream_twice,
    truncated,
)
from server import answer_to

from eqlab import api
from eqlab.benchmarks.registry import load

TRIALS = 12


@dataclass(frozen=True, slots=True)
class Case:
    name: str
    fault: Fault = none
    prelude: str = ""
    """Python that runs in eqlab's process first: limits, clocks."""
    around: Callable[[Path, FaultServer], Iterator[None]] | None = None
    """What happens in the world while it runs."""
    trials: int = TRIALS


@dataclass(frozen=True, slots=True)
class Session:
    code: int
    said: str


@dataclass(frozen=True, slots=True)
class Seen:
    """What came of a case."""

    first: Session
    second: Session
    ok: int
    planned: int
    counts: dict[str, int]
    wrong: int
    """Answers whose stored values are not what the server sent."""
    sent: int
    """Good answers that the server sent in full; more than were stored would be paid for nothing."""
    stored: int


def play(case: Case, folder: Path) -> Seen:
    """The command, then the command again after healing."""
    with serving(case.fault) as server:
        with _world(case, folder, server):
            first = _session(case, folder, server.url, case.prelude)
        server.fault = none if case.fault is not refusal else refusal
        second = _session(case, folder, server.url, "")
        store = api.open_store(str(folder / "s.db"))
        stored = store.find_run("last")
        (result,) = api.results(store, stored)
        benchmark, asked = load("eqbench"), stored.config.benchmarks[0]
        scored = list(store.scored(stored.id, "model:m", "eqbench"))
        store.close()
    wrong = kept = 0
    for one in scored:
        expected = benchmark.read(one.trial, answer_to(one.trial.prompt), asked.options).values
        kept += sum(answer.answered for answer in one.attempts)
        wrong += sum(answer.status == "ok" and answer.values != expected for answer in one.attempts)
    counts = {name: count for name, count in result.counts.items() if count}
    return Seen(first, second, result.counts["ok"], case.trials, counts, wrong, server.good, kept)


@contextmanager
def _world(case: Case, folder: Path, server: FaultServer) -> Iterator[None]:
    if case.around is None:
        yield
    else:
        yield from case.around(folder, server)


def _session(case: Case, folder: Path, url: str, prelude: str) -> Session:
    arguments = ["run", "m", "-b", "eqbench", "--base-url", url, "--profile", "full", "--limit", str(case.trials)]
    arguments += ["--max-concurrency", "4", "--timeout", "1", "--store", str(folder / "s.db")]
    code = f"{prelude}\nfrom eqlab.cli.main import main\nmain()"
    environment = os.environ | {"EQLAB_HOME": str(folder / "home"), "EQLAB_API_KEY": "sk-bench-secret"}
    environment["COLUMNS"] = "400"  # nobody reads it in a terminal
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, cwd=folder, env=environment
    )
    return Session(done.returncode, _last_words(done.stderr))


def _last_words(stderr: str) -> str:
    """What a user reads besides progress."""
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    telling = [line for line in lines if "stopped:" in line or line.startswith("eqlab:") or "Traceback" in line]
    return telling[0] if telling else ""


# -- the world around the run ------------------------------------------------------------------------------------


def locked(folder: Path, server: FaultServer) -> Iterator[None]:
    """Another program holds the store's write lock for three seconds in the middle."""
    over = threading.Event()

    def hold() -> None:
        while server.good < 4 and not over.wait(0.01):
            pass
        connection = sqlite3.connect(folder / "s.db", timeout=30, isolation_level=None)
        connection.execute("BEGIN EXCLUSIVE")
        over.wait(3)
        connection.execute("ROLLBACK")
        connection.close()

    thread = threading.Thread(target=hold)
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

CASES = (
    Case("time-out", silence),
    Case("connection reset in the middle of a reply", reset_in_body),
    Case("429 with Retry-After: 1", refusing(429, {"Retry-After": "1"}, 4)),
    Case("429 without Retry-After", refusing(429, {}, 4)),
    Case("storm of 500s", refusing(500, {}, 20)),
    Case("truncated JSON", saying(truncated)),
    Case("no choices in the reply", saying(no_choices)),
    Case("an HTML page instead of JSON", saying(html)),
    Case("many prompts refused", refusal),
    Case("replies of 10 MB", huge(10_000_000), trials=3),
    Case("replies of 20 MB", huge(20_000_000), trials=3),
    Case("slow drip, byte by byte", drip),
    Case("a stream nobody asked for, events twice", saying(stream_twice)),
    Case("NaN and Infinity as token counts", nan_usage),
    Case("key revoked after 6 answers", revoked(6)),
    Case("disk full in the middle", none, file_limit(430_000), trials=60),
    Case("wall clock jumps by days and years", refusing(429, {"Retry-After": "1"}, 2), CLOCK),
    Case("store locked for 3 s by another program", none, around=locked),
)


def main() -> None:
    wanted = sys.argv[1:]
    print("| fault | first session | stored ok | after the same command again | scored wrong | lost |")
    print("|---|---|---|---|---|---|")
    for case in CASES:
        if wanted and not any(name in case.name for name in wanted):
            continue
        started = time.perf_counter()
        with tempfile.TemporaryDirectory() as folder:
            seen = play(case, Path(folder))
            said = seen.first.said.replace(folder, "…").replace("|", "/")
        counts = ", ".join(f"{count} {name}" for name, count in seen.counts.items() if name != "planned")
        lost = max(0, seen.sent - seen.stored)
        print(
            f"| {case.name} | exit {seen.first.code}{': ' + said if said else ''} | {seen.ok} of {seen.planned} | "
            f"exit {seen.second.code}; {counts} | {seen.wrong} | {lost} |",
            flush=True,
        )
        print(f"  ({time.perf_counter() - started:.1f} s)", file=sys.stderr)


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    main()
