"""Rates, outages and slow servers, on a clock of our own: an hour of waiting takes no time."""

import asyncio
import contextlib
import json
from types import SimpleNamespace

import pytest
from jumping_clock import JumpingClock, loop_on
from msgspec import structs

import eqlab.models.http as http
import eqlab.models.limiter as limiter
import eqlab.models.transport as transport
from eqlab.core.errors import ModelError
from eqlab.models.chat import Bill, ChatReply, LimitReached, TransportError, Unasked, prompted
from eqlab.models.http import HttpChat
from eqlab.models.transport import Transport
from eqlab.models.wire.contract import Endpoint, Incoming, TryAgain

GOOD = json.dumps({"choices": [{"message": {"content": "hi"}, "finish_reason": "stop"}]}).encode()
PLAIN = Incoming(200, {}, GOOD)
TOO_MANY = json.dumps({"error": {"message": "Rate limit reached", "code": "rate_limit_exceeded"}}).encode()


@pytest.fixture
def play(monkeypatch):
    """Runs a coroutine on the clock; returns its result and how long it took."""
    clock = JumpingClock()
    clock.now = 0.0
    loop = loop_on(clock)
    watch = SimpleNamespace(monotonic=lambda: clock.now, perf_counter=lambda: clock.now)
    for module in (http, limiter, transport):
        monkeypatch.setattr(module, "time", watch)

    def run(make):
        result = loop.run_until_complete(make(lambda: clock.now))
        return result, clock.now

    yield run
    loop.run_until_complete(_cancelled(asyncio.all_tasks(loop)))
    loop.close()


async def _cancelled(tasks):
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


class Rate:
    """So many requests in so many seconds; a bucket that refills, or a window that slides."""

    def __init__(self, now, allowed, seconds, *, window, headers=None, body=TOO_MANY):
        self.now, self.allowed, self.seconds, self.window = now, allowed, seconds, window
        self.tokens, self.at, self.times = float(min(allowed, 5)), 0.0, []
        self.headers, self.body = headers or {}, body
        self.asked = 0

    async def __call__(self, outgoing):
        self.asked += 1
        await asyncio.sleep(0.3)
        now = self.now()
        if self.window:
            self.times = [time for time in self.times if time > now - self.seconds]
            fine = len(self.times) < self.allowed
            self.times += [now] * fine
        else:
            self.tokens = min(5.0, self.tokens + (now - self.at) * self.allowed / self.seconds)
            self.at = now
            fine = self.tokens >= 1
            self.tokens -= fine
        return Incoming(200, {}, GOOD) if fine else Incoming(429, self.headers, self.body)


async def ask_all(chat, count, at_once=16):
    waiting = iter(range(count))

    async def work():
        return [await chat.ask(prompted("x")) for _ in waiting]

    found = await asyncio.gather(*(work() for _ in range(at_once)))
    return [reply for some in found for reply in some]


@pytest.mark.parametrize("window", [True, False], ids=["window", "bucket"])
@pytest.mark.parametrize(("allowed", "count", "longest"), [(60, 60, 150), (60, 180, 330), (15, 60, 420)])
def test_a_rate_without_retry_after_is_learnt(play, window, allowed, count, longest):
    async def main(now):
        server = Rate(now, allowed, 60.0, window=window)
        chat = HttpChat(Endpoint("http://h/v1", "m"), Transport(16), post=server)
        return server, await ask_all(chat, count)

    (server, replies), took = play(main)
    assert len(replies) == count
    assert all(isinstance(reply, ChatReply) for reply in replies)
    assert took < longest
    few = (
        count // 4 if allowed == 60 else 2 * count // 3
    )  # with seconds between two, one in three is refused in balance
    assert server.asked - count <= 16 + few  # the first burst beside


