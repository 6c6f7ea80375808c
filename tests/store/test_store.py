"""The store, on SQLite and on PostgreSQL with the same tests."""

import sqlite3
import stat
import subprocess
import sys
from contextlib import closing, suppress
from pathlib import Path

import counts
import pytest
from counts import counts_hold
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import bindparam, insert, select, update
from sqlalchemy.exc import IntegrityError

from eqlab.core.answers import Answer
from eqlab.core.errors import StoreError, UsageError
from eqlab.core.forms import Form, Scale
from eqlab.core.runs import BenchmarkConfig, ModelConfig, RunConfig, config_from_json, config_to_json
from eqlab.core.trials import Trial
from eqlab.store import store as module
from eqlab.store.database import HEAD
from eqlab.store.engine import Prepared, reading, writing
from eqlab.store.schema import answers, buckets
from eqlab.store.store import Store
from eqlab.store.writer import Writer, run_lock


def config(seed=0):
    models = (ModelConfig("openai/a", "", False, {"temperature": 0}), ModelConfig("b"))
    return RunConfig(models, (BenchmarkConfig("eqbench", 1, "open", "f" * 64, {"rules": "x"}),), "full", None, 2, seed)


def trial(number):
    return Trial("eqbench", (str(number),), "plain", f"s{number}", Form((Scale("k", "k", 0, 10),)), f"p{number}")


def plan(count, repeats=2):
    for subject in ("model:openai/a", "model:b"):
        for repeat in range(repeats):
            for number in range(count):
                yield subject, "eqbench", trial(number), repeat


def answer(number, attempt=1, status="ok", subject="model:b", repeat=0, run=None, text="hello", values=None):
    return Answer(
        run or config().id, trial(number).id, subject, repeat, attempt, text, status, values or {"k": 3}, at=1.5
    )


@pytest.fixture
def store(store_url):
    opened = Store(store_url)
    yield opened
    opened.close()


def test_a_run_is_written_once_and_found_again(store):
    store.begin_run(config(), plan(3), {"python": "3"})
    store.begin_run(config(), plan(3), {"python": "4"})
    assert store.run_ids() == [config().id]
    found = store.find_run(config().id[:4])
    assert found.config == config()
    assert found.provenance == {"python": "4"}
    assert store.find_run("last").id == config().id
    assert store.progress(config().id) == {"model:openai/a": (0, 6), "model:b": (0, 6)}


def test_config_round_trip():
    assert config_from_json(config_to_json(config())) == config()
    assert config().id == config().id != config(seed=1).id


def test_unknown_and_ambiguous_names(store):
    with pytest.raises(UsageError, match="no run yet"):
        store.find_run("last")
    store.begin_run(config(), plan(1), {})
    store.begin_run(config(seed=1), plan(1), {})
    with pytest.raises(UsageError, match="no run"):
        store.find_run("zzz")
    with pytest.raises(UsageError, match="2 runs"):
        store.find_run("")


def test_what_was_answered_is_not_waiting(store):
    store.begin_run(config(), plan(1200, repeats=1), {})
    store.add_answers(
        [answer(0), answer(1, status="unparseable"), answer(1, 2, "refused"), answer(2, status="error"), answer(1199)]
    )
    pages = list(store.plan_pages(config().id, "model:b"))
    rows = [row for page in pages for row in page]
    assert len(pages) == 3
    assert [row.position for row in rows] == list(range(1200))
    assert [row.position for row in rows if row.done] == [0, 1199]
    assert (rows[1].attempts, rows[1].failed) == (2, 2)
    assert (rows[2].attempts, rows[2].failed) == (1, 0)
    assert rows[5].trial == trial(5)
    assert all(not row.done for page in store.plan_pages(config().id, "model:openai/a") for row in page)


def test_every_attempt_comes_back_as_it_was(store):
    store.begin_run(config(), plan(2, repeats=1), {})
    full = Answer(
        config().id, trial(1).id, "model:b", 0, 2, "täxt\n", "ok", {"k": 3}, "n", "think", "m-1", 0.16, 1.25, 3, 10, 20,
        "stop", 2.5,
    )  # fmt: skip
    store.add_answers([answer(1, 1, "unparseable"), full])
    empty, given = store.scored(config().id, "model:b", "eqbench")
    assert empty.attempts == ()
    assert given.attempts[0].status == "unparseable"
    assert given.attempts[1] == full
    both = [(empty.trial.id, 0), (given.trial.id, 0)]
    assert list(store.scored(config().id, "model:b", "eqbench", named=both)) == [given]


