"""What Ray costs: the same sweep against the same loopback server, in this process and on Ray by shard.

Starts Ray on this machine (or takes --address), so the figures say what handing out, writing parts and merging cost,
not what many machines bring. Starting Ray is shown apart: it is paid once for a sweep.

    python bench/scale.py [--requests 2000] [--latency 0.2] [--in-flight 64] [--workers 2] [--shard 250] [--address A]
"""

import argparse
import os
import tempfile
import time
from pathlib import Path
from uuid import uuid4

from loopback import serving

_ITEMS = 50


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requests", type=int, default=2000)
    parser.add_argument("--latency", type=float, default=0.2)
    parser.add_argument("--in-flight", type=int, default=64)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--shard", type=int, default=250)
    parser.add_argument("--address", default="", help="an existing cluster that sees this machine's folders")
    arguments = parser.parse_args()
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


if __name__ == "__main__":
    main()
