"""Asking a model the trials of a run: as many at once as it takes, each until it is answered or its tries are used up.

Trials are read page by page and asked as slots free up, so neither memory nor start-up grows with the run."""

import asyncio
import hashlib
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from eqlab.core.answers import Answer, Reading
from eqlab.core.benchmark import Benchmark
from eqlab.core.errors import ModelError
from eqlab.core.forms import json_schema
from eqlab.core.runs import ModelConfig
from eqlab.core.trials import Trial
from eqlab.models.chat import Chat, ChatReply, ChatRequest, TransportError
from eqlab.models.reasoning import split_reasoning
from eqlab.models.talks import Talking
from eqlab.store.store import Planned

_HOPELESS = 8
"""Requests lost in a row, after all their retries, until a model is given up for this session."""
_GRACE = 30.0
"""Seconds that requests under way get when a model is given up: their answers are paid for."""
_READER_FAULTS = (ArithmeticError, AssertionError, AttributeError, LookupError, RuntimeError, TypeError, ValueError)
"""What a faulty benchmark, perhaps another package's, may raise on a reply that nobody foresaw."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A benchmark with the options of this run."""

    benchmark: Benchmark
    options: Mapping[str, Any]


class Plan(Protocol):
    """Where a session's trials come from: a store, or the part of a run that somebody else cut out of one."""

    def plan_pages(self, run: str, subject: str) -> Iterator[list[Planned]]: ...


@dataclass(slots=True)
class Session:
    """One model's part of a run, while it is being worked on."""

    run: str
    model: ModelConfig
    seed: int
    chat: Chat
    asked: Mapping[str, Asked]
    store: Plan
    put: Callable[[Answer], None]
    stop: asyncio.Event
    """Set when no new trial is to be started."""
    given_up: bool = field(default=False, init=False)
    """Whether this model's part is over early; the others go on."""
    lost_in_a_row: int = field(default=0, init=False)
    talking: Talking | None = None
    """Set where answers may lead to further turns."""
    seats: Mapping[str, tuple[ModelConfig, Chat]] = field(default_factory=dict)
    """The other models of its talks."""

    def seated(self, trial: Trial) -> tuple[ModelConfig, Chat]:
        """Who answers a trial."""
        if not trial.seat:
            return self.model, self.chat
        if trial.seat not in self.seats:
            raise ModelError(f"No model sits in the seat '{trial.seat}' here.", "Start this with 'eqlab run'.")
        return self.seats[trial.seat]

    @property
    def ending(self) -> bool:
        return self.given_up or self.stop.is_set()


async def run_model(session: Session) -> None:
    """Ask everything that is not answered yet. Raises when the model, or the store, cannot go on."""
    waiting = _waiting(session)
    workers = [asyncio.create_task(_work(session, waiting)) for _ in range(session.chat.concurrency)]
    try:
        done, under_way = await asyncio.wait(workers, return_when=asyncio.FIRST_EXCEPTION)
        if under_way:
            session.given_up = True
            more, _ = await asyncio.wait(under_way, timeout=_GRACE)
            done |= more
        for error in [error for worker in workers if worker in done and (error := worker.exception())]:
            raise error
    finally:
        for worker in workers:
            worker.cancel()
        await asyncio.gather(*workers, return_exceptions=True)


def _waiting(session: Session) -> Iterator[Planned]:
    for page in session.store.plan_pages(session.run, session.model.subject):
        for planned in page:
            asked = session.asked[planned.benchmark]
            tries = asked.benchmark.asking(planned.trial, asked.options).tries
            if not planned.done and planned.failed < tries:
                yield planned


async def _work(session: Session, waiting: Iterator[Planned]) -> None:
    talking = session.talking
    while not session.ending:
        planned = await talking.take(waiting, session.chat.concurrency) if talking else next(waiting, None)
        if planned is None:
            return
        asked = False
        try:
            await _ask(session, planned)
            asked = True
        finally:
            if talking and asked:
                talking.over(planned, session.ending)
            if talking and (session.ending or not asked):
                talking.give_up()


