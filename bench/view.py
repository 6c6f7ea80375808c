"""`eqlab view` over a large store: how long the first page and a comparison take, how large pages are, whether memory
stays where it is.

Builds a store of many answers (`bench/large.py`), serves it in a process of its own, and asks for pages as a browser
does: at once after the start, while results are being scored, and when all are. Then once more with a server that
finds the scores of the first.

    python bench/view.py [--answers 200000] [--store FILE]
"""

import argparse
import http.cookiejar
import os
import re
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import _support  # noqa: F401
from large import build

PAGES = 200
"""Requests between the two measurements of memory."""
READY = "Compare the chosen"
"""What stands under a table of scores."""
LIMIT = 200_000
"""Bytes that no page may pass."""


class Browser:
    def __init__(self, address: str) -> None:
        jar = urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar())
        self.opener = urllib.request.build_opener(jar)
        self.address = address
        self.base = ""
        """What leads to every page, once the address was opened."""

    def get(self, path: str) -> tuple[str, float]:
        """A page, and the seconds it took."""
        begun = time.perf_counter()
        with self.opener.open(path if path.startswith("http") else self.base + path, timeout=600) as reply:
            page = reply.read().decode()
        if path == self.address:
            self.base = reply.url.rstrip("/")
        return page, time.perf_counter() - begun


def memory(process: int) -> float:
    """Resident megabytes."""
    status = Path(f"/proc/{process}/status").read_text()
    found = re.search(r"VmRSS:\s+(\d+)", status)
    return int(found[1]) / 1024 if found else float("nan")


def told(what: str, page: str, seconds: float) -> None:
    size = len(page.encode())
    print(f"{what:<58} {seconds:6.2f} s  {size / 1000:6.1f} kB{'' if size <= LIMIT else '  TOO LARGE'}")


def again(path: Path) -> tuple[float, float, float]:
    """Seconds from the address to the first page and to its tables, and to a run's page, of a server that finds the
    scores of an earlier one."""
    with served(path) as (browser, _):
        begun = time.perf_counter()
        page, first = browser.get(browser.address)
        while READY not in page or "being scored" in page:
            time.sleep(0.1)
            page, _ = browser.get("/")
        tables = time.perf_counter() - begun
        run = re.findall(r'href="[^"]*/run/(\w+)"', page)[0]
        return first, tables, browser.get(f"/run/{run}")[1]


def scored(path: Path) -> float:
    """Seconds until a server that finds nothing has scored everything."""
    begun = time.perf_counter()
    with served(path) as (browser, _):
        page, _ = browser.get(browser.address)
        while READY not in page or "being scored" in page:
            time.sleep(1)
            page, _ = browser.get("/")
    return time.perf_counter() - begun


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--answers", type=int, default=200_000)
    parser.add_argument("--store", type=Path, help="a store that is there already")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = given.store or Path(folder) / "large.db"
        if given.store is None:
            print(f"{build(str(path), given.answers):,} answers")
        measure(path)


@contextmanager
def served(path: Path) -> Iterator[tuple[Browser, int]]:
    """A browser that knows the address of a server of this store, and the server's process."""
    command = [sys.executable, "-m", "eqlab", "view", "--no-browser", "--store", str(path)]
    environment = {**os.environ, "EQLAB_HOME": str(path.parent)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as server:
        try:
            if server.stdout is None:
                raise SystemExit("no address")
            yield Browser(server.stdout.readline().strip()), server.pid
        finally:
            server.terminate()


def measure(path: Path) -> None:
    begun = time.perf_counter()
    with served(path) as (browser, process):
        print(f"{'the address is printed after':<58} {time.perf_counter() - begun:6.2f} s")
        visit(browser, process)
    for what, seconds in zip(("first page", "first page with its tables", "run"), again(path), strict=True):
        print(f"{f'started again: {what}':<58} {seconds:6.2f} s")


def visit(browser: Browser, process: int) -> None:
    first, seconds = browser.get(browser.address)
    told("first page, nothing scored", first, seconds)
    while "/run/" not in first:
        first, seconds = browser.get("/")
        told("first page, nothing scored", first, seconds)
    run = re.findall(r'href="[^"]*/run/(\w+)"', first)[0]
    pick = f"/compare?s={run}:model:bench/model-000&s={run}:model:bench/model-001&b=eqbench"
    told("compare two, nothing scored", *browser.get(pick))
    begun = time.perf_counter()
    page = first
    while "being scored" in page or READY not in page:
        time.sleep(2)
        page, _ = browser.get("/")
    print(f"{'everything is scored after':<58} {time.perf_counter() - begun:6.2f} s")
    told("first page", *browser.get("/"))
    told("compare two", *browser.get(pick))
    told("compare all of a run on one benchmark", *browser.get(f"/compare?s={run}&b=eqbench"))
    compared, _ = browser.get(pick)
    item = re.findall(r'href="[^"]*(/item\?[^"]+)"', compared)[0].replace("&amp;", "&")
    told("item, everybody's answers", *browser.get(item))
    told("run", *browser.get(f"/run/{run}"))
    told("result", *browser.get(f"/result?run={run}&subject=model:bench/model-000&b=eqbench"))
    before = memory(process)
    for number in range(PAGES):
        browser.get(("/", pick, item)[number % 3])
    print(f"memory {before:.0f} MB; after {PAGES} more pages {memory(process):.0f} MB")


if __name__ == "__main__":
    main()
