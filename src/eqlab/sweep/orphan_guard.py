"""A process between a worker and the server it started: when the worker is gone, however it went, so is the server.

The worker holds the other end of our standard input. A worker killed with SIGKILL runs no clean-up, but its end of the
pipe closes; a GPU held by a forgotten server would be worse than a lost shard."""

import os
import signal
import subprocess
import sys
import threading
from contextlib import suppress

_POLITE = 10.0
"""Seconds that a server gets to end by itself."""


def main() -> None:
    server = subprocess.Popen(sys.argv[1:], stdin=subprocess.DEVNULL, start_new_session=True)
    threading.Thread(target=_end_with_the_worker, args=(server,), daemon=True).start()
    sys.exit(server.wait())


def _end_with_the_worker(server: subprocess.Popen[bytes]) -> None:
    while os.read(0, 1024):
        pass
    for number in (signal.SIGTERM, signal.SIGKILL):
        with suppress(ProcessLookupError):
            os.killpg(server.pid, number)  # its whole family: vLLM starts workers of its own
        with suppress(subprocess.TimeoutExpired):
            server.wait(_POLITE)


if __name__ == "__main__":
    main()