async def _ask(session: Session, planned: Planned) -> None:
    """One trial, attempt after attempt. The temperature rises only when a reply could not be read."""
    asked = session.asked[planned.benchmark]
    asking = asked.benchmark.asking(planned.trial, asked.options)
    attempt, failed = planned.attempts, planned.failed
    while failed < asking.tries and not (session.ending and attempt > planned.attempts):
        attempt += 1
        request = _request(session, planned, asking.temperature_of(failed), asking.max_tokens, attempt)
        try:
            reply = await session.seated(planned.trial)[1].ask(request)
        except TransportError as error:
            session.put(_lost(session, planned, attempt, request, error))
            session.lost_in_a_row += 1
            if session.lost_in_a_row >= _HOPELESS:
                raise ModelError(
                    f"{session.model.spec} failed {_HOPELESS} times in a row (last: {error}).",
                    "Run the same command again to go on.",
                ) from error
            return
        session.lost_in_a_row = 0
        text, thought = split_reasoning(reply.text)
        reading = _read(asked, planned, text)
        session.put(_answer(session, planned, attempt, request, reply, text, thought, reading))
        if reading.status == "ok":
            return
        failed += 1


def _read(asked: Asked, planned: Planned, text: str) -> Reading:
    """What the benchmark reads in a reply. One that it stumbles over is kept like any other that cannot be read."""
    try:
        return asked.benchmark.read(planned.trial, text, asked.options)
    except _READER_FAULTS as fault:
        return Reading("unparseable", note=f"{planned.benchmark} failed to read this: {type(fault).__name__}: {fault}")


def _request(session: Session, planned: Planned, temperature: float, max_tokens: int, attempt: int) -> ChatRequest:
    trial = planned.trial
    return ChatRequest(
        prompt=trial.prompt,
        system=trial.system,
        earlier=trial.messages,
        temperature=temperature,
        max_tokens=max_tokens,
        seed=sampling_seed(session.seed, trial.id, planned.repeat, attempt),
        schema=json_schema(trial.form) if trial.mode == "json" else None,
        settings=session.seated(trial)[0].settings,
    )


def sampling_seed(seed: int, trial: str, repeat: int, attempt: int) -> int:
    """A sampling seed of its own for every attempt, so that repeats differ and a rerun does not."""
    digest = hashlib.sha256(f"{seed}/{trial}/{repeat}/{attempt}".encode()).digest()
    return int.from_bytes(digest[:4], "big") >> 1


def _temperature(request: ChatRequest) -> float | None:
    value = request.settings.get("temperature", request.temperature)
    return float(value) if isinstance(value, int | float) else None


def _answer(
    session: Session,
    planned: Planned,
    attempt: int,
    request: ChatRequest,
    reply: ChatReply,
    text: str,
    thought: str,
    reading: Reading,
) -> Answer:
    return Answer(
        run=session.run,
        trial=planned.trial.id,
        subject=session.model.subject,
        repeat=planned.repeat,
        attempt=attempt,
        text=text,
        status=reading.status,
        values=reading.values,
        note=reading.note,
        reasoning="\n".join(part for part in (reply.reasoning, thought) if part),
        model=reply.model,
        temperature=_temperature(request),
        latency=reply.latency,
        transport_retries=reply.transport_retries,
        tokens_in=reply.tokens_in,
        tokens_out=reply.tokens_out,
        finish=reply.finish,
        at=time.time(),
    )


def _lost(session: Session, planned: Planned, attempt: int, request: ChatRequest, error: TransportError) -> Answer:
    return Answer(
        run=session.run,
        trial=planned.trial.id,
        subject=session.model.subject,
        repeat=planned.repeat,
        attempt=attempt,
        text="",
        status="error",
        note=str(error),
        temperature=_temperature(request),
        transport_retries=error.retries,
        at=time.time(),
    )