def test_a_refusal_for_the_rate_costs_no_try(play):
    """However often it is refused, a question is asked until it is answered or patience ends."""

    async def main(now):
        asked = 0

        async def post(outgoing):
            nonlocal asked
            asked += 1
            return Incoming(429, {"Retry-After": "1"}, TOO_MANY) if asked < 40 else PLAIN

        chat = HttpChat(Endpoint("http://h/v1", "m"), Transport(16, patience=10_000), post=post)
        return await chat.ask(prompted("x"))

    reply, _ = play(main)
    assert reply.text == "hi"
    assert reply.transport_retries == 39


def test_a_model_that_is_refused_holds_up_no_other_at_its_address(play):
    """Rates are each model's own. The refused one waits; it is given up only when nobody has a good reply any more."""

    async def main(now):
        async def post(outgoing):
            await asyncio.sleep(0.1)
            if outgoing.body["model"] == "b":
                return Incoming(429, {"Retry-After": "20"}, TOO_MANY)
            return Incoming(200, {}, GOOD)

        transport = Transport(16, patience=60.0)
        a, b = (HttpChat(Endpoint("http://h/v1", name), transport, post=post) for name in "ab")
        refused = asyncio.create_task(ask_all(b, 8, at_once=8))
        await asyncio.sleep(1)
        started = now()
        replies = await ask_all(a, 80, at_once=8)
        took = now() - started
        with pytest.raises(ModelError, match="has not answered"):
            await refused
        return len(replies), took

    (count, took), _ = play(main)
    assert count == 80
    assert took < 5


@pytest.mark.parametrize("headers", [{}, {"Retry-After": "30"}])
def test_a_model_without_room_holds_up_no_other_at_its_address(play, headers):
    """Two arms of a study: one model said 503 for minutes, and people of both were told of a fault."""

    async def main(now):
        shared = Transport(512, 60, 60, 60)

        async def full(outgoing):
            await asyncio.sleep(0.1)
            return Incoming(503, headers, b'{"error": {"message": "overloaded"}}')

        async def well(outgoing):
            await asyncio.sleep(8)
            return PLAIN

        bad, good = (
            HttpChat(Endpoint("http://x/v1", name), shared, post=post) for name, post in (("bad", full), ("good", well))
        )

        async def ask(chat):
            question = structs.replace(prompted("q"), stands_alone=True, faults=2)
            begun = now()
            with contextlib.suppress(ModelError, TransportError):
                await chat.ask(question)
            return now() - begun

        first = [asyncio.create_task(ask(bad)) for _ in range(20)]
        await asyncio.sleep(1)
        waits = await asyncio.gather(*(ask(good) for _ in range(20)))
        await asyncio.gather(*first)
        return max(waits)

    assert play(main)[0] < 12


def test_whose_turn_comes_too_late_leaves_it_to_the_next(play):
    """Thirty who want a reply in a minute, of a model that takes one in six seconds and ten seconds for each: the
    first in line had always waited too long, was sent all the same, and was cut."""
    cut = []

    async def main(now):
        rate = Rate(now, 10, 60.0, window=False)

        async def post(outgoing):
            came = await rate(outgoing)
            if came.status != 200:
                return came
            try:
                await asyncio.sleep(10)
            except asyncio.CancelledError:
                cut.append(now())
                raise
            return structs.replace(came, latency=10.0)

        chat = HttpChat(Endpoint("http://x/v1", "m"), Transport(512, 60, 60, 60), post=post)
        replies = 0

        async def person():
            nonlocal replies
            while now() < 600:
                question = structs.replace(prompted("q"), stands_alone=True, faults=2, within=60.0)
                with contextlib.suppress(TimeoutError, ModelError, TransportError):
                    await asyncio.wait_for(chat.ask(question), 60)
                    replies += 1
                await asyncio.sleep(8)

        await asyncio.gather(*(person() for _ in range(30)))
        return replies

    replies, _ = play(main)
    assert replies > 80  # of about 100
    assert len(cut) < 10


