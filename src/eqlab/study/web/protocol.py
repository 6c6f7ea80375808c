"""HTTP connections that cannot be held open for nothing: the head of a request comes in time or the connection is
closed, and when there are too many the one that waits for its head longest makes room. Neither uvicorn nor h11 has such
limits by itself."""

import asyncio
import resource
from collections import OrderedDict
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

_SPARE = 128
"""File descriptors left for the store, logs and what else a process opens."""
_MOST = 4096


class Connections:
    """Connections that wait for the head of a request, oldest first, and how many there are in all."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.open = 0
        self.waiting: OrderedDict[int, Guarded] = OrderedDict()

    def make_room(self) -> None:
        """Close the connection that has waited longest without a request of its own."""
        if self.open > self.most and self.waiting:
            _, oldest = self.waiting.popitem(last=False)
            oldest.drop()


def most_connections() -> int:
    """As many as the process may have files open, less a few; the limit is raised as far as the system allows."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _MOST + _SPARE if hard == resource.RLIM_INFINITY else min(hard, _MOST + _SPARE)
    if soft < wanted:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
            soft = wanted
        except (ValueError, OSError):  # the system says no: then with what there is
            pass
    return max(32, min(soft, _MOST + _SPARE) - _SPARE)


def guarded(head_seconds: float, connections: Connections) -> type["Guarded"]:
    """The protocol for one server."""

    class Own(Guarded):
        seconds = head_seconds
        others = connections

    return Own


class Guarded(H11Protocol):
    seconds: float
    others: Connections
    _late: asyncio.TimerHandle | None = None
    _seen: Any = None
    """The request that came last."""

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self.others.open += 1
        self._wait()
        self.others.make_room()

    def connection_lost(self, exc: Exception | None) -> None:
        self.others.open -= 1
        self._stop_waiting()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        between = self.cycle is None or self.cycle.response_complete
        super().data_received(data)
        if self.cycle is not self._seen:  # a head is complete
            self._seen = self.cycle
            self._stop_waiting()
        elif between and self._late is None:  # a head has begun; trickling does not make it longer
            self._wait()

    def drop(self) -> None:
        self._stop_waiting()
        if not self.transport.is_closing():
            self.transport.abort()

    def _wait(self) -> None:
        self._late = self.loop.call_later(self.seconds, self.drop)
        self.others.waiting[id(self)] = self

    def _stop_waiting(self) -> None:
        self.others.waiting.pop(id(self), None)
        if self._late is not None:
            self._late.cancel()
            self._late = None
