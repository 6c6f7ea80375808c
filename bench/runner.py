"""How close the runner comes to the physical limit: the model's latency.

Starts a loopback server with a fixed latency, then, in the same run, asks it the same number of requests with a bare
aiohttp loop (the floor) and with `eqlab`: a run from its beginning to its end, with its trials written down, replies
read and every answer stored durably. What comes before and after it, trials chosen and answers scored, is counted by
itself.

    python bench/runner.py [--requests 2000] [--latency 1.0] [--in-flight 64 256]
    python bench/runner.py --profile   where the CPU time of a request goes
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
from typing import NamedTuple

from loopback import serving


def bare(url: str, requests: int, in_flight: int, *, streams: bool = False) -> None:
    """The floor: post, read, nothing else. `streams`: every event is read as it comes, and looked at as JSON."""
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
                    if streams:
                        body["stream"] = True
                    async with session.post(f"{url}/chat/completions", json=body) as response:
                        if not streams:
                            await response.json()
                            continue
                        async for line in response.content:
                            if line.startswith(b"data: {"):
                                json.loads(line[6:])

            await asyncio.gather(*(work() for _ in range(in_flight)))

    measured(lambda: asyncio.run(main()))


def ours(
    url: str, requests: int, in_flight: int, work: Callable[..., object] | None = None, *, streams: bool = False
) -> None:
    """The same through the public API, on a store of its own. Imports are counted on neither side: a small run comes
    first, and what starting takes is measured by itself (bench/speed.py). `streams`: as a model of a provider who is
    known to stream. `work`: measures instead, all of it."""
    import eqlab as api

    models = ("openai/bench",) if streams else ("bench",)

    with tempfile.TemporaryDirectory() as folder:
        store = api.open_store(str(Path(folder) / "bench.db"))

        def ask(repeats: int) -> list[Spent]:
            """What choosing, asking and scoring took."""
            before = Spent.now()
            request = api.Request(models=models, benchmarks=("eqbench",), base_url=url, limit=50, repeats=repeats)
            prepared = api.prepare(request)
            chosen = Spent.now()
            outcome = api.run(prepared, store, concurrency=in_flight)
            asked = Spent.now()
            (result,) = api.results(store, store.find_run(outcome.run))
            scored = Spent.now()
            if result.counts["ok"] != 50 * repeats:
                raise SystemExit(f"only {result.counts['ok']} of {50 * repeats} answers are ok: {result.counts}")
            return [chosen.since(before), asked.since(chosen), scored.since(asked)]

        ask(1)
        if work:
            work(ask, requests // 50)
            return
        chosen, asked, scored = ask(requests // 50)
        show(asked, beside=chosen.cpu + scored.cpu)


class Spent(NamedTuple):
    """Seconds."""

    wall: float
    cpu: float

    @classmethod
    def now(cls) -> "Spent":
        return cls(time.perf_counter(), time.process_time())

    def since(self, before: "Spent") -> "Spent":
        return Spent(self.wall - before.wall, self.cpu - before.cpu)


def measured(main: Callable[[], None]) -> None:
    before = Spent.now()
    main()
    show(Spent.now().since(before))


def show(spent: Spent, beside: float = 0.0) -> None:
    """`beside`: CPU seconds that are no part of asking."""
    highest = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)
    print(json.dumps({**spent._asdict(), "beside": beside, "memory": highest}))


PARTS = {
    "eqlab/models": "our transport: a connection that rests, whose reply it is, retries, wire formats, limits",
    "eqlab/benchmarks": "prompts, forms and replies read",
    "eqlab/store": "our store",
    "sqlalchemy": "SQLAlchemy",
    "aiohttp": "aiohttp",
    "asyncio": "asyncio",
    "json": "JSON",
    "eqlab": "the rest of eqlab",
}


def profile(url: str, requests: int, in_flight: int) -> None:
    """Shares of the CPU time of asking, by whose code it is spent in; functions in C count for who calls them."""
    import cProfile
    import pstats
    from collections import Counter

    profiler = cProfile.Profile(time.process_time)
    ours(url, requests, in_flight, profiler.runcall)
    shares: Counter[str] = Counter()
    for (file, _, _), (_, _, own, _, callers) in pstats.Stats(profiler).stats.items():  # type: ignore[attr-defined]
        for place, spent in [(file, own)] if file != "~" else [(who[0], part[2]) for who, part in callers.items()]:
            shares[next((said for part, said in PARTS.items() if f"/{part}" in place), "everything else")] += spent
    print("| where | share of CPU |\n|---|---|")
    for said, spent in shares.most_common():
        print(f"| {said} | {100 * spent / shares.total():.0f} % |")


def in_own_process(kind: str, url: str, requests: int, in_flight: int, *, streams: bool = False) -> dict[str, float]:
    more = ["streams"] if streams else []
    command = [sys.executable, __file__, "--worker", kind, url, str(requests), str(in_flight), *more]
    environment = os.environ | {"OPENAI_API_KEY": "none"}
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=environment)
    figures: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requests", type=int, default=2000)
    parser.add_argument("--latency", type=float, default=1.0)
    parser.add_argument("--in-flight", type=int, nargs="+", default=[64, 256])
    parser.add_argument("--profile", action="store_true")
    arguments = parser.parse_args()
    if arguments.profile:
        with serving(0.1) as url:
            profile(url, arguments.requests, arguments.in_flight[0])
        return
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
        kind, url, requests, in_flight, *more = sys.argv[2:]
        {"bare": bare, "ours": ours}[kind](url, int(requests), int(in_flight), streams=bool(more))
    else:
        main()
