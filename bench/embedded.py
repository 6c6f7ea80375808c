"""What prefix reuse and batching bring to the embedded model: the quick run of all benchmarks, setting by setting.

Every setting runs in a process of its own, asks the same trials with the same seeds, and its texts are compared with
those of the setting that is used: what is faster but changes texts is not used.

    python bench/embedded.py [--limit N] [--settings used no-prefix …] [--benchmarks eqbench …]

`--llama-bench` instead sets tokens a second beside those of llama.cpp's own program, on the same file with as many
threads, in turns; where it is not on the path, its place is named after it. It is to be built as our wheel is,
for every processor of the kind (`cmake -DGGML_NATIVE=OFF`). One built for this very machine may stand beside it.

    python bench/embedded.py --llama-bench [PROGRAM] [--native PROGRAM] [--times 5]
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
from pathlib import Path
from statistics import median
from typing import Any

SETTINGS: dict[str, tuple[str, dict[str, Any]]] = {
    "used": ("prefix shared, one request at a time (used)", {}),
    "no-prefix": ("prefix not shared", {"share_prefix": False}),
    "slots-2": ("prefix shared, two slots, half the threads each", {"slots": 2}),
    "batch-4": ("prefix shared, four requests batched in the runtime", {"batch": 4}),
    "batch-4-no-prefix": ("prefix not shared, four requests batched", {"batch": 4, "share_prefix": False}),
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
    chat = LocalChat(path, **SETTINGS[setting][1])
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


PROMPT, ANSWER = 400, 64
"""Tokens that are read, about, and written."""


def ours(path: str) -> tuple[float, float]:
    """Tokens a second: read, and written after that. Every prompt begins otherwise, so that nothing is known of it."""
    from eqlab.core.trials import one_prompt
    from eqlab.models.chat import ChatRequest
    from eqlab.models.local import LocalChat

    chat = LocalChat(Path(path))
    number = iter(range(1000))

    async def seconds(tokens: int) -> tuple[int, int, float]:
        story = f"{next(number)} " + "A friend tells you about a long day, and you listen. " * (PROMPT // 12)
        request = ChatRequest(one_prompt(f"{story} Tell a long story.", ""), 0.0, tokens, 1)
        begun = time.perf_counter()
        reply = await chat.ask(request)
        return reply.tokens_in or 0, reply.tokens_out or 0, time.perf_counter() - begun

    async def both() -> tuple[float, float]:
        await seconds(1)  # the first has the file to read
        read, one, reading = await seconds(1)
        _, written, whole = await seconds(ANSWER)
        await chat.close()
        return read / reading, (written - one) / (whole - reading)

    return asyncio.run(both())


EXACT = ("-fa", "0")
"""As eqlab asks for it, so that an answer can be had again to the bit; eqlab's cache is of 32-bit floats besides, which
that program does not know."""


def theirs(program: str, path: str, threads: int, *more: str) -> tuple[float, float]:
    """Tokens a second: read, and written after as many have been read."""

    def rate(*sizes: str) -> float:
        command = [program, "-m", path, *sizes, "-t", str(threads), "-r", "1", "-ngl", "0", "-o", "json", *more]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        return float(json.loads(done.stdout)[0]["avg_ts"])

    read, written = str(PROMPT), str(ANSWER)
    return rate("-p", read, "-n", "0"), rate("-p", "0", "-n", written, "-d", read)


def beside(program: str, native: str | None, times: int) -> None:
    from eqlab.models.local import open_local

    used = open_local("embedded")
    path, threads = str(used.path), int(used.identity()["threads"])
    asyncio.run(used.close())
    rounds: list[list[tuple[float, float]]] = []
    for _ in range(times):
        command = [sys.executable, __file__, "--worker", path]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        read, written = json.loads(done.stdout.splitlines()[-1])
        rounds.append([(read, written), theirs(program, path, threads, *EXACT)])
        rounds[-1] += [theirs(native, path, threads)] if native else []
    heads = ["tokens a second", "eqlab", "llama-bench, no flash attention", "ratio", "aim", "met"]
    heads += ["built for this machine, flash attention"] if native else []
    print(f"| {' | '.join(heads)} |\n{'|---' * len(heads)}|")
    for place, what in enumerate((f"a prompt of about {PROMPT} tokens, read", f"{ANSWER} tokens after that, written")):
        mine, exact, *best = (
            median(side) for side in zip(*([rate[place] for rate in one] for one in rounds), strict=True)
        )
        ratio = median(one[0][place] / one[1][place] for one in rounds)
        met = "yes" if ratio >= 0.95 else "no"
        cells = [what, f"{mine:.1f}", f"{exact:.1f}", f"{ratio:.2f}", "≥ 0.95", met, *(f"{rate:.1f}" for rate in best)]
        print(f"| {' | '.join(cells)} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--limit", type=int, default=None, help="items per benchmark (default: the quick profile's)")
    parser.add_argument("--settings", nargs="+", default=list(SETTINGS), choices=list(SETTINGS))
    parser.add_argument("--benchmarks", nargs="+", default=["eqbench", "emotionbench", "empathy"])
    parser.add_argument("--llama-bench", nargs="?", const="llama-bench", metavar="PROGRAM", help="instead, beside this")
    parser.add_argument("--native", default=shutil.which("llama-bench-native"), metavar="PROGRAM", help="its fastest")
    parser.add_argument("--times", type=int, default=5)
    parser.add_argument("--worker", default="", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.llama_bench:
        beside(arguments.llama_bench, arguments.native, arguments.times)
        return
    if arguments.worker.endswith(".gguf"):
        print(json.dumps(ours(arguments.worker)))
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
