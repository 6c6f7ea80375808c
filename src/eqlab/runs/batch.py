"""A model asked by batch: written down, sent, looked at until it has ended, taken in; what is left goes into another.

The store knows a batch before the provider does. So after a death at any moment the next session finds it (by the name
that it carries, or by the names inside), and nothing is sent twice."""

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import field
from uuid import uuid4

from msgspec import structs

from eqlab.core.answers import Answer
from eqlab.core.errors import ModelError
from eqlab.core.plural import many
from eqlab.core.values import dataclass
from eqlab.models.batch.contract import BatchWay, Gone, Look, Result, Uncertain, Wanted, Way, batch_way
from eqlab.models.chat import LENGTH, ChatReply, ChatRequest, TransportError, split_reasoning
from eqlab.models.http import HttpChat
from eqlab.models.runner import Session, answer_of, ask_one, lost_answer, reading_of, request_of, tokens_added, waiting
from eqlab.models.timeouts import Pace
from eqlab.models.wire.contract import (
    Adapt,
    Hopeless,
    Incoming,
    Outgoing,
    TryAgain,
    profile_from_json,
    profile_to_json,
    unstreamed,
)
from eqlab.runs.budget import Amount, Budget
from eqlab.store.batches import Batches, BatchItem, StoredBatch
from eqlab.store.store import Planned, Store

_ROUNDS = 3
"""How often a trial that gets no answer goes into another batch, in one session."""
_KEPT = 28 * 24 * 3600.0
"""Seconds for which every provider keeps results."""
_SAY = 30.0
"""Seconds between two words on the same batch."""
_PAGE = 500
Trial = tuple[str, int]
"""A planned trial by its id and repeat."""


@dataclass(frozen=True, slots=True)
class Desk:
    """What a session by batch works with, besides itself."""

    store: Store
    chat: HttpChat
    """The model itself, without a budget around it."""
    flush: Callable[[], Awaitable[None]]
    """Wait until every answer that was handed over is stored."""
    say: Callable[[str], None]
    stored: Callable[[Sequence[Answer]], None]
    pace: Pace
    budget: Budget | None = None


@dataclass(slots=True)
class _Sheet:
    """One batch while it is made."""

    id: str
    items: list[BatchItem]
    lines: list[bytes]
    outgoing: Outgoing
    size: int
    worst: Amount


