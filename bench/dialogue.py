"""How close talks come to the physical limit: the models' latency, with as many requests at once as are allowed.

Starts a loopback server with a fixed latency, then, in the same run, asks it as many requests as the talks have with a
bare aiohttp loop that waits for nothing (the floor), and holds the talks: two models, every turn stored when it
arrives, no talk waiting for another. Then four times as many talks at a tenth of the latency, for memory.

    python bench/dialogue.py [--talks 200] [--turns 8] [--latency 0.5] [--in-flight 64]
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from loopback import serving
from runner import bare, measured

PERSONAS = 50
MOST = 1.10


def talks(url: str, count: int, turns: int, in_flight: int) -> None:
    """Talks with as many turns as asked for, half of them the listener's. Imports are counted on neither side: a few
    talks come first."""
    import eqlab as api

    with tempfile.TemporaryDirectory() as folder:
        store = api.open_store(str(Path(folder) / "bench.db"))

        def hold(personas: int, repeats: int) -> None:
            options = {"speaker": f"speaker@{url}", "turns": str(turns // 2)}
            request = api.Request(
                ("listener",), ("dialogue",), base_url=url, limit=personas, repeats=repeats, options=options
            )
            outcome = api.run(api.prepare(request), store, concurrency=in_flight)
            answered, planned = store.progress(outcome.run)["model:listener"]
            wanted = personas * repeats * turns
            if (answered, planned) != (wanted, wanted):
                raise SystemExit(f"{answered} of {planned} turns are answered, not {wanted}")

        hold(2, 1)
        measured(lambda: hold(PERSONAS, count // PERSONAS))


def in_own_process(*arguments: object) -> dict[str, float]:
    command = [sys.executable, __file__, "--worker", *map(str, arguments)]
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=os.environ)
    figures: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--talks", type=int, default=200)
    parser.add_argument("--turns", type=int, default=8)
    parser.add_argument("--latency", type=float, default=0.5)
    parser.add_argument("--in-flight", type=int, default=64)
    given = parser.parse_args()
    if given.talks % PERSONAS or given.turns % 2:
        raise SystemExit(f"Talks come in {PERSONAS}s and turns in twos.")
    requests = given.talks * given.turns
    ideal = requests * given.latency / given.in_flight
    with serving(given.latency) as url:
        floor = in_own_process("bare", url, requests, given.in_flight)
        held = in_own_process("talks", url, given.talks, given.turns, given.in_flight)
    with serving(given.latency / 10) as url:
        more = in_own_process("talks", url, 4 * given.talks, given.turns, given.in_flight)
    print(f"{given.talks} talks × {given.turns} turns, {given.latency} s each, {given.in_flight} at once")
    print(f"  ideal            {ideal:6.1f} s")
    print(f"  bare requests    {floor['wall']:6.1f} s  {floor['wall'] / ideal:.2f} × ideal  {floor['cpu']:5.1f} s CPU")
    print(
        f"  talks            {held['wall']:6.1f} s  {held['wall'] / ideal:.2f} × ideal  {held['cpu']:5.1f} s CPU  "
        f"{held['wall'] / floor['wall']:.2f} × bare  {held['memory']:.0f} MB"
    )
    print(f"  {4 * given.talks} talks at a tenth of the latency: {more['memory']:.0f} MB")
    if held["wall"] / ideal > MOST and held["wall"] / floor["wall"] > MOST:
        raise SystemExit(f"more than {MOST} × the ideal, and of the floor")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--worker"]:
        kind, url, *numbers = sys.argv[2:]
        if kind == "bare":
            bare(url, int(numbers[0]), int(numbers[1]))
        else:
            talks(url, int(numbers[0]), int(numbers[1]), int(numbers[2]))
    else:
        main()
