"""Asking a model the trials of a run: as many at once as it takes, each until it is answered or its tries are used up.
Trials are read page by page and asked as slots free up, so neither memory nor start-up grows with the run.

A talk is a trial whose answers may lead to another question. Talks advance independently: each turn is asked as soon
as the one before it is answered, and a talk that is slow holds up no other. The same answers lead to the same next
turn, so a run that was killed goes on within every talk."""

import asyncio
import hashlib
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from typing import Any, Protocol

from msgspec import structs

from eqlab.core.answers import FAILED_READINGS, Answer, Reading, final, outcomes, stands
from eqlab.core.benchmark import Asking, Benchmark, Scored, Talks, Turn
from eqlab.core.errors import ModelError
from eqlab.core.forms import json_schema
from eqlab.core.grouping import grouped
from eqlab.core.runs import ModelConfig
from eqlab.core.trials import Trial, outgoing
from eqlab.core.values import dataclass
from eqlab.models.chat import (
    LENGTH,
    Bill,
    Chat,
    ChatReply,
    ChatRequest,
    LimitReached,
    Settings,
    TransportError,
    Unasked,
    sort_settings,
    split_reasoning,
)
from eqlab.store.store import NextTurn, Planned

_OPEN = 4
"""Talks under way for each request at once: enough that none of them must wait for the others at the end of a run, and
few enough that memory does not grow with the run."""
TalkKey = tuple[str, str, int]
"""Benchmark, id of the first trial, repeat."""


@dataclass(slots=True)
class Talking:
    """The talks of one session. Trials of other benchmarks pass through."""

    run: str
    subject: str
    asked: Mapping[str, tuple[Benchmark, Mapping[str, Any]]]
    put_turn: Callable[[NextTurn], None]
    turns: dict[TalkKey, list[Turn]] = field(default_factory=dict)
    """What was said so far in talks that are not over."""
    passed: set[tuple[str, int]] = field(default_factory=set)
    """(trial, repeat) that the talk has gone on from, although no answer to it could be read."""
    planned: int = 0
    """Trials that the run had planned for the subject when the session began: those after are its own next turns, which
    it asks without reading them back."""
    _ready: deque[Planned] = field(default_factory=deque, init=False)
    _under_way: set[TalkKey] = field(default_factory=set, init=False)
    _last: dict[tuple[str, int], Answer] = field(default_factory=dict, init=False)
    _changed: asyncio.Event = field(default_factory=asyncio.Event, init=False)

    def talks(self, planned: Planned) -> bool:
        return isinstance(self.asked[planned.benchmark][0], Talks)

    def heard(self, answer: Answer) -> None:
        """Told of every answer of the session, before it is stored."""
        self._last[answer.trial, answer.repeat] = answer

    async def take(self, waiting: Iterator[Planned], at_once: int) -> Planned | None:
        """The next trial: new talks first until enough are open, then whichever turn has waited longest. None when
        nothing is left and nothing under way can lead to more."""
        while True:
            if len(self._under_way) < _OPEN * at_once:
                planned = next((one for one in waiting if not self._is_old(one)), None)
                if planned is not None:
                    if self.talks(planned):
                        self._under_way.add(talk_key(planned.benchmark, planned.trial, planned.repeat))
                    return planned
            if self._ready:
                return self._ready.popleft()
            if not self._under_way:
                return None
            self._changed.clear()
            await self._changed.wait()

    def _is_old(self, planned: Planned) -> bool:
        return planned.position >= self.planned or (planned.trial.id, planned.repeat) in self.passed

    def over(self, planned: Planned, ending: bool) -> None:
        """A trial has been asked for as long as it could be: go on with its talk, if it is one and goes on."""
        answer = self._last.pop((planned.trial.id, planned.repeat), None)
        if not self.talks(planned):
            return
        key = talk_key(planned.benchmark, planned.trial, planned.repeat)
        self._under_way.discard(key)
        if answer is not None and (answer.status == "ok" or (answer.answered and not ending)):
            following = self._next(key, planned, answer)
            if following is None:
                self.turns.pop(key, None)
            else:
                self._under_way.add(key)
                self._ready.append(following)
        self._changed.set()

    def give_up(self) -> None:
        """Nobody waits any longer for what was under way."""
        self._under_way.clear()
        self._ready.clear()
        self._changed.set()

    def _next(self, key: TalkKey, planned: Planned, answer: Answer) -> Planned | None:
        benchmark, options = self.asked[planned.benchmark]
        turns = self.turns.setdefault(key, [])
        turns.append(Turn(planned.trial, answer))
        if not isinstance(benchmark, Talks) or (trial := next_trial(benchmark, turns, options)) is None:
            return None
        self.put_turn(NextTurn(self.run, self.subject, planned.benchmark, trial, planned.repeat))
        return Planned(-1, planned.benchmark, trial, planned.repeat, 0, 0, False)


