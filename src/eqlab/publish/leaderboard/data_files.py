"""The same table as CSV, JSON and Parquet, for every table of the site; what a row is in it."""

import csv
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from eqlab.core.answers import OUTCOMES
from eqlab.core.spreadsheet import FORMULA

if TYPE_CHECKING:
    from eqlab.core.usage import Usage
    from eqlab.publish.leaderboard.tables import Board, BoardLine

ENDINGS = ("csv", "json", "parquet")


def table_files(
    stem: str, rows: Sequence[Mapping[str, Any]], schema: Mapping[str, type]
) -> Iterator[tuple[str, bytes]]:
    """(path, content) of each. CSV is made safe for spreadsheets; JSON and Parquet are exact."""
    import polars as pl

    columns = {name: [row.get(name) for row in rows] for name in schema}
    frame = pl.DataFrame(columns, schema=dict(schema))
    yield f"{stem}.csv", _csv(columns, schema)
    yield f"{stem}.json", json.dumps(list(rows), ensure_ascii=True).encode()
    buffer = io.BytesIO()
    frame.write_parquet(buffer, compression="lz4", statistics=False)
    yield f"{stem}.parquet", buffer.getvalue()


def _csv(columns: Mapping[str, Sequence[Any]], schema: Mapping[str, type]) -> bytes:
    """By the standard library: hundreds of small tables would spend most of their time in planning queries."""
    buffer = io.StringIO()
    writer = csv.writer(buffer)  # lines end in CRLF, so that a bare carriage return is quoted: else it ends a row
    writer.writerow(columns)
    shown = [map(_safe, values) if schema[name] is str else values for name, values in columns.items()]
    writer.writerows(zip(*shown, strict=True))
    return buffer.getvalue().encode("utf-8", "replace")


def _safe(value: Any) -> Any:
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULA) else value


def line_facts(board: "Board", line: "BoardLine") -> dict[str, Any]:
    """A row as plain values, for files."""
    entry, head = line.entry, line.estimate
    counts = entry.result.counts if entry else {}
    equal = board.at_length.get(line.name) if entry else None
    return {
        "table": board.label,
        "kind": line.kind,
        "name": line.name,
        "id": entry.id if entry else "",
        "rank_best": line.rank[0] if line.rank else None,
        "rank_worst": line.rank[1] if line.rank else None,
        "may_be_first": line.may_be_first if line.rank else None,
        "score": head.value,
        "low": head.low,
        "high": head.high,
        "se": head.se,
        "n": head.n if entry or line.study else None,
        **{name: counts.get(name) for name in ("planned", *OUTCOMES)},
        "words_per_reply": entry.words if entry else None,
        **_used(entry.result.usage if entry else None),
        "score_at_equal_length": equal.estimate.value if equal else None,
        "low_at_equal_length": equal.estimate.low if equal else None,
        "high_at_equal_length": equal.estimate.high if equal else None,
        "rank_best_at_equal_length": equal.rank[0] if equal else None,
        "rank_worst_at_equal_length": equal.rank[1] if equal else None,
        "participants": entry.participants if entry else None,
        "valid": line.valid if entry else None,
        "not_ranked_because": line.why_no_rank,
        "origin": entry.origin if entry else "published" if line.study else "",
        "source": entry.source if entry else "",
        "caveats": json.dumps(list(entry.result.caveats), ensure_ascii=False) if entry else "",
    }


def _used(usage: "Usage | None") -> dict[str, Any]:
    """What the answers took; None is unknown."""
    return {
        "tokens_in": usage.tokens_in if usage else None,
        "tokens_out": usage.tokens_out if usage else None,
        "cost": usage.cost if usage else None,
        "currency": usage.currency if usage and usage.cost is not None else None,
        "seconds_per_reply": usage.seconds if usage else None,
    }


LINES: Mapping[str, type] = {
    "table": str, "kind": str, "name": str, "id": str, "rank_best": int, "rank_worst": int, "may_be_first": bool,
    "score": float, "low": float, "high": float, "se": float, "n": int, "planned": int, "ok": int, "unparseable": int,
    "refused": int, "error": int, "unanswered": int, "words_per_reply": float, "tokens_in": int, "tokens_out": int,
    "cost": float, "currency": str, "seconds_per_reply": float, "score_at_equal_length": float,
    "low_at_equal_length": float, "high_at_equal_length": float, "rank_best_at_equal_length": int,
    "rank_worst_at_equal_length": int, "participants": int, "valid": bool,
    "not_ranked_because": str, "origin": str, "source": str, "caveats": str,
}  # fmt: skip
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
