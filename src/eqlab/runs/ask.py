"""Asking: start a run or continue it, model by model, round by round, until all is answered or somebody stops."""

import asyncio
import signal
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from eqlab.core.answers import Answer
from eqlab.core.benchmark import Adaptive, Seated, Talks
from eqlab.core.errors import EqlabError
from eqlab.core.runs import ModelConfig
from eqlab.core.trials import Trial
from eqlab.models.chat import Chat
from eqlab.models.open import open_chats
from eqlab.models.runner import Session, run_model
from eqlab.models.talks import Talking
from eqlab.models.waits import PATIENCE, SILENCE, WHOLE, Waits
from eqlab.runs.provenance import provenance
from eqlab.runs.request import Prepared
from eqlab.runs.talks import open_talks
from eqlab.store.lock import run_lock
from eqlab.store.store import NextTurn, Store
from eqlab.store.writer import Writer


@dataclass(frozen=True, slots=True)
class Outcome:
    run: str
    failures: Mapping[str, EqlabError]
    """Why models stopped early, by subject."""
    interrupted: bool
    lost: Mapping[str, str] = field(default_factory=dict)
    """What got no answer although its model went on, in words, by subject: asking again may help."""


@dataclass(frozen=True, slots=True)
class Listener:
    """Who wants to hear how a run goes. `stored` is called in the writer's thread, after the commit."""

    say: Callable[[str], None] = lambda _: None
    stored: Callable[[Sequence[Answer]], None] = lambda _: None
    begun: Callable[[dict[str, tuple[int, int]]], None] = lambda _: None
    """(answered before, planned) by subject, once the plan is stored."""
    extended: Callable[[str, int], None] = lambda _, __: None
    """(subject, planned now) when an adaptive run has written down its next round."""
    grown: Callable[[str, int], None] = lambda _, __: None
    """(subject, planned now) when a talk goes on: one more turn."""


def run(
    prepared: Prepared,
    store: Store,
    *,
    concurrency: int = 16,
    timeout: float = WHOLE,
    silence: float = SILENCE,
    patience: float = PATIENCE,
    listener: Listener | None = None,
) -> Outcome:
    """Start the run, or continue it where it stopped. Seconds: `timeout` for a whole reply, `silence` without a byte
    of it, `patience` while nothing good comes from an address at all."""
    heard = listener or Listener()
    config = prepared.config
    with run_lock(store, config.id):
        return asyncio.run(_run(prepared, store, concurrency, Waits(timeout, silence, patience), heard))


async def _run(prepared: Prepared, store: Store, concurrency: int, waits: Waits, heard: Listener) -> Outcome:
    everybody = [*prepared.config.models, *seated(prepared).values()]
    chats = open_chats(everybody, concurrency=concurrency, waits=waits, say=heard.say)
    stop, tasks = asyncio.Event(), list[asyncio.Task[None]]()
    try:
        with on_interrupt(stop, tasks, heard.say):
            return await ask(prepared, store, chats, stop, tasks, heard)
    finally:
        for chat in chats.values():
            await chat.close()


async def ask(
    prepared: Prepared,
    store: Store,
    chats: Mapping[str, Chat],
    stop: asyncio.Event,
    tasks: list[asyncio.Task[None]],
    heard: Listener,
) -> Outcome:
    """Work on a run whose lock the caller holds, with models that are open; what can be dropped goes to `tasks`."""
    config = prepared.config
    identities = {subject: dict(chat.identity()) for subject, chat in chats.items()}
    store.begin_run(config, prepared.plan(), provenance(identities))
    heard.begun(store.progress(config.id))
    loop = asyncio.get_running_loop()
    writer = Writer(store, heard.stored, lambda: _set(stop, loop))
    seats = {name: (model, chats[model.subject]) for name, model in seated(prepared).items()}
    sessions = [
        Session(
            config.id, model, config.seed, chats[model.subject], prepared.asked, store, writer.put, stop, seats=seats
        )
        for model in config.models
    ]
    own = [asyncio.create_task(_rounds(prepared, session, store, writer, heard)) for session in sessions]
    tasks += own
    ends = await asyncio.gather(*own, return_exceptions=True)
    await asyncio.to_thread(writer.close)
    store.add_learnt(config.id, {subject: found for subject, chat in chats.items() if (found := chat.learnt())})
    failures = {}
    for session, end in zip(sessions, ends, strict=True):
        if isinstance(end, EqlabError):
            failures[session.model.subject] = end
        elif isinstance(end, BaseException) and not isinstance(end, asyncio.CancelledError):
            raise end
    lost = {session.model.subject: _unanswered(session) for session in sessions if session.lost}
    return Outcome(
        config.id, failures, stop.is_set(), {who: words for who, words in lost.items() if who not in failures}
    )


