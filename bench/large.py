"""Large stores and large runs: how long looking and reporting take, and whether memory grows with a run.

Builds a store of many answers (through the product's own planning, reading and storing, no model asked), then times
`eqlab runs show`, `runs`, `report`, `runs store check`, `backup` and `compact` in processes of their own; then runs few
and many trials against a loopback server and compares the highest memory of the two.

`--sizes` instead grows one store of each engine run by run and asks at each size what the same run takes in it:
`runs`, `show`, `compare`, `export` and `report` of it, and continuing it where a hundred answers are missing; how many
prompts are stored for the answers, and what `store compact` leaves of a file.

`--one-run` instead makes one run of each size and its report, twice: whether time and memory grow with the answers.

    python bench/large.py [--answers 200000] [--trials 2000 50000] [--keep FOLDER]
    python bench/large.py --sizes 200000 2000000 [--engines sqlite postgresql] [--keep FOLDER]
    python bench/large.py --one-run 200000 2000000 [--keep FOLDER]
"""

import argparse
import math
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import _support  # noqa: F401
from loopback import Measured, eqlab, measured, serving

from eqlab.core.answers import Answer, Reading
from eqlab.core.trials import Trial

if TYPE_CHECKING:
    from eqlab.runs.request import Prepared

MODELS = 50


PORT = 18431
"""Where a server answers while a run is continued: the address is part of what a run is."""
ADDRESS = f"http://127.0.0.1:{PORT}/v1"


def build(path: str, wanted: int, runs: Sequence[str] = ("",), models: int = MODELS) -> int:
    """A run of many models on all benchmarks by each of these labels, every trial answered; returns how many answers
    one has. `wanted`: of all models, where only some of them are built. Runs with a label can be continued: they have
    no talks, of which a plan holds the first turn only, and what cannot be read is of a provider that refused, who is
    not asked again."""
    import eqlab as api
    from eqlab.runs.identity import provenance

    store = api.open_store(path)
    repeats = _repeats(wanted, runs[0])
    one = _prepare(1, repeats, runs[0])
    plan = [(name, trial, repeat) for _, name, trial, repeat in one.plan()]
    said = {trial.id: _said(one, name, trial) for name, trial, _ in plan}
    if runs[0]:
        said = {trial: (text, _settled(reading)) for trial, (text, reading) in said.items()}
    for label in runs:
        config = _prepare(models, repeats, label).config
        run, subjects = config.id, [model.subject for model in config.models]
        everything = ((subject, *rest) for subject in subjects for rest in plan)  # models are asked the same
        store.begin_run(config, everything, provenance({}))
        for subject in subjects:
            answers = [_answer(run, subject, trial, repeat, *said[trial.id]) for _, trial, repeat in plan]
            store.add_answers(answers)
    store.close()
    return len(plan) * models


def models_for(wanted: int) -> int:
    """How many models give about so many answers: repeats alone come in large steps."""
    each = sum(1 for _ in _prepare(1, _repeats(wanted, "")).plan())
    return min(MODELS, max(2, round(wanted / each)))


def _repeats(wanted: int, label: str) -> int:
    """How often models are asked everything to give so many answers."""
    once, twice = (sum(1 for _ in _prepare(1, repeats, label).plan()) for repeats in (1, 2))
    return max(1, 1 + math.ceil((wanted / MODELS - once) / (twice - once)))


def _prepare(models: int, repeats: int, label: str = "") -> "Prepared":
    from eqlab.benchmarks.registry import load, names
    from eqlab.core.benchmark import Talks, item_sets_of
    from eqlab.runs.request import Request, prepare

    specs = tuple(f"bench/model-{number:03}" for number in range(models))
    return prepare(
        Request(
            specs,
            tuple(
                name
                for name in names()
                if "open" in item_sets_of(load(name)) and not (label and isinstance(load(name), Talks))
            ),
            profile="full",
            repeats=repeats,
            structured=False,
            base_url=ADDRESS,
            label=label,
        )
    )


def _said(prepared: "Prepared", name: str, trial: Trial) -> tuple[str, Reading]:
    from server import answer_to

    asked, text = prepared.asked[name], answer_to(trial.prompt)
    return text, asked.benchmark.read(trial, text, asked.options)


def _settled(reading: Reading) -> Reading:
    return reading if reading.status == "ok" else replace(reading, status="refused")


def _answer(run: str, subject: str, trial: Trial, repeat: int, text: str, reading: Reading) -> Answer:
    return Answer(
        run=run,
        trial=trial.id,
        subject=subject,
        repeat=repeat,
        attempt=1,
        text=text,
        status=reading.status,
        values=reading.values,
        note=reading.note,
        model=subject.rpartition("/")[2],
        temperature=0.0,
        latency=1.0,
        tokens_in=400,
        tokens_out=20,
        finish="content_filter" if reading.status == "refused" else "stop",
        at=time.time(),
    )


def _line(name: str, figures: Measured) -> None:
    failed = "" if figures.code == 0 else f"   exit code {figures.code}!"
    print(f"{name:<44} {figures.wall:8.2f} {figures.cpu:8.2f} {figures.memory:10.0f}{failed}", flush=True)