@pytest.mark.parametrize(
    "first",
    [
        Incoming(503, {"Retry-After": "600"}, b'{"error": {"message": "overloaded"}}'),
        Incoming(529, {"Retry-After": "3600"}, b'{"error": {"type": "overloaded_error"}}'),
        Incoming(429, {"Retry-After": "600"}, TOO_MANY),
        Incoming(200, {"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "6h"}, GOOD),
    ],
    ids=["503", "529", "429", "used up"],
)
def test_no_word_of_a_server_leaves_people_without_a_question_for_minutes(play, first):
    """One 503 with a long Retry-After shut an arm for ten minutes: all waited out their patience, and none was sent."""

    async def main(now):
        asked, well = [], []

        async def post(outgoing):
            asked.append(now())
            await asyncio.sleep(0.3)
            return first if len(asked) == 1 else PLAIN

        chat = HttpChat(Endpoint("http://x/v1", "m"), Transport(512, 60, 60, 60), post=post)

        async def person():
            question = structs.replace(prompted("q"), stands_alone=True, faults=2, within=60.0)
            await asyncio.wait_for(chat.ask(question), 60)
            well.append(now())

        await asyncio.gather(*(person() for _ in range(20)))
        return asked, well

    (asked, well), _ = play(main)
    assert len(well) == 20
    assert sorted(asked)[1] >= 14.5  # it was heeded for a while


def test_a_server_that_is_away_for_long_is_asked_now_and_then(play):
    """By one of those who wait, and not by each."""

    async def main(now):
        asked = []

        async def post(outgoing):
            asked.append(now())
            await asyncio.sleep(0.1)
            return Incoming(503, {"Retry-After": "600"}, b'{"error": {"message": "overloaded"}}')

        chat = HttpChat(Endpoint("http://x/v1", "m"), Transport(512, 60, 60, 60), post=post)

        async def person():
            while now() < 600:
                question = structs.replace(prompted("q"), stands_alone=True, faults=2, within=60.0)
                with contextlib.suppress(TimeoutError, ModelError, TransportError):
                    await asyncio.wait_for(chat.ask(question), 60)
                await asyncio.sleep(8)

        await asyncio.gather(*(person() for _ in range(20)))
        return asked

    asked, _ = play(main)
    late = [at for at in asked if at > 60]
    assert 540 / 31 < len(late) < 3 * 540 / 15


def test_what_a_server_asks_for_is_kept(play):
    """Gemini says it in the body; an absurd Retry-After is capped and said."""
    delay = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "17s"}
    body = json.dumps({"error": {"code": 429, "message": "Resource exhausted", "details": [delay]}}).encode()
    for headers, raw, timeouts in (
        ({}, body, 17),
        ({"Retry-After": "86400"}, TOO_MANY, 600),
        ({"retry-after-ms": "2500"}, b"", 2.5),
    ):
        said = []

        async def main(now, headers=headers, raw=raw, said=said):
            started, first = now(), []

            async def post(outgoing):
                first.append(now() - started)
                return Incoming(429, headers, raw) if len(first) == 1 else Incoming(200, {}, GOOD)

            chat = HttpChat(Endpoint("http://h/v1", "m"), Transport(16, patience=10_000), said.append, post)
            await chat.ask(prompted("x"))
            return first

        first, _ = play(main)
        assert first[1] == pytest.approx(timeouts, abs=0.5)
        assert bool(said) == (timeouts == 600)
        assert not said or "86400 s; waiting 600 s" in said[0]


@pytest.mark.parametrize(
    ("remaining", "reset", "value"),
    [
        ("x-ratelimit-remaining-requests", "x-ratelimit-reset-requests", "40s"),
        ("x-ratelimit-remaining-tokens", "x-ratelimit-reset-tokens", "40s"),
        ("anthropic-ratelimit-requests-remaining", "anthropic-ratelimit-requests-reset", "2026-11-16T00:00:40Z"),
        ("anthropic-ratelimit-tokens-remaining", "anthropic-ratelimit-tokens-reset", "2026-11-16T00:00:40Z"),
        (
            "anthropic-ratelimit-input-tokens-remaining",
            "anthropic-ratelimit-input-tokens-reset",
            "2026-11-16T00:00:40Z",
        ),
        (
            "anthropic-ratelimit-output-tokens-remaining",
            "anthropic-ratelimit-output-tokens-reset",
            "2026-11-16T00:00:40Z",
        ),
        ("X-RateLimit-Remaining", "X-RateLimit-Reset", "40"),
    ],
    ids=lambda name: name if name.endswith("emaining") or "remaining-" in name else "",
)
@pytest.mark.parametrize("status", [200, 429])
def test_an_allowance_that_is_used_up_is_waited_for(play, remaining, reset, value, status):
    """As the provider's headers say it, with a refusal or before the first one; a long pause is said."""
    headers = {remaining: "0", reset: value, "Date": "Mon, 16 Nov 2026 00:00:00 GMT"}
    said = []

    async def main(now):
        times = []

        async def post(outgoing):
            times.append(now())
            return Incoming(status, headers, GOOD if status == 200 else TOO_MANY) if len(times) == 1 else PLAIN

        chat = HttpChat(Endpoint("http://h/v1", "m"), Transport(16, patience=10_000), said.append, post)
        await chat.ask(prompted("x"))
        await chat.ask(prompted("x"))
        return times[1] - times[0]

    waited, _ = play(main)
    assert waited == pytest.approx(40, abs=0.5)
    assert (status == 200) == any("allowance is used up; waiting 40 s" in transport for transport in said)


def outage(until, patience, play, *, ago=0.0):
    said = []

    async def main(now):
        async def post(outgoing):
            await asyncio.sleep(0.01)
            if 1 <= now() < until:
                return TryAgain("ClientConnectorError: Connect call failed", gone=True)
            return Incoming(200, {}, GOOD)

        chat = HttpChat(Endpoint("http://h/v1", "m"), Transport(16, patience=patience), said.append, post)
        replies = await ask_all(chat, 40)
        await asyncio.sleep(1)
        return replies + await ask_all(chat, 60)

    return play(main), said


@pytest.mark.parametrize("seconds", [30, 180])
def test_an_outage_loses_nothing_and_is_said_once(play, seconds):
    (replies, took), said = outage(1 + seconds, 300.0, play)
    assert len(replies) == 100
    assert took < seconds + 40
    assert len(said) == 1
    assert "--patience" in said[0]


def test_a_long_silence_before_an_outage_is_not_part_of_it(play):
    """Planning, a pause of a sweep, a model that thinks for ten minutes: patience begins with the first failure."""

    async def main(now):
        asked = 0

        async def post(outgoing):
            nonlocal asked
            asked += 1
            return Incoming(503, {}, b"loading") if asked in (1, 4) else Incoming(200, {}, GOOD)

        chat = HttpChat(Endpoint("http://h/v1", "m"), Transport(16, patience=60.0), post=post)
        await asyncio.sleep(500)
        first = await ask_all(chat, 2)
        await asyncio.sleep(500)
        return first + await ask_all(chat, 2)

    replies, _ = play(main)
    assert len(replies) == 4


def test_what_only_waits_is_given_up_when_the_session_ends(play):
    """A pause of ten minutes does not hold up Ctrl-C; what is under way is finished."""

    async def main(now):
        async def post(outgoing):
            if outgoing.request.max_tokens == 1:
                await asyncio.sleep(20)
                return Incoming(200, {}, GOOD)
            return Incoming(429, {"Retry-After": "500"}, TOO_MANY)

        chat = HttpChat(Endpoint("http://h/v1", "m"), Transport(16), post=post)
        asked = [asyncio.create_task(chat.ask(prompted("x", max_tokens=room))) for room in (1, 9, 9)]
        await asyncio.sleep(5)
        chat.hurry()
        return await asyncio.gather(*asked, return_exceptions=True)

    (good, *given_up), took = play(main)
    assert good.text == "hi"
    assert [type(one) for one in given_up] == [Unasked, Unasked]
    assert took < 21


def test_an_outage_that_outlasts_patience_ends_the_model(play):
    with pytest.raises(ModelError, match=r"has not answered for .* Run the same command again"):
        outage(10_000, 60.0, play)


def test_a_request_that_timed_out_is_repeated_twice(play):
    asked = []

    async def main(now):
        async def post(outgoing):
            asked.append(outgoing.body)
            if len(asked) == 1:
                return Incoming(200, {}, GOOD)
            await asyncio.sleep(120)
            return TryAgain("no reply within 120 s", overload=True, timed_out=True)

        chat = HttpChat(Endpoint("http://h/v1", "m"), Transport(16), post=post)
        await chat.ask(prompted("x"))
        with pytest.raises(TransportError, match="no reply within 120 s"):
            await chat.ask(prompted("x"))

    play(main)
    assert len(asked) == 4
    assert "stream" not in asked[1]
    assert asked[2]["stream"] is asked[3]["stream"] is True  # silence is told from slowness


@pytest.mark.parametrize(("alone", "asked"), [(True, 3), (False, 20)])
def test_a_gateway_that_gave_up_is_asked_twice_more_for_a_person_and_waited_for_in_a_run(play, alone, asked):
    """What it gave up is probably billed: it counts, like a silence."""
    bill, announced, sent = Bill(), [], []

    async def main(now):
        async def again():
            announced.append(bill.lost)

        async def post(outgoing):
            sent.append(bill.lost)
            return Incoming(504, {}, b"<html>") if len(sent) < 20 else PLAIN

        chat = HttpChat(Endpoint("http://h/v1", "m"), Transport(16, patience=1000.0), post=post)
        chat.transport.met = True
        request = structs.replace(prompted("x"), stands_alone=alone, bill=bill, again=again)
        return (await asyncio.gather(chat.ask(request), return_exceptions=True))[0]

    play(main)
    assert len(sent) == asked
    assert announced == list(range(1, asked))
    assert bill.usage() == {"timed_out": 3 if alone else 19}


def test_only_what_was_sent_is_announced_and_counted(play):
    """A rate that was refused, and a connection that never was, are nobody's requests."""
    outcomes = [
        (True, TryAgain("rate", rate=True)),
        (False, TryAgain("no connection", gone=True)),
        (True, TryAgain("no gateway", gone=True, status=502)),
        (True, TryAgain("broken off", billed=True)),
        (True, TryAgain("failed", billed=True, tokens=(5, 7))),
        (True, TryAgain("failed", billed=True, tokens=(0, 7))),
        (True, TryAgain("failed", billed=True, tokens=(3, 2), cost=0.5)),
        (True, TryAgain("failed", cost=0.25)),
        (True, PLAIN),
    ]
    bill, announced = Bill(), []

    async def main(now):
        async def again():
            announced.append((bill.lost, bill.tokens_in, bill.tokens_out))

        async def post(outgoing):
            sends, came = outcomes.pop(0)
            bill.under_way = sends
            return came

        chat = HttpChat(Endpoint("http://h/v1", "m"), Transport(16, patience=1000.0), post=post)
        chat.transport.met = True
        return await chat.ask(structs.replace(prompted("x"), bill=bill, again=again))

    came, _ = play(main)
    assert announced == [(0, 0, 0), (1, 0, 0), (1, 5, 7), (2, 5, 7), (2, 8, 9), (3, 8, 9)]
    cost = {"failed_cost": 0.75, "failed_cost_in": 3, "failed_cost_out": 2}
    assert came.usage == {"timed_out": 3, "failed_in": 8, "failed_out": 9} | cost


@pytest.mark.parametrize("begun", [True, False])
def test_a_rate_in_a_stream_is_announced_where_a_model_was_at_work(play, begun):
    """In the events of OpenAI's Responses API, of which the first two tell of no work."""
    kinds = ["response.created", "response.in_progress", *["response.output_text.delta"] * begun]
    failed = {"type": "response.failed", "response": {"error": {"code": "rate_limit_exceeded", "message": "Slower."}}}
    raw = "".join(f"data: {json.dumps(event)}\n\n" for event in (*({"type": kind} for kind in kinds), failed))
    came = [Incoming(200, {"Content-Type": "text/event-stream"}, raw.encode())] * 2
    bill, announced = Bill(), []

    async def main(now):
        async def again():
            announced.append(bill.lost)
            if len(announced) == 2:
                raise LimitReached("enough")

        async def post(outgoing):
            return came.pop()

        chat = HttpChat(Endpoint("http://h/v1", "m", wire="openai_responses"), Transport(16), post=post)
        with pytest.raises(TransportError if begun else IndexError, match="enough" if begun else "pop"):
            await chat.ask(structs.replace(prompted("x"), bill=bill, again=again))

    play(main)
    assert announced == ([1, 2] if begun else [])


@pytest.mark.parametrize("waits", ["refused", "under way"])
def test_what_is_under_way_when_a_question_is_given_up_counts_and_what_only_waits_does_not(play, waits):
    bill = Bill()

    async def main(now):
        async def post(outgoing):
            if waits == "under way":
                await asyncio.sleep(1000)
            return Incoming(429, {"Retry-After": "60"}, TOO_MANY)

        chat = HttpChat(Endpoint("http://h/v1", "m"), Transport(16, patience=1000.0), post=post)
        asking = asyncio.create_task(chat.ask(structs.replace(prompted("x"), bill=bill)))
        await asyncio.sleep(5)
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)

    play(main)
    assert bill.lost == (waits == "under way")