def _unanswered(session: Session) -> str:
    count = len(session.lost)
    return f"{count} {'trial' if count == 1 else 'trials'} got no answer (last: {session.last_error})."


async def _rounds(prepared: Prepared, session: Session, store: Store, writer: Writer, heard: Listener) -> None:
    while True:
        go_on_talking(prepared, session, store, writer, heard)
        await run_model(session)
        if session.stop.is_set():
            return
        await asyncio.to_thread(writer.flush)
        if session.stop.is_set():  # the store may have failed meanwhile
            return
        planned = next_round(prepared, store, session.model, talks=False)
        if planned is None:
            return
        heard.extended(session.model.subject, planned)


def seated(prepared: Prepared) -> dict[str, ModelConfig]:
    """The other models of a run's talks, by seat."""
    found: dict[str, ModelConfig] = {}
    for asked in prepared.asked.values():
        if isinstance(asked.benchmark, Seated):
            for name, model in asked.benchmark.seats(asked.options).items():
                found[name] = replace(model, role="seat")
    return found


def go_on_talking(prepared: Prepared, session: Session, store: Store, writer: Writer, heard: Listener) -> None:
    """Where answers lead to further turns: what was said in talks that are not over, and what follows from it."""
    if not any(isinstance(asked.benchmark, Talks) for asked in prepared.asked.values()):
        return
    run, subject = session.run, session.model.subject
    asked = {name: (one.benchmark, one.options) for name, one in prepared.asked.items()}
    count = store.progress(run).get(subject, (0, 0))[1]

    def put_turn(turn: NextTurn) -> None:
        nonlocal count
        count += 1
        writer.put(turn)
        heard.grown(subject, count)

    talking = Talking(run, subject, asked, put_turn)
    for name, (benchmark, options) in asked.items():
        known = open_talks(name, benchmark, options, store.scored(run, subject, name))
        talking.turns |= known.turns
        talking.passed |= known.passed
        if known.following:
            count = store.extend_plan(run, subject, known.following)
            heard.grown(subject, count)

    talking.planned = count

    def put(answer: Answer) -> None:
        talking.heard(answer)
        writer.put(answer)

    session.talking, session.put = talking, put


def next_round(prepared: Prepared, store: Store, model: ModelConfig, *, talks: bool = True) -> int | None:
    """Where a benchmark decides from the answers what to ask next, plan that: how many trials are planned now, or
    None when there is nothing more to ask. `talks`: whether turns that follow are planned here too, round by round,
    as workers need it who have no store."""
    run, subject, selection = prepared.config.id, model.subject, prepared.selection(model)
    more: list[tuple[str, Trial, int]] = []
    for name, asked in prepared.asked.items():
        if isinstance(asked.benchmark, Adaptive):
            scored = store.scored(run, subject, name)
            found = asked.benchmark.more(prepared.files[name], asked.options, selection, scored)
            more += [(name, trial, repeat) for trial, repeat in found]
        if talks and isinstance(asked.benchmark, Talks):
            more += open_talks(name, asked.benchmark, asked.options, store.scored(run, subject, name)).following
    return store.extend_plan(run, subject, more) if more else None


def _set(stop: asyncio.Event, loop: asyncio.AbstractEventLoop) -> None:
    """From another thread: nothing new is asked, what is under way is waited for."""
    loop.call_soon_threadsafe(stop.set)


class on_interrupt:
    """The first Ctrl-C lets requests under way finish, for they are paid for; the second drops them."""

    def __init__(self, stop: asyncio.Event, tasks: Sequence[asyncio.Task[None]], say: Callable[[str], None]) -> None:
        self._stop, self._tasks, self._say = stop, tasks, say
        self._loop = asyncio.get_running_loop()

    def __enter__(self) -> None:
        try:
            self._loop.add_signal_handler(signal.SIGINT, self._pressed)
        except (ValueError, RuntimeError):  # not in the main thread: the caller's own handling stays
            self._loop = None  # type: ignore[assignment]

    def __exit__(self, *_: object) -> None:
        if self._loop is not None:
            self._loop.remove_signal_handler(signal.SIGINT)

    def _pressed(self) -> None:
        if self._stop.is_set():
            for task in self._tasks:
                task.cancel()
        else:
            self._stop.set()
            self._say("Stopping: waiting for the answers under way (Ctrl-C again drops them).")
