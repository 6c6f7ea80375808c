"""Fuzzing of every reader: coverage-guided with atheris where it is installed, with hypothesis where it is not.

    python bench/fuzz.py [TARGET …] [--seconds 60]        seconds for each target

A target takes any text and raises only if the reader crashed, or accepted values that its form does not allow or that
nobody wrote. Each begins from replies that can be read (SEEDS), so that what is tried is nearly right."""

import argparse
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from eqlab.benchmarks.common.reading import is_refusal, read_json
from eqlab.benchmarks.emotionbench.trials import last_characters, read_form
from eqlab.benchmarks.empathy.replies import read_reply
from eqlab.benchmarks.eqbench.score import PRESETS
from eqlab.benchmarks.eqbench.trials import read_scores
from eqlab.benchmarks.rating.benchmark import read_choice
from eqlab.benchmarks.rating.imported import read_table
from eqlab.core.errors import DataError
from eqlab.core.forms import Form, Scale, check_values
from eqlab.models.chat import ChatReply, prompted, split_reasoning
from eqlab.models.wire.contract import Adapt, Endpoint, Hopeless, Incoming, RequestProfile, TryAgain, wire, wire_names

NAMES = ("Calm", "Angry", "Proud", "Sad")
FOUR = Form(tuple(Scale(name, name, 0, 10) for name in NAMES))
AGREE = ((1, "not at all"), (2, "a little"), (3, "quite"), (4, "very"))
SIX = Form(tuple(Scale(f"q{number}", f"Thing {number}", 1, 4, AGREE) for number in range(1, 7)))
RATING = Scale("rating", "rating", 1, 3, ((1, "Bad"), (2, "Okay"), (3, "Good")))


def _demand(fine: bool, what: str) -> None:
    if not fine:
        raise RuntimeError(what)


def _digit(value: float, text: str) -> bool:
    return any(character.isdigit() and int(character) == value for character in text if character.isdecimal())


def eqbench(text: str) -> None:
    for rules in PRESETS.values():
        for language in ("en", "de"):
            for revision in (False, True):
                scores = read_scores(text, NAMES, rules, language, revision)
                for values in (scores.first, scores.revised):
                    _demand(values is None or set(values) == set(NAMES), "not the four names")
                    for name, value in (values or {}).items():
                        written = re.findall(rf"{name}\s*:\s*\**(\d{{1,15}})", text)
                        _demand(value in map(int, written), f"nobody wrote {name}: {value}")


def emotionbench(text: str) -> None:
    last_characters(text)
    values = read_form(text, SIX).values
    _demand(values is None or not check_values(SIX, values), "values that the form does not allow")
    for value in (values or {}).values():
        label = dict(AGREE)[int(value)].split()
        _demand(_digit(value, text) or all(word in text.casefold() for word in label), f"nobody wrote {value}")


def rating(text: str) -> None:
    value = read_choice(text, RATING)
    _demand(value in (None, 1, 2, 3), "no rating")
    if value is not None:
        bare = re.sub(r"[*_`#\"'“”‘’]", "", text).lower()
        names = {1: ("bad",), 2: ("okay", "ok"), 3: ("good",)}[value]
        _demand(_digit(value, text) or any(name in bare for name in names), f"nobody wrote {value}")


def structured(text: str) -> None:
    reading = read_json(text, FOUR)
    _demand(reading.status != "ok" or not check_values(FOUR, reading.values), "values that the form does not allow")


def free_text(text: str) -> None:
    is_refusal(text)
    _demand((read_reply(text).status == "ok") == bool(text.strip()), "a reply with words is a reply")


def reasoning(text: str) -> None:
    answer, thought = split_reasoning(text)
    _demand(len(answer) + len(thought) <= len(text) + text.count("<"), "more text than there was")


def body(text: str) -> None:
    raw = text.encode("utf-8", "replace")
    request = prompted("Hello.", schema={"type": "object", "properties": {}}, settings={"effort": "low"})
    for name in wire_names():
        sent = wire(name).build(Endpoint("http://localhost/v1", "m"), request, RequestProfile(name))
        for status in (200, 400, 429, 500):
            verdict = wire(name).read(sent, Incoming(status, {}, raw))
            _demand(isinstance(verdict, ChatReply | TryAgain | Adapt | Hopeless), "no verdict")


def table(text: str) -> None:
    for name in ("t.csv", "t.jsonl"):
        with suppress(DataError):
            read_table(text.encode("utf-8", "replace"), name, ["reply"])


TARGETS: tuple[Callable[[str], None], ...] = (
    eqbench,
    emotionbench,
    rating,
    structured,
    free_text,
    reasoning,
    body,
    table,
)