@dataclass(slots=True)
class OpenTalks:
    turns: dict[TalkKey, list[Turn]] = field(default_factory=dict)
    """Of talks that have begun and are not over: the turns that are answered."""
    passed: set[tuple[str, int]] = field(default_factory=set)
    """(trial, repeat) without a good answer that the talk went on from."""
    following: list[tuple[str, Trial, int]] = field(default_factory=list)
    """(benchmark, trial, repeat) that come next and are not planned yet."""


def open_talks(name: str, benchmark: Benchmark, options: Mapping[str, Any], scored: Iterable[Scored]) -> OpenTalks:
    """What is open among the trials of one subject. Nothing where a benchmark has no talks."""
    talks = OpenTalks()
    if not isinstance(benchmark, Talks):
        return talks
    planned = grouped((talk_key(name, one.trial, one.repeat), one) for one in scored)
    for key, talk in planned.items():
        talk.sort(key=lambda one: one.trial.turn)
        turns = _answered(talk, benchmark, options)
        for turn in turns[: len(talk) - 1]:
            if turn.answer.status != "ok":
                talks.passed.add((turn.trial.id, key[2]))
        if len(turns) == len(talk):
            trial = next_trial(benchmark, turns, options)
            if trial is None:
                continue
            talks.following.append((name, trial, key[2]))
        if turns:
            talks.turns[key] = turns
    return talks


def _answered(talk: list[Scored], benchmark: Any, options: Mapping[str, Any]) -> list[Turn]:
    """The turns up to the first that still waits for an answer; one that was gone on from waits no more."""
    turns = []
    for number, scored in enumerate(talk, start=1):
        answer = final(scored.attempts)
        if answer is None or not (number < len(talk) or _is_final(scored, answer, benchmark, options)):
            break
        turns.append(Turn(scored.trial, answer))
    return turns


def _is_final(scored: Scored, answer: Answer, benchmark: Benchmark, options: Mapping[str, Any]) -> bool:
    if stands(outcomes(scored.attempts)):
        return True  # what a provider refused stands: it is not asked again, and the talk goes on from it
    failed = sum(attempt.status in FAILED_READINGS for attempt in scored.attempts)
    return failed >= benchmark.asking(scored.trial, options).tries


def talk_key(benchmark: str, trial: Trial, repeat: int) -> TalkKey:
    return benchmark, trial.talk or trial.id, repeat


def next_trial(benchmark: Talks, turns: Sequence[Turn], options: Mapping[str, Any]) -> Trial | None:
    """What follows in a talk, with its place in it filled in."""
    trial = benchmark.next_turn(turns, options)
    return None if trial is None else place_in_talk(trial, turns)


def place_in_talk(trial: Trial, turns: Sequence[Turn]) -> Trial:
    return replace(trial, talk=turns[0].trial.id, turn=len(turns), id="")


_HOPELESS = 8
"""Requests lost in a row, after all their retries, until a model is given up for this session."""
_FAULTS, _FAULTS_AGAIN = 6, 2
"""Failures of the server that one trial may cost before it is lost, and when it is asked once more at the end. With its
tries and the replies that were cut off, that is the most requests that a trial can take: see docs/models.md."""
MORE_TOKENS = 1024
_GRACE = 30.0
"""Seconds that requests under way get when a model is given up: their answers are paid for."""
_READER_FAULTS = (ArithmeticError, AssertionError, AttributeError, LookupError, RuntimeError, TypeError, ValueError)
"""What a faulty benchmark, perhaps another package's, may raise on a reply that nobody foresaw."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A benchmark with the options of this run."""

    benchmark: Benchmark
    options: Mapping[str, Any]

    def asking(self, trial: Trial) -> Asking:
        return self.benchmark.asking(trial, self.options)


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
    empty_in_a_row: int = field(default=0, init=False)
    last_error: str = field(default="", init=False)
    lost: list[Planned] = field(default_factory=list, init=False)
    """Trials whose request was lost in this session: asked once more before it ends."""
    faults: int = field(default=_FAULTS, init=False)
    talking: Talking | None = None
    """Set where answers may lead to further turns."""
    seats: Mapping[str, tuple[ModelConfig, Chat]] = field(default_factory=dict)
    """The other models of its talks."""
    limit: str = field(default="", init=False)
    """Which limit of cost or tokens ended it, in words; empty: none."""
    _settings: dict[str, Settings] = field(default_factory=dict, init=False)

    def seated(self, trial: Trial) -> tuple[ModelConfig, Chat]:
        """Who answers a trial."""
        if not trial.seat:
            return self.model, self.chat
        if trial.seat not in self.seats:
            raise ModelError(f"No model is given for the seat '{trial.seat}'.", "Start this with 'eqlab run'.")
        return self.seats[trial.seat]

    def settings(self, trial: Trial) -> Settings:
        """How whoever answers a trial is asked."""
        if trial.seat not in self._settings:
            self._settings[trial.seat] = sort_settings(self.seated(trial)[0].settings)
        return self._settings[trial.seat]

    @property
    def ending(self) -> bool:
        return self.given_up or self.stop.is_set()


