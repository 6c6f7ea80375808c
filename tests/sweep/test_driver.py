"""The driver on a pool that loses workers in every way: each trial has one answer in the end, no limit is broken."""

import time
from collections import Counter
from itertools import count

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from small_sweep import small_cells, stored_answers

import eqlab as api
from eqlab.core.answers import Answer
from eqlab.models.timeouts import Timeouts
from eqlab.store.writer import run_lock
from eqlab.sweep.driver import Driver, DriverLimits, LostWorkerError
from eqlab.sweep.file import parse_sweep
from eqlab.sweep.grid import SweepListener, make_runs
from eqlab.sweep.shards import Parts, ShardEnd, Sink, divide

URL = "http://127.0.0.1:9/v1"
SEEDS = count()


class Pool:
    """Each shard meets a fate: `fine`, `lost` before, midway or `late` (after its work), or the model or sink fails."""

    def __init__(self, fates=(), model_fails=()):
        self.fates, self.model_fails = iter(fates), set(model_fails)
        self.out, self.numbers = {}, count()
        self.most, self.at_address = 0, 0
        self.shards = []

    def submit(self, shard, sink, share, timeouts):
        handle = next(self.numbers)
        self.out[handle] = (shard, sink, share)
        self.shards.append(shard)
        self.most = max(self.most, len(self.out))
        self.at_address = max(self.at_address, sum(share for *_, share in self.out.values()))
        return handle

    def wait(self, handles, seconds):
        return list(handles)[-1:]  # the youngest first, so that order cannot matter

    def end(self, handle):
        shard, sink, _ = self.out.pop(handle)
        if shard.target.model.name in self.model_fails:
            return ShardEnd("no such model.", "Check.", "model")
        fate = next(self.fates, "fine")
        done = {"before": 0, "midway": len(shard.planned) // 2, "store": 1}.get(fate, len(shard.planned))
        if done:
            Parts(sink.parts).write(shard.run, shard.name, [answer(shard, one) for one in shard.planned[:done]])
        if fate == "store":
            return ShardEnd("the disk is full.", "", "store")
        if fate != "fine":
            raise LostWorkerError("A worker was lost.")
        return ShardEnd()

    def drop(self, handle):
        self.out.pop(handle, None)


def answer(shard, planned):
    subject = shard.target.config.subject
    return Answer(shard.run, planned.trial.id, subject, planned.repeat, planned.attempts + 1, "x", "ok", {"a": 1})


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("driver")
    store = api.open_store(str(folder / "s.db"))
    yield store, folder
    store.close()


def work(place, pool, *, cells=None, workers=3, shard=4, retries=20, **watch):
    store, folder = place
    cells = cells or small_cells(URL, "a", "b", seeds=(next(SEEDS),), limit=10)
    driver = Driver(
        pool,
        store,
        Sink(str(folder / "parts")),
        DriverLimits(workers, shard, Timeouts(5.0), retries),
        SweepListener(**watch),
    )
    return cells, driver.work(cells), driver


def counts(place, cells):
    return {run: Counter(trial for trial, *_ in given) for run, given in stored_answers(place[0], cells).items()}


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    fates=st.lists(st.sampled_from(["fine", "before", "midway", "late", "store"]), max_size=15),
    workers=st.integers(1, 6),
    shard=st.integers(1, 12),
)
def test_nothing_is_lost_and_nothing_is_twice(place, fates, workers, shard):
    pool = Pool(fates)
    cells, outcome, _ = work(place, pool, workers=workers, shard=shard)
    assert outcome.failures == {}
    for given_ in counts(place, cells).values():
        assert list(given_.values()) == [1] * 10
    assert pool.most <= workers
    assert pool.at_address <= 4


def test_never_more_shards_in_flight_than_workers(place):
    """Whatever the addresses would take."""
    seed = next(SEEDS)
    addresses = [f"http://127.0.0.1:{port}/v1" for port in (9, 10, 11)]
    cells = [cell for url in addresses for cell in small_cells(url, "a", seeds=(seed,), limit=6, at_once=50)]
    pool = Pool()
    _, outcome, _ = work(place, pool, cells=cells, workers=2, shard=2)
    assert not outcome.failures
    assert pool.most == 2
    assert len(pool.shards) == 9