class Slots:
    """A server that works on so many at once, each for so long, and says nothing to those that wait."""

    def __init__(self, slots, seconds, there=False):
        self.silences = transport.Silences(120.0)
        self.free, self.seconds, self.given_up, self.probed = asyncio.Semaphore(slots), seconds, 0, 0
        self.silences.probe = self.is_there if there else None

    async def is_there(self):
        self.probed += 1
        return True

    async def ask(self, lost=False):
        try:
            async with asyncio.timeout(None) as limit:
                mine = self.silences.sent(lambda: limit.reschedule(0.0))
                whole = False
                try:
                    async with contextlib.AsyncExitStack() as held:
                        if not lost:
                            await held.enter_async_context(self.free)
                        await asyncio.sleep(10_000 if lost else self.seconds)
                        self.silences.heard(mine)
                        whole = True
                finally:
                    self.silences.over(mine, whole)
        except TimeoutError:
            self.given_up += 1


@pytest.mark.parametrize(
    ("slots", "seconds", "there", "lost", "given_up"),
    [
        (4, 50.0, False, 0, 0),  # the twelve that wait see others answered
        (4, 130.0, False, 0, 16),  # nobody hears anything for two minutes
        (4, 130.0, True, 0, 0),  # but the server says that it is there
        (4, 50.0, False, 2, 2),  # the rest is answered, these are not: given up when it is quiet
    ],
)
def test_a_server_with_a_queue_is_not_given_up_while_it_lives(play, slots, seconds, there, lost, given_up):
    async def main(now):
        server = Slots(slots, seconds, there)
        await asyncio.gather(*(server.ask() for _ in range(16)), *(server.ask(lost=True) for _ in range(lost)))
        await server.silences.close()
        return server

    server, _ = play(main)
    assert server.given_up == given_up
    assert bool(server.probed) is there


