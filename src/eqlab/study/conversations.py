"""Conversations of people with models. A person's turn is on disk before a model is asked, a model's before the
person is shown a word of it; a question is asked once, however often a page is sent or loaded."""

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, Protocol, TypeVar

from msgspec import structs

from eqlab.benchmarks.registry import load
from eqlab.core.answers import Answer
from eqlab.core.benchmark import Turn
from eqlab.core.errors import EqlabError, StoreError
from eqlab.core.moves import Unknown
from eqlab.core.plural import many
from eqlab.core.runs import ModelConfig
from eqlab.core.studied import Conversing
from eqlab.core.trials import Trial
from eqlab.models.chat import LENGTH, Chat, ChatReply, ChatRequest, LimitReached
from eqlab.models.open import open_chats
from eqlab.models.runner import Asked, Session, ask_one, request_of
from eqlab.models.timeouts import Timeouts
from eqlab.runs.budget import Amount, Metered
from eqlab.store.database import PATIENCE
from eqlab.store.store import Planned
from eqlab.store.study.participation import Participation
from eqlab.store.study.talks import (
    Attempts,
    Call,
    Kept,
    TalkPosition,
    ask_again,
    begin_call,
    end_call,
    keep_turn,
    kept_turn,
    leave_talk,
    renew_call,
    repeat_call,
    talk_position,
    widen_call,
)
from eqlab.study.talks import State, TalkView, budget_of, chain, limits_of, other_seat, talk_view

_LEASE, _BEAT = 15.0, 5.0
"""Seconds for which nobody else asks the same question; renewed while it is under way. After a crash the question is
asked again when they are over."""
_POLL = 0.5
_LAST_REPLIES, _LAST_WRITES = 6.0, 2.0
"""Seconds for which a server that stops waits for replies, and then for what has become of them to be on disk."""
_AT_ONCE = 512
"""Questions to one address at a time: whoever waits here waits for nothing. With 64, of 500 people who had written to a
model that takes 20 s only two in three had its reply in 100 s."""
_TRIES_TO_CLOSE = 3
"""A reply may come just then; after it nothing does, before the person says something."""
_FAULTS = 2
"""Failures of a server that one question may cost before the person is told: people wait."""
T = TypeVar("T")
_log = logging.getLogger("eqlab.study")


class Work(Protocol):
    """Does something that touches the store elsewhere than on the event loop."""

    def __call__(self, work: Callable[..., T], *args: Any, **kwargs: Any) -> Awaitable[T]: ...


