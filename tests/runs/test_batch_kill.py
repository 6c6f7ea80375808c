"""kill -9 while a batch is being sent, was just made, is looked at, is taken in: the same command finds it. Nothing is
lost, nothing is sent twice."""

import os
import signal
import subprocess
import sys

import pytest
from batch_servers import KEY, housed

import eqlab as api
from eqlab.core.answers import final

COMMAND = [sys.executable, "-c", "from eqlab.cli.main import main; main()"]
MOMENTS = {
    "openai": ["create", "created", "look", "results"],
    "anthropic": ["create", "created", "results"],
    "gemini": ["create", "created", "results"],
}
"""A batch written down and not taken; taken and not confirmed; under way; ended and not taken in."""


def start(house, store, limit, pipe=subprocess.DEVNULL):
    command = [*COMMAND, "run", house.model, "--base-url", house.url, "-b", "eqbench", "--limit", str(limit)]
    command += ["--profile", "full", "--batch", "--poll", "0.1", "--store", store]
    names = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY")
    environment = dict(os.environ) | dict.fromkeys(names, KEY)
    return subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, env=environment)


@pytest.mark.parametrize(
    "kind", ["gemini", *(pytest.param(kind, marks=pytest.mark.claims) for kind in ("openai", "anthropic"))]
)
def test_killed_at_every_moment(kind, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    where = str(tmp_path / "s.db")
    with housed(kind) as house:
        for moment in MOMENTS[kind]:
            house.held.clear()
            house.hold = moment
            house.looks_needed = 10**9 if moment == "look" else 2
            worker = start(house, where, 10)
            assert house.held.wait(60), f"{moment} never came"
            assert worker.poll() is None
            worker.send_signal(signal.SIGKILL)
            worker.wait()
        house.hold = ""
        house.looks_needed = 1
        out, err = start(house, where, 10, subprocess.PIPE).communicate(timeout=120)
        assert "Traceback" not in err, err
        assert house.model in out, err
        store = api.open_store(where)
        stored = store.find_run("last")
        trials = list(store.scored(stored.id, stored.config.models[0].subject, "eqbench"))
        store.close()
        # One attempt each: nothing was lost, nothing asked again.
        assert [[answer.status for answer in one.attempts] for one in trials] == [["ok"]] * 10
        for one in trials:
            assert set(final(one.attempts).values) == set(one.trial.form.keys)
        assert len(house.batches) == 1
        assert len(house.sent) == len(set(house.sent)) == 9
        directly = {prompt for one in trials for prompt in [one.trial.prompt]} - set(house.sent)
        assert len(directly) == 1
