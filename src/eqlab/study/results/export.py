"""A study's answers, participants, events, questions and talks as tables for other tools, with a codebook. Panel ids
and their hashes are in none of them; rows come in one order whatever the store."""

import io
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from eqlab.core.answers import final
from eqlab.core.design import steps_to_json
from eqlab.core.errors import UsageError
from eqlab.core.forms import Field, Number, Scale, Several
from eqlab.core.moves import is_simulated
from eqlab.core.trials import Trial
from eqlab.data.files import write_whole
from eqlab.store.study.participation import Participation
from eqlab.store.study.records import Event
from eqlab.study.results.analysis import analyse
from eqlab.study.results.bundle import write_bundle
from eqlab.study.results.codebook import (
    ANSWERS,
    EVENTS,
    FIELDS,
    QUESTIONS,
    TALKS,
    Variable,
    as_markdown,
    codebook,
    participant_variables,
)
from eqlab.study.results.participants import (
    Given,
    Participant,
    Participants,
    read_participants,
)
from eqlab.tables.data import safe_csv

if TYPE_CHECKING:
    import polars as pl


What = Literal["answers", "participants", "events", "questions", "codebook"]
Format = Literal["csv", "parquet", "md"]
TABLES: tuple[What, ...] = ("answers", "participants", "events", "questions", "codebook")
FORMATS: tuple[Format, ...] = ("csv", "parquet")


def export_table(participation: Participation, what: What, fmt: Format) -> bytes:
    """One table as a file's content. `md` is for the codebook only."""
    if what not in TABLES or (fmt not in FORMATS and not (what == "codebook" and fmt == "md")):
        raise UsageError(f"There is no export '{what}.{fmt}'.", f"There are {', '.join(TABLES)} as csv or parquet.")
    if what == "codebook":
        return _codebook(participation, fmt)
    return _content(_frame(participation, what, read_participants(participation)), fmt)


def export_all(participation: Participation, folder: Path, who: str = "") -> list[tuple[Path, int | None]]:
    """Every table in every format, and what is needed to do the analysis again; (file, rows) of each."""
    participants = read_participants(participation)
    frames: dict[str, pl.DataFrame] = {what: _frame(participation, what, participants) for what in TABLES[:-1]}
    if participation.design.talks:
        frames["talks"] = _table(TALKS, talk_rows(participants.people))
    written: list[tuple[Path, int | None]] = []
    for what, frame in frames.items():
        for fmt in FORMATS:
            path = folder / f"{what}.{fmt}"
            write_whole(path, _content(frame, fmt))
            written.append((path, frame.height))
    for fmt in (*FORMATS, "md"):
        path = folder / f"codebook.{fmt}"
        write_whole(path, _codebook(participation, fmt))
        written.append((path, None))
    found = analyse(participation, who, "exported")
    return written + [(path, None) for path in write_bundle(participation, found, folder)]


def _codebook(participation: Participation, fmt: Format) -> bytes:
    import polars as pl

    entries = codebook(participation.design)
    if fmt == "md":
        return as_markdown(participation.study.title, entries).encode()
    kinds = {"low": pl.Int64, "high": pl.Int64, "reverse": pl.Boolean}
    schema = {name: kinds.get(name, pl.String) for name in FIELDS}
    return _content(pl.DataFrame([asdict(entry) for entry in entries], schema=schema), fmt)


def _frame(participation: Participation, what: str, participants: Participants) -> "pl.DataFrame":
    if what == "answers":
        return _table(ANSWERS, (row for person in participants.people for row in _answers(person)))
    if what == "questions":
        return _table(QUESTIONS, (_question(trial) for trial in participation.design.trials.values()))
    if what == "events":
        return _table(EVENTS, (_event(event) for event in participants.events))
    return _table(participant_variables(participation.design), (_person(person) for person in participants.people))


def _table(variables: Sequence[Variable], rows: Iterator[dict[str, Any]]) -> "pl.DataFrame":
    import polars as pl

    types: dict[str, Any] = {
        "text": pl.String,
        "integer": pl.Int64,
        "number": pl.Float64,
        "yes/no": pl.Boolean,
        "time": pl.Datetime("ms", "UTC"),
    }
    return pl.DataFrame(list(rows), schema={variable.name: types[variable.kind] for variable in variables})


def _content(frame: "pl.DataFrame", fmt: Format) -> bytes:
    if fmt == "csv":
        return safe_csv(frame)
    kept = io.BytesIO()
    frame.write_parquet(kept)
    return kept.getvalue()


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
        for one in person.turns:
            answer = final(one.attempts)
            if answer is None:
                continue
            speaker = bool(one.trial.seat)
            values: Mapping[str, Any] = answer.values if speaker and answer.status == "ok" else {}
            yield {
                "person": person.person,
                "arm": person.arm,
                "talk": one.trial.talk or one.trial.id,
                "item": " ".join(one.trial.items),
                "turn": one.trial.turn,
                "seat": "speaker" if speaker else "listener",
                "by": "model" if answer.model or answer.latency is not None else "person",
                "text": str(values.get("says") or "") if speaker else answer.text,
                "emotion": values.get("emotion"),
                "feeling": values.get("feeling"),
                "leaves": values.get("leaves"),
                "status": answer.status,
                "finish": answer.finish,
                "attempts": len(one.attempts),
                "seconds": answer.latency,
                "at": datetime.fromtimestamp(answer.at, UTC),
                "simulated": is_simulated(person.person),
            }


def public_talk_rows(people: Sequence[Participant], names: Mapping[str, str]) -> list[dict[str, Any]]:
    """Without a word of what was said: feelings, decisions, and lengths in steps of ten words."""
    rows = []
    for one in talk_rows(people):
        kept = {name: one[name] for name in ("arm", "item", "turn", "seat", "by", "emotion", "leaves", "status")}
        words = len(str(one["text"]).split())
        rows.append({"person": names[one["person"]], **kept, "words": 10 * round(words / 10)})
    return sorted(rows, key=lambda row: (row["person"], row["item"], row["turn"]))
