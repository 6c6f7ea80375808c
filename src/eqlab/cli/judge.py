"""`eqlab judge`: have a model rate replies, or find out how far its ratings can be trusted."""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

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
    check_report,
    model_settings,
)
from eqlab.core.plural import many
from eqlab.models.timeouts import PATIENCE, SILENCE, WHOLE

if TYPE_CHECKING:
    from eqlab.cli.money import Spending
    from eqlab.core.results import Result, Table
    from eqlab.runs.judge import JudgeRequest
    from eqlab.runs.judge_plan import Budget, JudgePlan
    from eqlab.runs.request import Prepared
    from eqlab.store.store import Store


CALIBRATE, DRIFT = "calibrate", "drift"


def judge(
    models: Annotated[
        list[str],
        typer.Argument(
            metavar="[calibrate|drift RUN] MODEL…",
            help="`embedded`, `gguf:PATH` or `provider/name`; after the word `calibrate`, compare with people instead; "
            "after `drift RUN`, judge that run's replies again and compare with its judge.",
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
    against: Annotated[
        str,
        typer.Option(
            metavar="RUN|published|kumar:NAME",
            help="With `calibrate`: whose ratings by people: those of a finished study (its run), the published, or "
            "the experts' of Kumar et al. (kumar:lend_an_ear, kumar:epitome, kumar:empatheticdialogues).",
        ),
    ] = "published",
    rubric: Annotated[
        str,
        typer.Option(
            metavar="NAME|FILE",
            help="What raters look for: `published` (Bad, Okay, Good), `empathy` (three facets), `dialogue` (six "
            "abilities), or a TOML file.",
            show_default="`dialogue` for talks, else `published`",
        ),
    ] = "",
    within: Annotated[
        float | None,
        typer.Option(min=0.001, help="With `calibrate`: how many more human ratings intervals of ± this width take."),
    ] = None,
    pairwise: Annotated[bool, typer.Option("--pairwise", help="Two replies at a time, in both orders.")] = False,
    pairs: Annotated[
        str,
        typer.Option(
            metavar="all|ring|ARM",
            help="With --pairwise: compare every two (all), each with the next (ring), or all with this one.",
        ),
    ] = "all",
    adaptive: Annotated[
        bool, typer.Option("--adaptive", help="With --pairwise: in rounds, the pairs that narrow the ranks most.")
    ] = False,
    width: Annotated[
        float | None,
        typer.Option(help="With --adaptive: stop when a model may have this many ranks on average (1 is the least)."),
    ] = None,
    anchor: Annotated[
        str,
        typer.Option(
            metavar="RUN", help="With --pairwise: add models to this run's ranking; the strengths in it do not change."
        ),
    ] = "",
    budget: Annotated[
        str,
        typer.Option(
            metavar="AMOUNT",
            help="Money (`5`, in the prices' currency), `2000calls` or `1000000tokens`: plan first, and ask a part of "
            "the prompts, chosen for the interval, if all are too many.",
        ),
    ] = "",
    repeats: RepeatsFlag = None,
    seed: Annotated[int, typer.Option(help="Seed of the draw of prompts and of the order.")] = 0,
    max_concurrency: ConcurrencyFlag = 16,
    base_url: BaseUrlFlag = "",
    setting: SettingFlag = None,
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
    report: ReportFlag = REPORT,
    store: StoreFlag = "",
    data: DataFlag = None,
    as_json: JsonFlag = False,
) -> None:
    """Have models rate replies, or whole talks, by a rubric: blind to who wrote them, in shuffled order.

    `eqlab judge MODEL --on RUN` rates the replies of a run. `eqlab judge calibrate MODEL` has it rate replies that
    people have rated, and reports agreement and bias; later results of the same judge show them.
    `eqlab judge drift RUN MODEL` has another judge, or another version, rate the same replies: how far every arm
    moves, and which ranks change.
    Several models are a panel: pooled with severities taken out, and what they are worth together.
    The same command again continues a stopped run and asks nothing twice."""
    from eqlab.cli.money import Spending, show_forecast
    from eqlab.cli.output import errors
    from eqlab.cli.session import work
    from eqlab.core.errors import UsageError
    from eqlab.runs import judge as judging
    from eqlab.runs.panel import drift_of, panel_of
    from eqlab.store.access import open_store

    calibrating = models[0] == CALIBRATE
    drifting = models[0] == DRIFT
    if drifting:
        if len(models) != 3:
            raise UsageError(
                "A drift compares the judge of one run with one other judge.", "Write 'eqlab judge drift RUN MODEL'."
            )
        if on or pairwise or rubric or limit or repeats or budget:
            raise UsageError(
                "A drift repeats what its run asked: the same replies, rubric and pairs.",
                "Leave out --on, --pairwise, --rubric, --limit, --repeats and --budget.",
            )
        on = [models[1]]
    judges = tuple(models[1:] if calibrating else models[2:] if drifting else models)
    if not judges:
        raise UsageError("'eqlab judge calibrate' needs a model.", "Write 'eqlab judge calibrate MODEL'.")
    if calibrating and (on or pairwise):
        what = "--on" if on else "--pairwise"
        raise UsageError(
            f"A calibration takes no {what}.",
            "It rates single replies that people have rated: name them with --against.",
        )
    if not calibrating and against != "published":
        raise UsageError("--against is for a calibration.", "Write 'eqlab judge calibrate MODEL --against RUN'.")
    if not calibrating and not on:
        raise UsageError("Which replies should be judged?", "Add --on RUN, --on published or --on FILE.")
    if within is not None and not calibrating:
        raise UsageError("--within is for a calibration.", "Write 'eqlab judge calibrate MODEL --within 0.1'.")
    out = errors()
    request = judging.JudgeRequest(
        judges=judges,
        on=(against,) if calibrating else tuple(on or ()),
        limit=judging.CALIBRATION_PROMPTS if calibrating and limit is None and against == "published" else limit,
        repeats=repeats,
        seed=seed,
        base_url=base_url,
        structured=structured,
        settings=model_settings(setting, effort, dialect),
        pairwise=pairwise,
        calibration=calibrating,
        data=data,
        rubric=rubric,
        pairs=pairs,
        adaptive=adaptive,
        width=width,
        anchor=anchor,
    )
    spending = Spending(max_cost, max_tokens_total, prices, batch, poll, mixed=True)

    def say(text: str) -> None:
        out.print(text, markup=False, soft_wrap=True)

    planned: dict[str, object] = {}
    with open_store(store, existing=judging.from_store(against if calibrating else "", on or ())) as opened:
        before = None
        if drifting:
            prepared, before = judging.prepare_drift(request, opened)
        elif budget:
            prepared, planned = within_budget(request, opened, budget, spending, say)
        else:
            prepared = judging.prepare(request, opened, say)
        if adaptive:
            most = judging.most_calls(prepared)
            say(f"An adaptive run begins with some of all pairs and stops at the width; {many(most, 'call')} at most.")
            planned = {"most_calls": most}
        if dry_run:
            show_forecast(prepared, store, spending, as_json=as_json, more=planned)
            return
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
            tables=0 if len(judges) > 1 else _SHOWN,
            together=panel_of if before is None else partial(drift_of, before=before),
            together_key="panel" if before is None else "drift",
            beside=_table_beside(within, against if calibrating else "", data),
        )


_SHOWN = 3
"""Tables on the terminal; the report has them all."""


def _table_beside(
    within: float | None, against: str, data: Path | None
) -> "Callable[[Result], Sequence[Table]] | None":
    """What stands beside a calibration: how many ratings are lacking, or how a judge stands among experts."""
    from eqlab.runs.kumar import asked_framework, beside_experts

    if within is not None:
        return partial(_still_missing, within)
    framework = asked_framework(against)
    return None if framework is None else partial(beside_experts, framework, data)


def _still_missing(within: float, result: "Result") -> "Sequence[Table]":
    from eqlab.benchmarks.rating.calibration import missing_table

    return (missing_table(result, within),)


# `eqlab judge --budget`: the plan in calls, tokens and money, said before anything is asked.
def within_budget(
    request: "JudgeRequest", store: "Store", text: str, spending: "Spending", say: Callable[[str], None]
) -> "tuple[Prepared, dict[str, object]]":
    """The run that the budget allows, after saying what it takes and what to expect of it; and the same as data."""
    from eqlab.models.batch.contract import takes_batches
    from eqlab.models.prices import known_prices
    from eqlab.runs.judge_plan import plan_judging, read_budget

    spending.look_up()
    budget = read_budget(text)
    plan = plan_judging(request, store, budget, known_prices(), batch=spending.batch, say=say)
    for line in plan_lines(plan, budget):
        say(line)
    if plan.prompts < plan.all_prompts and budget.unit == "money" and not spending.batch:
        able = [forecast.model.spec for forecast in plan.forecasts if takes_batches(forecast.model)]
        if able:
            say(f"--batch costs about half with {', '.join(able)}, and takes up to a day.")
    data: dict[str, object] = {
        "prompts": plan.prompts,
        "all_prompts": plan.all_prompts,
        "all_calls": plan.all_calls,
        "measure": plan.measure,
        "expected_half_width": plan.reach,
        "all_half_width": plan.all_reach,
        "standard_deviation": plan.spread,
        "basis": plan.basis,
    }
    return plan.prepared, {"budget": data}


def plan_lines(plan: "JudgePlan", budget: "Budget") -> list[str]:
    from eqlab.runs.estimate import cost_words, span_words

    calls = sum(forecast.calls for forecast in plan.forecasts)
    said = [
        (
            f"Plan: {many(calls, 'call')} for {plan.prompts:,} of {many(plan.all_prompts, 'prompt')}, within "
            f"{budget.words}."
        )
    ]
    said += [
        f"  {forecast.model.spec}: {many(forecast.calls, 'call')}, about {span_words(forecast.tokens_in)} tokens in, "
        f"{span_words(forecast.tokens_out)} out; cost {cost_words(forecast)}."
        for forecast in plan.forecasts
    ]
    what = {"P(Good)": "a difference in P(Good)", "overall": "a difference overall", "preference": "a preference"}
    of = f"{what[plan.measure]} (standard deviation {plan.spread:.0f} points over prompts, {plan.basis})"
    if plan.reach is not None:
        said.append(f"  Expected interval: ±{plan.reach:.1f} points for {of}.")
    if plan.prompts < plan.all_prompts:
        rest = "" if plan.all_reach is None else f", ±{plan.all_reach:.1f} points"
        said.append(
            f"  All prompts would be {many(plan.all_calls, 'call')}{rest}. The prompts are drawn by seed, "
            "balanced over "
            "emotions; which ones says nothing of what the replies are like."
        )
    return said


# `eqlab study ratings`: people's ratings from files.
def import_file(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="CSV or JSONL with the columns rater, arm, prompt, rating.")
    ],
    name: Annotated[
        str, typer.Option("--name", help="What the ratings are called.", show_default="the file's name")
    ] = "",
    report: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the HTML report too.", show_default="none")
    ] = None,
    store: StoreFlag = "",
    data: DataFlag = None,
    as_json: JsonFlag = False,
) -> None:
    """Import people's ratings: 1, 2, 3 or bad, okay, good; every bad row is reported and left out.

    Raters' ids are hashed on reading and stored nowhere. The same file again changes nothing; another
    under the same name takes its place."""
    from eqlab.cli.output import errors, print_json, print_table, say
    from eqlab.cli.results import print_results, result_json
    from eqlab.publish.report.write import write_results
    from eqlab.runs.import_ratings import import_ratings
    from eqlab.runs.judge import read_file
    from eqlab.runs.score import results
    from eqlab.store.access import open_store

    out = errors()
    read_file(file)  # before a store is made for it
    if report:
        check_report(report)
    with open_store(store) as opened:
        done = import_ratings(opened, file, name or file.stem, data)
        for bad in done.bad:
            out.print(f"{file.name}, line {bad.line}: {bad.reason}; left out.", markup=False)
        stored = opened.find_run(done.run)
        found = results(opened, stored)
        written = write_results([(stored, found)], report) if report else None
    if as_json:
        print_json(
            {
                "run": done.run,
                "taken": done.taken,
                "new": done.new,
                "raters": done.raters,
                "bad": [{"line": bad.line, "reason": bad.reason} for bad in done.bad],
                "replaced": done.replaced,
                "results": [result_json(result) for result in found],
            }
        )
        return
    say(
        f"{many(done.taken, 'rating')} of {many(done.raters, 'person', 'people')} ({done.new} new, "
        f"{many(len(done.bad), 'row')} left out): run {done.run}"
    )
    if done.replaced:
        say(f"It takes the place of run {done.replaced}, which was imported under the same name.")
    print_results(found)
    for result in found:
        for table in result.tables[:3]:
            typer.echo("")
            print_table(table)
    if written:
        say(f"Report: {written.resolve()}")
