"""The contract of a provider's batches, and the way there: how one is sent, found again, looked at, and taken in."""

import asyncio
import json
import time
from collections.abc import Awaitable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from importlib import import_module
from typing import Any, Literal, Protocol, TypeVar

from eqlab.core.errors import ModelError, UsageError
from eqlab.core.runs import ModelConfig
from eqlab.core.values import dataclass
from eqlab.models.open import is_local
from eqlab.models.providers import BATCH_PROVIDERS, LITELLM, locate, shown_url, without_key
from eqlab.models.transport import Transport
from eqlab.models.wire.contract import Endpoint, Hopeless, Incoming, Outgoing, TryAgain, unambiguous
from eqlab.models.wire.failures import read_error

_LARGEST = 2**30
"""Bytes of a batch's results."""
_FIRST_PAUSE, _LONGEST_PAUSE = 1.0, 20.0
_ODD = (AttributeError, LookupError, TypeError, ValueError)
"""What an answer of another shape leads to."""
_WAYS = {
    "openai_chat": "eqlab.models.batch.openai:OpenAiBatches",
    "openai_responses": "eqlab.models.batch.openai:OpenAiBatches",
    "anthropic": "eqlab.models.batch.anthropic:AnthropicBatches",
    "gemini": "eqlab.models.batch.gemini:GeminiBatches",
}
T = TypeVar("T")
Key = str
"""What a request in a batch is called: `<batch's id>-<number>`."""


@dataclass(frozen=True, slots=True)
class Look:
    """A batch as its provider shows it."""

    state: Literal["waiting", "ended", "refused"]
    """`refused`: as a whole, and nothing of it was answered."""
    done: int = 0
    total: int = 0
    why: str = ""
    """Of a refusal."""
    too_much: bool = False
    """Whether a smaller batch may be taken."""
    body: Mapping[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True)
class Wanted:
    """A batch that was perhaps sent: what there is to recognise it by."""

    id: str
    items: int
    made_at: float
    others: frozenset[str] = frozenset()
    """Batches that are known to be others."""


@dataclass(frozen=True, slots=True)
class Found:
    """What came of looking for it. Neither a name nor `undecided`: the provider does not have it."""

    remote: str = ""
    undecided: bool = False
    """There is one that may be it, and that will tell when it has ended."""


Result = tuple[Key, Incoming | str]
"""What came back for one request: a response, or why there is none (expired, cancelled)."""


class BatchWay(Protocol):
    """One provider's batches."""

    name: str
    most_items: int
    most_bytes: int

    def line(self, key: Key, outgoing: Outgoing) -> bytes:
        """A request as it stands in a batch."""
        ...

    async def send(self, way: "Way", batch: str, lines: Sequence[bytes], outgoing: Outgoing) -> str:
        """Hand a batch over; returns the provider's name for it. `outgoing` is any of its requests."""
        ...

    async def find(self, way: "Way", wanted: Wanted) -> Found: ...

    async def look(self, way: "Way", remote: str) -> Look: ...

    async def results(self, way: "Way", look: Look) -> list[Result]:
        """Of a batch that has ended, in whatever order, perhaps some twice, perhaps not all."""
        ...


def takes_batches(model: ModelConfig) -> bool:
    if is_local(model) or (model.spec.startswith(f"{LITELLM}/") and not model.base_url):
        return False
    place = locate(model.spec, model.base_url, dialect=str(model.settings.get("dialect") or ""))
    return place.wire in _WAYS and (place.provider in BATCH_PROVIDERS or (not place.provider and bool(model.base_url)))


def check_batches(models: tuple[ModelConfig, ...]) -> None:
    """Raises UsageError unless every model can be asked by batch."""
    none = [model.spec for model in models if not takes_batches(model)]
    if none:
        raise UsageError(
            f"--batch does not work with {', '.join(none)}.",
            f"Batches are taken by {', '.join(BATCH_PROVIDERS)}; ask other models in a run without --batch.",
        )


def batch_way(wire: str) -> BatchWay:
    """The batches of a wire format; one that was learnt on the way included."""
    if wire not in _WAYS:
        raise UsageError(f"The dialect {wire} has no batches.", "Run without --batch.")
    module, _, kind = _WAYS[wire].partition(":")
    way: BatchWay = getattr(import_module(module), kind)()
    return way


