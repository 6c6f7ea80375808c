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
        typer.Argument(
            metavar="RUN…|published", help="Runs of one benchmark, studies of people, or the published EQ-Bench board."
        ),
    ],
    benchmark: Annotated[
        str, typer.Option("--benchmark", "-b", help="Of runs with several benchmarks: this one.")
    ] = "",
    limit: Annotated[int, typer.Option(min=1, help="Items to show, the worst first.")] = 10,
    width: Annotated[float, typer.Option(min=0.1, help="± points that a score should have: how many items, …")] = 2.0,
    equate: Annotated[
        list[str] | None,
        typer.Option(
            "--equate",
            metavar="RUN|published",
            help="The same models on other items (repeatable): puts both on one scale, and tells who knows the others.",
        ),
    ] = None,
    store: StoreFlag = "",
    data: DataFlag = None,
    as_json: JsonFlag = False,
) -> None:
    """Difficulty, discrimination and agreement with the rest of every item, overall and among the better and the weaker
    half of the subjects; where the items tell most; items that differ between families, and between people and models,
    at equal ability; and how many items, wordings and repeats a score needs."""
    from dataclasses import asdict

    from eqlab.cli.output import print_json, print_table, say
    from eqlab.comparison.item_designs import designs_table, item_designs
    from eqlab.comparison.item_equating import equate_sets
    from eqlab.comparison.item_points import read_items
    from eqlab.comparison.item_report import item_report
    from eqlab.reproduce.eqbench import family

    asked = read_items(sources, store, data, benchmark)
    points, people = asked.means(people=False), asked.means(people=True)
    made = item_report(points, {name: family(name) for name in points}, limit, people)
    designs = item_designs([one for one in asked.points if one.person == (len(points) < 2)], width)
    tables = [*made.tables, *(designs_table(designs) if designs else ())]
    equated = None
    if equate:
        equated = equate_sets(points, read_items(equate, store, data, asked.benchmark).means(people=False))
    if as_json:
        print_json(
            {
                "sentence": made.sentence,
                "subjects": made.subjects,
                "items": [{"id": name, **asdict(one)} for name, one in made.items],
                "tables": [asdict(one) for one in tables],
                "designs": asdict(designs) if designs else None,
                "equated": asdict(equated.found) if equated else None,
            }
        )
        return
    say(made.sentence, style="bold")
    for table in tables:
        typer.echo("")
        print_table(table)
    if equated:
        say(f"\n{equated.sentence}", style="bold")
        for table in equated.tables:
            typer.echo("")
            print_table(table)
