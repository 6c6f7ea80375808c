"""The commands: ten verbs in groups, the rest one level down, old names with a pointer, and the shell's completion."""

import json
import subprocess
import sys

import pytest
from typer.main import get_command

from eqlab.cli.main import app
from eqlab.cli.tree import TREE

ROOT = get_command(app)


@pytest.fixture(autouse=True)
def _named(monkeypatch):
    """As installed: the program is called eqlab, whatever runs the tests."""
    monkeypatch.setattr("typer._click.utils._detect_program_name", lambda: "eqlab")


def doors(tree=TREE, path=()):
    for name, door in tree.items():
        yield (*path, name), door
        yield from doors(door.doors or {}, (*path, name))


def command(path):
    found = ROOT
    for name in path:
        found = found.commands[name]
    return found


def test_the_first_screen_has_few_verbs_in_groups(eqlab):
    text = eqlab("--help").out
    shown = [name for name, door in TREE.items() if not door.now]
    assert len(shown) <= 16
    for name in shown:
        assert f"\n  {name} " in text
    for part in ("Evaluate", "Look", "People", "Publish", "Research"):
        assert f"\n{part}:\n" in text
    assert "\n  reproduce " not in text
    assert all(len(line) <= 80 for line in text.splitlines())


def test_help_loads_no_command():
    code = (
        "import sys\nsys.argv = ['eqlab', '--help']\nfrom eqlab.cli.main import main\ntry:\n    main()\nfinally:\n"
        "    print([name for name in sys.modules if name.startswith('eqlab.')], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    allowed = {"cli", "cli.main", "cli.plain", "cli.tree", "core", "core.errors", "core.values"}
    assert {name.removeprefix("eqlab.") for name in json.loads(done.stderr.strip().replace("'", '"'))} <= allowed


@pytest.mark.parametrize("path", [path for path, _ in doors()], ids=" ".join)
def test_every_door_opens_and_has_a_line(path):
    found, door = command(path), dict(doors())[path]
    assert door.line or door.now
    assert len(door.line) <= 70
    assert found.help or hasattr(found, "commands")


MOVED = [(path, door) for path, door in doors() if door.now]


@pytest.mark.parametrize(("path", "door"), MOVED, ids=[" ".join(path) for path, _ in MOVED])
def test_a_moved_command_is_the_same_at_its_new_place(path, door):
    old, new = command(path), command(door.now.split())
    if hasattr(old, "commands") and path != ("items",):
        assert dict(old.commands).keys() == dict(new.commands).keys()
    elif path != ("items",):
        assert old.callback.__wrapped__ is new.callback.__wrapped__


@pytest.mark.parametrize(
    ("old", "now", "rest"),
    [
        ("instruments", "data instruments", "--json"),
        ("power", "research power", "--studies 100 --looks 1 --json"),
        ("show", "runs show", "--json"),
        ("store", "runs store", "check"),
        ("reproduce", "research reproduce", "iqbench"),
        ("study ban", "study people ban", "nothing.toml"),
        ("items report", "research items", "published"),
    ],
)
def test_an_old_name_says_the_new_one_on_standard_error_alone(eqlab, asked, old, now, rest):
    done, moved = eqlab(*old.split(), *rest.split()), eqlab(*now.split(), *rest.split())
    assert (moved.code, moved.out) == (done.code, done.out)
    pointer = f"'eqlab {old}' is now 'eqlab {now}'; the old name goes with 0.4.\n"
    assert done.err == moved.err + ("" if done.code else pointer), "an error stays one line"
    if "--json" in rest:
        assert done.code == 0
        json.loads(done.out)


@pytest.fixture
def asked(eqlab, server):
    assert eqlab("run", "m", "-b", "empathy", "--limit", "1", "--base-url", server.url).code == 0


def test_a_group_with_a_usual_command(eqlab, asked):
    assert eqlab("runs").out == eqlab("runs", "list").out != ""
    assert eqlab("runs", "--json").out == eqlab("runs", "list", "--json").out
    assert "Usage: eqlab runs [OPTIONS] COMMAND" in eqlab("runs", "--help").out
    wrong = eqlab("runs", "--bogus")
    assert wrong.code == 2
    assert "See 'eqlab runs --help'" in wrong.err
    assert "nothing.toml" in eqlab("study", "people", "nothing.toml").err


def test_advanced_options_stand_last(eqlab):
    usual, _, rest = eqlab("run", "--help").out.partition("Options of one benchmark:")
    one, _, advanced = rest.partition("Advanced:")
    assert "--limit" in usual
    assert "--speaker" in one
    for flag in ("--situations", "--style", "--short", "--adaptive", "--width", "--perturb"):
        assert f" {flag} " not in usual + one + advanced, "an -o option; the flag works for a release"
    for flag in ("--timeout", "--silence", "--patience", "--dialect", "--max-concurrency", "--poll"):
        assert flag in advanced
        assert flag not in usual


@pytest.mark.parametrize(
    ("words", "found", "absent"),
    [
        (["r"], ["run", "report", "runs", "research"], ["reproduce", "judge"]),
        (["research", "p"], ["probe", "power"], ["items"]),
        (["runs", "show", "--st"], ["--status", "--store"], ["--item"]),
        (["study", "people", ""], ["list", "erase"], ["serve"]),
    ],
)
def test_the_shell_completes(eqlab, words, found, absent):
    line = " ".join(["eqlab", *words])
    done = eqlab(_EQLAB_COMPLETE="complete_bash", COMP_WORDS=line, COMP_CWORD=len(words))
    assert done.code == 0, done.err
    assert set(found) <= set(done.out.split())
    assert not set(absent) & set(done.out.split())


def test_completion_can_be_shown(eqlab, monkeypatch):
    monkeypatch.setattr("typer.completion._get_shell_name", lambda: "bash")
    assert "_EQLAB_COMPLETE=complete_bash" in eqlab("--show-completion").out
