"""What people notice of a provider's rate: talks of sixteen people with two models, against servers that refuse.

Fifteen minutes each, in a time that does not pass: a clock that jumps to the next thing to do. Each person asks, waits
for the reply (three seconds), thinks and asks again; whoever has no reply within a minute is told of a fault. The
client is the product's own, without a network.

    python bench/rates.py"""

import asyncio
import random
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from types import SimpleNamespace

import _support  # noqa: F401
from jumping_clock import JumpingClock, loop_on

from eqlab.core.errors import EqlabError
from eqlab.core.trials import Message
from eqlab.models import http, limiter
from eqlab.models.chat import ChatRequest, TransportError
from eqlab.models.http import HttpChat
from eqlab.models.transport import Transport
from eqlab.models.wire.contract import Endpoint, Incoming, Outgoing

PEOPLE, SECONDS, REPLY, PATIENCE, ALLOWED = 16, 900.0, 3.0, 60.0, 30
GOOD = (
    b'{"id":"x","object":"chat.completion","model":"m","choices":[{"index":0,"message":{"role":"assistant","content":'
    b'"I see."},"finish_reason":"stop"}],"usage":{"prompt_tokens":5,"completion_tokens":3}}'
)
REFUSED = b'{"error":{"message":"Rate limit reached"}}'
Server = Callable[[float], float | None]
"""Asked at this second: None where it replies, else for how many seconds it would refuse."""


def free(at: float) -> None:
    return None


def window(counts: bool) -> Server:
    """So many in every minute of the clock; `counts`: what it refuses counts too."""
    seen: Counter[int] = Counter()

    def asked(at: float) -> float | None:
        minute = int(at // 60)
        taken = seen[minute] < ALLOWED
        seen[minute] += taken or counts
        return None if taken else 60 * (minute + 1) - at

    return asked


def sliding(counts: bool) -> Server:
    """So many in any minute."""
    seen: deque[float] = deque()

    def asked(at: float) -> float | None:
        while seen and seen[0] <= at - 60:
            seen.popleft()
        taken = len(seen) < ALLOWED
        if taken or counts:
            seen.append(at)
        return None if taken else seen[max(0, len(seen) - ALLOWED)] + 60 - at

    return asked


def bucket(counts: bool) -> Server:
    """Fills evenly, and holds half of what a minute allows."""
    most = ALLOWED / 2
    left, last = most, 0.0

    def asked(at: float) -> float | None:
        nonlocal left, last
        left, last = min(most, left + (at - last) * ALLOWED / 60), at
        taken = left >= 1
        left = max(-most, left - (taken or counts))
        return None if taken else (1 - left) * 60 / ALLOWED

    return asked


def at_random(share: float, seed: int) -> Server:
    draw = random.Random(seed)
    return lambda at: 1.0 if draw.random() < share else None


def outage(begin: float, end: float) -> Server:
    return lambda at: end - at if begin <= at < end else None


def now_and_then(*moments: float) -> Server:
    """Refuses one request after each of these moments."""
    left = list(moments)

    def asked(at: float) -> float | None:
        if left and at >= left[0]:
            left.pop(0)
            return 1.0
        return None

    return asked


@dataclass(frozen=True, slots=True)
class Ended:
    replies: int
    faults: int
    refused: int


def talks(make: Callable[[int], Server], told: bool, status: int = 429, people: int = PEOPLE) -> Ended:
    """`make`: the server of each model; `told`: whether it says how long to wait."""
    clock = JumpingClock()
    loop = loop_on(clock)
    watch = SimpleNamespace(monotonic=lambda: clock.now, perf_counter=lambda: clock.now, time=time.time)
    for module in (limiter, http):
        module.__dict__["time"] = watch
    begun, seen, draw = clock.now, Counter[str](), random.Random(1)
    transport = Transport(512, PATIENCE, PATIENCE, PATIENCE)

    def chat(number: int) -> HttpChat:
        server = make(number)

        async def post(outgoing: Outgoing) -> Incoming:
            await asyncio.sleep(0.05)
            wait = server(clock.now - begun)
            if wait is not None:
                seen["refused"] += 1
                return Incoming(status, {"Retry-After": str(int(wait) + 1)} if told else {}, REFUSED, 0.05)
            await asyncio.sleep(REPLY * draw.uniform(0.7, 1.3))
            return Incoming(200, {}, GOOD, REPLY)

        return HttpChat(Endpoint("https://provider.example/v1", f"m{number}"), transport, post=post)

    async def person(own: HttpChat) -> None:
        await asyncio.sleep(draw.uniform(0, 8))
        while clock.now < begun + SECONDS:
            question = ChatRequest((Message("user", "q"),), stands_alone=True, faults=2, within=PATIENCE)
            try:
                await asyncio.wait_for(own.ask(question), PATIENCE)
                seen["replies"] += 1
            except (TimeoutError, EqlabError, TransportError):
                seen["faults"] += 1
            await asyncio.sleep(draw.uniform(5, 11))

    async def everybody() -> None:
        chats = [chat(number) for number in range(2)]
        await asyncio.gather(*(person(chats[number % 2]) for number in range(people)))

    loop.run_until_complete(everybody())
    loop.close()
    return Ended(seen["replies"], seen["faults"], seen["refused"])


def servers() -> Iterator[tuple[str, Callable[[int], Server]]]:
    yield "refuses nothing", lambda number: free
    kinds = ((window, "a minute of the clock"), (sliding, "in any minute"), (bucket, "a minute, evenly"))
    for counts, more in ((False, ""), (True, ", counting what it refuses")):
        for kind, words in kinds:
            yield f"{ALLOWED} {words}{more}", partial(_made, kind, counts)
    for share in (0.03, 0.1, 0.3):
        yield f"refuses {100 * share:.0f} % at random", partial(at_random, share)
    yield "refuses everything for 45 s", lambda number: outage(60, 105)
    yield "refuses two requests, ten minutes apart", lambda number: now_and_then(30, 630)


def _away(seconds: float, number: int) -> Server:
    return outage(60, 60 + seconds)


def _made(kind: Callable[[bool], Server], counts: bool, number: int) -> Server:
    return kind(counts)


def without_room() -> Iterator[tuple[str, Callable[[int], Server]]]:
    for share in (0.01, 0.03, 0.1):
        yield f"has no room (503) for {100 * share:.0f} % at random", partial(at_random, share)
    for seconds in (20, 40):
        yield f"has no room for {seconds} s", partial(_away, float(seconds))
    yield "one of the two has no room for three minutes", lambda number: free if number else outage(60, 240)


def main() -> None:
    print("| server of each model | says how long to wait | replies | told of a fault | refused |")
    print("|---|---|---|---|---|", flush=True)
    for name, make in servers():
        for told in (False, True) if name != "refuses nothing" else (False,):
            _line(name, "yes" if told else "no", talks(make, told))
    for name, make in without_room():
        _line(f"{name}; 64 people", "no", talks(make, False, 503, 64))


def _line(name: str, told: str, found: Ended) -> None:
    print(f"| {name} | {told} | {found.replies:,} | {found.faults} | {found.refused:,} |", flush=True)


if __name__ == "__main__":
    main()
