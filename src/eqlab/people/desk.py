"""The way from a web server's event loop to the register: SQLite has one thread that writes, since a second only waits
for the first; PostgreSQL has several. An awaited write is on disk."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import ParamSpec, TypeVar

from eqlab.people.register import Register

P = ParamSpec("P")
T = TypeVar("T")
_READERS = 2
_WRITERS_POSTGRESQL = 8


class Desk:
    """One study's register, for asynchronous callers."""

    def __init__(self, register: Register) -> None:
        self.register = register
        self.design = register.design
        self.study = register.study
        postgresql = register.store.engine.dialect.name == "postgresql"
        self._writers = ThreadPoolExecutor(_WRITERS_POSTGRESQL if postgresql else 1, "eqlab-desk-write")
        self._readers = ThreadPoolExecutor(_READERS, "eqlab-desk-read")

    async def write(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._writers, lambda: work(*args, **kwargs))

    async def read(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._readers, lambda: work(*args, **kwargs))

    def close(self) -> None:
        """Waits for what is being written."""
        self._writers.shutdown()
        self._readers.shutdown()
