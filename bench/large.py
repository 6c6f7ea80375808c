"""Large stores and large runs: how long looking and reporting take, and whether memory grows with a run.

Builds a store of many answers (through the product's own planning, reading and storing, no model asked), then times
`eqlab runs show`, `runs`, `report`, `runs store check`, `backup` and `compact` in processes of their own; then runs few
and many trials against a loopback server and compares the highest memory of the two.

    python bench/large.py [--answers 200000] [--trials 2000 50000] [--keep FOLDER]
"""

import argparse
import math
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import _support  # noqa: F401
from loopback import Measured, eqlab, measured, serving

from eqlab.core.answers import Answer, Reading
from eqlab.core.trials import Trial

if TYPE_CHECKING:
    from eqlab.runs.request import Prepared

MODELS = 50


def build(path: str, wanted: int) -> int:
    """One run of many models on all benchmarks, every trial answered; returns how many answers there are."""
    import eqlab as api
    from eqlab.runs.identity import provenance

    store = api.open_store(path)
    once, twice = (sum(1 for _ in _prepare(1, repeats).plan()) for repeats in (1, 2))
    repeats = max(1, 1 + math.ceil((wanted / MODELS - once) / (twice - once)))
    one = _prepare(1, repeats)
    plan = [(name, trial, repeat) for _, name, trial, repeat in one.plan()]
    config = _prepare(MODELS, repeats).config
    run, subjects = config.id, [model.subject for model in config.models]
    everything = ((subject, *rest) for subject in subjects for rest in plan)  # planned once: models are asked the same
    store.begin_run(config, everything, provenance({}))
    said = {trial.id: _said(one, name, trial) for name, trial, _ in plan}
    for subject in subjects:
        answers = [_answer(run, subject, trial, repeat, *said[trial.id]) for _, trial, repeat in plan]
        store.add_answers(answers)
    store.close()
    return len(plan) * len(subjects)


def _prepare(models: int, repeats: int) -> "Prepared":
    from eqlab.benchmarks.registry import load, names
    from eqlab.core.benchmark import item_sets_of
    from eqlab.runs.request import Request, prepare

    specs = tuple(f"bench/model-{number:03}" for number in range(models))
    return prepare(
        Request(
            specs,
            tuple(name for name in names() if "open" in item_sets_of(load(name))),
            profile="full",
            repeats=repeats,
            structured=False,
            base_url="http://localhost:9/v1",
        )
    )


def _said(prepared: "Prepared", name: str, trial: Trial) -> tuple[str, Reading]:
    from server import answer_to

    asked, text = prepared.asked[name], answer_to(trial.prompt)
    return text, asked.benchmark.read(trial, text, asked.options)


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
        finish="stop",
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


def _in_own_process(path: Path, answers: int) -> int:
    """Building needs memory, and a process's highest memory is counted from its parent's on."""
    command = [sys.executable, __file__, "--build", str(path), str(answers)]
    return int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


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
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        if arguments.answers:
            looking(folder, arguments.answers)
        if arguments.trials:
            running(folder, arguments.trials)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--build"]:
        print(build(sys.argv[2], int(sys.argv[3])))
    else:
        main()
