"""The bars: today's models, as strict as they are, answer on the first command, 16 in flight, faults mixed in."""

import pytest
import strict_anthropic as anthropic
import strict_google as google
import strict_openai as openai
import strict_servers as strict

import eqlab.models.http as http
from eqlab.models.http import HttpChat
from eqlab.runs.ask import Listener, run
from eqlab.runs.request import Request, prepare
from eqlab.store.access import open_store

KEY = "sk-strict-0123456789"
VARIABLES = [f"{name}_API_KEY" for name in ("OPENAI", "ANTHROPIC", "GEMINI", "AZURE_OPENAI", "OPENROUTER", "XAI")]
FAULTS = {5: strict.broken, 9: strict.overloaded, 14: strict.broken}
TRIALS, IN_FLIGHT = 20, 16


@pytest.fixture(autouse=True)
def _keys(monkeypatch):
    monkeypatch.setattr(HttpChat, "_backoff", lambda self, retries: 0.01)
    for name in VARIABLES:
        monkeypatch.setenv(name, KEY)


def asked(server, spec, path, tmp_path, *, limit=TRIALS, **more):
    """(statuses, answers, what was said) of one command."""
    said = []
    store = open_store(str(tmp_path / "s.db"))
    prepared = prepare(
        Request(
            models=(spec,),
            base_url=server.base(path),
            limit=limit,
            **({"benchmarks": ("eqbench",), "profile": "full"} | more),
        )
    )
    outcome = run(prepared, store, concurrency=IN_FLIGHT, listener=Listener(say=said.append))
    assert not outcome.failures, outcome.failures
    assert not outcome.lost
    trials = list(store.scored(outcome.run, f"model:{spec}", "eqbench"))
    learnt = store.find_run(outcome.run).provenance.get("learnt", {}).get(f"model:{spec}", [])
    store.close()
    return trials, said, learnt


