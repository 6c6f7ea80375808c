"""A table as lines of text that fit a width: names and intervals are never broken inside. Where a table is too wide its
longest column stands above each row; where that is still too wide, each row is a line of facts."""

import re
from collections.abc import Sequence

from rich.cells import cell_len

from eqlab.core.results import Table
from eqlab.core.text import visible
from eqlab.core.values import dataclass
from eqlab.tables.cells import RIGHT, cell_text

GAP = 2
_UNIT = re.compile(r"\S+ … \S+|… \S+|[\d.,]+ to [\d.,]+(?: [A-Z]{3}\b)?|n = \S+|[<>] \S+(?: %)?|\S+ %(?!\S)|\S+")
"""What stays on one line: an interval, a number with its sign or unit, a word."""
_WHOLE = re.compile(r"\S+ \([^()]* … [^()]*\)|" + _UNIT.pattern)
"""The same, and a number with all that stands in brackets behind it."""
_NUMBERS = re.compile(r" … |\bn = \d")
_ABOVE = 2
"""Columns that may stand above their row."""


@dataclass(frozen=True, slots=True)
class StyledLine:
    text: str
    style: str = ""


def table_lines(table: Table, width: int) -> list[StyledLine]:
    """The rows under their titles; columns without anything in them are left out."""
    cells = [
        [visible(cell_text(column, value)) for column, value in zip(table.columns, row, strict=True)]
        for row in table.rows
    ]
    right = frozenset(place for place, column in enumerate(table.columns) if column.kind in RIGHT)
    return lines([visible(title) for title in table.titles], cells, width, right)


def lines(
    heads: Sequence[str], rows: Sequence[Sequence[str]], width: int, right: frozenset[int] = frozenset()
) -> list[StyledLine]:
    """A table of at most `width` columns. `right`: numbers of the columns whose cells end at the right."""
    kept = [one for one in range(len(heads)) if one == 0 or not rows or any(row[one] for row in rows)]
    names = [one for one in kept if one not in right and not any(_NUMBERS.search(row[one]) for row in rows)]
    longest = sorted(names, key=lambda one: -_least(heads, rows, one, _UNIT))
    for unit in (_WHOLE, _UNIT):
        if fitting := _table(heads, rows, kept, width, right, unit):
            return [line for block in fitting for line in block]
        for count in range(1, min(_ABOVE, len(longest)) + 1):
            above = sorted(longest[:count])
            rest = [one for one in kept if one not in above]
            if rest and (fitting := _table(heads, rows, rest, width - GAP, right, unit)):
                return _with_names_above(heads, rows, above, fitting, width)
    return _facts([heads[one] for one in kept], [[row[one] for one in kept] for row in rows], width)


def broken(text: str, width: int) -> list[str]:
    """A cell's text as lines, broken between words where it must be; never inside an interval."""
    found: list[str] = []
    for part in text.split("\n"):
        line = ""
        for unit in _UNIT.findall(part):
            longer = f"{line} {unit}" if line else unit
            if line and cell_len(longer) > width:
                found.append(line)
                line = unit
            else:
                line = longer
        found.append(line)
    return found


def shares(whole: Sequence[int], least: Sequence[int], room: int) -> list[int]:
    """As wide as wanted, or as the room allows: what is left beside the longest words is shared alike, and who needs
    less than a share leaves the rest to the others."""
    found = list(least)
    left = room - sum(found)
    order = sorted(range(len(found)), key=lambda one: whole[one] - least[one])
    for place, one in enumerate(order):
        more = max(0, min(whole[one] - least[one], left // (len(order) - place)))
        found[one] += more
        left -= more
    return found


def _least(heads: Sequence[str], rows: Sequence[Sequence[str]], column: int, unit: re.Pattern[str]) -> int:
    """The narrowest a column can be."""
    units = [part for cell in (heads[column], *(row[column] for row in rows)) for part in unit.findall(cell)]
    return max(map(cell_len, units), default=0)


def _table(
    heads: Sequence[str],
    rows: Sequence[Sequence[str]],
    kept: Sequence[int],
    width: int,
    right: frozenset[int],
    unit: re.Pattern[str],
) -> list[list[StyledLine]]:
    """The lines of the head and of each row; nothing if these columns are too wide even when broken."""
    room = width - GAP * (len(kept) - 1)
    least = [_least(heads, rows, one, unit) for one in kept]
    if sum(least) > room and rows:
        return []
    inside = [max([most, *(cell_len(row[one]) for row in rows)]) for one, most in zip(kept, least, strict=True)]
    whole = [max(cell_len(heads[one]), most) for one, most in zip(kept, inside, strict=True)]
    widths = shares(whole, shares(inside, least, room), room)
    ends = [one in right for one in kept]
    head = [StyledLine(text, "bold") for text in _lines_of([heads[one] for one in kept], widths, ends, bottom=True)]
    body = [[StyledLine(text) for text in _lines_of([row[one] for one in kept], widths, ends)] for row in rows]
    return [head if any(heads[one] for one in kept) else [], *body]


def _lines_of(cells: Sequence[str], widths: Sequence[int], ends: Sequence[bool], *, bottom: bool = False) -> list[str]:
    """One row, its cells side by side; those of a head stand on its last line."""
    parts = [broken(cell, width) for cell, width in zip(cells, widths, strict=True)]
    height = max(len(part) for part in parts)
    padded = [([""] * (height - len(part)) + part if bottom else part + [""] * (height - len(part))) for part in parts]
    found = []
    for level in range(height):
        texts = [part[level] for part in padded]
        spaces = [" " * max(0, width - cell_len(text)) for text, width in zip(texts, widths, strict=True)]
        filled = [space + text if end else text + space for text, space, end in zip(texts, spaces, ends, strict=True)]
        found.append((" " * GAP).join(filled).rstrip())
    return found


def _with_names_above(
    heads: Sequence[str],
    rows: Sequence[Sequence[str]],
    above: Sequence[int],
    fitting: Sequence[Sequence[StyledLine]],
    width: int,
) -> list[StyledLine]:
    head, *body = fitting
    styled_lines = [StyledLine(" · ".join(heads[one] for one in above), "bold")]
    styled_lines += [StyledLine(" " * GAP + line.text, line.style) for line in head]
    before = ""
    for row, own in zip(rows, body, strict=True):
        name = " · ".join(row[one] for one in above if row[one])
        styled_lines += [StyledLine(part) for part in broken(name, width)] if name != before else []
        before = name
        styled_lines += [StyledLine(" " * GAP + line.text) for line in own]
    return styled_lines


def _facts(heads: Sequence[str], rows: Sequence[Sequence[str]], width: int) -> list[StyledLine]:
    found = []
    for first, *rest in rows:
        found.append(StyledLine(first, "bold"))
        facts = " · ".join(f"{head} {cell}".strip() for head, cell in zip(heads[1:], rest, strict=True) if cell)
        found += [StyledLine(" " * GAP + part) for part in broken(facts, max(20, width - GAP))]
    return found
