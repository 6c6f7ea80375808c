"""`eqlab sweep` as a user meets it: the plan, the summary, what failed and why, the exit code."""

import io
import json

import pytest
from aiohttp import web
from small_sweep import good, sweep_text

from eqlab.models.http import HttpChat


@pytest.fixture
def file(server, tmp_path):
    server.reply = good
    path = tmp_path / "sweep.toml"
    path.write_text(sweep_text(server.url))
    return path


def test_the_plan_asks_nothing(eqlab, file, server):
    done = eqlab("sweep", file, "--plan")
    assert done.code == 0, done.err
    assert done.out.splitlines()[1].split()[:6] == ["a", "eqbench", "2", "12", "0", "12"]
    assert done.out.splitlines()[3].split()[:5] == ["all", "4", "24", "0", "24"]
    assert server.requests == []
    cells = json.loads(eqlab("sweep", file, "--plan", "--json").out)
    assert [cell["calls_at_least"] for cell in cells] == [6] * 4
    assert json.loads(eqlab("runs", "--json").out) == []


def test_from_plan_to_report(eqlab, file, tmp_path):
    done = eqlab("sweep", file, "--report", "r.html")
    assert done.code == 0, done.err
    assert "a · eqbench · seed 1: 6 of 6 answered, done." in done.err
    assert (tmp_path / "r.html").stat().st_size > 5000
    cells = json.loads(eqlab("sweep", file, "--json").out)["cells"]
    assert [cell["failure"] for cell in cells] == [None] * 4
    assert [cell["result"]["headline"]["n"] for cell in cells] == [6] * 4
    planned = json.loads(eqlab("sweep", file, "--plan", "--json").out)
    assert [cell["answered"] for cell in planned] == [6] * 4
    assert eqlab("show", cells[0]["run"], "--limit", 1).code == 0  # a cell is an ordinary run


def test_what_failed_stands_at_the_end_with_its_reason(eqlab, file, server):
    server.reply = lambda body, n: web.Response(status=401) if body["model"] == "b" else good(body)
    done = eqlab("sweep", file, "--yes")
    assert done.code == 1
    assert "2 of 4 cells stopped early:" in done.err
    assert "b (all its 2 cells): " in done.err
    assert "refuses the key" in done.err
    assert "run the same command again" in done.err
    assert "not begun" in done.out


def test_a_trial_without_an_answer_is_no_success(eqlab, file, server, monkeypatch):
    """One of many lost, its model going on: exit 1, with the reason and the way to go on; answered later, exit 0."""
    monkeypatch.setattr(HttpChat, "_backoff", lambda self, retries: 0.01)
    lost = []

    def reply(body, number):
        if body["model"] == "b" and number > 3 and (not lost or body["messages"] == lost[0]):
            lost.append(body["messages"])
            return web.Response(status=500, text="its disk is full")
        return good(body)

    server.reply = reply
    done = eqlab("sweep", file, "--yes")
    assert done.code == 1
    assert "b · eqbench · seed " in done.err
    assert "1 trial got no answer (last: HTTP 500: its disk is full)." in done.err
    assert "run the same command again" in done.err
    server.reply = good
    done = eqlab("sweep", file, "--yes")
    assert done.code == 0
    assert "got no answer" not in done.err


@pytest.mark.parametrize("said_in", ["the command", "the file"])
def test_patience_is_the_users(eqlab, file, server, monkeypatch, said_in):
    """An outage of three replies: waited for as a rule, given up by whoever has no patience. The command has the last
    word."""
    monkeypatch.setattr(HttpChat, "_backoff", lambda self, retries: 0.01)
    text = sweep_text(server.url, ("a",), at_once=1)
    server.reply = lambda body, n: web.Response(status=503) if 2 <= n <= 4 else good(body)
    file.write_text(text if said_in == "the command" else f"patience = 0\n{text}")
    flags = ("--patience", 0) if said_in == "the command" else ()
    done = eqlab("sweep", file, "--yes", *flags)
    assert done.code == 1
    assert "has not answered for 0 s" in done.err
    assert "--patience waits longer" in done.err
    server.requests.clear()
    assert eqlab("sweep", file, "--yes", "--patience", 60).code == 0
    assert len(server.requests) == 11 + 3


def test_patience_has_one_help_text(eqlab):
    for command in ("run", "sweep", "judge", "probe"):
        assert "Seconds that an outage, or a rate limit" in " ".join(eqlab(command, "--help").out.split())


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--engine", "slurm"], "Choose local or ray"),
        (["--parts", "p"], "Add --engine ray"),
        (["--engine", "ray"], "--parts URL"),
        (["--engine", "ray", "--parts", "nosuch://x"], "cannot be used"),
    ],
)
def test_engines_that_cannot_work_say_why(eqlab, file, server, more, said):
    done = eqlab("sweep", file, "--yes", *more)
    assert done.code == 2
    assert said in done.err
    assert "Traceback" not in done.err
    assert server.requests == []


def test_the_live_table_names_what_is_under_way_and_what_failed(server):
    from small_sweep import small_cells

    from eqlab.cli.sweep import SweepTable
    from eqlab.core.errors import ModelError
    from eqlab.sweep.grid import SweepRunPlan

    cells = small_cells(server.url)
    table = SweepTable([SweepRunPlan(cell, 6, 0, 1, 1) for cell in cells])
    table.moved(cells[0], 2, 6)
    table.moved(cells[1], 6, 6)
    table.ended(cells[1], None)
    table.ended(cells[2], ModelError("gone \x1b[31m", ""))
    from rich.console import Console

    text = io.StringIO()
    Console(file=text, width=120).print(table._table())
    text = text.getvalue()
    assert "a · eqbench · seed 0" in text
    assert "2 of 6" in text
    assert "a · eqbench · seed 1" not in text
    assert "gone \\x1b" in text
    assert "1 of 4 cells done, 1 stopped early · 8 of 24 trials answered" in text
