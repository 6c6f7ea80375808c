"""Parts: what is written is read, whatever a model said; merged twice is stored once, in both kinds of store."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs
from small_sweep import small_cells

import eqlab as api
from eqlab.core.answers import STATUSES, Answer
from eqlab.core.errors import StoreError, UsageError
from eqlab.store.store import SharedStore, add_absent
from eqlab.sweep.ray_engine import sink_of
from eqlab.sweep.shards import Parts, PartsWriter, from_parquet, to_parquet

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
ANSWERS = st.builds(
    Answer,
    run=TEXT,
    trial=TEXT,
    subject=TEXT,
    repeat=st.integers(0, 9),
    attempt=st.integers(1, 9),
    text=TEXT,
    status=st.sampled_from(STATUSES),
    values=st.dictionaries(
        TEXT, st.one_of(st.integers(-5, 5), st.floats(allow_nan=False), TEXT, st.none()), max_size=3
    ),
    note=TEXT,
    temperature=st.one_of(st.none(), st.floats(0, 2)),
    tokens_in=st.one_of(st.none(), st.integers(0, 10**6)),
    at=st.floats(0, 2e9),
)


@given(st.lists(ANSWERS, min_size=1, max_size=5))
def test_a_part_holds_exactly_what_was_put_in(answers):
    assert from_parquet(to_parquet(answers)) == answers


def test_a_reply_that_has_no_utf8_is_kept_as_far_as_it_goes():
    (kept,) = from_parquet(to_parquet([Answer("r", "t", "s", 0, 1, "a\ud800b", "ok")]))
    assert kept.text == "a?b"
    assert not math.isnan(kept.at)


@pytest.fixture
def begun(store_url):
    """A store of each kind with a run whose trials wait."""
    store = api.open_store(store_url)
    (cell,) = small_cells("http://h/v1", "a", seeds=(0,))
    store.begin_run(cell.prepared.config, cell.prepared.plan(), {})
    trials = [one.trial.id for page in store.plan_pages(cell.run, cell.subject) for one in page]
    yield store, cell, [Answer(cell.run, trial, cell.subject, 0, 1, "x", "ok") for trial in trials]
    store.close()


def stored(store, cell):
    return [answer for one in store.scored(cell.run, cell.subject, "eqbench") for answer in one.attempts]


def test_merged_twice_is_stored_once(begun, tmp_path):
    store, cell, answers = begun
    parts = Parts(str(tmp_path / "parts"))
    parts.write(cell.run, "one", answers[:4])
    parts.write(cell.run, "two", answers[2:])  # a worker thought dead had asked some of these as well
    parts.write("another-run", "three", answers)
    assert parts.merge(cell.run, store) == 6
    assert [path.name for path in tmp_path.rglob("*.parquet")] == ["three.parquet"]  # what is stored is gone
    assert parts.merge(cell.run, store) == 0
    parts.write(cell.run, "one", answers[:4])  # the driver was killed after the commit, before the part was gone
    assert parts.merge(cell.run, store) == 0
    assert len(stored(store, cell)) == 6


def test_a_part_stays_until_its_answers_are_stored(begun, tmp_path, monkeypatch):
    store, cell, answers = begun
    parts = Parts(str(tmp_path / "parts"))
    parts.write(cell.run, "one", answers)

    def killed(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("eqlab.sweep.shards.add_absent", killed)
        with pytest.raises(KeyboardInterrupt):
            parts.merge(cell.run, store)
    assert parts.merge(cell.run, store) == 6


def test_the_first_of_two_answers_is_kept(begun):
    store, cell, answers = begun
    assert add_absent(store, [answers[0], structs.replace(answers[0], text="late")]) == 1
    assert add_absent(store, [structs.replace(answers[0], text="later")]) == 0
    assert [answer.text for answer in stored(store, cell)] == ["x"]


def test_workers_on_one_database_do_not_collide(begun, store_url):
    from concurrent.futures import ThreadPoolExecutor

    store, cell, answers = begun
    workers = [SharedStore(store_url) for _ in range(4)]
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda worker: worker.add_answers(answers), workers))
    for worker in workers:
        worker.close()
    assert len(stored(store, cell)) == 6


def test_a_writer_leaves_nothing_behind_when_it_is_closed(tmp_path):
    writer = PartsWriter(Parts(f"file://{tmp_path}"), "run", "shard")
    answers = [Answer("run", str(number), "s", 0, 1, "x", "ok") for number in range(5)]
    for answer in answers:
        writer.put(answer)
    writer.close()
    (part,) = (tmp_path / "run").iterdir()
    assert from_parquet(part.read_bytes()) == answers


def test_only_the_owner_reads_parts(tmp_path):
    import os

    before = os.umask(0)
    try:
        Parts(str(tmp_path / "parts")).write("run", "one", [Answer("run", "t", "s", 0, 1, "x", "ok")])
    finally:
        os.umask(before)
    made = [tmp_path / "parts", *(tmp_path / "parts").rglob("*")]
    assert [path.stat().st_mode & 0o777 for path in made] == [0o700, 0o700, 0o600]


def test_a_folder_that_cannot_be_written_stops_the_worker(tmp_path):
    (tmp_path / "run").write_text("a file where a folder should be")
    writer = PartsWriter(Parts(str(tmp_path)), "run", "shard")
    writer.put(Answer("run", "t", "s", 0, 1, "x", "ok"))
    with pytest.raises(StoreError, match="No part can be written"):
        writer.close()


def test_a_foreign_file_among_the_parts_is_named(begun, tmp_path):
    store, cell, _ = begun
    (tmp_path / cell.run).mkdir()
    (tmp_path / cell.run / "x.parquet").write_bytes(b"PAR1 no")
    with pytest.raises(StoreError, match="not what eqlab writes"):
        Parts(str(tmp_path)).merge(cell.run, store)


def test_parts_work_on_an_object_store():
    import fsspec

    parts = Parts("memory://bucket/parts")
    parts.write("run", "one", [Answer("run", "t", "s", 0, 1, "x", "ok")])
    assert fsspec.filesystem("memory").glob("/bucket/parts/run/*.parquet")


def test_what_workers_are_told_holds_no_password(tmp_path):
    with pytest.raises(UsageError, match="holds a password"):
        Parts("ftp://me:secret@host/parts")
    store = api.open_store(str(tmp_path / "s.db"))
    with pytest.raises(UsageError, match="--parts"):
        sink_of(store, "")
    store.close()

    class Remote:
        from sqlalchemy import create_engine

        engine = create_engine("postgresql+psycopg://me:secret@host:5433/lab?sslpassword=secret&sslmode=require")

    assert sink_of(Remote(), "").store == "postgresql://me@host:5433/lab?sslmode=require"
