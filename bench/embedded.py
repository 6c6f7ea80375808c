"""What prefix reuse and batching bring to the embedded model: the quick run of all benchmarks, setting by setting.

Every setting runs in a process of its own, asks the same trials with the same seeds, and its texts are compared with
those of the setting that is used: what is faster but changes texts is not used.

    python bench/embedded.py [--limit N] [--settings used no-prefix …] [--benchmarks eqbench …]

`--llama-bench` instead sets tokens a second beside those of llama.cpp's own program, in turns: on the same file, with
as many threads, cache, batches and attention alike, in the machine code of our own wheel (bench/llama_bench.py, which
says what SOURCES are). One built for this very machine may stand beside it.

    python bench/embedded.py --llama-bench [SOURCES] [--native PROGRAM] [--times 5]
"""

import argparse
import asyncio
import datetime
import json
import os
import platform
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import Any

ONE: dict[str, Any] = {"slots": 1, "threads": None}
SETTINGS: dict[str, tuple[str, dict[str, Any]]] = {
    "used": ("prefix shared, as many slots as a run has (used)", {}),
    "no-prefix": ("prefix not shared", {"share_prefix": False}),
    "slots-1": ("prefix shared, one slot", ONE),
    "batch-4": ("prefix shared, one slot, four requests batched in the runtime", ONE | {"batch": 4}),
    "batch-4-no-prefix": ("prefix not shared, four requests batched", ONE | {"batch": 4, "share_prefix": False}),
}


def requests(limit: int | None, benchmarks: Sequence[str]) -> Iterator[Any]:
    """The first try of every trial of the quick run, as the runner asks it."""
    import eqlab as api
    from eqlab.core.forms import json_schema
    from eqlab.core.trials import one_prompt
    from eqlab.models.chat import ChatRequest
    from eqlab.models.runner import sampling_seed

    wanted = api.Request(benchmarks=tuple(benchmarks), profile="quick", limit=limit)
    prepared = api.prepare(wanted)
    for _, benchmark, trial, repeat in prepared.plan():
        asked = prepared.asked[benchmark]
        asking = asked.benchmark.asking(trial, asked.options)
        schema = json_schema(trial.form) if trial.mode == "json" and trial.form.scales else None
        seed = sampling_seed(0, trial.id, repeat, 1)
        yield ChatRequest(one_prompt(trial.prompt, trial.system), asking.temperature, asking.max_tokens, seed, schema)


def measure(setting: str, limit: int | None, benchmarks: Sequence[str]) -> dict[str, Any]:
    from eqlab.models.local import LocalChat, open_local

    used = open_local("embedded")
    path = used.path
    asyncio.run(used.close())
    slots = {"slots": used.concurrency, "threads": used.identity()["threads"] * used.concurrency}
    chat = LocalChat(path, **slots | SETTINGS[setting][1])
    waiting = list(requests(limit, benchmarks))

    async def ask_all() -> list[Any]:
        slots = asyncio.Semaphore(chat.concurrency)

        async def ask(request: Any) -> Any:
            async with slots:
                return await chat.ask(request)

        found = await asyncio.gather(*(ask(request) for request in waiting))
        await chat.close()
        return list(found)

    wall, cpu = time.perf_counter(), time.process_time()
    replies = asyncio.run(ask_all())
    return {
        "requests": len(replies),
        "wall": time.perf_counter() - wall,
        "cpu": time.process_time() - cpu,
        "evaluated": chat.read.evaluated,
        "reused": chat.read.reused,
        "generated": sum(reply.tokens_out or 0 for reply in replies),
        "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10),
        "texts": [reply.text for reply in replies],
    }


PROMPT, ANSWER = 400, 128
"""Tokens that are read, about, and written."""


