"""Replies and ratings from a user's table, CSV or JSON lines, checked row by row: what is wrong with a row is said with
its line number, never guessed."""

import csv
import io
import json
from collections.abc import Callable, Iterable, Mapping, Sequence

from eqlab.benchmarks.empathy.items import EMOTIONS, EmpathyItem
from eqlab.core.benchmark import ReplyRow
from eqlab.core.errors import DataError
from eqlab.core.plural import many
from eqlab.core.values import dataclass
from eqlab.tables.data import unguarded

_RATINGS = {"1": 1, "2": 2, "3": 3, "bad": 1, "okay": 2, "ok": 2, "good": 3}
LONGEST = 20_000
"""Characters of a reply; more is no reply but a file in the wrong column."""

LONGEST_WORD = 40
"""Characters of an emotion's name."""


@dataclass(frozen=True, slots=True)
class TableRow:
    line: int
    cells: dict[str, str]
    """By column, outer blanks gone; empty cells are left out."""
    columns: Sequence[str]
    """Those that the row has, be they empty."""


@dataclass(frozen=True, slots=True)
class BadRow:
    line: int
    reason: str
    """Never holds the cell of a rater: ids belong to people."""


@dataclass(frozen=True, slots=True)
class ImportedRating:
    """A person's rating of a reply."""

    line: int
    rater: str
    """A pseudonym: the id in the file is hashed before it gets here."""
    value: int
    reply: ReplyRow


class Prompts:
    """The prompts we know, by id and by what the speaker says."""

    def __init__(self, items: Iterable[EmpathyItem]) -> None:
        self._by_id: dict[str, EmpathyItem] = {}
        self._by_words: dict[str, EmpathyItem] = {}
        for item in items:
            self._by_id[item.id] = item
            self._by_words.setdefault(_squeezed(item.utterance), item)

    def find(self, cells: Mapping[str, str]) -> EmpathyItem | str:
        """The prompt a row means, known or described by the row itself; or why there is none."""
        name, utterance = cells.get("prompt", ""), cells.get("utterance", "")
        item = self._by_id.get(name) or (self._by_words.get(_squeezed(utterance)) if not name and utterance else None)
        if item is not None:
            return item
        if not name and not utterance:
            return "neither 'prompt' nor 'utterance' is filled in"
        emotion = cells.get("emotion", "").lower()[:LONGEST_WORD]
        known_word = EMOTIONS.get(emotion)  # another word is the user's own; its valence is not known
        valence, group = (known_word.valence, known_word.plutchik) if known_word else ("", "")
        made = name or _squeezed(utterance)[:60]
        return EmpathyItem(made, emotion, valence, group, cells.get("situation", ""), utterance, "")


def read_replies(content: bytes, path: str, prompts: Prompts, arm: str) -> tuple[list[ReplyRow], list[BadRow]]:
    """Columns: `reply`, and `prompt` (an id) or `utterance`; optional `arm` (else the file's name), `emotion`,
    `situation`, `use`: with that one, only rows that say yes are taken, as a moderator has decided."""
    rows, bad = read_table(content, path, ["reply"])
    if any("use" in row.columns for row in rows):
        bad += [BadRow(row.line, "no 'yes' in the column 'use'") for row in rows if not _is_yes(row)]
        rows = [row for row in rows if _is_yes(row)]
    reply_rows: dict[tuple[str, str], ReplyRow] = {}
    for row in rows:
        made = _reply(row, prompts, arm)
        if isinstance(made, str):
            bad.append(BadRow(row.line, made))
        elif not made.utterance:
            bad.append(BadRow(row.line, f"prompt '{made.prompt[:40]}' is not known; add a column 'utterance'"))
        elif (made.arm, made.prompt) in reply_rows:
            bad.append(BadRow(row.line, f"a second reply of '{made.arm[:40]}' to prompt '{made.prompt[:40]}'"))
        else:
            reply_rows[made.arm, made.prompt] = made
    return list(reply_rows.values()), sorted(bad, key=lambda one: one.line)


def read_ratings(
    content: bytes, path: str, prompts: Prompts, hashed: Callable[[str], str]
) -> tuple[list[ImportedRating], list[BadRow]]:
    """Columns: `rater`, `arm`, `prompt`, `rating` (1, 2, 3 or bad, okay, good); optional `reply`, `emotion`,
    `utterance`, `situation`. `hashed` makes a rater's id a pseudonym."""
    rows, bad = read_table(content, path, ["rater", "arm", "prompt", "rating"])
    found: dict[tuple[str, str, str], ImportedRating] = {}
    for row in rows:
        made = _rating(row, prompts, hashed)
        if isinstance(made, str):
            bad.append(BadRow(row.line, made))
            continue
        place = (made.rater, made.reply.arm, made.reply.prompt)
        if place in found:
            bad.append(BadRow(row.line, f"this rater has rated this reply before, in line {found[place].line}"))
        else:
            found[place] = made
    return list(found.values()), sorted(bad, key=lambda one: one.line)