def test_a_request_that_many_later_ones_overtake_is_lost(play):
    async def main(now):
        server = Slots(1, 30.0)
        lost = asyncio.create_task(server.ask(lost=True))
        for _ in range(40):
            await server.ask()
        return server.given_up, lost.done()

    (given_up, done), _ = play(main)
    assert (given_up, done) == (1, True)


def test_what_a_session_cuts_off_is_said(play):
    said = []

    async def main(now):
        async def post(outgoing):
            await asyncio.sleep(1000)

        chat = HttpChat(Endpoint("http://h/v1", "m"), Transport(16), say=said.append, post=post)
        asking = [asyncio.create_task(chat.ask(prompted("x"))) for _ in range(3)]
        await asyncio.sleep(10)
        for one in asking:
            one.cancel()
        await asyncio.gather(*asking, return_exceptions=True)
        return chat.learnt()

    learnt, _ = play(main)
    assert learnt == ("3 requests under way were cut off when the session ended; they may be billed",)
    assert len(said) == 1


def test_a_first_wave_is_streamed_and_a_slow_server_stays_so(play):
    asked, latencies = [], iter((50.0, 20.0, 1.0))

    async def main(now):
        async def post(outgoing):
            asked.append("stream" in outgoing.body)
            return Incoming(200, {}, GOOD, next(latencies))

        chat = HttpChat(Endpoint("http://h/v1", "m"), Transport(16), post=post)
        for _ in range(3):
            await chat.ask(prompted("x"))

    play(main)
    assert asked == [True, True, False]


