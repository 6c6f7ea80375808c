"""The speed of EQ Lab in one table: work, the floor or peer measured beside it, ratio, aim, met or not.

Everything is CPU time, which neighbours on the machine change least, and every ratio is of two measurements that took
turns; each is the median of `--times`. `--write` puts the table into docs/evidence/performance.md, and with it what
other scripts of this folder print: every figure of that page stands between two marks that name its command.

    python bench/speed.py [--times 5] [--models 1000] [--answers 205900] [--boards 100 4000]
                          [--only start ask talks rank report board] [--write]
    python bench/speed.py --sections profile large sizes one-run servers peers study saving streams flood embedded llama
                                     scale boards large-boards [--write]
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from statistics import median

import dialogue
import large
import leaderboard
import runner
import view
from loopback import Measured, eqlab, measured, serving

EVIDENCE = Path(__file__).parent.parent / "docs" / "evidence"
END = "<!-- end -->"
SECTIONS = {
    "profile": "runner.py --profile",
    "large": "large.py",
    "sizes": "large.py --sizes 200000 2000000 10000000 --engines sqlite",
    "one-run": "large.py --one-run 200000 2000000",
    "servers": "large.py --sizes 200000 2000000 10000000 --engines postgresql",
    "peers": "peers.py --requests 2000 --latency 1.0 --in-flight 64",
    "study": "study.py --pages 3",
    "saving": "study.py --people 300 --every 2 --saving",
    "streams": "study.py --streams 500",
    "flood": "flood.py",
    "embedded": "embedded.py --benchmarks eqbench",
    "llama": "embedded.py --llama-bench",
    "scale": "scale.py --sweep 200",
    "boards": "leaderboard.py --models 300 1000",
    "large-boards": "leaderboard.py --models 4000",
}
"""What other scripts measure, each with its place in a page."""
BLAS = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
"""One thread, so that CPU time is work and not waiting for a neighbour's thread."""


@dataclass(frozen=True, slots=True)
class Row:
    work: str
    took: float
    floor: str
    floor_took: float
    aim: float | None
    """None: there is none, and the figure is shown so that no other hides it."""
    unit: str = "s"

    @property
    def ratio(self) -> float:
        return self.took / self.floor_took

    @property
    def cells(self) -> tuple[str, ...]:
        aim, met = ("–", "–") if self.aim is None else (f"≤ {self.aim:g}", "yes" if self.ratio <= self.aim else "no")
        took, floor = (f"{value:.3g} {self.unit}" for value in (self.took, self.floor_took))
        return self.work, took, self.floor, floor, f"{self.ratio:.2f}", aim, met


HEADS = ("work", "CPU", "floor", "CPU", "ratio", "aim", "met")


def start(times: int) -> Iterator[Row]:
    """Commands as whole processes, in units of `import numpy`, with one thread of OpenBLAS as the commands have: more
    would make the unit larger."""
    os.environ.update(BLAS)
    with tempfile.TemporaryDirectory() as name, serving(0.0) as url:
        folder = Path(name)
        ask = ("run", "m", "-b", "eqbench", "--base-url", url, "--limit")
        if eqlab(*ask, "10", folder=folder).code or eqlab(*ask, "5", folder=folder).code:
            raise SystemExit((folder / "output.txt").read_text())
        published = ("compare", "published:gpt-4-0613", "published:gpt-3.5-turbo-0613")
        commands: list[tuple[str, float, tuple[str, ...]]] = [
            ("`eqlab --help`", 0.9, ("--help",)),
            ("`eqlab runs`", 1.7, ("runs",)),
            ("`eqlab runs show last`", 1.7, ("runs", "show", "last")),
            ("`eqlab compare`, two published models", 3.0, published),
            ("`eqlab run` of three questions, report included", 4.0, (*ask, "3", "--seed")),
        ]
        floor: list[float] = []
        took: dict[str, list[float]] = {work: [] for work, _, _ in commands}
        for number in range(times):
            floor.append(measured([sys.executable, "-c", "import numpy"], folder).cpu)
            for work, _, arguments in commands:
                own = (*arguments, str(number)) if arguments[-1] == "--seed" else arguments  # each a run of its own
                found = eqlab(*own, folder=folder)
                if found.code:
                    raise SystemExit((folder / "output.txt").read_text())
                took[work].append(found.cpu)
        for work, aim, _ in commands:
            yield Row(work, median(took[work]), "`import numpy`", median(floor), aim)


def ask(times: int) -> Iterator[Row]:
    """CPU of a request, from its trial on the disk to its answer there, beside that of a bare loop; what the wall
    clock loses; and by itself what comes before and after: the trials chosen, the answers scored. 2,000 answers a
    second are more than two cores can give and take: what the wall clock then loses is shown, and has no aim."""
    for in_flight, latency, count, ways, wall_aim in (
        (64, 0.5, 1000, (False, True), 1.03),
        (256, 0.5, 1000, (False, True), 1.08),
        (1024, 2.0, 5120, (False,), 1.08),
        (1024, 0.5, 2000, (False,), None),
    ):  # fmt: skip
        with serving(latency, streams=True) as url:
            for streams in ways:
                yield from _asked(times, url, in_flight, latency, count, wall_aim, streams=streams)


