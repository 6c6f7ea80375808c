"""`eqlab report`: one self-contained HTML file of one or more runs."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from eqlab.cli.flags import DataFlag, StoreFlag, check_writable

if TYPE_CHECKING:
    from eqlab.core.results import Result
    from eqlab.runs.parallel import WorkerProcesses
    from eqlab.store.reader import StoredRun


def report(
    runs: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[RUN]…", help="Run ids, RUN:MODEL, models, or `published:MODEL`; the newest run if none."
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
    from eqlab.cli.plain import uncollected
    from eqlab.publish.report.write import item_folder

    check_output(output, items)
    with uncollected():
        path = _write(runs or [], last, output, items, store, data)
    typer.echo(f"Report: {path.resolve()}")
    if items:
        typer.echo(f"Items: {item_folder(path).resolve()}")


def check_output(output: Path, items: bool) -> None:
    """Before anything is read: what cannot be written is refused, not written as something else."""
    from eqlab.core.errors import UsageError

    check_writable(output)
    ending = output.suffix.lower()
    if ending not in (".html", ".htm", ".md", ".pdf"):
        hint = " 'eqlab plot' makes pictures." if ending in (".png", ".svg") else ""
        raise UsageError(f"A report cannot be '{output.name}'.", f"Write an .html, .pdf or .md file.{hint}")
    if items and ending not in (".html", ".htm"):
        raise UsageError("Item pages belong to an HTML report.", "Drop --items, or write an .html file.")


def _write(names: list[str], last: int, output: Path, items: bool, store: str, data: Path | None) -> Path:
    import tempfile

    from eqlab.publish.report.write import write_results
    from eqlab.runs.parallel import WorkerProcesses, cores

    ending = output.suffix.lower()
    if ending == ".pdf":
        from eqlab.publish.plot import browser, print_page

        browser()  # said before the work
        with tempfile.TemporaryDirectory() as folder:
            page = write_results(found_runs(names, last, store, data), Path(folder, "report.html"))
            print_page(page, output)
        return output
    if ending == ".md":
        from eqlab.data.files import write_whole
        from eqlab.publish.report.write import summary

        write_whole(output, summary(found_runs(names, last, store, data)))
        return output
    with WorkerProcesses(cores()) as workers:
        found = found_runs(names, last, store, data, workers, figures=not items)
        return write_results(found, output, items=items, workers=workers)


def found_runs(
    names: list[str],
    last: int,
    store: str,
    data: Path | None,
    workers: "WorkerProcesses | None" = None,
    *,
    figures: bool = False,
) -> "list[tuple[StoredRun, list[Result]]]":
    """Runs of the store, seeds of one model pooled, then published results, with their results; `figures`: with the
    words of those items only that a report shows."""
    from eqlab.runs.published_results import is_published, published_runs

    own = [name for name in names if not is_published(name)]
    published = [name for name in names if is_published(name)]
    beside = published_runs(published, data) if published else []
    if published and not own:
        return beside  # needs no store
    from eqlab.runs.panel import with_panels
    from eqlab.runs.parallel import cores, results_of
    from eqlab.runs.pool import pooled
    from eqlab.store.access import open_reader

    with open_reader(store) as opened:
        subjects: dict[str, set[str]] = {}
        if own:
            for stored_run, who in opened.find_models(own):
                subjects.setdefault(stored_run.id, set()).add(who)
            stored = [opened.read_run(run) for run in subjects]
        else:
            opened.find_run("last")  # an empty store is said plainly
            ids = opened.run_ids()
            if last > len(ids):
                typer.echo(f"--last {last}: the store holds {len(ids)}; all of them are taken.", err=True)
            stored = [opened.read_run(run) for run in reversed(ids[:last])]

        def wanted(run: str, subject: str, _: str) -> bool:
            return bool(subjects.get(run, {""}) & {"", subject})

        shown = None
        if figures:
            from eqlab.publish.report.write import in_report

            every = set().union(*subjects.values())
            shown = in_report(stored, () if "" in every else every)
        results = results_of(opened, stored, wanted, processes=cores(), workers=workers, in_full=shown)
        found = pooled(opened, results)
        return [*with_panels(opened, found), *beside]


# `eqlab plot`: a picture for slides and papers. `eqlab cite`: what to cite for a run.
def plot(
    runs: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[KIND] [RUN]…",
            help="A kind of chart, then runs, models or `published:MODEL`; the newest run if none.",
        ),
    ] = None,
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="FILE", help="An .svg, .png or .pdf file; `-`: in letters, here.")
    ] = Path("eqlab.svg"),
    kind: Annotated[
        str,
        typer.Option("--kind", help="`forest`, `profile`, `heat`, `cost`, `people`, or `ladder`: published models."),
    ] = "forest",
    size: Annotated[
        str,
        typer.Option("--size", help="A canvas: `slide` (16:9), `paper` (4:3) or `square`.", show_default="as needed"),
    ] = "",
    alone: Annotated[
        bool, typer.Option("--alone", help="Without the published models that answered the same questions.")
    ] = False,
    store: StoreFlag = "",
    data: DataFlag = None,
) -> None:
    """Draw results for a slide: everybody on one axis, a profile, a heat map by emotion, score
    against cost, or models among people. `eqlab plot ladder` shows twelve published models; it needs no run.

    SVG needs nothing else; PNG and PDF are made by Chromium, if it is installed."""
    from eqlab.publish.plot import KINDS, check, kind_named, size_named
    from eqlab.publish.plot import plot as draw

    if runs and runs[0] in KINDS:  # no run has such a name: ids are hexadecimal
        kind, *runs = runs
    kind_named(kind)
    size_named(size)
    here = str(output) == "-"
    if not here:
        check(output)
        check_writable(output)
    found = found_runs(runs or [], 1, store, data) if kind != "ladder" else []
    picture = draw(kind=kind, size=size, alone=alone, beside=found)
    if here:
        from eqlab.cli.output import print_lines

        print_lines(picture.text)
        return
    picture.save(output)
    typer.echo(f"{picture.charts} {'chart' if picture.charts == 1 else 'charts'}: {output.resolve()}")


def cite(
    run: Annotated[str, typer.Argument(metavar="[RUN]", help="A run id, or `published:MODEL`.")] = "last",
    store: StoreFlag = "",
    data: DataFlag = None,
) -> None:
    """Print BibTeX for a run: EQ Lab, the studies, the items by hash, and a paragraph for the methods."""
    from importlib.metadata import version

    from eqlab.cli.plain import harmless
    from eqlab.publish.cite import citation

    for stored, own in found_runs([run], 1, store, data):
        typer.echo(harmless(citation(stored, own, version("eqlab"))), nl=False)
