"""Does each promise about bad days have a test that fails when the promise is broken?

A mutant is this tree with one small change that breaks one promise and nothing else (mutants.toml). The test that
holds the promise is run against it in a copy, and has to fail; first all of them have to pass unchanged.

    python bench/mutants.py [POINT | WORD …]"""

import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
LONGEST = 150.0
"""Seconds. A mutant that makes a test wait for ever is noticed as well."""
_NOT_COPIED = shutil.ignore_patterns(".git", ".venv*", "__pycache__", ".*_cache", "site", "*.egg-info")
_FAILED = re.compile(r"^FAILED (?:\S*/)?(\w+\.py::\w+)", re.MULTILINE)
_MISTAKE = re.compile(
    r"^(?:ERROR |E +(?:NameError|ImportError|ModuleNotFoundError|SyntaxError|IndentationError)\b)", re.M
)
"""What fails by itself has noticed a broken program, not a broken promise."""


@dataclass(frozen=True, slots=True)
class Mutant:
    point: int
    promise: str
    how: str
    """It is broken, in plain words."""
    file: str
    text: str
    instead: str
    test: str


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("wanted", nargs="*", help="a point of the list, or a word of a promise; all without any")
    wanted = parser.parse_args().wanted
    listed = tomllib.loads((ROOT / "bench" / "mutants.toml").read_text(encoding="utf-8"))["mutant"]
    cases = [case for case in (Mutant(**one) for one in listed) if _is_wanted(case, wanted)]
    with tempfile.TemporaryDirectory(prefix="eqlab-mutants-") as scratch:
        tree = copied(Path(scratch))
        tests = list(dict.fromkeys(case.test for case in cases))
        code, said = run(tree, tests, longest=20 * LONGEST)
        if code:
            print(f"Without any mutant tests fail already:\n{said[-3000:]}", file=sys.stderr)
            return 2
        print("| point | promise | broken by | noticed by |\n|---|---|---|---|", flush=True)
        ends = [told(tree, case) for case in cases]
    print(f"\n{sum(ends)} of {len(ends)} mutants were noticed, by {len(tests)} tests.")
    return 0 if all(ends) else 1


def _is_wanted(case: Mutant, wanted: Sequence[str]) -> bool:
    return not wanted or any(word == str(case.point) or word in case.promise for word in wanted)


def copied(scratch: Path) -> Path:
    """This tree, and beside it whatever the tests look for there."""
    shutil.copytree(ROOT, scratch / "tree", ignore=_NOT_COPIED, symlinks=True)
    if (ROOT.parent / "shared").exists():
        (scratch / "shared").symlink_to((ROOT.parent / "shared").resolve())
    return scratch / "tree"


def told(tree: Path, case: Mutant) -> bool:
    """Print what became of a mutant; whether it was noticed."""
    try:
        with broken(tree / case.file, case.text, case.instead):
            end = verdict(*run(tree, [case.test]))
    except LookupError as error:
        end = f"**{error}**"
    print(f"| {case.point} | {case.promise} | {case.how} | {end} |", flush=True)
    return "**" not in end


@contextmanager
def broken(path: Path, text: str, instead: str) -> Iterator[None]:
    whole = path.read_text(encoding="utf-8")
    if whole.count(text) != 1:
        raise LookupError("text not found" if text not in whole else "text found twice")
    path.write_text(whole.replace(text, instead), encoding="utf-8")
    try:
        yield
    finally:
        path.write_text(whole, encoding="utf-8")


def run(tree: Path, tests: Sequence[str], longest: float = LONGEST) -> tuple[int | None, str]:
    """The exit code, None for tests that do not end, and what pytest said."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-rf", "--tb=short", "-o", "addopts=", *tests]
    environment = os.environ | {"PYTHONPATH": str(tree / "src"), "PYTHONDONTWRITEBYTECODE": "1", "COLUMNS": "200"}
    running = subprocess.Popen(
        [*command, "-p", "no:cacheprovider"],
        cwd=tree,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        said, _ = running.communicate(timeout=longest)
        return running.returncode, said
    except subprocess.TimeoutExpired:
        with suppress(ProcessLookupError):
            os.killpg(running.pid, signal.SIGKILL)
        return None, running.communicate()[0]


def verdict(code: int | None, said: str) -> str:
    """Which test noticed it; in bold what is no success."""
    failed = _FAILED.search(said)
    if code is None:
        return "**did not end**"
    if code == 0:
        return "**survived**"
    if code != 1 or not failed or _MISTAKE.search(said):
        return f"**broken program** ({' '.join(said.split())[-200:]})"
    return f"`{failed[1]}`"


if __name__ == "__main__":
    sys.exit(main())
