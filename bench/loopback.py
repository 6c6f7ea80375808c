"""What the measurements share: the loopback server in a process of its own, and commands measured from outside."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

SERVER = Path(__file__).with_name("server.py")


@contextmanager
def serving(latency: float) -> Iterator[str]:
    """The address of a chat server that answers after `latency` seconds."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    server = subprocess.Popen([sys.executable, SERVER, "--port", str(port), "--latency", str(latency)])
    try:
        _wait_for(port)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        server.terminate()
        server.wait()


def _wait_for(port: int) -> None:
    for _ in range(200):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise SystemExit("the loopback server did not start")


@dataclass(frozen=True, slots=True)
class Measured:
    wall: float
    cpu: float
    memory: float
    """MB at the highest."""
    code: int


def eqlab(*arguments: str, folder: Path) -> Measured:
    """One `eqlab` command in a process of its own, measured by the operating system."""
    script = "from eqlab.cli.main import main; main()"
    return measured([sys.executable, "-c", script, *arguments], folder)


def measured(command: Sequence[str], folder: Path) -> Measured:
    environment = os.environ | {"EQLAB_HOME": str(folder)}
    started = time.perf_counter()
    with (folder / "output.txt").open("w") as output:
        worker = subprocess.Popen(command, stdout=output, stderr=output, cwd=folder, env=environment)
        _, status, usage = os.wait4(worker.pid, 0)
    worker.returncode = os.waitstatus_to_exitcode(status)
    wall = time.perf_counter() - started
    unit = 2**20 if sys.platform == "darwin" else 2**10
    return Measured(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / unit, worker.returncode)