async def run_model(session: Session) -> None:
    """Ask everything that is not answered yet; what was lost is asked once more at the end. Raises when the model, or
    the store, cannot go on."""
    pages = session.store.plan_pages(session.run, session.model.subject)
    await _work_off(session, waiting(pages, session.asked))
    lost, session.lost = session.lost, []
    if lost and not session.ending:
        session.faults = _FAULTS_AGAIN
        await _work_off(session, iter(lost))


async def _work_off(session: Session, trials: Iterator[Planned]) -> None:
    workers = [asyncio.create_task(_work(session, trials)) for _ in range(session.chat.concurrency)]
    hurrying = asyncio.create_task(_hurry(session))
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
        hurrying.cancel()
        await asyncio.gather(*workers, hurrying, return_exceptions=True)


async def _hurry(session: Session) -> None:
    """Once nothing new is to be started, what only waits for a server is given up."""
    await session.stop.wait()
    for chat in (session.chat, *(chat for _, chat in session.seats.values())):
        chat.hurry()


def waiting(pages: Iterable[Sequence[Planned]], asked: Mapping[str, Asked]) -> Iterator[Planned]:
    """What is not answered yet and has tries left."""
    for page in pages:
        for planned in page:
            if not planned.done and (
                not planned.failed or planned.failed < asked[planned.benchmark].asking(planned.trial).tries
            ):
                yield planned


async def _work(session: Session, trials: Iterator[Planned]) -> None:
    talking = session.talking
    while not session.ending:
        planned = await talking.take(trials, session.chat.concurrency) if talking else next(trials, None)
        if planned is None:
            return
        asked = False
        try:
            await ask_one(session, planned)
            asked = True
        finally:
            if talking and asked:
                talking.over(planned, session.ending)
            if talking and (session.ending or not asked):
                talking.give_up()


async def ask_one(session: Session, planned: Planned) -> None:
    """One trial, attempt after attempt. The temperature rises only when a whole reply could not be read."""
    asked = session.asked[planned.benchmark]
    asking = asked.asking(planned.trial)
    attempt, failed, faults, more_tokens = planned.attempts, planned.failed, session.faults, 0
    while failed < asking.tries and not (session.ending and attempt > planned.attempts):
        attempt += 1
        request = request_of(session, planned, asking, attempt, failed=failed, more_tokens=more_tokens, faults=faults)
        bill = Bill()
        try:
            reply = await session.seated(planned.trial)[1].ask(structs.replace(request, bill=bill))
        except (Unasked, ModelError, asyncio.CancelledError) as end:
            if bill.usage():  # asked again in the next session
                lost = TransportError(str(end) or "cut off when the session ended")
                session.put(lost_answer(session, planned, attempt, lost, bill))
            if isinstance(end, Unasked):
                return
            raise
        except LimitReached as reached:
            session.limit = str(reached)
            session.given_up = True
            return
        except TransportError as error:
            session.put(lost_answer(session, planned, attempt, error, bill))
            session.lost.append(replace(planned, attempts=attempt, failed=failed))
            session.lost_in_a_row += 1
            session.last_error = str(error)
            if session.lost_in_a_row >= _HOPELESS:
                raise ModelError(
                    f"{session.seated(planned.trial)[0].spec} failed {_HOPELESS} times in a row (last: {error}).",
                    "Run the same command again to go on.",
                ) from error
            return
        session.lost_in_a_row = 0
        faults = max(0, faults - reply.transport_retries)
        text, thought = split_reasoning(reply.text)
        reading = reading_of(asked, planned, reply, text, bool(thought))
        session.put(answer_of(session, planned, attempt, reply, text, thought, reading))
        _notice_emptiness(session, planned.trial, reply)
        if reading.status == "ok" or reply.refusal:
            return
        if reply.finish != LENGTH or request.token_limit is not None:
            failed += 1
        elif more_tokens:
            return  # what does not end with more room does not end
        else:
            more_tokens = tokens_added(reply, request)


