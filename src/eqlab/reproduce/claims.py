"""A published study as a table of claims: what is printed, how it comes out of the study's data, how near it must come,
and why it differs where it does. One comparer makes rows and a summary of them, so a study is one file with a list
of claims (`study_of_claims`); a study that shows more than its claims makes its own report of what they came to.

A reproduction for other programs: its rows as CSV, its sentences and tables as Markdown."""

import csv
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

from eqlab.core.results import Column, Drawing, Estimate, Table
from eqlab.core.text import plain
from eqlab.core.values import dataclass
from eqlab.tables.cells import markdown_table, safe
from eqlab.tables.data import csv_bytes

Row = dict[str, Any]
Report = dict[str, Any]
"""JSON's own types only: it is printed as it is."""
Verdict = Literal["match", "close", "differs", "reconstructed", "not recomputable", "not printed"]
"""match: the same to the printed digits. close: near, and the rule behind print is not known. differs: not the same.
reconstructed: follows from other printed numbers, so only their agreement is a check. not recomputable: the data are
not public. not printed: what the data say where print says nothing."""
UNEXPLAINED = "differs from the paper; no explanation known"


@dataclass(frozen=True, slots=True)
class Claim:
    key: Mapping[str, Any]
    """The key columns: what the number is of."""
    printed: Any
    """As print has it; None where it has nothing."""
    recompute: Callable[[Any], Any] | None
    """From the study's data: a value, or an estimate with its interval. None: the data for it are not public."""
    tolerance: float | Callable[[Any], bool] = 0.0
    """How far the two may lie apart; or whether a value bears out what is printed in words ("p < .001")."""
    rule: str = ""
    """How it is recomputed and what to know about it, shown whatever the verdict."""
    differs: str = UNEXPLAINED
    """Why it differs, shown if it does."""
    if_borne_out: Verdict = "match"
    if_not: Verdict = "differs"


@dataclass(frozen=True, slots=True)
class Compared:
    claim: Claim
    recomputed: Any
    verdict: Verdict

    @property
    def agrees(self) -> bool:
        return self.verdict == self.claim.if_borne_out

    @property
    def why(self) -> str:
        return self.claim.differs if self.verdict == "differs" else ""

    def row(self) -> Row:
        found = self.recomputed
        estimate = found if isinstance(found, Estimate) else Estimate("", found, 0)
        return {
            **self.claim.key,
            "printed": self.claim.printed,
            "recomputed": estimate.value,
            "rule": self.claim.rule,
            "low": estimate.low,
            "high": estimate.high,
            "n": estimate.n or None,
            "verdict": self.verdict,
            "why": self.why,
        }


def to_digits(count: int) -> float:
    """The tolerance of a number printed to so many digits after the point: half a unit of the last one."""
    return 0.5 * 10.0**-count + 1e-9


def printed_rows(name: str) -> list[dict[str, str]]:
    """What a paper prints, from a table that ships with the package."""
    return list(csv.DictReader(files("eqlab.reproduce").joinpath(name).read_text(encoding="utf-8").splitlines()))


def compare(claims: Iterable[Claim], data: Any) -> list[Compared]:
    return [_compared(claim, claim.recompute(data) if claim.recompute else None) for claim in claims]


def _compared(claim: Claim, recomputed: Any) -> Compared:
    value = recomputed.value if isinstance(recomputed, Estimate) else recomputed
    if claim.printed is None:
        return Compared(claim, recomputed, "not printed")
    if value is None:
        return Compared(claim, recomputed, "not recomputable")
    return Compared(claim, recomputed, claim.if_borne_out if _borne_out(claim, value) else claim.if_not)


def _borne_out(claim: Claim, value: Any) -> bool:
    if callable(claim.tolerance):
        return claim.tolerance(value)
    if isinstance(value, str) or isinstance(claim.printed, str):
        return bool(value == claim.printed)
    return bool(abs(value - claim.printed) <= claim.tolerance)


