"""How the web study holds up: many people saving at once, many arriving at once, and a server that is killed.

Everything runs on loopback, on SQLite (synchronous=FULL) with one server process and on PostgreSQL (from the wheel)
with two. Times stand beside those of a bare FastAPI page of the same weight in the same run.

    python bench/study.py [--people 1000] [--every 10] [--pages 6] [--ramp 5] [--store sqlite postgresql]
    python bench/study.py --people 300 --every 2 --saving    # 150 saves a second, nothing else
    python bench/study.py --streams 500                      # so many open streams of talks, and one who overspends
"""

import argparse
import asyncio
import contextlib
import random
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from urllib.request import urlopen

import _support  # noqa: F401
import aiohttp
from loopback import Process, serving
from sqlalchemy import func, select

from eqlab.store.engine import open_engine
from eqlab.store.schema import answers, participants, places, talk_calls

SERVER = Path(__file__).with_name("study_server.py")
JSON = {"Accept": "application/json"}


@dataclass
class Load:
    """What clients saw."""

    saves: list[float] = field(default_factory=list)
    consents: list[float] = field(default_factory=list)
    """Posts that also claim a place; counted apart."""
    pages: list[float] = field(default_factory=list)
    acknowledged: int = 0
    ends: Counter[str] = field(default_factory=Counter)
    retries: int = 0
    cpu: float = 0.0
    """Milliseconds that the server took for saves and the pages that follow."""
    arriving: float = 0.0
    """Milliseconds that it took for all to arrive, consent and get their first page."""


def row(*cells: object) -> None:
    """A row of a Markdown table."""
    print(f"| {' | '.join(f'{cell:,}' if isinstance(cell, int) else str(cell) for cell in cells)} |", flush=True)


def head(title: str, *names: str) -> None:
    print(f"\n{title}\n")
    row(*names)
    print("|---" * len(names) + "|")


NAMES = {"sqlite": "SQLite", "postgresql": "PostgreSQL"}


@contextlib.asynccontextmanager
async def browser(url: str) -> AsyncIterator[aiohttp.ClientSession]:
    """A cookie jar and connections of its own, as a person's browser has."""
    jar = aiohttp.CookieJar(unsafe=True)
    async with aiohttp.ClientSession(cookie_jar=jar, headers={"Origin": url}) as session:
        yield session


async def get(session: aiohttp.ClientSession, load: Load, url: str) -> str:
    """A page, asked for until it comes: a person reloads when the server is away."""
    while True:
        began = time.perf_counter()
        try:
            async with session.get(url) as response:
                body = await response.text()
                if response.status < 500:
                    load.pages.append(time.perf_counter() - began)
                    return body
        except aiohttp.ClientError:
            pass
        load.retries += 1
        await asyncio.sleep(0.2)


async def post(session: aiohttp.ClientSession, load: Load, url: str, form: dict[str, str]) -> str:
    """What the page's script does: send until it is acknowledged, always the same."""
    while True:
        began = time.perf_counter()
        try:
            async with session.post(url, data=form, headers=JSON, allow_redirects=False) as response:
                if response.status < 500:
                    body = await response.json()
                    load.saves.append(time.perf_counter() - began)
                    return str(body["outcome"])
        except (aiohttp.ClientError, ValueError):
            pass
        load.retries += 1
        await asyncio.sleep(0.2)


class Everybody:
    """People who arrive one after the other and begin to answer when all have their first page."""

    def __init__(self, people: int, server: Process) -> None:
        self._inside = asyncio.Barrier(people)
        self._spent, self._begun = server.spent, server.spent()
        self._arrived = 0.0

    async def wait(self) -> None:
        if await self._inside.wait() == 0:  # one of them, whoever it is
            self._arrived = self._spent()

    def over(self, load: Load) -> None:
        load.arriving = 1000 * (self._arrived - self._begun)
        load.cpu = 1000 * (self._spent() - self._arrived)