class Uncertain(ModelError):
    """Nobody knows whether a batch was sent: it is looked for before it is sent again."""


class Gone(ModelError):
    """The provider knows nothing of that name."""


class Way:
    """HTTP to one endpoint, with patience. A call that must not be made twice is said to be `once`."""

    def __init__(self, endpoint: Endpoint, transport: Transport) -> None:
        self.endpoint = endpoint
        self._transport = transport

    async def get(self, path: str, headers: Mapping[str, str]) -> Any:
        return self.read(await self.call("GET", path, headers))

    async def make(self, path: str, headers: Mapping[str, str], body: bytes, name: str) -> str:
        """Have a batch made, once; returns what the provider calls it (`name` is the field that says so)."""
        came = await self.call("POST", path, headers, body, once=True)
        try:
            return str(json.loads(came.raw)[name])
        except (ValueError, LookupError, TypeError) as error:
            raise _uncertain(f"a reply without a name: {error}") from error

    def read(self, came: Incoming) -> Any:
        try:
            return json.loads(came.raw)
        except ValueError as error:
            raise self.broken(f"a reply that is not JSON ({error})") from error

    async def call(
        self, method: str, path: str, headers: Mapping[str, str], body: bytes | None = None, *, once: bool = False
    ) -> Incoming:
        """A good response. Raises ModelError for everything else, as soon as waiting makes no sense."""
        url = path if "://" in path else self.endpoint.base_url + path
        deadline = time.monotonic() + self._transport.timeouts.patience
        pause = _FIRST_PAUSE
        while True:
            came = await self._transport.request(method, url, headers, body, largest=_LARGEST)
            if isinstance(came, Incoming) and came.status < 300:
                return came
            reason, again = _classified(came, once)
            if isinstance(came, Incoming) and came.status == 404:
                raise Gone(str(self.broken(reason).message))
            if not again or time.monotonic() > deadline:
                raise self.broken(reason)
            await asyncio.sleep(pause)
            pause = min(_LONGEST_PAUSE, 2 * pause)

    async def understood(self, answer: Awaitable[T]) -> T:
        """What a provider says about a batch; raises ModelError where that is not what it should be."""
        try:
            return await answer
        except _ODD as odd:
            raise self.broken(f"an answer that cannot be read ({type(odd).__name__}: {odd})") from odd

    def broken(self, reason: str) -> ModelError:
        where = shown_url(self.endpoint.base_url)
        said = without_key(reason, self.endpoint.key)
        return ModelError(f"{self.endpoint.model} at {where}: {said}.", "Run the same command again to go on.")


def _uncertain(why: str) -> Uncertain:
    return Uncertain(f"The batch was sent and not confirmed ({why}).", "Run the same command again.")


def _classified(came: Incoming | TryAgain | Hopeless, once: bool) -> tuple[str, bool]:
    """What went wrong, and whether to try again. Raises Uncertain where that could do a thing twice."""
    if isinstance(came, Hopeless):
        return came.message, False
    if isinstance(came, TryAgain):
        if once and not came.gone:  # somebody was there, and may have taken it
            raise _uncertain(came.reason)
        return came.reason, True
    body = read_error(came.raw)
    words = f"HTTP {came.status}: {body.text[:300]}" if body.text else f"HTTP {came.status}"
    if once and came.status >= 500:
        raise _uncertain(words)
    return words, came.status in (408, 409, 425, 429) or came.status >= 500


def read_lines(raw: bytes) -> Iterator[dict[str, Any]]:
    """The objects of a JSONL file; what is no object is passed over, and is asked again."""
    for line in raw.split(b"\n"):
        if not line.strip():
            continue
        try:
            value = unambiguous(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict):
            yield value


def as_raw(body: Any) -> bytes:
    return json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")


def count_of(values: Iterable[Any]) -> int:
    """The sum of counts, some of which are texts (Google's int64)."""
    return sum(int(value) for value in values if isinstance(value, int) or (isinstance(value, str) and value.isdigit()))
