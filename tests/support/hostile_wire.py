"""A server that is hostile below JSON: HTTP's own oddities, packing that lies, sockets that close, words out of turn.

It speaks bytes, not a framework's idea of HTTP. `ODD` are whole replies that are read at once, as they were meant;
`TORN` are none, and are asked again; what comes out of turn is nobody's answer."""

import asyncio
import gzip
import json
import re
import zlib
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from fault_server import completion
from in_thread import in_thread, some_turns
from server import answer_to


@dataclass(frozen=True, slots=True)
class Call:
    """One request on a connection, as a behaviour sees it."""

    writer: asyncio.StreamWriter
    good: bytes
    """The body that a healthy server would send."""
    number: int
    seen: int
    """How often this prompt was asked, this time included."""
    on_line: int
    """Requests on this connection, this one included."""
    lines: int
    """Connections that are open."""


Behaviour = Callable[[Call], Awaitable[None]]


def http(body: bytes, *headers: str, status: str = "200 OK") -> bytes:
    head = [f"HTTP/1.1 {status}", "Content-Type: application/json", f"Content-Length: {len(body)}", *headers]
    return "\r\n".join([*head, "", ""]).encode("latin-1") + body


@dataclass
class WireServer:
    behave: Behaviour
    url: str = ""
    requests: int = 0
    good: int = 0
    """Unknown here: what a reply in bytes is worth, its reader decides."""
    lines: int = 0
    opened: int = 0
    seen: Counter[str] = field(default_factory=Counter)
    text: Callable[[str], str] = answer_to
    """What a prompt is answered with."""
    name: Callable[[int], str] = "chatcmpl-{}".format
    """The id of a reply, by its request's number."""

    def heal(self) -> None:
        self.behave = well

    async def line(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.lines += 1
        self.opened += 1
        on_line = 0
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
                length = int(head.split("content-length:")[1].split("\r\n")[0])
                body = json.loads(await reader.readexactly(length))
                prompt = body["messages"][-1]["content"]
                self.requests += 1
                self.seen[prompt] += 1
                on_line += 1
                reply = {"id": self.name(self.requests)} | completion(prompt, body["model"], self.text(prompt))
                good = json.dumps(reply).encode()
                await self.behave(Call(writer, good, self.requests, self.seen[prompt], on_line, self.lines))
                await writer.drain()
        except (asyncio.IncompleteReadError, asyncio.CancelledError, ConnectionError):
            pass
        finally:
            self.lines -= 1
            with suppress(ConnectionError):
                writer.close()


@contextmanager
def serving(behave: Behaviour, **more: Any) -> Iterator[WireServer]:
    server = WireServer(behave, **more)

    @asynccontextmanager
    async def listening() -> AsyncIterator[int]:
        opened = await asyncio.start_server(server.line, "127.0.0.1", 0)
        (listens,) = opened.sockets
        yield int(listens.getsockname()[1])
        asyncio.get_running_loop().remove_reader(listens.fileno())
        await some_turns()  # nobody new is let in, and whoever was reaches `line`, which closes the connection
        opened.close()  # who is still on the line is cancelled

    with in_thread(listening) as port:
        server.url = f"http://127.0.0.1:{port}/v1"
        yield server


async def well(call: Call) -> None:
    call.writer.write(http(call.good))


def sending(make: Callable[[bytes], bytes]) -> Behaviour:
    async def behave(call: Call) -> None:
        call.writer.write(make(call.good))

    return behave


def once(behaviour: Behaviour) -> Behaviour:
    """On the first sight of each prompt."""

    async def behave(call: Call) -> None:
        await (behaviour if call.seen == 1 else well)(call)

    return behave


def _chunks(body: bytes, size: int, *headers: str) -> bytes:
    head = "\r\n".join(["HTTP/1.1 200 OK", "Transfer-Encoding: chunked", *headers, "", ""]).encode()
    pieces = [body[at : at + size] for at in range(0, len(body), size)]
    return head + b"".join(b"%x;note=x\r\n%s\r\n" % (len(one), one) for one in pieces) + b"0\r\nX-After: yes\r\n\r\n"


def _stream(good: bytes) -> bytes:
    """Events with an odd character inside, which chunks of three bytes cut in the middle of it and of `data:`."""
    whole = json.loads(good)
    text = whole["choices"][0]["message"]["content"]
    pieces: list[dict[str, Any]] = [{"choices": [{"delta": {"content": part}}]} for part in ("é 🙂 \n", text)]
    pieces.append({"choices": [{"delta": {}, "finish_reason": "stop"}], "model": whole["model"]})
    events = "".join(f"event: x\r\nid: 1\r\ndata: {json.dumps(one, ensure_ascii=False)}\r\n\r\n" for one in pieces)
    return f": keep-alive\r\n\r\n{events}".encode()


async def _byte_by_byte(call: Call) -> None:
    """A reply that trickles, headers and all, and ends in time."""
    for byte in http(call.good):
        call.writer.write(bytes([byte]))
        await asyncio.sleep(0.0005)


async def hangs_up_unsaid(call: Call) -> None:
    """The connection is closed after each reply, which did not say so: the next request meets a closed one."""
    call.writer.write(http(call.good))
    await call.writer.drain()
    asyncio.get_running_loop().call_later(0.002, call.writer.close)


HINTS = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>; rel=preload\r\n\r\n"
ODD: dict[str, Behaviour] = {
    "100 and 103 before the reply": sending(lambda good: HINTS + http(good)),
    "400 headers, one of 20 kB": sending(
        lambda good: http(good, *(f"X-Trace-{n}: {n}" for n in range(400)), "Content-Security-Policy: " + "x" * 20_000)
    ),
    "no reason, headers in capitals": sending(
        lambda good: http(good, status="200").replace(b"Content-Length", b"CONTENT-LENGTH")
    ),
    "chunks of 3 bytes with notes and a trailer": sending(lambda good: _chunks(good, 3)),
    "a stream cut inside its characters": sending(
        lambda good: _chunks(_stream(good), 3, "Content-Type: text/event-stream")
    ),
    "byte by byte": _byte_by_byte,
    "packed as deflate, without its head": sending(
        lambda good: http(zlib.compress(good)[2:-4], "Content-Encoding: deflate")
    ),
    "packed in two members": sending(
        lambda good: http(gzip.compress(good[:40]) + gzip.compress(good[40:]), "Content-Encoding: gzip")
    ),
    "HTTP/1.0": sending(lambda good: http(good).replace(b"HTTP/1.1", b"HTTP/1.0")),
}


def _closing(make: Callable[[bytes], bytes]) -> Behaviour:
    async def behave(call: Call) -> None:
        call.writer.write(make(call.good))
        await call.writer.drain()
        call.writer.close()

    return behave


async def _reset(call: Call) -> None:
    call.writer.transport.abort()


def says_less(cut: int, rest_after: float | None = 0.0, every: int = 1) -> Behaviour:
    """A body that is longer than its length says: the rest lies on the connection at once, a while later, or (None)
    before the next reply there. `every` so many requests."""
    left: dict[asyncio.StreamWriter, bytes] = {}

    async def behave(call: Call) -> None:
        rest = left.pop(call.writer, b"")
        if call.number % every:
            call.writer.write(rest + http(call.good))
            return
        whole = http(call.good).replace(b"Length: %d" % len(call.good), b"Length: %d" % (len(call.good) - cut))
        if rest_after == 0.0:
            call.writer.write(rest + whole)
            return
        call.writer.write(rest + whole[:-cut])
        if rest_after is None:
            left[call.writer] = whole[-cut:]
        else:
            asyncio.get_running_loop().call_later(rest_after, if_open, call.writer, whole[-cut:])

    return behave


def _counted_in_characters(good: bytes) -> bytes:
    """As languages do whose strings know no bytes."""
    body = json.dumps(json.loads(good) | {"by": "Müller & Söhne"}, ensure_ascii=False)
    whole = body.encode()
    return http(whole).replace(b"Length: %d" % len(whole), b"Length: %d" % len(body))


TORN: dict[str, Behaviour] = {
    "packed and cut": sending(lambda good: http(gzip.compress(good)[:-12], "Content-Encoding: gzip")),
    "packed as br": sending(lambda good: http(good, "Content-Encoding: br")),
    "packed, and it does not say so": sending(lambda good: http(gzip.compress(good))),
    "shorter than it says": _closing(lambda good: http(good + b" " * 500)[:-500][:-1]),
    "longer than it says": says_less(60),
    "longer than it says, the rest 20 ms later": says_less(60, 0.02),
    "its length counted in characters": sending(_counted_in_characters),
    "a control byte in a header": sending(lambda good: http(good, "X-Odd: a\x01b\x00")),
    "not HTTP": _closing(lambda good: b"SSH-2.0-OpenSSH_9.6\r\n"),
    "reset before a word": _reset,
}


def mixed(most: int = 2) -> Behaviour:
    """Up to `most` torn replies a prompt, one after the other, then an odd one."""
    odd, torn = list(ODD.values()), list(TORN.values())

    async def behave(call: Call) -> None:
        kind = sum(call.good)  # each prompt has its own fate
        if call.seen <= kind % (most + 1):
            await torn[(kind + call.seen) % len(torn)](call)
        else:
            await odd[kind % len(odd)](call)

    return behave


# -- out of turn ---------------------------------------------------------------------------------------------------


async def every_reply_twice(call: Call) -> None:
    """The second comes when nobody waits for it, on a connection that the next question will use."""
    call.writer.write(http(call.good))
    await call.writer.drain()
    await asyncio.sleep(0.01)
    call.writer.write(http(call.good))


def twice(delay: float, second: Callable[[bytes], bytes] = bytes, thinks: float = 0.0) -> Behaviour:
    """Another reply follows each so many seconds later, whatever was asked meanwhile: the same, or what a gateway's own
    second attempt brought."""

    async def behave(call: Call) -> None:
        await asyncio.sleep(thinks)
        call.writer.write(http(call.good))
        if not delay:
            call.writer.write(http(second(call.good)))
            return
        asyncio.get_running_loop().call_later(delay, if_open, call.writer, http(second(call.good)))

    return behave


def if_open(writer: asyncio.StreamWriter, data: bytes) -> None:
    if not writer.is_closing():
        writer.write(data)


def second_when_asked_again(pause: Callable[[], Awaitable[None]]) -> Behaviour:
    """The worst of all: another reply to a question is kept until the next one is asked, whose own follows after the
    pause."""
    kept: dict[asyncio.StreamWriter, bytes] = {}

    async def behave(call: Call) -> None:
        if call.writer in kept:
            call.writer.write(http(kept.pop(call.writer)))
        else:
            kept[call.writer] = another(call.good)
        await pause()
        call.writer.write(http(call.good))

    return behave


def another(good: bytes) -> bytes:
    """As good a reply to the same question, by another name and with other values."""
    said = json.loads(good)
    message = said["choices"][0]["message"]
    message["content"] = re.sub(r"\d+", lambda found: str(11 - int(found[0])), message["content"])
    return json.dumps(said | {"id": said["id"] + "-b"}).encode()


async def idle_408(call: Call) -> None:
    """As HAProxy and nginx do: an idle connection is told 408 before it is closed."""
    call.writer.write(http(call.good))
    await call.writer.drain()
    await asyncio.sleep(0.005)
    call.writer.write(http(b"", "Connection: close", status="408 Request Time-out"))
    await call.writer.drain()
    call.writer.close()


async def forgotten(call: Call) -> None:
    """As routers do with connections that were idle: what is sent over one again goes nowhere."""
    if call.on_line > 1:
        await asyncio.sleep(3600)
    await asyncio.sleep(0.1)
    await well(call)


async def _slow_good(call: Call) -> None:
    await asyncio.sleep(0.3)
    call.writer.write(http(call.good))


async def four_sockets(call: Call) -> None:
    """A server for four: whoever else connects is dropped without a word."""
    if call.lines > 4:
        call.writer.transport.abort()
        return
    await _slow_good(call)


async def never_reads(call: Call) -> None:
    """Taken and forgotten, the first four times."""
    if call.number <= 4:
        await asyncio.sleep(3600)
    await well(call)
