"""Ray without a cluster: which one would be asked for and with what, and what a worker does with a shard."""

import math
import os
import signal
import socket
import sys
from importlib.metadata import version
from types import ModuleType, SimpleNamespace

import pytest
from small_sweep import good, small_cells

import eqlab as api
from eqlab.models.timeouts import Timeouts
from eqlab.runs.event_loop import GRACE
from eqlab.sweep import ray_engine
from eqlab.sweep.shards import Parts, Shard, ShardEnd, Sink, waiting_of, work_shard


@pytest.fixture
def asked_for(monkeypatch):
    """What a Ray that is not there is asked for."""
    calls = []
    fake = ModuleType("ray")
    fake.is_initialized = lambda: False
    fake.init = lambda **more: calls.append(more)
    fake.shutdown = lambda: calls.append("shutdown")
    monkeypatch.setitem(sys.modules, "ray", fake)
    for name in [name for name in os.environ if name.startswith("RAY_")]:
        monkeypatch.delenv(name)
    monkeypatch.setattr(os, "environ", dict(os.environ))
    return calls


def test_without_any_address_a_cluster_of_our_own_behind_a_token(asked_for):
    with ray_engine._connected(""):
        assert asked_for[0]["include_dashboard"] is False
        assert "address" not in asked_for[0]
        assert os.environ["RAY_AUTH_MODE"] == "token"
        assert len(os.environ["RAY_AUTH_TOKEN"]) == 32
    assert asked_for[-1] == "shutdown"


@pytest.mark.parametrize("set_as", ["flag", "variable"])
def test_an_address_keeps_the_clusters_own_token(asked_for, set_as):
    if set_as == "variable":
        os.environ["RAY_ADDRESS"] = "h:6379"
    with ray_engine._connected("h:6379" if set_as == "flag" else ""):
        assert asked_for[0]["address"] == ("h:6379" if set_as == "flag" else None)  # None: Ray reads its variable
        assert "RAY_AUTH_TOKEN" not in os.environ


def test_ones_own_token_is_kept(asked_for):
    os.environ["RAY_AUTH_TOKEN_PATH"] = "/etc/ray-token"
    with ray_engine._connected(""):
        assert "RAY_AUTH_TOKEN" not in os.environ


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_the_driver_and_the_old_handling_comes_back(number):
    said, stops = [], []
    before = signal.getsignal(number)
    driver = SimpleNamespace(stop=lambda: stops.append(math.inf), stop_within=stops.append)
    with ray_engine._on_interrupt(driver, SimpleNamespace(say=said.append)):
        signal.raise_signal(number)
        signal.raise_signal(number)
    assert stops == [GRACE if number == signal.SIGTERM else math.inf] * 2
    assert len(said) == 2
    assert signal.getsignal(number) is before


def test_a_task_says_what_it_needs_and_is_not_retried_by_ray():
    """A retry of Ray's would ask a whole shard again."""
    said = {}

    class Task:
        def options(self, **options):
            said.update(options)
            return self

        def remote(self, *arguments):
            return arguments

    fake = ModuleType("ray")
    fake.remote = lambda function: Task()
    (cell,) = small_cells("http://h/v1", "a", seeds=(0,), more="gpus = 2\n")
    shard = Shard("s", cell.run, 0, cell.target, {}, (), "1")
    handle = ray_engine._RayPool(fake).submit(shard, Sink("p"), 3, Timeouts(5.0, patience=7.0))
    assert handle == (shard, Sink("p"), 3, Timeouts(5.0, patience=7.0))
    assert (said["num_gpus"], said["num_cpus"], said["max_retries"]) == (2, 1, 0)


def whole(cell, store, **more):
    """All trials of a cell."""
    store.begin_run(cell.prepared.config, cell.prepared.plan(), {})
    options = {name: one.options for name, one in cell.prepared.asked.items()}
    return Shard("s", cell.run, 0, cell.target, options, tuple(waiting_of(cell, store)), version("eqlab"), **more)


def test_a_worker_keeps_to_its_share(server, tmp_path):
    """Shares add up to an address's limit only if each worker keeps to its own."""
    under_way, replied = [], 0

    def reply(body, number):
        nonlocal replied
        under_way.append(len(server.requests) - replied)
        replied += 1
        return good(body)

    server.reply, server.delay = reply, 0.03
    (cell,) = small_cells(server.url, "a", seeds=(0,), limit=12, at_once=50)
    store = api.open_store(str(tmp_path / "s.db"))
    shard = whole(cell, store)
    assert work_shard(shard, Sink(str(tmp_path / "parts")), 3, Timeouts(5.0)) == ShardEnd()
    assert len(server.requests) == 12
    assert 2 <= max(under_way) <= 3
    assert Parts(str(tmp_path / "parts")).merge(cell.run, store) == 12
    store.close()


@pytest.mark.parametrize(("met", "patience"), [(True, 60.0), (True, 0.0), (False, 60.0)])
def test_a_worker_without_a_name_service_waits_where_others_were_answered(
    server, store, tmp_path, monkeypatch, met, patience
):
    """Its connections are new, and it alone could not tell an outage from an address where nobody is."""
    server.reply = good
    failures, real = iter(range(6)), socket.getaddrinfo

    def lookup(host, *more, **named):
        if host == "models.test" and next(failures, None) is not None:
            raise socket.gaierror(socket.EAI_AGAIN, "no")
        return real("127.0.0.1" if host == "models.test" else host, *more, **named)

    monkeypatch.setattr(socket, "getaddrinfo", lookup)
    monkeypatch.setattr("eqlab.models.http.HttpChat._backoff", lambda self, retries: 0.01)
    (cell,) = small_cells(server.url.replace("127.0.0.1", "models.test"), "a", seeds=(0,))
    end = work_shard(whole(cell, store, met=met), Sink(str(tmp_path / "parts")), 1, Timeouts(5.0, patience=patience))
    if met and patience:
        assert end == ShardEnd()
        assert Parts(str(tmp_path / "parts")).merge(cell.run, store) == 6
    else:
        assert end.kind == "model"
        assert "the name models.test cannot be looked up now" in end.failure
        assert ("--patience waits longer" in end.hint) is met


def test_a_worker_of_another_version_asks_nothing(server):
    (cell,) = small_cells(server.url, "a", seeds=(0,))
    end = work_shard(Shard("s", cell.run, 0, cell.target, {}, (), "0.0.0"), Sink("nowhere"), 1, Timeouts(5.0))
    assert "0.0.0" in end.failure
    assert end.kind == "model"
