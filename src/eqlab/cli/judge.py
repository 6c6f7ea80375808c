"""`eqlab judge`: have a model rate replies, or find out how far its ratings can be trusted."""

from pathlib import Path
from typing import Annotated

import typer

from eqlab.cli.flags import DataFlag, JsonFlag, StoreFlag, read_settings

CALIBRATE = "calibrate"


def judge(
    models: Annotated[
        list[str],
        typer.Argument(
            metavar="[calibrate] MODEL…",
            help="`embedded`, `gguf:PATH` or `provider/name`; after the word `calibrate`, compare with people instead.",
        ),
    ],
    on: Annotated[
        list[str] | None,
        typer.Option(
            "--on",
            metavar="RUN|published|author|FILE",
            help="Whose replies: a run of `empathy` (id or `last`), the study's, ours, or a CSV or JSONL file; "
            "may be repeated, all are compared.",
        ),
    ] = None,
    limit: Annotated[
        int | None,
        typer.Option(min=1, help="Replies to at most N prompts.", show_default="all; 100 when calibrating"),
    ] = None,
    pairwise: Annotated[bool, typer.Option("--pairwise", help="Two replies at a time, in both orders.")] = False,
    repeats: Annotated[int | None, typer.Option(min=1, help="Ask every trial N times.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of the draw of prompts and of the order.")] = 0,
    max_concurrency: Annotated[int, typer.Option(min=1, help="Requests to one endpoint at once, at most.")] = 16,
    base_url: Annotated[str, typer.Option(metavar="URL", help="Any server with the OpenAI-compatible chat API.")] = "",
    setting: Annotated[
        list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="Model setting, e.g. max_tokens=2000.")
    ] = None,
    structured: Annotated[
        bool | None,
        typer.Option(
            "--structured/--free-text",
            show_default="structured for embedded, else free text",
            help="Ask for the rating as JSON under a schema.",
        ),
    ] = None,
    timeout: Annotated[float, typer.Option(min=1.0, help="Seconds until a request counts as lost.")] = 120.0,
    report: Annotated[Path | None, typer.Option(metavar="FILE", help="Where the HTML report goes.")] = None,
    store: StoreFlag = "",
    data: DataFlag = None,
    as_json: JsonFlag = False,
) -> None:
    """Have models rate replies as Bad, Okay or Good: blind to who wrote them, in shuffled order.

    `eqlab judge MODEL --on RUN` rates the replies of a run. `eqlab judge calibrate MODEL` has it rate published
    replies that people have rated, and reports agreement and bias; later results of the same judge show them.
    The same command again continues a stopped run and asks nothing twice."""
    from eqlab import api, judging
    from eqlab.cli.output import errors
    from eqlab.cli.session import work
    from eqlab.core.errors import UsageError

    calibrating = models[0] == CALIBRATE
    judges = tuple(models[1:] if calibrating else models)
    if not judges:
        raise UsageError("'eqlab judge calibrate' needs a model.", "Write 'eqlab judge calibrate MODEL'.")
    if calibrating and (on or pairwise):
        what = "--on" if on else "--pairwise"
        raise UsageError(
            f"A calibration takes no {what}.", "It always rates single published replies, which people have rated."
        )
    if not calibrating and not on:
        raise UsageError("Whose replies shall be judged?", "Add --on RUN, --on published or --on FILE.")
    out = errors()
    opened = api.open_store(store)
    prepared = judging.prepare(
        judging.JudgeRequest(
            judges=judges,
            on=("published",) if calibrating else tuple(on or ()),
            limit=judging.CALIBRATION_PROMPTS if calibrating and limit is None else limit,
            repeats=repeats,
            seed=seed,
            base_url=base_url,
            structured=structured,
            settings=read_settings(setting or []),
            pairwise=pairwise,
            calibration=calibrating,
            data=data,
        ),
        opened,
        lambda text: out.print(text, markup=False),
    )
    work(
        prepared,
        opened,
        concurrency=max_concurrency,
        timeout=timeout,
        report=report or Path("eqlab-report.html"),
        as_json=as_json,
        tables=_SHOWN,
    )


_SHOWN = 3
"""Tables on the terminal; the report has them all."""
