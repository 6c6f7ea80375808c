"""A study's answers, participants, events, questions and talks as tables for other tools, with a codebook. Panel ids
and their hashes are in none of them; rows come in one order whatever the store.

The codebook of a study's exports: every variable of every table with its type and meaning, which the tables are made
of, and every scale with its words, range, anchors, key and source."""

import csv
import io
import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from eqlab.core.answers import Status, final
from eqlab.core.design import Design, steps_to_json
from eqlab.core.errors import UsageError
from eqlab.core.forms import Field, Number, Scale, Several
from eqlab.core.moves import State
from eqlab.core.plural import many
from eqlab.core.runs import is_simulated
from eqlab.core.trials import Trial
from eqlab.core.values import dataclass
from eqlab.core.words import count_words
from eqlab.data.files import write_whole
from eqlab.store.study.participation import Participation
from eqlab.store.study.records import Event
from eqlab.study.results.analysis import analyse_moment
from eqlab.study.results.bundle import RECORDS, exported_people, write_bundle
from eqlab.study.results.participants import (
    Given,
    Participant,
    Participants,
    instrument_of,
    read_participants,
    score_columns,
)
from eqlab.tables.cells import safe
from eqlab.tables.data import safe_csv
from eqlab.tables.labelled import LABELLED, Variable, labelled_file, variables_frame

if TYPE_CHECKING:
    import polars as pl

ANSWERS = (
    Variable("person", "text", "pseudonym, drawn at random; no table that is exported links it to a panel's id"),
    Variable("arm", "text", "arm the person was assigned to; empty before that"),
    Variable("batch", "integer", "batch of trials within the arm"),
    Variable("page", "integer", "number of the page on the person's way, from 0 (consent)"),
    Variable("kind", "text", "what the page is for; question: the researcher's own",
             values=("question", "instrument", "quiz", "trial", "attention", "gold", "repeat")),
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
    Variable("state", "text", "how far the person came; extra: finished after the place was given away; failed: the "
             "quiz; returned: to the panel, or released", values=get_args(State)),
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
           "of ten or more scales; trial pages with one scale each say nothing"),
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
    Variable("seat", "text", "who spoke", values=("speaker", "listener")),
    Variable("by", "text", "who sat there", values=("person", "model")),
    Variable("text", "text", "what was said; empty where nothing was"),
    Variable("emotion", "integer", "speaker: how they feel, 0 to 100; at turn 0 before any reply"),
    Variable("feeling", "text", "speaker: why, in their own words; the other seat did not see it"),
    Variable("leaves", "integer", "speaker: 0 stays, 1 leaves satisfied, 2 leaves hurt"),
    Variable("status", "text", "refused: by the provider, or closed by the person", values=get_args(Status)),
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
    """Of a column: the words that may stand in it, where they are a closed set."""
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
    columns = [
        CodebookEntry("column", table, one.name, one.meaning, one.kind, anchors="; ".join(one.values))
        for table, variables in tables(design).items()
        for one in variables
    ]
    scales: dict[CodebookEntry, None] = {}
    for trial in design.trials.values():
        scales.update(dict.fromkeys(_entry(trial, field) for field in trial.form.fields))
    return [*columns, *scales]


def tables(design: Design) -> dict[str, Sequence[Variable]]:
    """Every exported table's columns."""
    return {
        "answers": ANSWERS,
        "participants": participant_variables(design),
        "events": EVENTS,
        "questions": QUESTIONS,
        **({"talks": TALKS} if design.talks else {}),
    }


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
    lines = [f"# Codebook: {safe(title)}", ""]
    for table in dict.fromkeys(entry.table for entry in entries if entry.part == "column"):
        own = [entry for entry in entries if entry.part == "column" and entry.table == table]
        lines += [f"## {table}", "", "| column | type | meaning | values |", "|---|---|---|---|"]
        lines += [
            f"| `{_plain(entry.name)}` | {entry.kind} | {_plain(entry.meaning)} | {entry.anchors} |" for entry in own
        ]
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
        safe(entry.meaning),
        "" if entry.low is None else f"{entry.low} to {entry.high}",
        safe(entry.anchors),
        "yes" if entry.reverse else "no",
        safe(entry.right or ""),
        safe(origin),
    )
    name = _plain(entry.name).replace("`", "'")
    return f"| {safe(belongs)} | `{name}` | {' | '.join(cells)} |"