class Conversations:
    """Those of one study, in one process of a server."""

    def __init__(
        self,
        participation: Participation,
        kind: Conversing,
        write: Work,
        read: Work,
        models: Mapping[str, ModelConfig] | None = None,
    ) -> None:
        """`models` by arm, where others than the study's are to be asked."""
        study = participation.study
        if study.talk is None:
            raise EqlabError(f"Study '{study.id}' has no talks.")
        self.participation, self.kind, self.terms, self.study = participation, kind, study.talk, study
        self._write, self._read = write, read
        (config,) = participation.design.run.benchmarks
        self._asked = Asked(load(config.name), config.options)
        self._benchmark = config.name
        self.models = dict(models or kind.models(study))
        self._budget = budget_of(study, self.models.values())
        timeouts = Timeouts(self.terms.patience, self.terms.patience, self.terms.patience)
        self._chats: dict[str, Chat] = open_chats(
            self.models.values(), concurrency=_AT_ONCE, timeouts=timeouts, say=lambda _: None
        )
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._asking: set[asyncio.Task[None]] = set()
        self._closing = False
        self._stuck: dict[str, tuple[str, State]] = {}
        """Trial and state of those for whom this process cannot ask; what was asked in vain is in the store, where
        every process of a server sees it."""
        self._silent: set[str] = set()
        """Arms whose model did not answer when it was asked last."""
        self.streams: Counter[str] = Counter()
        """Open streams by person."""

    # -- looking -----------------------------------------------------------------------------------------------

    async def look(self, person: str) -> TalkView | None:
        """What the person sees; None where they are at no talk. Asks the model if it is its turn."""
        position = await self._position(person)
        if position is None:
            return None
        state = self._state(person, position)
        if state == "wait" and position.pending is not None and not self._persons(position.pending):
            self._ask(person)
        return talk_view(self._held_back(position), self.kind, self.study, state)

    def _state(self, person: str, position: TalkPosition) -> State:
        """While it is the model's turn."""
        if position.asked == "failed":
            return "down"
        trial, state = self._stuck.get(person, ("", "wait"))
        return state if position.pending is not None and trial == position.pending.id else "wait"

    async def wait(self, person: str, seconds: float) -> None:
        """Until the model's turn has ended, or so long."""
        task = self._tasks.get(person)
        if task is None:
            await asyncio.sleep(min(seconds, _POLL))
        else:
            await asyncio.wait([task], timeout=seconds)

    async def has_said(self, person: str, step: int, number: int, said: Mapping[str, str]) -> bool:
        """Whether this turn of the person is the one on disk. Who listens tells no feeling, and their words are the
        text."""
        kept = await self._read(kept_turn, self.participation, person, step, number, self._chain)
        there = {} if kept is None else {**said, "says": kept.text, "leaves": 0, **kept.values}
        return kept is not None and all(str(there[name]) == said[name] for name in said)

    # -- the person's doing ------------------------------------------------------------------------------------

    async def say(self, person: str, number: int, values: Mapping[str, Any], text: str, **detail: Any) -> Kept:
        """A turn of the person. When this returns "kept", it is on disk."""
        return await self._keep(person, number, self._answer(text, "ok", values), **detail)

    async def close_talk(self, person: str, why: str) -> Kept:
        """The person ends the talk as it stands, without a turn: `left` because they want to, `down` because no reply
        comes."""
        kept: Kept = "again"
        for _ in range(_TRIES_TO_CLOSE if why == "left" else 1):
            position = await self._position(person)
            if position is None or position.pending is None:
                return kept
            kept = await self._keep(person, len(position.turns), self._answer("", "refused", {}, why), closed=why)
            if kept == "kept":
                return kept
        return kept

    async def go_on(self, person: str, step: int) -> Kept:
        return await self._write(leave_talk, self.participation, person, step, self._chain)

    async def retry(self, person: str) -> None:
        """Ask a model again that did not answer."""
        self._stuck.pop(person, None)
        await self._write(ask_again, self.participation, person, self._chain)

    async def _keep(self, person: str, number: int, answer: Answer, **detail: Any) -> Kept:
        position = await self._position(person)
        if position is None or position.pending is None:
            return "again"
        kept: Kept = await self._write(
            keep_turn, self.participation, person, number, position.pending.id, answer, self._chain, **detail
        )
        if kept == "kept":
            self._ask(person)  # without waiting for the page to ask for it
        return kept

    def _answer(self, text: str, status: Any, values: Mapping[str, Any], finish: str = "") -> Answer:
        run = self.participation.design.run.id
        return Answer(run, "", "", 0, 1, text, status, values, finish=finish, at=self.participation.clock())

    # -- the model's turn --------------------------------------------------------------------------------------

    def _ask(self, person: str) -> None:
        task = self._tasks.get(person)
        if (task is None or task.done()) and not self._closing:
            self._tasks[person] = asyncio.create_task(self._turn(person))

    async def _turn(self, person: str) -> None:
        """Ask until the model's turn is settled or it is clear that it will not be."""
        trial, begun = "", time.monotonic()
        try:
            while not self._closing:
                here = await self._position(person)
                if here is None or here.pending is None or self._persons(here.pending) or here.asked == "failed":
                    return
                trial = here.pending.id
                try:
                    outcome = here.asked or await self._once(person, here)
                except StoreError:
                    if time.monotonic() - begun > self.terms.patience:
                        raise
                    outcome = "waits"
                    await asyncio.sleep(_BEAT)  # who has a reply to write down comes first
                too_long = outcome == "waits" and time.monotonic() - begun > self.terms.patience
                if too_long or outcome == "spent":
                    self._stuck[person] = (trial, "down" if too_long else "spent")
                    return
                if outcome in ("asked", "waits"):  # another process is at it, or a crash has left it; a limit is near
                    await asyncio.sleep(_POLL)
        except Unknown:  # erased while the model wrote
            pass
        except Exception:  # noqa: BLE001 - whatever it is, the person is told and does not wait for ever
            _log.error("talk failed", exc_info=True)
            self._stuck[person] = (trial, "down")
        finally:
            if self._tasks.get(person) is asyncio.current_task():
                del self._tasks[person]

    async def _once(self, person: str, position: TalkPosition) -> str:
        """One question; "" when it was asked, else why not."""
        trial = position.pending
        if trial is None:
            return ""
        session, planned, said = self._session(position, trial)
        model, chat = session.seated(trial)
        asking = self._asked.benchmark.asking(trial, self._asked.options)
        request = request_of(session, planned, asking, 1, failed=0)
        reserved = self._budget.room(model.subject, chat, request)
        worst = self._budget.worst(model.subject, chat, request, reserved)
        call: Call = await self._write(
            begin_call,
            self.participation,
            person,
            trial.id,
            (worst.tokens, worst.cost),
            limits_of(self.terms),
            _LEASE,
            self._chain,
        )
        if call.id is None:
            return call.why
        calls, room = [call.id], chat.most_tokens(request, thinks=False)

        writes = set[asyncio.Future[Any]]()

        async def whole(write: Awaitable[T]) -> T:
            """Whoever is given up meanwhile: it is over before what came of the question is written down."""
            writes.add(under_way := asyncio.ensure_future(write))
            return await asyncio.shield(under_way)

        async def repeated(worst: Amount) -> bool:
            so_far = meter()
            more: Call = await self._write(
                repeat_call,
                self.participation,
                calls,
                trial.id,
                (so_far.tokens, so_far.cost),
                (worst.tokens, worst.cost),
                limits_of(self.terms),
                _LEASE,
            )
            calls.extend([] if more.id is None else [more.id])
            return more.id is not None

        async def again(worst: Amount) -> None:
            if not await whole(repeated(worst)):
                raise LimitReached("the study's limit of questions to models is reached")

        async def more_room(worst: Amount) -> None:
            limits, now = limits_of(self.terms), (worst.tokens, worst.cost)
            if not await whole(self._write(widen_call, self.participation, calls[-1], now, limits)):
                raise LimitReached("the study's limit of cost is near: the model thinks, and takes more than was known")

        left = False

        async def wanted() -> bool:
            """Nothing of somebody who has stopped, or is erased, goes to a provider any more."""
            nonlocal left
            now = None
            with suppress(Unknown):
                now = await self._position(person)
            left = now is None or now.pending is None or now.pending.id != trial.id
            return not left

        meter = self._metered(session, again, more_room, wanted, reserved)
        beat = asyncio.create_task(self._beat(calls))
        question = asyncio.create_task(ask_one(session, planned))
        self._asking.add(question)
        try:
            await asyncio.wait([question], timeout=self.terms.patience)
        finally:
            beat.cancel()
            question.cancel()
            await asyncio.wait([question])
            await asyncio.gather(*writes, return_exceptions=True)
            self._asking.discard(question)
        took, down = meter(), next((answer.note or "lost" for answer in said if answer.status == "error"), "")
        fault = None if question.cancelled() else question.exception()
        if question.cancelled():
            down = f"nothing came in {self.terms.patience:g} s"
        elif isinstance(fault, EqlabError):
            down = fault.message
        elif fault is not None:  # ours: asked again and again it would only cost
            _log.error("talk failed", exc_info=fault)
            down = f"a fault of eqlab ({type(fault).__name__})"
        answers = [answer for answer in said if answer.status != "error"]
        last = answers[-1] if answers else None
        if last and last.status != "ok" and last.finish == LENGTH and (rest := last.sent.get("room", room)) < room:
            answers.clear()  # no silence of the model's
            down = f"the model's context leaves {many(rest, 'token')} to a reply"
        if not answers and not down:
            down = session.limit or "the model was not asked"
        stopped = self._closing and not any(answer.status in ("ok", "refused") for answer in answers)
        if not left and not stopped:
            self._notice(position.arm, bool(down))
        await self._end(person, calls, (took.tokens, took.cost), answers, self._chain, down[:300], stopped)
        return ""

    async def _end(self, *ended: Any) -> None:
        """What came of a question, and what it took, is written down as soon as a database that was restarted is back:
        it is paid for."""
        until = time.monotonic() + PATIENCE
        while True:
            try:
                await self._write(end_call, self.participation, *ended)
                return
            except StoreError:
                if time.monotonic() > until:
                    raise
            await asyncio.sleep(_POLL)

    def _notice(self, arm: str, down: bool) -> None:
        """Once an outage. Not why: a server's error may hold words of a person; it is among the study's events."""
        if down and arm not in self._silent:
            _log.warning("a model does not answer", extra={"facts": {"study": self.study.id, "arm": arm}})
        elif not down and arm in self._silent:
            _log.info("a model answers again", extra={"facts": {"study": self.study.id, "arm": arm}})
        (self._silent.add if down else self._silent.discard)(arm)

    def _session(self, position: TalkPosition, trial: Trial) -> tuple[Session, Planned, list[Answer]]:
        answers: list[Answer] = []
        model = self.models[position.arm]
        session = Session(
            run=self.participation.design.run.id,
            model=model,
            seed=position.seed,
            chat=self._chats[model.subject],
            asked={self._benchmark: self._asked},
            store=_Nothing(),
            put=answers.append,
            stop=asyncio.Event(),
            seats={trial.seat: (model, self._chats[model.subject])} if trial.seat else {},
        )
        failed = sum(answer.status in ("unparseable", "refused") for answer in position.attempts)
        return session, Planned(-1, self._benchmark, trial, 0, len(position.attempts), failed, False), answers

    def _metered(
        self,
        session: Session,
        again: Callable[[Amount], Awaitable[None]],
        more_room: Callable[[Amount], Awaitable[None]],
        wanted: Callable[[], Awaitable[bool]],
        reserved: int,
    ) -> Callable[[], Amount]:
        """Count what a session takes. `again` is awaited before a further request is sent, `more_room` before one that
        may cost more than was thought."""
        budget = budget_of(self.study, self.models.values())
        subject, chat = session.model.subject, session.chat
        hurried = _Hurried(
            chat,
            lambda request, room: again(budget.worst(subject, chat, request, room)),
            lambda request, room: more_room(budget.worst(subject, chat, request, room)),
            wanted,
            self.terms.patience,
            reserved,
        )
        session.chat = Metered(hurried, subject, budget)
        session.seats = {seat: (model, session.chat) for seat, (model, _) in session.seats.items()}
        return lambda: budget.spent

    async def _beat(self, calls: Sequence[int]) -> None:
        while True:
            await asyncio.sleep(_BEAT)
            with suppress(StoreError):  # a server that is away comes back, perhaps in time
                await self._write(renew_call, self.participation, calls, _LEASE)

    # -- steps of the above ------------------------------------------------------------------------------------

    async def _position(self, person: str) -> TalkPosition | None:
        return await self._read(talk_position, self.participation, person, self._chain)

    def _chain(self, first: Trial, attempts: Attempts) -> tuple[list[Turn], Trial | None]:
        asking = self._asked.benchmark.asking
        tries = {of: asking(first if self._persons(first) == of else other_seat(first), self._asked.options).tries
                 for of in (True, False)}  # fmt: skip
        return chain(self.kind, self.study, first, attempts, tries)

    def _persons(self, trial: Trial) -> bool:
        return self.kind.of_person(self.study, trial)

    def _held_back(self, position: TalkPosition) -> TalkPosition:
        """Without a reply that has come too soon to be shown. Of a clock that was set back nobody knows how soon."""
        if len(position.turns) < 2 or self._persons(position.turns[-1].trial):
            return position
        last, before = position.turns[-1], position.turns[-2]
        if not 0 <= self.participation.clock() - before.answer.at < self.terms.least_wait:
            return position
        return replace(position, turns=position.turns[:-1], pending=last.trial, attempts=())

    async def close(self) -> None:
        """What only waits is given up; replies under way are waited for, and what is cut off then counts at its worst.
        Whose question it was is asked for again at the next start, unasked."""
        self._closing = True
        for chat in self._chats.values():
            chat.hurry()
        tasks = list(self._tasks.values())
        for cut_off, seconds in ((self._asking, _LAST_REPLIES), (tasks, _LAST_WRITES)):
            if tasks:
                await asyncio.wait(tasks, timeout=seconds)
            for task in list(cut_off):
                task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for chat in self._chats.values():
            await chat.close()