def looking(folder: Path, answers: int) -> None:
    """The commands that read, on a store of many answers."""
    path = folder / "large.db"
    started = time.perf_counter()
    written = _in_own_process(path, answers)
    print(
        f"{written} answers in {path.stat().st_size / 2**20:.0f} MB, written in {time.perf_counter() - started:.0f} s"
    )
    print(f"{'command':<44} {'wall s':>8} {'CPU s':>8} {'memory MB':>10}")
    where = ("--store", str(path))
    for arguments in (
        ("show", "last", *where),
        ("show", "last", "--limit", "1", "--status", "unparseable", *where),
        ("show", "last", "--item", "open-001", *where),
        ("runs", *where),
        ("report", "-o", str(folder / "report.html"), *where),
        ("export", "-o", str(folder / "answers.parquet"), *where),
        ("store", "check", *where),
        ("store", "backup", str(folder / "backup.db"), *where),
        ("store", "compact", *where),
    ):
        shown = " ".join(argument for argument in arguments[: -len(where)] if not argument.startswith(str(folder)))
        _line(f"eqlab {shown}", eqlab(*arguments, folder=folder))


def _in_own_process(path: Path | str, answers: int, *more: str) -> int:
    """Building needs memory, and a process's highest memory is counted from its parent's on."""
    command = [sys.executable, __file__, "--build", str(path), str(answers), *more]
    return int(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)


EACH = 200_000
"""Answers of a run of a store that grows, at least."""
MISSING = 100
"""Answers that are taken out of a run before it is continued."""


@contextmanager
def growing(folder: Path, engine: str) -> Iterator[str]:
    if engine == "sqlite":
        yield str(folder.resolve() / "growing.db")
        return
    from postgres import own_postgres

    with own_postgres(durable=True) as server:
        yield server.uri


def sizes(folder: Path, engines: Sequence[str], wanted: Sequence[int]) -> None:
    """The same run and the same commands while the store around it grows."""
    heads = ("store", "answers", "MB", "bytes an answer", "prompts stored", "built, CPU ms an answer", *_COMMANDS,
             "after `store compact`")  # fmt: skip
    print(f"| {' | '.join(heads)} |")
    print(f"|{'---|' * len(heads)}", flush=True)
    command = [sys.executable, __file__, "--planned"]
    run, each = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.split()
    for engine in engines:
        with growing(folder, engine) as where:
            for size in wanted:
                cells = [*_grown(where, int(each), max(1, round(size / int(each))))]
                print(f"| {_NAMES[engine]} | {' | '.join(cells)} |", end="", flush=True)
                for arguments in _COMMANDS.values():
                    found = _command(folder, where, run, arguments)
                    print(f" {found.cpu:.2f} s, {found.memory:.0f} MB |", end="", flush=True)
                print(f" {_compacted(folder, where)} |", flush=True)


def one_run(folder: Path, wanted: Sequence[int]) -> None:
    """The report of one run by its size: the first, which scores everything, and the second."""
    heads = ("answers of one run", "report", "wall s", "CPU s", "CPU ms an answer", "memory MB, largest process")
    print(f"| {' | '.join(heads)} |\n|{'---|' * len(heads)}", flush=True)
    for size in wanted:
        own = folder / f"one-run-{size}"
        own.mkdir(exist_ok=True)
        if not (path := own / "eqlab.db").exists():
            _in_own_process(path, size)
        answers = _answers(str(path))
        for kept in own.rglob("scores/*.db*"):
            kept.unlink()
        for which in ("first", "second"):
            found = _command(own, str(path), "last", ("report", "{run}", "-o", "report.html"))
            cells = (f"{answers:,}", which, f"{found.wall:.1f}", f"{found.cpu:.1f}",
                     f"{1000 * found.cpu / answers:.3f}", f"{found.memory:.0f}")  # fmt: skip
            print(f"| {' | '.join(cells)} |", flush=True)


def _answers(where: str) -> int:
    from eqlab.store.access import open_reader

    with open_reader(where) as store:
        return sum(store.attempts().values())


def planned() -> tuple[str, int]:
    """The run that is looked at, and its answers; in a process of its own, since that needs memory."""
    repeats = _repeats(EACH, "0")
    return _prepare(MODELS, repeats, "0").config.id, MODELS * sum(1 for _ in _prepare(1, repeats, "0").plan())


_NAMES = {"sqlite": "SQLite", "postgresql": "PostgreSQL"}


def _grown(where: str, each: int, runs: int) -> Iterator[str]:
    """A store of so many runs, as far as they are missing: answers, size, size of one, prompts, CPU of building one."""
    begun, missing = _children(), range(_runs(where), runs)
    if missing:
        _in_own_process(where, EACH, *map(str, missing))
    answers, took = max(runs, missing.start) * each, _bytes(where)
    yield from (f"{answers:,}", f"{took / 1e6:,.0f}", f"{took / answers:.0f}", f"{_prompts(where):,}")
    yield f"{(_children() - begun) / (len(missing) * each) * 1000:.3f}" if missing else "–"  # of --keep