def test_a_server_that_fails_costs_a_stated_number_of_requests(play):
    asked = []

    async def main(now):
        async def post(outgoing):
            asked.append(outgoing.body)
            return Incoming(500, {}, b"oops")

        chat = HttpChat(Endpoint("http://h/v1", "m"), Transport(16), post=post)
        with pytest.raises(TransportError, match="oops"):
            await chat.ask(prompted("x"))

    play(main)
    assert len(asked) == 7


def test_a_schema_that_only_breaks_the_server_is_blamed_after_the_first(play):
    asked = []

    async def main(now):
        async def post(outgoing):
            asked.append(outgoing.body)
            return (
                Incoming(500, {}, b"Internal Server Error")
                if "response_format" in outgoing.body
                else Incoming(200, {}, GOOD)
            )

        chat = HttpChat(Endpoint("http://h/v1", "m"), Transport(16), post=post)
        with pytest.raises(ModelError, match=r"fails on a JSON schema .* Run without --structured"):
            await ask_schema(chat)

    async def ask_schema(chat):
        await asyncio.gather(*(chat.ask(prompted("x", schema={"type": "object"})) for _ in range(8)))

    play(main)
    assert len(asked) <= 2


def test_who_asks_without_a_schema_holds_no_place_while_others_hold_the_budget(play):
    """The one waited for money that came back with another's reply, and that one for its place: a run never ended."""
    other = asyncio.Event()

    async def main(now):
        async def post(outgoing):
            await asyncio.sleep(0.1)
            return Incoming(500, {}, b"oops") if "response_format" in outgoing.body else PLAIN

        chat = HttpChat(Endpoint("http://h/v1", "m"), Transport(1), post=post)

        async def first():
            with pytest.raises(ModelError, match="fails on a JSON schema"):
                await chat.ask(structs.replace(prompted("x", schema={"type": "object"}), again=other.wait))

        async def second():
            await chat.ask(prompted("y"))
            other.set()

        async with asyncio.timeout(600):
            await asyncio.gather(first(), second())

    play(main)


