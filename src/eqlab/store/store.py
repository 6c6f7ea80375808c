"""A store: what is written and read of runs, trials and answers."""

import json
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from typing import Any

from sqlalchemy import Connection, Row, and_, func, insert, select, text, update

from eqlab.core.answers import PROVIDER_REFUSED, Answer
from eqlab.core.runs import RunConfig, config_to_json
from eqlab.core.trials import Trial, to_json
from eqlab.store.engine import open_engine, patiently, reading, said_plainly, take_turn, writing
from eqlab.store.reader import Reader, StoredRun
from eqlab.store.schema import answers, planned, runs, sessions, trials

__all__ = ["Planned", "Store", "StoredRun"]

_CHUNK = 500


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
        self.engine.dispose()

    def ping(self) -> None:
        """Raises unless the database answers."""
        with reading(self.engine) as connection:
            connection.execute(text("SELECT 1"))

    # -- writing ---------------------------------------------------------------------------------------------

    def begin_run(self, config: RunConfig, plan: Iterable[tuple[str, str, Trial, int]], provenance: Any) -> None:
        """Write down what will be asked: (subject, benchmark, trial, repeat) in order. Harmless when repeated."""
        now = time.time()
        with writing(self.engine) as connection:
            take_turn(connection, "plan")  # two runs may bring the same trials at the same moment
            known = connection.execute(select(runs.c.id).where(runs.c.id == config.id)).first()
            if known is None:
                row = {"id": config.id, "created_at": now, "config": config_to_json(config)}
                connection.execute(insert(runs), row)
                self._write_plan(connection, config.id, plan)
            connection.execute(
                insert(sessions), {"run_id": config.id, "started_at": now, "provenance": json.dumps(provenance)}
            )

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
            self._write_plan(connection, run, rows, {} if at is None else {subject: int(at)})
            return int(connection.execute(counted).scalar_one())

    def _write_plan(
        self,
        connection: Any,
        run: str,
        plan: Iterable[tuple[str, str, Trial, int]],
        positions: dict[str, int] | None = None,
    ) -> None:
        positions = {} if positions is None else positions
        written: set[str] = set()
        bodies: dict[str, str] = {}
        rows: list[dict[str, Any]] = []
        for subject, benchmark, trial, repeat in plan:
            position = positions[subject] = positions.get(subject, -1) + 1
            if trial.id not in written:
                written.add(trial.id)
                bodies[trial.id] = to_json(trial)
            rows.append(
                {
                    "run_id": run,
                    "subject": subject,
                    "position": position,
                    "benchmark": benchmark,
                    "trial_id": trial.id,
                    "repeat": repeat,
                }
            )
            if len(rows) == _CHUNK:
                self._write_chunk(connection, bodies, rows)
                bodies, rows = {}, []
        if rows:
            self._write_chunk(connection, bodies, rows)

    def _write_chunk(self, connection: Any, bodies: Mapping[str, str], rows: Sequence[Mapping[str, Any]]) -> None:
        _write_bodies(connection, bodies)
        connection.execute(insert(planned), rows)

    def add_answers(self, batch: Sequence[Answer], turns: Sequence[NextTurn] = ()) -> None:
        """Durable when this returns, together with the turns that follow: a turn is planned once, and never without
        the answer it follows from."""
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
            self._write_plan(connection, turn.run, [row], {} if last is None else {turn.subject: int(last)})

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
        row = answer_row(answer)
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
                rows = connection.execute(
                    select(page, answers.c.attempt, answers.c.status, answers.c.finish)
                    .outerjoin(answers, tried)
                    .order_by(page.c.position)
                ).all()
            known = self.trials([row.trial_id for row in rows])
        return [_planned(list(group), known) for _, group in groupby(rows, key=lambda row: row.position)]


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
    connection.execute(_INSERT_ANSWER, [answer_row(answer) for answer in batch])


_INSERT_ANSWER = insert(answers)


def _planned(rows: Sequence[Row[Any]], known: Mapping[str, Trial]) -> Planned:
    first = rows[0]
    statuses = [row.status for row in rows if row.status is not None]
    return Planned(
        position=first.position,
        benchmark=first.benchmark,
        trial=known[first.trial_id],
        repeat=first.repeat,
        attempts=max((row.attempt for row in rows if row.attempt is not None), default=0),
        failed=sum(status in ("unparseable", "refused") for status in statuses),
        done="ok" in statuses or any(row.status == "refused" and row.finish in PROVIDER_REFUSED for row in rows),
    )


def answer_row(answer: Answer) -> dict[str, Any]:
    return {
        "run_id": answer.run,
        "subject": answer.subject,
        "trial_id": answer.trial,
        "repeat": answer.repeat,
        "attempt": answer.attempt,
        "status": answer.status,
        "text": _clean(answer.text),
        "values": json.dumps(dict(answer.values), ensure_ascii=False),
        "note": _clean(answer.note),
        "reasoning": _clean(answer.reasoning),
        "model": _clean(answer.model),
        "temperature": answer.temperature,
        "latency": answer.latency,
        "transport_retries": answer.transport_retries,
        "tokens_in": answer.tokens_in,
        "tokens_out": answer.tokens_out,
        "finish": _clean(answer.finish),
        "at": answer.at,
        "sent": _extras(answer.sent),
        "usage": _extras(answer.usage),
    }


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
    found = {name: value for name, value in values.items() if name != "temperature"}
    return json.dumps(found) if found else None


def _clean(text: str) -> str:
    """PostgreSQL cannot hold NUL, and no UTF-8 holds lone surrogates; both come from broken models."""
    return text.replace("\0", "\ufffd").encode("utf-8", "replace").decode("utf-8")
