import asyncio
import time

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
    for _ in range(50):
        limiter.overloaded()
    assert limiter.limit == 32


def test_never_below_one_and_back_to_the_top():
    limiter = Limiter(8)
    for _ in range(10):
        limiter._halved_at = float("-inf")
        limiter.overloaded()
    assert limiter.limit == 1
    for _ in range(200):
        limiter.went_well()
    assert limiter.limit == 8


def test_an_outage_tells_neither_a_rate_nor_how_many_are_too_many(monkeypatch):
    """Each limiter knows its own: what another model at the address was answered meanwhile says nothing here."""
    now = [100.0]
    monkeypatch.setattr("eqlab.models.limiter.time.monotonic", lambda: now[0])
    short, long = Limiter(8), Limiter(8)
    for limiter, seconds in ((short, 3.0), (long, 20.0)):
        for _ in range(6):
            now[0] += seconds
            limiter.refused(now[0], pause=0.0)
            limiter.overloaded()
        limiter.went_well(patience=60.0)
    assert (long.limit, long.interval) == (8, 0.0)
    assert short.limit < 3
    assert short.interval > 1


def test_a_pause_is_kept():
    async def main():
        limiter = Limiter(4)
        limiter.overloaded(pause=0.2)
        started = time.monotonic()
        await limiter.acquire()
        return time.monotonic() - started

    assert asyncio.run(main()) >= 0.19


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
