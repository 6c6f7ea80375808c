"""The codebook of a study's exports: every variable of every table with its type and meaning, which the tables are made
of, and every scale with its words, range, anchors, key and source."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from eqlab.core.design import Design
from eqlab.core.forms import Field, Number, Scale, Several
from eqlab.core.trials import Trial
from eqlab.study.results.participants import instrument_of, score_columns

Kind = Literal["text", "integer", "number", "yes/no", "time"]


@dataclass(frozen=True, slots=True)
class Variable:
    """A column of an exported table."""

    name: str
    kind: Kind
    meaning: str


ANSWERS = (
    Variable("person", "text", "pseudonym, drawn at random; no table that is exported links it to a panel's id"),
    Variable("arm", "text", "arm the person was assigned to; empty before that"),
    Variable("batch", "integer", "batch of trials within the arm"),
    Variable("page", "integer", "number of the page on the person's way, from 0 (consent)"),
    Variable("kind", "text", "question (the researcher's own), instrument, quiz, trial, attention, gold or repeat"),
    Variable("trial", "text", "id of the question, a hash of its content: the same question has the same id "
             "everywhere"),
    Variable("benchmark", "text", "what the trial belongs to"),
    Variable("condition", "text", "what the benchmark varies, e.g. default or evoked"),
    Variable("item", "text", "item or items that the trial shows"),
    Variable("reply_of", "text", "rating: whose reply was rated; no rater saw it"),
    Variable("scale", "text", "key of the scale, see the codebook's scales"),
    Variable("value", "integer", "the answer on a scale as given, not reversed; empty for other fields"),
    Variable("label", "text", "the anchor's words for this value, if there are any; of several answers all"),
    Variable("number", "number", "a number that was asked for; empty: declined, left out, or no such field"),
    Variable("text", "text", "a text that was asked for; empty: declined, left out, or no such field"),
    Variable("reverse", "yes/no", "whether the scale is keyed the other way round"),
    Variable("attempt", "integer", "1; 2 and more are further tries of the quiz, or answers that were changed"),
    Variable("counts", "yes/no", "whether it is the last attempt, which is the one that counts"),
    Variable("seconds", "number", "from showing the page to saving it, bounded by the server's own clock; empty for an "
           "answer that was changed"),
    Variable("away", "number", "seconds of it in which the page was out of sight"),
    Variable("at", "time", "when the answer was stored, UTC"),
    Variable("simulated", "yes/no", "whether no person but a program answered (`eqlab study simulate`)"),
)  # fmt: skip
PARTICIPANTS = (
    Variable("person", "text", "pseudonym, as in the answers"),
    Variable("state", "text", "arrived, taking, finished, extra (finished after the place was given away), declined, "
           "failed (the quiz), full, stopped, returned (to the panel, or released) or banned"),
    Variable("arm", "text", "arm the person was assigned to; empty before that"),
    Variable("batch", "integer", "batch of trials within the arm"),
    Variable("language", "text", "language of the pages"),
    Variable("consent_version", "text", "version of the consent text that was agreed to"),
    Variable("arrived_at", "time", "first request, UTC"),
    Variable("consented_at", "time", "UTC"),
    Variable("assigned_at", "time", "when a place was claimed, UTC"),
    Variable("ended_at", "time", "end of taking part, of whatever kind, UTC"),
    Variable("seen_at", "time", "last save, UTC"),
    Variable("duration", "number", "seconds from consent to the end, of those who came to it"),
    Variable("page", "integer", "page reached, from 0"),
    Variable("pages", "integer", "pages on the person's way, as far as planned"),
    Variable("trials_answered", "integer", "trial pages answered"),
    Variable("attention_passed", "integer", "instructed checks answered as asked"),
    Variable("attention_failed", "integer", "instructed checks answered otherwise"),
    Variable("gold_passed", "integer", "gold items answered rightly"),
    Variable("gold_failed", "integer", "gold items answered otherwise"),
    Variable("repeat_apart", "number", "how far answers to repeated pages are apart, as a share of the scale"),
    Variable("quiz_attempts", "integer", "tries of the comprehension check; 0 if it was not reached"),
    Variable("straight_lining", "yes/no", "one value on all trial pages (five values or more), or throughout one page "
           "of ten or more scales"),
    Variable("too_fast", "integer", "trial and instrument pages answered faster than the study's least_seconds"),
    Variable("away", "number", "seconds in which pages were out of sight, in all"),
    Variable("impossible", "integer", "pages whose browser claimed a time that the server's clock rules out"),
    Variable("device", "text", "phone, tablet or computer, as the browser said"),
    Variable("steps", "text", "the person's own way as JSON: kind and question of each page, in order"),
    Variable("simulated", "yes/no", "whether it is no person but a program"),
)  # fmt: skip
EVENTS = (
    Variable("number", "integer", "order of what happened, from 1"),
    Variable("at", "time", "UTC"),
    Variable("person", "text", "pseudonym; empty once the person is erased"),
    Variable("kind", "text", "arrived, consented, assigned, saved, expired, admitted, corrected, "
           "released, banned, erased, or the state at the end"),
    Variable("page", "integer", "page it happened on"),
    Variable("attempt", "integer", "which try of the page"),
    Variable("detail", "text", "the rest, as JSON"),
    Variable("simulated", "yes/no", "whether it is no person but a program"),
)  # fmt: skip
QUESTIONS = (
    Variable("trial", "text", "id of the question, as in the answers"),
    Variable("benchmark", "text", "what the question belongs to"),
    Variable("condition", "text", "what the benchmark varies"),
    Variable("item", "text", "item or items that the question shows"),
    Variable("stimulus", "text", "what people looked at, in full"),
    Variable("scales", "text", "the scales as JSON: key, words, range, anchors, reversed"),
    Variable("key", "text", "what no participant saw, as JSON: references, whose reply, right answers, subscales"),
)
TALKS = (
    Variable("person", "text", "pseudonym, as in the answers"),
    Variable("arm", "text", "arm the person was assigned to; the person was not told"),
    Variable("talk", "text", "id of the talk's first turn: the same for all who began with the same page"),
    Variable("item", "text", "persona that is talked about; own: something of the person's"),
    Variable("turn", "integer", "from 0, both seats counted"),
    Variable("seat", "text", "speaker or listener"),
    Variable("by", "text", "person or model"),
    Variable("text", "text", "what was said; empty where nothing was"),
    Variable("emotion", "integer", "speaker: how they feel, 0 to 100; at turn 0 before any reply"),
    Variable("feeling", "text", "speaker: why, in their own words; the other seat did not see it"),
    Variable("leaves", "integer", "speaker: 0 stays, 1 leaves satisfied, 2 leaves hurt"),
    Variable("status", "text", "ok; refused (by the provider, or closed by the person); unparseable"),
    Variable("finish", "text", "left: the person closed the talk; down: no reply came; else the model's own word"),
    Variable("attempts", "integer", "replies of the model until one could be read"),
    Variable("seconds", "number", "model: from asking to the last byte"),
    Variable("at", "time", "when the turn was stored, UTC"),
    Variable("simulated", "yes/no", "whether no person but a program took part"),
)


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
        ("participants", participant_variables(design)),
        ("events", EVENTS),
        ("questions", QUESTIONS),
    )
    columns = [
        CodebookEntry("column", table, variable.name, variable.meaning, variable.kind)
        for table, variables in tables
        for variable in variables
    ]
    scales: dict[CodebookEntry, None] = {}
    for trial in design.trials.values():
        scales.update(dict.fromkeys(_entry(trial, field) for field in trial.form.fields))
    return [*columns, *scales]


def participant_variables(design: Design) -> tuple[Variable, ...]:
    """With one column for every score of the study's instruments."""
    scores = (
        Variable(name, "number", f"{instrument.name}: {part}, reversed items turned round; empty if not filled in")
        for name, (_, instrument, part) in score_columns(design).items()
    )
    return (*PARTICIPANTS, *scores)


def _entry(trial: Trial, field: Field) -> CodebookEntry:
    instrument = instrument_of(trial)
    right = trial.key.get("right", {}).get(field.key)
    asked = f"{trial.stimulus} {field.text}".strip() if trial.benchmark in ("attention", "gold") else field.text
    kind, low, high, answers = _answer_range(field)
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


def _answer_range(field: Field) -> tuple[str, int | None, int | None, str]:
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
