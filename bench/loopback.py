"""What the measurements share: servers on loopback in processes of their own, and commands measured from outside."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from _support import SUPPORT

CHAT = SUPPORT / "server.py"


@contextmanager
def serving(latency: float, port: int = 0, *, streams: bool = False) -> Iterator[str]:
    """The address of a chat server that answers after `latency` seconds; on a port of its own, or on this one.
    `streams`: word by word to whoever asks for that."""
    server = Process(CHAT, "--latency", str(latency), *(["--streams"] if streams else []), port=port)
    try:
        yield f"{server.url}/v1"
    finally:
        server.stop()


class Process:
    """A server script in a process of its own, on a port of its own; it answers when this is made."""

    def __init__(self, script: Path, *arguments: str, port: int = 0) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", port))
            self._port = int(probe.getsockname()[1])
        self.url = f"http://127.0.0.1:{self._port}"
        self._command = [sys.executable, str(script), "--port", str(self._port), *arguments]
        self.cpu = 0.0
        """Seconds that it took in all, once it has ended."""
        self.start()

    def start(self) -> None:
        self._process = subprocess.Popen(self._command, stderr=subprocess.DEVNULL)
        for _ in range(600):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self._port)) == 0:
                    return
            time.sleep(0.05)
        raise SystemExit(f"{self._command[1]} did not start.")

    def spent(self) -> float:
        """Seconds of CPU so far, with those of its own processes; 0 where the system has no /proc."""
        own = self._process.pid
        try:
            children = Path(f"/proc/{own}/task/{own}/children").read_text().split()
            stats = [Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split() for pid in (own, *children)]
        except OSError:
            return 0.0
        return sum(int(ticks) for stat in stats for ticks in stat[11:13]) / os.sysconf("SC_CLK_TCK")

    def kill(self) -> None:
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        self._end(signal.SIGTERM)

    def _end(self, how: signal.Signals) -> None:
        self._process.send_signal(how)
        _, status, usage = os.wait4(self._process.pid, 0)
        self._process.returncode = os.waitstatus_to_exitcode(status)
        self.cpu += usage.ru_utime + usage.ru_stime


@dataclass(frozen=True, slots=True)
class Measured:
    wall: float
    cpu: float
    memory: float
    """MB at the highest."""
    code: int


def eqlab(*arguments: str, folder: Path) -> Measured:
    """One `eqlab` command in a process of its own, measured by the operating system."""
    script = "from eqlab.__main__ import run; run()"  # what the installed command does
    return measured([sys.executable, "-c", script, *arguments], folder)


def measured(command: Sequence[str], folder: Path) -> Measured:
    # Containers often forbid bytecode; no user's installation compiles every file anew at each start.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment["EQLAB_HOME"] = str(folder)
    started = time.perf_counter()
    with (folder / "output.txt").open("w") as output:
        worker = subprocess.Popen(command, stdout=output, stderr=output, cwd=folder, env=environment)
        _, status, usage = os.wait4(worker.pid, 0)
    worker.returncode = os.waitstatus_to_exitcode(status)
    wall = time.perf_counter() - started
    unit = 2**20 if sys.platform == "darwin" else 2**10
    return Measured(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / unit, worker.returncode)