def test_nothing_is_overwritten(store):
    store.begin_run(config(), plan(1), {})
    store.add_answers([answer(0)])
    with pytest.raises((IntegrityError, sqlite3.IntegrityError)):
        store.add_answers([answer(0, text="other")])
    (scored, _) = store.scored(config().id, "model:b", "eqbench")
    assert scored.attempts[0].text == "hello"


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.text(alphabet=st.characters(codec=None)))
def test_any_text_survives_but_for_what_no_database_holds(store, text):
    run = config(seed=len(store.run_ids()))  # one run per example: the same attempt cannot be stored twice
    store.begin_run(run, [("model:b", "eqbench", trial(0), 0)], {})
    store.add_answers([answer(0, run=run.id, text=text)])
    (scored,) = store.scored(run.id, "model:b", "eqbench")
    assert scored.attempts[0].text == text.replace("\0", "\ufffd").encode("utf-8", "replace").decode()


@pytest.mark.parametrize("value", [3, 2.5, -(2**63), 2**64 - 1, True, None, "ü\u2028", {"first": {"k": 1}}])
def test_values_come_back_as_they_were(store, value):
    store.begin_run(config(), plan(1, repeats=1), {})
    store.add_answers([answer(0, values={"k": value})])
    (scored,) = store.scored(config().id, "model:b", "eqbench")
    (back,) = scored.attempts[0].values.values()
    assert (back, type(back)) == (value, type(value))


def test_a_value_that_is_no_number_does_not_hide_the_rest(store):
    store.begin_run(config(), plan(1, repeats=1), {})
    store.add_answers([answer(0, values={"k": float("nan"), "l": 4})])
    (scored,) = store.scored(config().id, "model:b", "eqbench")
    assert str(scored.attempts[0].values) == "{'k': nan, 'l': 4}"


_ROWS = st.tuples(st.integers(0, 2), st.integers(1, 3), st.sampled_from(["ok", "unparseable", "error"]))
_STEPS = st.one_of(
    st.tuples(st.sampled_from(["add", "add absent", "add missing", "at once"]), st.lists(_ROWS, max_size=6)),
    st.tuples(st.just("delete"), st.sampled_from(["repeat = 0", "attempt = 1", "status = 'ok'", "attempt > 0"])),
    st.tuples(st.just("delete plan"), st.sampled_from(["position = 1", "position > -1"])),
    st.tuples(st.just("plan"), st.integers(3, 9)),
)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=st.lists(_STEPS, max_size=8))
def test_progress_is_what_a_count_would_find_whatever_is_written_or_deleted(store, steps):
    """Answers in any order, several of a trial in one statement, transactions that fail, people who are erased."""
    run = config(seed=len(store.run_ids()))
    store.begin_run(run, plan(3, repeats=1), {})
    for step, what in steps:
        if step.startswith("delete"):
            table = "planned" if "plan" in step else "answers"
            with writing(store.engine) as connection:
                connection.exec_driver_sql(f"DELETE FROM {table} WHERE run_id = '{run.id}' AND {what}")
        elif step == "plan":
            store.extend_plan(run.id, "model:b", [("eqbench", trial(what), 0)])
        else:
            batch = [answer(number, attempt, status, run=run.id) for number, attempt, status in what]
            with suppress(IntegrityError, sqlite3.IntegrityError):
                _put(store, step, batch)
        assert counts_hold(store)
    assert store.attempts().get(run.id, 0) == store.attempts_of(run.id)


def _put(store, step, batch):
    if step == "add":
        store.add_answers(batch)
    elif step == "add absent":
        module.add_absent(store, batch)
    elif step == "add missing":
        store.add_missing(batch)
    elif batch:  # several attempts of a trial may come in one statement
        with writing(store.engine) as connection:
            connection.execute(insert(answers).values([module.answer_row(one) for one in batch]))


def test_writer_stores_before_it_tells(store):
    store.begin_run(config(), plan(50), {})
    told = []

    def stored(batch):
        with store.engine.connect() as connection:
            from sqlalchemy import func, select

            from eqlab.store.schema import answers

            told.append((len(batch), connection.execute(select(func.count()).select_from(answers)).scalar()))

    writer = Writer(store, stored)
    for number in range(50):
        writer.put(answer(number))
    writer.close()
    assert sum(size for size, _ in told) == 50
    total = 0
    for size, seen in told:
        total += size
        assert seen >= total


