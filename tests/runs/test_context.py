"""What a score may know besides the answers: looked up only by who asks, and once for all results of a command."""

import gzip
import sqlite3

import pytest
from conftest import ROOT

from eqlab.core.benchmark import NO_CONTEXT, Context, Source
from eqlab.core.runs import PEOPLE, BenchmarkConfig
from eqlab.runs.context import Known, StoreContext
from eqlab.runs.parallel import results_of
from eqlab.runs.score import results
from eqlab.store.access import open_store
from eqlab.store.engine import open_engine

JUDGED, PEOPLE_RATED = "7599924d8d", ("4b2d2f889d", "359903a954")


@pytest.fixture
def counted(tmp_path, monkeypatch):
    """A store with two judges' runs and people's ratings, and who was read in it."""
    path = tmp_path / "s.db"
    text = gzip.decompress((ROOT / "tests" / "store" / "store_0_1.sql.gz").read_bytes()).decode()
    connection = sqlite3.connect(path)
    connection.executescript(text)
    connection.close()
    open_engine(str(path), upgrade=True).dispose()  # its studies are locked
    store = open_store(str(path))
    read = []
    plain = store.scored

    def scored(run, subject, *more):
        read.append((run, subject))
        return plain(run, subject, *more)

    monkeypatch.setattr(store, "scored", scored)
    yield store, read
    store.close()


def test_people_are_read_once_however_many_judges_there_are(counted):
    store, read = counted
    judged = store.read_run(JUDGED)
    results_of(store, [judged, judged, judged])
    assert [read.count((run, PEOPLE)) for run in PEOPLE_RATED] == [0, 1]  # the first is a locked study under way
    known = Known(store)
    for _ in range(3):
        results(store, judged, known)
    assert [read.count((run, PEOPLE)) for run in PEOPLE_RATED] == [0, 2]


def test_who_does_not_ask_reads_nothing_else(counted):
    store, read = counted
    run = next(run for run in store.run_ids() if run.startswith("af68"))
    results(store, store.read_run(run))
    assert {one for one, who in read if who != PEOPLE} == {run}  # people's studies are read for where it stands


def test_a_context_is_the_benchmarks_own(counted):
    store, _ = counted
    known = Known(store)
    ratings = StoreContext(known, BenchmarkConfig("rating", 1, "replies", ""), None)
    assert {other.asked.name for other in ratings.others()} == {"rating"}
    assert len(list(ratings.others())) == 4
    assert ratings.once("x", lambda: 1) == ratings.once("x", lambda: 2) == 1
    assert StoreContext(known, BenchmarkConfig("eqbench", 1, "open", ""), None).once("x", lambda: 3) == 3
    empty: Context = NO_CONTEXT
    assert not list(empty.others())
    assert empty.once("x", lambda: 4) == 4


def test_a_score_reaches_the_files_that_its_trials_were_made_of(counted):
    """And no others: norms of other items than the run's would be wrong without anybody seeing it."""
    from eqlab.core.errors import DataError
    from eqlab.data.items import items_sha256, read_sources

    store, _ = counted
    content = read_sources((Source("open", "eqbench.toml"),), None)
    options = {"version": "v2", "language": "en"}
    right = BenchmarkConfig("eqbench", 1, "open", items_sha256(content), options)
    known = Known(store)
    assert StoreContext(known, right, None).files() == content
    assert StoreContext(known, right, None).files() is StoreContext(known, right, None).files()
    with pytest.raises(DataError, match="not those that the run was made with"):
        StoreContext(known, BenchmarkConfig("eqbench", 1, "open", "0" * 64, options), None).files()
    with pytest.raises(DataError):
        NO_CONTEXT.files()
