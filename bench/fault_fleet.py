"""Bad days of more than one run: sweeps that are told to end, models that are refused beside others, large exports.

    python bench/fault_fleet.py [NAME …]

Each row runs the command line in processes of its own against a loopback server, and once more where it was ended."""

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

import _support  # noqa: F401
from aiohttp import web
from fault_net import NAME, down_while
from fault_server import Asked, serving, slowly
from fault_world import stored_now
from loopback import eqlab

EQLAB = [sys.executable, "-c", "from eqlab.cli.main import main; main()"]
RAY = ("--engine", "ray", "--workers", "2", "--parts", "parts")
SWEEP = """benchmarks = ["eqbench"]
limit = 30
seeds = [0, 1]
[endpoints.lab]
base_url = "{url}"
max_concurrency = 4
[[models]]
spec = "a"
endpoint = "lab"
[[models]]
spec = "b"
endpoint = "lab"
"""


def told_to_end(*engine: str) -> Callable[[Path], tuple[str, str]]:
    """SIGTERM after 20 of 120 answers, to everything that the command started, as schedulers do; then it goes on."""

    def row(folder: Path) -> tuple[str, str]:
        with serving(slowly) as server:
            (folder / "s.toml").write_text(SWEEP.format(url=server.url))
            where = str(folder / "s.db")
            command = [*EQLAB, "sweep", "s.toml", "--store", where, *engine]
            first = _started(command, folder)
            while server.good < 20 and first.poll() is None:
                time.sleep(0.02)
            if first.poll() is not None:
                raise SystemExit(f"ended before it was told to: {first.communicate()[1]}")
            began = time.monotonic()
            os.killpg(first.pid, signal.SIGTERM)
            _, err = first.communicate()
            took = time.monotonic() - began
            again = [line.strip() for line in err.splitlines() if "same command again" in line]
            kept, sent = stored_now(where), server.good
            second = _started(command, folder)
            _, err = second.communicate()
            saw = (
                f"exit {first.returncode} after {took:.1f} s: {(again or ['NOTHING SAID'])[-1]}; {kept} of {sent} sent"
            )
            return saw, f"exit {second.returncode}; {stored_now(where)} of 120, {server.requests} requests"

    return row


def no_names(seconds: float) -> Callable[[Path], tuple[str, str]]:
    """Workers without a name service for a while, after 20 of 120 answers: shards end meanwhile, and others begin."""

    def row(folder: Path) -> tuple[str, str]:
        with serving(slowly) as server:
            (folder / "s.toml").write_text(SWEEP.format(url=server.url.replace("127.0.0.1", NAME)))
            down = folder / "down"
            (folder / "site").mkdir()
            (folder / "site" / "sitecustomize.py").write_text(down_while(down))
            where = str(folder / "s.db")
            command = [*EQLAB, "sweep", "s.toml", "--store", where, *RAY, "--shard", "5"]
            path = os.pathsep.join([str(folder / "site"), os.environ.get("PYTHONPATH", "")])
            running = _started(command, folder, PYTHONPATH=path)
            while server.good < 20 and running.poll() is None:
                time.sleep(0.02)
            down.touch()
            time.sleep(seconds)
            while_away = server.good
            down.unlink()
            _, err = running.communicate()
            lines = [line.strip() for line in err.splitlines() if "cannot be looked up" in line or "--patience" in line]
            saw = (
                f"exit {running.returncode}; {while_away} answered before it was back; {(lines or ['no failure'])[-1]}"
            )
            return saw, f"{stored_now(where)} of 120, {server.requests} requests"

    return row


def _started(command: list[str], folder: Path, **more: str) -> subprocess.Popen[str]:
    environment = os.environ | {"EQLAB_HOME": str(folder / "home"), "COLUMNS": "300"} | more
    pipe = subprocess.PIPE
    return subprocess.Popen(
        command, cwd=folder, env=environment, stdout=pipe, stderr=pipe, text=True, start_new_session=True
    )


def one_refused(folder: Path) -> tuple[str, str]:
    """Three models at one address, one of them refused with 429 for 10 s."""
    last: dict[str, float] = defaultdict(float)
    refused_until = 0.0

    async def fault(asked: Asked) -> web.StreamResponse | None:
        nonlocal refused_until
        now = time.monotonic()
        refused_until = refused_until or now + 10
        if asked.body["model"] == "refused" and now < refused_until:
            return web.json_response({"error": {"message": "slow down"}}, status=429)
        await slowly(asked)
        last[asked.body["model"]] = time.monotonic() - refused_until + 10
        return None

    with serving(fault) as server:
        command = [*EQLAB, "run", "a", "refused", "b", "-b", "eqbench", "--base-url", server.url, "--limit", "40"]
        done = _started([*command, "--max-concurrency", "8", "--store", str(folder / "s.db")], folder)
        done.communicate()
        others = ", ".join(f"{name} {last[name]:.1f} s" for name in ("a", "b"))
        saw = f"exit {done.returncode}; last replies after: {others}; refused {last['refused']:.1f} s"
        return saw, f"{stored_now(str(folder / 's.db'))} of 120, {server.requests} requests"


def large_csv(folder: Path) -> tuple[str, str]:
    """The highest memory of a CSV export, beside the store's size, for few answers and for eight times as many."""
    found = []
    for wanted in (20_000, 160_000):
        path = folder / f"{wanted}.db"
        build = [sys.executable, str(Path(__file__).with_name("large.py")), "--build", str(path), str(wanted)]
        answers = int(subprocess.run(build, check=True, capture_output=True, text=True).stdout)
        was = eqlab("export", "-o", str(folder / "x.csv"), "--store", str(path), folder=folder)
        found.append(
            f"{answers:,} answers, store of {path.stat().st_size / 2**20:.0f} MB: "
            f"{was.memory:.0f} MB at the highest, {was.wall:.1f} s, exit {was.code}"
        )
    return found[0], found[1]


ROWS: dict[str, Callable[[Path], tuple[str, str]]] = {
    "SIGTERM in a sweep": told_to_end(),
    "SIGTERM in a sweep over Ray, workers included": told_to_end(*RAY),
    "a sweep over Ray whose workers look up no name for 8 s": no_names(8.0),
    "a sweep over Ray whose workers look up no name for 40 s": no_names(40.0),
    "429 on one of three models at one address": one_refused,
    "CSV export": large_csv,
}


def main() -> None:
    print("| fault | what is seen | afterwards |")
    print("|---|---|---|")
    for name, row in ROWS.items():
        if sys.argv[1:] and not any(one in name for one in sys.argv[1:]):
            continue
        with tempfile.TemporaryDirectory() as scratch:
            print(f"| {name} | {' | '.join(row(Path(scratch)))} |".replace(scratch, "…"), flush=True)


if __name__ == "__main__":
    main()
