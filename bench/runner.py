"""How close the runner comes to the physical limit: the model's latency.

Starts a loopback server with a fixed latency, then, in the same run, asks it the same number of requests with a bare
aiohttp loop (the floor) and with `eqlab` (planning, parsing, scoring and durable storing included).

    python bench/runner.py [--requests 2000] [--latency 1.0] [--in-flight 64 256]
"""

import argparse
import asyncio
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from loopback import serving


def bare(url: str, requests: int, in_flight: int) -> None:
    """The floor: post, read, nothing else."""
    import aiohttp

    from eqlab.benchmarks.eqbench.benchmark import EqBench
    from eqlab.core.benchmark import Selection
    from eqlab.data.items import read_sources

    benchmark = EqBench()
    options = benchmark.options("open", {})
    files = read_sources(benchmark.sources("open", options), None)
    prompts = [trial.prompt for trial, _ in benchmark.plan(files, options, Selection(limit=50))]

    async def main() -> None:
        numbers = iter(range(requests))
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:

            async def work() -> None:
                for number in numbers:
                    body = {
                        "model": "m",
                        "messages": [{"role": "user", "content": prompts[number % len(prompts)]}],
                        "max_tokens": 256,
                    }
                    async with session.post(f"{url}/chat/completions", json=body) as response:
                        await response.json()

            await asyncio.gather(*(work() for _ in range(in_flight)))

    measured(lambda: asyncio.run(main()))


def ours(url: str, requests: int, in_flight: int) -> None:
    """The same through the public API, on a store of its own."""
    import scipy.special  # noqa: F401 - imports are counted on neither side

    import eqlab as api
    import eqlab.models.http

    with tempfile.TemporaryDirectory() as folder:
        store = api.open_store(str(Path(folder) / "bench.db"))
        request = api.Request(
            models=("bench",), benchmarks=("eqbench",), base_url=url, limit=50, repeats=requests // 50
        )

        def main() -> None:
            outcome = api.run(api.prepare(request), store, concurrency=in_flight)
            (result,) = api.results(store, store.find_run(outcome.run))
            if result.counts["ok"] != requests:
                raise SystemExit(f"only {result.counts['ok']} of {requests} answers are ok: {result.counts}")

        measured(main)


def measured(main: Callable[[], None]) -> None:
    wall, cpu = time.perf_counter(), time.process_time()
    main()
    figures = {
        "wall": time.perf_counter() - wall,
        "cpu": time.process_time() - cpu,
        "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10),
    }
    print(json.dumps(figures))


def in_own_process(kind: str, url: str, requests: int, in_flight: int) -> dict[str, float]:
    command = [sys.executable, __file__, "--worker", kind, url, str(requests), str(in_flight)]
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=os.environ)
    figures: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requests", type=int, default=2000)
    parser.add_argument("--latency", type=float, default=1.0)
    parser.add_argument("--in-flight", type=int, nargs="+", default=[64, 256])
    arguments = parser.parse_args()
    with serving(arguments.latency) as url:
        print(f"{arguments.requests} requests at {arguments.latency:g} s latency")
        print(f"{'in flight':>9} {'':>6} {'wall s':>8} {'ratio':>6} {'CPU ms/request':>15} {'memory MB':>10}")
        for in_flight in arguments.in_flight:
            floor = in_own_process("bare", url, arguments.requests, in_flight)
            eqlab = in_own_process("ours", url, arguments.requests, in_flight)
            for name, figures in (("bare", floor), ("eqlab", eqlab)):
                ratio = figures["wall"] / floor["wall"]
                cpu = 1000 * figures["cpu"] / arguments.requests
                print(
                    f"{in_flight:>9} {name:>6} {figures['wall']:8.2f} {ratio:6.3f} "
                    f"{cpu:15.2f} {figures['memory']:10.0f}"
                )


if __name__ == "__main__":
    if sys.argv[1:2] == ["--worker"]:
        kind, url, requests, in_flight = sys.argv[2:]
        {"bare": bare, "ours": ours}[kind](url, int(requests), int(in_flight))
    else:
        main()
