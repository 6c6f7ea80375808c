"""Token buckets in the store: what is used up stays used up until time refills it, whatever others and clocks do."""

import asyncio
import time

import pytest
from sqlalchemy import select

from eqlab.store.schema import buckets
from eqlab.store.store import Store
from eqlab.store.study.researchers import give_token, take_token

HOUR, DAY = 3600.0, 24 * 3600.0


@pytest.fixture
def store(store_url):
    with Store(store_url) as opened:
        yield opened


def keys(store):
    with store.engine.connect() as connection:
        return set(connection.execute(select(buckets.c.key)).scalars())


def test_so_many_at_once_and_so_many_more_each_second(store):
    assert [take_token(store, "login", 2, 0.5, 1000.0) for _ in range(3)] == [True, True, False]
    assert not take_token(store, "login", 2, 0.5, 1001.0)
    assert take_token(store, "login", 2, 0.5, 1002.0)
    assert [take_token(store, "login", 2, 0.5, 9000.0) for _ in range(3)] == [True, True, False]  # not more than 2


def test_a_bucket_is_not_forgotten_when_another_is_made(store):
    """Otherwise whoever guesses passwords could empty the memory by a visit from another address."""
    assert take_token(store, "login", 1, 0.0, 1000.0)
    for later in (1.0, HOUR, DAY - 1):
        assert take_token(store, f"another {later}", 1, 0.0, 1000.0 + later)
        assert not take_token(store, "login", 1, 0.0, 1000.0 + later)


def test_a_bucket_that_nobody_used_for_a_day_is_forgotten(store):
    take_token(store, "login", 1, 0.0, 1000.0)
    take_token(store, "another", 1, 0.0, 1000.0 + DAY + 1)
    assert keys(store) == {"another"}


def test_a_clock_that_goes_back_neither_refills_nor_takes(store):
    assert take_token(store, "login", 1, 1.0, 1000.0)
    assert not take_token(store, "login", 1, 1.0, 900.0)
    assert take_token(store, "login", 1, 1.0, 901.0)


def test_servers_whose_clocks_differ_let_no_more_through(store):
    """The one that was behind set the bucket back, and the one ahead credited the difference again, each time."""
    allowed = [take_token(store, "login", 5, 1 / 30, 1000.0 + second + 30 * (second % 2)) for second in range(600)]
    assert sum(allowed) <= 5 + 630 / 30


def test_who_gets_it_right_has_used_nothing_up_and_mends_nothing(store):
    for _ in range(3):
        take_token(store, "login", 3, 0.0, 1000.0)
    take_token(store, "another", 1, 0.0, 1000.0)
    give_token(store, "login")
    assert take_token(store, "login", 3, 0.0, 1000.0)
    assert not take_token(store, "login", 3, 0.0, 1000.0)
    assert not take_token(store, "another", 1, 0.0, 1000.0)


def test_who_is_refused_costs_one_look_a_second_and_no_more(make_site, monkeypatch):
    """200 wrong codes a second stopped a study: each refusal was a durable write, in the line of people's answers."""
    site = make_site(arrival_burst=3.0, arrival_rate=0.5)
    looks = []

    def counted(*given):
        looks.append(given)
        return take_token(*given)

    monkeypatch.setattr("eqlab.study.web.site.take_token", counted)
    now = [1000.0]
    site.app.state.site.clock = lambda: now[0]

    def come(number):
        return site.browser().get(f"/s/small?PROLIFIC_PID={number:024x}", follow_redirects=False).status_code

    assert [come(number) for number in range(20)] == [303] * 3 + [429] * 17
    assert len(looks) == 4
    now[0] += 0.9
    assert [come(20), len(looks)] == [429, 4]
    now[0] += 1.2  # a token has come back meanwhile
    assert [come(21), come(22), len(looks)] == [303, 429, 6]


def test_of_many_at_once_only_so_many_are_looked_up_as_there_are_tokens(make_site, monkeypatch):
    site = make_site().app.state.site
    looks = []

    def counted(*given):
        looks.append(given)
        time.sleep(0.01)
        return take_token(*given)

    monkeypatch.setattr("eqlab.study.web.site.take_token", counted)

    async def everybody():
        return await asyncio.gather(*(site.limits.allows("one bucket", 3.0, 0.001) for _ in range(200)))

    assert sum(asyncio.run(everybody())) == 3
    assert len(looks) == 4
    asyncio.run(site.limits.give_back("one bucket"))
    assert asyncio.run(site.limits.allows("one bucket", 3.0, 0.001))
