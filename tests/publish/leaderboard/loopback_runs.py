"""Runs of our own on a loopback server, and a signed submission of one."""

import json
import re

import pytest

import eqlab as api
from eqlab.publish.leaderboard.submission import make_submission


def scores_for(body, give):
    words = re.search(r"at the end\?\n((?:\w+\n){4})", body["messages"][-1]["content"]).group(1).split()
    return "\n".join(f"{word}: {give(index)}" for index, word in enumerate(words))


@pytest.fixture
def run(server, store):
    """Runs models that differ in what they say; returns the stored run."""

    def go(*models, limit=12, **request):
        server.reply = lambda body, number: scores_for(
            body, lambda index: (len(body["model"]) * 3 + index * 2 + len(body["messages"][-1]["content"])) % 11
        )
        prepared = api.prepare(
            api.Request(
                models=models,
                base_url=server.url,
                limit=limit,
                **({"benchmarks": ("eqbench",), "profile": "full"} | request),
            )
        )
        return store.find_run(api.run(prepared, store, concurrency=4, timeout=60).run)

    return go


@pytest.fixture
def submission(run, store):
    """The content of a submission as it comes back from disk."""
    pytest.importorskip("cryptography")
    return json.loads(json.dumps(make_submission(store, run("alpha"))))
