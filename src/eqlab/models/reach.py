"""How a server is reached: the addresses of its name, and sockets that notice when they lead nowhere."""

import asyncio
import socket
import time
from typing import Any

import aiohttp
from aiohttp.abc import AbstractResolver

_PROBES = {"TCP_KEEPIDLE": 30, "TCP_KEEPINTVL": 15, "TCP_KEEPCNT": 4, "TCP_USER_TIMEOUT": 60_000}
"""A connection that leads nowhere is noticed within a minute or two, and one that only waits is not forgotten."""


class Names(AbstractResolver):
    """Addresses of names, asked for again after a while. One that is known is used on while nobody tells it anew."""

    _FRESH, _KNOWN, _UNKNOWN = 10.0, 2.0, 15.0
    """Seconds: how long an answer is good, and how long one is waited for while another is known, or none."""

    def __init__(self) -> None:
        self._asked = aiohttp.ThreadedResolver()
        self._known: dict[tuple[str, int, int], tuple[float, list[Any]]] = {}
        self._one_at_a_time = asyncio.Lock()

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[aiohttp.abc.ResolveResult]:
        key = (host, port, int(family))
        async with self._one_at_a_time:
            at, found = self._known.get(key, (0.0, []))
            if found and time.monotonic() - at < self._FRESH:
                return found
            try:
                asking = self._asked.resolve(host, port, family)
                found = await asyncio.wait_for(asking, self._KNOWN if found else self._UNKNOWN)
            except OSError:  # a time-out is one
                if not found:
                    raise
            self._known[key] = (time.monotonic(), found)
            return found

    async def close(self) -> None:
        await self._asked.close()


def probed(address: Any) -> socket.socket:
    made = socket.socket(*address[:3])
    made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in _PROBES.items():
        if hasattr(socket, name):  # each system has some
            made.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
    return made
