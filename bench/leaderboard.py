"""How long a leaderboard of many models takes, and how large its front page is.

Takes the published EQ-Bench results, copies them under other names until there are enough (each reply gets a mark of
its own, so that no copy is recognised as one), and builds the site in a fresh process as a user would. The promise is
under 5 s for 100 models and a front page under 150 kB for any number; measure on a quiet machine.

    python bench/leaderboard.py --data DIR [--models 100]
"""

import argparse
import json
import shutil
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from loopback import eqlab, measured

QUESTIONS = "eqbench/data/eq_bench_v2_questions_171.json"


def many(data: Path, target: Path, models: int) -> None:
    """A data folder with this many result files."""
    sources = sorted((data / "eqbench" / "results").rglob("*.json"))
    (target / "eqbench" / "results").mkdir(parents=True)
    (target / "eqbench" / "data").mkdir()
    shutil.copy(data / QUESTIONS, target / QUESTIONS)
    for number in range(models):
        body = json.loads(sources[number % len(sources)].read_bytes())
        copy = number // len(sources)
        if copy:
            body["model_path"] = f"{body['model_path']}-copy-{copy}"
            for iteration in body["raw_results"].values():
                replies = iteration["raw_inference"]
                iteration["raw_inference"] = {key: f"{reply}\n({copy})" for key, reply in replies.items()}
        (target / "eqbench" / "results" / f"{number:04d}.json").write_text(json.dumps(body))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--models", type=int, default=100)
    arguments = parser.parse_args()
    built = build(arguments.data, arguments.models)
    print(
        f"{arguments.models} models: {built.seconds:.2f} s ({built.cpu:.2f} s of CPU), {built.memory:.0f} MB, "
        f"front page {built.front / 1000:.0f} kB, largest page {built.largest / 1000:.0f} kB"
    )


@dataclass(frozen=True, slots=True)
class BuiltBoard:
    seconds: float
    cpu: float
    memory: float
    """MB at the highest, of its largest process."""
    front: int
    """Bytes of the front page."""
    largest: int
    """Bytes of the largest page."""


def build(source: Path, models: int) -> BuiltBoard:
    with tempfile.TemporaryDirectory() as folder:
        data, site = Path(folder) / "data", Path(folder) / "site"
        many(source, data, models)
        measured([sys.executable, "-c", "import eqlab.publish.leaderboard.build, polars"], Path(folder))
        command = ("leaderboard", "build", str(site), "--no-runs", "--published", "--data", str(data))
        built = eqlab(*command, folder=Path(folder))
        if built.code:
            raise SystemExit((Path(folder) / "output.txt").read_text())
        largest = max(page.stat().st_size for page in site.rglob("*.html"))
        return BuiltBoard(built.wall, built.cpu, built.memory, (site / "index.html").stat().st_size, largest)


if __name__ == "__main__":
    main()
