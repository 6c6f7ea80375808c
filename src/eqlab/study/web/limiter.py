"""Token buckets by client address: so many at once, so many more each second. In memory, bounded."""

import ipaddress
import time
from collections import OrderedDict
from collections.abc import Callable

_MOST = 50_000
"""Addresses remembered; the one not seen for longest is forgotten first."""


class VisitLimiter:
    def __init__(self, burst: float, rate: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._burst, self._rate, self._clock = burst, rate, clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def allows(self, client: str) -> bool:
        """Whether this client may come in now; takes a token if so."""
        now = self._clock()
        tokens, at = self._buckets.pop(client, (self._burst, now))
        tokens = min(self._burst, tokens + (now - at) * self._rate)
        allowed = tokens >= 1
        self._buckets[client] = (tokens - 1 if allowed else tokens, now)
        if len(self._buckets) > _MOST:
            self._buckets.popitem(last=False)
        return allowed

    def forgive(self, client: str) -> None:
        self._buckets.pop(client, None)


def network_of(address: str) -> str:
    """What counts as one client: an IPv4 address, or the /64 that one household has of IPv6."""
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return "unknown"
    if found.version == 4:
        return address
    return str(ipaddress.ip_network(f"{address}/64", strict=False))


def is_loopback(address: str) -> bool:
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return False
