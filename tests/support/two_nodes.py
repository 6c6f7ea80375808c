"""A Ray cluster of two raylets in a process of its own, so that Ray's warnings and children are not the tests'.

Prints its address; kills the second node when told `kill`, or `kill busy` as soon as a shard has come to it, and ends
with its standard input."""

import os
import socket
import sys
import time
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

_STORE = 80 * 2**20
"""Bytes for Ray's objects on each node."""


def main() -> None:
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    os.environ["RAY_health_check_period_ms"] = "1000"  # noqa: SIM112 - its name; a dead node is noticed in 5 s, not 15
    os.environ["RAY_worker_register_timeout_seconds"] = "180"  # noqa: SIM112 - its name
    from ray.cluster_utils import Cluster

    _expect_no_dashboard_agent()
    cluster = Cluster(initialize_head=True, head_node_args={**_node(), "num_gpus": 1, "include_dashboard": False})
    second = cluster.add_node(**_node())
    _say(f"address {cluster.address}")
    for line in sys.stdin:
        if line.startswith("kill"):
            if line.strip() == "kill busy":
                _wait_for_a_shard(second.all_processes["raylet"][0].process.pid)
            cluster.remove_node(second, allow_graceful=False)
            _say("killed")
    cluster.shutdown()


def _wait_for_a_shard(raylet: int) -> None:
    """Until it is in the middle of one, if that ever comes."""
    before, until = _shards(raylet), time.monotonic() + 60
    while time.monotonic() < until:
        time.sleep(0.01)
        now = _shards(raylet)
        if begun := now - before:
            time.sleep(0.3)
            if begun & _shards(raylet):
                return
        before = now


def _shards(raylet: int) -> set[bytes]:
    """Ray calls a worker's process after its task, and that is called after the run."""
    names = set()
    for worker in Path(f"/proc/{raylet}/task/{raylet}/children").read_text().split():
        with suppress(OSError):  # it may have ended
            names.add(Path(f"/proc/{worker}/cmdline").read_bytes().strip(b"\0"))
    return {name for name in names if name.startswith(b"ray::eqlab ")}


def _expect_no_dashboard_agent() -> None:
    """Say beforehand that this service is not in use, as an agent would: on a busy machine it is up after the 15 s."""
    from ray._private.node import Node
    from ray._raylet import DASHBOARD_AGENT_LISTEN_PORT_NAME, persist_port

    start = Node.start_raylet

    def start_raylet(self: Any, *arguments: Any, **named: Any) -> Any:
        persist_port(self._session_dir, self._node_id, DASHBOARD_AGENT_LISTEN_PORT_NAME, -1)
        return start(self, *arguments, **named)

    Node.start_raylet = start_raylet


def _node() -> dict[str, Any]:
    """Agents with ports of their own: a raylet waits only 15 s for an agent that picks its port by itself."""
    names = ("metrics_agent_port", "metrics_export_port", "dashboard_agent_listen_port", "runtime_env_agent_port")
    with ExitStack() as probes:
        ports = []
        for _ in names:
            probe = probes.enter_context(socket.socket())
            probe.bind(("127.0.0.1", 0))
            ports.append(probe.getsockname()[1])
    return dict(zip(names, ports, strict=True)) | {
        "num_cpus": 1,
        "object_store_memory": _STORE,
        "include_log_monitor": False,
    }


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
