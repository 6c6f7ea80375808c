"""Everybody who came, as a manager's list by pseudonym, with what might call for an action; and what to tell a panel
about its people. The store knows hashes of panel ids only.

Signals of how each person worked, in one table: pasted text, typing speed, time out of sight, phrases that return, and
replies like a model's. They are flags to look at, never verdicts: nobody is excluded or paid by them.

What people wrote in a reply study, as a table for a moderator: one row a reply, with marks of how much care went
into it and an empty column to decide in. Filled in, the table is a source of replies for raters and judges."""

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eqlab.benchmarks.empathy.benchmark import KEY
from eqlab.benchmarks.empathy.replies import WrittenReply, likeness, moderation_marks
from eqlab.core.errors import DataError, UsageError
from eqlab.core.forms import Writing
from eqlab.core.results import Column, Table
from eqlab.core.values import dataclass
from eqlab.core.words import count_words
from eqlab.data.files import write_whole
from eqlab.runs.judge import run_replies
from eqlab.store.study.participation import Participation
from eqlab.store.study.records import erased_marks, people_by_hash
from eqlab.study.panels import ending_of, one_spelling, panel_hash, read_panel_id, tombstone
from eqlab.study.results.analysis import select_sample
from eqlab.study.results.export import talk_rows
from eqlab.study.results.participants import Participant, Participants, read_participants
from eqlab.tables.data import FORMULA, safe_csv

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True, slots=True)
class PersonRow:
    person: str
    state: str
    arm: str
    page: int
    pages: int
    minutes: float | None
    """From arriving to the end, or to the last sign of life."""
    silent: float
    """Minutes since the last save."""
    flags: tuple[str, ...]


def people_rows(participation: Participation) -> list[PersonRow]:
    """The last who came first. While a locked study is under way without their arms, which beside the flags would be a
    look at results."""
    now = participation.clock()
    shut = participation.store.shut(participation.design.run.id)
    rows = []
    for person in reversed(read_participants(participation).people):
        flags = [
            word
            for word, is_so in (
                ("failed attention", person.checks(False) > 0),
                ("too fast", bool(person.timed) and 2 * person.too_fast > person.timed),
                ("straight-lining", person.straight_lining),
                ("impossible times", person.impossible > 0),
            )
            if is_so
        ]
        end = person.ended_at if person.ended_at is not None else person.seen_at
        rows.append(
            PersonRow(
                person.person,
                person.state,
                "" if shut else person.arm or "",
                person.page + 1,
                len(person.steps),
                (end - person.arrived_at) / 60,
                (now - person.seen_at) / 60,
                tuple(flags),
            )
        )
    return rows


# -- signals ---------------------------------------------------------------------------------------------------------

HIDDEN = 0.5
"""Share of the time on pages with the tab out of sight, from which on it is a flag."""
LIKE_MODEL = 0.5
"""Share of word pairs in common with a model's reply to the same prompt, from which on it is a flag. Replies that two
people write to one prompt share less than a tenth as a rule."""
_PHRASES = ("duplicate", "near_duplicate", "repeats_itself", "copies_the_prompt")


@dataclass(frozen=True, slots=True)
class Signals:
    """What was seen of one person, as numbers, and which of it is unusual."""

    person: str
    state: str
    texts: int
    words: int
    pasted: float | None
    """Share of the characters that were pasted, %; None for somebody who wrote nothing where a script counts them."""
    fastest: float | None
    """Characters a second on the page that was written fastest."""
    hidden: float | None
    """Share of the time on pages with the tab out of sight, %."""
    repeated: int
    """Texts that repeat themselves, the prompt, or another text."""
    like_model: float | None
    """The highest likeness of a reply with a stored model's reply to the same prompt, %; None without such a reply."""
    flags: tuple[str, ...]


