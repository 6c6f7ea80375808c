"""`eqlab sweep`: models × benchmarks × seeds from a file: plan, live table, summary."""

import threading
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from eqlab.cli.flags import REPORT, DataFlag, FilePatienceFlag, JsonFlag, ReportFlag, StoreFlag, check_report
from eqlab.cli.plain import end, harmless
from eqlab.core.plural import many

if TYPE_CHECKING:
    from eqlab.core.errors import EqlabError
    from eqlab.models.timeouts import Timeouts
    from eqlab.store.store import Store
    from eqlab.sweep.grid import SweepListener, SweepOutcome, SweepRun, SweepRunPlan


def sweep(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The sweep: a TOML file, see docs/sweep.md.")],
    plan: Annotated[bool, typer.Option("--plan", help="Show calls, tokens and what is done; ask nothing.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Start without asking first.")] = False,
    engine: Annotated[str, typer.Option(help="`local` (this process) or `ray` (a cluster).")] = "local",
    address: Annotated[
        str, typer.Option(metavar="ADDRESS", help="Ray: the cluster's address.", show_default="RAY_ADDRESS, else here")
    ] = "",
    parts: Annotated[
        str, typer.Option(metavar="URL", help="Ray: folder that workers write Parquet parts to, any fsspec URL.")
    ] = "",
    workers: Annotated[
        int | None, typer.Option(min=1, help="Ray: shards in flight, at most.", show_default="the cluster's CPUs")
    ] = None,
    shard: Annotated[int, typer.Option(min=1, help="Ray: trials in a shard.")] = 100,
    patience: FilePatienceFlag = None,
    report: ReportFlag = REPORT,
    store: StoreFlag = "",
    data: DataFlag = None,
    as_json: JsonFlag = False,
) -> None:
    """Run a grid of models, benchmarks and seeds.

    Each cell is an ordinary run. The same command again goes on where it stopped; a model that fails does not stop
    the others."""
    from eqlab.core.errors import UsageError
    from eqlab.store.access import open_store
    from eqlab.sweep.file import read_sweep
    from eqlab.sweep.grid import make_runs, plan_runs

    if engine not in ("local", "ray"):
        raise UsageError(f"--engine '{engine}' is unknown.", "Choose local or ray.")
    if engine == "local" and (address or parts or workers):
        raise UsageError("--address, --parts and --workers work with Ray only.", "Add --engine ray.")
    check_report(report)
    read = read_sweep(file)
    timeouts = read.timeouts if patience is None else replace(read.timeouts, patience=patience)
    cells = make_runs(read, data)
    with open_store(store) as opened:
        plans = plan_runs(cells, opened)
        show_plan(plans, as_json=as_json and plan, quiet=as_json and not plan)
        if plan:
            return
        if any(sweep_run_plan.calls for sweep_run_plan in plans) and not yes and not as_json and _interactive():
            typer.confirm("Start?", default=True, abort=True, err=True)
        table = SweepTable(plans)
        with table:
            if engine == "ray":
                from eqlab.sweep.ray_engine import RayPlan, run_on_ray

                wanted = RayPlan(address, parts, workers, shard, timeouts)
                outcome = run_on_ray(cells, opened, wanted, watch=table.watch)
            else:
                outcome = _here(cells, opened, timeouts, table.watch)
        finish(file, cells, opened, outcome, report=report, as_json=as_json)


def _here(cells: "list[SweepRun]", store: "Store", timeouts: "Timeouts", watch: "SweepListener") -> "SweepOutcome":
    from eqlab.sweep.local import run_here

    return run_here(cells, store, timeouts=timeouts, watch=watch)


def _interactive() -> bool:
    import sys

    return sys.stdin.isatty() and sys.stderr.isatty()


# A sweep while it goes: a live table on a terminal, plain lines elsewhere.
_ROWS = 20
"""Cells shown at once; a sweep may have hundreds."""
_EVERY = 5.0
"""Seconds between two plain lines of progress."""


class SweepTable:
    """Cells under way and cells that failed; the last line counts all."""

    def __init__(self, plans: "Sequence[SweepRunPlan]") -> None:
        from eqlab.cli.output import errors
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

            self._live = Live(
                get_renderable=self._table,
                console=self._out,  # type: ignore[arg-type]  # a terminal's is rich's
                refresh_per_second=4,
                transient=True,
            )
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
                self.say(f"{cell.name}: {many(planned - done, 'trial')} to ask{before}.")
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
        return f"{done} of {len(self._counts)} cells done{trouble} · {answered} of {many(planned, 'trial')} answered"

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


# Before and after a sweep: what it will ask, what came of it, and what failed and why.
def show_plan(plans: "Sequence[SweepRunPlan]", *, as_json: bool, quiet: bool) -> None:
    """One row per model and benchmark, seeds together; the last line adds up."""
    from eqlab.cli.output import print_json, print_rows, say

    if as_json:
        print_json([_plan_json(plan) for plan in plans])
        return
    if quiet:
        return
    groups: dict[tuple[str, str], list[SweepRunPlan]] = {}
    for plan in plans:
        groups.setdefault((plan.cell.target.model.name, plan.cell.benchmark), []).append(plan)
    rows = [[*names, *_sums(group)] for names, group in groups.items()]
    if len(rows) > 1:
        rows.append(["all", "", *_sums(plans)])
    columns = ["model", "benchmark", "runs", "trials", "answered", "calls", "tokens in, about", "tokens out, at most"]
    print_rows("", columns, rows, right=columns[2:])
    say("Calls are at least these: a reply that cannot be read is asked for again. Tokens in: characters / 4.")


