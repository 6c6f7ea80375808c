"""A model behind the OpenAI-compatible chat API: one session per endpoint, retries for the transport, nothing else.

What can go wrong is sorted once: worth another try (overload, server faults, broken replies), hopeless for this
request (TransportError), or hopeless for the model (ModelError: wrong key, unknown model, nobody there)."""

import asyncio
import json
import random
import time
from collections.abc import Mapping
from typing import Any

import aiohttp

from eqlab.core.errors import ModelError
from eqlab.models.chat import ChatReply, ChatRequest, TransportError
from eqlab.models.limiter import Limiter
from eqlab.models.providers import Endpoint, shown_url
from eqlab.models.wire import HIDDEN, LONG_KEY, LONGEST_WAIT, TryAgain, error_text, read_reply, retry_after, window_wait

_RETRIES = 6
_RETRIES_UNMET = 2
"""While the server has never answered: whoever mistyped an address should learn it soon."""
_LARGEST_REPLY = 16 * 2**20
_RENAMED = {"max_tokens": "max_completion_tokens"}
_OPTIONAL = ("temperature", "seed", "top_p")


class Line:
    """One address: a session and a limit that all its models share."""

    def __init__(self, concurrency: int, timeout: float = 120.0) -> None:
        self.limiter = Limiter(concurrency)
        self.timeout = aiohttp.ClientTimeout(total=timeout, sock_connect=min(timeout, 15.0))
        self.met = False
        """Whether the server has ever answered anything sensible."""
        self._session: aiohttp.ClientSession | None = None

    @property
    def session(self) -> aiohttp.ClientSession:
        if self._session is None:  # made late: a session belongs to the running event loop
            connector = aiohttp.TCPConnector(limit=0, keepalive_timeout=75)
            self._session = aiohttp.ClientSession(connector=connector, timeout=self.timeout)
        return self._session

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()


