"""A user's TOML file read whole: study files, sweep files, languages, items
(`item_file`). What is wrong with it is said at once,
every problem as FILE:LINE: key: what is wrong (what to write instead)."""

import re
import tomllib
from collections.abc import Callable, Sequence
from typing import TypeVar

from eqlab.core.errors import DataError
from eqlab.core.toml_lines import lines_of
from eqlab.core.toml_section import Notes, Section

T = TypeVar("T")
_AT = re.compile(r"\(at line (\d+), column \d+\)|\(at end of document\)")


def read_toml(text: str, name: str, known: Sequence[str], make: Callable[[Section], T], hint: str = "") -> T:
    """What `make` makes of the file's top table, whose keys are `known`. Raises DataError with all that is wrong. Where
    keys stand is found out for a message only, so `make` may be called twice."""
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        at = _AT.search(str(error))
        line = at.group(1) if at and at.group(1) else str(text.count("\n") + 1)
        what = _AT.sub("", str(error)).strip()
        raise DataError(
            f"{name}:{line}: this is not TOML: {what}.", "Correct the line, or the one before it."
        ) from error
    except (ValueError, RecursionError) as error:
        raise DataError(
            f"{name}:1: this cannot be read as TOML ({type(error).__name__}).", "Write the file again."
        ) from error
    notes = Notes({})
    made = make(Section(data, (), notes, known))
    if notes.problems:
        notes = Notes(lines_of(text.replace("\r\n", "\n")))
        make(Section(data, (), notes, known))
        raise DataError(problems_text(notes, name), hint)
    return made


def decoded(content: bytes, name: str) -> str:
    """A file's text, without the mark that some editors put before it."""
    try:
        return content.decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        raise DataError(f"{name} is not text in UTF-8 (byte {error.start}).", "Save it as UTF-8.") from error


def problems_text(notes: Notes, name: str) -> str:
    found = sorted(set(notes.problems))
    count = "1 problem" if len(found) == 1 else f"{len(found)} problems"
    return "\n".join([f"{name} has {count}:", *(f"{name}:{one.line}: {one.key}: {one.what}" for one in found)])