class Batching:
    def __init__(self, session: Session, desk: Desk) -> None:
        self._session, self._desk = session, desk
        self._shelf = Batches(desk.store, session.run, session.model.subject)
        self._way = Way(desk.chat.endpoint, desk.chat.transport)
        self._name = session.model.spec
        self._in_vain: Counter[Trial] = Counter()
        self._more_tokens: dict[Trial, int] = {}
        self._most_items: int | None = None
        """Fewer than the provider's limit, once it has refused a batch for its size."""
        self._reserved: dict[str, Amount] = {}
        self._met = False
        self._said: dict[str, tuple[float, int]] = {}

    async def work(self) -> None:
        """Until everything is answered, somebody stops, or a limit is reached. Raises when the model cannot go on."""
        for batch in self._shelf.under_way():
            self._reserve_again(batch)
        while not self._session.ending:
            await self._take_in_all()
            if self._session.ending or not await self._send_rest():
                return

    # -- sending ---------------------------------------------------------------------------------------------------

    async def _send_rest(self) -> bool:
        """Whether anything was asked."""
        first = next(self._waiting(), None)
        if first is None:
            return False
        if not self._met and not await self._meet(first[0]):
            return True
        sent = False
        for sheet in self._sheets():
            if self._session.stop.is_set():
                break
            await self._send(sheet)
            sent = True
            if self._most_items is not None:  # one at a time: its account takes no more
                break
        return sent and not self._session.ending

    async def _meet(self, planned: Planned) -> bool:
        """Learn how the model is asked: from its last batch, or by asking one question directly. A batch that is
        refused for a field would cost a day."""
        known = self._shelf.newest_fit()
        self._met = True
        if known is not None:
            self._desk.chat.start_from(profile_from_json(known))
            return True
        session = self._session
        self._desk.say(f"{self._name}: one question is asked directly, to learn how it wants to be asked.")
        await ask_one(session, planned)
        await self._desk.flush()
        if session.lost:
            raise ModelError(f"{self._name}: {session.last_error}.", "Run the same command again to go on.")
        return False

    def _waiting(self) -> Iterator[tuple[Planned, int]]:
        """Trials that need an answer and are in no batch, with the room they are given more."""
        session = self._session
        out = {(item.trial, item.repeat) for batch in self._shelf.under_way() for item in self._shelf.items(batch)}
        for planned in waiting(self._desk.store.plan_pages(session.run, session.model.subject), session.asked):
            trial = (planned.trial.id, planned.repeat)
            if trial in out:
                continue
            if self._in_vain[trial] < _ROUNDS:
                yield planned, self._more_tokens.get(trial, 0)
            elif all(one.trial.id != planned.trial.id or one.repeat != planned.repeat for one in session.lost):
                session.lost.append(planned)

    def _sheets(self) -> Iterator[_Sheet]:
        """What waits, cut into batches that the provider takes and the budget allows."""
        chat, budget = self._desk.chat, self._desk.budget
        kind = batch_way(chat.profile.wire)
        most = min(kind.most_items, self._most_items or kind.most_items)
        sheet: _Sheet | None = None
        for planned, more_tokens in self._waiting():
            if sheet and (len(sheet.items) >= most or sheet.size > kind.most_bytes):
                yield sheet
                sheet = None
            item = BatchItem(
                len(sheet.items) if sheet else 0,
                planned.benchmark,
                planned.trial.id,
                planned.repeat,
                planned.attempts + 1,
                planned.failed,
                more_tokens,
            )
            request = item_request(self._session, item, planned)
            outgoing = chat.build(request, unstreamed(chat.profile))
            worst = Amount()
            if budget is not None:
                worst = budget.worst(self._session.model.subject, chat, request, batch=True)
                if not budget.try_reserve(worst):
                    if sheet is None and not self._shelf.under_way():
                        self._session.limit = budget.why(worst)
                        self._session.given_up = True
                    break
            if sheet is None:
                sheet = _Sheet(uuid4().hex, [], [], outgoing, 0, Amount())
            line = kind.line(key_of(sheet.id, item.number), outgoing)
            sheet.items.append(item)
            sheet.lines.append(line)
            sheet.size += len(line)
            sheet.worst += worst
        if sheet is not None:
            yield sheet

    async def _send(self, sheet: _Sheet) -> None:
        """Written down first. An unconfirmed one stays written down as perhaps sent, and is looked for."""
        chat = self._desk.chat
        profile = unstreamed(chat.profile)
        kind = batch_way(profile.wire)
        batch = await asyncio.to_thread(self._shelf.make, sheet.id, kind.name, profile_to_json(profile), sheet.items)
        self._reserved[batch.id] = sheet.worst
        try:
            remote = await self._way.understood(kind.send(self._way, batch.id, sheet.lines, sheet.outgoing))
        except Uncertain as error:
            self._desk.say(f"{self._name}: {error.message} It is looked for.")
            return
        except ModelError as error:  # it was refused: the provider does not have it
            await asyncio.to_thread(self._shelf.void, batch, error.message)
            self._settle(batch, Amount())
            raise
        await asyncio.to_thread(self._shelf.sent, batch, remote)
        self._desk.say(f"{self._name}: {many(len(sheet.items), 'question')} sent as batch {remote}.")

    # -- waiting ---------------------------------------------------------------------------------------------------

    async def _take_in_all(self) -> None:
        """Wait for every batch that is out, and take each in as soon as it has ended."""
        pause = self._desk.pace.first
        for batch in self._shelf.under_way():
            if batch.state == "made" and not await self._found(batch):
                return
        while batches := self._shelf.under_way():
            for batch in batches:
                try:
                    look = await self._way.understood(batch_way(batch.fit["wire"]).look(self._way, batch.remote))
                    if look.state == "waiting":
                        self._tell(batch, look)
                        continue
                    await self._end(batch, look)
                    pause = self._desk.pace.first
                except Gone as gone:
                    self._forget(batch, gone)
            if not self._shelf.under_way():
                return
            if await self._stopped(pause):
                self._desk.say(
                    f"{self._name}: the batch goes on at the provider. The same command takes in what came; it is kept "
                    "there for some weeks."
                )
                return
            pause = min(self._desk.pace.longest, 1.5 * pause)

    def _forget(self, batch: StoredBatch, gone: Gone) -> None:
        """Providers keep batches for a month. One that is gone sooner is there under another key or address."""
        if time.time() - batch.made_at < _KEPT:
            raise ModelError(
                f"{self._name}: the provider does not know batch {batch.remote} ({gone.message}).",
                "Use the key and the address that it was sent with; nothing is asked again before that is clear.",
            ) from gone
        self._shelf.void(batch, "the provider no longer has it")
        self._settle(batch, Amount())
        self._desk.say(f"{self._name}: batch {batch.remote} is no longer kept by the provider; it is asked again.")

    async def _found(self, batch: StoredBatch) -> bool:
        """Find out whether a batch that was written down was sent; False when somebody stops before that is known."""
        kind: BatchWay = batch_way(batch.fit["wire"])
        others = frozenset(self._shelf.known_remotes())
        wanted = Wanted(batch.id, batch.items, batch.made_at, others)
        until = time.monotonic() + self._desk.pace.settle
        told = False
        while True:
            found = await self._way.understood(kind.find(self._way, wanted))
            if found.remote:
                self._shelf.sent(batch, found.remote)
                self._desk.say(f"{self._name}: batch {found.remote} was sent before; going on with it.")
                return True
            if found.undecided and not told:
                told = True
                self._desk.say(
                    f"{self._name}: a batch of {many(batch.items, 'request')} is under way that may be this "
                    "run's; that shows "
                    "when it has ended. Waiting, so that nothing is sent twice."
                )
            if not found.undecided and time.monotonic() >= until:
                self._shelf.void(batch, "the provider does not have it")
                self._settle(batch, Amount())
                return True
            if await self._stopped(self._desk.pace.first):
                return False

    async def _stopped(self, seconds: float) -> bool:
        try:
            await asyncio.wait_for(self._session.stop.wait(), seconds)
        except TimeoutError:
            return False
        return True

    def _tell(self, batch: StoredBatch, look: Look) -> None:
        """At once, then when something has changed, and not too often."""
        now = time.monotonic()
        at, done = self._said.get(batch.id, (float("-inf"), -1))
        if look.done != done and now - at >= _SAY:
            self._said[batch.id] = (now, look.done)
            self._desk.say(f"{self._name}: batch {batch.remote}: {look.done} of {look.total or batch.items} done.")

    # -- taking in -------------------------------------------------------------------------------------------------

    async def _end(self, batch: StoredBatch, look: Look) -> None:
        if look.state == "refused":
            self._shelf.void(batch, look.why)
            self._settle(batch, Amount())
            if not look.too_much or batch.items == 1:
                raise ModelError(
                    f"{self._name}: the provider refused the batch ({look.why}).", "Fix that and run it again."
                )
            self._most_items = max(1, batch.items // 2)
            self._desk.say(f"{self._name}: the provider takes no batch as large ({look.why}). Smaller ones follow.")
            return
        session, desk = self._session, self._desk
        results = await self._way.understood(batch_way(batch.fit["wire"]).results(self._way, look))
        items = self._shelf.items(batch)
        why = look.why or "the batch ended without an answer to this"
        made = harvest(session, desk.chat, desk.store, batch, items, results, why)
        new = await asyncio.to_thread(self._shelf.take_in, batch, made.answers)
        if new:
            desk.stored(new)
        took = Amount()
        if desk.budget is not None:
            for request, reply in made.replies:
                took += desk.budget.actual(session.model.subject, request, reply, batch=True)
        self._settle(batch, took)
        for trial, reason in made.failed:
            self._in_vain[trial] += 1
            session.last_error = reason
        self._more_tokens.update(made.more_tokens)
        answered = len(made.replies)
        rest = f"; {batch.items - answered} without an answer" if answered < batch.items else ""
        odd = f"; {made.strangers} results of somebody else passed over" if made.strangers else ""
        desk.say(f"{self._name}: batch {batch.remote} taken in: {many(answered, 'answer')}{rest}{odd}.")
        if made.hopeless is not None:
            raise made.hopeless

    # -- limits ----------------------------------------------------------------------------------------------------

    def _reserve_again(self, batch: StoredBatch) -> None:
        """What an earlier session sent is under way, whatever the limit is now."""
        budget = self._desk.budget
        if budget is None:
            return
        self._desk.chat.start_from(profile_from_json(batch.fit))
        worst = Amount()
        for item, planned in planned_items(self._desk.store, self._shelf.items(batch)):
            request = item_request(self._session, item, planned)
            amount = budget.worst(self._session.model.subject, self._desk.chat, request, batch=True)
            budget.reserve_anyway(amount)
            worst += amount
        self._reserved[batch.id] = worst

    def _settle(self, batch: StoredBatch, took: Amount) -> None:
        if self._desk.budget is not None:
            self._desk.budget.settle(self._reserved.pop(batch.id, Amount()), took, batch.items)


@dataclass(slots=True)
class Harvest:
    """A batch's outcome."""

    answers: list[Answer] = field(default_factory=list)
    replies: list[tuple[ChatRequest, ChatReply]] = field(default_factory=list)
    failed: list[tuple[Trial, str]] = field(default_factory=list)
    """Trials without an answer, and why: they are asked again."""
    more_tokens: dict[Trial, int] = field(default_factory=dict)
    """Trials whose reply was cut off, and what they are given more."""
    strangers: int = 0
    """Results that belong to nobody here."""
    hopeless: ModelError | None = None


def key_of(batch: str, number: int) -> str:
    return f"{batch}-{number}"


def planned_items(store: Store, items: Sequence[BatchItem]) -> Iterator[tuple[BatchItem, Planned]]:
    """Items with their trials, read page by page."""
    for start in range(0, len(items), _PAGE):
        page = items[start : start + _PAGE]
        trials = store.trials([item.trial for item in page])
        for item in page:
            yield (
                item,
                Planned(0, item.benchmark, trials[item.trial], item.repeat, item.attempt - 1, item.failed, done=False),
            )


def item_request(session: Session, item: BatchItem, planned: Planned) -> ChatRequest:
    asking = session.asked[item.benchmark].asking(planned.trial)
    return request_of(
        session, planned, asking, item.attempt, failed=item.failed, more_tokens=item.more_tokens, faults=0
    )


def harvest(
    session: Session,
    chat: HttpChat,
    store: Store,
    batch: StoredBatch,
    items: Sequence[BatchItem],
    results: Sequence[Result],
    why_missing: str,
) -> Harvest:
    """Every item with what came of it. A result that comes twice counts once, the better one; order means nothing."""
    own: dict[str, Incoming | str] = {}
    keys = {key_of(batch.id, item.number) for item in items}
    gathered = Harvest()
    for key, came in results:
        if key not in keys:
            gathered.strangers += 1
        elif key not in own or (_good(came) and not _good(own[key])):
            own[key] = came
    profile = profile_from_json(batch.fit)
    for item, planned in planned_items(store, items):
        outgoing = chat.build(item_request(session, item, planned), profile)
        outgoing = structs.replace(outgoing, sent={**outgoing.sent, "batch": batch.remote})
        _take(session, chat, gathered, item, planned, outgoing, own.get(key_of(batch.id, item.number), why_missing))
    return gathered


def _good(came: Incoming | str) -> bool:
    return isinstance(came, Incoming) and came.status == 200


def _take(
    session: Session,
    chat: HttpChat,
    gathered: Harvest,
    item: BatchItem,
    planned: Planned,
    outgoing: Outgoing,
    came: Incoming | str,
) -> None:
    result = came if isinstance(came, str) else chat.read(outgoing, came)
    match result:
        case ChatReply():
            _reply(session, gathered, item, planned, outgoing.request, result)
            return
        case Adapt():
            try:
                chat.adapt(outgoing, result)
            except TransportError as error:
                _lost(session, gathered, item, planned, outgoing, str(error))
            else:  # costs no attempt: it is asked again in other words
                gathered.failed.append(((item.trial, item.repeat), result.reason))
            return
        case Hopeless():
            reason = result.message
            if result.model:
                gathered.hopeless = gathered.hopeless or ModelError(f"{session.model.spec}: {reason}.", result.hint)
        case TryAgain():
            reason = result.reason
        case str():
            reason = result
    _lost(session, gathered, item, planned, outgoing, reason)


def _reply(
    session: Session, gathered: Harvest, item: BatchItem, planned: Planned, request: ChatRequest, reply: ChatReply
) -> None:
    text, thought = split_reasoning(reply.text)
    reading = reading_of(session.asked[item.benchmark], planned, reply, text, bool(thought))
    answer = answer_of(session, planned, item.attempt, reply, text, thought, reading)
    gathered.answers.append(structs.replace(answer, latency=None))  # nobody waited for it
    gathered.replies.append((request, reply))
    if reply.finish == LENGTH and reading.status != "ok" and not item.more_tokens and request.token_limit is None:
        gathered.more_tokens[item.trial, item.repeat] = tokens_added(reply, request)


def _lost(
    session: Session, gathered: Harvest, item: BatchItem, planned: Planned, outgoing: Outgoing, reason: str
) -> None:
    error = TransportError(reason, sent=outgoing.sent)
    gathered.answers.append(lost_answer(session, planned, item.attempt, error))
    gathered.failed.append(((item.trial, item.repeat), reason))
