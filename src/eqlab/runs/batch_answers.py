"""What comes back from a batch, read as every answer is: by the wire format it was asked in, and by its benchmark."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from eqlab.core.answers import Answer
from eqlab.core.errors import ModelError
from eqlab.models.batch.contract import Result
from eqlab.models.chat import LENGTH, ChatReply, ChatRequest, TransportError, split_reasoning
from eqlab.models.http import HttpChat
from eqlab.models.runner import Session, answer_of, lost_answer, reading_of, request_of, tokens_added
from eqlab.models.wire.contract import Adapt, Hopeless, Incoming, Outgoing, TryAgain, profile_from_json
from eqlab.store.batches import BatchItem, StoredBatch
from eqlab.store.store import Planned, Store

_PAGE = 500
Trial = tuple[str, int]
"""A planned trial by its id and repeat."""


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
    asked = session.asked[item.benchmark]
    asking = asked.benchmark.asking(planned.trial, asked.options)
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
        outgoing = replace(outgoing, sent={**outgoing.sent, "batch": batch.remote})
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
    gathered.answers.append(replace(answer, latency=None))  # nobody waited for it
    gathered.replies.append((request, reply))
    if reply.finish == LENGTH and reading.status != "ok" and not item.more_tokens and request.token_limit is None:
        gathered.more_tokens[item.trial, item.repeat] = tokens_added(reply, request)


def _lost(
    session: Session, gathered: Harvest, item: BatchItem, planned: Planned, outgoing: Outgoing, reason: str
) -> None:
    error = TransportError(reason, sent=outgoing.sent)
    gathered.answers.append(lost_answer(session, planned, item.attempt, error))
    gathered.failed.append(((item.trial, item.repeat), reason))
