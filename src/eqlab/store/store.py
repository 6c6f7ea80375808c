"""A store: what is written and read of runs, trials and answers."""

import json
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from itertools import chain, groupby, islice
from operator import itemgetter
from typing import Any

from sqlalchemy import Connection, Row, and_, event, func, insert, select, text, update

from eqlab.core.answers import FAILED_READINGS, Answer, stands
from eqlab.core.runs import RunConfig, config_to_json
from eqlab.core.trials import Trial, to_json
from eqlab.core.values import dataclass
from eqlab.store.engine import (
    Prepared,
    open_engine,
    patiently,
    reading,
    said_plainly,
    take_turn,
    writing,
    writing_plainly,
)
from eqlab.store.reader import Reader, StoredRun
from eqlab.store.schema import answers, planned, runs, sessions, trials

__all__ = ["Planned", "Store", "StoredRun"]

_CHUNK = 500
PART = 2000
"""Planned trials a transaction: the write lock is held for some hundredths of a second, then others have their turn."""
PlanRow = tuple[dict[str, Any], str]
"""A row of `planned`, and the trial as it is stored; empty where that was written with an earlier row."""


@dataclass(frozen=True, slots=True)
class Planned:
    """A trial of a run that waits for a subject, with what was tried before."""

    position: int
    benchmark: str
    trial: Trial
    repeat: int
    attempts: int
    """Attempts stored so far, transport errors included."""
    failed: int
    """Attempts that were answered but could not be read."""
    done: bool
    """Whether a good answer is stored, or a provider's refusal, which is one."""


@dataclass(frozen=True, slots=True)
class NextTurn:
    """A trial that follows from an answer: planned when that answer is stored."""

    run: str
    subject: str
    benchmark: str
    trial: Trial
    repeat: int


