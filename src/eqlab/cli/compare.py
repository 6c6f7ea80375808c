"""`eqlab compare`: which subjects differ, by how much, and how sure that is."""

from typing import Annotated

import typer

from eqlab.cli.flags import DataFlag, JsonFlag, StoreFlag

SourcesArgument = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[SOURCE]…",
        help="Run ids, `last`, `published:MODEL`, `published` (all models), or EQ-Bench result files (*.json).",
        show_default="last",
    ),
]
BenchmarkFlag = Annotated[
    list[str] | None, typer.Option("-b", "--benchmark", help="Only this benchmark; may be repeated.")
]
SubjectFlag = Annotated[str, typer.Option(help="Only subjects whose name contains this.")]
MissingFlag = Annotated[
    str, typer.Option(help="Answers that could not be used: `drop` (leave the item out) or `zero` (0 points).")
]


def compare(
    sources: SourcesArgument = None,
    benchmark: BenchmarkFlag = None,
    subject: SubjectFlag = "",
    missing: MissingFlag = "drop",
    store: StoreFlag = "",
    data: DataFlag = None,
    as_json: JsonFlag = False,
) -> None:
    """Compare the subjects of one or more runs, and published models: paired item by item where items are shared.

    Gives each difference with its interval, the probability that A is better, ranks as ranges, and what more
    items or repeats would buy."""
    from rich.text import Text

    from eqlab.cli.output import console, print_json, print_table
    from eqlab.comparison.compare import compare as compare_entries
    from eqlab.comparison.entries import entries
    from eqlab.comparison.sentences import caveats, sentence
    from eqlab.comparison.sources import read_sources
    from eqlab.comparison.tables import as_data, tables
    from eqlab.core.errors import UsageError

    if missing not in ("drop", "zero"):
        raise UsageError(f"--missing '{missing}' is unknown.", "Choose drop or zero.")
    read = read_sources(sources or ["last"], store, data, benchmarks=benchmark or (), subject=subject)
    own, undefined = entries(read, "zero" if missing == "zero" else "drop")
    if not own:
        said = "; ".join(f"{name}: {why}" for name, why in undefined[:3])
        raise UsageError(f"Nothing here has item scores to compare. {said}.")
    found = compare_entries(own, undefined)
    if as_json:
        print_json([as_data(one, missing) for one in found])
        return
    out = console()
    for one in found:
        out.print(Text(sentence(one), style="bold"))
        for table in tables(one):
            typer.echo("")
            print_table(table)
        for caveat in caveats(one, missing):
            out.print(Text(f"! {caveat}", style="yellow"))
        typer.echo("")
