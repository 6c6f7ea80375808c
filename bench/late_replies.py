"""How many answers are another question's where second replies come late and in other words, which nothing tells apart.

Loopback servers whose replies differ in speed and are now and then followed by another, 16 at once; and one that keeps
a second reply until the next question is asked. What is noticed soon costs few answers; connections are the price.

    python bench/late_replies.py [--seeds 5]"""

import argparse
import asyncio
import random
import time
from dataclasses import dataclass
from functools import partial

import _support  # noqa: F401
import hostile_wire as wire

from eqlab.models.chat import prompted
from eqlab.models.http import HttpChat
from eqlab.models.providers import resolve
from eqlab.models.transport import Transport

_FIRST = 101
"""A question's number is its answer; another's is none of these."""
_GOOD_AT_FIRST = 40


@dataclass(frozen=True, slots=True)
class Ended:
    asked: int
    wrong: int
    seconds: float
    connections: int


def now_and_then(seed: int, fastest: float, slowest: float, share: float, later: float) -> wire.Behaviour:
    """After a while this share of the replies is followed by another, so many seconds later."""
    draw = random.Random(seed)

    async def behave(call: wire.Call) -> None:
        await asyncio.sleep(draw.uniform(fastest, slowest))
        call.writer.write(wire.http(call.good))
        if call.number > _GOOD_AT_FIRST and draw.random() < share:
            second = wire.http(wire.another(call.good))
            asyncio.get_running_loop().call_later(later, wire.if_open, call.writer, second)

    return behave


def asked(behaviour: wire.Behaviour, questions: int, most: int) -> Ended:
    async def main(url: str) -> tuple[int, float]:
        chat = HttpChat(resolve("m", url), Transport(most))
        numbers = iter(range(_FIRST, _FIRST + questions))
        wrong: list[int] = []

        async def work() -> None:
            for number in numbers:
                reply = await chat.ask(prompted(f"How calm are they? {number}"))
                if reply.text != f"Calm: {number}":
                    wrong.append(number)

        started = time.perf_counter()
        await asyncio.gather(*(work() for _ in range(most)))
        took = time.perf_counter() - started
        await chat.close()
        return len(wrong), took

    with wire.serving(behaviour, text=lambda prompt: f"Calm: {prompt.split()[-1]}") as server:
        wrong, took = asyncio.run(main(server.url))
        return Ended(questions, wrong, took, server.opened)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=5)
    seeds = range(parser.parse_args().seeds)
    servers = {
        f"{fastest} to {slowest} s, {share:.0%} followed by another {later} s later": [
            asked(now_and_then(seed, fastest, slowest, share, later), 150, 16) for seed in seeds
        ]
        for fastest, slowest, share, later in (
            (0.2, 0.6, 0.0, 0.0),
            (0.2, 0.6, 0.05, 0.35),
            (0.1, 0.9, 0.05, 0.6),
            (0.1, 0.9, 0.3, 0.6),
        )
    } | {
        f"{pause} s, a second kept until the next is asked, 1 to 16 at once": [
            asked(wire.second_when_asked_again(partial(asyncio.sleep, pause)), 60, most) for most in (1, 2, 4, 8, 16)
        ]
        for pause in (0.2, 0.4)
    }
    print("| replies | answers | another's | seconds | connections |\n|---|---|---|---|---|")
    for name, runs in servers.items():
        wrong = f"{sum(run.wrong for run in runs)} ({', '.join(str(run.wrong) for run in runs)})"
        seconds, opened = sum(run.seconds for run in runs), sum(run.connections for run in runs)
        print(f"| {name} | {sum(run.asked for run in runs)} | {wrong} | {seconds:.1f} | {opened} |")


if __name__ == "__main__":
    main()
