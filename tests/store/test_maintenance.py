"""Looking after a store: quick reading, checking, copying, compacting, stores of older versions."""

import sqlite3
import stat
from pathlib import Path

import pytest
from counts import counts_hold
from test_store import answer, config, plan, trial

import eqlab.store
from eqlab.core.errors import StoreError, UsageError
from eqlab.store.access import open_sqlite_reader
from eqlab.store.maintenance import back_up, check, compact
from eqlab.store.pending_answers import PendingAnswers
from eqlab.store.store import Store


@pytest.fixture
def path(tmp_path):
    where = tmp_path / "s.db"
    store = Store(str(where))
    store.begin_run(config(), plan(40), {"python": "3"})
    store.add_answers([answer(n, status="refused" if n % 7 == 0 else "ok", text="x" * 2000) for n in range(30)])
    store.close()
    return where


def test_the_quick_reader_reads_what_the_store_reads(path):
    quick, store = open_sqlite_reader(str(path)), Store(str(path))
    run = config().id
    assert quick.run_ids() == store.run_ids()
    assert quick.find_run("last") == store.find_run("last")
    assert quick.progress(run) == store.progress(run) == {"model:b": (30, 80), "model:openai/a": (0, 80)}
    assert quick.planned_count(run, ["model:b"]) == 80
    for narrowed in ({}, {"status": "refused"}, {"status": "unanswered"}):
        found = list(quick.scored(run, "model:b", "eqbench", **narrowed))
        assert found == list(store.scored(run, "model:b", "eqbench", **narrowed))
        if narrowed.get("status") == "refused":
            assert len(found) == 5
    for items in (["3", "17"], ["%"]):
        trials = quick.trials_about(items)
        assert trials == store.trials_about(items)
        found = list(quick.scored(run, "model:b", "eqbench", trials=trials))
        assert found == list(store.scored(run, "model:b", "eqbench", trials=trials))
        assert {one.trial.items[0] for one in found} == {item for item in items if item != "%"}
    every = list(store.scored(run, "model:b", "eqbench"))
    named = [(one.trial.id, one.repeat) for one in every[3:60:7]]
    answered = {(one.trial.id, one.repeat): one for one in every[3:60:7] if one.attempts}
    assert 0 < len(answered) < len(named)
    for reader in (quick, store):
        found = list(reader.scored(run, "model:b", "eqbench", named=named))
        assert {(one.trial.id, one.repeat): one for one in found} == answered
        assert not list(reader.scored(run, "model:b", "eqbench", named=[]))
    store.close()
    quick.close()


def test_what_cannot_be_read_quickly(path, tmp_path):
    assert open_sqlite_reader("postgresql://host/name") is None
    assert open_sqlite_reader(str(tmp_path / "none.db")) is None
    (tmp_path / "text.db").write_text("not a database, and long enough to look like one to somebody")
    assert open_sqlite_reader(str(tmp_path / "text.db")) is None
    kept = PendingAnswers(str(path))
    kept.keep([answer(35)])
    kept.close()
    assert open_sqlite_reader(str(path)) is None  # there is something to take in first


def test_the_quick_reader_cannot_write(path):
    quick = open_sqlite_reader(str(path))
    with pytest.raises(StoreError, match="readonly"):
        list(quick.rows("DELETE FROM answers", {}))
    quick.close()


def test_a_copy_is_whole_while_a_run_writes(path, tmp_path):
    store = Store(str(path))
    copy = tmp_path / "copies" / "copy.db"
    numbers = iter(range(30, 40))
    back_up(str(path), copy, lambda done, total: store.add_answers([answer(next(numbers, 39), attempt=next(numbers))]))
    store.close()
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600
    assert [file.name for file in copy.parent.iterdir()] == ["copy.db"]
    found = check(str(copy))
    assert found.problems == ()
    assert found.answers >= 30
    with pytest.raises(UsageError, match="already"):
        back_up(str(path), copy)


def test_compacting_gives_room_back_and_touches_nothing(path):
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE waste AS SELECT * FROM answers, (SELECT 1 FROM planned LIMIT 20)")
        connection.execute("DROP TABLE waste")
    connection.close()
    assert check(str(path)).unused > 100_000
    before, after = compact(str(path))
    assert after < before
    found = check(str(path))
    assert (found.unused, found.answers, found.planned, found.problems) == (0, 30, 160, ())
    with open_sqlite_reader(str(path)) as reader:
        assert counts_hold(reader)


def test_damage_is_found(path):
    with sqlite3.connect(path) as connection:
        index = "SELECT rootpage FROM sqlite_master WHERE name = 'sqlite_autoindex_answers_1'"
        (root,) = connection.execute(index).fetchone()
    connection.close()
    content = bytearray(path.read_bytes())
    content[(root - 1) * 4096 + 200 : root * 4096] = b"\xff" * 3896
    path.write_bytes(bytes(content))
    assert check(str(path)).problems


@pytest.mark.parametrize("where", ["postgresql://host/name", "nowhere.db"])
def test_what_cannot_be_looked_after(where):
    with pytest.raises(UsageError):
        check(where)


def test_a_store_of_the_first_version_is_brought_up_to_date(tmp_path):
    """The tables of migration 0001, with a run in them, made by that migration alone."""
    from alembic import command
    from alembic.config import Config
    from sqlalchemy import create_engine

    path = tmp_path / "old.db"
    engine = create_engine(f"sqlite:///{path}")
    settings = Config()
    settings.set_main_option("script_location", str(Path(eqlab.store.__file__).parent / "migrations"))
    with engine.begin() as connection:
        settings.attributes["connection"] = connection
        command.upgrade(settings, "0001")
    engine.dispose()
    with sqlite3.connect(path) as connection:
        from eqlab.core.runs import config_to_json
        from eqlab.core.trials import to_json

        run = config().id
        connection.execute("INSERT INTO runs VALUES (?, 1.0, ?)", (run, config_to_json(config())))
        connection.execute("INSERT INTO trials VALUES (?, ?)", (trial(0).id, to_json(trial(0))))
        connection.execute("INSERT INTO planned VALUES (?, 'model:b', 0, 'eqbench', ?, 0)", (run, trial(0).id))
        connection.execute(
            "INSERT INTO answers VALUES (?, 'model:b', ?, 0, 1, 'ok', 'hello', '{\"k\": 3}', '', '', 'm', 0.0, 1.0, 0,"
            " 1, 2, 'stop', 1.5)",
            (run, trial(0).id),
        )
    connection.close()
    store = Store(str(path))
    (scored,) = store.scored(run, "model:b", "eqbench")
    assert scored.attempts[0].text == "hello"
    store.begin_run(config(seed=5), plan(2), {})  # and it can be written to
    store.close()
    assert check(str(path)).problems == ()
    quick = open_sqlite_reader(str(path))
    assert quick is not None
    quick.close()
