"""What a bad day looks like: every fault against `eqlab run`; what the user sees, what is lost, what is scored wrong.

Each case runs the command line in a process of its own against a misbehaving loopback server (or with a broken store or
clock), then once more with everything healed. Nothing may be missing, asked twice without need, or read wrongly.

    python bench/faults.py [--keep FOLDER] [NAME …]

`--keep` leaves each case's store in a folder, to look at."""

import argparse
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import hostile_server as hostile
from fault_server import (
    Fault,
    another_model,
    cut,
    drip,
    empty,
    failed_within,
    fails_on_schema,
    filtered,
    html,
    huge,
    nan_usage,
    no_choices,
    none,
    outage,
    rate,
    refusal,
    refusing,
    reset_in_body,
    revoked,
    saying,
    serving,
    silence,
    slowly,
    stream_twice,
    text_plain,
    truncated,
)
from fault_world import (
    CLOCK,
    World,
    file_limit,
    killed,
    locked,
    overwritten,
    planned_beside,
    restarted,
    store_of,
    stored_now,
    told_to_end,
)
from server import answer_to

import eqlab as api
from eqlab.benchmarks.registry import load

TRIALS = 12


@dataclass(frozen=True, slots=True)
class Case:
    name: str
    fault: Fault = none
    prelude: str = ""
    """Python that runs in eqlab's process first: limits, clocks."""
    around: Callable[[World], Iterator[None]] | None = None
    """What happens in the world while it runs."""
    database: bool = False
    """Whether the store is a PostgreSQL of its own."""
    trials: int = TRIALS
    timeout: int = 1
    at_once: int = 4
    flags: tuple[str, ...] = ()
    then: tuple[str, ...] | None = None
    """The flags of the command given again; None: the same."""
    stays: bool = False
    """Whether the server goes on like this when the command is given again."""


@dataclass(frozen=True, slots=True)
class Session:
    code: int
    said: str


@dataclass(frozen=True, slots=True)
class Seen:
    """What came of a case."""

    first: Session
    second: Session
    stored_first: str
    """What was in the store after the first session."""
    planned: int
    counts: dict[str, int]
    wrong: int
    """Answers whose stored values are not what the server sent."""
    sent: int
    """Good answers that the server sent in full; more than were stored would be paid for nothing."""
    stored: int
    requests: int


def play(case: Case, folder: Path) -> Seen:
    """The command, then the command again after healing."""
    with serving(case.fault) as server, store_of(folder, case.database) as (where, restart):
        running: list[subprocess.Popen[str]] = []
        with _around(case, World(server, where, restart, lambda number: running[0].send_signal(number))):
            first = _session(case, folder, server.url, where, case.prelude, case.flags, running)
        stored_first = stored_now(where)
        server.fault = case.fault if case.stays else none
        flags = case.flags if case.then is None else case.then
        second = _session(case, folder, server.url, where, "", flags, [])
        store = api.open_store(where)
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
    return Seen(
        first, second, stored_first, result.counts["planned"], counts, wrong, server.good, kept, server.requests
    )


@contextmanager
def _around(case: Case, world: World) -> Iterator[None]:
    if case.around is None:
        yield
    else:
        yield from case.around(world)


def _session(
    case: Case,
    folder: Path,
    url: str,
    where: str,
    prelude: str,
    flags: tuple[str, ...],
    running: list[subprocess.Popen[str]],
) -> Session:
    arguments = ["run", "m", "-b", "eqbench", "--base-url", url, "--profile", "full", "--limit", str(case.trials)]
    arguments += ["--max-concurrency", str(case.at_once), "--timeout", str(case.timeout), "--store", where]
    arguments += flags
    code = f"{prelude}\nfrom eqlab.cli.main import main\nmain()"
    environment = os.environ | {"EQLAB_HOME": str(folder / "home"), "EQLAB_API_KEY": "sk-bench-secret"}
    environment["COLUMNS"] = "400"  # nobody reads it in a terminal
    command = [sys.executable, "-c", code, *arguments]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=folder, env=environment, stdout=pipe, stderr=pipe, text=True) as process:
        running.append(process)
        out, err = process.communicate()
    return Session(process.returncode, _last_words(err) or _caveat(out))


def _caveat(stdout: str) -> str:
    """What a table warns of: another model than the one asked for."""
    return next((line.strip() for line in stdout.splitlines() if "was replaced" in line), "")


