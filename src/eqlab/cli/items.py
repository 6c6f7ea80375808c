"""`eqlab items report`: what each item is worth, from many subjects' points."""

from typing import Annotated

import typer

from eqlab.cli.flags import DataFlag, JsonFlag, StoreFlag

app = typer.Typer(no_args_is_help=True, help="How good the items of a benchmark are.")


@app.callback()
def _group() -> None:
    """How good the items of a benchmark are."""


@app.command("report")
def report(
    sources: Annotated[
        list[str],
        typer.Argument(metavar="RUN…|published", help="Runs of one benchmark, or the published EQ-Bench board."),
    ],
    limit: Annotated[int, typer.Option(min=1, help="Items to show, the worst first.")] = 10,
    store: StoreFlag = "",
    data: DataFlag = None,
    as_json: JsonFlag = False,
) -> None:
    """Difficulty, discrimination and agreement with the rest of every item, overall and among the better and the weaker
    half of the subjects; where the items tell most; and items that differ between families at equal ability."""
    from dataclasses import asdict

    from eqlab.cli.output import print_json, print_table, say
    from eqlab.comparison.contender import item_means
    from eqlab.comparison.item_report import item_report
    from eqlab.core.errors import UsageError
    from eqlab.core.results import Result
    from eqlab.reproduce.eqbench_families import family
    from eqlab.runs.published_results import PublishedReader
    from eqlab.runs.score import results_of
    from eqlab.store.open import open_store

    found: list[tuple[str, Result]] = []
    if "published" in sources:
        found += [(one.model, one.result) for one in PublishedReader(data).results()]
    named = [source for source in sources if source != "published"]
    if named:
        opened = open_store(store, existing=True)
        for stored, results in results_of(opened, [opened.find_run(name) for name in named]):
            found += [(f"{one.subject.removeprefix('model:')} ({stored.id})", one) for one in results if one.ranked]
        opened.close()
    benchmarks = {one.benchmark for _, one in found}
    if len(benchmarks) > 1:
        raise UsageError(f"The runs are of several benchmarks: {', '.join(sorted(benchmarks))}.", "Name runs of one.")
    points = {name: own for name, one in found if (own := item_means(one.items))}
    made = item_report(points, {name: family(name) for name in points}, limit)
    if as_json:
        items = [{"id": name, **asdict(one)} for name, one in made.items]
        print_json({"sentence": made.sentence, "subjects": made.subjects, "items": items})
        return
    say(made.sentence, style="bold")
    for table in made.tables:
        typer.echo("")
        print_table(table)