def test_a_plan_is_not_read_ahead_of_the_workers(place, monkeypatch):
    """Back-pressure: a sweep of any size is cut as places become free."""
    from eqlab.sweep import driver as module

    cuts, pool = [], Pool()

    def cut(planned, size):
        for shard in real(planned, size):
            cuts.append((len(cuts), len(pool.out)))
            yield shard

    real = module.cut
    monkeypatch.setattr(module, "cut", cut)
    work(place, pool, cells=small_cells(URL, "a", seeds=(next(SEEDS),), limit=10), workers=2, shard=1)
    assert len(cuts) == 10
    assert all(out < 2 for _, out in cuts)


@given(limit=st.integers(1, 500), workers=st.integers(1, 100))
def test_shares_add_up_to_the_limit_and_none_is_nothing(limit, workers):
    shares = divide(limit, workers)
    assert sum(shares) == limit
    assert min(shares) >= 1
    assert max(shares) - min(shares) <= 1
    assert len(shares) == min(limit, workers)


def test_a_worker_lost_every_time_is_a_failure_of_its_cell_alone(place):
    said = []
    pool = Pool(["before"] * 3 + ["fine"] * 99)
    cells, outcome, _ = work(place, pool, workers=1, shard=10, retries=2, say=said.append)
    assert set(outcome.failures) == {cells[0].run}
    assert "were sent 3 times without an answer" in str(outcome.failures[cells[0].run])
    assert len(said) == 2
    assert sum(counts(place, cells)[cells[1].run].values()) == 10


def test_what_is_answered_does_not_go_out_again(place):
    pool = Pool(["midway"])
    work(place, pool, workers=1, shard=10)
    assert [len(shard.planned) for shard in pool.shards] == [10, 5, 10]


def test_a_hopeless_model_ends_all_its_cells_and_no_others(place):
    cells = small_cells(URL, "a", "b", seeds=(next(SEEDS), next(SEEDS)), limit=10)
    pool = Pool(model_fails={"a"})
    ended = []
    _, outcome, _ = work(
        place, pool, cells=cells, workers=2, ended=lambda cell, why: ended.append((cell.run, bool(why)))
    )
    assert set(outcome.failures) == {cell.run for cell in cells if cell.subject == "model:a"}
    assert sorted(ended) == sorted((cell.run, cell.subject == "model:a") for cell in cells)
    assert sum(shard.target.model.name == "a" for shard in pool.shards) <= 2


@pytest.mark.parametrize(
    ("model", "known"),
    [(f'spec = "a"\nbase_url = "{URL}"', [False, True, True]), ('spec = "embedded"', [False, False, False])],
    ids=["at an address", "in place"],
)
def test_workers_know_whether_an_address_has_answered_in_this_sweep(place, model, known):
    """What runs in place is a new one each time, and has to show that it is there."""
    for _ in range(2):  # an earlier sweep says nothing about today
        seeds, pool = [next(SEEDS) for _ in range(3)], Pool()
        sweep = parse_sweep(f'benchmarks = ["eqbench"]\nlimit = 4\nseeds = {seeds}\n[[models]]\n{model}\n')
        work(place, pool, cells=make_runs(sweep), workers=1)
        assert [shard.met for shard in pool.shards] == known


def test_one_answer_is_enough_to_know_an_address(place, monkeypatch):
    """A shard that is lost midway has shown it, too."""
    monkeypatch.setattr("eqlab.sweep.driver._LOOK", -1.0)

    class Midway(Pool):
        def wait(self, handles, seconds):
            if not self.wrote:
                ((shard, sink, _),) = self.out.values()
                self.wrote = Parts(sink.parts).write(shard.run, shard.name, [answer(shard, shard.planned[0])]) or True
                return []
            return super().wait(handles, seconds)

    pool = Midway(["before"])
    pool.wrote = False
    work(place, pool, cells=small_cells(URL, "a", seeds=(next(SEEDS),), limit=10), workers=1, shard=10)
    assert [(len(shard.planned), shard.met) for shard in pool.shards] == [(10, False), (9, True)]


def test_workers_that_only_wait_are_spoken_for(place, monkeypatch):
    """They cannot say that they wait for an outage to pass."""
    monkeypatch.setattr("eqlab.sweep.driver._LOOK", -1.0)
    monkeypatch.setattr("eqlab.sweep.driver._QUIET", 0.0)
    looks = count()

    class Waiting(Pool):
        def wait(self, handles, seconds):
            return [] if next(looks) < 3 else super().wait(handles, seconds)

    said = []
    (cell,), _, _ = work(place, Waiting(), cells=small_cells(URL, "a", seeds=(next(SEEDS),), limit=4), say=said.append)
    assert said == [
        f"{cell.name}: no answer for 0 s. An outage, or a rate limit, is waited for up to 300 s (--patience)."
    ]


