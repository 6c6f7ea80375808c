"""A server that nobody foresaw (support/hostile_server.py): nothing lost, nothing wrong, nothing misleading."""

import fault_server as faults
import hostile_server as hostile
import pytest
from test_faults import TRIALS, all_well, run

import eqlab as api
from eqlab.core.errors import ModelError
from eqlab.models.http import HttpChat


@pytest.fixture(autouse=True)
def _quick(monkeypatch):
    monkeypatch.setattr(HttpChat, "_backoff", lambda self, retries: 0.01)


@pytest.mark.parametrize("name", hostile.DISGUISED)
def test_a_good_reply_in_a_strange_dress_is_read_at_once_and_as_meant(name, store):
    with faults.serving(hostile.always(hostile.DISGUISED[name])) as server:
        outcome = run(server, store)
        assert not outcome.failures
        given = all_well(store, outcome.run)
        assert server.requests == len(given) == TRIALS


@pytest.mark.parametrize("name", hostile.BROKEN)
def test_what_is_no_reply_is_never_read(name, store):
    """Asked again at once; and where it goes on for ever, the trial is lost and says why."""
    with faults.serving(hostile.once(hostile.BROKEN[name])) as server:
        given = all_well(store, run(server, store).run)
        assert len(given) == TRIALS
        assert server.requests == 2 * TRIALS
    with faults.serving(hostile.always(hostile.BROKEN[name])) as server:
        outcome = run(server, store, seed=1)
        (failure,) = outcome.failures.values()
        assert isinstance(failure, ModelError)
        (result,) = api.results(store, store.find_run(outcome.run))
        assert not result.counts["ok"]
        assert result.headline.value is None


def test_a_page_is_called_one(store):
    with faults.serving(hostile.always(hostile.BROKEN["a page to log in"])) as server:
        (failure,) = run(server, store).failures.values()
    assert "a web page instead of a reply (Sign in)" in str(failure)


@pytest.mark.parametrize("name", hostile.TOO_LARGE)
def test_what_does_not_end_is_not_read_to_its_end(name, store):
    with faults.serving(hostile.once(hostile.TOO_LARGE[name])) as server:
        outcome = run(server, store, limit=3)
        (result,) = api.results(store, store.find_run(outcome.run))
        assert result.counts["ok"] == 3  # asked once more before the run ends


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("a circle of redirects", "in a circle"),
        ("a redirect to a page to log in", r"another page \(HTTP 302, /login\)"),
        ("a redirect to nowhere", "not an address"),
    ],
)
def test_a_redirect_that_leads_nowhere_ends_the_model_with_the_reason(name, said, store):
    with faults.serving(hostile.always(hostile.CIRCLES[name])) as server:
        outcome = run(server, store)
    (failure,) = outcome.failures.values()
    with pytest.raises(ModelError, match=said):
        raise failure


def test_cookies_are_not_kept(store):
    sent = []

    async def watching(asked):
        sent.append(asked.request.headers.get("Cookie"))
        return await hostile.DISGUISED["cookies"](asked)

    with faults.serving(watching) as server:
        run(server, store)
    assert set(sent) == {None}


def test_all_of_it_at_once_with_sixty_four_in_flight(store):
    prepared = {"models": ("m",), "benchmarks": ("eqbench",), "profile": "full"}
    with faults.serving(hostile.mixed(seed=3)) as server:
        request = api.Request(**prepared, base_url=server.url)
        outcome = api.run(api.prepare(request), store, concurrency=64, timeout=60)
        assert not outcome.failures
        planned = sum(count for _, count in store.progress(outcome.run).values())
        given = all_well(store, outcome.run, ok=planned)
        asked = server.requests
        api.run(api.prepare(request), store, concurrency=64)
        assert server.requests == asked
    assert sum(answer.status == "ok" for answer in given) == planned > 30


def test_half_a_character_in_a_free_text_is_stored(store, server):
    """Values hold the text too: what no UTF-8 can say must not end the writer."""
    server.reply = lambda body, n: "That sounds \ud83d hard.\0"
    outcome = api.run(
        api.prepare(api.Request(("m",), ("empathy",), limit=2, base_url=server.url)), store, concurrency=2
    )
    assert not outcome.failures
    assert [one.attempts[0].status for one in store.scored(outcome.run, "model:m", "empathy")] == ["ok", "ok"]
