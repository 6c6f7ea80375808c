"""The output that the documentation shows, made by the commands it shows: `make docs-output` rewrites every marked
block, and a test compares the quick ones, so that nothing shown can go stale.

A block is marked by a comment on the line before it: `<!-- output -->`, with `lines=12` (the rest is cut), `columns=90`
(the terminal's width), `before=replies` (what must be there and is not shown) or `slow` (embedded model, large tables:
rewritten, not compared). The blocks of a page are run in their order, in one empty folder with one empty store. Models
without a provider are stand-ins on loopback that answer by rule; docs write their address as http://127.0.0.1:8000/v1."""

import contextlib
import io
import os
import re
import shlex
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
SHOWN = "http://127.0.0.1:8000/v1"
FOLDER = "/home/you"
MARK = re.compile(r"<!-- output(?P<how>[^>\n]*) -->\n```console\n(?P<body>.*?)```", re.DOTALL)
IDS = ("815b0286dc", "3fa1c0de77", "91b2c4d8e0", "c07e55a1b9", "5d20f6a3c4", "e8b1907d62")
"""Run ids of a page in the order they are printed: they depend on the address of the server, docs must not."""
RATINGS = """rater,arm,prompt,rating
ann,model-a,sad-1,good
ann,model-b,sad-1,bad
bob,model-a,sad-1,3
bob,model-b,sad-1,okay
bob,model-b,joyful-1,2
cem,model-b,sad-1,excellent
"""
EXTERNAL = "ratings.csv"
_PAGE = 9.0
"""Seconds that somebody takes for a page of a study."""
_RUN = re.compile(
    r"(?:(?<=[Rr]un )|(?<=show )|(?<=compare )|(?<=report )|\b(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f]))[0-9a-f]{10}\b"
)
"""A run's id; one of digits alone is known by the word before it."""
_PROGRESS = re.compile(r"trials? to ask|answered|^[\w ,.:-]*\d$")
"""Lines that say how far a run is: they depend on the machine's speed."""


def marked(text: str) -> list[tuple[str, str]]:
    """(how, body) of every marked block."""
    return [(found["how"].strip(), found["body"]) for found in MARK.finditer(text)]


def reply(body: dict[str, Any], references: dict[str, dict[str, float]]) -> str:
    """What a stand-in says: `careful` is near the references, `careless` far, `warm` and `cold` write replies, `strict`
    and `mild` are judges. The same words for the same question, always."""
    import random

    model, prompt = str(body["model"]), str(body["messages"][-1]["content"])
    draw = random.Random(f"{model} {prompt} {body.get('seed', 0)}")
    if prompt in references:
        near = {"careful": 0.85, "steady": 0.7}.get(model, 0.2)
        return "\n".join(
            f"{word}: {value if draw.random() < near else draw.randint(0, 10)}"
            for word, value in references[prompt].items()
        )
    if "First, Tie or Second" in prompt:
        first, _, second = prompt.partition("Second reply:")
        kinder = ("I am so glad" in first) - ("I am so glad" in second)
        return draw.choice(("First", "Tie") if kinder > 0 else ("Second", "Tie") if kinder < 0 else ("Tie", "First"))
    if "Bad, Okay or Good" in prompt:
        kind = "I am so glad you told me" in prompt
        level = (2 if kind else 1) + draw.choice((0, 0, 1)) - (model == "strict") * draw.choice((0, 1))
        return ("Bad", "Okay", "Good")[max(0, min(2, level))]
    if model == "cold":
        return draw.choice(("Okay.", "These things happen.", "I see. Good luck with that."))
    return draw.choice(("I am so glad you told me. That must hurt.", "Oh, I am so glad you told me! What a day."))


