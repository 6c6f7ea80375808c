"""How a command ends that asked models: exit 0 only if every trial was answered or refused, else the reason."""

import pytest
from aiohttp import web
from server import answer_to

from eqlab.models.http import HttpChat


@pytest.fixture(autouse=True)
def _quick(monkeypatch):
    monkeypatch.setattr(HttpChat, "_backoff", lambda self, retries: 0.01)


def good(body):
    return answer_to(body["messages"][-1]["content"])


def run(eqlab, server, *more):
    return eqlab("run", "m", "-b", "eqbench", "--limit", "3", "--base-url", server.url, "--max-concurrency", 1, *more)


def test_a_trial_without_an_answer_is_no_success(eqlab, server):
    server.reply = lambda body, n: good(body) if n == 1 else web.Response(status=413, text="too much of it")
    done = run(eqlab, server)
    assert done.code == 1
    assert "m: 2 trials got no answer (last: HTTP 413: too much of it)." in done.err
    assert "run the same command again" in done.err
    server.reply = lambda body, n: good(body)
    assert run(eqlab, server).code == 0


def test_refused_is_answered(eqlab, server):
    from conftest import completion

    server.reply = lambda body, n: good(body) if n == 1 else completion("", finish="content_filter")
    assert run(eqlab, server).code == 0


def test_patience_is_the_users(eqlab, server):
    """An outage of three replies: waited for as a rule, given up by whoever has no patience."""
    server.reply = lambda body, n: web.Response(status=503) if 2 <= n <= 4 else good(body)
    done = run(eqlab, server, "--patience", 0)
    assert done.code == 1
    assert "has not answered" in done.err
    assert "Run the same command again to go on; --patience waits longer." in done.err
    server.requests.clear()
    assert run(eqlab, server, "--seed", 1).code == 0
    assert len(server.requests) == 6
