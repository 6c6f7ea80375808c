"""docs/benchmarks/dialogue.md shows what really comes out: its commands run against a script on loopback."""

import re

import pytest
from conftest import ROOT
from scripted import is_speaker, speak, talk

TEXT = (ROOT / "docs" / "benchmarks" / "dialogue.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"```\n\$ eqlab ([^\n]*)\n(.*?)```", re.DOTALL)


def shown(begins):
    """(command, output) of the block whose command begins so."""
    found = [(command, out) for command, out in BLOCK.findall(TEXT) if command == begins]
    assert len(found) == 1, begins
    return found[0]


def plain(text):
    """Words and numbers: where a line breaks depends on the terminal."""
    return " ".join(text.split())


@pytest.fixture
def world(server, tmp_path):
    """`warm` feels four points more with each reply than `cool`; listeners are as good as their names."""

    def reply(body, number):
        return speak(body, lean=4 * (body["model"] == "warm")) if is_speaker(body) else talk(body, number)

    server.reply = reply
    prices = tmp_path / "prices.toml"
    prices.write_text(
        '[[price]]\nmodels = ["good", "plain", "bad", "cool", "warm"]\ninput = 1.0\noutput = 4.0\nsource = "a table"\n'
    )
    return ["--base-url", server.url, "--store", "s.db"], ["--prices", str(prices)]


def test_the_commands_shown_say_what_is_shown(eqlab, world):
    where, prices = world
    command, out = shown("run good plain bad --speaker cool --speaker warm --profile full --limit 20 --dry-run")
    done = eqlab(*command.split(), *where, *prices)
    assert done.code == 0, done.err
    assert plain(out) in plain(done.out)

    command, out = shown("run good plain bad --speaker cool --speaker warm --profile full --limit 20")
    done = eqlab(*command.split(), *where)
    assert done.code == 0, done.err
    for part in out.split("[…]"):
        assert plain(part) in plain(done.out), part

    command, out = shown("compare last --speakers warm")
    done = eqlab(*command.split(), *where[2:])
    assert done.code == 0, done.err
    for part in out.split("[…]"):
        assert plain(part) in plain(done.out), part

    command, out = shown("compare last")
    done = eqlab(*command.split(), *where[2:])
    assert done.code == 0, done.err
    for part in out.split("[…]"):
        assert plain(part) in plain(done.out), part
