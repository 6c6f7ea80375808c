"""`eqlab leaderboard submit` and `eqlab leaderboard build` as a user meets them: what is said, and the exit code."""

import json
import sys

import pytest

import eqlab as api

pytest_plugins = ["loopback_runs"]


def test_from_a_run_to_somebody_elses_board(eqlab, run, store, tmp_path):
    pytest.importorskip("cryptography")
    run("alpha")
    inbox = tmp_path / "inbox"
    code, said, _ = eqlab("submit", "last", "-o", inbox / "a.json", "--store", store.where)
    assert code == 0
    assert "12 answers" in said
    board = ("leaderboard", "build", tmp_path / "site", "--no-runs", "--from", inbox)
    code, said, _ = eqlab(*board)
    assert code == 0
    assert "alpha scores" in said
    assert (tmp_path / "site" / "index.html").is_file()
    body = json.loads((inbox / "a.json").read_text())
    code, said, _ = eqlab("leaderboard", "check", inbox / "a.json")
    assert code == 0
    assert said.startswith("holds: a.json: alpha, EQ Lab open dialogues ")
    body["claims"][0]["score"] = 100
    (inbox / "b.json").write_text(json.dumps(body))
    code, said, _ = eqlab(*board)
    assert code == 1
    assert "refused: b.json: its signature does not fit" in said
    code, said, _ = eqlab(*board, "--json")
    assert code == 1
    assert json.loads(said)["refused"][0]["file"] == "b.json"
    again = tmp_path / "again"
    again.mkdir()
    (again / "a.json").write_bytes((inbox / "a.json").read_bytes())
    code, said, _ = eqlab("leaderboard", "check", inbox / "a.json", again)
    assert code == 1  # under the same name in another folder, too
    assert "refused: a.json: it holds the same answers as a.json" in said
    (inbox / "README.md").write_text("Send us yours.")
    code, said, _ = eqlab("leaderboard", "check", inbox, "--json")
    assert code == 1
    told = json.loads(said)
    assert [(one["file"], one["holds"]) for one in told["submissions"]] == [("a.json", True), ("b.json", False)]
    assert "signature" in told["submissions"][1]["reason"]
    assert list(told["left_out"]) == ["README.md"]
    (inbox / "b.json").unlink()
    code, said, _ = eqlab(*board)
    assert code == 0  # what only lies beside submissions is no forged one
    assert "left out: README.md" in said
    assert eqlab("leaderboard", "check", tmp_path / "site" / "models")[0] == 2


def test_an_empty_store_and_no_other_source(eqlab, tmp_path):
    code, _, said = eqlab("leaderboard", "build", tmp_path / "site", "--store", tmp_path / "none.db")
    assert code == 1
    assert "There is no store" in said  # a typing error makes no new one
    api.open_store(str(tmp_path / "none.db")).close()
    code, _, said = eqlab("leaderboard", "build", tmp_path / "site", "--store", tmp_path / "none.db")
    assert code == 2
    assert "nothing to put on the board" in said


def test_without_the_package_for_signing(eqlab, run, store, monkeypatch, tmp_path):
    run("alpha")
    monkeypatch.setitem(sys.modules, "cryptography", None)
    code, _, said = eqlab("submit", "last", "--store", store.where, "-o", tmp_path / "x.json")
    assert code == 2
    assert "eqlab[submit]" in said


def test_a_table_that_a_submission_brings_is_told_to_the_host(eqlab, run, store, tmp_path):
    """A board of 4 tables had 5 after a rebuild, and nobody said why."""
    pytest.importorskip("cryptography")
    inbox = tmp_path / "inbox"
    board = ("leaderboard", "build", tmp_path / "site", "--no-runs", "--from", inbox)
    for name, request in (("alpha", {}), ("beta", {}), ("gamma", {"limit": 11})):
        run(name, **request)
        assert eqlab("submit", "last", "-o", inbox / f"{name}.json", "--store", store.where).code == 0
        code, said, _ = eqlab(*board)
        assert code == 0
        assert ("new table" in said) == (name == "gamma")  # a first build is new as a whole
    assert (
        "new table since the last build: EQ Lab open dialogues, item set open, limit 11: not in one table with "
        "EQ Lab open dialogues, item set open, limit 12, because of limit 11\n"
    ) in said
    assert json.loads(eqlab(*board, "--json").out)["new_tables"] == []
