"""Every command that the product prints works when it is pasted: with the store, data and address that were given."""

import re
import shlex
import sys

import pytest
from conftest import ROOT
from reading import reader
from typer.main import get_command

from eqlab.cli.main import app
from eqlab.cli.plain import next_step, pasteable
from eqlab.cli.tree import takes

GIVEN = ["--store", "a b.db", "--data=some data", "--base-url", "http://localhost:1/v1"]
HINTS = sorted(
    {
        found.strip()
        for path in (ROOT / "src").rglob("*.py")
        for found in re.findall(r"[`' ;](eqlab(?: [a-z][a-z-]*)+)", path.read_text("utf-8"))
        if takes(found.split()[1:])[0]
    }
)


def parsed(words):
    """The command at the end of the path, and the values of its options."""
    command, context = get_command(app), None
    while hasattr(command, "commands"):
        context = command.make_context("eqlab", list(words), parent=context)
        _, command, words = command.resolve_command(context, [*context._protected_args, *context.args])
    return command, command.make_context("eqlab", list(words), parent=context, resilient_parsing=True).params


def test_there_are_hints():
    assert len(HINTS) > 40


@pytest.mark.parametrize("hint", HINTS)
def test_a_hint_carries_what_was_given_where_it_is_taken(monkeypatch, hint):
    path, flags = takes(hint.split()[1:])
    monkeypatch.setattr(sys, "argv", ["eqlab", "run", *GIVEN])
    said = pasteable(f"Next: {hint}")
    words = shlex.split(said.removeprefix("Next: "))
    for flag, value in (("--store", "a b.db"), ("--data", "some data"), ("--base-url", "http://localhost:1/v1")):
        assert (flag in words) == (flag in flags), said
        if flag in flags:
            assert words[words.index(flag) + 1] == value
            _, values = parsed([*path, *words[1 + len(path) : words.index(flag) + 2]])
            assert str(values[flag.removeprefix("--").replace("-", "_")]) == value
    monkeypatch.setattr(sys, "argv", ["eqlab", "run"])
    assert pasteable(f"Next: {hint}") == f"Next: {hint}"


def test_a_flag_that_a_hint_names_stands_once(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["eqlab", "runs", "show", "--store", "x.db"])
    said = pasteable("There is none; 'eqlab run --store' makes one, 'eqlab run' asks.")
    assert said == "There is none; 'eqlab run --store' makes one, 'eqlab run --store x.db' asks."


def test_an_address_is_not_carried_to_a_model_elsewhere(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["eqlab", "run", "m", "--base-url", "http://localhost:1/v1"])
    assert pasteable("Next: eqlab run PROVIDER/MODEL") == "Next: eqlab run PROVIDER/MODEL"
    assert pasteable("a judge ('eqlab judge MODEL --on RUN')") == "a judge ('eqlab judge MODEL --on RUN')"
    assert "http" in pasteable("Next: eqlab run OTHER")


def test_another_model_is_asked_the_same_questions(monkeypatch):
    asked = ["-b", "eqbench", "--limit", "40", "--items=my items.toml", "-o", "revision=yes", "--structured"]
    asked += ["-bempathy", "-orules=paper"]
    monkeypatch.setattr(sys, "argv", ["eqlab", "run", "m", *asked, "--label", "main", "--report", "r.html"])
    hint = next_step("3f2a", ["model:m"])
    assert shlex.split(hint[hint.index("eqlab run") : hint.index(";")]) == ["eqlab", "run", "OTHER/MODEL", *asked]


def test_what_a_run_prints_next_can_be_pasted(eqlab, server, tmp_path):
    flags = ("-b", "eqbench", "--limit", 5, "--base-url", server.url, "--store", tmp_path / "my store.db")
    server.reply = reader
    said = eqlab("run", "one", "two", *flags).out
    hints = re.findall(r"(?:: |; )(eqlab [^;\n]+)", said)
    assert len(hints) >= 2
    for hint in hints:
        done = eqlab(*shlex.split(hint)[1:])
        assert done.code == 0, (hint, done.err)
    wrong = eqlab("runs", "show", "nothing", "--store", tmp_path / "my store.db")
    assert wrong.code != 0
    for hint in re.findall(r"'(eqlab [^']+(?:'[^']+'[^']*)?)'", wrong.err):
        assert eqlab(*shlex.split(hint)[1:]).code == 0, hint