def tokens_added(reply: ChatReply, request: ChatRequest) -> int:
    """What a question whose reply was cut is given more, once."""
    return max(MORE_TOKENS, int(reply.sent.get("room") or request.max_tokens))


def reading_of(asked: Asked, planned: Planned, reply: ChatReply, text: str, thought: bool) -> Reading:
    """A provider's refusal is one whatever it says. What was cut off is no answer, unless it is a whole JSON object."""
    if reply.refusal:
        return Reading("refused", note=f"the provider declined: {reply.refusal}")
    reading = _read(asked, planned, text)
    if reply.finish != LENGTH or is_complete(reading, planned.trial):
        return reading
    while_thinking = not text.strip() and (thought or reply.reasoning or reply.usage.get("reasoning_tokens"))
    where = "while it was thinking" if while_thinking else "before its end"
    return Reading("unparseable", note=f"the reply was cut off {where}, at {reply.sent.get('room', 'its')} tokens")


def is_complete(reading: Reading, trial: Trial) -> bool:
    """Whether what was read in a reply that was cut off cannot have gone on: the object of a form is closed."""
    return reading.status == "ok" and trial.mode == "json"


def _notice_emptiness(session: Session, trial: Trial, reply: ChatReply) -> None:
    """Nothing but empty replies: paid for, and for nothing."""
    if reply.text.strip() or reply.refusal or reply.finish == LENGTH:
        session.empty_in_a_row = 0
        return
    session.empty_in_a_row += 1
    if session.empty_in_a_row >= _HOPELESS:
        who = session.seated(trial)[0].spec
        raise ModelError(
            f"{who} gave {_HOPELESS} empty replies in a row (finish: {reply.finish or 'not said'}).",
            "Look at one with 'eqlab runs show'; a thinking model may need '--set thinking_tokens=32000'.",
        )


def _read(asked: Asked, planned: Planned, text: str) -> Reading:
    """What the benchmark reads in a reply. One that it stumbles over is kept like any other that cannot be read."""
    try:
        return asked.benchmark.read(planned.trial, text, asked.options)
    except _READER_FAULTS as fault:
        return Reading("unparseable", note=f"{planned.benchmark} failed to read this: {type(fault).__name__}: {fault}")


def request_of(
    session: Session,
    planned: Planned,
    asking: Asking,
    attempt: int,
    *,
    failed: int,
    more_tokens: int = 0,
    faults: int = _FAULTS,
) -> ChatRequest:
    """An attempt at a trial, as its protocol asks it."""
    trial = planned.trial
    return session.settings(trial).request(
        outgoing(trial),
        temperature=asking.temperature_of(failed),
        max_tokens=asking.max_tokens,
        seed=sampling_seed(session.seed, trial.id, planned.repeat, attempt),
        schema=json_schema(trial.form) if trial.mode == "json" else None,
        more_tokens=more_tokens,
        faults=faults,
    )


def sampling_seed(seed: int, trial: str, repeat: int, attempt: int) -> int:
    """A sampling seed of its own for every attempt, so that repeats differ and a rerun does not."""
    digest = hashlib.sha256(f"{seed}/{trial}/{repeat}/{attempt}".encode()).digest()
    return int.from_bytes(digest[:4], "big") >> 1


def answer_of(
    session: Session, planned: Planned, attempt: int, reply: ChatReply, text: str, thought: str, reading: Reading
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
        reasoning=f"{reply.reasoning}\n{thought}" if reply.reasoning and thought else reply.reasoning or thought,
        model=reply.model,
        temperature=reply.sent.get("temperature"),
        latency=reply.latency,
        transport_retries=reply.transport_retries,
        tokens_in=reply.tokens_in,
        tokens_out=reply.tokens_out,
        finish=reply.finish,
        at=time.time(),
        sent=reply.sent,
        usage=reply.usage,
    )


def lost_answer(
    session: Session, planned: Planned, attempt: int, error: TransportError, bill: Bill | None = None
) -> Answer:
    bill = bill or Bill()
    sent = error.sent or bill.sent
    return Answer(
        run=session.run,
        trial=planned.trial.id,
        subject=session.model.subject,
        repeat=planned.repeat,
        attempt=attempt,
        text="",
        status="error",
        note=str(error),
        temperature=sent.get("temperature"),
        transport_retries=error.retries,
        at=time.time(),
        sent=sent,
        usage=bill.usage(),
    )
