"""Asking: start a run or continue it, model by model, round by round, until all is answered or somebody stops."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import field
from functools import partial

from eqlab.core.answers import Answer
from eqlab.core.benchmark import Adaptive, Talks
from eqlab.core.errors import EqlabError, ModelError, UsageError
from eqlab.core.runs import ModelConfig
from eqlab.core.trials import Trial
from eqlab.core.values import dataclass
from eqlab.models.chat import Chat
from eqlab.models.open import open_chats
from eqlab.models.runner import Session, Talking, open_talks, run_model
from eqlab.models.timeouts import PATIENCE, SILENCE, WHOLE, Pace, Timeouts
from eqlab.runs.budget import Budget, Limits, Metered, open_budget
from eqlab.runs.event_loop import (
    STOPPING,
    StopHandle,
    garbage_seldom_collected,
    on_interrupt,
    run_in_other_thread,
    run_in_this_thread,
)
from eqlab.runs.identity import provenance
from eqlab.runs.request import Prepared, Request, prepare, seated
from eqlab.store.batches import Batches
from eqlab.store.store import NextTurn, Store
from eqlab.store.writer import Writer, run_lock

_STOPPING_BATCH = "Stopping. What was sent as a batch goes on at the provider."


@dataclass(frozen=True, slots=True)
class AskTerms:
    """How a run is worked on, which is no part of what it is."""

    limits: Limits = field(default_factory=Limits)
    batch: Pace | None = None
    """None: one by one."""
    mixed: bool = False
    """Whether models that take no batches are asked one by one beside the others."""


NO_TERMS = AskTerms()


@dataclass(frozen=True, slots=True)
class Outcome:
    run: str
    failures: Mapping[str, EqlabError]
    """Why models stopped early, by subject."""
    interrupted: bool
    lost: Mapping[str, str] = field(default_factory=dict)
    """What got no answer although its model went on, in words, by subject: asking again may help."""
    limit: str = ""
    """Which limit of cost or tokens ended it, in words; empty: none."""


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
    prepared: Prepared | Request,
    store: Store,
    *,
    concurrency: int = 16,
    timeout: float = WHOLE,
    silence: float = SILENCE,
    patience: float = PATIENCE,
    limits: Limits | None = None,
    batch: Pace | None = None,
    mixed: bool = False,
    listener: Listener | None = None,
) -> Outcome:
    """Start the run, or continue it where it stopped. Seconds: `timeout` for a whole reply, `silence` without a byte
    of it, `patience` while nothing good comes from an address at all. `limits` end it before they are passed; with
    `batch` it is asked by batches, at that pace; with `mixed` only those models that take them."""
    terms = AskTerms(limits or Limits(), batch, mixed)
    return run_in_this_thread(
        *_job(prepared, store, concurrency, Timeouts(timeout, silence, patience), listener, terms)
    )


async def arun(
    prepared: Prepared | Request,
    store: Store,
    *,
    concurrency: int = 16,
    timeout: float = WHOLE,
    silence: float = SILENCE,
    patience: float = PATIENCE,
    limits: Limits | None = None,
    batch: Pace | None = None,
    mixed: bool = False,
    listener: Listener | None = None,
) -> Outcome:
    """The same for who has a loop already, which goes on meanwhile: the work is done in a thread of its own. Cancelled,
    it asks nothing new, waits for the answers under way, and has stored all of them."""
    terms = AskTerms(limits or Limits(), batch, mixed)
    return await run_in_other_thread(
        *_job(prepared, store, concurrency, Timeouts(timeout, silence, patience), listener, terms)
    )


def _job(
    given: Prepared | Request,
    store: Store,
    concurrency: int,
    timeouts: Timeouts,
    listener: Listener | None,
    terms: AskTerms,
) -> tuple[Callable[[], Outcome], StopHandle]:
    """The work, and what it can be stopped by."""
    prepared = prepare(given) if isinstance(given, Request) else given
    if terms.batch is not None:
        _check_batches(prepared, mixed=terms.mixed)
    handle = StopHandle()
    return partial(_work, prepared, store, concurrency, timeouts, listener or Listener(), terms, handle), handle


def _work(
    prepared: Prepared,
    store: Store,
    concurrency: int,
    timeouts: Timeouts,
    heard: Listener,
    terms: AskTerms,
    handle: StopHandle,
) -> Outcome:
    with run_lock(store, prepared.config.id), garbage_seldom_collected():
        return asyncio.run(_run(prepared, store, concurrency, timeouts, heard, terms, handle))


async def _run(
    prepared: Prepared,
    store: Store,
    concurrency: int,
    timeouts: Timeouts,
    heard: Listener,
    terms: AskTerms,
    handle: StopHandle,
) -> Outcome:
    everybody = [*prepared.config.models, *seated(prepared).values()]
    chats = open_chats(everybody, concurrency=concurrency, timeouts=timeouts, say=heard.say)
    stop, tasks = asyncio.Event(), list[asyncio.Task[None]]()
    words = STOPPING if terms.batch is None else _STOPPING_BATCH
    handle.hold(partial(_set, stop, asyncio.get_running_loop()))
    try:
        with on_interrupt(stop, tasks, heard.say, words):
            return await ask(prepared, store, chats, stop, tasks, heard, terms)
    finally:
        handle.hold(lambda: None)
        for chat in chats.values():
            await chat.close()


async def ask(
    prepared: Prepared,
    store: Store,
    chats: Mapping[str, Chat],
    stop: asyncio.Event,
    tasks: list[asyncio.Task[None]],
    heard: Listener,
    terms: AskTerms = NO_TERMS,
) -> Outcome:
    """Work on a run whose lock the caller holds, with models that are open; what can be dropped goes to `tasks`."""
    config = prepared.config
    budget = open_budget(terms.limits, prepared, store) if terms.limits else None
    identities = {subject: dict(chat.identity()) for subject, chat in chats.items()}
    store.begin_run(config, prepared.plan(), provenance(identities, prepared.changed))
    heard.begun(store.progress(config.id))
    loop = asyncio.get_running_loop()
    writer = Writer(store, heard.stored, lambda: _set(stop, loop))
    seats = {name: (model, _metered(chats, model, budget)) for name, model in seated(prepared).items()}
    sessions = [
        Session(
            config.id,
            model,
            config.seed,
            _metered(chats, model, budget),
            prepared.asked,
            store,
            writer.put,
            stop,
            seats=seats,
        )
        for model in config.models
    ]
    asking = [
        _asking(session, store, chats[session.model.subject], writer, heard, terms, budget) for session in sessions
    ]
    own = [
        asyncio.create_task(_rounds(prepared, session, work, store, writer, heard))
        for session, work in zip(sessions, asking, strict=True)
    ]
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
        config.id,
        failures,
        stop.is_set(),
        {who: words for who, words in lost.items() if who not in failures},
        next((session.limit for session in sessions if session.limit), ""),
    )


def _check_batches(prepared: Prepared, *, mixed: bool) -> None:
    """Raises UsageError unless everything can be asked by batch, or where `mixed` is meant, something."""
    from eqlab.models.batch.contract import check_batches, takes_batches

    if not (mixed and any(map(takes_batches, prepared.config.models))):
        check_batches(prepared.config.models)
    talks = [name for name, asked in prepared.asked.items() if isinstance(asked.benchmark, Talks)]
    if talks:
        raise UsageError(
            f"Talks cannot be asked by batch ({', '.join(talks)}).", "Every turn follows from the last: drop --batch."
        )


def _metered(chats: Mapping[str, Chat], model: ModelConfig, budget: Budget | None) -> Chat:
    chat = chats[model.subject]
    return chat if budget is None else Metered(chat, model.subject, budget)


def _asking(
    session: Session,
    store: Store,
    chat: Chat,
    writer: Writer,
    heard: Listener,
    terms: AskTerms,
    budget: Budget | None,
) -> Callable[[], Awaitable[None]]:
    """How one model's trials are asked: one by one, or by batch."""
    if terms.batch is None:
        return partial(_one_by_one, session, store)
    from eqlab.models.batch.contract import takes_batches
    from eqlab.models.http import HttpChat  # here, so that a model in process need not load HTTP
    from eqlab.runs.batch import Batching, Desk

    if isinstance(chat, HttpChat) and not (terms.mixed and not takes_batches(session.model)):
        flush = partial(asyncio.to_thread, writer.flush)
        desk = Desk(store, chat, flush, heard.say, heard.stored, terms.batch, budget)
        return Batching(session, desk).work
    return partial(_one_by_one, session, store)


