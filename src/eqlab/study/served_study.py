"""The way from a web server's event loop to the participation. People who wait at the same time are served by one call:
their moves share a transaction, and their pages a query. An awaited write is on disk."""

import asyncio
import logging
import math
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Generic, ParamSpec, TypeVar

from eqlab.core.errors import StoreError
from eqlab.core.forms import Writing
from eqlab.core.moves import Move, Saved, Unknown, View
from eqlab.core.runs import ModelConfig
from eqlab.core.studied import Conversing
from eqlab.core.trials import Trial
from eqlab.store.engine import scrub
from eqlab.store.store import Store
from eqlab.store.study.participation import Participation
from eqlab.store.study.records import erase, erased_lately
from eqlab.study.kinds import kind_of

if TYPE_CHECKING:
    from eqlab.study.conversations import Conversations

P = ParamSpec("P")
T = TypeVar("T")
Asked = TypeVar("Asked")
Told = TypeVar("Told")
_WRITERS_POSTGRESQL = 2
"""One can work while the other waits for the disk. SQLite has one: a second would only wait for the first."""
_READERS = 2
_CLEAN_AGAIN, _CLEAN_AGAIN_AT_LAST = 20.0, 1280.0
"""Seconds after which the traces of somebody erased are looked for again; twice as many after each try in vain."""
_CLEAN_REST, _CLEAN_PATIENCE = 9.0, 2.0
"""How many times as long as a cleaning took the next one waits, so that whoever saves has nine tenths of the time; and
the seconds for which somebody who deletes waits for that, rather than be told that it follows."""
_REMEMBERED = 10_000
"""People of whom a server knows that nothing is left."""
_MOST = 64
"""Served by one call."""
_log = logging.getLogger("eqlab.study")


