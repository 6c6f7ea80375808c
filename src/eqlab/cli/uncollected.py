"""Pausing Python's search for reference cycles while a command builds much that stays. Only commands do this: a program
that uses the library decides for itself."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def uncollected() -> Iterator[None]:
    """Neither results nor pages hold cycles, and looking for some takes a tenth of the time."""
    before = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if before:
            gc.enable()
