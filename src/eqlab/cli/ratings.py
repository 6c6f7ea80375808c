"""`eqlab ratings`: people's ratings from files."""

from pathlib import Path
from typing import Annotated

import typer

from eqlab.cli.flags import DataFlag, JsonFlag, StoreFlag, check_writable

app = typer.Typer(help="People's ratings of replies: import them from a file.", no_args_is_help=True)


@app.callback()
def _group() -> None:
    """Keeps `import` a command of its own while it is the only one."""


@app.command("import")
def import_file(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="CSV or JSONL with the columns rater, arm, prompt, rating.")
    ],
    name: Annotated[
        str, typer.Option("--name", help="What the ratings are called.", show_default="the file's name")
    ] = "",
    report: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the HTML report too.", show_default="none")
    ] = None,
    store: StoreFlag = "",
    data: DataFlag = None,
    as_json: JsonFlag = False,
) -> None:
    """Import people's ratings: 1, 2, 3 or bad, okay, good; every bad row is reported and left out.

    Raters' ids are hashed on reading and stored nowhere. The same file again changes nothing."""
    from eqlab.cli.output import errors, print_json, print_table, say
    from eqlab.cli.results import print_results, result_json
    from eqlab.publish.report.write import write_results
    from eqlab.runs.import_ratings import import_ratings
    from eqlab.runs.judge import read_file
    from eqlab.runs.score import results
    from eqlab.store.open import open_store

    out = errors()
    read_file(file)  # before a store is made for it
    if report:
        check_writable(report)
    with open_store(store) as opened:
        done = import_ratings(opened, file, name or file.stem, data)
        for bad in done.bad:
            out.print(f"{file.name}, line {bad.line}: {bad.reason}; left out.", markup=False)
        stored = opened.find_run(done.run)
        found = results(opened, stored)
        written = write_results([(stored, found)], report) if report else None
    if as_json:
        print_json(
            {
                "run": done.run,
                "taken": done.taken,
                "new": done.new,
                "raters": done.raters,
                "bad": [{"line": bad.line, "reason": bad.reason} for bad in done.bad],
                "results": [result_json(result) for result in found],
            }
        )
        return
    say(f"{done.taken} ratings of {done.raters} people ({done.new} new, {len(done.bad)} rows left out): run {done.run}")
    print_results(found)
    for result in found:
        for table in result.tables[:3]:
            typer.echo("")
            print_table(table)
    if written:
        say(f"Report: {written.resolve()}")
