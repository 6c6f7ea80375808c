"""Printing without tables: text that came from models and files made harmless, rules, JSON. Loads nothing heavy.

How a command that asks models ends: what to do to go on, and the exit code."""

import gc
import json
import os
import re
import shlex
import shutil
import sys
import textwrap
import unicodedata
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import typer


def harmless(text: str) -> str:
    """Model text without terminal escapes: control and direction characters become visible."""
    if text.replace("\n", "").isprintable():
        return text
    return "".join(
        char if char in "\n\t" or unicodedata.category(char) not in ("Cc", "Cf", "Cs") else f"\\x{ord(char):02x}"
        for char in text
    )


def as_json(value: Any) -> str:
    """The same value for whoever reads it, and nothing that a terminal would obey or could not print."""
    text = json.dumps(value, ensure_ascii=False, indent=2)
    if text.replace("\n", "").isprintable():
        return text
    return "".join(
        char if char == "\n" or unicodedata.category(char) not in ("Cc", "Cf", "Cs") else json.dumps(char)[1:-1]
        for char in text
    )


def print_json(value: Any) -> None:
    sys.stdout.write(as_json(value) + "\n")


def columns() -> int | None:
    """How wide the user says the screen is; None: nobody said."""
    said = os.environ.get("COLUMNS", "")
    return int(said) if said.isdecimal() and int(said) >= 20 else None


def wrapped(line: str, width: int | None) -> list[str]:
    """A line as lines of at most this width, broken between words only; its indentation is kept."""
    if width is None or len(line) <= width:
        return [line]
    indent = line[: len(line) - len(line.lstrip())]
    return textwrap.wrap(
        line, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False, drop_whitespace=True
    ) or [line]


def print_text(text: str, *, dim: bool = False) -> None:
    """Somebody's words, as wide as COLUMNS says; a terminal breaks lines by itself."""
    for line in harmless(text).split("\n"):
        for part in wrapped(line, columns()):
            typer.secho(part, dim=dim)


def print_rule(title: str) -> None:
    """A line across the terminal with a title near its end."""
    width = shutil.get_terminal_size((100, 24)).columns
    for part in wrapped(harmless(title), width - 6):
        typer.secho(f"{'─' * max(2, width - len(part) - 4)} {part} ──", dim=True)


_CARRIED = ("--store", "--data", "--base-url")
"""What a printed command carries over from the one that prints it."""
_ELSEWHERE = ("PROVIDER/", "MODEL")
"""A model that is asked at its provider's address, not at the one given."""


def pasteable(text: str) -> str:
    """Commands in our own sentences as they must be typed to work here: with the store, the data and the address that
    this command was given, each where the named command takes it. The one place for this; model text never goes through
    it."""
    given = _given(sys.argv[1:])
    return re.sub(r"\beqlab((?: [a-z][a-z-]*)+)", lambda found: _carrying(found, given), text) if given else text


def _given(arguments: Sequence[str]) -> dict[str, str]:
    given = {}
    for place, word in enumerate(arguments):
        name, equals, value = word.partition("=")
        if name in _CARRIED:
            given[name] = value if equals else (arguments[place + 1] if place + 1 < len(arguments) else "")
    return {name: value for name, value in given.items() if value}


def _carrying(found: re.Match[str], given: dict[str, str]) -> str:
    from eqlab.cli.tree import takes
    from eqlab.core.settings import without_secrets

    path, flags = takes(found.group(1).split())
    rest = found.string[found.end() :].partition("\n")[0].partition("'")[0]
    elsewhere = rest.lstrip().startswith(_ELSEWHERE)
    own = [
        part
        for name, value in given.items()
        if name in flags and name not in rest and not (name == "--base-url" and elsewhere)
        for part in (name, value)
    ]
    words = found.group(1).split()[len(path) :]
    return " ".join(["eqlab", *path, *([without_secrets(shlex.join(own))] if own else []), *words])


def own_command() -> str:
    """The command that is running, without a key that stands in it."""
    from eqlab.core.settings import without_secrets

    return without_secrets(shlex.join(["eqlab", *sys.argv[1:]]))


LIMIT_EXIT = 4
"""The exit code of a run that a limit of cost or tokens ended."""


def next_step(run: str, subjects: Sequence[str], *, own_items: bool = False, to_be_rated: bool = False) -> str:
    """The last line of a session that went well: what there is now, and what to do with it. `own_items`: the questions
    came from a file of the user's; `to_be_rated`: nothing but replies, which have no score before somebody rates them.
    """
    who = [subject.partition(":")[2] for subject in subjects]
    if all(subject.startswith("judge:") for subject in subjects):
        return f"Next, every rated reply beside its rating: eqlab report {run} --items"
    if to_be_rated:
        return f"Next, have the replies rated by a model: eqlab judge PROVIDER/MODEL --on {run}"
    if all(name == "embedded" for name in who):
        if own_items:
            return (
                "Everything works. Now a model of yours, with the same questions: eqlab run PROVIDER/MODEL --items FILE"
            )
        return (
            "Everything works. The report opens with twelve published models on one axis; to see where yours stands: "
            "eqlab data fetch eqbench; eqlab run PROVIDER/MODEL"
        )
    if len(who) > 1:
        return f"Next, every pair with its interval, and how many questions would tell them apart: eqlab compare {run}"
    other = "OTHER" if "--base-url" in _given(sys.argv[1:]) else "OTHER/MODEL"
    same = "".join(f" {part}" for part in _same_questions(sys.argv[1:]))
    return f"Next, ask another model the same, then compare: eqlab run {other}{same}; eqlab compare {run} last"


_SAME = ("-b", "--benchmark", "--items", "--profile", "--limit", "--repeats", "--seed", "-o", "--option")
"""Options of a run that say which questions are asked, and how."""


def _same_questions(arguments: Sequence[str]) -> Iterator[str]:
    for place, word in enumerate(arguments):
        name, equals, _ = word.partition("=")
        joined = word[:2] in ("-b", "-o") and len(word) > 2
        if word in ("--structured", "--free-text") or (name in _SAME and equals) or joined:
            yield shlex.quote(word)
        elif word in _SAME:
            yield shlex.join(arguments[place : place + 2])


def end(*, interrupted: bool, failed: bool, unusable: bool = False, limit: str = "") -> None:
    """Return if all is done; else say how to go on, and exit. `unusable`: all was asked, and no answer can be used;
    `limit`: the one of cost or tokens that ended it, in words."""
    if not interrupted and not failed and not limit:
        if unusable:
            raise typer.Exit(1)
        return
    command = own_command()
    if limit and not interrupted:
        typer.echo(f"\nStopped before a limit ({limit}). Every answer so far is stored.", err=True)
        typer.echo(f"To go on, run the same command with a higher limit:\n  {command}", err=True)
        raise typer.Exit(1 if failed else LIMIT_EXIT)
    stopped = "\nStopped early; every answer so far is stored. " if interrupted else ""
    typer.echo(f"{stopped}To go on, run the same command again:\n  {command}", err=True)
    raise typer.Exit(130 if interrupted else 1)


@contextmanager
def uncollected() -> Iterator[None]:
    """Pauses Python's search for reference cycles while a command builds much that stays: neither results nor pages
    hold any, and looking for some takes a tenth of the time."""
    before = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if before:
            gc.enable()