def test_a_store_that_fails_stops_the_run(store):
    store.begin_run(config(), plan(1), {})
    writer = Writer(store, lambda batch: None)
    writer.put(answer(0))
    writer.put(answer(0))  # twice the same attempt: the store refuses it
    with pytest.raises(StoreError, match="failed"):
        writer.close()


def test_two_processes_cannot_work_on_one_run(store, store_url):
    code = (
        "import sys\nfrom eqlab.store.store import Store\nfrom eqlab.store.writer import run_lock\n"
        "from eqlab.core.errors import StoreError\n"
        "try:\n"
        "    with run_lock(Store(sys.argv[1]), sys.argv[2]): print('got it')\n"
        "except StoreError as error: print(error)\n"
    )

    def other(run):
        return subprocess.run([sys.executable, "-c", code, store_url, run], capture_output=True, text=True).stdout

    with run_lock(store, "abc"):
        assert "another process" in other("abc")
        assert "got it" in other("def")
    assert "got it" in other("abc")


def test_two_processes_write_into_one_store(store, store_url):
    """Both write their own run at the same time; every row of both is there afterwards."""
    code = (
        "import sys\nsys.path[:0] = sys.argv[1].split('|')\n"
        "from test_store import *\n"
        "store = Store(sys.argv[2]); run = config(seed=int(sys.argv[3]))\n"
        "store.begin_run(run, [('model:b', 'eqbench', trial(n), 0) for n in range(200)], {})\n"
        "[store.add_answers([answer(n, run=run.id)]) for n in range(200)]\n"
    )
    here = "|".join(map(str, (Path(__file__).parent, Path(counts.__file__).parent)))
    workers = [subprocess.Popen([sys.executable, "-c", code, here, store_url, str(seed)]) for seed in (11, 12)]
    assert [worker.wait(120) for worker in workers] == [0, 0]
    for seed in (11, 12):
        assert store.progress(config(seed=seed).id) == {"model:b": (200, 200)}


def test_head_is_the_newest_migration():
    import eqlab.store

    versions = Path(eqlab.store.__file__).parent / "migrations" / "versions"
    assert max(path.name[:4] for path in versions.glob("0*.py")) == HEAD


def test_migrations_make_the_tables_of_the_schema(store):
    from alembic.autogenerate import compare_metadata
    from alembic.migration import MigrationContext

    from eqlab.store.schema import metadata

    with store.engine.connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection), metadata) == []


def test_a_store_of_a_newer_version_is_refused(tmp_path):
    path = tmp_path / "s.db"
    Store(str(path)).close()
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
    with pytest.raises(StoreError, match="newer"):
        Store(str(path))


def test_only_the_owner_can_read_a_store(tmp_path):
    Store(str(tmp_path / "s.db")).close()
    assert stat.S_IMODE((tmp_path / "s.db").stat().st_mode) == 0o600


@pytest.mark.parametrize("where", ["mysql://x/y", "nonsense://", "sqlite:///", "postgresql://127.0.0.1:1/none"])
def test_what_is_no_store(where):
    with pytest.raises(StoreError):
        Store(where)


@pytest.mark.parametrize("name", ["a b?mode=ro.db", "a#b.db", "50%20.db", "ü/é?x#y%zz.db"])
@pytest.mark.parametrize("prefix", ["", "sqlite:///"])
def test_a_store_lies_where_its_name_says(tmp_path, name, prefix):
    """Not in `a b`, as an address with a query would have it; and whoever looks finds the same file."""
    from eqlab.store.location import sqlite_path

    where = f"{prefix}{tmp_path / name}"
    Store(where).close()
    assert sqlite_path(where) == tmp_path / name
    assert (tmp_path / name).stat().st_size


def test_a_file_that_is_no_database(tmp_path):
    (tmp_path / "s.db").write_text("certainly not SQLite, and long enough to be read as a header")
    with pytest.raises(StoreError, match=r"s\.db"):
        Store(str(tmp_path / "s.db"))


