"""Gateways under load (support/hostile_gateway.py): nothing lost, nothing wrong, nothing misleading."""

import fault_server as faults
import hostile_gateway as gateway
import pytest
from hostile_server import always, once
from test_faults import TRIALS, all_well, attempts, run

from eqlab.models.http import HttpChat


@pytest.fixture(autouse=True)
def _quick(monkeypatch):
    monkeypatch.setattr(HttpChat, "_backoff", lambda self, retries: 0.01)


@pytest.mark.parametrize("name", gateway.DRESSED)
def test_a_good_reply_in_a_gateways_dress_is_read_at_once(name, store):
    with faults.serving(always(gateway.DRESSED[name])) as server:
        given = all_well(store, run(server, store).run)
        assert server.requests == len(given) == TRIALS


@pytest.mark.parametrize("name", gateway.FAILED)
def test_a_gateways_failure_is_asked_again_and_never_read(name, store):
    with faults.serving(once(gateway.FAILED[name])) as server:
        given = all_well(store, run(server, store, limit=3).run, ok=3)
        assert len(given) == 3
        assert server.requests == 6
    assert all(answer.status == "ok" and answer.transport_retries == 1 for answer in given)


@pytest.mark.parametrize("word", gateway.CUT)
def test_a_cut_reply_is_none_in_whatever_words_it_is_said(word, store):
    with faults.serving(once(gateway.CUT[word])) as server:
        given = all_well(store, run(server, store).run)
        assert server.requests == 2 * TRIALS
    assert sorted(answer.status for answer in given) == ["ok"] * TRIALS + ["unparseable"] * TRIALS
    assert {answer.finish for answer in given if answer.status == "unparseable"} == {"length"}


@pytest.mark.parametrize("word", gateway.WITHHELD)
def test_what_a_filter_took_is_refused_in_whatever_words(word, store):
    with faults.serving(always(gateway.WITHHELD[word])) as server:
        given = [answer for answer, _ in attempts(store, run(server, store).run)]
        assert server.requests == TRIALS
    assert {answer.status for answer in given} == {"refused"}
    assert all(word.lower() in answer.note for answer in given)


@pytest.mark.parametrize("name", gateway.PAGES)
def test_a_gateways_page_is_an_outage_after_good_replies_and_an_end_before(name, store):
    with faults.serving(gateway.in_the_middle(gateway.PAGES[name])) as server:
        all_well(store, run(server, store, limit=24).run, ok=24)
    with faults.serving(always(gateway.PAGES[name])) as server:
        (failure,) = run(server, store, seed=1).failures.values()
        assert server.requests <= 4
    assert "HTTP 40" in str(failure)


def test_all_of_it_at_once(store):
    with faults.serving(gateway.mixed()) as server:
        all_well(store, run(server, store, limit=40).run, ok=40)
