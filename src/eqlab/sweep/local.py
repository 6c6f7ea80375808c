"""A sweep in this process: models side by side, each through its cells in order, each address with one limit."""

import asyncio
from collections.abc import Sequence

from eqlab.core.answers import Answer
from eqlab.core.errors import EqlabError, InUseError, ModelError, StoreError
from eqlab.models.chat import Chat
from eqlab.models.timeouts import Timeouts
from eqlab.models.transport import Transport
from eqlab.runs.ask import Listener, ask
from eqlab.runs.event_loop import on_interrupt
from eqlab.store.store import Store
from eqlab.store.writer import run_lock
from eqlab.sweep.grid import SweepListener, SweepOutcome, SweepRun, Target, by_model
from eqlab.sweep.model_server import open_model

AT_ONCE = 8
"""Models under way at once. Each can fill its address by itself; more only smooth the ends."""


def run_here(cells: Sequence[SweepRun], store: Store, *, timeouts: Timeouts, watch: SweepListener) -> SweepOutcome:
    """Work on all cells. What one model cannot do does not stop the others; a store that fails stops all."""
    return asyncio.run(_Local(store, timeouts, watch).work(cells))


class _Local:
    def __init__(self, store: Store, timeouts: Timeouts, watch: SweepListener) -> None:
        self._store, self._timeouts, self._watch = store, timeouts, watch
        self._transports: dict[str, Transport] = {}
        self._failures: dict[str, EqlabError] = {}
        self._stop = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []
        """What a second Ctrl-C drops."""
        self._places = asyncio.Semaphore(AT_ONCE)
        self._in_place = asyncio.Semaphore(1)
        """A model in process, or a server started here, wants the machine to itself."""

    async def work(self, cells: Sequence[SweepRun]) -> SweepOutcome:
        models = [asyncio.create_task(self._model(own)) for own in by_model(cells).values()]
        with on_interrupt(self._stop, self._tasks, self._watch.say):
            ends = await asyncio.gather(*models, return_exceptions=True)
        for transport in self._transports.values():
            await transport.close()
        for end in ends:
            if isinstance(end, BaseException):
                raise end
        return SweepOutcome(self._failures, self._stop.is_set())

    async def _model(self, cells: Sequence[SweepRun]) -> None:
        target = cells[0].target
        waiting = list(cells)
        async with self._in_place if target.in_place else self._places:
            if self._stop.is_set():
                return
            try:
                async with open_model(target, lambda: self._transport(target), self._watch.say) as chat:
                    while waiting and not self._stop.is_set():
                        await self._cell(waiting[0], chat)
                        waiting.pop(0)
            except StoreError:
                self._stop.set()  # nothing can be kept any more
                raise
            except EqlabError as error:
                for cell in waiting:
                    self._failures[cell.run] = error
                    self._watch.ended(cell, error)

    async def _cell(self, cell: SweepRun, chat: Chat) -> None:
        """Raises ModelError where the model is hopeless, for its other cells would only fail alike."""
        done = planned = 0

        def begun(progress: dict[str, tuple[int, int]]) -> None:
            nonlocal done, planned
            done, planned = progress[cell.subject]
            self._watch.moved(cell, done, planned)

        def stored(answers: Sequence[Answer]) -> None:
            nonlocal done
            done += sum(answer.attempt == 1 and answer.answered for answer in answers)
            self._watch.moved(cell, done, planned)

        def extended(_: str, now: int) -> None:
            nonlocal planned
            planned = now

        heard = Listener(self._watch.say, stored, begun, extended, extended)
        try:
            with run_lock(self._store, cell.run):
                chats = {cell.subject: chat}
                outcome = await ask(cell.prepared, self._store, chats, self._stop, self._tasks, heard)
        except InUseError as error:
            self._failures[cell.run] = error
            self._watch.ended(cell, error)
            return
        self._watch.moved(cell, *self._store.progress(cell.run)[cell.subject])
        failure = outcome.failures.get(cell.subject)
        if isinstance(failure, ModelError | StoreError):
            raise failure
        if failure is not None:
            self._failures[cell.run] = failure
        if failure is not None or not self._stop.is_set():
            self._watch.ended(cell, failure)

    def _transport(self, target: Target) -> Transport:
        if target.model.start:
            return Transport.with_timeouts(target.limit, self._timeouts)
        return self._transports.setdefault(target.endpoint, Transport.with_timeouts(target.limit, self._timeouts))
