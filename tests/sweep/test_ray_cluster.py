"""Ray for real: a cluster of two raylets on this machine, one killed at work. Nothing is lost, nothing is doubled."""

import importlib.util
import os
import re
import signal
import subprocess
import sys
import time
from uuid import uuid4

import pytest
from conftest import ROOT, absent
from small_sweep import good, small_cells, stored_answers, sweep_text

import eqlab as api

EQLAB = [sys.executable, "-c", "from eqlab.cli.main import main; main()"]
KEY = "sk-of-the-workers-environment"
TOKEN = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": uuid4().hex}
"""Ray's own lock on the cluster's door; without it Ray would put one into the user's home."""
TINY_SERVER = ROOT / "tests" / "support" / "tiny_server.py"


class Cluster:
    def __init__(self, process):
        self.process = process
        self.address = self.line("address ")

    def line(self, beginning):
        for line in self.process.stdout:
            if line.startswith(beginning):
                return line.removeprefix(beginning).strip()
        raise AssertionError("the cluster ended")

    def kill_a_node(self):
        self.process.stdin.write("kill\n")
        self.process.stdin.flush()
        self.line("killed")


@pytest.fixture(scope="module")
def cluster():
    if importlib.util.find_spec("ray") is None:
        absent("ray is not installed")
    script = ROOT / "tests" / "support" / "two_nodes.py"
    process = subprocess.Popen(
        [sys.executable, script],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**os.environ, **TOKEN, "THE_LAB_KEY": KEY},  # the nodes have the key; the driver has not
        start_new_session=True,
    )
    try:
        yield Cluster(process)
    finally:
        process.stdin.close()
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        process.stdout.close()


def start(cluster, file, store, *more):
    return subprocess.Popen(
        [*EQLAB, "sweep", str(file), "--engine", "ray", "--address", cluster.address, "--store", store, *more],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=file.parent,
        env={**os.environ, **TOKEN},
    )


def wait_until(there, driver):
    deadline = time.monotonic() + 300
    while not there() and driver.poll() is None and time.monotonic() < deadline:
        time.sleep(0.02)


@pytest.mark.claims
def test_a_driver_killed_at_work_goes_on_with_the_parts_it_left(cluster, server, tmp_path):
    changes = {"seeds": (0,), "limit": 24, "at_once": 4, "more": 'key = "THE_LAB_KEY"\n'}
    file, where, parts = tmp_path / "s.toml", str(tmp_path / "s.db"), tmp_path / "parts"
    file.write_text(sweep_text(server.url, ("a",), **changes))
    server.reply, server.delay = good, 0.4
    driver = start(cluster, file, where, "--parts", str(parts), "--shard", "12")
    wait_until(lambda: any(parts.glob("*/[!.]*.parquet")), driver)  # which it takes in, or leaves behind
    driver.kill()
    driver.communicate()
    asked, server.delay = len(server.requests), 0.05
    driver = start(cluster, file, where, "--parts", str(parts), "--shard", "12")
    _, err = driver.communicate(timeout=300)
    assert driver.returncode == 0, err
    said = re.search(r"(\d+) trials to ask \((\d+) answered before\)", err)
    assert said, err
    left, before = map(int, said.groups())
    assert left + before == 24
    assert left <= len(server.requests) - asked <= left + 4  # and what the killed driver's workers had under way
    store = api.open_store(where)
    (answers,) = stored_answers(store, small_cells(server.url, "a", **changes)).values()
    store.close()
    assert len(answers) == len(set(answers)) == 24
    assert not list((tmp_path / "parts").rglob("*.parquet"))


@pytest.mark.claims
def test_a_node_killed_at_work_loses_nothing_and_doubles_nothing(cluster, server, tmp_path):
    changes = {"seeds": (0,), "limit": 40, "at_once": 4, "more": 'key = "THE_LAB_KEY"\n'}
    file, where = tmp_path / "s.toml", str(tmp_path / "s.db")
    file.write_text(sweep_text(server.url, ("a",), **changes))
    server.reply, server.delay = good, 0.3
    driver = start(cluster, file, where, "--parts", str(tmp_path / "parts"), "--shard", "20")
    wait_until(lambda: len(server.requests) >= 12, driver)
    cluster.kill_a_node()
    out, err = driver.communicate(timeout=300)
    assert driver.returncode == 0, err
    assert "worker was lost" in err
    store = api.open_store(where)
    (cell,) = small_cells(server.url, "a", **changes)
    (answers,) = stored_answers(store, [cell]).values()
    store.close()
    assert len(answers) == len(set(answers)) == 40
    assert {status for *_, status in answers} == {"ok"}
    assert cell.run in out
    # Asked again at most: the lost worker's shard, of which a second's answers were not written yet.
    assert 40 <= len(server.requests) <= 60
    assert not list((tmp_path / "parts").rglob("*.parquet"))
    assert {header["Authorization"] for header in server.headers} == {f"Bearer {KEY}"}
    assert KEY not in out + err


@pytest.mark.claims
def test_workers_start_servers_on_gpus_and_write_to_postgresql(cluster, postgres, tmp_path):
    file = tmp_path / "s.toml"
    file.write_text(
        'benchmarks = ["eqbench"]\nlimit = 6\n[[models]]\nspec = "tiny"\ngpus = 1\n'
        f'start = "{sys.executable} {TINY_SERVER} {{port}} {tmp_path}/pid"\n'
    )
    driver = start(cluster, file, postgres, "--json", "--workers", "2")
    out, err = driver.communicate(timeout=300)
    assert driver.returncode == 0, err
    assert '"ok": 6' in out
    pid = int((tmp_path / "pid").read_text())
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)  # the server went with the shard