def signals(participation: Participation, participants: Participants | None = None) -> list[Signals]:
    """Of everybody who answered a page, in the order of arrival."""
    participants = participants or read_participants(participation)
    work = _Work(participants)
    texts = {person.person: list(_texts(person, work)) for person in participants.people}
    every = [reply for text in texts.values() for reply in text]
    marks = dict(zip(map(id, every), moderation_marks(every, 0), strict=True))
    models = _model_replies(participation) if every else {}
    rows = []
    for person in participants.people:
        replies = texts[person.person]
        found = {mark for reply in replies for mark in marks[id(reply)]}
        rates = [len(reply.reply) / max(reply.seconds, 0.1) for reply in replies if reply.seconds is not None]
        changes = [change for one in person.counted for change in work.changes(person, one.page)]
        time = sum(one.seconds or 0.0 for one in person.given) + sum(one.get("seconds", 0.0) for one in changes)
        away = sum(one.away for one in person.given) + sum(one.get("away", 0.0) for one in changes)
        hidden = away / time if time else None
        alike = max(
            (likeness(reply.reply, said) for reply in replies for said in models.get(reply.prompt, ())), default=None
        )
        characters = sum(len(reply.reply) for reply in replies if reply.pasted is not None)
        # what was pasted and taken out again is not in the text
        inside = sum(min(reply.pasted or 0, len(reply.reply)) for reply in replies)
        pasted = inside / characters if characters else None
        flags = (
            ("pasted", "pasted" in found),
            ("typed too fast", "typed_too_fast" in found),
            ("out of sight", hidden is not None and hidden > HIDDEN),
            ("repeated phrases", bool(found.intersection(_PHRASES))),
            ("like a model's reply", alike is not None and alike >= LIKE_MODEL),
            ("speaks as a machine", "sounds_like_a_machine" in found),
            ("too fast", bool(person.timed) and 2 * person.too_fast > person.timed),
            ("impossible times", person.impossible > 0),
        )
        if person.given:
            rows.append(
                Signals(
                    person.person,
                    person.state,
                    len(replies),
                    sum(count_words(reply.reply) for reply in replies),
                    _percent(pasted),
                    max(rates, default=None),
                    _percent(hidden),
                    sum(bool(set(marks[id(reply)]).intersection(_PHRASES)) for reply in replies),
                    _percent(alike),
                    tuple(word for word, is_so in flags if is_so),
                )
            )
    return rows


def _percent(share: float | None) -> float | None:
    return None if share is None else 100 * share


class _Work:
    """How people worked on a page, changes of its answer included: who goes back and pastes has pasted."""

    def __init__(self, participants: Participants) -> None:
        self._events: dict[tuple[Any, Any], list[Mapping[str, Any]]] = {}
        self._turns: dict[tuple[Any, Any, float], int] = {}
        for event in participants.events:
            told = event.detail
            if event.kind in ("saved", "corrected"):
                where = event.person, told.get("page")
                self._events.setdefault(where, []).append({**told, "changed": event.kind == "corrected"})
            elif "pasted" in told:
                self._turns[event.person, told.get("turn"), round(event.at, 3)] = int(told["pasted"])

    def changes(self, person: Participant, page: int) -> list[Mapping[str, Any]]:
        return [told for told in self._events.get((person.person, page), ()) if told["changed"]]

    def seconds(self, person: Participant, page: int) -> float | None:
        """None where somebody's time is not known."""
        first = next((one.seconds for one in person.given if one.page == page), None)
        every = [first, *(told.get("seconds") for told in self.changes(person, page))]
        known = [one for one in every if one is not None]
        return sum(known) if len(known) == len(every) else None

    def pasted(self, person: Participant, page: int) -> int | None:
        """Characters; None where no script counted them."""
        every = [told["pasted"] for told in self._events.get((person.person, page), ()) if "pasted" in told]
        return sum(every) if every else None

    def pasted_in_turn(self, person: Participant, turn: int, at: float) -> int | None:
        return self._turns.get((person.person, turn, round(at, 3)))