async def person(
    number: int, url: str, load: Load, pages: int, every: float, start: float, everybody: Everybody | None = None
) -> None:
    """Arrive, consent, answer page after page, finish."""
    draw = random.Random(number)
    await asyncio.sleep(start)
    async with browser(url) as session:
        page = await get(session, load, f"{url}/s/load?PROLIFIC_PID=p{number}")
        where = f"{url}/s/load/page"
        if 'name="agree"' in page:
            await post(session, load, where, {"step": "0", "attempt": "1", "agree": "yes"})
            load.consents.append(load.saves.pop())
            page = await get(session, load, where)
        if everybody:
            await everybody.wait()
        for step in range(1, pages + 2):
            if 'name="step"' not in page:
                break
            await asyncio.sleep(draw.uniform(0.5, 1.5) * every)
            form = {"step": str(step), "attempt": "1", "shown": str(time.time()), "away": "0"}
            if step <= pages:
                form["v.rating"] = str(draw.randint(1, 3))
            outcome = await post(session, load, where, form)
            if step <= pages and outcome in ("saved", "again"):
                load.acknowledged += 1
            page = await get(session, load, where)
        load.ends["left" if 'name="step"' in page else "ended"] += 1


async def crowd(
    url: str, people: int, pages: int, every: float, ramp: float, waiting_for: Process | None = None
) -> Load:
    """`waiting_for`: this server's CPU for arrivals is told from that for saves, which begin when all are there."""
    load = Load()
    everybody = Everybody(people, waiting_for) if waiting_for else None
    starts = [ramp * number / people for number in range(people)]
    await asyncio.gather(
        *(person(number, url, load, pages, every, starts[number], everybody) for number in range(people))
    )
    if everybody:
        everybody.over(load)
    return load


async def bare_crowd(url: str, people: int, pages: int, every: float, ramp: float) -> Load:
    """The same rhythm against the bare page."""
    load = Load()

    async def visit(number: int) -> None:
        draw = random.Random(number)
        await asyncio.sleep(ramp * number / people)
        async with browser(url) as session:
            for _ in range(pages + 1):
                await asyncio.sleep(draw.uniform(0.5, 1.5) * every)
                await post(session, load, f"{url}/page", {"step": "1", "v.rating": "2"})
                await get(session, load, f"{url}/page")

    await asyncio.gather(*(visit(number) for number in range(people)))
    return load


@contextlib.contextmanager
def store(kind: str) -> Iterator[str]:
    """An empty store of one kind."""
    with tempfile.TemporaryDirectory() as folder:
        if kind == "sqlite":
            yield str(Path(folder) / "study.db")
            return
        from postgres import own_postgres

        with own_postgres(durable=True) as server:
            yield server.uri


def stored(where: str) -> tuple[int, Counter[str], Counter[str]]:
    """Answers in the store, people by state, places done by arm."""
    engine = open_engine(where)
    with engine.connect() as connection:
        rows = int(connection.execute(select(func.count()).select_from(answers)).scalar_one())
        people = Counter(connection.execute(select(participants.c.state)).scalars().all())
        done = Counter(connection.execute(select(places.c.arm).where(places.c.state == "done")).scalars().all())
    engine.dispose()
    return rows, people, done


def percentile(times: list[float], share: float) -> float:
    return 1000 * sorted(times)[min(len(times) - 1, int(share * len(times)))]


def floor_of(people: int, pages: int, every: float, ramp: float) -> Load:
    """A bare page in the same rhythm."""
    bare = Process(SERVER, "--bare", "3000")
    begun = bare.spent()
    floor = asyncio.run(bare_crowd(bare.url, people, pages, every, ramp))
    floor.cpu = 1000 * (bare.spent() - begun)
    bare.kill()
    return floor