class ServedStudy:
    """One study's participation, for asynchronous callers."""

    def __init__(
        self,
        participation: Participation,
        models: Mapping[str, ModelConfig] | None = None,
        cleaner: "Cleaner | None" = None,
    ) -> None:
        """`models` by arm: to be asked instead of the study's own, where people talk with models. Studies of one store
        share a `cleaner`."""
        self.participation = participation
        self.cleaner = cleaner or Cleaner(participation.store)
        self.design = participation.design
        self.study = participation.study
        self.passes_on = any(_written(trial) for batch in self.design.batches for trial in batch.trials)
        """Whether what people write is the outcome, which others may have been given to rate."""
        postgresql = participation.store.engine.dialect.name == "postgresql"
        self._writers = ThreadPoolExecutor(_WRITERS_POSTGRESQL if postgresql else 1, "eqlab-served-write")
        self._readers = ThreadPoolExecutor(_READERS, "eqlab-served-read")
        self._exporter = ThreadPoolExecutor(1, "eqlab-served-export")
        self._moves = _Together(self._writers, participation.make)
        self._looks = _Together(self._readers, participation.look_at)
        self.failed_at = -math.inf
        """When the database last did not take what somebody gave."""
        self.talks: Conversations | None = None
        if self.study.talk is not None:
            from eqlab.study import conversations

            kind = kind_of(self.study)
            if isinstance(kind, Conversing):
                self.talks = conversations.Conversations(participation, kind, self.write, self.read, models)

    async def begin(self) -> None:
        """A server that was killed may have told somebody that their last traces will go."""
        if await self.read(erased_lately, self.participation):
            await self.cleaner.take_up()

    async def make(self, move: Move) -> Saved:
        with self._noticed():
            return await self._moves.ask(move)

    async def look(self, person: str) -> View:
        return await self._looks.ask(person)

    async def write(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Anything else that changes the study, in a transaction of its own."""
        with self._noticed():
            return await asyncio.get_running_loop().run_in_executor(self._writers, lambda: work(*args, **kwargs))

    @contextmanager
    def _noticed(self) -> Iterator[None]:
        try:
            yield
        except StoreError as error:
            if error.__cause__ is not None:  # the database's own
                self.failed_at = time.monotonic()
            raise

    async def read(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._readers, lambda: work(*args, **kwargs))

    async def read_all(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """What reads a whole study, as an export does: nobody's page waits for it."""
        return await asyncio.get_running_loop().run_in_executor(self._exporter, lambda: work(*args, **kwargs))

    async def erase(self, person: str) -> bool:
        """A person deletes what they answered; whether nothing is left in the database's files."""
        await self.write(erase, self.participation, person, "person")
        return await self.cleaner.clean(person)

    def close(self) -> None:
        """Waits for what is being written, and for a last try to clean the files."""
        self.cleaner.close()
        self._writers.shutdown()
        self._readers.shutdown()
        self._exporter.shutdown()


def _written(trial: Trial) -> bool:
    return not trial.seat and any(isinstance(one, Writing) and one.long for one in trial.form.fields)


class Cleaner:
    """Takes the traces of who was erased out of a database's own files, for all studies in it. If somebody reads there
    at the moment, it is tried again until nothing is left. Saves wait for it only while SQLite's file is written anew;
    people who delete at the same time share it, and it rests between."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._thread = ThreadPoolExecutor(1, "eqlab-served-clean")
        self._together = _Together(self._thread, self._clean)
        self._unclean: set[str] = set()
        """Whose traces are in the files, or nobody known; touched by the thread only, as is the next."""
        self._rested_at = -math.inf
        self._gone: deque[str] = deque(maxlen=_REMEMBERED)
        self.again: asyncio.Task[None] | None = None
        """Tries it later, as long as something is left."""

    async def take_up(self) -> None:
        """Something may be left of an earlier program."""
        await asyncio.get_running_loop().run_in_executor(self._thread, self._unclean.add, "")
        self._later()

    async def clean(self, person: str) -> bool:
        """Whether nothing is left of them now."""
        clean = await self._together.ask(person)
        if not clean:
            self._later()
        return clean

    def has_cleaned(self, person: str) -> bool:
        """Whether this program has; of others, and of long ago, it does not know."""
        return person in self._gone

    def close(self) -> None:
        """Waits for a last try."""
        with suppress(RuntimeError):  # another study of this database was closed before
            self._thread.submit(self._finish)
        self._thread.shutdown()

    def _finish(self) -> None:
        self._rested_at = -math.inf
        if self._unclean:
            self._clean(())

    def _clean(self, people: Sequence[str]) -> list[bool]:
        self._unclean.update(people)
        rest = self._rested_at - time.monotonic()
        if rest > _CLEAN_PATIENCE:
            return [False for _ in people]
        time.sleep(max(0, rest))
        began = time.monotonic()
        try:
            clean = scrub(self._store.engine)
        except StoreError as error:  # a server that is away takes them along
            facts = {"why": error.message}
            _log.warning("traces of who was erased are still in the database's files", extra={"facts": facts})
            clean = False
        self._rested_at = time.monotonic() + _CLEAN_REST * (time.monotonic() - began)
        if clean:
            self._gone.extend(self._unclean)
            self._unclean.clear()
        return [clean for _ in people]

    def _later(self) -> None:
        if self.again is None:
            self.again = asyncio.get_running_loop().create_task(self._try_again())

    async def _try_again(self) -> None:
        pause = _CLEAN_AGAIN
        try:
            while self._unclean:
                await asyncio.sleep(pause)
                pause = min(2 * pause, _CLEAN_AGAIN_AT_LAST)
                await asyncio.get_running_loop().run_in_executor(self._thread, self._clean, ())
        finally:
            self.again = None  # whatever ended it, the next deletion begins it anew


class _Together(Generic[Asked, Told]):
    """Gathers what is asked while earlier calls are under way, and serves all of it by the next."""

    def __init__(self, threads: Executor, work: Callable[[Sequence[Asked]], Sequence[Told | Unknown]]) -> None:
        self._threads, self._work = threads, work
        self._waiting: deque[tuple[Asked, asyncio.Future[Told]]] = deque()

    async def ask(self, asked: Asked) -> Told:
        told: asyncio.Future[Told] = asyncio.get_running_loop().create_future()
        self._waiting.append((asked, told))
        self._threads.submit(self._serve)
        return await told

    def _serve(self) -> None:
        batch: list[tuple[Asked, asyncio.Future[Told]]] = []
        with suppress(IndexError):  # nobody waits any more
            while len(batch) < _MOST:
                asked, told = self._waiting.popleft()
                if not told.cancelled():
                    batch.append((asked, told))
        if batch:  # otherwise an earlier call has served it along
            answers = self._answers([asked for asked, _ in batch])
            served = list(zip((told for _, told in batch), answers, strict=True))
            for loop in {told.get_loop() for told, _ in served}:  # a server has one
                with suppress(RuntimeError):  # it has ended, and who waited with it
                    loop.call_soon_threadsafe(_tell, [one for one in served if one[0].get_loop() is loop])

    def _answers(self, batch: Sequence[Asked]) -> Sequence[Told | Exception]:
        try:
            return self._work(batch)
        except Exception as error:  # noqa: BLE001 - handed on to whoever waits for it
            if len(batch) == 1:
                return [error]
            return [answer for one in batch for answer in self._answers([one])]  # nobody fails for another


def _tell(served: Sequence[tuple[asyncio.Future[Told], Told | Exception]]) -> None:
    for told, answer in served:
        if told.cancelled():
            continue
        if isinstance(answer, Exception):
            told.set_exception(answer)
        else:
            told.set_result(answer)
