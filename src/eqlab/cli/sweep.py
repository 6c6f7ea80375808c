"""`eqlab sweep`: models × benchmarks × seeds from a file: plan, live table, summary."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from eqlab.cli.flags import REPORT, DataFlag, FilePatienceFlag, JsonFlag, ReportFlag, StoreFlag, check_writable

if TYPE_CHECKING:
    from eqlab.models.chat import Timeouts
    from eqlab.store.store import Store
    from eqlab.sweep.grid import SweepListener, SweepOutcome, SweepRun


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
    from eqlab.cli.sweep_summary import finish, show_plan
    from eqlab.cli.sweep_table import SweepTable
    from eqlab.core.errors import UsageError
    from eqlab.store.access import open_store
    from eqlab.sweep.file import read_sweep
    from eqlab.sweep.grid import make_runs, plan_runs

    if engine not in ("local", "ray"):
        raise UsageError(f"--engine '{engine}' is unknown.", "Choose local or ray.")
    if engine == "local" and (address or parts or workers):
        raise UsageError("--address, --parts and --workers belong to Ray.", "Add --engine ray.")
    check_writable(report)
    read = read_sweep(file)
    timeouts = read.timeouts if patience is None else replace(read.timeouts, patience=patience)
    cells = make_runs(read, data)
    with open_store(store) as opened:
        plans = plan_runs(cells, opened)
        show_plan(plans, as_json=as_json and plan, quiet=as_json and not plan)
        if plan:
            return
        if any(one.calls for one in plans) and not yes and not as_json and _interactive():
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