def steady(kind: str, people: int, pages: int, every: float, ramp: float) -> None:
    """Many people saving in a rhythm, once all have arrived, one after the other, over some rounds of it. CPU is the
    server's: for each save with the page that follows, and for each arrival; errors are requests sent again."""
    with store(kind) as where:
        workers = "2" if kind == "postgresql" else "1"
        sizes = ("--places", str(people), "--pages", str(pages))
        server = Process(SERVER, "--store", where, *sizes, "--workers", workers)
        with urlopen(f"{server.url}/health") as ready:
            ready.read()
        load = asyncio.run(crowd(server.url, people, pages, every, ramp, server))
        server.stop()
        rows, states, _ = stored(where)
    name = f"{NAMES[kind]}, {'two processes' if workers == '2' else 'one process'}"
    arrival = f"{load.arriving / people:.2f}"
    row(*_seen(name, load), arrival, load.acknowledged, rows, states["finished"], load.retries)


def _seen(name: str, load: Load) -> tuple[object, ...]:
    p50, p99 = (f"{percentile(load.saves, share):.1f}" for share in (0.5, 0.99))
    return name, len(load.saves), p50, p99, f"{load.cpu / len(load.saves):.2f}"


async def listener(number: int, url: str, seen: Counter[str], waits: list[float], lock: asyncio.Semaphore) -> None:
    """One message, and the stream until the reply has come."""
    async with browser(url) as session:
        async with lock:
            await (await session.get(f"{url}/s/talk", params={"PID": f"p{number}"})).text()
            await (await session.post(f"{url}/s/talk/page", data={"step": "0", "agree": "yes"})).text()
            said = {"step": "1", "turn": "0", "do": "send", "v.emotion": "40", "v.says": "Something happened."}
            kept = await (await session.post(f"{url}/s/talk/talk", data=said, headers=JSON)).json()
            seen[str(kept["outcome"])] += 1
        began = time.perf_counter()
        async with session.get(f"{url}/s/talk/talk/reply?lines=1") as stream:
            seen["open"] += stream.status == 200
            seen["at once"] = max(seen["at once"], seen["open"] - seen["ended"])
            text = (await stream.read()).decode()
        seen["ended"] += 1
        seen["replies"] += "event: part" in text
        waits.append(time.perf_counter() - began)


async def spender(url: str) -> Counter[str]:
    """One person who asks the model for more than is theirs, with hundreds of messages, repeats and retries at once."""
    seen: Counter[str] = Counter()
    async with browser(url) as session:
        await (await session.get(f"{url}/s/talk", params={"PID": "spender"})).text()
        await (await session.post(f"{url}/s/talk/page", data={"step": "0", "agree": "yes"})).text()

        async def send(turn: int, do: str) -> None:
            said = {"step": "1", "turn": str(turn), "do": do, "v.emotion": "40", "v.says": "More " * 50}
            async with session.post(f"{url}/s/talk/talk", data=said, headers=JSON) as response:
                seen[str((await response.json())["outcome"])] += 1

        for turn in range(12):
            await asyncio.gather(*(send(turn, do) for do in ("send", "retry") * 10))
            await asyncio.sleep(0.3)
    return seen


def talks(kind: str, streams: int) -> None:
    """Many open streams while a slow model writes; then one participant who tries to spend the study's budget."""
    with store(kind) as where, serving(20.0) as slow:
        server = Process(SERVER, "--store", where, "--places", str(streams), "--talk", slow)
        seen: Counter[str] = Counter()
        waits: list[float] = []

        async def main() -> None:
            lock = asyncio.Semaphore(20)
            await asyncio.gather(*(listener(n, server.url, seen, waits, lock) for n in range(streams)))

        asyncio.run(main())
        server.stop()
    waited = f"{percentile(waits, 0.99) / 1000:.1f}"
    told = (NAMES[kind], streams, seen["at once"], seen["replies"], waited, f"{1000 * server.cpu / streams:.1f}")
    with store(kind) as where, serving(0.0) as quick:
        server = Process(SERVER, "--store", where, "--places", "50", "--talk", quick)
        tried = asyncio.run(spender(server.url))
        server.stop()
        engine = open_engine(where)
        with engine.connect() as connection:
            asked = int(connection.execute(select(func.count()).select_from(talk_calls)).scalar_one())
        engine.dispose()
    row(*told, tried.total(), asked)


