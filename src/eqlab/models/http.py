"""A model behind an API: asked in its dialect, adapted to without loss, waited for.

What can go wrong is sorted by the wire formats: worth another try (overload, outages, server faults), hopeless for this
request (TransportError), or hopeless for the model (ModelError: wrong key, unknown model, nobody there)."""

import asyncio
import ipaddress
import json
import random
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import reduce
from typing import Any, Protocol
from urllib.parse import urlsplit

import orjson
from msgspec import structs

from eqlab.core.errors import ModelError
from eqlab.core.plural import many
from eqlab.models.chat import LENGTH, Bill, ChatReply, ChatRequest, LimitReached, TransportError, Unasked
from eqlab.models.providers import reply_without_key, shown_url, without_key
from eqlab.models.reply_identity import Order
from eqlab.models.transport import Transport
from eqlab.models.wire.contract import (
    Adapt,
    Adaptation,
    Endpoint,
    Hopeless,
    Incoming,
    Outgoing,
    ReplyOrFailure,
    RequestProfile,
    TryAgain,
    adapted,
    believed,
    token_limit,
    wire,
)
from eqlab.models.wire.failures import LONGEST_WAIT, had_begun, window_wait

_RETRIES_UNMET = 2
"""While the server has never answered: whoever mistyped an address should learn it soon."""
_REPEATED = 2
"""Repeats of a request that timed out: it was probably billed."""
_LONGEST_BACKOFF = 15.0
_MOST_CHANGES = 24
_LONGEST_ALONE = 15.0
"""Seconds that a model is left alone, whatever it asks for, while people wait for its replies: then one asks again."""
_TOLD = 30.0
"""Seconds of a pause from which on the user is told."""
_ALONE_NEAR, _ALONE_FAR = 0.1, 2.0
"""Seconds that a model's first request has for itself, by where the server is: long enough to be refused."""
_OPENED = 1.0
"""Seconds more in which a connection for another may be opened: one that is nearly there would be opened anew."""
_LONGER = 1.3
"""Times what replies have taken lately: one that may still come in time."""


class Post(Protocol):
    """What carries a request: HTTP, or a library in this process."""

    async def __call__(self, outgoing: Outgoing) -> Incoming | TryAgain | Hopeless: ...