def _plain(text: str) -> str:
    """One line, and no bar that would end a cell."""
    return " ".join(text.split()).replace("|", "\\|")


FORMATS = ("csv", "parquet")
RELEASE = "release.json"
"""By which a folder is known as one that may be given to everybody."""
_MOST_BREAKS, _LONGEST_SHOWN = 3, 60
"""Cells of a file that are told where they differ from the records, and characters of each."""


def table_names(design: Design) -> tuple[str, ...]:
    return (*tables(design), "codebook")


def export_table(participation: Participation, what: str, fmt: str, participants: Participants | None = None) -> bytes:
    """One table as a file's content, of everybody as they are now unless they are given. `md` is for the codebook
    only."""
    names = table_names(participation.design)
    if what not in names or (fmt not in FORMATS and not (what == "codebook" and fmt == "md")):
        raise UsageError(f"There is no export '{what}.{fmt}'.", f"There are {', '.join(names)} as csv or parquet.")
    if what == "codebook":
        return _codebook(participation, fmt)
    return _content(_frame(participation.design, what, participants or read_participants(participation)), fmt)


def export_all(
    participation: Participation,
    folder: Path,
    who: str = "",
    labelled: str = "",
    say: Callable[[str], None] = lambda _: None,
    file: str = "",
) -> list[tuple[Path, int | None]]:
    """Every table in every format (`labelled`: also as `sav` or `dta`), and what is needed to do the analysis again;
    (file, rows) of each. `file`: the text of the study file as it is now; else that with which the study began."""
    if labelled not in ("", *LABELLED):
        raise UsageError(f"There is no format '{labelled}'.", "Write sav (SPSS) or dta (Stata).")
    if (folder / RELEASE).exists():
        raise UsageError(
            f"{folder} holds a release for everybody; an export is for nobody else.", "Name another folder with -o."
        )
    # that somebody looks is on disk before there is anything to see
    found, records, participants = analyse_moment(participation, who, "exported")
    frames: dict[str, pl.DataFrame] = {
        what: _frame(participation.design, what, participants) for what in tables(participation.design)
    }
    written: list[tuple[Path, int | None]] = []
    for what, frame in frames.items():
        for fmt in FORMATS:
            path = folder / f"{what}.{fmt}"
            write_whole(path, _content(frame, fmt))
            written.append((path, frame.height))
        if labelled:
            path = folder / f"{what}.{labelled}"
            write_whole(path, labelled_file(frame, tables(participation.design)[what], labelled, say))
            written.append((path, frame.height))
    for fmt in (*FORMATS, "md"):
        path = folder / f"codebook.{fmt}"
        write_whole(path, _codebook(participation, fmt))
        written.append((path, None))
    return written + [(path, None) for path in write_bundle(participation, found, records, folder, file)]


def _codebook(participation: Participation, fmt: str) -> bytes:
    import polars as pl

    entries = codebook(participation.design)
    if fmt == "md":
        return as_markdown(participation.study.title, entries).encode()
    kinds = {"low": pl.Int64, "high": pl.Int64, "reverse": pl.Boolean}
    schema = {name: kinds.get(name, pl.String) for name in FIELDS}
    return _content(pl.DataFrame([asdict(entry) for entry in entries], schema=schema), fmt)


def _frame(design: Design, what: str, participants: Participants) -> "pl.DataFrame":
    if what == "answers":
        return variables_frame(ANSWERS, (row for person in participants.people for row in _answers(person)))
    if what == "questions":
        return variables_frame(QUESTIONS, (_question(trial) for trial in design.trials.values()))
    if what == "events":
        return variables_frame(EVENTS, (_event(event) for event in participants.events))
    if what == "talks":
        return variables_frame(TALKS, talk_rows(participants.people))
    return variables_frame(participant_variables(design), (_person(person) for person in participants.people))


