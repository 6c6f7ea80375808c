"""`eqlab report`: one self-contained HTML file of one or more runs."""

from pathlib import Path
from typing import Annotated

import typer

from eqlab.cli.flags import DataFlag, StoreFlag


def report(
    runs: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[RUN]…", help="Run ids, or `published:MODEL` (an EQ-Bench result); the newest run if none."
        ),
    ] = None,
    last: Annotated[int, typer.Option(min=1, help="Without run ids: the N newest runs.")] = 1,
    output: Annotated[Path, typer.Option("-o", "--output", metavar="FILE", help="The file to write.")] = Path(
        "eqlab-report.html"
    ),
    items: Annotated[
        bool, typer.Option("--items", help="Write every item too: a folder beside the file, 100 items a page.")
    ] = False,
    store: StoreFlag = "",
    data: DataFlag = None,
) -> None:
    """Write an HTML report. It needs no network and can be mailed, printed and archived."""
    from eqlab.cli.uncollected import uncollected
    from eqlab.publish.report.write import item_folder

    with uncollected():
        path = _write(runs or [], last, output, items, store, data)
    typer.echo(f"Report: {path.resolve()}")
    if items:
        typer.echo(f"Items: {item_folder(path).resolve()}")


def _write(names: list[str], last: int, output: Path, items: bool, store: str, data: Path | None) -> Path:
    from eqlab.publish.report.write import write_report, write_results
    from eqlab.runs.published_runs import is_published, published_runs

    own = [name for name in names if not is_published(name)]
    published = [name for name in names if is_published(name)]
    beside = published_runs(published, data) if published else []
    if published and not own:
        return write_results(beside, output, items=items)  # needs no store
    from eqlab.cli.looking import open_reader
    from eqlab.runs.score import cores

    opened = open_reader(store)
    if own:
        stored = [opened.find_run(run) for run in own]
    else:
        opened.find_run("last")  # an empty store is said plainly
        stored = [opened.read_run(run) for run in reversed(opened.run_ids()[:last])]
    return write_report(opened, stored, output, items=items, processes=cores(), beside=beside)