def test_others_write_while_a_long_plan_is_written(store, store_url, monkeypatch):
    """In the middle of a plan, and without waiting: in 0.1 the lock was held for as long as planning took."""
    monkeypatch.setattr("eqlab.store.store.PART", 10)
    store.begin_run(config(seed=7), plan(1, repeats=1), {})
    other = Store(store_url)

    def interrupted():
        for number, one in enumerate(plan(20)):
            if number in (0, 35, 79):
                if not other.database.is_server:
                    list(other.rows("PRAGMA busy_timeout=0", {}))
                other.add_answers([answer(0, attempt=number + 1, run=config(seed=7).id)])
            yield one

    store.begin_run(config(), interrupted(), {})
    other.close()
    assert store.progress(config().id) == {"model:b": (0, 40), "model:openai/a": (0, 40)}
    assert [len(one.attempts) for one in store.scored(config(seed=7).id, "model:b", "eqbench")] == [3]


def test_no_transaction_holds_more_than_a_part_of_a_plan(store, monkeypatch):
    """600,000 trials in one held SQLite's lock for 24 s against everybody else."""
    assert module.PART <= 5000  # a quarter of a second, measured
    monkeypatch.setattr(module, "PART", 10)
    write, parts = Store._write_plan, []

    def counted(self, transaction, rows):
        rows = list(rows)
        held = transaction._connection.in_transaction
        assert held() if callable(held) else held
        parts.append(len(rows))
        write(self, transaction, rows)

    monkeypatch.setattr(Store, "_write_plan", counted)
    store.begin_run(config(), plan(20), {})
    assert parts == [10] * 8


@pytest.mark.parametrize("stop", [5, 25, 45, 79])
def test_a_plan_that_was_interrupted_is_seen_by_nobody_and_goes_on(store, monkeypatch, stop):
    monkeypatch.setattr("eqlab.store.store.PART", 10)
    store.begin_run(config(seed=7), plan(1, repeats=1), {})

    def cut():
        for number, one in enumerate(plan(20)):
            if number == stop:
                raise KeyboardInterrupt
            yield one

    with pytest.raises(KeyboardInterrupt):
        store.begin_run(config(), cut(), {})
    assert store.run_ids() == [config(seed=7).id]
    store.begin_run(config(), plan(20), {"python": "4"})
    assert sorted(store.run_ids()) == sorted([config().id, config(seed=7).id])
    for subject in ("model:openai/a", "model:b"):
        asked = [one for page in store.plan_pages(config().id, subject) for one in page]
        assert [one.position for one in asked] == list(range(40))
        assert [one.trial.items[0] for one in asked] == [str(number) for number in range(20)] * 2
    assert store.read_run(config().id).provenance == {"python": "4"}
    store.begin_run(config(), iter(()), {})  # what is planned is not looked at again
    assert store.progress(config().id) == {"model:b": (0, 40), "model:openai/a": (0, 40)}


def _at_once(count, work):
    """The same in so many threads, begun together; what each returned or raised."""
    from concurrent.futures import ThreadPoolExecutor
    from threading import Barrier

    together = Barrier(count)

    def one(number):
        together.wait()
        return work(number)

    with ThreadPoolExecutor(count) as pool:
        return [future.result() for future in [pool.submit(one, number) for number in range(count)]]


def test_many_threads_open_a_new_store_at_once(store_url):
    """In 0.1 the migrations of two threads met in globals."""

    def work(number):
        opened = Store(store_url)
        opened.begin_run(config(seed=number), [("model:b", "eqbench", trial(0), 0)], {})
        opened.close()

    _at_once(12, work)
    store = Store(store_url)
    assert len(store.run_ids()) == 12
    store.close()


def test_many_threads_open_different_new_stores_at_once(tmp_path):
    def work(number):
        opened = Store(str(tmp_path / f"{number}.db"))
        opened.begin_run(config(), plan(1), {})
        found = opened.run_ids()
        opened.close()
        return found

    assert _at_once(12, work) == [[config().id]] * 12


def test_many_threads_open_a_store_of_the_first_version_at_once(tmp_path):
    import gzip

    old = gzip.decompress((Path(__file__).parent / "store_0_1.sql.gz").read_bytes()).decode()
    with sqlite3.connect(tmp_path / "old.db") as connection:
        connection.executescript(old)
        connection.execute("UPDATE studies SET locked_at = NULL")
    connection.close()

    def work(number):
        opened = Store(str(tmp_path / "old.db"))
        found = opened.run_ids()
        opened.close()
        return found

    found = _at_once(12, work)
    assert found[0]
    assert all(one == found[0] for one in found)