class Store(Reader):
    def __init__(self, where: str) -> None:
        super().__init__()
        self.where = where
        self.engine = open_engine(where)

    def close(self) -> None:
        """What another thread still uses, or takes after this, is closed when it comes back."""
        event.listen(self.engine.pool, "checkin", lambda _, entry: entry.invalidate())
        self.engine.dispose()

    def ping(self) -> None:
        """Raises unless the database takes what is written: one row of its own, written anew each time."""
        with writing(self.engine) as connection:
            connection.execute(text("DELETE FROM buckets WHERE key = 'ping'"))
            connection.execute(
                text("INSERT INTO buckets (key, tokens, at) VALUES ('ping', 0, :at)"), {"at": time.time()}
            )

    # -- writing ---------------------------------------------------------------------------------------------

    def begin_run(self, config: RunConfig, plan: Iterable[tuple[str, str, Trial, int]], provenance: Any) -> None:
        """Write down what will be asked: (subject, benchmark, trial, repeat) in order. Harmless when repeated.

        A long plan is written in parts, so that whoever else writes gets in between; its session comes with the last.
        A run without a session is half planned: nobody sees it, and beginning it again goes on with its plan."""
        now = time.time()
        session = {"run_id": config.id, "started_at": now, "provenance": json.dumps(provenance)}
        rows = () if self._is_planned(config.id) else _plan_rows(config.id, plan)
        for part, last in _parts(rows, PART):
            with writing(self.engine) as connection:
                take_turn(connection, "plan")  # two runs may bring the same trials at the same moment
                if connection.execute(select(runs.c.id).where(runs.c.id == config.id)).first() is None:
                    row = {"id": config.id, "created_at": now, "config": config_to_json(config)}
                    connection.execute(insert(runs), row)
                self._write_plan(connection, self._not_planned(connection, part))
                if last:
                    connection.execute(insert(sessions), session)

    def _is_planned(self, run: str) -> bool:
        with reading(self.engine) as connection:
            return (
                connection.execute(select(sessions.c.id).where(sessions.c.run_id == run).limit(1)).first() is not None
            )

    def _not_planned(self, connection: Connection, part: Sequence[PlanRow]) -> list[PlanRow]:
        """What of a part was not written before, by whoever began the same run and was interrupted."""
        last = {}
        for run, subject in {(row["run_id"], row["subject"]) for row, _ in part}:
            highest = select(func.max(planned.c.position)).where(planned.c.run_id == run, planned.c.subject == subject)
            at = connection.execute(highest).scalar()
            last[subject] = -1 if at is None else int(at)
        return [one for one in part if one[0]["position"] > last[one[0]["subject"]]]

    def add_learnt(self, run: str, learnt: Mapping[str, Sequence[str]]) -> None:
        """What was found out about models while they were asked, to the provenance of the newest session."""
        if not learnt:
            return
        newest = select(sessions).where(sessions.c.run_id == run).order_by(sessions.c.id.desc()).limit(1)
        with writing(self.engine) as connection:
            row = connection.execute(newest).first()
            if row is not None:
                whole = {**json.loads(row.provenance), "learnt": {name: list(said) for name, said in learnt.items()}}
                of_session = update(sessions).where(sessions.c.id == row.id)
                connection.execute(of_session.values(provenance=json.dumps(whole)))

    def extend_plan(self, run: str, subject: str, plan: Iterable[tuple[str, Trial, int]]) -> int:
        """Write down what else a subject will be asked: (benchmark, trial, repeat), after what is planned already.
        Returns how many trials the subject has now."""
        counted = select(func.count()).where(planned.c.run_id == run, planned.c.subject == subject)
        last = select(func.max(planned.c.position)).where(planned.c.run_id == run, planned.c.subject == subject)
        with writing(self.engine) as connection:
            take_turn(connection, "plan")
            at = connection.execute(last).scalar()
            rows = ((subject, benchmark, trial, repeat) for benchmark, trial, repeat in plan)
            self._write_plan(connection, _plan_rows(run, rows, {} if at is None else {subject: int(at)}))
            return int(connection.execute(counted).scalar_one())

    def _write_plan(self, connection: Connection, rows: Iterable[PlanRow]) -> None:
        for some, _ in _parts(rows, _CHUNK):
            if some:
                _write_bodies(connection, {row["trial_id"]: body for row, body in some if body})
                _INSERT_PLANNED.run(connection, [row for row, _ in some])

    def add_answers(self, batch: Sequence[Answer], turns: Sequence[NextTurn] = ()) -> None:
        """Durable when this returns, together with the turns that follow: a turn is planned once, and never without
        the answer it follows from."""
        if self.engine.dialect.name == "sqlite" and not turns:
            rows = [answer_row(answer) for answer in batch]
            with writing_plainly(self.engine) as plain:
                for words, values in _insertions(rows):
                    plain.execute(words, values)
            return
        with writing(self.engine) as connection:
            if turns:
                take_turn(connection, "plan")
                for turn in turns:
                    self._plan_turn(connection, turn)
            if batch:
                write_answers(connection, batch)

    def _plan_turn(self, connection: Connection, turn: NextTurn) -> None:
        own = (planned.c.run_id == turn.run, planned.c.subject == turn.subject)
        same = (planned.c.trial_id == turn.trial.id, planned.c.repeat == turn.repeat)
        if connection.execute(select(planned.c.position).where(*own, *same)).first() is None:
            last = connection.execute(select(func.max(planned.c.position)).where(*own)).scalar()
            row = (turn.subject, turn.benchmark, turn.trial, turn.repeat)
            at = {} if last is None else {turn.subject: int(last)}
            self._write_plan(connection, _plan_rows(turn.run, [row], at))

    def add_missing(self, batch: Sequence[Answer]) -> list[Answer]:
        """Store what is not there yet, after a failure that left it open what was; returns answers of unknown runs.

        An attempt number that another answer took in the meantime is no reason to lose one: it gets the next."""
        with writing(self.engine) as connection:
            take_turn(connection, "unstored")
            known = set(connection.execute(select(runs.c.id)).scalars())
            for answer in batch:
                if answer.run in known:
                    self._add_missing(connection, answer)
        return [answer for answer in batch if answer.run not in known]

    def _add_missing(self, connection: Any, answer: Answer) -> None:
        row = dict(zip(_NAMES, answer_row(answer), strict=True))
        same_trial = [answers.c[name] == row[name] for name in ("run_id", "subject", "trial_id", "repeat")]
        there = connection.execute(select(answers.c.attempt, answers.c.at, answers.c.text).where(*same_trial)).all()
        if any((at, text) == (row["at"], row["text"]) for _, at, text in there):
            return
        taken = [attempt for attempt, _, _ in there]
        if answer.attempt in taken:
            row["attempt"] = max(taken) + 1
        connection.execute(insert(answers), row)

    # -- reading ---------------------------------------------------------------------------------------------

    def rows(self, query: str, values: Mapping[str, Any]) -> Iterator[Sequence[Any]]:
        with said_plainly(self.engine), self.engine.connect() as connection:
            yield from connection.execution_options(yield_per=_CHUNK).execute(text(query), values)

    def plan_pages(self, run: str, subject: str) -> Iterator[list[Planned]]:
        """The run's trials for a subject, page by page, so that memory does not grow with the run."""
        after = -1
        while page := patiently(self.engine, partial(self._plan_page, run, subject, after)):
            yield page
            after = page[-1].position

    def _plan_page(self, run: str, subject: str, after: int) -> list[Planned]:
        with said_plainly(self.engine):
            with self.engine.connect() as connection:
                page = (
                    select(planned)
                    .where(planned.c.run_id == run, planned.c.subject == subject, planned.c.position > after)
                    .order_by(planned.c.position)
                    .limit(_CHUNK)
                    .subquery()
                )
                tried = and_(
                    answers.c.run_id == run,
                    answers.c.subject == subject,
                    answers.c.trial_id == page.c.trial_id,
                    answers.c.repeat == page.c.repeat,
                )
                of_plan = (page.c.position, page.c.benchmark, page.c.trial_id, page.c.repeat)
                rows = connection.execute(
                    select(*of_plan, answers.c.attempt, answers.c.status, answers.c.finish)
                    .outerjoin(answers, tried)
                    .order_by(page.c.position)
                ).all()
            known = self.trials([row[2] for row in rows])
        return [_planned(list(group), known) for _, group in groupby(rows, key=itemgetter(0))]