SEEDS = {
    "eqbench": (
        "Calm: 3\nAngry: 0\nProud: 10\nSad: 7",
        "First pass scores:\nCalm: 3\nAngry: 0\nProud: 10\nSad: 7\nCritique: hm\nRevised scores:\n"
        "Calm: 4\nAngry: 1\nProud: 9\nSad: 7\n[End of answer]",
        "Erste Bewertung:\nCalm: 3\nAngry: **1**\nProud: 10\nSad: 7,5\nÜberarbeitete Bewertung:\nCalm: 3",
    ),
    "emotionbench": (
        "1. 4\n2. 3\n3. 2\n4. 1\n5. 1\n6. 2",
        "1. Thing 1: 4/4\n2. Thing 2: 3\n3. Thing 3: very\n4. Thing 4: 1\n5. Thing 5: 1 (not at all)\n6. Thing 6: 2",
        "| 1 | Thing 1 | 4 |\n|---|---|---|\n| 2 | Thing 2 | 3 |",
        '{"q1": 4, "q2": "3", "q3": "a little", "q4": 1.0, "q5": 1, "q6": 2}',
        "[4, 3, 2, 1, 1, 2]",
        "1: 4 2: 3 3: 2 4: 1 5: 1 6: 2",
    ),
    "rating": ("Good", "**Okay**.", "Rating: Bad", "I see. It is kind.\nGood!", "2", "Rating is: 3\nGood"),
    "structured": ('{"Calm": 3, "Angry": 0, "Proud": 10, "Sad": 7}', '```json\n{"Calm": 3, "Angry": 0}\n```'),
    "free_text": ("I am sorry to hear that.", "I'm sorry, but as an AI I can't help with that."),
    "reasoning": ("<think>hm\n9</think>Calm: 3", "<reasoning>a</reasoning>b", "a</think>b"),
    "body": (
        '{"model": "m", "choices": [{"message": {"content": "hi"}, "finish_reason": "stop"}], '
        '"usage": {"prompt_tokens": 1, "completion_tokens": 2}}',
        '{"error": {"message": "no", "code": 429}}',
    ),
    "table": ('reply,rating\n"a, b",3\n', '{"reply": "a", "rating": 3}\n{"reply": "b"}'),
}
"""Replies that the targets read."""


def guided(target: Callable[[str], None], seconds: int) -> None:
    """Under atheris, which changes this process for good: one target for each process. Ends it."""
    import atheris

    atheris.instrument_all()
    with tempfile.TemporaryDirectory() as corpus:
        for number, seed in enumerate(SEEDS[target.__name__]):
            (Path(corpus) / str(number)).write_text(seed)
        options = [f"-max_total_time={seconds}", "-max_len=4096", "-timeout=10", corpus]
        atheris.Setup([sys.argv[0], *options], lambda data: target(data.decode("utf-8", "surrogateescape")))
        atheris.Fuzz()


def unguided(target: Callable[[str], None], seconds: int) -> int:
    """Texts, and seeds with pieces cut out, doubled, exchanged, until the time is over; how many."""
    from hypothesis import HealthCheck, given, settings
    from hypothesis import strategies as st

    seeds = SEEDS[target.__name__]
    pieces = st.one_of(
        st.text(max_size=8), st.sampled_from([piece for seed in seeds for piece in re.split(r"\b", seed)])
    )
    place = st.integers(0, 400)
    tried = 0

    @settings(max_examples=2000, database=None, deadline=None, suppress_health_check=list(HealthCheck))
    @given(
        seed=st.one_of(st.sampled_from(seeds), st.text()), edits=st.lists(st.tuples(place, place, pieces), max_size=6)
    )
    def one(seed: str, edits: list[tuple[int, int, str]]) -> None:
        nonlocal tried
        tried += 1
        for start, length, piece in edits:
            seed = seed[:start] + piece + seed[start + length % 12 :]
        target(seed)

    until = time.monotonic() + seconds
    while time.monotonic() < until:
        one()
    return tried


def main() -> None:
    named = {target.__name__: target for target in TARGETS}
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("targets", nargs="*", choices=[*named, []], metavar="TARGET", help=", ".join(named))
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--without-atheris", action="store_true", help="hypothesis, even where atheris is installed")
    parser.add_argument("--guided", action="store_true", help=argparse.SUPPRESS)
    wanted = parser.parse_args()
    if wanted.guided:
        guided(named[wanted.targets[0]], wanted.seconds)
        return
    atheris = not wanted.without_atheris and _is_there("atheris")
    for name in wanted.targets or named:
        if atheris:
            command = [sys.executable, __file__, name, "--seconds", str(wanted.seconds), "--guided"]
            done = subprocess.run(command, capture_output=True, text=True, errors="replace")
            print(f"{name}: {_last_line(done.stderr)} (atheris)", flush=True)
            if done.returncode:
                raise SystemExit(done.stdout + done.stderr)
        else:
            print(f"{name}: {unguided(named[name], wanted.seconds)} texts (hypothesis)", flush=True)


def _is_there(module: str) -> bool:
    from importlib.util import find_spec

    return find_spec(module) is not None


def _last_line(text: str) -> str:
    return (text.strip().splitlines() or ["nothing said"])[-1]


if __name__ == "__main__":
    main()
