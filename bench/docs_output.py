"""The output that the documentation shows, made by the commands it shows: `make docs-output` rewrites every marked
block, and a test compares the quick ones, so that nothing shown can go stale.

A block is marked by a comment on the line before it: `<!-- output -->`, with `lines=12` (the rest is cut),
`after=What_it_took` (shown from that line on), `columns=90` (the terminal's width), `before=replies` (what must be
there and is not shown, see docs_before.py) or `slow` (embedded model, large tables: rewritten, not compared).
`<!-- file ward.toml -->` before a block writes it to that file. The blocks of a page are run in their order, in one
empty folder with one empty store; `<!-- fresh -->` on a line of its own begins another. Models without a provider are
stand-ins on loopback (docs_models.py); docs write their address as http://127.0.0.1:8000/v1."""

import contextlib
import io
import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

from docs_before import set_up
from docs_models import stand_ins

ROOT = Path(__file__).parent.parent
SHOWN = "http://127.0.0.1:8000/v1"
FOLDER = "/home/you"
FRESH = "<!-- fresh -->\n"
MARK = re.compile(r"<!-- (?P<kind>output|file)(?P<how>[^>\n]*) -->\n```(?P<lang>\w*)\n(?P<body>.*?)```", re.DOTALL)
_COMMAND = re.compile(r"^\$ ((?:.*\\\n)*.*)$", re.MULTILINE)
IDS = (
    "815b0286dc",
    "3fa1c0de77",
    "91b2c4d8e0",
    "c07e55a1b9",
    "5d20f6a3c4",
    "e8b1907d62",
    "4ac19be077",
    "d1f3508c2e",
    "77e0d4b91a",
    "0b6c3fe215",
    "a95d21f7c8",
    "2e84b07d3f",
)
"""Run ids of a page in the order they are printed: they depend on the address of the server, docs must not."""
_RUN = re.compile(r"(?<![\w.,])(?=[a-f]*\d)[0-9a-f]{10}(?![\w]|[.,]\d)")
"""A run's id, which may be of digits alone; never a word, nor a part of a number."""
_PROGRESS = re.compile(r"trials? to ask|^\d+ of \d+ simul|\d answered|% copied|^[\w ,.:-]*\d$")
"""Lines that say how far a run is: they depend on the machine's speed."""
_ALWAYS = (
    (r"\b20\d\d-\d\d-\d\d \d\d:\d\d(?::\d\d)? UTC", "2026-11-15 12:00 UTC"),
    (r"\b[0-9a-f]{64}\b", "9f2c4e" * 10 + "9f2c"),
    (r"(?<=key )[0-9a-f]{16}\b", "38da87cb40adbbd8"),
    (r"(?<=for this start: )\S+", "RetwfrWr-lMj"),
    (r"http://127\.0\.0\.1:\d{5}\b", "http://127.0.0.1:8000"),
)
"""What differs from run to run and says nothing."""


def marked(text: str) -> list[tuple[str, str]]:
    """(how, body) of every block whose output is made."""
    return [(found["how"].strip(), found["body"]) for found in MARK.finditer(text) if found["kind"] == "output"]


def printed(command: str, url: str, columns: str) -> tuple[str, int]:
    """What a command prints and its exit code: eqlab in this process, others in one of their own. Complaints come
    first, or last if it failed."""
    from eqlab.cli.main import main

    line = command.replace("\\\n", " ").replace(SHOWN, url)
    program, *arguments = shlex.split(line, comments=True)
    if program != "eqlab":
        beside = Path(sys.executable).parent / program
        done = subprocess.run(
            [sys.executable if program == "python" else str(beside), *arguments],
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "COLUMNS": columns},
        )
        return (done.stderr if program == "python" else "") + done.stdout, done.returncode
    if arguments[:2] == ["study", "serve"]:
        return _served(arguments, columns), 0
    before, sys.argv = sys.argv, ["eqlab", *arguments]
    out, err, code = io.StringIO(), io.StringIO(), 0
    os.environ["COLUMNS"] = columns
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            main()
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 0
    finally:
        sys.argv = before
    complaints = [one for one in err.getvalue().splitlines() if not _PROGRESS.search(one)]
    return "\n".join([out.getvalue(), *complaints] if code else [*complaints, out.getvalue()]), code


def _served(arguments: list[str], columns: str) -> str:
    """What a server says when it has begun; then it is ended."""
    code = "from eqlab.cli.main import main; main()"
    process = subprocess.Popen(
        [sys.executable, "-c", code, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, "COLUMNS": columns, "PYTHONUNBUFFERED": "1"},
    )
    said = []
    for line in process.stdout or ():
        said.append(line)
        if "Ctrl-C" in line:
            break
    process.terminate()
    process.wait(20)
    return "".join(said)


