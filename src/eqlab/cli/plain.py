"""Printing without tables: text that came from models and files made harmless, rules, JSON. Loads nothing heavy."""

import json
import os
import shutil
import sys
import textwrap
import unicodedata
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
