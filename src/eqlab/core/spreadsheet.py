"""CSV that a spreadsheet can open without running anything: text that it would take for a formula gets a leading
apostrophe."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


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