def _asked(
    times: int, url: str, in_flight: int, latency: float, count: int, wall_aim: float | None, *, streams: bool
) -> Iterator[Row]:
    bare, ours = [], []
    for _ in range(times):
        bare.append(runner.in_own_process("bare", url, count, in_flight, streams=streams))
        ours.append(runner.in_own_process("ours", url, count, in_flight, streams=streams))
    each, how = 1000 / count, ", streamed" if streams else ""
    floor = "bare aiohttp loop", each * median(one["cpu"] for one in bare)
    work = f"a request, {in_flight} in flight{how}: written down, asked, read, stored"
    yield Row(work, each * median(one["cpu"] for one in ours), *floor, 1.3, "ms")
    if in_flight == 64:
        beside = each * median(one["beside"] for one in ours)
        yield Row(f"its trial chosen, its answer scored{how}", beside, *floor, None, "ms")
    yield Row(
        f"{count} requests of {latency:g} s, {in_flight} in flight{how} (wall clock)",
        median(one["wall"] for one in ours),
        "bare aiohttp loop (wall clock)",
        median(one["wall"] for one in bare),
        wall_aim,
    )


def talks(times: int, count: int = 200, turns: int = 8, latency: float = 0.5, in_flight: int = 64) -> Iterator[Row]:
    """Talks of two models beside as many requests that wait for nothing."""
    with serving(latency) as url:
        bare = [dialogue.in_own_process("bare", url, count * turns, in_flight) for _ in range(times)]
        held = [dialogue.in_own_process("talks", url, count, turns, in_flight) for _ in range(times)]
    yield Row(
        f"{count} talks of {turns} turns of {latency:g} s, {in_flight} in flight (wall clock)",
        median(one["wall"] for one in held),
        "bare aiohttp loop (wall clock)",
        median(one["wall"] for one in bare),
        1.08,
    )


def rank(models: int) -> Iterator[Row]:
    """Rank ranges of many models on 171 questions, beside the matrix product that holds every t of every draw."""
    done = subprocess.run(
        [sys.executable, __file__, "--worker", str(models)],
        check=True,
        capture_output=True,
        text=True,
        env=os.environ | BLAS,
    )
    for claim, took, product in json.loads(done.stdout):
        yield Row(f"rank ranges of {models:,} models × 171 questions, {claim}", took, "matrix product", product, 3.0)


def rank_worker(models: int) -> None:
    import numpy as np

    from eqlab.analysis.ranks import DRAWS, rank_sets

    random = np.random.default_rng(1)
    ability, difficulty = random.normal(0, 0.8, (models, 1)), random.normal(0, 1, 171)
    scores = np.round(10 / (1 + np.exp(difficulty - ability + random.normal(0, 0.8, (models, 171)))), 2)
    weights, squares = np.ones((DRAWS, 171), np.float32), np.ones((171, models), np.float32)
    product = _cpu(lambda: [weights @ squares for _ in range(10)]) / 10 * models
    found = [
        ("each by itself", _cpu(lambda: rank_sets(scores, first=False)), product),
        ("all at once as well", _cpu(lambda: rank_sets(scores, first=False, claim="all")), product),
    ]
    print(json.dumps(found))


