"""What has to be there before a block of the documentation is run, and is not shown: replies, people, files, stricter
servers."""

import contextlib
import importlib
import os
import re
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

Run = Callable[[str], object]
SHOWN = "http://127.0.0.1:8000/v1"
RATINGS = """rater,arm,prompt,rating
ann,model-a,sad-1,good
ann,model-b,sad-1,bad
bob,model-a,sad-1,3
bob,model-b,sad-1,okay
bob,model-b,joyful-1,2
cem,model-b,sad-1,excellent
"""
_PAGE = 9.0
"""Seconds that somebody takes for a page of a study."""
_ROOT = Path(__file__).parent.parent
_KEY = "sk-strict-0123456789"


def set_up(name: str, url: str, run: Run, stack: contextlib.ExitStack) -> None:
    known: dict[str, Callable[[], object]] = {
        "ratings": lambda: Path("ratings.csv").write_text(RATINGS, encoding="utf-8"),
        "replies": lambda: run(f"eqlab run warm cold -b empathy --limit 40 --base-url {SHOWN}"),
        "four-replies": lambda: run(f"eqlab run kind plain -b empathy --limit 40 --base-url {SHOWN}"),
        "talks": lambda: run(f"eqlab run -b dialogue good plain --speaker s --limit 12 --base-url {SHOWN}"),
        "answers": lambda: run(f"eqlab run careful careless -b eqbench --limit 6 --base-url {SHOWN}"),
        "external": _external,
        "many": lambda: _many(run),
        "people": lambda: _people(run),
        "rating-study": lambda: _rating_study(run),
        "strict": lambda: _strict(stack),
        "batch": lambda: _batch(stack),
        "keys": lambda: [os.environ.setdefault(f"{one}_API_KEY", "none") for one in ("OPENAI", "ANTHROPIC")],
        "talk-help": lambda: _replace("talk.toml", r'help = ".*"', 'help = "Call 000 at any hour."'),
        "ward-mistakes": _ward_mistakes,
        "corrupt": _corrupt,
        "mistakes": _mistakes,
        "my-model": lambda: os.environ.update({"LOCAL_API_KEY": "none", "OPENAI_API_KEY": "none"}),
    }
    known[name]()


def _external() -> None:
    """Scores of twelve published models elsewhere, made up: EQ-Bench's with noise."""
    import random

    from eqlab.comparison.sources import read_sources

    scores = {
        one.result.subject.rpartition(":")[2]: one.result.headline.value or 0.0 for one in read_sources(["published"])
    }
    draw = random.Random(3)
    rows = ["model,knowledge,knowledge_se,preference"]
    for name in sorted(scores, key=lambda name: -scores[name])[:48:4]:
        value = scores[name]
        rows.append(f"{name},{value + draw.gauss(0, 4):.0f},0.4,{900 + 3 * value + draw.gauss(0, 25):.0f}")
    rows.append("some-other-model,61,0.5,1050")
    Path("made-up.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")


def _many(run: Run) -> None:
    """Fourteen models, from bad to good: in four wordings, twice; and on the published questions."""
    names = " ".join(f"m{number:02}" for number in range(1, 15))
    run(f"eqlab run {names} -b eqbench --items published --profile full --base-url {SHOWN}")
    run(f"eqlab run {names} -b eqbench --profile full --repeats 2 --perturb instruction,order --base-url {SHOWN}")


def _rating_study(run: Run) -> None:
    set_up("replies", "", run, contextlib.ExitStack())
    run("eqlab study init rating --arm cold=last:cold --arm warm=last:warm")


def _people(run: Run) -> None:
    _rating_study(run)
    run("eqlab study lock rating.toml")
    _take_part(Path("rating.toml"), 24)


def _take_part(study: Path, people: int) -> None:
    """People who pass every check and find warm replies better, more or less."""
    import random

    from eqlab.store.access import open_store
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


def _strict(stack: contextlib.ExitStack) -> None:
    """OpenAI's gpt-5 on loopback, as strict as its documentation."""
    gpt5, serving = _of_tests("strict_openai").gpt5, _of_tests("strict_servers").serving
    server = stack.enter_context(serving(gpt5))
    os.environ.update({"OPENAI_API_KEY": _KEY, "OPENAI_BASE_URL": server.base("/v1")})


def _batch(stack: contextlib.ExitStack) -> None:
    """The same, with batches."""
    house = stack.enter_context(_of_tests("batch_servers").housed("openai"))
    os.environ.update({"OPENAI_API_KEY": _KEY, "OPENAI_BASE_URL": house.url})


def _of_tests(module: str) -> Any:
    """The strict servers are helpers of the tests."""
    folder = str(_ROOT / "tests" / "support")
    if folder not in sys.path:
        sys.path.insert(0, folder)
    return importlib.import_module(module)


def _corrupt() -> None:
    """A store that something overwrote in the middle."""
    import sqlite3

    with (
        contextlib.closing(sqlite3.connect(Path(os.environ["EQLAB_HOME"]) / "eqlab.db")) as whole,
        contextlib.closing(sqlite3.connect("s.db")) as copy,
    ):
        whole.backup(copy)
    with Path("s.db").open("r+b") as file:
        file.seek(8192)
        file.write(b"\xff" * 200_000)


def _ward_mistakes() -> None:
    _replace("ward.toml", "character", "charakter")
    _replace("ward.toml", "reference = 2", "reference = 11")


def _replace(name: str, old: str, new: str) -> None:
    path = Path(name)
    path.write_text(re.sub(old, new, path.read_text(encoding="utf-8"), count=1), encoding="utf-8")


def _mistakes() -> None:
    """A study file that somebody edited in a hurry."""
    path = Path("rating.toml")
    text = path.read_text(encoding="utf-8")
    for old, new in (
        ('id = "rating"', 'id = "My Rating"'),
        ("batch_size", "batch_sise"),
        ('reference = "', 'reference = "not-'),
    ):
        text = text.replace(old, new, 1)
    path.write_text(text, encoding="utf-8")
