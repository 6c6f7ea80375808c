"""The codebook of a study's exports: every column, and every scale with its words, range, anchors, key and source."""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from eqlab.core.design import Design
from eqlab.core.forms import Field, Number, Scale, Several
from eqlab.core.trials import Trial
from eqlab.study.results.columns import ANSWERS, EVENTS, PARTICIPANTS, QUESTIONS, Column
from eqlab.study.results.participants import instrument_of, score_columns


@dataclass(frozen=True, slots=True)
class CodebookEntry:
    part: str
    """`column`, or `scale`."""
    table: str
    """Of a column: the table it stands in. Of a scale: the benchmark, as in the answers' column of that name."""
    name: str
    meaning: str
    """Of a scale: its words."""
    kind: str = ""
    low: int | None = None
    high: int | None = None
    anchors: str = ""
    reverse: bool | None = None
    right: str | None = None
    """Of a quiz or attention check: the answer asked for, a number or a word."""
    item: str = ""
    instrument: str = ""
    source: str = ""
    licence: str = ""


FIELDS = tuple(CodebookEntry.__slots__)


def codebook(design: Design) -> list[CodebookEntry]:
    """In the order of the tables' columns and of the questions."""
    tables = (
        ("answers", ANSWERS),
        ("participants", participant_columns(design)),
        ("events", EVENTS),
        ("questions", QUESTIONS),
    )
    columns = [
        CodebookEntry("column", table, column.name, column.meaning, column.kind)
        for table, own in tables
        for column in own
    ]
    scales: dict[CodebookEntry, None] = {}
    for trial in design.trials.values():
        scales.update(dict.fromkeys(_entry(trial, field) for field in trial.form.fields))
    return [*columns, *scales]


def participant_columns(design: Design) -> tuple[Column, ...]:
    """With one column for every score of the study's instruments."""
    scores = (
        Column(name, "number", f"{instrument.name}: {part}, reversed items turned round; empty if not filled in")
        for name, (_, instrument, part) in score_columns(design).items()
    )
    return (*PARTICIPANTS, *scores)


def _entry(trial: Trial, field: Field) -> CodebookEntry:
    instrument = instrument_of(trial)
    right = trial.key.get("right", {}).get(field.key)
    asked = f"{trial.stimulus} {field.text}".strip() if trial.benchmark in ("attention", "gold") else field.text
    kind, low, high, answers = _answers(field)
    return CodebookEntry(
        "scale",
        trial.benchmark,
        field.key,
        asked,
        kind,
        low,
        high,
        answers,
        isinstance(field, Scale) and field.reverse,
        None if right is None else str(right),
        " ".join(trial.items) if trial.benchmark in ("quiz", "attention", "gold", "question") else "",
        instrument.name if instrument else "",
        instrument.source if instrument else "",
        instrument.licence if instrument else "",
    )


def _answers(field: Field) -> tuple[str, int | None, int | None, str]:
    """Type, range and words of what may be answered."""
    if isinstance(field, Scale):
        return "integer", field.low, field.high, "; ".join(f"{value} = {label}" for value, label in field.anchors)
    if isinstance(field, Several):
        return "several", None, None, "; ".join((*field.options, *((field.alone,) if field.alone else ())))
    told = f"{field.declined}: empty" if field.declined else ""
    if isinstance(field, Number):
        return "number", math.floor(field.low), math.ceil(field.high), told
    return "text", None, None, told


def as_markdown(title: str, entries: Sequence[CodebookEntry]) -> str:
    """For reading: columns table by table, then the scales."""
    lines = [f"# Codebook: {_plain(title)}", ""]
    for table in ("answers", "participants", "events", "questions"):
        own = [entry for entry in entries if entry.part == "column" and entry.table == table]
        lines += [f"## {table}", "", "| column | type | meaning |", "|---|---|---|"]
        lines += [f"| `{_plain(entry.name)}` | {entry.kind} | {_plain(entry.meaning)} |" for entry in own]
        lines.append("")
    lines += ["## Scales", ""]
    lines += ["| belongs to | scale | words | range | anchors | reversed | right | source, licence |"]
    lines += ["|---|---|---|---|---|---|---|---|"]
    lines += [_scale_line(entry) for entry in entries if entry.part == "scale"]
    return "\n".join(lines) + "\n"


def _scale_line(entry: CodebookEntry) -> str:
    belongs = " ".join(part for part in (entry.table, entry.item, entry.instrument) if part)
    origin = "; ".join(part for part in (entry.source, entry.licence) if part)
    cells = (
        belongs,
        f"`{entry.name}`",
        entry.meaning,
        "" if entry.low is None else f"{entry.low} to {entry.high}",
        entry.anchors,
        "yes" if entry.reverse else "no",
        entry.right or "",
        origin,
    )
    return "| " + " | ".join(_plain(cell) for cell in cells) + " |"


def _plain(text: str) -> str:
    """One line, and no bar that would end a cell."""
    return " ".join(text.split()).replace("|", "\\|")


def rows(entries: Sequence[CodebookEntry]) -> list[dict[str, object]]:
    return [asdict(entry) for entry in entries]
