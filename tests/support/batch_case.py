"""What tests of batches share: a strict provider on loopback, a small run, and what is stored of it."""

from batch_servers import KEY

import eqlab as api
from eqlab.models.timeouts import Pace
from eqlab.runs.ask import Listener, run

PACE = Pace(0.02, 0.05, 0.1)
KINDS = ["openai", "anthropic", "gemini"]


def keys(monkeypatch):
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY"):
        monkeypatch.setenv(name, KEY)
    return monkeypatch.context()


def prepared(house, limit=8, **more):
    return api.prepare(
        api.Request(
            models=(house.model,),
            base_url=house.url,
            limit=limit,
            **({"benchmarks": ("eqbench",), "profile": "full"} | more),
        )
    )


def answered(store, plan, benchmark="eqbench"):
    """Every trial with its attempts."""
    return list(store.scored(plan.config.id, plan.config.models[0].subject, benchmark))


def statuses(store, plan):
    return [[answer.status for answer in one.attempts] for one in answered(store, plan)]


def stop_at(house, store, plan, count=7):
    """A session that is stopped while its batch is out."""
    import os
    import signal

    def say(line):
        if f"of {count} done" in line:
            os.kill(os.getpid(), signal.SIGINT)

    said = []
    outcome = run(plan, store, batch=PACE, listener=Listener(say=lambda line: (said.append(line), say(line))))
    assert outcome.interrupted
    return said
