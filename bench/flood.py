"""A web study while one address asks without pause: how long everybody else waits for a page.

The server is one process on SQLite; who floods is a process of its own at 127.0.0.1, who waits is at 127.0.0.2 (Linux
takes both for this machine; elsewhere the second must be made first).

    python bench/flood.py [--connections 50 200 800] [--seconds 6]
"""

import argparse
import contextlib
import http.client
import selectors
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import cast
from urllib.parse import urlsplit

from loopback import Process
from study import SERVER, head, percentile, row

GET = "GET {} HTTP/1.1\r\nHost: {}\r\nCookie: {}\r\n\r\n"
POST = "POST /s/load/resume HTTP/1.1\r\nHost: {}\r\nSec-Fetch-Site: same-origin\r\nContent-Length: 60000\r\n\r\n"
FLOODS: dict[str, Callable[[str, str], str]] = {
    "asks for its own page": lambda host, cookie: GET.format("/s/load/page", host, cookie),
    "asks for a file": lambda host, _: GET.format("/static/pico.css", host, ""),
    "asks for what is not there": lambda host, _: GET.format("/nowhere", host, ""),
    "sends a hundred requests together": lambda host, _: 100 * GET.format("/nowhere", host, ""),
    "sends bodies of 60 kB, on new connections": lambda host, _: POST.format(host) + 60_000 * "a",
    "connects, asks and hangs up": lambda host, _: GET.format("/openapi.json", host, ""),
}


class Flood:
    """So many connections; what was asked is asked again as soon as a reply has come, and whatever closes is opened."""

    def __init__(self, what: str, connections: int, host: str, cookie: str) -> None:
        address, _, port = host.partition(":")
        self._where = address, int(port)
        self._says = FLOODS[what](host, cookie).encode()
        self._each = 100 if "together" in what else 1
        self._anew, self._hangs_up = "new connections" in what, "hangs up" in what
        self._lines = selectors.DefaultSelector()
        self.replies = 0
        for _ in range(connections):
            self._open()

    def _open(self) -> None:
        line = socket.socket()
        line.setblocking(False)
        line.connect_ex(self._where)
        self._lines.register(line, selectors.EVENT_WRITE, [0])

    def go_on(self) -> None:
        for key, event in self._lines.select(0.2):
            line, left = cast(socket.socket, key.fileobj), key.data
            try:
                if event & selectors.EVENT_WRITE:
                    line.send(self._says)
                    left[0] = self._each
                    self._lines.modify(line, selectors.EVENT_READ, left)
                    if not self._hangs_up:
                        continue
                came = line.recv(1 << 20).count(b"HTTP/1.1 ") if not self._hangs_up else 1
                self.replies += came
                left[0] -= came
                if self._hangs_up or (came and self._anew):
                    raise OSError
                if left[0] <= 0:
                    self._lines.modify(line, selectors.EVENT_WRITE, left)
            except BlockingIOError:
                continue
            except OSError:
                self._lines.unregister(line)
                line.close()
                self._open()


def flood(what: str, connections: int, seconds: float, host: str, cookie: str) -> None:
    going = Flood(what, connections, host, cookie)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        going.go_on()
    print(f"{going.replies / seconds:.0f}")


class Guest:
    """Somebody at another address."""

    def __init__(self, url: str) -> None:
        self._host = urlsplit(url).netloc
        self.cookie = ""
        _, told = self._ask("/s/load?PROLIFIC_PID=guest")
        self.cookie = told.partition(";")[0]

    def _ask(self, path: str) -> tuple[int, str]:
        """On a new connection, as somebody comes who has not been here for a while."""
        line = http.client.HTTPConnection(self._host, timeout=60, source_address=("127.0.0.2", 0))
        with contextlib.closing(line):
            line.request("GET", path, headers={"Cookie": self.cookie, "Sec-Fetch-Site": "none"})
            reply = line.getresponse()
            reply.read()
            return reply.status, reply.getheader("set-cookie", "")

    def waits(self, seconds: float) -> list[float]:
        """For each page."""
        took = []
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            began = time.perf_counter()
            status, _ = self._ask("/s/load/page")
            if status != 200:
                raise SystemExit(f"The page came with {status}.")
            took.append(time.perf_counter() - began)
            time.sleep(0.1)
        return took


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--connections", type=int, nargs="+", default=[50, 200, 800])
    parser.add_argument("--seconds", type=float, default=6.0)
    parser.add_argument("--flood", nargs=3, metavar=("WHAT", "HOST", "COOKIE"), help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.flood:
        what, host, cookie = asked.flood
        flood(what, asked.connections[0], asked.seconds, host, cookie)
        return
    with tempfile.TemporaryDirectory() as folder:
        server = Process(SERVER, "--store", str(Path(folder) / "study.db"))
        guest, other = Guest(server.url), Guest(server.url)
        head("Times of a page at another address in ms, on a new connection each.", "one address",
             "connections", "its replies a second", "pages", "median", "longest")  # fmt: skip

        def times(took: list[float]) -> tuple[object, ...]:
            return len(took), f"{percentile(took, 0.5):.0f}", f"{1000 * max(took):.0f}"

        row("is quiet", "–", "–", *times(guest.waits(asked.seconds)))
        for what in FLOODS:
            for connections in asked.connections:
                going = subprocess.Popen(
                    [sys.executable, __file__, "--connections", str(connections), "--seconds", str(asked.seconds + 2),
                     "--flood", what, urlsplit(server.url).netloc, other.cookie], stdout=subprocess.PIPE, text=True,
                )  # fmt: skip
                time.sleep(1)
                took = guest.waits(asked.seconds)
                row(what, connections, int(going.communicate()[0]), *times(took))
                time.sleep(1)
        server.kill()


if __name__ == "__main__":
    main()