def _texts(person: Participant, work: _Work) -> Iterator[WrittenReply]:
    """What somebody wrote of their own in longer fields, of answers that count, and in talks: not the words that checks
    tell everybody to write. A talk's turns have no time of their own."""
    for one in person.counted:
        if one.kind not in ("trial", "question"):
            continue
        fields = [field.key for field in one.trial.form.fields if isinstance(field, Writing) and field.long]
        said = [text for key in fields if isinstance(text := one.values.get(key), str) and text.strip()]
        count, time = work.pasted(person, one.page), work.seconds(person, one.page)
        prompt = one.trial.items[0] if one.trial.items else one.trial.id
        shown = f"{one.trial.key.get('situation', '')} {one.trial.key.get('utterance', one.trial.stimulus)}"
        for text in said:  # time and pasting are known of the page: each text has its part of them
            share = len(text) / sum(map(len, said))
            seconds = None if time is None else time * share
            yield WrittenReply(
                person.person, prompt, shown, text, seconds, None if count is None else round(count * share)
            )
    for turn in talk_rows([person]):
        if turn["by"] == "person" and str(turn["text"]).strip():
            count = work.pasted_in_turn(person, turn["turn"], turn["at"].timestamp())
            yield WrittenReply(person.person, str(turn["talk"]), "", str(turn["text"]), pasted=count)


def _model_replies(participation: Participation) -> dict[str, list[str]]:
    """By prompt, what the models of this store replied."""
    found: dict[str, list[str]] = {}
    for run in participation.store.run_ids():
        stored = participation.store.read_run(run)
        try:
            rows = run_replies(participation.store, stored)
        except UsageError:  # it has no replies of models
            continue
        for row in rows:
            found.setdefault(row.prompt, []).append(row.reply)
    return found


def signal_table(rows: Sequence[Signals]) -> Table:
    columns = (
        Column("person", "person"),
        Column("state", "state"),
        Column("texts", "texts", "count"),
        Column("words", "words", "count"),
        Column("pasted", "pasted, %", "number", 0),
        Column("fastest", "characters/s", "number", 1),
        Column("hidden", "out of sight, %", "number", 0),
        Column("repeated", "repeated", "count"),
        Column("like_model", "like a model's, %", "number", 0),
        Column("flags", "flags"),
    )
    cells = tuple(
        tuple(", ".join(row.flags) if column.key == "flags" else getattr(row, column.key) for column in columns)
        for row in rows
    )
    note = (
        "Flags to look at, never verdicts: people paste their own drafts, dictate, and look things up. Like a model's: "
        "word pairs shared with the most similar stored reply to the same prompt."
    )
    return Table("Signals", columns, cells, note)


# -- approval by the panel -------------------------------------------------------------------------------------------

_ADVICE = {
    "declined": "return",
    "failed": "return",
    "full": "return",
    "took_another": "return",
    "stopped": "return",
    "returned": "return",
    "banned": "look at it",
}


@dataclass(frozen=True, slots=True)
class Approval:
    panel_id: str
    state: str
    """As in the exports; `erased` or `unknown` for who is in none."""
    advice: str
    code: str
    """The completion code that this person was shown."""


def approvals(participation: Participation, secret: bytes, path: Path, column: str = "") -> list[Approval]:
    """The panel's own list of ids, held against the store with the server's secret: ids that come out are ids that went
    in."""
    known = people_by_hash(participation.store, participation.study.id)
    erased = erased_marks(participation.store, participation.study.id)
    panel = participation.study.panel
    found = []
    for panel_id in _ids(path, column or panel.person, bool(column)):
        if panel.person and read_panel_id({panel.person: panel_id}, panel) is None:
            found.append(Approval(panel_id, "no id of this panel", "look at it", ""))
            continue
        here = known.get(panel_hash(secret, panel_id))
        if here is None:
            gone = tombstone(secret, participation.study.id, panel_id) in erased
            found.append(Approval(panel_id, "erased" if gone else "unknown", "look at it", ""))
            continue
        state, arm = here
        ending = ending_of(participation.study, state, assigned=arm is not None)
        advice = "approve" if ending == "complete" else _ADVICE.get(state, "wait")
        found.append(Approval(panel_id, state, advice, panel.code(ending) if ending else ""))
    return found


def write_approvals(found: Sequence[Approval], folder: Path, study: str, bonus: float) -> list[tuple[Path, int]]:
    """STUDY.approval.csv for all; with a bonus also STUDY.bonus.csv (id, amount), as Prolific's bulk payment has it."""
    folder.mkdir(parents=True, exist_ok=True)
    written = [_write(folder / f"{study}.approval.csv", ["id", "state", "advice", "code"],
                      [[one.panel_id, one.state, one.advice, one.code] for one in found])]  # fmt: skip
    if bonus:
        ids = {one_spelling(one.panel_id): one.panel_id for one in found if one.state in ("finished", "extra")}
        paid = [[panel_id, f"{bonus:.2f}"] for panel_id in ids.values()]  # once, however often an id is on the list
        written.append(_write(folder / f"{study}.bonus.csv", [], paid))
    return written


