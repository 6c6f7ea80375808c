"""A table for machines: CSV, JSON, Parquet and data frames. They hold the values themselves under the columns' keys; an
estimate is several columns, a rank two. Undefined is empty in CSV, and null elsewhere. Text that a spreadsheet would
take for a formula gets a leading apostrophe."""

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from msgspec import structs

from eqlab.core.errors import UsageError
from eqlab.core.results import Cell, Column, Estimate, Table

if TYPE_CHECKING:
    import polars as pl

FrameKind = Literal["polars", "pandas"]
_BOUNDS = ("low", "high", "se", "n")


def table_json(table: Table) -> dict[str, Any]:
    """As `--json` prints it: titles and rows as they are read, the columns' keys and kinds beside them."""
    return {
        "key": table.key,
        "title": table.title,
        "columns": list(table.titles),
        "keys": [column.key for column in table.columns],
        "kinds": [column.kind for column in table.columns],
        "rows": [[_json(cell) for cell in row] for row in table.rows],
        "note": table.note,
        "whiskers": "".join(table.drawn("whiskers")),
        "stacked": list(table.drawn("stacked")),
        "heat": table.heat,
    }


def records(table: Table) -> list[dict[str, Any]]:
    """A flat record a row."""
    return [dict(_flat(table.columns, row)) for row in table.rows]


def table_csv(table: Table) -> bytes:
    rows = records(table)
    return csv_bytes(list(rows[0]) if rows else [column.key for column in table.columns], rows)


def csv_bytes(columns: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> bytes:
    """By the standard library: a data frame would spend most of its time in planning. Made safe for spreadsheets."""
    buffer = io.StringIO()
    writer = csv.writer(buffer)  # lines end in CRLF, so that a bare carriage return is quoted: else it ends a row
    writer.writerow(columns)
    writer.writerows(zip(*(_guarded([row.get(name) for row in rows]) for name in columns), strict=True))
    return buffer.getvalue().encode("utf-8", "replace")


def _guarded(values: Sequence[Any]) -> list[Any]:
    """Text that a spreadsheet would take for a formula gets a leading apostrophe."""
    return [f"'{value}" if isinstance(value, str) and value[:1] in _FORMULA else value for value in values]


def frame(rows: Sequence[Mapping[str, Any]], kind: FrameKind = "polars") -> Any:
    """Records as a data frame of either kind."""
    if kind == "polars":
        import polars as pl

        return pl.DataFrame(rows, infer_schema_length=None)
    if kind != "pandas":
        raise UsageError(f"There are no frames of kind '{kind}'.", "Choose polars or pandas.")
    try:
        import pandas as pd  # type: ignore[import-untyped,unused-ignore]
    except ImportError as error:
        raise UsageError("pandas is not installed.", "Install it, or leave kind='pandas' out.") from error
    return pd.DataFrame(rows)


def _json(cell: Cell) -> Any:
    if isinstance(cell, Estimate):
        return structs.asdict(cell)
    return list(cell) if isinstance(cell, tuple) else cell


def _flat(columns: Sequence[Column], row: Sequence[Cell]) -> Iterator[tuple[str, Any]]:
    for column, cell in zip(columns, row, strict=True):
        if column.kind == "estimate":
            yield column.key, cell.value if isinstance(cell, Estimate) else cell
            for bound in _BOUNDS:
                yield f"{column.key}_{bound}", getattr(cell, bound, None)
        elif column.kind == "rank":
            yield f"{column.key}_best", cell[0] if isinstance(cell, tuple) else None
            yield f"{column.key}_worst", cell[1] if isinstance(cell, tuple) else None
        else:
            yield column.key, cell.value if isinstance(cell, Estimate) else cell


FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
_FORMULA = frozenset(FORMULA)


def safe_csv(frame: "pl.DataFrame", *, header: bool = True) -> bytes:
    """A data frame as CSV in UTF-8; times in ISO 8601."""
    import polars as pl

    text = [name for name, kind in frame.schema.items() if kind == pl.String]
    risky = [pl.col(name).str.slice(0, 1).is_in(list(FORMULA)) for name in text]
    guarded = frame.with_columns(
        pl.when(is_risky).then("'" + pl.col(name)).otherwise(pl.col(name)).alias(name)
        for name, is_risky in zip(text, risky, strict=True)
    )
    return guarded.write_csv(include_header=header, datetime_format="%Y-%m-%dT%H:%M:%S%.3fZ").encode()


def unguarded(cell: str) -> str:
    """A cell as it was before `safe_csv` wrote it."""
    return cell[1:] if cell.startswith("'") and cell[1:2] in FORMULA else cell
