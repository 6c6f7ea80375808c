"""`eqlab correlate`: a benchmark's scores against scores from elsewhere."""

from pathlib import Path
from typing import Annotated

import typer

from eqlab.cli.compare import BenchmarkFlag, SubjectFlag
from eqlab.cli.flags import DataFlag, JsonFlag, StoreFlag, check_writable


def correlate(
    scores: Annotated[
        Path, typer.Argument(metavar="SCORES.csv", help="Columns: model, then one per score; NAME_se for its errors.")
    ],
    sources: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[SOURCE]…",
            help="Our side: run ids, `last`, `published:MODEL`, `published` (all models), result files (*.json).",
            show_default="published",
        ),
    ] = None,
    benchmark: BenchmarkFlag = None,
    subject: SubjectFlag = "",
    reliability: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=VALUE", help="Reliability of an external score, 0 to 1; may be repeated."),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="FILE.svg", help="Draw the scatter plots.", show_default="none"),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the bootstrap.")] = 0,
    store: StoreFlag = "",
    data: DataFlag = None,
    as_json: JsonFlag = False,
) -> None:
    """Correlate scores with external ones (MMLU, Arena, …): bootstrap intervals over models, corrected for the
    reliability of both sides."""
    from eqlab.cli.output import print_json, print_table, say
    from eqlab.comparison.correlate import as_data, notes, read_scores, scatter, sentence, table
    from eqlab.comparison.correlate import correlate as correlate_with
    from eqlab.comparison.entries import entries
    from eqlab.comparison.sources import read_sources
    from eqlab.core.errors import UsageError
    from eqlab.data.files import write_whole

    check_writable(output)
    external = read_scores(scores)
    given = _reliabilities(reliability or [], [one.name for one in external])
    own, undefined = entries(
        read_sources(sources or ["published"], store, data, benchmarks=benchmark or (), subject=subject)
    )
    if not own:
        said = "; ".join(f"{name}: {why}" for name, why in undefined[:3])
        raise UsageError(f"Nothing here has a score to correlate. {said}.")
    found = [correlate_with(own, one, reliability=given.get(one.name), seed=seed) for one in external]
    if output:
        write_whole(output, scatter(found))
    if as_json:
        print_json([as_data(one) for one in found])
        return
    for one in found:
        say(sentence(one), style="bold")
    typer.echo("")
    print_table(table(found))
    for note in notes(found):
        say(f"! {note}", style="yellow")
    if output:
        typer.echo(f"Scatter: {output.resolve()}")


def _reliabilities(pairs: list[str], known: list[str]) -> dict[str, float]:
    from eqlab.core.errors import UsageError
    from eqlab.core.pairs import read_pairs

    found = {}
    for name, text in read_pairs("--reliability", pairs).items():
        try:
            value = float(text)
        except ValueError:
            value = -1.0
        if name not in known:
            raise UsageError(f"--reliability {name}: the file has no such score.", f"It has {', '.join(known)}.")
        if not 0 < value <= 1:
            raise UsageError(f"--reliability {name}={text} must be a number above 0, at most 1.")
        found[name] = value
    return found
