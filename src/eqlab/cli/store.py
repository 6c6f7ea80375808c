"""`eqlab store`: look after a store: check it, copy it, make it small."""

from pathlib import Path
from typing import Annotated

import typer

from eqlab.cli.flags import JsonFlag, StoreFlag

app = typer.Typer(help="Look after the store: check, back up, compact.", no_args_is_help=True)


@app.command()
def check(store: StoreFlag = "", as_json: JsonFlag = False) -> None:
    """Read every page and look up every reference; fails if something is wrong."""
    from eqlab.cli.plain import harmless, print_json
    from eqlab.core.environment import default_store
    from eqlab.core.errors import StoreError
    from eqlab.core.results import as_dict
    from eqlab.store.maintenance import check as examine

    found = examine(store or default_store())
    if as_json:
        print_json(as_dict(found))
    else:
        typer.echo(
            f"{found.runs} runs, {found.planned} planned trials, {found.answers} answers; "
            f"{_mb(found.size)} MB, of which {_mb(found.unused)} MB are free."
        )
        for problem in found.problems:
            typer.echo(harmless(problem))
    if found.problems:
        raise StoreError(
            f"The store is damaged in {len(found.problems)} places.", "Go back to a copy, or export what can be read."
        )
    if not as_json:
        typer.echo("Sound.")


@app.command()
def backup(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The copy to write; must not be there yet.")],
    store: StoreFlag = "",
) -> None:
    """Write a sound copy, also while a run is going on. The copy is a store: --store FILE opens it."""
    from eqlab.cli.output import errors
    from eqlab.core.environment import default_store
    from eqlab.store.maintenance import back_up

    out = errors()
    last = [-1]

    def say(done: int, total: int) -> None:
        percent = 100 * done // max(total, 1)
        if percent // 20 > last[0]:
            last[0] = percent // 20
            out.print(f"{percent} % copied", markup=False)

    size = back_up(store or default_store(), file, say)
    typer.echo(f"{_mb(size)} MB: {file.resolve()}")


@app.command()
def compact(store: StoreFlag = "") -> None:
    """Give free space in the file back and refresh the planner's statistics; no answer is touched."""
    from eqlab.core.environment import default_store
    from eqlab.store.maintenance import compact as shrink

    before, after = shrink(store or default_store())
    typer.echo(f"{_mb(before)} MB before, {_mb(after)} MB now.")


def _mb(size: int) -> str:
    return f"{size / 2**20:.1f}"