def arrivals(kind: str, people: int, each: int) -> None:
    with store(kind) as where:
        server = Process(SERVER, "--store", where, "--places", str(each), "--pages", "1")
        began = time.perf_counter()
        asyncio.run(crowd(server.url, people, 1, 0.0, ramp=0.0))
        took = time.perf_counter() - began
        server.stop()
        _, states, done = stored(where)
    row(NAMES[kind], people, done["a"], done["b"], states["full"], f"{took:.1f}")


def killed(kind: str, people: int, pages: int, between: float) -> None:
    """The server dies every few seconds; people go on when it is back."""
    with store(kind) as where:
        server = Process(SERVER, "--store", where, "--places", str(people // 2), "--pages", str(pages))
        deaths = 0

        async def main() -> Load:
            nonlocal deaths
            task = asyncio.create_task(crowd(server.url, people, pages, 2.0, ramp=5.0))
            while True:
                done, _ = await asyncio.wait({task}, timeout=between)
                if done:
                    return task.result()
                await asyncio.to_thread(server.kill)
                await asyncio.to_thread(server.start)
                deaths += 1

        load = asyncio.run(main())
        server.stop()
        rows, states, done = stored(where)
    row(NAMES[kind], people, deaths, load.retries, load.acknowledged, rows, states["finished"], done["a"], done["b"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--people", type=int, default=1000)
    parser.add_argument("--every", type=float, default=10.0, help="seconds between two saves of a person")
    parser.add_argument("--pages", type=int, default=6)
    parser.add_argument(
        "--ramp",
        type=float,
        default=5.0,
        help="rounds of the rhythm over which people arrive; 1 measures the door",
    )
    parser.add_argument("--saving", action="store_true", help="leave out arrivals at once, and kills")
    parser.add_argument("--streams", type=int, default=0, help="measure open streams of talks instead")
    parser.add_argument("--store", nargs="+", default=["sqlite", "postgresql"])
    asked = parser.parse_args()
    if asked.streams:
        slow = "People who have written and wait, each with an open stream, for a model that takes 20 s."
        head(slow, "store", "people", "streams at once", "replies", "p99 s to the reply", "CPU ms a person",
             "messages of one who overspends", "model asked, of 3 that are theirs")  # fmt: skip
        for kind in asked.store:
            talks(kind, asked.streams)
        return
    rhythm = f"{asked.people:,} people save a page about every {asked.every:g} s; times of a save in ms."
    head(rhythm, "store", "saves", "p50", "p99", "CPU ms, a save with its page", "an arrival until its first page",
         "acknowledged", "stored", "finished", "sent again")  # fmt: skip
    ramp = asked.ramp * asked.every
    floor = floor_of(asked.people, asked.pages, asked.every, ramp)
    row(*_seen("none: a bare FastAPI page of the same weight", floor), "–", "–", "–", "–", floor.retries)
    for kind in asked.store:
        steady(kind, asked.people, asked.pages, asked.every, ramp)
    if asked.saving:
        return
    arriving = "Arriving at once, for two arms of 200 places."
    head(arriving, "store", "people", "arm a", "arm b", "told it is full", "seconds")
    for kind in asked.store:
        arrivals(kind, 600, 200)
    head("Killed with -9 every 5 s, and started again.", "store", "people", "deaths", "requests sent again",
         "acknowledged", "stored", "finished", "arm a", "arm b")  # fmt: skip
    for kind in asked.store:
        killed(kind, 300, 8, 5.0)


if __name__ == "__main__":
    main()