class _Nothing:
    """A plan without trials: each is handed over by itself."""

    def plan_pages(self, run: str, subject: str) -> Any:
        return iter(())


class _Hurried:
    """A model that is asked one question for somebody who waits: few tries, each after the first announced, and nothing
    that comes of it is anybody else's."""

    def __init__(
        self,
        chat: Chat,
        again: Callable[[ChatRequest, int], Awaitable[None]],
        more_room: Callable[[ChatRequest, int], Awaitable[None]],
        wanted: Callable[[], Awaitable[bool]],
        patience: float,
        reserved: int,
    ) -> None:
        self._reserved = reserved  # before it was written down; more may be known of the model since
        self._chat, self._again, self._more_room, self._wanted = chat, again, more_room, wanted
        self._until = time.monotonic() + patience
        self._asked = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._chat, name)

    async def ask(self, request: ChatRequest) -> ChatReply:
        def room() -> int:
            """What is reserved for each request: more, once this question has turned out to need it."""
            return self._reserved if request.bill is None else int(request.bill.room)

        async def again() -> None:
            if request.again is not None:
                await request.again()
            await self._again(request, room())

        async def more_room(now: int) -> None:
            if request.more_room is not None:
                await request.more_room(now)
            await self._more_room(request, now)

        if self._asked:
            await self._again(request, room())
        elif request.bill is not None:
            request.bill.room = min(request.bill.room, self._reserved)
        self._asked = True
        few = min(request.faults, _FAULTS)
        left = max(0.0, self._until - time.monotonic())
        return await self._chat.ask(
            structs.replace(
                request,
                faults=few,
                stands_alone=True,
                within=left,
                wanted=self._wanted,
                again=again,
                more_room=more_room,
            )
        )
