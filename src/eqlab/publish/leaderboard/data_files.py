"""The same table as CSV, JSON and Parquet, for every table of the site; what a row is in it."""

import io
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from eqlab.comparison.scores import score_records, score_types
from eqlab.tables.data import csv_bytes

if TYPE_CHECKING:
    from eqlab.publish.leaderboard.tables import Board

ENDINGS = ("csv", "json", "parquet")


def table_files(
    stem: str, rows: Sequence[Mapping[str, Any]], schema: Mapping[str, type]
) -> Iterator[tuple[str, bytes]]:
    """(path, content) of each. CSV is made safe for spreadsheets; JSON and Parquet are exact."""
    import polars as pl

    columns = {name: [row.get(name) for row in rows] for name in schema}
    frame = pl.DataFrame(columns, schema=dict(schema))
    yield f"{stem}.csv", csv_bytes(list(schema), rows)
    yield f"{stem}.json", json.dumps(list(rows), ensure_ascii=True).encode()
    buffer = io.BytesIO()
    frame.write_parquet(buffer, compression="lz4", statistics=False)
    yield f"{stem}.parquet", buffer.getvalue()


def line_facts(board: "Board") -> list[dict[str, Any]]:
    """The rows as plain values, for files."""
    rows = []
    for line, record in zip(board.lines, score_records(board.score_lines), strict=True):
        caveats = json.dumps(list(line.entry.result.caveats), ensure_ascii=False) if line.entry else ""
        rows.append({"table": board.label, **record, "caveats": caveats})
    return rows


LINES: Mapping[str, type] = {"table": str, **score_types(), "caveats": str}
CHANGES: Mapping[str, type] = {"table": str, "name": str, "what": str, "before": str, "after": str}
ESTIMATES: Mapping[str, type] = {
    "id": str, "subject": str, "name": str, "value": float, "low": float, "high": float, "se": float, "n": int,
    "unit": str, "note": str,
}  # fmt: skip
ITEMS: Mapping[str, type] = {
    "id": str, "subject": str, "item": str, "repeat": int, "status": str, "score": float, "points": float,
    "attempts": int,
}  # fmt: skip
"""`points` lie on the scale of the headline, which is their mean."""
REPLIES: Mapping[str, type] = {
    "item": str, "trial": str, "repeat": int, "status": str, "score": float, "attempts": int, "values": str,
    "reference": str, "text": str,
}  # fmt: skip
