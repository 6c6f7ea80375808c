"""A store: what is written and read of runs, trials and answers."""

import json
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from itertools import groupby, islice
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from eqlab.core.answers import FAILED_READINGS, Answer, stands
from eqlab.core.runs import RunConfig, config_to_json
from eqlab.core.trials import Trial, to_json
from eqlab.core.values import dataclass
from eqlab.store.database import Database, SqliteDatabase, Transaction, is_current, make_file, patiently
from eqlab.store.location import sqlite_path
from eqlab.store.reader import Reader, StoredRun, names

if TYPE_CHECKING:
    from sqlalchemy import Engine, Row

__all__ = ["Planned", "Store", "StoredRun"]

_CHUNK = 500
PART = 2000
"""Planned trials a transaction: the write lock is held for some hundredths of a second, then others have their turn."""
PlanRow = tuple[tuple[str, str, int, str, str, int], str]
"""A row of `planned`, and the trial as it is stored; empty where that was written with an earlier row."""
_PLANNED = ("run_id", "subject", "position", "benchmark", "trial_id", "repeat")
_ANSWER = (
    "run_id", "subject", "trial_id", "repeat", "attempt", "status", "text", "values", "note", "reasoning", "model",
    "temperature", "latency", "transport_retries", "tokens_in", "tokens_out", "finish", "at", "sent", "usage",
)  # fmt: skip
_LAST = "SELECT max(position) FROM planned WHERE run_id = :run AND subject = :subject"


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
        self.database = self._open()

    def _open(self) -> Database:
        path = sqlite_path(self.where)
        if path is None:
            from eqlab.store.engine import ServerDatabase

            return ServerDatabase(self.engine)
        make_file(path)
        if not is_current(path):
            _ = self.engine  # brings it up to date
        return SqliteDatabase(path)

    @cached_property
    def engine(self) -> "Engine":
        """The same database through SQLAlchemy: for studies, whose many tables are described by it."""
        from eqlab.store.engine import open_engine

        return open_engine(self.where)

    def close(self) -> None:
        self.database.close()
        if "engine" in self.__dict__:
            from eqlab.store.engine import close_engine

            close_engine(self.engine)

    def ping(self) -> None:
        """Raises unless the database takes what is written: one row of its own, written anew each time."""
        with self.database.writing() as transaction:
            transaction.take_turn("ping")  # another server asks at the same moment
            transaction.run("DELETE FROM buckets WHERE key = 'ping'")
            transaction.insert("buckets", ("key", "tokens", "at"), [("ping", 0.0, time.time())])

    # -- writing ---------------------------------------------------------------------------------------------

    def begin_run(self, config: RunConfig, plan: Iterable[tuple[str, str, Trial, int]], provenance: Any) -> None:
        """Write down what will be asked: (subject, benchmark, trial, repeat) in order. Harmless when repeated.

        A long plan is written in parts, so that whoever else writes gets in between; its session comes with the last.
        A run without a session is half planned: nobody sees it, and beginning it again goes on with its plan."""
        now = time.time()
        session = (config.id, now, json.dumps(provenance))
        rows = () if self._is_planned(config.id) else _plan_rows(config.id, plan)
        for part, last in _parts(rows, PART):
            with self.database.writing() as transaction:
                transaction.take_turn("plan")  # two runs may bring the same trials at the same moment
                if not transaction.rows("SELECT 1 FROM runs WHERE id = :run", run=config.id):
                    row = (config.id, now, config_to_json(config))
                    transaction.insert("runs", ("id", "created_at", "config"), [row])
                self._write_plan(transaction, self._not_planned(transaction, part))
                if last:
                    transaction.insert("sessions", ("run_id", "started_at", "provenance"), [session])

    def _is_planned(self, run: str) -> bool:
        return bool(list(self.rows("SELECT id FROM sessions WHERE run_id = :run LIMIT 1", {"run": run})))

    def _not_planned(self, transaction: Transaction, part: Sequence[PlanRow]) -> list[PlanRow]:
        """What of a part was not written before, by whoever began the same run and was interrupted."""
        last = {}
        for run, subject in {row[:2] for row, _ in part}:
            ((at,),) = transaction.rows(_LAST, run=run, subject=subject)
            last[subject] = -1 if at is None else int(at)
        return [one for one in part if one[0][2] > last[one[0][1]]]

    def add_learnt(self, run: str, learnt: Mapping[str, Sequence[str]]) -> None:
        """What was found out about models while they were asked, to the provenance of the newest session."""
        if not learnt:
            return
        newest = "SELECT id, provenance FROM sessions WHERE run_id = :run ORDER BY id DESC LIMIT 1"
        with self.database.writing() as transaction:
            for session, provenance in transaction.rows(newest, run=run):
                whole = {**json.loads(provenance), "learnt": {name: list(said) for name, said in learnt.items()}}
                command = "UPDATE sessions SET provenance = :provenance WHERE id = :session"
                transaction.run(command, session=session, provenance=json.dumps(whole))

    def extend_plan(self, run: str, subject: str, plan: Iterable[tuple[str, Trial, int]]) -> int:
        """Write down what else a subject will be asked: (benchmark, trial, repeat), after what is planned already.
        Returns how many trials the subject has now."""
        counted = "SELECT count(*) FROM planned WHERE run_id = :run AND subject = :subject"
        with self.database.writing() as transaction:
            transaction.take_turn("plan")
            ((at,),) = transaction.rows(_LAST, run=run, subject=subject)
            rows = ((subject, benchmark, trial, repeat) for benchmark, trial, repeat in plan)
            self._write_plan(transaction, _plan_rows(run, rows, {} if at is None else {subject: int(at)}))
            ((count,),) = transaction.rows(counted, run=run, subject=subject)
            return int(count)

    def _write_plan(self, transaction: Transaction, rows: Iterable[PlanRow]) -> None:
        for some, _ in _parts(rows, _CHUNK):
            if some:
                _write_bodies(transaction, {row[4]: body for row, body in some if body})
                transaction.insert("planned", _PLANNED, [row for row, _ in some])

    def add_answers(self, batch: Sequence[Answer], turns: Sequence[NextTurn] = ()) -> None:
        """Durable when this returns, together with the turns that follow: a turn is planned once, and never without
        the answer it follows from."""
        with self.database.writing() as transaction:
            if turns:
                transaction.take_turn("plan")
                for turn in turns:
                    self._plan_turn(transaction, turn)
            write_answers(transaction, batch)

    def _plan_turn(self, transaction: Transaction, turn: NextTurn) -> None:
        own = {"run": turn.run, "subject": turn.subject}
        same = (
            "SELECT position FROM planned "
            "WHERE run_id = :run AND subject = :subject AND trial_id = :trial AND repeat = :repeat"
        )
        if not transaction.rows(same, **own, trial=turn.trial.id, repeat=turn.repeat):
            ((last,),) = transaction.rows(_LAST, **own)
            row = (turn.subject, turn.benchmark, turn.trial, turn.repeat)
            at = {} if last is None else {turn.subject: int(last)}
            self._write_plan(transaction, _plan_rows(turn.run, [row], at))

    def add_missing(self, batch: Sequence[Answer]) -> list[Answer]:
        """Store what is not there yet, after a failure that left it open what was; returns answers of unknown runs.

        An attempt number that another answer took in the meantime is no reason to lose one: it gets the next."""
        with self.database.writing() as transaction:
            transaction.take_turn("unstored")
            known = {run for (run,) in transaction.rows("SELECT id FROM runs")}
            for answer in batch:
                if answer.run in known:
                    self._add_missing(transaction, answer)
        return [answer for answer in batch if answer.run not in known]

    def _add_missing(self, transaction: Transaction, answer: Answer) -> None:
        row = dict(zip(_ANSWER, answer_row(answer), strict=True))
        there = transaction.rows(
            "SELECT attempt, at, text FROM answers "
            "WHERE run_id = :run AND subject = :subject AND trial_id = :trial AND repeat = :repeat",
            run=answer.run, subject=answer.subject, trial=answer.trial, repeat=answer.repeat,
        )  # fmt: skip
        if any((at, text) == (row["at"], row["text"]) for _, at, text in there):
            return
        taken = [attempt for attempt, _, _ in there]
        if answer.attempt in taken:
            row["attempt"] = max(taken) + 1
        transaction.insert("answers", _ANSWER, [tuple(row.values())])

    # -- reading ---------------------------------------------------------------------------------------------

    def rows(self, query: str, values: Mapping[str, Any]) -> Iterator[Sequence[Any]]:
        return self.database.rows(query, values)

    def plan_pages(self, run: str, subject: str) -> Iterator[list[Planned]]:
        """The run's trials for a subject, page by page, so that memory does not grow with the run."""
        after = -1
        while page := patiently(self.database, partial(self._plan_page, run, subject, after)):
            yield page
            after = page[-1].position

    def _plan_page(self, run: str, subject: str, after: int) -> list[Planned]:
        query = (
            "SELECT p.position, p.benchmark, p.trial_id, p.repeat, a.attempt, a.status, a.finish FROM ("
            "SELECT * FROM planned WHERE run_id = :run AND subject = :subject AND position > :after "
            "ORDER BY position LIMIT :most"
            ") p LEFT JOIN answers a ON a.run_id = :run AND a.subject = :subject "
            "AND a.trial_id = p.trial_id AND a.repeat = p.repeat ORDER BY p.position"
        )
        rows = list(self.rows(query, {"run": run, "subject": subject, "after": after, "most": _CHUNK}))
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
        with store.database.writing() as transaction:
            for run in sorted({answer.run for answer in part}):
                transaction.take_turn(f"answers of {run}")
            added += len(write_absent(transaction, part))
    return added