SIX_AT_ONCE = """
import os, sys, traceback
import alembic.command, alembic.config
from eqlab.store.store import Store
others = []
for _ in range(6):
    others.append(os.fork())
    if not others[-1]:
        code = 1
        try:
            Store(sys.argv[1]).close()
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
print([os.waitstatus_to_exitcode(os.waitpid(other, 0)[1]) for other in others])
"""


def test_many_processes_open_a_new_store_at_once(store_url):
    """Forked when everything is imported, so that they begin at the same moment."""
    done = subprocess.run([sys.executable, "-c", SIX_AT_ONCE, store_url], capture_output=True, text=True, timeout=120)
    assert done.stdout == f"{[0] * 6}\n", done.stderr


def test_stores_of_other_tests_have_the_tables_that_migrations_make(tmp_path):
    """Table by table and index by index, so that tests outside this folder see what users have."""
    from new_stores import made_at_once

    def content(path):
        with closing(sqlite3.connect(path)) as connection:
            return sorted(connection.iterdump()), connection.execute("PRAGMA journal_mode").fetchone()

    Store(str(tmp_path / "by migrations.db")).close()
    with made_at_once():
        Store(str(tmp_path / "at once.db")).close()
    assert content(tmp_path / "at once.db") == content(tmp_path / "by migrations.db")
    assert len(content(tmp_path / "at once.db")[0]) > 20


def test_what_another_thread_still_reads_is_closed_when_it_comes_back(tmp_path):
    store = Store(str(tmp_path / "s.db"))
    early = store.rows("SELECT 1 UNION SELECT 2", {})
    assert next(early) == (1,)
    store.close()
    assert list(early) == [(2,)]
    assert list(store.rows("SELECT 3", {})) == [(3,)]
    assert store.database._idle == []


def test_a_transaction_that_failed_holds_nothing(tmp_path):
    """Neither the lock nor what it wrote."""
    store = Store(str(tmp_path / "s.db"))
    row = ("k", 1.0, 2.0)
    with pytest.raises(sqlite3.IntegrityError), store.database.writing() as transaction:
        transaction.insert("buckets", ("key", "tokens", "at"), [row, ("l", 1.0, 2.0), row])
    with closing(sqlite3.connect(tmp_path / "s.db", timeout=0)) as other, other:
        other.execute("INSERT INTO buckets VALUES ('other', 1, 2)")
    assert list(store.rows("SELECT key FROM buckets", {})) == [("other",)]
    store.close()


def test_a_connection_that_another_thread_uses_is_closed_when_it_comes_back(tmp_path):
    """A page that is being answered while the server ends; nobody would close it after the pool is gone."""
    store = Store(str(tmp_path / "s.db"))
    early = store.engine.connect()
    raw = early.connection.dbapi_connection
    store.close()
    early.close()
    with store.engine.connect() as late:
        after = late.connection.dbapi_connection
    for connection in (raw, after):
        with pytest.raises(sqlite3.ProgrammingError, match="closed"):
            connection.execute("SELECT 1")


def test_prepared_statements_do_and_fail_as_those_of_sqlalchemy(store_url):
    row = {"key": "k", "tokens": 1.5, "at": 2.0}
    put = Prepared(insert(buckets).inline())
    change = Prepared(update(buckets).where(buckets.c.key == bindparam("who")).values(at=7.0))
    find = Prepared(select(buckets).where(buckets.c.key == bindparam("who")))
    with Store(store_url) as opened:
        with writing(opened.engine) as connection:
            put.run(connection, [row, {**row, "key": "l"}])
            assert change.run(connection, [{"who": "l", "tokens": 0.5}]) == 1
            assert change.run(connection, [{"who": "nobody", "tokens": 0.5}]) == 0
        with reading(opened.engine) as connection:
            assert [vars(found) for found in find.find(connection, who="k")] == [row]
            assert [vars(found) for found in find.find(connection, who="l")] == [{"key": "l", "tokens": 0.5, "at": 7.0}]
            assert find.find(connection, who="nobody") == []
        with pytest.raises(IntegrityError), writing(opened.engine) as connection:
            put.run(connection, [{**row, "key": "m"}, row])
        with reading(opened.engine) as connection:
            assert find.find(connection, who="m") == []  # nothing of what failed is kept
