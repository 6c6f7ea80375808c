"""Bad days after a run: files that cannot be written, stores that may only be read, are corrupt or opened by many.

Each command of `eqlab` runs in a process of its own over a store with one run. What stood in the file before must
stand there afterwards, whole; nothing may end in a traceback.

    python bench/fault_files.py [NAME …]"""

import os
import re
import resource
import sqlite3
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import _support  # noqa: F401
from fault_server import none, serving
from fault_world import disk_of

import eqlab as api

OLD = "what was there before\n"
BOARD = '{"format": "eqlab-leaderboard", "built_at": 1, "tables": [], "files": []}'


@dataclass(frozen=True, slots=True)
class Case:
    name: str
    world: Callable[[Path], Iterator[str]]
    """Breaks something in a folder with a store `s.db`; says, when it goes on, what became of it."""
    command: str
    megabytes: int = 0


def full(file: str) -> Callable[[Path], Iterator[str]]:
    """No room for a byte in the folder `full`, and something older in the new file's place."""

    def world(folder: Path) -> Iterator[str]:
        place = folder / "full"
        place.mkdir()
        with disk_of(place, 1):
            path = place / file
            path.parent.mkdir(exist_ok=True)
            path.write_text(OLD)
            if file == "site/index.html":
                (path.parent / "board.json").write_text(BOARD)
            _fill(place)
            yield ""
            left = [one.name for one in place.rglob("*.part")]
            old = "what was there is whole" if path.read_text() == OLD else "HALF WRITTEN"
            yield f"{old}, {', '.join(left) or 'nothing'} left beside it"

    return world


def full_around_the_store(folder: Path) -> Iterator[str]:
    """The store's own disk is full: what is in it can be read all the same."""
    _fill(folder)
    yield ""
    yield ""


def _fill(folder: Path) -> None:
    with (folder / "filler").open("wb", buffering=0) as taken, suppress(OSError):
        while True:
            taken.write(bytes(4096))


def folder_as_file(file: str) -> Callable[[Path], Iterator[str]]:
    def world(folder: Path) -> Iterator[str]:
        (folder / file).mkdir()
        yield ""
        yield "the folder is empty" if not any((folder / file).iterdir()) else "SOMETHING IN IT"

    return world


def read_only(folder: Path) -> Iterator[str]:
    """A disk that is mounted for reading alone."""
    before = (folder / "s.db").read_bytes()
    subprocess.run(["mount", "-o", "remount,ro", str(folder)], check=True)
    yield ""
    yield "the store is as it was" if (folder / "s.db").read_bytes() == before else "CHANGED"


def corrupt(folder: Path) -> Iterator[str]:
    """A page in the middle overwritten."""
    path = folder / "s.db"
    raw = bytearray(path.read_bytes())
    raw[4096 * 2 : 4096 * 12] = b"\xff" * 4096 * 10
    path.write_bytes(raw)
    yield ""
    yield ""


def many(folder: Path) -> Iterator[str]:
    """Sixteen threads open new stores at once."""
    errors: list[Exception] = []

    def open_one(number: int) -> None:
        try:
            api.open_store(str(folder / f"new{number % 4}.db")).close()
        except Exception as error:  # noqa: BLE001 - whatever it is, it is the finding
            errors.append(error)

    threads = [threading.Thread(target=open_one, args=(number,)) for number in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    yield ""
    yield f"{len(errors)} of 16 threads failed"


CASES = (
    *(
        Case(f"no room for {what}", full(file), command)
        for what, file, command in (
            ("a report", "r.html", "report -o full/r.html"),
            ("CSV", "x.csv", "export last -o full/x.csv"),
            ("JSON lines", "x.jsonl", "export last -o full/x.jsonl"),
            ("Parquet", "x.parquet", "export last -o full/x.parquet"),
            ("a picture", "x.svg", "plot -o full/x.svg"),
            ("a leaderboard", "site/index.html", "leaderboard build full/site"),
        )
    ),
    *(
        Case(f"the store's own disk is full: {command.split()[0]}", full_around_the_store, command, megabytes=8)
        for command in ("show last --limit 1", "report -o {out}/r.html", "export last -o {out}/x.csv")
    ),
    Case(
        "the store's own disk is full: run",
        full_around_the_store,
        "run other --base-url {url} -b eqbench --limit 1",
        megabytes=8,
    ),
    Case("a folder given as a report", folder_as_file("r.html"), "report -o r.html"),
    Case("a folder given as CSV", folder_as_file("x.csv"), "export last -o x.csv"),
    Case("a folder given as a picture", folder_as_file("x.svg"), "plot -o x.svg"),
    *(
        Case(f"a store that may only be read: {command.split()[0]}", read_only, command, megabytes=8)
        for command in ("show last --limit 1", "report -o {out}/r.html", "export last -o {out}/x.csv", "runs")
    ),
    Case("a store that may only be read: run", read_only, "run n --base-url {url} -b eqbench --limit 1", megabytes=8),
    Case("a corrupt store: show", corrupt, "show last --limit 1"),
    Case("a corrupt store: report", corrupt, "report -o r.html"),
    Case("a corrupt store: store check", corrupt, "store check"),
    Case("sixteen threads open four new stores", many, "runs"),
)


def play(case: Case, folder: Path, out: Path, url: str) -> tuple[int, str, str]:
    """Exit code, what was said, what became of the files."""
    with disk_of(folder, case.megabytes):
        request = api.Request(models=("m",), benchmarks=("eqbench",), profile="full", base_url=url, limit=30)
        store = api.open_store(str(folder / "s.db"))
        api.run(api.prepare(request), store, concurrency=4)
        store.close()
        with sqlite3.connect(folder / "s.db") as connection:  # nothing left in the log
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        connection.close()
        world = case.world(folder)
        next(world)
        arguments = case.command.format(out=out, url=url).split()
        done = subprocess.run(
            [sys.executable, "-c", "from eqlab.cli.main import main; main()", *arguments, "--store", "s.db"],
            cwd=folder,
            env=os.environ | {"EQLAB_HOME": str(out / "home"), "COLUMNS": "400"},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        became = next(world)
    lines = [line for line in (done.stderr or done.stdout).splitlines() if line.strip()]
    telling = [line for line in lines if line.startswith(("eqlab:", "Traceback"))]
    return done.returncode, (telling or [""])[0].replace(str(folder), "…"), became


@contextmanager
def open_folder() -> Iterator[Path]:
    """One that another user may enter."""
    with tempfile.TemporaryDirectory() as scratch:
        Path(scratch).chmod(0o777)
        yield Path(scratch)


def main() -> None:
    wanted = sys.argv[1:]
    print("| fault | what the user sees | afterwards |")
    print("|---|---|---|")
    with serving(none) as server:
        for case in CASES:
            if wanted and not any(name in case.name for name in wanted):
                continue
            with open_folder() as folder, open_folder() as out:
                code, said, became = play(case, folder, out, server.url)
            said = re.sub(r"\d{4,}", "…", said.replace("|", "/"))
            print(f"| {case.name} | exit {code}{': ' + said if said else ''} | {became} |", flush=True)


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    main()
