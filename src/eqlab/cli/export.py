"""`eqlab export`: a run's answers as a table for other tools."""

from pathlib import Path
from typing import Annotated

import typer

from eqlab.cli.flags import StoreFlag, check_writable
from eqlab.cli.plain import print_text


def export(
    run: Annotated[str, typer.Argument(help="Run id, its beginning, or `last`.")] = "last",
    output: Annotated[
        Path | None,
        typer.Option(
            "-o", "--output", metavar="FILE", help="Ends in .parquet, .csv or .jsonl.", show_default="RUN.parquet"
        ),
    ] = None,
    store: StoreFlag = "",
) -> None:
    """Export every attempt with its trial: one row each, as Parquet, CSV or JSONL by the file's ending.

    CSV is made safe for spreadsheets: text that a spreadsheet would run as a formula gets a leading apostrophe."""
    from eqlab.publish.export import write_answers
    from eqlab.store.looking import open_reader

    with open_reader(store) as opened:
        stored = opened.find_run(run)
        path = output or Path(f"{stored.id}.parquet")
        check_writable(path)
        rows = write_answers(opened, stored, path)
    print_text(f"{rows} rows: {path.resolve()}")