CASES = {
    "gpt-5": (openai.gpt5, "openai/gpt-5", "/v1", 2, 0),
    "responses": (openai.responses_only, "openai/gpt-5-pro", "/v1", 2, 0),
    "claude": (anthropic.claude, "anthropic/claude-opus-5", "/anthropic/v1", 1, 4),
    "gemini": (google.gemini, "google/gemini-3-pro", "/v1beta", 0, 5),
    "azure": (openai.azure, "azure/my-gpt", "/openai", 0, 6),
    "openrouter": (openai.openrouter, "openrouter/openai/gpt-4o", "/api/v1", 0, 5),
    "xai": (openai.grok, "xai/grok-4", "/v1", 0, 5),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("latency", [0.0, 0.3], ids=["quick", "slow"])
def test_twenty_of_twenty_on_the_first_command(case, latency, tmp_path, monkeypatch):
    """At 0.3 s the first request is no longer alone when it is refused: those in flight are sent again, no more."""
    provider, spec, path, fields, refused = CASES[case]
    faults = FAULTS if latency == 0 else {}
    if latency == 0:
        monkeypatch.setattr(http, "_ALONE_NEAR", 10.0)  # on a busy machine the first takes its time
    with strict.serving(provider, latency=latency, faults=faults) as server:
        trials, said, learnt = asked(server, spec, path, tmp_path)
    statuses = [one.attempts[-1].status for one in trials]
    assert len(trials) == TRIALS
    assert statuses.count("ok") + statuses.count("refused") == TRIALS, statuses
    assert statuses.count("refused") == refused
    assert all(len(one.attempts) == 1 for one in trials)  # nothing that was learnt cost an attempt
    assert not any(answer.transport_retries for one in trials for answer in one.attempts) or faults
    learnt = [line for line in learnt if "thinks" not in line]
    assert len(learnt) == len(set(learnt)) == fields
    assert all(sum(line in one for one in said) == 1 for line in learnt)
    assert len(server.requests) <= TRIALS + len(faults) + fields * (1 if latency == 0 else IN_FLIGHT)


def test_what_was_really_sent_is_what_is_stored(tmp_path):
    with strict.serving(openai.gpt5) as server:
        trials, _, _ = asked(server, "openai/gpt-5", "/v1", tmp_path, limit=3, settings={"effort": "low"})
    for one in trials:
        (answer,) = one.attempts
        sent = server.requests[-1]
        assert answer.temperature is None
        assert "temperature" not in answer.sent
        assert answer.sent["dialect"] == "openai_chat"
        assert answer.sent["room"] == sent["max_completion_tokens"]
        assert answer.sent["effort"] == sent["reasoning_effort"] == "low"
        assert answer.sent["seed"] in [body["seed"] for body in server.requests]
        assert answer.usage == {"reasoning_tokens": 300, "cached_tokens": 128}
        assert answer.model == "gpt-5-2025-08-07"


@pytest.mark.parametrize(("provider", "spec"), [(openai.grok, "xai/grok-4"), (openai.gpt5, "openai/gpt-5")])
def test_thought_counts_once_whether_the_replys_tokens_have_it_or_not(provider, spec, tmp_path):
    """A limit of 0.50 USD let a model of xAI think for 20."""
    with strict.serving(provider) as server:
        trials, _, _ = asked(server, spec, "/v1", tmp_path, limit=3)
    assert {one.attempts[-1].tokens_out for one in trials} == {350}


def test_room_that_the_user_names_reaches_the_model_under_its_own_name(tmp_path):
    for number, (name, room) in enumerate({"max_tokens": 8000 + 16384, "max_completion_tokens": 8000}.items()):
        with strict.serving(openai.gpt5) as server:
            asked(server, "openai/gpt-5", "/v1", tmp_path / str(number), limit=2, settings={name: 8000})
        assert server.requests[-1]["max_completion_tokens"] == room


@pytest.mark.parametrize(
    ("provider", "spec", "path", "way"),
    [
        (anthropic.claude, "anthropic/claude-opus-5", "/anthropic/v1", "json_schema"),
        (anthropic.older_claude, "anthropic/claude-3", "/anthropic/v1", "tool"),
        (google.gemini, "google/gemini-3-pro", "/v1beta", "responseSchema"),
    ],
)
def test_structured_answers_in_each_providers_own_way(provider, spec, path, way, tmp_path):
    with strict.serving(provider) as server:
        trials, _, _ = asked(server, spec, path, tmp_path, limit=6, structured=True)
    good = [one.attempts[-1] for one in trials if one.attempts[-1].status == "ok"]
    assert len(good) >= 4
    for answer in good:
        assert answer.sent["schema"] == way
        assert set(answer.values.values()) == {5}


def test_faults_that_come_with_a_200_are_the_providers(tmp_path):
    faults = {2: openai.late_error, 5: openai.error_finish, 9: openai.late_error}
    with strict.serving(openai.openrouter, faults=faults) as server:
        trials, _, _ = asked(server, "openrouter/openai/gpt-4o", "/api/v1", tmp_path)
    assert {one.attempts[-1].status for one in trials} == {"ok", "refused"}
    assert all(len(one.attempts) == 1 for one in trials)
    good = [one.attempts[0] for one in trials if one.attempts[0].status == "ok"]
    assert {answer.usage["cost"] for answer in good} == {0.00014}


def test_a_refusal_names_the_providers_code_and_is_not_asked_again(tmp_path):
    with strict.serving(openai.azure) as server:
        trials, _, _ = asked(server, "azure/my-gpt", "/openai", tmp_path)
        before = len(server.requests)
        asked(server, "azure/my-gpt", "/openai", tmp_path)
        assert len(server.requests) == before
    notes = {one.attempts[-1].note for one in trials if one.attempts[-1].status == "refused"}
    assert notes == {
        "the provider declined: content_filter",
        "the provider declined: content_filter: self_harm",
    }
