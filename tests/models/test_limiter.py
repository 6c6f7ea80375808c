import asyncio
import time
from collections import Counter, deque
from random import Random

import pytest
from jumping_clock import JumpingClock, loop_on

from eqlab.models.limiter import Limiter


def test_no_more_than_the_limit_at_once():
    async def main():
        limiter = Limiter(3)
        most = now = 0

        async def work():
            nonlocal most, now
            await limiter.acquire()
            now += 1
            most = max(most, now)
            await asyncio.sleep(0)
            now -= 1
            limiter.release()

        await asyncio.gather(*(work() for _ in range(50)))
        return most

    assert asyncio.run(main()) == 3


def test_one_burst_of_refusals_halves_once():
    limiter = Limiter(64)
    for _ in range(40):
        limiter.take()
    for _ in range(50):
        limiter.overloaded()
    assert limiter.at_once.limit == 20  # of what was under way


def test_a_server_without_room_for_one_in_thirty_is_asked_as_before():
    """Of 64 in flight a few were left, then one: refusals at random brought a run to an eighth of its speed."""
    limiter, chance = Limiter(64), Random(1)
    for _ in range(40):
        limiter.take()
    for _ in range(3000):
        limiter.at_once._halved_at = float("-inf")
        limiter.overloaded() if chance.random() < 1 / 30 else limiter.went_well()
        assert limiter.at_once.limit > 40


def test_a_time_out_halves_at_once_and_is_given_back_slowly():
    """Each takes as long as patience lasts, and three lose an answer: a queue is left a little too short."""
    limiter = Limiter(16)
    for _ in range(16):
        limiter.take()
    limiter.overloaded(timed_out=True)
    assert limiter.at_once.limit == 8
    for _ in range(8):
        limiter.went_well(took=1.0)
    assert limiter.at_once.limit < 9.1


def test_who_is_away_for_less_than_replies_fade_has_as_much_room_after_it(monkeypatch):
    """Twenty seconds of 503 to everybody left one question at a time for minutes."""
    now = [100.0]
    monkeypatch.setattr("eqlab.models.limiter.time.monotonic", lambda: now[0])
    limiter = Limiter(512)
    for _ in range(200):
        now[0] += 0.5
        limiter.went_well(took=10.0)  # twenty at once
    for _ in range(200):
        limiter.take()
        now[0] += 0.1
        limiter.overloaded()
        limiter.release()
    assert limiter.at_once.limit > 10
    now[0] += 10.0
    limiter.went_well(took=10.0)
    assert limiter.at_once.limit == 512  # in all that time none came: it was away, not full


def test_never_below_one_and_back_to_the_top():
    limiter = Limiter(8)
    limiter.take()
    for _ in range(10):
        limiter.at_once._halved_at = float("-inf")
        limiter.overloaded()
    assert limiter.at_once.limit == 1
    for _ in range(200):
        limiter.went_well()
    assert limiter.at_once.limit == 8


def test_an_outage_tells_neither_a_rate_nor_how_many_are_too_many(monkeypatch):
    """Each limiter knows its own: what another model at the address was answered meanwhile says nothing here."""
    now = [100.0]
    monkeypatch.setattr("eqlab.models.limiter.time.monotonic", lambda: now[0])
    short, long = Limiter(8), Limiter(8)
    for limiter, seconds in ((short, 3.0), (long, 20.0)):
        limiter.take()
        for _ in range(6):
            now[0] += seconds
            limiter.refused(now[0], pause=0.0)
            limiter.overloaded(timed_out=True)
        limiter.went_well(patience=60.0)
    assert (long.at_once.limit, long.rate.interval) == (8, 0.0)
    assert short.at_once.limit < 3
    assert short.rate.interval < 1.0  # refusals in a row put off the next try; they tell little of a rate


def test_a_pause_that_the_server_asks_for_is_no_rate(monkeypatch):
    """One good request after twenty seconds that were asked for: that was no rate of one in twenty seconds."""
    now = [100.0]
    monkeypatch.setattr("eqlab.models.limiter.time.monotonic", lambda: now[0])
    limiter = Limiter(8)
    for _ in range(4):
        limiter.refused(now[0], pause=20.0)
        now[0] += 20.5
        limiter.went_well()
        now[0] += 0.5
    assert limiter.rate.interval < 1.5


def test_a_pause_is_kept():
    async def main():
        limiter = Limiter(4)
        limiter.overloaded(pause=0.2)
        started = time.monotonic()
        await limiter.acquire()
        return time.monotonic() - started

    assert asyncio.run(main()) >= 0.19


def test_who_is_cancelled_at_the_moment_of_their_turn_leaves_it_to_the_next():
    async def main():
        limiter = Limiter(1)
        await limiter.acquire()
        first, second = (asyncio.ensure_future(limiter.acquire()) for _ in range(2))
        await asyncio.sleep(0)
        limiter.release()
        first.cancel()
        await asyncio.wait_for(second, 2)

    asyncio.run(main())


def test_a_cancelled_waiter_does_not_swallow_a_turn():
    async def main():
        limiter = Limiter(1)
        await limiter.acquire()
        first = asyncio.create_task(limiter.acquire())
        second = asyncio.create_task(limiter.acquire())
        await asyncio.sleep(0)
        first.cancel()
        await asyncio.sleep(0)
        limiter.release()
        await asyncio.wait_for(second, 1)

    asyncio.run(main())