def _write(path: Path, header: list[str], rows: list[list[str]]) -> tuple[Path, int]:
    text = io.StringIO()
    writer = csv.writer(text)
    if header:
        writer.writerow(header)
    writer.writerows([[f"'{cell}" if cell.startswith(FORMULA) else cell for cell in row] for row in rows])
    write_whole(path, text.getvalue().replace("\r\n", "\n"))
    return path, len(rows)


def _ids(path: Path, column: str, named: bool) -> list[str]:
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{path} cannot be read ({error}).", "Name the panel's list of ids.") from error
    separator = max(",;\t", key=text.lstrip().partition("\n")[0].count)  # a spreadsheet writes its country's
    cells = csv.reader(io.StringIO(text), delimiter=separator)
    rows = [row for row in cells if any(cell.strip() for cell in row)]
    if not rows:
        raise DataError(f"{path} names nobody.", "Name the panel's list of ids.")
    for name in (column, "Participant id", "participant_id"):
        where = [number for number, cell in enumerate(rows[0]) if cell.strip().casefold() == name.casefold()]
        if where:
            return [row[where[0]].strip() for row in rows[1:] if len(row) > where[0]]
        if named:
            raise DataError(f"{path} has no column '{name}'.", f"It has: {', '.join(rows[0])}.")
    return [row[0].strip() for row in rows]


ARM = "people"
COLUMNS = ("use", "marks", "prompt", "utterance", "reply", "words", "seconds", "pasted", "person", "arm")


def replies_csv(participation: Participation, participants: Participants) -> tuple[bytes, int, int]:
    """(the table as CSV, replies, marked ones). Cells that a spreadsheet would run are guarded, and read back so."""
    frame = reply_table(participation, participants)
    marked = frame.filter(frame["marks"] != "").height
    return safe_csv(frame), frame.height, marked


def reply_table(participation: Participation, participants: Participants | None = None) -> "pl.DataFrame":
    """Everybody's but who was shut out; whom the plan excludes is marked."""
    import polars as pl

    participants = participants or read_participants(participation)
    excluded = select_sample(participants, participation.study.analysis.exclude).excluded
    work = _Work(participants)
    rows: list[dict[str, Any]] = []
    written: list[WrittenReply] = []
    least = 0
    for person in participants.people:
        if person.state == "banned":  # whose answers are left out of everything
            continue
        for one in person.counted:
            if one.kind != "trial" or not isinstance(one.values.get(KEY), str):
                continue
            key, reply = one.trial.key, one.values[KEY]
            count, seconds = work.pasted(person, one.page), work.seconds(person, one.page)
            least = max((f.least_words for f in one.trial.form.fields if isinstance(f, Writing)), default=least)
            said = f"{key['situation']} {key['utterance']}"
            written.append(WrittenReply(person.person, one.trial.items[0], said, reply, seconds, count))
            rows.append(
                {
                    "use": "",
                    "prompt": one.trial.items[0],
                    "utterance": key["utterance"],
                    "reply": reply,
                    "words": count_words(reply),
                    "seconds": seconds,
                    "pasted": count,
                    "person": person.person,
                    "arm": ARM,
                }
            )
    if not rows:
        raise UsageError(f"Nobody has written a reply in study '{participation.study.id}' yet.", "Wait for people.")
    care = [[f"excluded:{why}" for why in excluded.get(one.person, ())] for one in written]
    marks = [" ".join([*mark, *own]) for mark, own in zip(moderation_marks(written, least), care, strict=True)]
    ordered = [{**row, "marks": mark} for row, mark in zip(rows, marks, strict=True)]
    kinds = {"words": pl.Int64, "pasted": pl.Int64, "seconds": pl.Float64}
    return pl.DataFrame(ordered, schema={name: kinds.get(name, pl.String) for name in COLUMNS}).sort("prompt", "person")