class HttpChat:
    def __init__(
        self,
        endpoint: Endpoint,
        transport: Transport,
        say: Callable[[str], None] = lambda _: None,
        post: Post | None = None,
    ) -> None:
        self._endpoint = endpoint
        self._transport = transport
        self._limiter = transport.limiter
        self._pace = transport.paces[endpoint.model]
        self._say = say
        self._post: Post = post or self._over_http
        self._connects = post is None
        self._wire = wire(endpoint.wire)
        self._profile = RequestProfile(endpoint.wire, thinks=self._wire.thinks, streams=True)
        """Streamed until it is known to be quick, so that silence is told from slowness."""
        self._streams_first = not endpoint.streams
        if self._streams_first and post is None:
            transport.silences.probe = self._is_there
            transport.silences.slow = self._say_slow
        self._said_slow = False
        self._cut = 0
        """Requests under way that a session's end cut off."""
        self._learnt: list[str] = []
        self._scouted: asyncio.Event | None = None
        """Set when the first request has its reply, or has had its time."""
        self._settled = False
        self._answered = False
        self._hopeless: ModelError | None = None
        self._schema_worked = False
        self._warned = self._disbelieved = False
        self._doubted = 0
        """How many answers the user knows to be doubtful."""
        self._hurried = asyncio.Event()
        self._random = random.Random()

    @property
    def concurrency(self) -> int:
        return self._limiter.at_once.highest

    def identity(self) -> Mapping[str, Any]:
        return {
            "endpoint": shown_url(self._endpoint.base_url),
            "model": self._endpoint.model,
            "dialect": self._endpoint.wire,
        }

    def learnt(self) -> Sequence[str]:
        self._transport.pool.look()
        self._warn()
        suspects = self._transport.pool.replies.suspects
        if suspects > self._doubted:
            self._doubted = suspects
            doubt = f"before that was noticed, {many(suspects, 'answer')} may have been such replies"
            self._learnt.append(doubt)
            self._say(f"{self._named}: {doubt}. Ask them again with --fresh.")
        if self._cut:
            cut, self._cut = self._cut, 0
            self._learnt.append(
                f"{many(cut, 'request under way was', 'requests under way were')} cut off when the session "
                "ended; they may "
                "be billed"
            )
            self._say(f"{self._named}: {self._learnt[-1]}.")
        return tuple(self._learnt)

    async def close(self) -> None:
        await self._transport.close()

    # -- for batches, which go another way to the same model -------------------------------------------------------

    @property
    def endpoint(self) -> Endpoint:
        return self._endpoint

    @property
    def transport(self) -> Transport:
        return self._transport

    @property
    def profile(self) -> RequestProfile:
        """What is known of the model so far."""
        return self._profile

    def start_from(self, profile: RequestProfile) -> None:
        """What an earlier session knew of the model."""
        self._profile, self._settled = profile, True
        self._wire = wire(profile.wire)

    def adapt(self, outgoing: Outgoing, adapt: Adapt) -> None:
        """Raises TransportError where the server refuses what it asked for."""
        self._adapt(outgoing, replace(adapt, model=True), _Tries(0, Bill()))  # none is sent again by itself

    def build(self, request: ChatRequest, profile: RequestProfile) -> Outgoing:
        return wire(profile.wire).build(self._endpoint, request, profile)

    def read(self, outgoing: Outgoing, came: Incoming) -> ReplyOrFailure:
        result: ReplyOrFailure = self._wire_of(outgoing).read(outgoing, came)
        if type(result) is ChatReply:
            return self._took(outgoing.request, result, came, 0)
        return result

    # -- limits -----------------------------------------------------------------------------------------------------

    def most_tokens(self, request: ChatRequest, thinks: bool = True) -> int:
        """Until a reply has come, a model may turn out to think."""
        return token_limit(
            request, self._profile if self._settled or not thinks else replace(self._profile, thinks=True)
        )

    async def ask(self, request: ChatRequest) -> ChatReply:
        """Raises TransportError for one lost request, ModelError when the model cannot be asked at all."""
        if self._settled:
            return await self._ask(request)
        if self._scouted is None:
            self._scouted = asyncio.Event()
            seconds = _alone(self._endpoint.base_url)
            time_over = asyncio.get_running_loop().call_later(seconds, self._scouted.set)
            try:
                return await self._ask(request)
            finally:
                self._settled = True
                time_over.cancel()
                self._scouted.set()
        if not self._scouted.is_set():
            await self._wait_and_connect(request, self._scouted)
        return await self._ask(request)

    async def _wait_and_connect(self, request: ChatRequest, scouted: asyncio.Event) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(_OPENED + _alone(self._endpoint.base_url)):
                await self._connect_ahead(request)
        await scouted.wait()

    async def _connect_ahead(self, request: ChatRequest) -> None:
        if self._connects:
            outgoing = self._wire.build(self._endpoint, request, self._profile)
            await self._transport.connect_ahead(self._endpoint.base_url + outgoing.path, outgoing.headers)

    async def _ask(self, request: ChatRequest) -> ChatReply:
        bill = request.bill or Bill()
        reply = await self._ask_until_answered(structs.replace(request, bill=bill), _Tries(request.faults, bill))
        lost = bill.usage()
        return structs.replace(reply, usage={**reply.usage, **lost}) if lost else reply

    async def _ask_until_answered(self, request: ChatRequest, tries: "_Tries") -> ChatReply:
        late = time.monotonic() + max(request.within / 4, request.within - _LONGER * self._pace.at_once.usual)
        while True:
            if self._hopeless is not None and not request.stands_alone:
                raise self._hopeless
            await self._announce(request, tries)
            waits = bool(tries.retries)
            if (started := self._pace.take()) is None:
                waits = True
                try:
                    started = await self._pace.acquire(self._nap, late)
                except TimeoutError:
                    raise TransportError("its turn came too late for a reply in time", tries.retries) from None
            try:
                if self._limiter.take() is None:
                    waits = True
                    await self._limiter.acquire(self._nap)
                try:
                    if waits and request.wanted is not None and not await request.wanted():
                        raise TransportError("nobody waits for the reply any more", tries.retries)
                    outgoing, wait = self._built(request, tries), 0.0
                    if fits := _room(outgoing) <= tries.bill.room:
                        came, result = await self._send(outgoing, tries)
                        self._note_met(came)
                        if type(result) is not ChatReply:
                            wait = self._after_failure(outgoing, result, started, tries)
                        elif tries.bare:
                            message = f"{self._named} fails on a JSON schema ({tries.blamed})."
                            raise self._end(outgoing, message, "Run without --structured.")
                        else:
                            return self._took(request, result, came, tries.retries)
                finally:
                    self._limiter.release()
            finally:
                self._pace.release()
            if not fits:  # whoever pays may have to wait for others, who need their turn
                await self._make_room(outgoing, tries)
            if wait:
                await self._nap(wait)

    async def _announce(self, request: ChatRequest, tries: "_Tries") -> None:
        """That the question is sent once more, where it was sent before."""
        sent, tries.sent = tries.sent, None
        if sent is None or request.again is None:
            return
        try:
            await request.again()
        except LimitReached as reached:  # lost, for what was sent
            raise TransportError(str(reached), tries.retries, sent) from None

    async def _make_room(self, outgoing: Outgoing, tries: "_Tries") -> None:
        request, tries.bill.room = outgoing.request, _room(outgoing)
        if request.more_room is None:
            return
        try:
            await request.more_room(_room(outgoing))
        except LimitReached as reached:
            if not tries.bill.usage():
                raise
            raise TransportError(str(reached), tries.retries, tries.bill.sent) from None

    async def _send(self, outgoing: Outgoing, tries: "_Tries") -> tuple[Any, ReplyOrFailure]:
        """What came, and what it means."""
        tries.bill.sent = outgoing.sent
        if not self._connects:
            tries.bill.sends()
        try:
            came = await self._post(outgoing)
        except asyncio.CancelledError:
            self._cut += 1
            raise
        result = self._wire_of(outgoing).read(outgoing, came) if isinstance(came, Incoming) else came
        if isinstance(result, ChatReply):
            tries.bill.ended(billed=False)
            return came, result
        if isinstance(came, Incoming) and had_begun(came):
            result = replace(result, billed=True)
        tokens = result.tokens
        if tokens is not None:
            told = ChatReply("", tokens_in=tokens[0], tokens_out=tokens[1], sent=outgoing.sent)
            tokens = tokens if believed(told, outgoing.request) is told else None
        refused = isinstance(result, TryAgain) and result.rate and not (result.billed or result.cost) and tokens is None
        if tries.bill.under_way and not refused:
            tries.sent = outgoing.sent
        tries.bill.ended(result.billed, tokens, result.cost)
        return came, result

    def _built(self, request: ChatRequest, tries: "_Tries") -> Outgoing:
        tries.bare = tries.bare and not self._schema_worked  # another question's reply may have told meanwhile
        if tries.bare:
            request = structs.replace(request, schema=None)
        if not tries.own:
            return self._wire.build(self._endpoint, request, self._profile)
        profile = reduce(adapted, tries.own, self._profile)
        return wire(profile.wire).build(self._endpoint, request, profile)

    def hurry(self) -> None:
        self._hurried.set()

    async def _nap(self, seconds: float) -> None:
        """Sleep, unless the session ends: nobody wants to wait for an outage to pass after Ctrl-C."""
        try:
            await asyncio.wait_for(self._hurried.wait(), seconds)
        except TimeoutError:
            return
        raise Unasked("the session ended while the question waited")

    # -- failures ----------------------------------------------------------------------------------------------

    def _after_failure(self, outgoing: Outgoing, result: ReplyOrFailure, started: float, tries: "_Tries") -> float:
        """Seconds to wait before the same question is sent again; raises when it is not."""
        tries.bare = False
        match result:
            case Adapt():
                self._adapt(outgoing, result, tries)
                return 0.0
            case Hopeless() if result.gateway and self._answered:
                return self._again(outgoing, TryAgain(result.message, gone=True), started, tries)
            case Hopeless():
                message = without_key(result.message, self._endpoint.key)
                if not result.model:
                    raise TransportError(message, tries.retries, outgoing.sent)
                raise self._end(outgoing, f"{self._named}: {message}.", result.hint)
            case TryAgain(unasked=True):
                return 0.0
            case TryAgain():
                return self._again(outgoing, result, started, tries)
        raise TypeError(f"{type(result).__name__} is neither a reply nor a failure")

    def _adapt(self, outgoing: Outgoing, adapt: Adapt, tries: "_Tries") -> None:
        """Learn what the server refuses, of the model or for this question alone; a request that was under way when it
        was learnt is only sent again."""
        reason = without_key(adapt.reason, self._endpoint.key)[:300]
        known = reduce(adapted, tries.own, self._profile)
        news = adapted(known, adapt.change) != known
        tries.changes += 1
        if (not news and outgoing.profile == known) or tries.changes > _MOST_CHANGES:
            raise TransportError(f"the server refuses what it asked for: {reason}", tries.retries, outgoing.sent)
        if news and (not adapt.model or (outgoing.request.stands_alone and self._answered)):
            tries.own.append(adapt.change)
        elif news:
            self._learn(adapt.change, adapted(self._profile, adapt.change), reason)

    def _learn(self, change: Adaptation, now: RequestProfile, why: str = "") -> None:
        self._profile = now
        if change.kind == "wire":
            self._wire = wire(change.value)
            self._profile = replace(now, thinks=now.thinks or self._wire.thinks)
        self._learnt.append(f"{change} (the server said: {why})" if why else str(change))
        if why or change.kind != "streams":
            self._say(f"{self._endpoint.model}: {self._learnt[-1]}")

    def _again(self, outgoing: Outgoing, again: TryAgain, started: float, tries: "_Tries") -> float:
        reason = without_key(again.reason, self._endpoint.key)
        wait = again.wait
        if wait is not None and wait > LONGEST_WAIT and not outgoing.request.stands_alone:
            self._say(f"{self._named} asks to wait {wait:.0f} s; waiting {LONGEST_WAIT:.0f} s.")
        if wait is not None:
            wait = min(wait, _longest(outgoing.request))
        if again.rate:
            self._pace.refused(started, wait)
        elif again.overload:
            self._pace.overloaded(wait or 0.0, timed_out=again.timed_out)
        if again.timed_out:
            self._slow(outgoing)
        given_up = again.timed_out or (again.gone and again.billed and outgoing.request.stands_alone)
        if given_up and tries.given_up >= _REPEATED:
            raise TransportError(reason, tries.retries, outgoing.sent)
        if not self._transport.met and tries.retries >= _RETRIES_UNMET:
            where = shown_url(self._endpoint.base_url)
            if again.gone or again.timed_out:
                hint = "Start the server, or check the network and --base-url."
                raise self._end(outgoing, f"{where} cannot be reached ({reason}).", hint)
            hint = "Check that a model is at this address (--base-url)."
            raise self._end(outgoing, f"{where} gives no complete reply ({reason}).", hint)
        if again.rate or again.gone:
            self._be_patient(outgoing, reason)
        elif not again.timed_out:
            if tries.faults <= 0:
                raise TransportError(reason, tries.retries, outgoing.sent)
            tries.faults -= 1
            self._blame_schema(outgoing, again, reason, tries)
        tries.given_up += given_up
        tries.retries += 1
        if again.rate or tries.bare:
            return 0.0  # the limiter holds everybody back; without its schema it is another question
        return self._backoff(tries.retries - 1) if wait is None else wait

    def _be_patient(self, outgoing: Outgoing, reason: str) -> None:
        """An outage, or a rate: waited for as long as patience lasts since it began and nobody had a good reply."""
        now = time.monotonic()
        self._transport.bad_since = now if self._transport.bad_since is None else self._transport.bad_since
        silent = now - self._transport.bad_since
        patience = self._transport.timeouts.patience
        if silent > patience:
            message = f"{self._named} has not answered for {silent:.0f} s (last: {reason})."
            raise self._end(outgoing, message, "Run the same command again to go on; --patience waits longer.")
        if silent > 5 and not self._transport.told:
            self._transport.told = True
            self._say(f"{self._named}: {reason}. Waiting for it, up to {patience:.0f} s (--patience).")

    def _slow(self, outgoing: Outgoing) -> None:
        """A reply that did not come in time is streamed from now on, so that silence is told from slowness."""
        change = Adaptation("streams")
        now = adapted(self._profile, change)
        if now != self._profile and not outgoing.profile.streams:
            self._learn(change, now, "nothing in time")

    def _blame_schema(self, outgoing: Outgoing, again: TryAgain, reason: str, tries: "_Tries") -> None:
        """Some servers answer 500 to a schema (llama.cpp's Python server): the question without it, once, tells."""
        if again.status != 500 or outgoing.request.schema is None or self._schema_worked or tries.blamed:
            return
        tries.bare, tries.blamed = True, reason

    def _end(self, outgoing: Outgoing, message: str, hint: str) -> ModelError:
        """The end of the model, for all who ask it; or of one question that stands alone."""
        if outgoing.request.stands_alone:
            return ModelError(message, hint)
        self._hopeless = self._hopeless or ModelError(message, hint)
        return self._hopeless

    @property
    def _named(self) -> str:
        return f"{self._endpoint.model} at {shown_url(self._endpoint.base_url)}"

    def _backoff(self, retries: int) -> float:
        """Exponential with full jitter, so that many clients do not return together."""
        return self._random.uniform(0.1, min(_LONGEST_BACKOFF, 0.5 * 2 ** min(retries, 10)))

    # -- the way there and back --------------------------------------------------------------------------------

    async def _over_http(self, outgoing: Outgoing) -> Incoming | TryAgain | Hopeless:
        try:
            body = orjson.dumps(outgoing.body) if not outgoing.request.extra else _as_json(outgoing.body)
        except TypeError:  # half a letter, which it refuses
            body = _as_json(outgoing.body)
        url, question = self._endpoint.base_url + outgoing.path, outgoing.request.messages
        sends = outgoing.request.bill.sends if outgoing.request.bill else lambda: None
        return await self._transport.request("POST", url, outgoing.headers, body, question=question, sends=sends)

    async def _is_there(self) -> bool:
        headers = {"Authorization": f"Bearer {self._endpoint.key}"} if self._endpoint.key else {}
        return await self._transport.is_there(
            f"{self._endpoint.base_url}/models", {**self._endpoint.headers, **headers}
        )

    def _say_slow(self) -> None:
        if not self._said_slow:
            self._said_slow = True
            whole = self._transport.timeouts.whole
            self._say(f"{self._named}: slow, but there. Waiting for its replies, up to {whole:.0f} s each (--timeout).")

    def _wire_of(self, outgoing: Outgoing) -> Any:
        """The dialect that a request was sent in; another may have been learnt since."""
        return self._wire if outgoing.profile.wire == self._profile.wire else wire(outgoing.profile.wire)

    def _note_met(self, came: Incoming | TryAgain | Hopeless) -> None:
        if isinstance(came, Incoming):
            self._transport.met = True

    def _took(self, request: ChatRequest, reply: ChatReply, came: Any, retries: int) -> ChatReply:
        transport = self._transport
        first, self._answered = not self._answered, True
        transport.bad_since = None
        transport.told = False
        self._pace.went_well(transport.timeouts.patience, reply.latency)
        self._warn()
        if self._streams_first and reply.latency < transport.timeouts.silence / 4:
            self._streams_first = False
            self._profile = replace(self._profile, streams=self._profile.thinks)
        reply = self._counted(request, reply)
        exhausted = min(window_wait(came.headers), _longest(request))
        if exhausted:
            self._pace.pause(exhausted)
        if exhausted > _TOLD:
            self._say(f"{self._named}: its allowance is used up; waiting {exhausted:.0f} s for the next, as it says.")
        if request.schema is not None and reply.finish != LENGTH and not reply.refusal:
            self._check_schema(reply)
        if not self._profile.thinks and (
            reply.reasoning
            or "reasoning_tokens" in reply.usage
            or ((first or not request.stands_alone) and reply.text.lstrip().startswith("<think"))
        ):
            change = Adaptation("thinks")
            self._learn(change, adapted(self._profile, change))
        key = self._endpoint.key
        text, reasoning = reply_without_key(reply.text, key), reply_without_key(reply.reasoning, key)
        if retries or text is not reply.text or reasoning is not reply.reasoning:
            return structs.replace(reply, text=text, reasoning=reasoning, transport_retries=retries)
        return reply

    def _counted(self, request: ChatRequest, reply: ChatReply) -> ChatReply:
        """A server that reports what cannot be is said to, once."""
        chat_reply = believed(reply, request)
        if chat_reply is not reply and not self._disbelieved:
            self._disbelieved = True
            reported = f"{reply.tokens_in} in, {reply.tokens_out} out, for a reply of {len(reply.text):,} characters"
            self._learnt.append(f"it reports token counts that cannot be ({reported}): taken as unknown")
            self._say(f"{self._named}: {self._learnt[-1]}, and estimated from the texts for limits.")
        return chat_reply

    def _warn(self) -> None:
        if self._transport.pool.replies.order is not Order.KEPT and not self._warned:
            self._warned = True
            self._learnt.append("it sends replies that nobody asked for; they were thrown away")
            self._say(f"{self._named}: {self._learnt[-1]}. From now on every question has a connection of its own.")

    def _check_schema(self, reply: ChatReply) -> None:
        """A server that ignores a schema does so without a word: we do not."""
        if self._schema_worked:
            return
        self._schema_worked = True
        if "{" not in reply.text:
            said = "takes a schema without a word and does not follow it: its answers are free text, read as JSON"
            self._learnt.append(said)
            self._say(f"{self._named} {said}.")


class _Tries:
    """What one question has cost so far."""

    __slots__ = ("bare", "bill", "blamed", "changes", "faults", "given_up", "own", "retries", "sent")

    def __init__(self, faults: int, bill: Bill) -> None:
        self.faults, self.bill = faults, bill
        self.retries = self.given_up = self.changes = 0
        self.bare = False
        """Whether it is sent without its schema now."""
        self.blamed = ""
        """Why that was tried; empty: it was not."""
        self.sent: Mapping[str, Any] | None = None
        """What was sent last, if it was, and not refused for its rate."""
        self.own: list[Adaptation] = []
        """What the server wants otherwise for this question alone."""


def _room(outgoing: Outgoing) -> int:
    return int(outgoing.sent.get("room") or 0)


def _longest(request: ChatRequest) -> float:
    return _LONGEST_ALONE if request.stands_alone else LONGEST_WAIT


def _as_json(body: Mapping[str, Any]) -> bytes:
    return json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")


def _alone(base_url: str) -> float:
    host = urlsplit(base_url).hostname or ""
    try:
        near = ipaddress.ip_address(host).is_loopback
    except ValueError:
        near = host == "localhost"
    return _ALONE_NEAR if near else _ALONE_FAR