def _plan_rows(
    run: str, plan: Iterable[tuple[str, str, Trial, int]], last: Mapping[str, int] | None = None
) -> Iterator[PlanRow]:
    """Each planned trial behind those that its subject has; the trial itself where it comes for the first time."""
    positions = dict(last or {})
    written: set[str] = set()
    for subject, benchmark, trial, repeat in plan:
        position = positions[subject] = positions.get(subject, -1) + 1
        row = (run, subject, position, benchmark, trial.id, repeat)
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


def write_trials(transaction: Transaction, some: Iterable[Trial]) -> None:
    """Those that are not there yet; the caller has taken the turn "plan"."""
    every = list(some)
    for start in range(0, len(every), _CHUNK):
        _write_bodies(transaction, {trial.id: to_json(trial) for trial in every[start : start + _CHUNK]})


def _write_bodies(transaction: Transaction, bodies: Mapping[str, str]) -> None:
    if not bodies:
        return
    ids = _numbered("id", bodies)
    known = {trial for (trial,) in transaction.rows(f"SELECT id FROM trials WHERE id IN ({names(ids)})", **ids)}
    new = [(trial, body) for trial, body in bodies.items() if trial not in known]
    transaction.insert("trials", ("id", "body"), new)


def write_answers(transaction: Transaction, batch: Sequence[Answer]) -> None:
    """For those who write more in the same transaction."""
    transaction.insert("answers", _ANSWER, [answer_row(answer) for answer in batch])