def _content(frame: "pl.DataFrame", fmt: str) -> bytes:
    if fmt == "csv":
        return safe_csv(frame)
    kept = io.BytesIO()
    frame.write_parquet(kept)
    return kept.getvalue()


def table_breaks(folder: Path) -> list[str]:
    """Where the tables of an export differ from the stored rows that it holds as well: the first differences of each
    file. A CSV that is not there is a difference, a Parquet file is not."""
    import polars as pl

    design, participants = exported_people(folder)
    found = []
    for what in tables(design):
        wanted = _cells(safe_csv(_frame(design, what, participants)))
        for fmt in FORMATS:
            path = folder / f"{what}.{fmt}"
            if path.exists():
                try:
                    content = path.read_bytes() if fmt == "csv" else safe_csv(pl.read_parquet(path))
                    found += _cell_breaks(path.name, wanted, _cells(content))
                except (ValueError, OSError, pl.exceptions.PolarsError) as error:
                    found.append(f"{path.name} cannot be read ({type(error).__name__})")
            elif fmt == "csv":
                found.append(f"{path.name} is missing")
    return found


def _cells(content: bytes) -> list[list[str]]:
    return list(csv.reader(io.StringIO(content.decode("utf-8-sig"), newline="")))


def _cell_breaks(name: str, wanted: list[list[str]], there: list[list[str]]) -> list[str]:
    """Row 1 is the one below the names of the columns."""
    if not there or there[0] != wanted[0]:
        return [f"{name}: the names of its columns are not those of the export"]
    found = [
        f"{name}, row {number}, column {column}: {_shown(cell)}, and {_shown(stored)} in {RECORDS}"
        for number, (own, row) in enumerate(zip(wanted[1:], there[1:], strict=False), start=1)
        for column, stored, cell in zip_longest(wanted[0], own, row, fillvalue="")
        if not _same(cell, stored)
    ]
    rest = len(found) - _MOST_BREAKS
    if rest > 0:
        found[_MOST_BREAKS:] = [f"{name}: {many(rest, 'more cell differs', 'more cells differ')}"]
    if len(there) != len(wanted):
        found.append(f"{name} has {many(len(there) - 1, 'row')}, and {RECORDS} makes {len(wanted) - 1}")
    return found


def _same(cell: str, stored: str) -> bool:
    """As text, or as JSON: a number and the order of keys may be written in other ways."""
    if cell == stored:
        return True
    try:
        return bool(json.loads(cell) == json.loads(stored))
    except ValueError:
        return False


def _shown(cell: str) -> str:
    return repr(cell if len(cell) <= _LONGEST_SHOWN else f"{cell[:_LONGEST_SHOWN]}…") if cell else "empty"


def _answers(person: Participant) -> Iterator[dict[str, Any]]:
    counted = {(one.page, one.attempt) for one in person.counted}
    for one in person.given:
        yield from _values(person, one, (one.page, one.attempt) in counted)


def _values(person: Participant, one: Given, counts: bool) -> Iterator[dict[str, Any]]:
    for field in one.trial.form.fields:
        yield {
            "person": person.person,
            "arm": person.arm,
            "batch": person.batch,
            "page": one.page,
            "kind": one.kind,
            "trial": one.trial.id,
            "benchmark": one.trial.benchmark,
            "condition": one.trial.condition,
            "item": " ".join(one.trial.items),
            "reply_of": one.trial.key.get("arm") if one.trial.benchmark == "rating" else None,
            "scale": field.key,
            **_value(field, one.values.get(field.key)),
            "attempt": one.attempt,
            "counts": counts,
            "seconds": one.seconds,
            "away": one.away,
            "at": _time(one.at),
            "simulated": is_simulated(person.person),
        }


def _question(trial: Trial) -> dict[str, Any]:
    return {
        "trial": trial.id,
        "benchmark": trial.benchmark,
        "condition": trial.condition,
        "item": " ".join(trial.items),
        "stimulus": trial.stimulus,
        "scales": json.dumps([asdict(field) for field in trial.form.fields], ensure_ascii=False),
        "key": json.dumps(dict(trial.key), ensure_ascii=False),
    }