def test_a_schema_that_another_reply_follows_meanwhile_is_not_blamed(play):
    """One 500 of a server that takes schemas, and its question waited to be sent without one."""

    async def main(now):
        failures = [Incoming(500, {}, b"oops")]
        told = asyncio.Event()
        follows = json.dumps({"choices": [{"message": {"content": "{}"}, "finish_reason": "stop"}]}).encode()

        async def post(outgoing):
            await asyncio.sleep(0.1)
            return failures.pop() if failures else Incoming(200, {}, follows)

        chat = HttpChat(Endpoint("http://h/v1", "m"), Transport(2), post=post)
        asked = prompted("x", schema={"type": "object"})

        async def other():
            await chat.ask(asked)
            told.set()

        replies = await asyncio.gather(chat.ask(structs.replace(asked, again=told.wait)), other())
        return replies[0]

    reply, _ = play(main)
    assert (reply.text, "schema" in reply.sent) == ("{}", True)


def test_the_first_request_goes_alone(play):
    under_way = []

    async def main(now):
        busy = 0

        async def post(outgoing):
            nonlocal busy
            busy += 1
            under_way.append(busy)
            await asyncio.sleep(1.0)
            busy -= 1
            return Incoming(200, {}, GOOD)

        chat = HttpChat(Endpoint("https://far.example/v1", "m"), Transport(16), post=post)
        await ask_all(chat, 33)

    play(main)
    assert under_way[:2] == [1, 1]
    assert max(under_way) == 16
