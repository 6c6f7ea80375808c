"""A sweep while it goes: a live table on a terminal, plain lines elsewhere."""

import threading
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from eqlab.cli.output import errors, harmless

if TYPE_CHECKING:
    from eqlab.core.errors import EqlabError
    from eqlab.sweep.grid import SweepRun, SweepRunPlan

_ROWS = 20
"""Cells shown at once; a sweep may have hundreds."""
_EVERY = 5.0
"""Seconds between two plain lines of progress."""


class SweepTable:
    """Cells under way and cells that failed; the last line counts all."""

    def __init__(self, plans: "Sequence[SweepRunPlan]") -> None:
        from eqlab.sweep.grid import SweepListener

        self._out = errors()
        self._counts = {plan.cell.run: (plan.answered, plan.trials) for plan in plans}
        self._names = {plan.cell.run: plan.cell.name for plan in plans}
        self._under_way: dict[str, None] = {}
        self._ended: dict[str, str] = {}
        """What stopped a cell early, or nothing, by run."""
        self._lock = threading.RLock()
        self._said_at = time.monotonic()
        self._live: Any = None
        self.watch = SweepListener(self.say, self.moved, self.ended)

    def __enter__(self) -> None:
        if self._out.is_terminal:
            from rich.live import Live

            self._live = Live(get_renderable=self._table, console=self._out, refresh_per_second=4, transient=True)
            self._live.start()

    def __exit__(self, *_: object) -> None:
        if self._live is not None:
            self._live.stop()

    def say(self, text: str) -> None:
        self._out.print(harmless(text), markup=False, soft_wrap=True)

    def moved(self, cell: "SweepRun", done: int, planned: int) -> None:
        with self._lock:
            new = cell.run not in self._under_way and cell.run not in self._ended
            self._counts[cell.run] = (done, planned)
            if new:
                self._under_way[cell.run] = None
            if self._live is not None:
                return
            if new:
                before = f" ({done} answered before)" if done else ""
                self.say(f"{cell.name}: {planned - done} trials to ask{before}.")
            elif time.monotonic() - self._said_at > _EVERY:
                self._said_at = time.monotonic()
                self.say(self._totals())

    def ended(self, cell: "SweepRun", failure: "EqlabError | None") -> None:
        with self._lock:
            self._under_way.pop(cell.run, None)
            told = failure is not None and str(failure) in self._ended.values()
            self._ended[cell.run] = str(failure) if failure else ""
            if self._live is None and not told:  # a model that fails ends all its cells with the same words
                done, planned = self._counts[cell.run]
                end = f"stopped: {failure}" if failure else "done."
                self.say(f"{cell.name}: {done} of {planned} answered, {end}")

    def _totals(self) -> str:
        answered = sum(done for done, _ in self._counts.values())
        planned = sum(planned for _, planned in self._counts.values())
        failed = sum(bool(why) for why in self._ended.values())
        done = len(self._ended) - failed
        trouble = f", {failed} stopped early" if failed else ""
        return f"{done} of {len(self._counts)} cells done{trouble} · {answered} of {planned} trials answered"

    def _table(self) -> Any:
        from rich.table import Table
        from rich.text import Text

        with self._lock:
            table = Table(box=None, pad_edge=False, show_footer=True)
            for column, foot in (("cell", self._totals()), ("answered", ""), ("", "")):
                table.add_column(column, foot, overflow="fold")
            failed = [run for run, why in self._ended.items() if why]
            for run in [*self._under_way, *failed][:_ROWS]:
                done, planned = self._counts[run]
                why = self._ended.get(run, "")
                table.add_row(
                    Text(harmless(self._names[run])),
                    f"{done} of {planned}",
                    Text(harmless(why)[:80], style="red" if why else ""),
                )
            return table