def _sums(plans: "Sequence[SweepRunPlan]") -> list[str]:
    return [
        str(len(plans)),
        *(
            f"{sum(getattr(plan, name) for plan in plans):,}"
            for name in ("trials", "answered", "calls", "tokens_in", "tokens_out")
        ),
    ]


def _plan_json(plan: "SweepRunPlan") -> dict[str, Any]:
    return {
        **_cell_json(plan.cell),
        "trials": plan.trials,
        "answered": plan.answered,
        "calls_at_least": plan.calls,
        "tokens_in_about": plan.tokens_in,
        "tokens_out_at_most": plan.tokens_out,
    }


def _cell_json(cell: "SweepRun") -> dict[str, Any]:
    return {"run": cell.run, "model": cell.target.model.name, "benchmark": cell.benchmark, "seed": cell.seed}


def finish(
    file: Path, cells: "Sequence[SweepRun]", store: "Store", outcome: "SweepOutcome", *, report: Path, as_json: bool
) -> None:
    """Results of all cells that were begun, the report, the failures; then the exit code."""
    from eqlab.cli.output import errors, print_json, say
    from eqlab.cli.results import print_conclusions, result_json, without_answers
    from eqlab.publish.ladder import conclusions
    from eqlab.publish.report.write import write_results
    from eqlab.runs.parallel import cores, results_of
    from eqlab.runs.pool import pooled

    known = set(store.run_ids())
    begun = [cell for cell in cells if cell.run in known]
    stored = [store.read_run(cell.run) for cell in begun]
    scored = results_of(store, stored, processes=cores())
    found = {run.id: results[0] for run, results in scored}
    together = pooled(store, scored)
    path = write_results(together, report) if stored else None
    said = conclusions(together)
    lost = [
        _lost(cell, store) for cell in begun if found[cell.run].counts.get("error") and cell.run not in outcome.failures
    ]
    if as_json:
        print_json(
            {
                "report": str(path) if path else None,
                "conclusions": [conclusion.data for conclusion in said],
                "cells": [
                    {
                        **_cell_json(cell),
                        "failure": str(outcome.failures[cell.run]) if cell.run in outcome.failures else None,
                        "result": result_json(found[cell.run]) if cell.run in found else None,
                    }
                    for cell in cells
                ],
            }
        )
    else:
        print_conclusions(said)
        _print_cells(cells, found)
        if path:
            say(f"\nReport: {path.resolve()}")
            say(f"Next, every pair with its interval: eqlab compare --sweep {file}; item by item: eqlab runs show RUN")
    _failures(cells, outcome)
    unusable = without_answers([result for _, results in together for result in results])
    for text in (*lost, *unusable):
        errors().print(harmless(text), markup=False, style="red")
    end(interrupted=outcome.interrupted, failed=bool(outcome.failures or lost), unusable=bool(unusable))


def _lost(cell: "SweepRun", store: "Store") -> str:
    """What of a cell got no answer, and why the last of it did not; whichever engine asked."""
    from eqlab.core.answers import final

    every = [final(one.attempts) for one in store.scored(cell.run, cell.subject, cell.benchmark, status="error")]
    notes = [last.note for last in every if last is not None and last.status == "error"]
    trials = "1 trial" if len(notes) == 1 else f"{len(notes)} trials"
    return f"{cell.name}: {trials} got no answer (last: {notes[-1] if notes else 'not said'})."


def _print_cells(cells: "Sequence[SweepRun]", found: dict[str, Any]) -> None:
    from eqlab.cli.output import interval, number, print_rows, say
    from eqlab.core.answers import OUTCOMES, replaced

    statuses = [name for name in OUTCOMES if name == "ok" or any(result.counts.get(name) for result in found.values())]
    rows = []
    for cell in cells:
        head = [cell.target.model.name, cell.benchmark, str(cell.seed), cell.run]
        result = found.get(cell.run)
        if result is None:
            rows.append([*head, "not begun", *[""] * (2 + len(statuses))])
            continue
        score, counts = result.headline, result.counts
        rows.append(
            [
                *head,
                number(score.value, score.digits) if score.value is not None else "none yet",
                interval(score) if score.value is not None else "",
                str(score.n),
                *(str(counts.get(name, 0)) for name in statuses),
            ]
        )
    columns = ["model", "benchmark", "seed", "run", "score", "95 % interval", "n", *statuses]
    print_rows("", columns, rows, right=["seed", "score", "n", *statuses])
    for text in dict.fromkeys(text for one in found.values() for text in replaced(one.subject, one.answered_as)):
        say(f"! {text}", style="yellow")


def _failures(cells: "Sequence[SweepRun]", outcome: "SweepOutcome") -> None:
    """Cells of a model that stopped for the same reason stand together."""
    from eqlab.cli.output import errors
    from eqlab.sweep.grid import by_model

    own_cells = by_model(cells)
    reasons: dict[tuple[str, str], list[SweepRun]] = {}
    for cell in cells:
        if cell.run in outcome.failures:
            reasons.setdefault((cell.target.model.name, str(outcome.failures[cell.run])), []).append(cell)
    if not reasons:
        return
    out = errors()
    out.print(f"\n{len(outcome.failures)} of {len(cells)} cells stopped early:", style="red")
    for (model, why), reason in reasons.items():
        every = len(reason) == len(own_cells[model])
        names = f"{model} (all its {len(reason)} cells)" if every else ", ".join(cell.name for cell in reason)
        out.print(harmless(f"  {names}: {why}"), markup=False, soft_wrap=True)
