"""`eqlab reproduce`: a published study's tables, recomputed from its own raw data."""

from typing import Annotated

import typer

from eqlab.cli.flags import DataFlag, JsonFlag


def reproduce(
    study: Annotated[str, typer.Argument(help="eqbench, emotionbench, empathy or short-forms.")],
    data: DataFlag = None,
    as_json: JsonFlag = False,
) -> None:
    """Recompute a study's published numbers and explain every difference."""
    from eqlab.cli.output import print_json, print_table
    from eqlab.reproduce import load

    module = load(study)
    report = module.reproduce(data)
    if as_json:
        print_json(report)
        return
    for table in module.tables(report):
        print_table(table)
