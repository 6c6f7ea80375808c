"""Typing errors and places that cannot be written are said before the work, in one line."""

import pytest


def test_looking_at_a_store_that_is_not_there_makes_none(eqlab, tmp_path):
    for command in (("runs",), ("show",), ("report",), ("plot",), ("cite",)):
        done = eqlab(*command, "--store", "typo.db")
        assert done.code == 1
        assert "There is no store" in done.err
    assert not (tmp_path / "typo.db").exists()


@pytest.mark.parametrize("where", ["/proc/nowhere/x.html", "/dev/null/x.html", "."])
def test_what_cannot_be_written_is_said_before_anything_is_asked(eqlab, server, where):
    done = eqlab("run", "m", "-b", "empathy", "--limit", "1", "--base-url", server.url, "--report", where)
    assert done.code == 2, done.err
    assert "cannot be written" in done.err or "is a folder" in done.err
    assert not server.requests
    assert eqlab("report", "published:gpt-4-0314", "-o", where).code == 2


def test_an_item_that_is_not_there_is_a_failure(eqlab, server):
    server.reply = lambda body, n: "That sounds hard."
    assert eqlab("run", "m", "-b", "empathy", "--limit", "1", "--base-url", server.url).code == 0
    done = eqlab("show", "--item", "nope")
    assert done.code == 1
    assert "No item" in done.err


def test_tables_keep_to_eighty_columns_and_break_no_name(eqlab):
    names = ("gpt-4-0314", "gpt-3.5-turbo-0301", "TheBloke/Mistral-7B-Instruct-v0.2-GGUF")
    done = eqlab("compare", *(f"published:{name}" for name in names), COLUMNS="80")
    assert done.code == 0, done.err
    assert max(map(len, done.out.splitlines())) <= 80
    assert done.out.count("TheBloke/Mistral-7B-Instruct-v0.2-GGUF") > 3
    for part in ("TheBloke/Mistral-7B\n", " -Instruct", "turbo-\n"):
        assert part not in done.out