def report(times: int, answers: int) -> Iterator[Row]:
    """The report of a large run beside reading the same answers off the disk; and `eqlab view` of it, started again."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        models = large.models_for(answers)
        stored = large.build(str(folder / "eqlab.db"), answers, models=models)
        read = (
            "import sqlite3, sys; print(sum(1 for _ in sqlite3.connect('eqlab.db')"
            ".execute('SELECT * FROM answers JOIN planned USING (run_id, subject, trial_id, repeat)')))"
        )
        floor: list[float] = []
        first: list[Measured] = []
        second: list[Measured] = []
        for _ in range(times):
            floor.append(measured([sys.executable, "-c", read], folder).cpu)
            for kept in folder.rglob("scores/*.db*"):
                kept.unlink()
            for took in (first, second):
                took.append(eqlab("report", folder=folder))
                if took[-1].code:
                    raise SystemExit((folder / "output.txt").read_text())
        for which, took in (("", first), (", the second time", second)):
            work = f"`eqlab report` of {stored:,} answers{which}"
            yield Row(work, median(one.cpu for one in took), "SQLite reads them", median(floor), 10.0)
            yield Row(f"{work} (wall clock)", median(one.wall for one in took), "a second", 1.0, 5.0)
        two = ("compare", "bench/model-000", "bench/model-001")
        large.build(str(folder / "two.db"), answers, models=2)
        both = [[eqlab(*two, "--store", store, folder=folder).cpu for store in ("eqlab.db", "two.db")] for _ in floor]
        ours, alone = (median(column) for column in zip(*both, strict=True))
        compared = f"`eqlab compare` of two of their {models} models"
        yield Row(compared, ours, "the same, a run of these two alone", alone, 2.0)
        for kept in folder.rglob("scores/*.db*"):
            kept.unlink()
        begun = view.scored(folder / "eqlab.db")
        yield Row("`eqlab view` of them until all is scored, first start (wall clock)", begun, "a second", 1.0, 60.0)
        pages = list(zip(*(view.again(folder / "eqlab.db") for _ in range(times)), strict=True))
        for page, seconds in zip(("first page", "first page with every table", "page of the run"), pages, strict=True):
            yield Row(f"the same, started again: {page} (wall clock)", median(seconds), "a second", 1.0, 1.0)


def board(times: int, models: int) -> Iterator[Row]:
    """A leaderboard of published results, copied until there are enough; none without their files."""
    data = os.environ.get("EQLAB_DATA", "")
    if not data:
        return
    each = [list(leaderboard.build(Path(data), models)) for _ in range(times if models <= 100 else 1)]
    first, second = ([pair[place] for pair in each] for place in (0, 1))
    aim = 5.0 if models <= 100 else 300.0
    work = f"`eqlab leaderboard build` of {models:,} models"
    yield Row(f"{work} (wall clock)", median(one.seconds for one in first), "a second", 1.0, aim)
    yield Row(f"{work}: CPU, all cores", median(one.cpu for one in first), "a second", 1.0, None)
    again = median(one.seconds for one in second)
    yield Row(
        "the same with one model more (wall clock)", again, "the first", median(one.seconds for one in first), 1.0
    )
    kept = 1.0 * second[0].written
    yield Row("files that it wrote", kept, "all its files", 1.0 * second[0].files, 1.0, "files")
    yield Row(f"memory of that build of {models:,} models", first[0].memory, "a gigabyte", 1000.0, 2.0, "MB")
    yield Row(f"front page of {models:,} models", first[0].front / 1000, "a kilobyte", 1.0, 150.0, "kB")
    yield Row(f"largest page of {models:,} models", first[0].largest / 1000, "a kilobyte", 1.0, 500.0, "kB")


def _cpu(work: Callable[[], object]) -> float:
    begun = time.process_time()
    work()
    return time.process_time() - begun


def table(rows: list[Row]) -> str:
    head = [f"| {' | '.join(HEADS)} |", f"|{'---|' * len(HEADS)}"]
    return "\n".join([*head, *(f"| {' | '.join(row.cells)} |" for row in rows)])


def write(command: str, text: str) -> None:
    """Into its page, between the marks of this command."""
    begin = f"<!-- made by bench/{command} -->"
    for page in (EVIDENCE / "performance.md", EVIDENCE / "scale.md"):
        before, found, rest = page.read_text(encoding="utf-8").partition(begin)
        if found:
            _, _, after = rest.partition(END)
            page.write_text(f"{before}{begin}\n{text}\n{END}{after}", encoding="utf-8")
            return
    raise SystemExit(f"{EVIDENCE} has no place for {command}: {begin} … {END}")


def where() -> str:
    """What it is measured on, and how busy others keep it."""
    cores = f"{os.cpu_count()} × {platform.machine()}"
    busy = f"{os.getloadavg()[0]:.1f} processes busy before it began"
    return f"{datetime.now(UTC):%Y-%m-%d}, Python {platform.python_version()}, {cores}, {busy}."


def section(command: str) -> str:
    """What a script of this folder prints, as Markdown."""
    script, *arguments = command.split()
    done = subprocess.run(
        [sys.executable, Path(__file__).parent / script, *arguments], check=True, stdout=subprocess.PIPE, text=True
    )
    said = done.stdout.strip()
    return said if "|---" in said else f"```text\n{said}\n```"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, default=5)
    parser.add_argument("--models", type=int, default=1000)
    parser.add_argument("--answers", type=int, default=205_900)
    parser.add_argument("--boards", type=int, nargs="+", default=[100], help="models of a leaderboard; 4000: an hour")
    parser.add_argument("--only", nargs="+", choices=["start", "ask", "talks", "rank", "report", "board"])
    parser.add_argument("--sections", nargs="+", choices=list(SECTIONS), default=[], help="instead of the table")
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    parts: dict[str, Callable[[], Iterator[Row]]] = {
        "start": lambda: start(arguments.times),
        "ask": lambda: ask(arguments.times),
        "talks": lambda: talks(arguments.times),
        "rank": lambda: rank(arguments.models),
        "report": lambda: report(arguments.times, arguments.answers),
        "board": lambda: (row for models in arguments.boards for row in board(arguments.times, models)),
    }
    here = where()
    for name in arguments.sections:
        text = f"{here}\n\n{section(SECTIONS[name])}"
        print(text, flush=True)
        if arguments.write:
            write(SECTIONS[name], text)
    if arguments.sections:
        return
    rows: list[Row] = []
    print(table(rows))
    for name, part in parts.items():
        for row in part() if name in (arguments.only or parts) else ():
            rows.append(row)
            print(f"| {' | '.join(row.cells)} |", flush=True)
    if arguments.write:
        write("speed.py", f"{here}\n\n{table(rows)}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--worker"]:
        rank_worker(int(sys.argv[2]))
    else:
        main()