class Hours:
    """Minutes of asking, which take no time."""

    def __init__(self):
        self.clock = JumpingClock()
        self.loop = loop_on(self.clock)

    @property
    def now(self):
        return self.clock.now

    def answered(self, server, people, seconds, think=0.0, told=None):
        """When the questions of so many, who each ask again and again, were answered; `server` refuses or takes one;
        `told`: how long it says one has to wait."""
        limiter, answers, start = Limiter(people), [], self.now

        async def ask():
            while self.now < start + seconds:
                began = limiter.take() or await limiter.acquire()
                taken = server(self.now - start)
                await asyncio.sleep(1.0 if taken else 0.05)
                if taken:
                    limiter.went_well()
                    answers.append(self.now - start)
                else:
                    limiter.refused(began, told)
                limiter.release()
                await asyncio.sleep(think if taken else 0)

        async def everybody():
            await asyncio.gather(*(ask() for _ in range(people)))

        self.loop.run_until_complete(everybody())
        self.loop.close()
        return [at for at in answers if at <= seconds]


def test_an_outage_shorter_than_patience_slows_nobody_down_afterwards(monkeypatch):
    """A gateway that refuses for 45 s without a word on how long: ten people had one answer a minute after it."""
    hours = Hours()
    monkeypatch.setattr("eqlab.models.limiter.time.monotonic", lambda: hours.now)
    answers = hours.answered(lambda at: not 25 <= at < 70, people=10, seconds=300, think=8)
    assert sum(120 <= at < 240 for at in answers) > 100  # of about 133


def test_what_a_window_of_a_minute_allows_is_used(monkeypatch):
    """500 a minute, then bare refusals until the next minute: most of each minute was waited away."""
    hours = Hours()
    monkeypatch.setattr("eqlab.models.limiter.time.monotonic", lambda: hours.now)
    asked = Counter()

    def server(at):
        asked[int(at // 60)] += 1
        return asked[int(at // 60)] <= 500

    answers = hours.answered(server, people=64, seconds=600)
    assert len(answers) > 4500  # of 5,000
    assert asked.total() < 1.25 * len(answers)


def test_time_in_which_nobody_asks_is_no_rate(monkeypatch):
    """A refusal, a quiet hour, another: the hour was taken for the time that one request takes."""
    now = [100.0]
    monkeypatch.setattr("eqlab.models.limiter.time.monotonic", lambda: now[0])
    limiter = Limiter(8)
    for _ in range(2):
        limiter.refused(now[0])
        for _ in range(3):
            now[0] += 10.0
            limiter.went_well()
        now[0] += 3600.0
    limiter.refused(now[0])
    assert limiter.rate.interval < 1.5


def test_refusals_at_random_slow_nobody_down(monkeypatch):
    """Of a provider that refuses one in ten, whatever the rate, sixteen people had a third of the answers."""
    hours, chance = Hours(), Random(1)
    monkeypatch.setattr("eqlab.models.limiter.time.monotonic", lambda: hours.now)
    answers = hours.answered(lambda at: chance.random() > 0.1, people=16, seconds=600, think=8)
    assert len(answers) > 850  # of about 1,060


@pytest.mark.parametrize("told", [None, 1.0])
def test_a_server_that_counts_what_it_refuses_is_not_kept_busy_with_refusing(monkeypatch, told):
    """Thirty in any minute, the refused ones among them, and "wait a second" at best: it was asked for ever in vain."""
    hours, asked = Hours(), deque()
    monkeypatch.setattr("eqlab.models.limiter.time.monotonic", lambda: hours.now)

    def server(at):
        while asked and asked[0] <= at - 60:
            asked.popleft()
        asked.append(at)
        return len(asked) <= 30

    answers = hours.answered(server, people=16, seconds=900, told=told)
    assert len(answers) > 250  # of 450
    assert any(at > 840 for at in answers)


def test_a_refusal_beside_requests_under_way_is_not_one_in_a_row(monkeypatch):
    """Replies of a slow model come after half a minute, refusals at once."""
    now = [100.0]
    monkeypatch.setattr("eqlab.models.limiter.time.monotonic", lambda: now[0])
    limiter = Limiter(64)
    for _ in range(4):
        limiter.take()
        now[0] += 0.5
        limiter.refused(now[0] - 0.05)
        now[0] += 5.0
    assert limiter.rate.interval < 0.6


def test_many_in_flight_keep_a_rate(monkeypatch):
    """Fifty a second, 256 at once: all who waited were let go together, five refusals for each answer."""
    hours, seen = Hours(), Counter()
    monkeypatch.setattr("eqlab.models.limiter.time.monotonic", lambda: hours.now)
    left, at_last = 50.0, 0.0

    def server(at):
        nonlocal left, at_last
        left, at_last = min(50.0, left + 50 * (at - at_last)), at
        taken = left >= 1
        seen[taken] += 1
        left -= taken
        return taken

    answers = hours.answered(server, people=256, seconds=60)
    assert len(answers) > 2000  # of 3,000
    assert seen[False] < len(answers) / 3
