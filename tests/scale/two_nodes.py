"""A Ray cluster of two raylets in a process of its own, so that Ray's warnings and children are not the tests'.

Prints its address; kills the second node when told `kill`, and ends with its standard input."""

import os
import sys

_STORE = 80 * 2**20
"""Bytes for Ray's objects on each node."""


def main() -> None:
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    os.environ["RAY_raylet_start_wait_time_s"] = "180"  # noqa: SIM112 - its name; for busy machines
    from ray.cluster_utils import Cluster

    common = {"num_cpus": 1, "object_store_memory": _STORE}
    head = {**common, "num_gpus": 1, "include_dashboard": False, "include_log_monitor": False}
    cluster = Cluster(initialize_head=True, head_node_args=head)
    second = cluster.add_node(**common, include_log_monitor=False)
    _say(f"address {cluster.address}")
    for line in sys.stdin:
        if line.strip() == "kill":
            cluster.remove_node(second, allow_graceful=False)
            _say("killed")
    cluster.shutdown()


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