def ours() -> tuple[int, int, list[tuple[float, float]]]:
    """How many tokens of a prompt were known, how many were read, and tokens a second, read and written after that: of
    one request alone, and of as many at once as a run asks. Of a prompt its template alone is known."""
    from eqlab.core.trials import one_prompt
    from eqlab.models.chat import ChatRequest
    from eqlab.models.local import open_local

    chat = open_local("embedded")
    number = iter(range(1000))

    def request(tokens: int) -> ChatRequest:
        story = f"{next(number)} " + "A friend tells you about a long day, and you listen. " * (PROMPT // 12)
        prompt = one_prompt(f"{story} Tell a long story.", "")
        return ChatRequest(prompt, 0.0, tokens, 1, extra={"ignore_eos": True, "stop": []})

    async def seconds(tokens: int, at_once: int) -> tuple[int, int, float]:
        known, begun = chat.read.evaluated, time.perf_counter()
        replies = await asyncio.gather(*(chat.ask(request(tokens)) for _ in range(at_once)))
        took = time.perf_counter() - begun
        return chat.read.evaluated - known, sum(reply.tokens_out or 0 for reply in replies), took

    async def rates() -> tuple[int, int, list[tuple[float, float]]]:
        await seconds(1, chat.concurrency)  # the first has the file to read
        found, read = [], 0
        for at_once in (1, chat.concurrency):
            read, one, reading = await seconds(1, at_once)
            _, written, whole = await seconds(ANSWER, at_once)
            found.append((read / reading, (written - one) / (whole - reading)))
        await chat.close()
        requests = 3 * chat.concurrency + 2
        return chat.read.reused // (requests - chat.concurrency), read // chat.concurrency, found

    return asyncio.run(rates())


SAME = ("-fa", "0", "-ctk", "f32", "-ctv", "f32", "--repack", "0", "-b", "256", "-ub", "256")
"""As eqlab asks for it, so that an answer can be had again to the bit."""
WAITS = "OMP_WAIT_POLICY"


def theirs(
    program: Sequence[str], path: str, threads: int, known: int, read: int, *more: str, sleeps: bool = False
) -> tuple[float, float]:
    """Tokens a second: read after what is known, and written after that. Threads that wait for each other spin, or
    sleep as eqlab's do."""
    environment = {name: value for name, value in os.environ.items() if name != WAITS}
    environment |= {WAITS: "passive"} if sleeps else {}

    def rate(*sizes: str) -> float:
        command = [*program, "-m", path, *sizes, "-t", str(threads), "-r", "1", "-ngl", "0", "-o", "json", *more]
        done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
        return float(json.loads(done.stdout)[0]["avg_ts"])

    reading = rate("-p", str(read), "-n", "0", "-d", str(known))
    return reading, rate("-p", "0", "-n", str(ANSWER), "-d", str(known + read))


def beside(sources: str, native: str | None, times: int) -> None:
    from eqlab.models.local import open_local

    used = open_local("embedded")
    path, threads, at_once = str(used.path), os.cpu_count() or 1, used.concurrency
    asyncio.run(used.close())
    program = [sys.executable, str(Path(__file__).with_name("llama_bench.py")), sources]
    rounds: list[list[tuple[float, float]]] = []
    for _ in range(times):
        done = subprocess.run(
            [sys.executable, __file__, "--worker", "ours"], capture_output=True, text=True, check=True
        )
        known, read, (alone, together) = json.loads(done.stdout.splitlines()[-1])
        rounds.append([alone, theirs(program, path, threads, known, read, *SAME, sleeps=True)])
        rounds[-1] += [together, theirs(program, path, threads, known, read, *SAME)]
        rounds[-1] += [theirs([native], path, threads, known, read)] if native else []
    heads = ["tokens a second", "one request", "llama-bench, threads that sleep as ours", "ratio"]
    heads += [f"{at_once} requests at once", "llama-bench, threads that spin", "ratio", "aim", "met"]
    heads += ["built for this machine, flash attention"] if native else []
    print(f"| {' | '.join(heads)} |\n{'|---' * len(heads)}|")
    for place, what in enumerate((f"a prompt of about {PROMPT} tokens, read", f"{ANSWER} tokens after that, written")):
        sides = [[rate[place] for rate in side] for side in zip(*rounds, strict=True)]
        ratios = [[a / b for a, b in zip(*pair, strict=True)] for pair in (sides[:2], sides[2:4])]
        rates = [f"{median(side):.1f}" for side in sides]
        said = [f"{median(ratio):.2f} ({min(ratio):.2f} to {max(ratio):.2f})" for ratio in ratios]
        met = "yes" if min(map(median, ratios)) >= 0.95 else "no"
        cells = [what, *rates[:2], said[0], *rates[2:4], said[1], "≥ 0.95", met, *rates[4:]]
        print(f"| {' | '.join(cells)} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--limit", type=int, default=None, help="items per benchmark (default: the quick profile's)")
    parser.add_argument("--settings", nargs="+", default=list(SETTINGS), choices=list(SETTINGS))
    parser.add_argument("--benchmarks", nargs="+", default=["eqbench", "emotionbench", "empathy"])
    unpacked = f"xllamacpp-{version('xllamacpp')}"
    parser.add_argument("--llama-bench", nargs="?", const=unpacked, metavar="SOURCES", help="instead, beside this")
    parser.add_argument("--native", default=shutil.which("llama-bench-native"), metavar="PROGRAM", help="its fastest")
    parser.add_argument("--times", type=int, default=5)
    parser.add_argument("--worker", default="", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.llama_bench:
        beside(arguments.llama_bench, arguments.native, arguments.times)
        return
    if arguments.worker == "ours":
        print(json.dumps(ours()))
        return
    if arguments.worker:
        print(json.dumps(measure(arguments.worker, arguments.limit, arguments.benchmarks)))
        return
    print(
        f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}, {datetime.date.today()}\n"
    )
    print(
        "| setting | requests | prompt tokens evaluated | reused | generated | wall s | CPU s | memory MB "
        "| same texts |"
    )
    print("|" + "---|" * 9, flush=True)
    first: list[str] = []
    for setting in arguments.settings:
        limit = [] if arguments.limit is None else ["--limit", str(arguments.limit)]
        command = [sys.executable, __file__, "--worker", setting, *limit, "--benchmarks", *arguments.benchmarks]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(f"{setting}: {done.stderr[-2000:]}")
        found = json.loads(done.stdout.splitlines()[-1])
        first = first or found["texts"]
        same = sum(a == b for a, b in zip(first, found["texts"], strict=True))
        cells = [
            SETTINGS[setting][0],
            f"{found['requests']}",
            f"{found['evaluated']:,}",
            f"{found['reused']:,}",
            f"{found['generated']:,}",
            f"{found['wall']:.1f}",
            f"{found['cpu']:.1f}",
            f"{found['memory']:,.0f}",
            f"{same} of {len(first)}",
        ]
        print("| " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
