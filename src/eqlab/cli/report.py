"""`eqlab report`: one self-contained HTML file of one or more runs."""

from pathlib import Path
from typing import Annotated

import typer

from eqlab.cli.flags import StoreFlag


def report(
    runs: Annotated[list[str] | None, typer.Argument(metavar="[RUN]…", help="Run ids; the newest if none.")] = None,
    last: Annotated[int, typer.Option(min=1, help="Without run ids: the N newest runs.")] = 1,
    output: Annotated[Path, typer.Option("-o", "--output", metavar="FILE", help="The file to write.")] = Path(
        "eqlab-report.html"
    ),
    items: Annotated[
        bool, typer.Option("--items", help="Write every item too: a folder beside the file, 100 items a page.")
    ] = False,
    store: StoreFlag = "",
) -> None:
    """Write an HTML report. It needs no network and can be mailed, printed and archived."""
    from eqlab.cli.looking import open_reader
    from eqlab.reporting import item_folder, write_report
    from eqlab.scoring import cores

    opened = open_reader(store)
    if runs:
        stored = [opened.find_run(run) for run in runs]
    else:
        opened.find_run("last")  # an empty store is said plainly
        stored = [opened.read_run(run) for run in reversed(opened.run_ids()[:last])]
    path = write_report(opened, stored, output, items=items, processes=cores())
    typer.echo(f"Report: {path.resolve()}")
    if items:
        typer.echo(f"Items: {item_folder(path).resolve()}")
