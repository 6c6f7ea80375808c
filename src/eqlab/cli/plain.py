"""Printing without tables: text that came from models and files made harmless, rules, JSON. Loads nothing heavy."""

import json
import shutil
import sys
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


def print_rule(title: str) -> None:
    """A line across the terminal with a title near its end."""
    width = shutil.get_terminal_size((100, 24)).columns
    typer.secho(f"{'─' * max(2, width - len(title) - 4)} {harmless(title)} ──", dim=True)