def test_parts_of_a_killed_driver_are_taken_in_before_anything_is_asked(place):
    store, folder = place
    pool = Pool()
    work(place, pool, cells=small_cells(URL, "a", seeds=(next(SEEDS),), limit=10))
    (shard, *_) = pool.shards
    again = small_cells(URL, "a", seeds=(next(SEEDS),), limit=10)[0]
    store.begin_run(again.prepared.config, again.prepared.plan(), {})
    left = [one for page in store.plan_pages(again.run, again.subject) for one in page][:7]
    from dataclasses import replace

    Parts(str(folder / "parts")).write(again.run, "left", [answer(replace(shard, run=again.run), one) for one in left])
    pool = Pool()
    work(place, pool, cells=[again])
    assert sum(len(shard.planned) for shard in pool.shards) == 3
    assert list(counts(place, [again])[again.run].values()) == [1] * 10


def test_a_run_in_use_elsewhere_is_left_alone(place):
    cells = small_cells(URL, "a", "b", seeds=(next(SEEDS),), limit=10)
    with run_lock(place[0], cells[0].run):
        _, outcome, _ = work(place, Pool(), cells=cells)
    assert set(outcome.failures) == {cells[0].run}
    with run_lock(place[0], cells[1].run):
        pass  # the driver let go of what it had


def test_stopping_waits_for_what_is_out_and_hands_out_no_more(place):
    driver = None

    class Stopping(Pool):
        def end(self, handle):
            driver.stop()
            return super().end(handle)

    pool = Stopping()
    store, folder = place
    cells = small_cells(URL, "a", seeds=(next(SEEDS),), limit=10)
    driver = Driver(pool, store, Sink(str(folder / "parts")), DriverLimits(2, 2, Timeouts(5.0)), SweepListener())
    outcome = driver.work(cells)
    assert outcome.interrupted
    assert len(pool.shards) == 2
    assert not pool.out


def test_shards_that_outlast_a_schedulers_patience_are_dropped_and_asked_later(place):
    class Stuck(Pool):
        waited = 0

        def wait(self, handles, seconds):
            driver.stop_within(0.05)
            time.sleep(0.02)
            self.waited += 1
            assert self.waited < 1000, "it waits for ever"
            return [handle for handle in handles if handle not in self.out]

        def end(self, handle):
            raise LostWorkerError("A worker was lost.")

    pool = Stuck()
    store, folder = place
    cells = small_cells(URL, "a", seeds=(next(SEEDS),), limit=10)
    driver = Driver(pool, store, Sink(str(folder / "parts")), DriverLimits(2, 2, Timeouts(5.0)), SweepListener())
    outcome = driver.work(cells)
    assert outcome.interrupted
    assert not outcome.failures
    assert not pool.out
    work(place, Pool(), cells=cells)
    assert list(counts(place, cells)[cells[0].run].values()) == [1] * 10


def test_many_finished_cells_are_passed_over(place):
    cells = small_cells(URL, "a", seeds=range(10**6, 10**6 + 12), limit=1)
    work(place, Pool(), cells=cells, workers=8)
    pool = Pool()
    work(place, pool, cells=cells, workers=8)
    assert pool.shards == []


def test_an_adaptive_run_goes_out_round_by_round(place, monkeypatch):
    rounds = iter([1, 2])

    def more(prepared, store, model):
        repeat = next(rounds, None)
        if repeat is None:
            return None
        subject, name, trial, _ = next(prepared.plan())
        return store.extend_plan(prepared.config.id, subject, [(name, trial, repeat)])

    monkeypatch.setattr("eqlab.sweep.driver.next_round", more)
    pool = Pool(["fine", "before"])
    cells, outcome, _ = work(place, pool, cells=small_cells(URL, "a", seeds=(next(SEEDS),), limit=3), workers=1)
    assert not outcome.failures
    assert [[one.repeat for one in shard.planned] for shard in pool.shards] == [[0, 0, 0], [1], [1], [2]]
    assert sum(counts(place, cells)[cells[0].run].values()) == 5
    from eqlab.sweep.grid import plan_runs

    (plan,) = plan_runs(cells, place[0])
    assert (plan.trials, plan.answered, plan.calls, plan.tokens_in) == (5, 5, 0, 0)