def _last_words(stderr: str) -> str:
    """What a user reads besides progress."""
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    telling = [line for line in lines if "stopped:" in line or line.startswith("eqlab:") or "Traceback" in line]
    return telling[0] if telling else ""


CASES = (
    Case("time-out", silence),
    Case("connection reset in the middle of a reply", reset_in_body),
    Case("429 with Retry-After: 1", refusing(429, {"Retry-After": "1"}, 4)),
    Case("429 without Retry-After", refusing(429, {}, 4)),
    Case("storm of 500s", refusing(500, {}, 20)),
    Case("truncated JSON", saying(truncated)),
    Case("no choices in the reply", saying(no_choices)),
    Case("an HTML page instead of JSON", saying(html)),
    Case("good JSON, called text/plain", saying(text_plain)),
    Case("many prompts refused", refusal, stays=True),
    Case("a last 10 cut to 1 by the token limit", saying(cut)),
    Case("`finish_reason: error` after some words", saying(failed_within)),
    Case("a filter takes every third reply", filtered, stays=True),
    Case("another model answers from the middle on", another_model),
    Case("20 requests in 5 s allowed, no Retry-After, 16 at once", rate(20, 5.0), trials=40, at_once=16),
    Case("a reset header of 1e400 seconds", hostile.always(hostile.DISGUISED["absurd limits"])),
    Case("a gateway without a server for 8 s", outage(4, 8.0)),
    Case("nothing but empty replies", empty),
    Case("500 to every schema", fails_on_schema, flags=("--structured",), then=()),
    Case("all of hostile_server.py, 64 at once", hostile.mixed(), trials=60, timeout=20, at_once=64),
    Case("a circle of redirects", hostile.always(hostile.CIRCLES["a circle of redirects"])),
    Case("SIGTERM in the middle", slowly, around=told_to_end, trials=60),
    Case(
        "kill -9 in the middle, 64 at once",
        slowly,
        around=killed,
        trials=60,
        at_once=64,
        timeout=20,
        flags=("--repeats", "3"),
    ),
    Case("60,000 trials planned beside it", slowly, around=planned_beside, trials=24),
    Case("a store that is none", none, around=overwritten),
    Case("replies of 10 MB", huge(10_000_000), trials=3, timeout=60),
    Case("replies of 20 MB", huge(20_000_000), trials=3, timeout=60),
    Case("slow drip, byte by byte", drip),
    Case("a stream nobody asked for, events twice", saying(stream_twice)),
    Case("NaN and Infinity as token counts", nan_usage),
    Case("key revoked after 6 answers", revoked(6)),
    Case("disk full in the middle", none, file_limit(700_000), trials=60),
    Case("wall clock jumps by days and years", refusing(429, {"Retry-After": "1"}, 2), CLOCK),
    Case("store locked for 3 s by another program", none, around=locked),
    Case("PostgreSQL restarted in the middle", slowly, around=restarted, database=True, trials=60),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="a part of a case's name")
    parser.add_argument("--keep", type=Path, help="a folder for the stores")
    wanted = parser.parse_args()
    print("| fault | what the user sees | stored then | the same command again | requests | scored wrong | lost |")
    print("|---|---|---|---|---|---|---|")
    for case in CASES:
        if wanted.names and not any(name in case.name for name in wanted.names):
            continue
        started = time.perf_counter()
        with tempfile.TemporaryDirectory() as scratch:
            folder = (wanted.keep / re.sub(r"\W+", "-", case.name)) if wanted.keep else Path(scratch)
            folder.mkdir(parents=True, exist_ok=True)
            seen = play(case, folder)
            said = seen.first.said.replace(str(folder), "…").replace("|", "/")
        counts = ", ".join(f"{count} {name}" for name, count in seen.counts.items() if name != "planned")
        lost = max(0, seen.sent - seen.stored)
        saw = f"exit {seen.first.code}{': ' + said if said else ''}"
        print(
            f"| {case.name} | {saw} | {seen.stored_first} of {seen.planned} | "
            f"exit {seen.second.code}; {counts} | {seen.requests} | {seen.wrong} | {lost} |",
            flush=True,
        )
        print(f"  ({time.perf_counter() - started:.1f} s)", file=sys.stderr)


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    main()
