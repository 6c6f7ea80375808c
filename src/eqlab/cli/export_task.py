"""`eqlab export-task`: a benchmark as a task of another tool."""

from pathlib import Path
from typing import Annotated

import typer

from eqlab.cli.flags import DataFlag, RepeatsFlag
from eqlab.core.pairs import read_pairs


def export_task(
    tool: Annotated[str, typer.Argument(metavar="TOOL", help="`lm-eval`: a task folder for lm-evaluation-harness.")],
    output: Annotated[Path, typer.Option("-o", "--output", metavar="DIR", help="Folder to write.")],
    benchmark: Annotated[
        str,
        typer.Option("-b", "--benchmark", help="Any whose answers have a score of their own."),
    ] = "eqbench",
    items: Annotated[str, typer.Option(help="`open` (shipped) or `published` (the studies' own).")] = "open",
    profile: Annotated[str, typer.Option(help="`quick` (a few items) or `full` (all).")] = "full",
    limit: Annotated[int | None, typer.Option(min=1, help="At most N items.")] = None,
    repeats: RepeatsFlag = None,
    seed: Annotated[int, typer.Option(help="Seed of orders.")] = 0,
    option: Annotated[
        list[str] | None,
        typer.Option("--option", metavar="NAME=VALUE", help="Benchmark option; see `eqlab benchmarks`."),
    ] = None,
    data: DataFlag = None,
) -> None:
    """Write a benchmark as a task for another evaluation tool, read and scored there by eqlab's own code.

    Inspect AI needs no export: with eqlab[inspect] installed, `inspect eval eqlab/eqbench` works."""
    from eqlab.core.errors import UsageError
    from eqlab.publish.tools.lm_eval_export import write_task
    from eqlab.publish.tools.tasks import exported

    if tool != "lm-eval":
        raise UsageError(f"There is no export for '{tool}'.", "Write lm-eval.")
    task = exported(
        benchmark,
        items=items,
        profile=profile,
        limit=limit,
        repeats=repeats,
        seed=seed,
        options=read_pairs("--option", option or []),
        data=data,
    )
    written = write_task(task, output)
    typer.echo(f"{written.questions} questions: {written.folder.resolve()}")
    if written.published:
        typer.echo("The folder holds the study's own texts, under their own licence.")
    typer.echo(f"lm_eval --include_path {output} --tasks {written.name} --apply_chat_template --model …")