def _value(field: Field, value: Any) -> dict[str, Any]:
    """A value in the column of its kind."""
    found: dict[str, Any] = {"value": None, "label": None, "number": None, "text": None, "reverse": False}
    if isinstance(field, Scale):
        return {**found, "value": value, "label": dict(field.anchors).get(value), "reverse": field.reverse}
    if value is None:
        return found
    if isinstance(field, Several):
        return {**found, "label": "; ".join((*field.options, field.alone)[number - 1] for number in value)}
    return {**found, "number": float(value)} if isinstance(field, Number) else {**found, "text": str(value)}


_AS_THEY_ARE = (
    *("person", "state", "arm", "batch", "language", "consent_version", "duration", "page", "quiz_attempts"),
    *("straight_lining", "too_fast", "impossible", "device"),
)
_TIMES = ("arrived_at", "consented_at", "assigned_at", "ended_at", "seen_at")


def _person(person: Participant) -> dict[str, Any]:
    return {
        **{name: getattr(person, name) for name in _AS_THEY_ARE},
        **{name: _time(getattr(person, name)) for name in _TIMES},
        "pages": len(person.steps),
        "trials_answered": sum(page.kind == "trial" for page in person.pages),
        "attention_passed": person.checks(True),
        "attention_failed": person.checks(False),
        "gold_passed": person.gold(True),
        "gold_failed": person.gold(False),
        "repeat_apart": person.apart,
        "away": sum(given.away for given in person.given),
        "steps": steps_to_json(person.steps),
        "simulated": is_simulated(person.person),
        **person.scores,
    }


def _event(event: Event) -> dict[str, Any]:
    rest = {name: value for name, value in event.detail.items() if name not in ("page", "attempt")}
    return {
        "number": event.number,
        "at": _time(event.at),
        "person": event.person,
        "kind": event.kind,
        "page": event.detail.get("page"),
        "attempt": event.detail.get("attempt"),
        "detail": json.dumps(rest, ensure_ascii=False, sort_keys=True),
        "simulated": is_simulated(event.person or ""),
    }


def _time(at: float | None) -> datetime | None:
    return None if at is None else datetime.fromtimestamp(at, UTC)


def talk_rows(people: Sequence[Participant]) -> Iterator[dict[str, Any]]:
    """Turn by turn in the order of the talks."""
    for person in people:
        for scored in person.turns:
            answer = final(scored.attempts)
            if answer is None:
                continue
            speaker = bool(scored.trial.seat)
            values: Mapping[str, Any] = answer.values if speaker and answer.status == "ok" else {}
            yield {
                "person": person.person,
                "arm": person.arm,
                "talk": scored.trial.talk or scored.trial.id,
                "item": " ".join(scored.trial.items),
                "turn": scored.trial.turn,
                "seat": "speaker" if speaker else "listener",
                "by": "model" if answer.model or answer.latency is not None else "person",
                "text": str(values.get("says") or "") if speaker else answer.text,
                "emotion": values.get("emotion"),
                "feeling": values.get("feeling"),
                "leaves": values.get("leaves"),
                "status": answer.status,
                "finish": answer.finish,
                "attempts": len(scored.attempts),
                "seconds": answer.latency,
                "at": datetime.fromtimestamp(answer.at, UTC),
                "simulated": is_simulated(person.person),
            }


def public_talk_rows(people: Sequence[Participant], names: Mapping[str, str]) -> list[dict[str, Any]]:
    """Without a word of what was said: feelings, decisions, and lengths in steps of ten words."""
    rows = []
    for talk_row in talk_rows(people):
        kept = {name: talk_row[name] for name in ("arm", "item", "turn", "seat", "by", "emotion", "leaves", "status")}
        words = count_words(str(talk_row["text"]))
        rows.append({"person": names[talk_row["person"]], **kept, "words": 10 * round(words / 10)})
    return sorted(rows, key=lambda row: (row["person"], row["item"], row["turn"]))