def _reply(row: TableRow, prompts: Prompts, arm: str, *, needs_text: bool = True) -> ReplyRow | str:
    text = row.cells.get("reply", "")
    if needs_text and not text:
        return "the reply is empty"
    if len(text) > LONGEST:
        return f"the reply has {len(text)} characters, more than {LONGEST}"
    item = prompts.find(row.cells)
    if isinstance(item, str):
        return item
    name = row.cells.get("arm", arm)
    return ReplyRow(name, item.id, text, item.emotion, item.valence, item.situation, item.utterance)


def _rating(row: TableRow, prompts: Prompts, hashed: Callable[[str], str]) -> ImportedRating | str:
    for column in ("rater", "arm", "prompt", "rating"):
        if column not in row.cells:
            return f"'{column}' is empty"
    given = row.cells["rating"].lower().removesuffix(".0")
    if given not in _RATINGS:
        hint = " (a scale from 0 to 2? add 1)" if given == "0" else ""
        return f"'{row.cells['rating'][:20]}' is not a rating: 1, 2, 3 or bad, okay, good{hint}"
    reply = _reply(row, prompts, row.cells["arm"], needs_text=False)
    if isinstance(reply, str):
        return reply
    return ImportedRating(row.line, hashed(row.cells["rater"]), _RATINGS[given], reply)


def _is_yes(row: TableRow) -> bool:
    return row.cells.get("use", "").casefold() in ("yes", "y", "1", "true")


def _squeezed(text: str) -> str:
    return " ".join(text.split()).lower()


_SHOWN = 5


def bad_rows_text(bad: Sequence[BadRow]) -> list[str]:
    """The first, and how many more: a table of many replies to each prompt may have hundreds."""
    said = [f"line {row.line}: {row.reason}" for row in bad[:_SHOWN]]
    return said if len(bad) <= _SHOWN else [*said, f"and {many(len(bad) - _SHOWN, 'line')} more"]


# -- the table itself -----------------------------------------------------------------------------------------------


def read_table(content: bytes, path: str, needed: Sequence[str]) -> tuple[list[TableRow], list[BadRow]]:
    """The rows and those that are none. A file that is no table at all, or lacks a needed column, is an error."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(f"{path} is not UTF-8 text (byte {error.start}).", "Save it as UTF-8.") from error
    jsonl = path.lower().endswith((".jsonl", ".ndjson"))
    rows, bad = _json_lines(text) if jsonl else _csv(text, path)
    if not rows and not bad:
        raise DataError(f"{path} has no rows.", f"It needs the columns {', '.join(needed)}.")
    known = {column for row in rows for column in row.cells}
    missing = [column for column in needed if column not in known]
    if rows and missing:
        raise DataError(
            f"{path} has no column {' and no column '.join(missing)}.",
            f"It has {', '.join(sorted(known)) or 'none'}; it needs {', '.join(needed)}.",
        )
    return rows, bad


def _csv(text: str, path: str) -> tuple[list[TableRow], list[BadRow]]:
    rows, bad = [], []
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        header = [name.strip().lower() for name in next(reader, [])]
        if len(set(header)) < len(header):
            raise DataError(f"{path}: two columns have the same name.", "Name each column once, in the first line.")
        before = reader.line_num
        for cells in reader:
            line, before = before + 1, reader.line_num
            if not any(cell.strip() for cell in cells):
                continue
            if len(cells) != len(header):
                bad.append(BadRow(line, f"{len(cells)} cells instead of {len(header)}"))
                continue
            rows.append(TableRow(line, _cells(zip(header, cells, strict=True)), header))
    except csv.Error as error:
        raise DataError(f"{path}: line {reader.line_num} is not CSV ({error}).", "Quote texts with commas.") from error
    return rows, bad


def _json_lines(text: str) -> tuple[list[TableRow], list[BadRow]]:
    rows, bad = [], []
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            body = json.loads(line)
        except (ValueError, RecursionError):  # a number of thousands of digits is a ValueError too
            bad.append(BadRow(number, "no JSON object"))
            continue
        if not isinstance(body, dict):
            bad.append(BadRow(number, "no JSON object"))
        elif any(isinstance(value, dict | list) for value in body.values()):
            bad.append(BadRow(number, "a value is a list or an object instead of text or a number"))
        else:
            named = {str(name).strip().lower(): "" if value is None else str(value) for name, value in body.items()}
            rows.append(TableRow(number, _cells(named.items()), tuple(named)))
    return rows, bad


def _cells(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    return {name: unguarded(cell.strip()) for name, cell in pairs if name and cell.strip()}
