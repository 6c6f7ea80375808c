"""eqlab beside its peers: the same prompts, the same loopback server, one after the other in one run.

Each tool runs twice as a whole process, with all requests and with a few; the difference is what asking costs, without
imports and start-up. Then each is killed (kill -9) half a latency after half of the answers have arrived, and started
again.

    python bench/peers.py [--requests 2000] [--latency 1.0] [--in-flight 64] [--sequential 30] [--cache DIR]

The peers are installed from the package index into environments of their own (once, in the cache folder)."""

import argparse
import datetime
import json
import os
import platform
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from dataclasses import dataclass, replace
from pathlib import Path

from loopback import serving
from peer_tools import Job, Tool, environment, installed, write_prompts

FEW = 3
SEQUENTIAL = "sequential loop"


class ToolFailed(Exception):
    """A tool that did not do the job; the others are measured all the same."""


@dataclass(frozen=True, slots=True)
class Usage:
    wall: float
    cpu: float
    memory: float
    """MB, of the largest process."""


@dataclass(frozen=True, slots=True)
class Killed:
    answers: int
    """Answers that had arrived when the process was killed."""
    repeated: int
    lost: int
    """Of these, asked again; the other repeated requests were under way at the kill."""


def measure(tool: Tool, job: Job) -> Usage:
    started = time.perf_counter()
    process = _start(tool, job)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    wall = time.perf_counter() - started
    _check(job, process.returncode)
    scale = 2**20 if sys.platform == "darwin" else 2**10
    return Usage(wall, used.ru_utime + used.ru_stime, used.ru_maxrss / scale)


def kill_and_go_on(tool: Tool, job: Job, half: int, latency: float) -> Killed:
    """kill -9 half a latency after `half` answers have arrived, then the same command, or the tool's own way to go on.

    With a fixed latency answers come in bursts; the middle between two is a moment that favours nobody."""
    process = _start(tool, job)
    while _asked(job)["answered"] < half:
        if process.poll() is not None:
            raise ToolFailed(f"ended before it could be killed\n{_tail(job)}")
        time.sleep(0.02)
    time.sleep(latency / 2)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    answers = _asked(job)["answered"]
    time.sleep(latency + 0.5)  # what was under way reaches the server's end of the line, and nobody
    again = _start(tool, job, again=True)
    again.wait()
    found = _asked(job)
    _check(job, again.returncode)
    return Killed(answers, found["repeated"], found["lost"])


def _start(tool: Tool, job: Job, again: bool = False) -> "subprocess.Popen[bytes]":
    with _log(job).open("ab") as log:
        return subprocess.Popen(
            tool.command(job, again),
            stdout=log,
            stderr=log,
            cwd=job.folder,
            env=environment(job.folder),
            start_new_session=True,
        )


def _log(job: Job) -> Path:
    return job.folder / "output.txt"


def _tail(job: Job) -> str:
    return _log(job).read_text(errors="replace")[-1500:]


def _check(job: Job, code: int) -> None:
    answered = _asked(job)["answered"]
    if code or answered != job.requests:
        raise ToolFailed(f"code {code}, {answered} of {job.requests} answered\n{_tail(job)}")


def _asked(job: Job) -> dict[str, int]:
    with urllib.request.urlopen(job.url.replace("/v1", "/asked")) as response:
        found: dict[str, int] = json.load(response)
        return found


def _fresh(job: Job, name: str, requests: int) -> Job:
    """An empty folder with the prompts, and a server that has forgotten everything."""
    own = replace(job, folder=job.folder / name, requests=requests)
    shutil.rmtree(own.folder, ignore_errors=True)
    write_prompts(own)
    forget = urllib.request.Request(job.url.replace("/v1", "/forget"), method="POST")
    urllib.request.urlopen(forget).close()
    return own


def row(tool: Tool, job: Job, latency: float, sequential: int) -> list[str]:
    requests = min(job.requests, sequential) if tool.name == SEQUENTIAL else job.requests
    at_once = 1 if tool.name == SEQUENTIAL else job.in_flight
    few = measure(tool, _fresh(job, "few", FEW))
    full = measure(tool, _fresh(job, "all", requests))
    killed = kill_and_go_on(tool, _fresh(job, "killed", requests), requests // 2, latency)
    timeouts = -(-FEW // at_once) * latency
    asking = full.wall - (few.wall - timeouts)
    wall = f"{full.wall:.1f}"
    if requests != job.requests:
        asking *= job.requests / requests
        wall = f"{asking + few.wall - timeouts:.0f} (from {requests})"
    ideal = -(-job.requests // job.in_flight) * latency
    return [
        tool.name,
        tool.version,
        wall,
        f"{few.wall - timeouts:.1f}",
        f"{asking / ideal:.2f}",
        f"{1000 * (full.cpu - few.cpu) / (requests - FEW):.2f}",
        f"{full.memory:.0f}",
        f"{killed.repeated} of {requests}",
        f"{killed.lost} of {killed.answers}",
    ]


def cells_of(name: str, tool: Tool | str, job: Job, latency: float, sequential: int) -> list[str]:
    if isinstance(tool, str):
        return [name, f"absent: {tool}"]
    try:
        return row(tool, job, latency, sequential)
    except ToolFailed as failure:
        said, _, output = str(failure).partition("\n")
        print(f"{name} failed:\n{output}", file=sys.stderr)
        return [name, tool.version, f"failed: {said}"]


HEADINGS = (
    "tool",
    "version",
    "wall s",
    "start-up s",
    "asking ÷ ideal",
    "CPU ms per request",
    "memory MB",
    "after kill -9: requests repeated",
    "answers lost",
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requests", type=int, default=2000)
    parser.add_argument("--latency", type=float, default=1.0)
    parser.add_argument("--in-flight", type=int, default=64)
    parser.add_argument("--sequential", type=int, default=30, help="requests of the sequential loop, scaled up")
    parser.add_argument("--cache", type=Path, default=None, help="where the peers are installed")
    parser.add_argument("--only", nargs="+", default=[], help="only these tools, by the start of their names")
    arguments = parser.parse_args()
    from eqlab.core.environment import cache_folder

    tools = installed((arguments.cache or cache_folder() / "peers").resolve())
    with serving(arguments.latency) as url:
        print(
            f"{arguments.requests} requests, {arguments.latency:g} s latency, {arguments.in_flight} in flight; ", end=""
        )
        print(
            f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}, {datetime.date.today()}"
        )
        print("\n| " + " | ".join(HEADINGS) + " |\n|" + "---|" * len(HEADINGS), flush=True)
        with tempfile.TemporaryDirectory() as folder:
            job = Job(url, Path(folder), arguments.requests, arguments.in_flight)
            for name, tool in tools.items():
                if arguments.only and not name.casefold().startswith(tuple(o.casefold() for o in arguments.only)):
                    continue
                cells = cells_of(name, tool, job, arguments.latency, arguments.sequential)
                print("| " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