@contextlib.contextmanager
def stand_ins() -> Iterator[str]:
    """The address of a server on loopback."""
    import asyncio

    from aiohttp import web

    from eqlab.publish.tools.tasks import exported

    references = {one.trial.prompt: one.trial.key["reference"] for one in exported("eqbench", profile="full").questions}

    async def chat(request: web.Request) -> web.Response:
        body = await request.json()
        text = reply(body, references)
        usage = {"prompt_tokens": len(str(body["messages"])) // 4, "completion_tokens": len(text) // 4 + 1}
        message = {"message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
        return web.json_response({"model": body["model"], "choices": [message], "usage": usage})

    loop, begun, address = asyncio.new_event_loop(), threading.Event(), []

    async def serve() -> web.AppRunner:
        app = web.Application(client_max_size=2**26)
        app.router.add_post("/v1/chat/completions", chat)
        runner = web.AppRunner(app, shutdown_timeout=0.1)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        address.append(f"http://127.0.0.1:{runner.addresses[0][1]}/v1")
        return runner

    def work() -> None:
        asyncio.set_event_loop(loop)
        runner = loop.run_until_complete(serve())
        begun.set()
        loop.run_forever()
        loop.run_until_complete(runner.cleanup())
        loop.close()

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    begun.wait(10)
    try:
        yield address[0]
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join(10)


def printed(command: str, url: str, columns: str) -> tuple[str, int]:
    """What a command prints, complaints first, and its exit code: eqlab in this process, a script in one of its own."""
    from eqlab.cli.main import main

    program, *arguments = shlex.split(command.replace(SHOWN, url), comments=True)
    if program == "python":
        done = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=False)
        return done.stderr + done.stdout, done.returncode
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
    complaints = [line for line in err.getvalue().splitlines() if not _PROGRESS.search(line)]
    return "\n".join([*complaints, out.getvalue()]), code


def set_up(name: str, url: str) -> None:
    """What has to be there before a block, and is not shown: `replies` of two models, or `people` who took a study."""
    if name == "replies":
        printed(f"eqlab run warm cold -b empathy --limit 40 --base-url {SHOWN}", url, "110")
    elif name == "people":
        set_up("replies", url)
        printed("eqlab study init rating --arm cold=last:cold --arm warm=last:warm", url, "110")
        printed("eqlab study lock rating.toml", url, "110")
        take_part(Path("rating.toml"), 24)


def take_part(study: Path, people: int) -> None:
    """People who pass every check and find warm replies better, more or less."""
    import random

    from eqlab.store.open import open_store
    from eqlab.store.study.participation import Participation
    from eqlab.study.build_design import open_study

    class Clock:
        now = time.time()

        def __call__(self) -> float:
            return self.now

    clock, store = Clock(), open_store()
    participation = Participation(store, open_study(study, store)[1], clock)
    for number in range(people):
        person, draw = participation.arrive(f"{number:064x}", "en"), random.Random(number)
        mood = draw.choice((-1, 0, 0, 1))
        while (view := participation.look(person)).step is not None:
            if view.step.kind == "consent":
                participation.consent(person, agreed=True)
                continue
            values = {}
            if view.trial is not None:
                level = (2.3 if view.trial.key.get("arm") == "warm" else 1.8) + 0.4 * mood
                rated = {
                    one.key: max(one.low, min(one.high, round(draw.gauss(level, 0.7))))
                    for one in view.trial.form.scales
                }
                values = dict(view.trial.key.get("right") or rated)
            clock.now += _PAGE
            participation.save(person, view.number, view.attempt, values, shown_at=clock.now - _PAGE)
    store.close()


def steady(text: str, url: str, folder: Path, ids: dict[str, str]) -> str:
    """Without what differs from machine to machine: addresses, folders, run ids, dates, times."""
    text = text.replace(url, SHOWN).replace(str(folder.resolve()), FOLDER)

    def known(found: re.Match[str]) -> str:
        return ids.setdefault(found.group(), IDS[len(ids) % len(IDS)])

    text = _RUN.sub(known, text)
    text = re.sub(r"\b20\d\d-\d\d-\d\d \d\d:\d\d(?::\d\d)? UTC", "2026-11-15 12:00 UTC", text)
    lines, timed = [], False
    for line in text.splitlines():
        timed = "seconds a reply" in line or (timed and bool(line.strip()))
        line = re.sub(r"(?:< )?\d+\.\d\d\s*$", "0.01", line) if timed else line
        lines.append(line.rstrip())
    return "\n".join(lines).strip("\n")


def page(text: str, url: str, *, slow: bool) -> str:
    """A page with the output of its marked blocks made anew; slow ones only if asked for."""
    here, ids = Path.cwd(), dict[str, str]()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        os.chdir(folder)
        os.environ["EQLAB_HOME"] = str(folder / "home")
        (folder / EXTERNAL).write_text(RATINGS, encoding="utf-8")

        def made(found: re.Match[str]) -> str:
            how = dict(part.partition("=")[::2] for part in found["how"].split())
            if "slow" in how and not slow:
                return found.group()
            if "before" in how:
                set_up(how["before"], url)
            body, code = "", 0
            for command in re.findall(r"^\$ (.*)$", found["body"], flags=re.MULTILINE):
                if command == "echo $?":
                    body += f"$ echo $?\n{code}\n"
                    continue
                text, code = printed(command, url, how.get("columns", "110"))
                said = steady(text, url, folder, ids).splitlines()
                cut = int(how.get("lines", "0")) or len(said)
                shown = [*said[:cut], *(["…"] if len(said) > cut else [])]
                body += "\n".join([f"$ {command}", *shown]) + "\n"
            return f"<!-- output{found['how']} -->\n```console\n{body}```"

        try:
            return MARK.sub(made, text)
        finally:
            os.chdir(here)


def main() -> None:
    os.environ["EQLAB_API_KEY"] = "none"
    data = os.environ.get("EQLAB_DATA") or str(ROOT.parent / "shared" / "published")
    os.environ["EQLAB_DATA"] = data
    quick = "--quick" in sys.argv
    names = [name for name in sys.argv[1:] if not name.startswith("-")]
    with stand_ins() as url:
        for path in sorted((ROOT / "docs").glob("*.md")):
            text = path.read_text(encoding="utf-8")
            if marked(text) and (not names or path.stem in names):
                new = page(text, url, slow=not quick)
                path.write_text(new, encoding="utf-8")
                sys.stdout.write(f"{path.name}: {'rewritten' if new != text else 'as it was'}\n")


if __name__ == "__main__":
    main()