class SharedStore(Store):
    """A store that several workers write to at once. One thought dead may have finished, so answers may come twice."""

    def add_answers(self, batch: Sequence[Answer], turns: Sequence[NextTurn] = ()) -> None:
        if turns:
            super().add_answers((), turns)
        add_absent(self, batch)

    def add_missing(self, batch: Sequence[Answer]) -> list[Answer]:
        """An attempt that is there already was stored by somebody who did the same work: never a second time."""
        add_absent(self, batch)
        return []


def add_absent(store: Store, batch: Sequence[Answer]) -> int:
    """Store what is not there yet; returns how many that were. Durable when this returns."""
    added = 0
    for start in range(0, len(batch), _CHUNK):
        part = batch[start : start + _CHUNK]
        with writing(store.engine) as connection:
            for run in sorted({answer.run for answer in part}):
                take_turn(connection, f"answers of {run}")
            added += len(write_absent(connection, part))
    return added


def _plan_rows(
    run: str, plan: Iterable[tuple[str, str, Trial, int]], last: Mapping[str, int] | None = None
) -> Iterator[PlanRow]:
    """Each planned trial behind those that its subject has; the trial itself where it comes for the first time."""
    positions = dict(last or {})
    written: set[str] = set()
    for subject, benchmark, trial, repeat in plan:
        position = positions[subject] = positions.get(subject, -1) + 1
        row = {
            "run_id": run,
            "subject": subject,
            "position": position,
            "benchmark": benchmark,
            "trial_id": trial.id,
            "repeat": repeat,
        }
        yield row, "" if trial.id in written else to_json(trial)
        written.add(trial.id)


def _parts(rows: Iterable[PlanRow], size: int) -> Iterator[tuple[list[PlanRow], bool]]:
    """(part, whether it is the last); of nothing, one empty part."""
    coming = iter(rows)
    part = list(islice(coming, size))
    while True:
        following = list(islice(coming, size))
        yield part, not following
        if not following:
            return
        part = following


def write_trials(connection: Connection, some: Iterable[Trial]) -> None:
    """Those that are not there yet; the caller has taken the turn "plan"."""
    every = list(some)
    for start in range(0, len(every), _CHUNK):
        _write_bodies(connection, {trial.id: to_json(trial) for trial in every[start : start + _CHUNK]})


def _write_bodies(connection: Connection, bodies: Mapping[str, str]) -> None:
    known = set(connection.execute(select(trials.c.id).where(trials.c.id.in_(list(bodies)))).scalars())
    new = [{"id": trial_id, "body": body} for trial_id, body in bodies.items() if trial_id not in known]
    if new:
        connection.execute(insert(trials), new)


def write_answers(connection: Connection, batch: Sequence[Answer]) -> None:
    """For those who write more in the same transaction."""
    _INSERT_ANSWER.run(connection, [dict(zip(_NAMES, answer_row(answer), strict=True)) for answer in batch])


_INSERT_ANSWER, _INSERT_PLANNED = Prepared(insert(answers).inline()), Prepared(insert(planned).inline())
_NAMES = [column.name for column in answers.c]
_AT_ONCE = 64
"""Answers of one statement: their values stay far below the most that SQLite takes."""


