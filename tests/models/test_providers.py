"""A key in what a server says, whichever way it says it: nowhere in what is stored, shown or raised."""

import json

import pytest
from aiohttp import web
from server import answer_to

import eqlab as api
from eqlab.models.http import HttpChat
from eqlab.models.providers import reply_without_key, without_key

KEY = "hunter2/correct-horse-battery"
"""Of no provider's pattern: only who knows it can tell it."""
SAID = json.dumps({"sent": {"authorization": KEY}})


@pytest.fixture(autouse=True)
def _quick(monkeypatch):
    monkeypatch.setattr(HttpChat, "_backoff", lambda self, retries: 0.01)


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (401, SAID),
        (413, SAID),
        (500, SAID),
        (400, f"Unsupported value: 'temperature' does not support 0.01 with {SAID}"),
        (200, SAID),
    ],
    ids=["model", "request", "again", "learnt", "reply"],
)
@pytest.mark.parametrize("escaped", [False, True], ids=["plain", "escaped"])
def test_a_key_that_a_server_repeats_stays_out_of_the_store(server, tmp_path, monkeypatch, status, words, escaped):
    """As an error that ends the model, one request, or is tried again; as a refused setting; as the model's reply."""
    monkeypatch.setenv("EQLAB_API_KEY", KEY)
    said = []
    body = {"error": {"message": words}}
    if status == 200:
        body = {"choices": [{"message": {"content": words}, "finish_reason": "stop"}]}
    raw = json.dumps(body)
    raw = raw.replace("/", "\\/").replace("-horse", "\\u002dhorse") if escaped else raw

    def reply(asked, number):
        if number > 4 and status == 400:
            return answer_to(asked["messages"][-1]["content"])
        return web.Response(status=status, text=raw, content_type="application/json")

    server.reply = reply
    store = api.open_store(str(tmp_path / "s.db"))
    request = api.Request(("m",), ("eqbench",), limit=2, base_url=server.url)
    outcome = api.run(api.prepare(request), store, concurrency=1, listener=api.Listener(say=said.append))
    store.close()
    assert server.headers[0]["Authorization"] == f"Bearer {KEY}"
    shown = " ".join((*said, *map(str, outcome.failures.values()), *outcome.lost.values()))
    kept = b"".join(path.read_bytes() for path in tmp_path.glob("s.db*") if path.is_file())
    assert b"correct" not in kept
    assert "correct" not in shown
    assert "(your-key)" in shown or b"(your-key)" in kept  # something was said, without it


def test_json_inside_of_json_writes_a_slash_in_its_own_way():
    twice = json.dumps(SAID).replace("/", "\\/")
    assert "correct" not in without_key(twice, KEY)
    assert "correct" not in reply_without_key(twice, KEY)
