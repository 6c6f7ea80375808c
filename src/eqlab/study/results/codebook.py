"""The codebook of a study's exports: every column, and every scale with its words, range, anchors, key and source."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from eqlab.core.design import Design
from eqlab.core.forms import Scale
from eqlab.core.trials import Trial
from eqlab.study.results.columns import ANSWERS, EVENTS, PARTICIPANTS, QUESTIONS, Column
from eqlab.study.results.participants import instrument_of, score_columns


@dataclass(frozen=True, slots=True)
class Entry:
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
    right: int | None = None
    """Of a quiz or attention check: the answer asked for."""
    item: str = ""
    instrument: str = ""
    source: str = ""
    licence: str = ""


FIELDS = tuple(Entry.__slots__)


def codebook(design: Design) -> list[Entry]:
    """In the order of the tables' columns and of the questions."""
    tables = (
        ("answers", ANSWERS),
        ("participants", participant_columns(design)),
        ("events", EVENTS),
        ("questions", QUESTIONS),
    )
    columns = [
        Entry("column", table, column.name, column.meaning, column.kind) for table, own in tables for column in own
    ]
    scales: dict[Entry, None] = {}
    for trial in design.trials.values():
        scales.update(dict.fromkeys(_entry(trial, scale) for scale in trial.form.scales))
    return [*columns, *scales]


def participant_columns(design: Design) -> tuple[Column, ...]:
    """With one column for every score of the study's instruments."""
    scores = (
        Column(name, "number", f"{instrument.name}: {part}, reversed items turned round; empty if not filled in")
        for name, (_, instrument, part) in score_columns(design).items()
    )
    return (*PARTICIPANTS, *scores)


def _entry(trial: Trial, scale: Scale) -> Entry:
    instrument = instrument_of(trial)
    right = trial.key.get("right", {}).get(scale.key)
    asked = f"{trial.stimulus} {scale.text}".strip() if trial.benchmark == "attention" else scale.text
    return Entry(
        "scale",
        trial.benchmark,
        scale.key,
        asked,
        "integer",
        scale.low,
        scale.high,
        "; ".join(f"{value} = {label}" for value, label in scale.anchors),
        scale.reverse,
        right,
        " ".join(trial.items) if trial.benchmark in ("quiz", "attention") else "",
        instrument.name if instrument else "",
        instrument.source if instrument else "",
        instrument.licence if instrument else "",
    )


def as_markdown(title: str, entries: Sequence[Entry]) -> str:
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


def _scale_line(entry: Entry) -> str:
    belongs = " ".join(part for part in (entry.table, entry.item, entry.instrument) if part)
    origin = "; ".join(part for part in (entry.source, entry.licence) if part)
    cells = (
        belongs,
        f"`{entry.name}`",
        entry.meaning,
        f"{entry.low} to {entry.high}",
        entry.anchors,
        "yes" if entry.reverse else "no",
        "" if entry.right is None else str(entry.right),
        origin,
    )
    return "| " + " | ".join(_plain(cell) for cell in cells) + " |"


def _plain(text: str) -> str:
    """One line, and no bar that would end a cell."""
    return " ".join(text.split()).replace("|", "\\|")


def rows(entries: Sequence[Entry]) -> list[dict[str, object]]:
    return [asdict(entry) for entry in entries]
