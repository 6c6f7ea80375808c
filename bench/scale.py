"""What Ray costs: the same sweep against the same loopback server, in this process and on Ray by shard.

Starts Ray on this machine (or takes --address), so the figures say what handing out, writing parts and merging cost,
not what many machines bring. Starting Ray is shown apart: it is paid once for a sweep.

    python bench/scale.py [--requests 2000] [--latency 0.2] [--in-flight 64] [--workers 2] [--shard 250] [--address A]

`--sweep 200` instead: so many models × three benchmarks on two raylets, once with parts for an SQLite store, once on
PostgreSQL, and once more with a raylet killed in the middle. It says what the driver, a worker and the database spend
on an answer and computes from that what gives way first when there are a hundred machines.

    python bench/scale.py --sweep 200 [--limit 20] [--latency 0.2]
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

from _support import SUPPORT
from loopback import serving
from postgres import OwnPostgres, own_postgres

_ITEMS = 50


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requests", type=int, default=2000)
    parser.add_argument("--latency", type=float, default=0.2)
    parser.add_argument("--in-flight", type=int, default=64)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--shard", type=int, default=250)
    parser.add_argument("--address", default="", help="an existing cluster that sees this machine's folders")
    parser.add_argument("--sweep", type=int, metavar="MODELS", help="instead, a sweep of three benchmarks, two raylets")
    parser.add_argument("--limit", type=int, default=20, help="items per benchmark of that sweep")
    arguments = parser.parse_args()
    if arguments.sweep:
        _sweep(arguments)
        return
    with serving(arguments.latency) as url, tempfile.TemporaryDirectory() as folder:
        _measure(arguments, url, Path(folder))


def _measure(arguments: argparse.Namespace, url: str, folder: Path) -> None:
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    if not arguments.address:
        os.environ |= {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": uuid4().hex}  # else Ray puts one into the home
    import ray

    import eqlab as api
    from eqlab.models.timeouts import Timeouts
    from eqlab.sweep.file import parse_sweep
    from eqlab.sweep.grid import SweepListener, SweepOutcome, make_runs
    from eqlab.sweep.local import run_here
    from eqlab.sweep.ray_engine import RayPlan, run_on_ray

    text = f"""
        benchmarks = ["eqbench"]
        limit = {_ITEMS}
        repeats = {arguments.requests // _ITEMS}
        max_concurrency = {arguments.in_flight}
        [[models]]
        spec = "bench"
        base_url = "{url}"
    """
    cells = make_runs(parse_sweep(text))
    ideal = arguments.requests / arguments.in_flight * arguments.latency

    def show(name: str, began: float, outcome: SweepOutcome) -> None:
        store = api.open_store(str(folder / f"{name}.db"))
        answered = store.progress(cells[0].run)[cells[0].subject][0]
        store.close()
        if outcome.failures or answered != arguments.requests // _ITEMS * _ITEMS:
            raise SystemExit(f"{name}: {answered} answered, {dict(outcome.failures)}")
        print(f"{name:>6} {began:8.2f} s {began / ideal:6.2f} × the latency's own {ideal:.2f} s")

    store = api.open_store(str(folder / "local.db"))
    began = time.perf_counter()
    outcome = run_here(cells, store, timeouts=Timeouts(60.0), watch=SweepListener())
    show("local", time.perf_counter() - began, outcome)
    store.close()

    began = time.perf_counter()
    if arguments.address:
        ray.init(arguments.address, log_to_driver=False)
    else:
        ray.init(num_cpus=arguments.workers, include_dashboard=False, log_to_driver=False)
    ready = [ray.remote(_import).remote() for _ in range(arguments.workers)]
    ray.get(ready)
    print(f"Ray {ray.__version__} is up, {arguments.workers} workers have eqlab: {time.perf_counter() - began:.2f} s")
    store = api.open_store(str(folder / "ray.db"))
    began = time.perf_counter()
    wanted = RayPlan("", str(folder / "parts"), arguments.workers, arguments.shard, Timeouts(60.0))
    outcome = run_on_ray(cells, store, wanted, watch=SweepListener())
    show("ray", time.perf_counter() - began, outcome)
    store.close()
    ray.shutdown()


def _import() -> None:
    """Workers import what they need once; a shard should not be charged for it."""
    import eqlab.sweep.shards  # noqa: F401

    time.sleep(1)  # so that each worker gets one of these


MACHINES, EACH, ANSWER = 100, 64, 2.0
"""The cluster that is computed: machines, requests in flight on each, seconds that an answer takes."""


@dataclass(frozen=True, slots=True)
class Swept:
    """Seconds of CPU of one sweep. `driver` is without the same command once more, which plans and reports alike."""

    answers: int
    wall: float
    driver: float
    workers: float
    database: float
    requests: int
    lost_after: float | None = None
    """Seconds from the kill until the driver sends its trials out again."""

    def per_answer(self, part: str, small: "Swept") -> float:
        """Milliseconds of an answer more: what a sweep costs once, such as to join Ray and to import, is in both."""
        return float(getattr(self, part) - getattr(small, part)) / (self.answers - small.answers) * 1000


def _sweep(arguments: argparse.Namespace) -> None:
    from importlib.metadata import version

    with tempfile.TemporaryDirectory() as name, serving(arguments.latency) as url, own_postgres(durable=True) as server:
        folder = Path(name)
        small, whole = folder / "small.toml", folder / "whole.toml"
        small.write_text(_file(url, "small", 10, arguments))
        whole.write_text(_file(url, "model", arguments.sweep, arguments))
        into_parts = [str(folder / "a.db"), "--parts", str(folder / "a")]
        with _two_nodes() as cluster:
            parts = [_swept(cluster, file, url, into_parts) for file in (whole, small)]
            shared = [_swept(cluster, file, url, [server.uri], server) for file in (whole, small)]
            half = parts[0].answers // 2
            again = [str(folder / "b.db"), "--parts", str(folder / "b")]
            killed = [_swept(cluster, whole, url, again, kill_after=half), parts[1]]
    print(f"Ray {version('ray')}, two raylets of one CPU; {arguments.sweep} models × 3 benchmarks.\n")
    heads = ("sweep", "answers", "wall s", "driver", "workers", "PostgreSQL", "asked again", "sent out again after")
    print(f"| {' | '.join(heads)} |\n|{'---|' * len(heads)}")
    rows = {"parts, SQLite": parts, "PostgreSQL": shared, "parts, SQLite, one raylet killed": killed}
    for what, (one, few) in rows.items():
        spent = [f"{one.per_answer(part, few):.2f} ms" for part in ("driver", "workers", "database")]
        spent[2] = spent[2] if one.database else "–"
        after = "–" if one.lost_after is None else f"{one.lost_after:.1f} s"
        again_asked = one.requests - one.answers
        print(f"| {what} | {one.answers:,} | {one.wall:.0f} | {' | '.join(spent)} | {again_asked} | {after} |")
    _computed(
        {
            "driver, parts into SQLite": parts[0].per_answer("driver", parts[1]),
            "driver, workers write to PostgreSQL": shared[0].per_answer("driver", shared[1]),
            "PostgreSQL": shared[0].per_answer("database", shared[1]),
            "workers, parts": parts[0].per_answer("workers", parts[1]),
            "workers, PostgreSQL": shared[0].per_answer("workers", shared[1]),
        }
    )


def _computed(needs: dict[str, float]) -> None:
    """What a hundred machines need of each part, and how many of them one core of it serves."""
    rate = EACH / ANSWER
    print(f"\nComputed: machines with {EACH} requests in flight of {ANSWER:g} s, {rate:.0f} answers a second each.\n")
    print(
        f"| part | CPU per answer | cores for {MACHINES} machines | machines that one core serves |\n|---|---|---|---|"
    )
    for what, milliseconds in needs.items():
        cores = milliseconds / 1000 * rate
        print(f"| {what} | {milliseconds:.2f} ms | {cores * MACHINES:.1f} | {1 / cores:.0f} |")


def _file(url: str, name: str, models: int, arguments: argparse.Namespace) -> str:
    tables = "".join(f'[[models]]\nspec = "{name}-{number}"\nendpoint = "lab"\n' for number in range(models))
    return (
        f'benchmarks = ["eqbench", "emotionbench", "empathy"]\nprofile = "quick"\nlimit = {arguments.limit}\n'
        f'[endpoints.lab]\nbase_url = "{url}"\nmax_concurrency = {arguments.in_flight}\n{tables}'
    )


class _Cluster:
    def __init__(self, process: "subprocess.Popen[str]", environment: dict[str, str]) -> None:
        self._process, self.environment = process, environment
        self.address = self._line("address ")

    def _line(self, beginning: str) -> str:
        for line in self._process.stdout or ():
            if line.startswith(beginning):
                return line.removeprefix(beginning).strip()
        raise SystemExit("The cluster ended.")

    def kill_a_node(self) -> None:
        """One that is in the middle of a shard."""
        print("kill busy", file=self._process.stdin, flush=True)
        self._line("killed")


@contextmanager
def _two_nodes() -> Iterator[_Cluster]:
    environment = {**os.environ, "RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": uuid4().hex}
    process = subprocess.Popen(
        [sys.executable, str(SUPPORT / "two_nodes.py")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=environment,
    )
    try:
        yield _Cluster(process, environment)
    finally:
        process.communicate()


def _swept(
    cluster: _Cluster, file: Path, url: str, sink: list[str], database: OwnPostgres | None = None, kill_after: int = 0
) -> Swept:
    """`sink`: where answers go, as the command is told. `kill_after`: requests after which a raylet is killed."""
    command = [sys.executable, "-c", "from eqlab.cli.main import main; main()", "sweep", str(file), "--yes"]
    command += ["--engine", "ray", "--address", cluster.address, "--store", *sink]
    root = url.removesuffix("/v1")
    before, there, stored = _asked(root), _stored(sink[0]), _database(database)
    wall, driver, workers, lost_after = _drive(command, cluster, file.parent, root, kill_after)
    stored = _database(database) - stored
    requests, answers = _asked(root), _stored(sink[0]) - there
    _, again, *_ = _drive(command, cluster, file.parent, root, 0)
    if _asked(root) != requests:
        raise SystemExit(f"{sink[0]}: something was asked although everything had its answer.")
    return Swept(answers, wall, driver - again, workers, stored, requests - before, lost_after)


def _drive(
    command: list[str], cluster: _Cluster, folder: Path, root: str, kill_after: int
) -> tuple[float, float, float, float | None]:
    """Wall clock, CPU of the driver and of the workers; after a raylet was killed, seconds until its trials are sent
    out again."""
    begun, killed, sent_again = time.perf_counter(), 0.0, 0.0
    workers: dict[str, float] = {}
    said = folder / "said.txt"
    with said.open("w") as both:
        driver = subprocess.Popen(command, stdout=both, stderr=both, cwd=folder, env=cluster.environment)
    while True:
        pid, status, usage = os.wait4(driver.pid, os.WNOHANG)
        if pid:
            break
        time.sleep(0.1)
        workers |= _workers()
        if kill_after and not killed and _asked(root) >= kill_after:
            cluster.kill_a_node()
            killed = time.perf_counter()
        elif killed and not sent_again and "out again" in said.read_text():
            sent_again = time.perf_counter()
    driver.returncode = os.waitstatus_to_exitcode(status)
    if driver.returncode:
        raise SystemExit(said.read_text()[-2000:])
    wall, lost_after = time.perf_counter() - begun, sent_again - killed if sent_again else None
    return wall, usage.ru_utime + usage.ru_stime, sum(workers.values()), lost_after


def _workers() -> dict[str, float]:
    """Seconds of CPU of every worker of Ray that is there now."""
    found = {}
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it may have ended
            if (folder / "cmdline").read_bytes().startswith(b"ray::"):
                found[folder.name] = _cpu(int(folder.name))
    return found


def _asked(root: str) -> int:
    with urllib.request.urlopen(f"{root}/asked") as reply:
        return int(json.load(reply)["requests"])


def _stored(address: str) -> int:
    import eqlab as api

    store = api.open_store(address)
    with store.engine.connect() as connection:
        found = int(connection.exec_driver_sql("SELECT count(*) FROM answers WHERE status = 'ok'").scalar_one())
    store.close()
    return found


def _database(server: OwnPostgres | None) -> float:
    """Seconds of CPU of PostgreSQL so far, with its processes that have ended."""
    if server is None:
        return 0.0
    main = server.pid()
    children = (Path("/proc") / str(main) / "task" / str(main) / "children").read_text().split()
    return _cpu(main, 4) + sum(_cpu(int(child), 2) for child in children)


def _cpu(pid: int, fields: int = 2) -> float:
    """Seconds of its own; of four fields also those of children that have ended."""
    stat = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(int(ticks) for ticks in stat[11 : 11 + fields]) / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    main()