def _runs(where: str) -> int:
    from eqlab.store.access import open_reader

    if "://" not in where and not Path(where).exists():
        return 0
    with open_reader(where) as store:
        return len(store.run_ids())


def _prompts(where: str) -> int:
    from eqlab.store.access import open_reader

    with open_reader(where) as store:
        return int(next(iter(store.rows("SELECT count(*) FROM trials", {})))[0])


def _command(folder: Path, where: str, run: str, arguments: Sequence[str]) -> Measured:
    own = [argument.format(run=run) for argument in arguments]
    if own[0] == "resume":
        _take_out(where, run)
        with serving(0.0, PORT):
            found = measured([sys.executable, __file__, "--resume", where], folder)
    else:
        found = eqlab(*own, "--store", where, folder=folder)
    if found.code:
        raise SystemExit((folder / "output.txt").read_text())
    return found


def _compacted(folder: Path, where: str) -> str:
    """What is left of a file, in per cent; a server's tables are its own."""
    if "://" in where:
        return "–"
    before = _bytes(where)
    _command(folder, where, "", ("runs", "store", "compact"))
    return f"{100 * _bytes(where) / before:.0f} %"


_COMMANDS = {
    "`runs`": ("runs",),
    "`runs show`": ("runs", "show", "{run}"),
    "`compare` two": ("compare", "{run}:bench/model-000", "{run}:bench/model-001"),
    "`export`": ("runs", "export", "{run}", "-o", "run.parquet"),
    "`report` of the run": ("report", "{run}", "-o", "report.html"),
    "continued, 100 answers missing": ("resume",),
}


def resume(where: str) -> None:
    import eqlab as api

    prepared = _prepare(MODELS, _repeats(EACH, "0"), "0")
    with api.open_store(where) as store:
        api.run(prepared, store, concurrency=64)
        left = [planned - answered for answered, planned in store.progress(prepared.config.id).values()]
    if any(left):
        raise SystemExit(f"{sum(left)} trials are not answered.")


def _take_out(where: str, run: str) -> None:
    from sqlalchemy import text

    from eqlab.store.engine import open_engine

    engine = open_engine(where)
    with engine.begin() as connection:
        some = "SELECT trial_id FROM answers WHERE run_id = :run AND subject = :who AND repeat = 0 LIMIT :count"
        taken = connection.execute(
            text(f"DELETE FROM answers WHERE run_id = :run AND subject = :who AND repeat = 0 AND trial_id IN ({some})"),
            {"run": run, "who": "model:bench/model-000", "count": MISSING},
        )
    engine.dispose()
    if taken.rowcount != MISSING:
        raise SystemExit(f"{taken.rowcount} answers were taken out instead of {MISSING}.")


def _bytes(where: str) -> int:
    if "://" not in where:
        return sum(path.stat().st_size for path in Path(where).parent.glob(f"{Path(where).name}*"))
    from sqlalchemy import text

    from eqlab.store.engine import open_engine

    engine = open_engine(where)
    with engine.connect() as connection:
        size = int(connection.execute(text("SELECT pg_database_size(current_database())")).scalar_one())
    engine.dispose()
    return size


def _children() -> float:
    """Seconds of CPU of the processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def running(folder: Path, counts: list[int]) -> None:
    """The same run with few and many trials; the report is left out by measuring `eqlab run` on EQ-Bench alone."""
    print(f"\n{'trials of one run, 64 in flight':<44} {'wall s':>8} {'CPU s':>8} {'memory MB':>10}")
    with serving(0.0) as url:
        for count in counts:
            own = folder / f"run-{count}"
            own.mkdir()
            code = (
                "import eqlab as api\n"
                f"request = api.Request(('m',), ('eqbench',), base_url={url!r}, limit=50, repeats={count // 50})\n"
                "api.run(api.prepare(request), api.open_store(), concurrency=64)\n"
            )
            _line(str(count), measured([sys.executable, "-c", code], own))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--answers", type=int, default=200_000)
    parser.add_argument("--trials", type=int, nargs="*", default=[2_000, 50_000])
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="Leave the store and the report here.")
    parser.add_argument("--sizes", type=int, nargs="+", help="Instead: answers of one store that grows.")
    parser.add_argument("--one-run", type=int, nargs="+", help="Instead: answers of one run that is reported.")
    parser.add_argument("--engines", nargs="+", choices=list(_NAMES), default=list(_NAMES))
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        if arguments.sizes:
            sizes(folder, arguments.engines, arguments.sizes)
            return
        if arguments.one_run:
            one_run(folder.resolve(), arguments.one_run)
            return
        if arguments.answers:
            looking(folder, arguments.answers)
        if arguments.trials:
            running(folder, arguments.trials)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--planned"]:
        print(*planned())
    elif sys.argv[1:2] == ["--resume"]:
        resume(sys.argv[2])
    elif sys.argv[1:2] == ["--build"]:
        print(build(sys.argv[2], int(sys.argv[3]), sys.argv[4:] or ("",)))
    else:
        main()