async def _one_by_one(session: Session, store: Store) -> None:
    out = len(Batches(store, session.run, session.model.subject).under_way())
    if out:
        raise ModelError(
            f"{session.model.spec}: {out} {'batch is' if out == 1 else 'batches are'} still with the provider.",
            "Add --batch to take them in; without it the same questions would be paid for twice.",
        )
    await run_model(session)


def _unanswered(session: Session) -> str:
    count = len(session.lost)
    return f"{count} {'trial' if count == 1 else 'trials'} got no answer (last: {session.last_error})."


async def _rounds(
    prepared: Prepared,
    session: Session,
    work: Callable[[], Awaitable[None]],
    store: Store,
    writer: Writer,
    heard: Listener,
) -> None:
    while True:
        go_on_talking(prepared, session, store, writer, heard)
        await work()
        if session.ending:
            return
        await asyncio.to_thread(writer.flush)
        if session.stop.is_set():  # the store may have failed meanwhile
            return
        planned = next_round(prepared, store, session.model, talks=False)
        if planned is None:
            return
        heard.extended(session.model.subject, planned)


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
        talks = open_talks(name, benchmark, options, store.scored(run, subject, name))
        talking.turns |= talks.turns
        talking.passed |= talks.passed
        if talks.following:
            count = store.extend_plan(run, subject, talks.following)
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