def steady(text: str, url: str, folder: Path, ids: dict[str, str]) -> str:
    """Without what differs from machine to machine: addresses, folders, run ids, dates, times."""
    text = text.replace(url, SHOWN).replace(str(folder.resolve()), FOLDER)
    text = text.replace(os.environ["EQLAB_DATA"], f"{FOLDER}/published")

    def known(found: re.Match[str]) -> str:
        return ids.setdefault(found.group(), IDS[len(ids) % len(IDS)])

    text = _RUN.sub(known, text)
    for pattern, instead in _ALWAYS:
        text = re.sub(pattern, instead, text)
    lines, timed = [], False
    for line in text.splitlines():
        timed = "seconds a reply" in line or (timed and bool(line.strip()))
        line = re.sub(r"(?:< )?\d+\.\d\d\s*$", lambda found: "0.01".rjust(len(found[0])), line) if timed else line
        lines.append(line.rstrip())
    return "\n".join(lines).strip("\n")


def shown(said: list[str], how: dict[str, str]) -> list[str]:
    """The part of it that the page has room for."""
    if after := how.get("after", "").replace("_", " "):
        at = next((place for place, line in enumerate(said) if line.startswith(after)), 0)
        said = ["…", *said[at:]] if at else said
    cut = int(how.get("lines", "0")) or len(said)
    return [*said[:cut], *(["…"] if len(said) > cut else [])]


def _register(ids: dict[str, str]) -> None:
    """The runs that were prepared, oldest first, so that a page can name them."""
    from eqlab.store.access import open_reader

    store = open_reader("")
    for run in reversed(store.run_ids()):
        ids.setdefault(run, IDS[len(ids) % len(IDS)])
    store.close()


def pages() -> list[Path]:
    """README and every page of docs/."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def page(text: str, url: str, *, slow: bool) -> str:
    """A page with the output of its marked blocks made anew; slow ones only if asked for."""
    return FRESH.join(part(one, url, slow=slow) for one in text.split(FRESH))


def part(text: str, url: str, *, slow: bool) -> str:
    """The same of a part of a page, which has a folder and a store of its own."""
    here, ids = Path.cwd(), dict[str, str]()
    environment = dict(os.environ)
    with tempfile.TemporaryDirectory() as place, contextlib.ExitStack() as stack:
        folder = Path(place)
        os.chdir(folder)
        os.environ["EQLAB_HOME"] = str(folder / ".local" / "share" / "eqlab")
        done = set[str]()

        def made(found: re.Match[str]) -> str:
            if found["kind"] == "file":
                (folder / found["how"].strip()).write_text(found["body"].replace(SHOWN, url), encoding="utf-8")
                return found.group()
            how = dict(part.partition("=")[::2] for part in found["how"].split())
            if "slow" in how and not slow:
                return found.group()
            for name in how.get("before", "").split(","):
                if name and name not in done:
                    set_up(name, url, lambda line: printed(line, url, "110"), stack)
                    done.add(name)
                    _register(ids)
            body, code = "", 0
            for command in _COMMAND.findall(found["body"]):
                if command == "echo $?":
                    body += f"$ echo $?\n{code}\n"
                    continue
                real = command
                for known, instead in ids.items():
                    real = real.replace(instead, known)
                text, code = printed(real, url, how.get("columns", "110"))
                said = shown(steady(text, url, folder, ids).splitlines(), how)
                body += "\n".join([f"$ {command}", *said]) + "\n"
            return f"<!-- output{found['how']} -->\n```{found['lang']}\n{body}```"

        try:
            return MARK.sub(made, text)
        finally:
            os.chdir(here)
            for name in set(os.environ) - set(environment):
                del os.environ[name]
            os.environ.update(environment)


def main() -> None:
    os.environ["EQLAB_API_KEY"] = "none"
    data = os.environ.get("EQLAB_DATA") or str(ROOT.parent / "shared" / "published")
    os.environ["EQLAB_DATA"] = data
    os.environ["EQLAB_ITEMS"] = "open"  # pages show open items unless they say otherwise
    quick = "--quick" in sys.argv
    names = [name for name in sys.argv[1:] if not name.startswith("-")]
    with stand_ins() as url:
        for path in pages():
            text = path.read_text(encoding="utf-8")
            if marked(text) and (not names or path.stem in names):
                new = page(text, url, slow=not quick)
                now = path.read_text(encoding="utf-8")  # somebody may have written at it meanwhile
                for old, made in zip(MARK.finditer(text), MARK.finditer(new), strict=True):
                    now = now.replace(old.group(), made.group(), 1)
                path.write_text(now, encoding="utf-8")
                sys.stdout.write(f"{path.name}: {'rewritten' if new != text else 'as it was'}\n")
                sys.stdout.flush()


if __name__ == "__main__":
    main()
