"""What a bad day looks like: every fault against `eqlab run`; what the user sees, what is lost, what is scored wrong.

Each case runs the command line in a process of its own against a misbehaving loopback server (or with a broken store or
clock), then once more with everything healed. Nothing may be missing, asked twice without need, or read wrongly.

    python bench/faults.py [--long] [--keep FOLDER] [NAME …]

`--keep` leaves each case's store in a folder, to look at; `--long` adds what takes minutes. The cases are in
fault_cases.py; bench/fault_files.py does the same for files that are written and stores that are read."""

import argparse
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import _support  # noqa: F401
import hostile_wire
from fault_cases import CASES, KEY, Case
from fault_net import context_of
from fault_server import FaultServer, serving
from fault_world import World, disk_of, store_of, stored_now
from server import answer_to

import eqlab as api
from eqlab.benchmarks.registry import load


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
    """Answers whose stored values, and trials whose scored ones, are not what the server sent."""
    sent: int
    """Good answers that the server sent in full; more than were stored would be paid for nothing."""
    stored: int
    requests: int


def play(case: Case, folder: Path) -> Seen:
    """The command, then the command again after healing."""
    tls = context_of(folder) if case.tls else None
    served = hostile_wire.serving(case.wire) if case.wire else serving(case.fault, tls)
    with served as server, store_of(folder, case.database, case.store) as (where, restart):
        running: list[subprocess.Popen[str]] = []
        url = server.url.replace("127.0.0.1", case.name_of_host or "127.0.0.1")

        def beside() -> Session:
            return _session(case, folder, url, where, "", (*case.flags, "--seed", "7"), [])

        door = cast(FaultServer, server)  # no case below JSON closes it
        signalled = World(door, where, folder, restart, lambda number: running[0].send_signal(number), beside)
        with _around(case, signalled):
            first = _session(case, folder, url, where, case.prelude, case.flags, running)
        stored_first = stored_now(where)
        if not case.stays:
            server.heal()
        flags = case.flags if case.then is None else case.then
        second = _session(case, folder, url, where, case.prelude_then, flags, [])
        store = api.open_store(where)
        stored = store.find_run("last")
        (result,) = api.results(store, stored)
        benchmark, asked = load("eqbench"), stored.config.benchmarks[0]
        scored = [one for run in store.run_ids() for one in store.scored(run, "model:m", "eqbench")]
        store.close()
    wrong = kept = 0
    for one in scored:
        expected = benchmark.read(one.trial, answer_to(one.trial.prompt), asked.options).values
        kept += sum(answer.answered for answer in one.attempts)
        wrong += sum(answer.status == "ok" and answer.values != expected for answer in one.attempts)
        wrong += dict(benchmark.item(one, asked.options).values) not in ({}, dict(expected))
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
    environment = os.environ | {"EQLAB_HOME": str(folder / "home"), "EQLAB_API_KEY": KEY, **case.environment}
    if case.tls:
        environment["SSL_CERT_FILE"] = str(folder / "bundle.pem")
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
    telling += [line for line in lines if any(words in line for words in _SAID)]
    return telling[0] if telling else ""


_SAID = ("asks to wait", "Waiting for it", "nobody asked for", "trials got no answer")
"""What is said while a run waits or wonders."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="a part of a case's name")
    parser.add_argument("--keep", type=Path, help="a folder for the stores")
    parser.add_argument("--long", action="store_true", help="also what takes minutes")
    wanted = parser.parse_args()
    print("| fault | what the user sees | stored then | the same command again | requests | scored wrong | lost |")
    print("|---|---|---|---|---|---|---|")
    for case in CASES:
        if (wanted.names and not any(name in case.name for name in wanted.names)) or (case.long and not wanted.long):
            continue
        started = time.perf_counter()
        with tempfile.TemporaryDirectory() as scratch:
            folder = (wanted.keep / re.sub(r"\W+", "-", case.name)) if wanted.keep else Path(scratch)
            folder.mkdir(parents=True, exist_ok=True)
            with disk_of(folder, case.disk):
                seen = play(case, folder)
                also = [case.look(folder)] if case.look else []
            said = "; ".join(filter(None, [seen.first.said.replace(str(folder), "…").replace("|", "/"), *also]))
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
