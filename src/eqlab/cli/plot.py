"""`eqlab plot`: a picture for slides and papers. `eqlab cite`: what to cite for a run."""

from pathlib import Path
from typing import Annotated

import typer

from eqlab.cli.flags import DataFlag, StoreFlag, check_writable


def plot(
    runs: Annotated[
        list[str] | None, typer.Argument(metavar="[RUN]…", help="Run ids or `published:MODEL`; the newest run if none.")
    ] = None,
    output: Annotated[Path, typer.Option("-o", "--output", metavar="FILE", help="An .svg, .png or .pdf file.")] = Path(
        "eqlab.svg"
    ),
    kind: Annotated[str, typer.Option("--kind", help="`forest`, `profile`, `heat` or `cost`.")] = "forest",
    store: StoreFlag = "",
    data: DataFlag = None,
) -> None:
    """Draw results for a slide: everybody on one axis, a profile, a heat map by emotion, or score
    against cost.

    SVG needs nothing else; PNG and PDF are made by Chromium, if it is installed."""
    from eqlab.cli.report import found_runs
    from eqlab.core.errors import UsageError
    from eqlab.publish.groups import RunRecord
    from eqlab.publish.plot import KINDS, check, write_plot

    chosen = next((one for one in KINDS if one == kind), None)
    if chosen is None:
        raise UsageError(f"--kind '{kind}' is unknown.", f"Choose {', '.join(KINDS)}.")
    check(output)
    check_writable(output)
    found = found_runs(runs or [], 1, store, data)
    records = [RunRecord(one.config, one.created_at, one.provenance, tuple(own)) for one, own in found]
    count = write_plot(records, output, chosen)
    typer.echo(f"{count} {'chart' if count == 1 else 'charts'}: {output.resolve()}")


def cite(
    run: Annotated[str, typer.Argument(metavar="[RUN]", help="A run id, or `published:MODEL`.")] = "last",
    store: StoreFlag = "",
    data: DataFlag = None,
) -> None:
    """Print BibTeX for a run: EQ Lab, the studies, the items by hash, and a paragraph for the methods."""
    from importlib.metadata import version

    from eqlab.cli.plain import harmless
    from eqlab.cli.report import found_runs
    from eqlab.publish.cite import citation

    for stored, own in found_runs([run], 1, store, data):
        typer.echo(harmless(citation(stored, own, version("eqlab"))), nl=False)