def summary(compared: Sequence[Compared]) -> Row:
    printed = [one for one in compared if one.verdict not in ("not printed", "not recomputable")]
    return {
        "rows": len(compared),
        "compared": len(printed),
        "agree": sum(one.agrees for one in printed),
        "verdicts": dict(Counter(one.verdict for one in compared).most_common()),
        "differences": dict(Counter(one.why for one in compared if one.why).most_common()),
    }


@dataclass(frozen=True, slots=True)
class Study:
    """What `eqlab research reproduce` needs of a study."""

    title: str
    reproduce: Callable[[Path | None], Report]
    """From this folder of published data; None: from the usual one, or from what ships with the package."""
    findings: Callable[[Report], list[str]]
    """The answer in a few sentences, to be read first."""
    tables: Callable[[Report], list[Table]]
    rows_of: Callable[[Report], list[Row]] = lambda report: list(report["rows"])
    """The numbers as flat rows, for a spreadsheet."""
    picture: Callable[[Report], str] | None = None
    """What was found as an SVG file, where one picture tells it."""


def study_of_claims(title: str, read: Callable[[Path | None], Any], claims: Callable[[Any], Iterable[Claim]]) -> Study:
    """A study that is nothing but its claims: `read` gets its data from a folder, `claims` lists them."""

    def reproduce(folder: Path | None) -> Report:
        data = read(folder)
        compared = compare(claims(data), data)
        return {"rows": [one.row() for one in compared], "summary": summary(compared)}

    return Study(title, reproduce, findings, lambda report: tables(title, report))


def findings(report: Report) -> list[str]:
    found = report["summary"]
    sentences = [f"{found['agree']} of {found['compared']} printed numbers that can be recomputed come out."]
    closed = found["verdicts"].get("not recomputable", 0)
    if closed:
        sentences.append(f"{closed} more cannot be recomputed from what is public.")
    return sentences + most_frequent(found["differences"])


def most_frequent(differences: Mapping[str, int]) -> list[str]:
    if not differences:
        return []
    reason, count = next(iter(differences.items()))
    return [f"The most frequent reason for a difference, {count} times: {reason}."]


def tables(title: str, report: Report) -> list[Table]:
    """Every row, and those that differ with their reasons."""
    rows = report["rows"]
    after = ("printed", "recomputed", "rule", "low", "high", "n", "verdict", "why")
    keys = [f"{name}: {name.replace('_', ' ')}" for name in (rows[0] if rows else ()) if name not in after]
    first = " | ".join([*keys, "printed", "recomputed"])
    differing = [row for row in rows if row["verdict"] == "differs"]
    shown = [table_of(title, f"{first} | low | high | n | verdict | rule", rows)]
    return [*shown, table_of("Where print and data differ", f"{first} | why", differing)] if differing else shown


def table_of(
    title: str, columns: str, rows: Iterable[Mapping[str, Any]], note: str = "", draw: Sequence[Drawing] = ()
) -> Table:
    """Rows with keys as a table: "key | key: title" names its columns; a key that a row lacks has nothing to say."""
    heads = [head.strip().partition(": ") for head in columns.split("|")]
    body = tuple(tuple(row.get(key, "") for key, _, _ in heads) for row in rows)
    return Table(title, [_column(key, named or key) for key, _, named in heads], body, note, draw=draw)


def _column(key: str, title: str) -> Column | str:
    """A p-value is known by its key, every other kind by its cells."""
    return Column(key, title, "p") if key == "p" or key.startswith("p_") else title


def as_csv(rows: Sequence[Mapping[str, Any]]) -> bytes:
    """One line a row, a column for every key that any row has; undefined is an empty field."""
    columns = list(dict.fromkeys(name for row in rows for name in row))
    return csv_bytes(columns, [{name: _field(value) for name, value in row.items()} for row in rows])


def _field(value: Any) -> str | int | float | None:
    if value is None or (isinstance(value, str | int | float) and not isinstance(value, bool)):
        return value
    return plain(value)


def as_markdown(title: str, findings: Sequence[str], tables: Sequence[Table]) -> str:
    parts = [f"# {safe(title)}", "", *(f"- {safe(sentence)}" for sentence in findings)]
    for table in tables:
        parts += ["", f"## {safe(table.title)}", "", markdown_table(table)]
    return "\n".join(parts) + "\n"