class HttpChat:
    def __init__(self, endpoint: Endpoint, line: Line) -> None:
        self._endpoint = endpoint
        self._line = line
        self._limiter = line.limiter
        self._headers = {"Content-Type": "application/json"}
        if endpoint.key:
            self._headers["Authorization"] = f"Bearer {endpoint.key}"
        self._dropped: dict[str, str] = {}
        """Fields that the server refused, with the name it wants instead (or none)."""
        self._random = random.Random()

    @property
    def concurrency(self) -> int:
        return self._limiter.highest

    def identity(self) -> Mapping[str, Any]:
        return {"endpoint": shown_url(self._endpoint.base_url), "model": self._endpoint.model}

    async def close(self) -> None:
        await self._line.close()

    async def ask(self, request: ChatRequest) -> ChatReply:
        retries = 0
        while True:
            await self._limiter.acquire()
            try:
                return await self._post(request, retries)
            except TryAgain as again:
                if again.overload:
                    self._limiter.overloaded(again.wait or 0.0)
                allowed = _RETRIES if self._line.met else _RETRIES_UNMET
                if retries >= allowed and not self._line.met:
                    raise self._nobody_there(again.reason) from again
                if retries >= allowed:
                    raise TransportError(again.reason, retries) from again
                wait = again.wait if again.wait is not None else self._backoff(retries)
                retries += 1
            finally:
                self._limiter.release()
            await asyncio.sleep(wait)

    def _backoff(self, retries: int) -> float:
        """Exponential with full jitter, so that many clients do not return together."""
        return self._random.uniform(0.1, min(LONGEST_WAIT, 0.5 * 2**retries))

    def _nobody_there(self, reason: str) -> ModelError:
        where = shown_url(self._endpoint.base_url)
        return ModelError(f"{where} cannot be reached ({reason}).", "Start the server, or mend --base-url.")

    async def _post(self, request: ChatRequest, retries: int) -> ChatReply:
        body = json.dumps(self._body(request), ensure_ascii=False).encode()
        started = time.perf_counter()
        try:
            async with self._line.session.post(
                f"{self._endpoint.base_url}/chat/completions", data=body, headers=self._headers
            ) as response:
                raw = await response.content.read(_LARGEST_REPLY + 1)
                while len(raw) <= _LARGEST_REPLY and not response.content.at_eof():
                    raw += await response.content.read(_LARGEST_REPLY + 1 - len(raw))
                status, headers = response.status, response.headers
        except TimeoutError:
            raise TryAgain(f"no reply within {self._line.timeout.total:g} s", overload=True) from None
        except (aiohttp.ClientError, OSError) as error:
            raise TryAgain(f"{type(error).__name__}: {error}") from error
        latency = time.perf_counter() - started
        if status != 200:
            self._line.met = self._line.met or status not in (502, 503, 504)
            raise self._refused(status, raw, headers, request)
        if len(raw) > _LARGEST_REPLY:
            raise TransportError(f"the reply is larger than {_LARGEST_REPLY // 2**20} MB", retries)
        key = self._endpoint.key
        if len(key) >= LONG_KEY:  # a server that shows what it was sent
            raw = raw.replace(key.encode(), HIDDEN.encode())
        reply = read_reply(raw, latency, retries)
        self._line.met = True
        self._limiter.went_well()
        exhausted = window_wait(headers)
        if exhausted:
            self._limiter.pause(exhausted)
        return reply

    def _body(self, request: ChatRequest) -> dict[str, Any]:
        messages = [{"role": "system", "content": request.system}] if request.system else []
        earlier = [{"role": said.role, "content": said.text} for said in request.earlier]
        body: dict[str, Any] = {
            "model": self._endpoint.model,
            "messages": [*messages, *earlier, {"role": "user", "content": request.prompt}],
            "temperature": request.temperature,
            "max_tokens": request.max_tokens,
        }
        if request.seed is not None and self._endpoint.takes_seed:
            body["seed"] = request.seed
        if request.schema is not None:
            body["response_format"] = {
                "type": "json_schema",
                "json_schema": {"name": "form", "strict": True, "schema": dict(request.schema)},
            }
        body |= request.settings
        for name, instead in self._dropped.items():
            if name in body:
                value = body.pop(name)
                if instead:
                    body[instead] = value
        return body

    def _refused(self, status: int, raw: bytes, headers: Mapping[str, str], request: ChatRequest) -> Exception:
        """What a reply other than 200 means."""
        said = error_text(raw, self._endpoint.key)
        model, where = self._endpoint.model, shown_url(self._endpoint.base_url)
        if status == 429 or status >= 500:
            if "insufficient_quota" in said:
                return ModelError(f"{where}: the account has no quota left ({said}).", "Mend it and run again.")
            wait = retry_after(headers)
            return TryAgain(f"HTTP {status}: {said}", overload=status in (429, 503, 529), wait=wait)
        if status in (401, 403):
            return ModelError(
                f"{where} refuses the key (HTTP {status}: {said}).", "Check the key's environment variable."
            )
        if status == 404:
            return ModelError(
                f"{where} knows no model '{model}' (HTTP 404: {said}).", "Check the name and the address."
            )
        if status in (400, 422):
            if self._adapt(said, request):
                return TryAgain(f"HTTP {status}: {said}", wait=0.0)
            if request.schema is not None and ("response_format" in said or "json_schema" in said):
                return ModelError(f"{where} does not take a JSON schema ({said}).", "Run without --structured.")
            return TransportError(f"HTTP {status}: {said}")
        return ModelError(f"{where} answers HTTP {status}: {said}.", "Check the address; it should end in /v1.")

    def _adapt(self, said: str, request: ChatRequest) -> bool:
        """Drop or rename a field that the server says it does not take; the user's own settings are left alone."""
        for name in (*_RENAMED, *_OPTIONAL):
            if name in said and name not in self._dropped and name not in request.settings:
                self._dropped[name] = _RENAMED.get(name, "")
                return True
        return False
