"""`eqlab power`: how many raters a study needs."""

from typing import Annotated

import typer

from eqlab.cli.flags import JsonFlag


def power(
    gap: Annotated[float, typer.Option(help="Difference in P(Good) worth finding, as a share.")] = 0.05,
    baseline: Annotated[float, typer.Option(help="P(Good) of the group to compare with.")] = 0.493,
    power: Annotated[float, typer.Option(help="Power wanted.")] = 0.8,
    alpha: Annotated[float, typer.Option(help="Level of the test.")] = 0.05,
    ratings_per_rater: Annotated[int, typer.Option(min=1, help="Ratings each rater gives.")] = 10,
    design_effect: Annotated[float, typer.Option(help="Design effect of ratings within raters.")] = 1.57,
    raters: Annotated[int | None, typer.Option(min=2, help="Raters per group, if their number is given.")] = None,
    looks: Annotated[int, typer.Option(min=1, max=20, help="Looks at the data, the last one included.")] = 4,
    studies: Annotated[int, typer.Option(min=100, help="Simulated studies.")] = 1000,
    seed: Annotated[int, typer.Option(help="Seed of the simulation.")] = 0,
    as_json: JsonFlag = False,
) -> None:
    """Raters per arm for a gap in P(Good): by formula, by simulation, and with looks at the data on the way."""
    from eqlab.analysis.power import StudySize, plan, tables
    from eqlab.cli.output import print_json, print_table

    size = StudySize(
        baseline, gap, power, alpha, ratings_per_rater, design_effect, raters, looks=looks, studies=studies, seed=seed
    )
    found = plan(size)
    if as_json:
        print_json(found)
        return
    for table in tables(size, found):
        print_table(table)
        typer.echo("")