def _insertions(rows: Sequence[Sequence[Any]]) -> Iterator[tuple[str, list[Any]]]:
    """Rows in SQLite's own words, many by one statement: a thread that runs one for each row waits after each until
    the others let it go on. Each statement has a power of two of them, so that few kinds are ever prepared."""
    start = 0
    while start < len(rows):
        size = min(_AT_ONCE, 1 << ((len(rows) - start).bit_length() - 1))
        yield _insertion(size), list(chain.from_iterable(rows[start : start + size]))
        start += size


@cache
def _insertion(size: int) -> str:
    names, row = '", "'.join(_NAMES), ", ".join("?" * len(_NAMES))
    return f'INSERT INTO answers ("{names}") VALUES ' + ", ".join([f"({row})"] * size)


def write_absent(connection: Connection, batch: Sequence[Answer]) -> list[Answer]:
    """Write the answers that are not there yet, and return them. The key of an answer (run, subject, trial, repeat,
    attempt) decides; whoever is first is kept."""
    new = []
    for start in range(0, len(batch), _CHUNK):
        some: dict[tuple[str, str, str, int, int], Answer] = {}
        for answer in batch[start : start + _CHUNK]:
            some.setdefault((answer.run, answer.subject, answer.trial, answer.repeat, answer.attempt), answer)
        key = (answers.c.run_id, answers.c.subject, answers.c.trial_id, answers.c.repeat, answers.c.attempt)
        there = connection.execute(
            select(*key).where(
                answers.c.run_id.in_({answer.run for answer in some.values()}),
                answers.c.subject.in_({answer.subject for answer in some.values()}),
                answers.c.trial_id.in_({answer.trial for answer in some.values()}),
            )
        )
        known = {tuple(row) for row in there}
        absent = [answer for own, answer in some.items() if own not in known]
        if absent:
            write_answers(connection, absent)
        new += absent
    return new


def _planned(rows: Sequence[Row[Any, Any, Any, Any, Any, Any, Any]], known: Mapping[str, Trial]) -> Planned:
    position, benchmark, trial, repeat, attempt, _, _ = rows[0]
    if attempt is None:  # not asked yet
        return Planned(position, benchmark, known[trial], repeat, 0, 0, False)
    return Planned(
        position,
        benchmark,
        known[trial],
        repeat,
        attempts=max(row.attempt for row in rows),
        failed=sum(row.status in FAILED_READINGS for row in rows),
        done=stands((row.status, row.finish) for row in rows),
    )


def answer_row(answer: Answer) -> tuple[Any, ...]:
    """In the order of the table's columns."""
    return (
        answer.run, answer.subject, answer.trial, answer.repeat, answer.attempt, answer.status, _clean(answer.text),
        _clean(_LETTERS.encode(dict(answer.values))), _clean(answer.note), _clean(answer.reasoning),
        _clean(answer.model), answer.temperature, answer.latency, answer.transport_retries, answer.tokens_in,
        answer.tokens_out, _clean(answer.finish), answer.at, _extras(answer.sent), _extras(answer.usage),
    )  # fmt: skip


def read_answer(row: Row[Any]) -> Answer:
    """What `answer_row` made."""
    sent = json.loads(row.sent) if row.sent else {}
    if row.temperature is not None:
        sent["temperature"] = row.temperature
    return Answer(
        row.run_id, row.trial_id, row.subject, row.repeat, row.attempt, row.text, row.status, json.loads(row.values),
        row.note, row.reasoning, row.model, row.temperature, row.latency, row.transport_retries, row.tokens_in,
        row.tokens_out, row.finish, row.at, sent, json.loads(row.usage) if row.usage else {},
    )  # fmt: skip


def _extras(values: Mapping[str, Any]) -> str | None:
    """As JSON; the temperature has a column of its own."""
    if not values:
        return None
    found = {name: value for name, value in values.items() if name != "temperature"}
    return _ASCII.encode(found) if found else None


def _clean(text: str) -> str:
    """PostgreSQL cannot hold NUL, and no UTF-8 holds lone surrogates; both come from broken models."""
    if text.isascii():
        return text.replace("\0", "\ufffd") if "\0" in text else text
    return text.replace("\0", "\ufffd").encode("utf-8", "replace").decode("utf-8")


_LETTERS, _ASCII = json.JSONEncoder(ensure_ascii=False), json.JSONEncoder()
"""Made once: `json.dumps` may make one for every answer."""
