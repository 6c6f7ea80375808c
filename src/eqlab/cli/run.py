"""`eqlab run`: ask models, show progress, print the result, write the report."""

from typing import Annotated

import typer

from eqlab.cli.flags import (
    POLL,
    REPORT,
    BaseUrlFlag,
    BatchFlag,
    ConcurrencyFlag,
    DataFlag,
    DialectFlag,
    DryRunFlag,
    EffortFlag,
    JsonFlag,
    MaxCostFlag,
    MaxTokensFlag,
    PatienceFlag,
    PollFlag,
    PricesFlag,
    RepeatsFlag,
    ReportFlag,
    SettingFlag,
    SilenceFlag,
    StoreFlag,
    StructuredFlag,
    TimeoutFlag,
    model_settings,
)
from eqlab.cli.tree import ONE_BENCHMARK
from eqlab.core.settings import read_pairs, read_settings
from eqlab.models.timeouts import PATIENCE, SILENCE, WHOLE

WIDTH = 10
"""Points of an adaptive run's 90 % interval, if none are named."""


def run(
    models: Annotated[
        list[str] | None,
        typer.Argument(metavar="[MODEL]…", help="`embedded` (default), `gguf:PATH` or `provider/name`."),
    ] = None,
    benchmark: Annotated[
        list[str] | None, typer.Option("-b", "--benchmark", help="Benchmark; may be repeated.")
    ] = None,
    items: Annotated[
        str,
        typer.Option(
            help="`auto` (the studies' own where fetched, else open), `published`, `open` (shipped) or a file.",
            envvar="EQLAB_ITEMS",
        ),
    ] = "auto",
    profile: Annotated[str, typer.Option(help="`quick` (a few items) or `full` (all).")] = "quick",
    limit: Annotated[int | None, typer.Option(min=1, help="At most N items.")] = None,
    repeats: RepeatsFlag = None,
    seed: Annotated[int, typer.Option(help="Seed of orders and of sampling.")] = 0,
    max_concurrency: ConcurrencyFlag = 16,
    base_url: BaseUrlFlag = "",
    setting: SettingFlag = None,
    option: Annotated[
        list[str] | None,
        typer.Option("-o", "--option", metavar="NAME=VALUE", help="Benchmark option; see `eqlab benchmarks`."),
    ] = None,
    situations: Annotated[str, typer.Option(hidden=True)] = "",  # these six are -o options; the flags go with 0.4
    style: Annotated[str, typer.Option(hidden=True)] = "",
    short: Annotated[int | None, typer.Option(min=1, hidden=True)] = None,
    adaptive: Annotated[bool, typer.Option("--adaptive", hidden=True)] = False,
    width: Annotated[int | None, typer.Option(min=1, hidden=True)] = None,
    perturb: Annotated[str, typer.Option(hidden=True)] = "",
    speaker: Annotated[
        list[str] | None,
        typer.Option(
            "--speaker",
            metavar="'SPEC[@URL] [NAME=VALUE]…'",
            help="Dialogue: the model that speaks, with settings of its own, or `fixed` lines; may be repeated.",
            show_default="fixed",
            rich_help_panel=ONE_BENCHMARK,
        ),
    ] = None,
    structured: StructuredFlag = None,
    timeout: TimeoutFlag = WHOLE,
    silence: SilenceFlag = SILENCE,
    patience: PatienceFlag = PATIENCE,
    effort: EffortFlag = "",
    dialect: DialectFlag = "",
    dry_run: DryRunFlag = False,
    max_cost: MaxCostFlag = None,
    max_tokens_total: MaxTokensFlag = None,
    prices: PricesFlag = None,
    batch: BatchFlag = False,
    poll: PollFlag = POLL,
    label: Annotated[
        str,
        typer.Option(metavar="TEXT", help="What is behind the model's name this time; another label is another run."),
    ] = "",
    fresh: Annotated[bool, typer.Option("--fresh", help="Ask everything again: a run labelled with the time.")] = False,
    report: ReportFlag = REPORT,
    view: Annotated[
        bool, typer.Option("--view", help="Show the run in the browser while it goes; see `eqlab view`.")
    ] = False,
    store: StoreFlag = "",
    data: DataFlag = None,
    as_json: JsonFlag = False,
) -> None:
    """Ask models the trials of one or more benchmarks.

    Answers are stored as they arrive. The same command again continues a stopped run and asks nothing twice."""
    from eqlab.benchmarks.registry import usual, with_option
    from eqlab.cli.money import Spending, show_forecast
    from eqlab.cli.session import work
    from eqlab.cli.view import watched
    from eqlab.core.errors import UsageError
    from eqlab.runs.request import Request, prepare
    from eqlab.store.access import open_store

    if width is not None and not adaptive:
        raise UsageError("--width works with an adaptive run only.", "Add --adaptive.")
    if base_url and not models and not speaker:
        raise UsageError("--base-url gives an address, but no model is named.", "Name the model to ask there.")
    given = read_pairs("--option", option or [])
    perturb = perturb or given.get("perturb", "")
    if "temperature" in perturb and "temperature" in read_settings(setting or []):
        raise UsageError(
            "'--set temperature' fixes what '-o perturb' would change.", "Drop it, or perturb something else."
        )
    for twice in dict.fromkeys(model for model in models or () if models and models.count(model) > 1):
        typer.echo(f"{twice} is named more than once and asked once; --repeats asks again.", err=True)
    if fresh:
        label = _fresh(label)
    few = _given(short=str(short or ""), width=str(width or WIDTH) if adaptive else "")
    only = {name: given[name] for name in ("perturb", "speaker", "short", "width") if name in given} | few
    only |= _given(perturb=perturb, speaker=_speakers(speaker or [], base_url))
    if only and not benchmark:
        benchmark = with_option(next(iter(only)))  # the others cannot do this
    prepared = prepare(
        Request(
            models=tuple(models or ["embedded"]),
            benchmarks=tuple(benchmark or usual()),
            items=items,
            profile=profile,
            limit=limit,
            repeats=repeats,
            seed=seed,
            base_url=base_url,
            structured=structured,
            settings=model_settings(setting, effort, dialect),
            options=given | _given(situations=situations, style=style) | only,
            data=data,
            label=label,
        )
    )
    spending = Spending(max_cost, max_tokens_total, prices, batch, poll)
    if dry_run:
        show_forecast(prepared, store, spending, as_json=as_json)
        return
    with open_store(store) as opened, watched(prepared.config.id, store, data, wanted=view):
        work(
            prepared,
            opened,
            concurrency=max_concurrency,
            timeout=timeout,
            silence=silence,
            patience=patience,
            spending=spending,
            report=report,
            as_json=as_json,
        )


def _fresh(label: str) -> str:
    """The time as label; said, because the way to go on with this run is its label."""
    from datetime import UTC, datetime

    from eqlab.core.errors import UsageError

    if label:
        raise UsageError("--fresh makes a label of its own.", "Drop --fresh, or --label.")
    made = datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S")
    typer.echo(
        f"Asking everything again; to go on with this run later, write --label '{made}' in place of --fresh.", err=True
    )
    return made


def _given(**flags: str) -> dict[str, str]:
    return {name: value for name, value in flags.items() if value}


def _speakers(named: list[str], base_url: str) -> str:
    """A name without a provider is asked where the models are, unless it says where. Settings stand behind the name."""
    there = []
    for one in named:
        spec, *settings = one.split() or [one]
        own = base_url and "/" not in spec and spec not in ("fixed", "embedded") and not spec.startswith("gguf:")
        there.append(" ".join([f"{spec}@{base_url}" if own else spec, *settings]))
    return ",".join(there)
