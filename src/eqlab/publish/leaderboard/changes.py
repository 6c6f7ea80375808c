"""What is new since the last build: read from the JSON that it left in the folder."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from eqlab.core.text import number
from eqlab.publish.leaderboard.tables import Board
from eqlab.tables.cells import rank_text


@dataclass(frozen=True)
class BoardChange:
    table: str
    name: str
    what: str
    """new, gone, score, rank."""
    before: str
    after: str


def snapshot(boards: Sequence[Board]) -> list[dict[str, Any]]:
    """What the next build needs to know of this one."""
    return [
        {
            "key": board.key,
            "title": board.label,
            "rows": [
                {
                    "id": entry.id,
                    "name": line.name,
                    "score": line.estimate.value,
                    "digits": line.estimate.digits,
                    "rank": list(line.rank) if line.rank else None,
                }
                for line, entry in board.entered
            ],
        }
        for board in boards
    ]


def changes(before: Sequence[Mapping[str, Any]], now: Sequence[Mapping[str, Any]]) -> list[BoardChange]:
    known = {table["key"]: table for table in before}
    found: list[BoardChange] = []
    for table in now:
        old = known.pop(table["key"], None)
        found += _of_table(table, old["rows"] if old else [], table["rows"])
    for table in known.values():
        found += _of_table(table, table["rows"], [])
    return found


def _of_table(
    table: Mapping[str, Any], before: Sequence[Mapping[str, Any]], now: Sequence[Mapping[str, Any]]
) -> Iterator[BoardChange]:
    title = str(table["title"])
    old = {row["id"]: row for row in before}
    for row in now:
        name = str(row["name"])
        was = old.pop(row["id"], None)
        if was is None:
            yield BoardChange(title, name, "new", "", _score(row))
            continue
        if _score(was) != _score(row):
            yield BoardChange(title, name, "score", _score(was), _score(row))
        if was["rank"] != row["rank"]:
            yield BoardChange(title, name, "rank", rank_text(was["rank"]), rank_text(row["rank"]))
    for row in old.values():
        yield BoardChange(title, str(row["name"]), "gone", _score(row), "")


def _score(row: Mapping[str, Any]) -> str:
    return number(row["score"], row["digits"])
