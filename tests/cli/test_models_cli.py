"""`eqlab models`: the list, the question, the table of the documentation."""

import json

from aiohttp import web
from conftest import ROOT


def test_the_list_says_whether_a_key_is_set(eqlab, monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-secret-0123456789")
    monkeypatch.delenv("MISTRAL_API_KEY", raising=False)
    done = eqlab("models", "--json")
    rows = {row["provider"]: row for row in json.loads(done.out)}
    assert (rows["anthropic"]["dialect"], rows["anthropic"]["set"]) == ("anthropic", True)
    assert rows["mistral"]["set"] is False
    assert rows["ollama"]["set"] is None
    assert "secret" not in done.out + eqlab("models").out
    assert "AZURE_OPENAI_API_KEY" in eqlab("models").out


def test_one_tiny_question(eqlab, server):
    def reply(body, number):
        if "temperature" in body:
            error = {"message": "Unsupported value: 'temperature'", "param": "temperature", "code": "unsupported_value"}
            return web.json_response({"error": error}, status=400)
        return "OK"

    server.reply = reply
    done = eqlab("models", "--check", "m", "--base-url", server.url)
    assert done.code == 0, done.err
    assert done.out.startswith("m: OK · ")
    assert "temperature is not sent" in done.out
    server.reply = lambda body, n: web.json_response({"error": {"message": "who?"}}, status=401)
    done = eqlab("models", "--check", "m", "--base-url", server.url)
    assert done.code == 1
    assert "refuses the key" in done.out
    assert eqlab("models", "--check").code == 2


def test_effort_and_dialect_are_part_of_what_is_sent(eqlab, server):
    server.reply = lambda body, n: "OK"
    eqlab("models", "--check", "m", "--base-url", server.url, "--effort", "low")
    assert server.requests[-1]["reasoning_effort"] == "low"
    for flags in (("--effort", "huge"), ("--dialect", "klingon")):
        done = eqlab("models", "--check", "m", "--base-url", server.url, *flags)
        assert done.code == 2
        assert "eqlab: " in done.err


def test_the_documentation_has_the_table_as_it_is(eqlab):
    assert eqlab("models", "--markdown").out in (ROOT / "docs" / "models.md").read_text()