def write_absent(transaction: Transaction, batch: Sequence[Answer]) -> list[Answer]:
    """Write the answers that are not there yet, and return them. The key of an answer (run, subject, trial, repeat,
    attempt) decides; whoever is first is kept."""
    new = []
    for start in range(0, len(batch), _CHUNK):
        some: dict[tuple[str, str, str, int, int], Answer] = {}
        for answer in batch[start : start + _CHUNK]:
            some.setdefault((answer.run, answer.subject, answer.trial, answer.repeat, answer.attempt), answer)
        runs = _numbered("run", {answer.run for answer in some.values()})
        subjects = _numbered("subject", {answer.subject for answer in some.values()})
        trials = _numbered("trial", {answer.trial for answer in some.values()})
        query = (
            f"SELECT run_id, subject, trial_id, repeat, attempt FROM answers WHERE run_id IN ({names(runs)}) "
            f"AND subject IN ({names(subjects)}) AND trial_id IN ({names(trials)})"
        )
        known = {tuple(row) for row in transaction.rows(query, **runs, **subjects, **trials)}
        absent = [answer for own, answer in some.items() if own not in known]
        write_answers(transaction, absent)
        new += absent
    return new


def _numbered(name: str, values: Iterable[str]) -> dict[str, str]:
    """Parameters for IN, by names."""
    return {f"{name}{number}": value for number, value in enumerate(values)}


def _planned(rows: Sequence[Sequence[Any]], known: Mapping[str, Trial]) -> Planned:
    position, benchmark, trial, repeat, attempt, _, _ = rows[0]
    if attempt is None:  # not asked yet
        return Planned(position, benchmark, known[trial], repeat, 0, 0, False)
    return Planned(
        position,
        benchmark,
        known[trial],
        repeat,
        attempts=max(attempt for *_, attempt, _, _ in rows),
        failed=sum(status in FAILED_READINGS for *_, status, _ in rows),
        done=stands((status, finish) for *_, status, finish in rows),
    )


def answer_row(answer: Answer) -> tuple[Any, ...]:
    """In the order of the table's columns."""
    return (
        answer.run, answer.subject, answer.trial, answer.repeat, answer.attempt, answer.status, _clean(answer.text),
        _clean(_LETTERS.encode(dict(answer.values))), _clean(answer.note), _clean(answer.reasoning),
        _clean(answer.model), answer.temperature, answer.latency, answer.transport_retries, answer.tokens_in,
        answer.tokens_out, _clean(answer.finish), answer.at, _extras(answer.sent), _extras(answer.usage),
    )  # fmt: skip


def read_answer(row: "Row[Any]") -> Answer:
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
