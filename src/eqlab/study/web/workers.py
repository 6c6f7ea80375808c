"""Several processes on one address: each has its own connections to the store, and the store is where they meet.
Sessions are signed cookies and limits are in the store, so it does not matter which process a request finds."""

import os
import signal
import socket
from collections.abc import Callable

from eqlab.core.errors import UsageError


def listen(host: str, port: int) -> socket.socket:
    """A socket that processes made by `share` inherit."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    made = socket.socket(family)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        made.bind((host, port))
    except OSError as error:
        made.close()
        raise UsageError(
            f"Nothing can be served on {host}:{port} ({error.strerror}).",
            "Is the port in use? Name another with --port.",
        ) from error
    made.listen(2048)
    made.set_inheritable(True)
    return made


def share(workers: int, work: Callable[[int], None]) -> int:
    """Run `work` in so many processes and wait for all of them; the status to end with. A signal to this one goes to
    all; when one ends by itself, the others are stopped, so that whoever watches the service sees it."""
    children: dict[int, int] = {}
    for number in range(workers):
        child = os.fork()
        if child == 0:
            code = 1
            try:
                work(number)
                code = 0
            finally:
                os._exit(code)
        children[child] = number

    def pass_on(what: int, _: object = None) -> None:
        for child in children:
            try:
                os.kill(child, what)
            except ProcessLookupError:
                continue

    for name in (signal.SIGINT, signal.SIGTERM):
        signal.signal(name, pass_on)
    worst = 0
    while children:
        child, status = os.wait()
        children.pop(child, None)
        worst = worst or os.waitstatus_to_exitcode(status)
        pass_on(signal.SIGTERM)
    return worst
