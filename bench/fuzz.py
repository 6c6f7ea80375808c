"""Coverage-guided fuzzing of every reader with atheris, where it installs (`pip install atheris`).

    python bench/fuzz.py [TARGET] [-max_total_time=60]

A target takes any text and raises only if the reader crashed or accepted values that its form does not allow."""

import sys
from collections.abc import Callable
from contextlib import suppress

from eqlab.benchmarks.emotionbench.parse import last_characters, read_form
from eqlab.benchmarks.empathy.rating_parse import read_choice
from eqlab.benchmarks.empathy.replies import read_reply
from eqlab.benchmarks.empathy.table_file import read_table
from eqlab.benchmarks.eqbench.parse import read_scores
from eqlab.benchmarks.eqbench.rules import PRESETS
from eqlab.benchmarks.refusal import is_refusal
from eqlab.benchmarks.structured import read_json
from eqlab.core.errors import DataError
from eqlab.core.forms import Form, Scale, check_values
from eqlab.models.chat import ChatReply
from eqlab.models.reasoning import split_reasoning
from eqlab.models.wire import TryAgain, error_text
from eqlab.models.wire import read_reply as read_body

NAMES = ("Calm", "Angry", "Proud", "Sad")
FOUR = Form(tuple(Scale(name, name, 0, 10) for name in NAMES))
AGREE = ((1, "not at all"), (2, "a little"), (3, "quite"), (4, "very"))
SIX = Form(tuple(Scale(f"q{number}", f"Thing {number}", 1, 4, AGREE) for number in range(1, 7)))
RATING = Scale("rating", "rating", 1, 3, ((1, "Bad"), (2, "Okay"), (3, "Good")))


def _demand(fine: bool, what: str) -> None:
    if not fine:
        raise RuntimeError(what)


def eqbench(text: str) -> None:
    for rules in PRESETS.values():
        for language in ("en", "de"):
            for revision in (False, True):
                scores = read_scores(text, NAMES, rules, language, revision)
                for values in (scores.first, scores.revised):
                    _demand(values is None or set(values) == set(NAMES), "not the four names")


def emotionbench(text: str) -> None:
    last_characters(text)
    values = read_form(text, SIX).values
    _demand(values is None or not check_values(SIX, values), "values that the form does not allow")


def rating(text: str) -> None:
    _demand(read_choice(text, RATING) in (None, 1, 2, 3), "no rating")


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
    error_text(raw)
    with suppress(TryAgain):
        _demand(isinstance(read_body(raw, 0.0, 0), ChatReply), "no reply")


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


def main() -> None:
    try:
        import atheris
    except ImportError:
        raise SystemExit("atheris is not installed here; tests/benchmarks/test_parsers_fuzz.py needs none.") from None
    named = {target.__name__: target for target in TARGETS}
    chosen = [named[argument] for argument in sys.argv[1:] if argument in named] or list(TARGETS)
    atheris.instrument_all()

    def one(data: bytes) -> None:
        text = data.decode("utf-8", "surrogateescape")
        for target in chosen:
            target(text)

    atheris.Setup([argument for argument in sys.argv if argument not in named], one)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
