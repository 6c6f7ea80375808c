"""What the store holds: `eqlab runs`, `show`, `export` and `export-task`; and looking after it: `eqlab runs store`."""

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from eqlab.cli.flags import DataFlag, JsonFlag, RepeatsFlag, StoreFlag, check_writable
from eqlab.cli.plain import print_text
from eqlab.core.plural import many
from eqlab.core.settings import read_pairs

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Mapping, Sequence

    from eqlab.core.benchmark import Scored
    from eqlab.core.results import ItemScore
    from eqlab.core.runs import BenchmarkConfig
    from eqlab.store.reader import Reader, StoredRun

    Match = tuple[str, str, Scored, ItemScore]
    """Subject, benchmark, trial with its answers, and how it is shown."""


def runs(store: StoreFlag = "", as_json: JsonFlag = False) -> None:
    """List the runs in the store, newest first."""
    from eqlab.cli.output import print_json, print_rows
    from eqlab.store.access import open_reader

    rows: list[dict[str, Any]] = []
    with open_reader(store) as opened:
        for run in opened.run_ids():
            stored = opened.read_run(run)
            config = stored.config
            progress = opened.progress(run)
            rows.append(
                {
                    "run": run,
                    "started": datetime.fromtimestamp(stored.created_at, UTC).strftime("%Y-%m-%d %H:%M UTC"),
                    "models": [model.spec for model in config.models],
                    "labels": [model.label for model in config.models],
                    "benchmarks": [f"{benchmark.name} ({benchmark.item_set})" for benchmark in config.benchmarks],
                    "profile": config.profile,
                    "answered": sum(done for done, _ in progress.values()),
                    "planned": sum(total for _, total in progress.values()),
                }
            )
    if as_json:
        print_json(rows)
        return
    if not rows:
        print_rows("", [f"No runs in {opened.shown} yet; start one with 'eqlab run'."], [])
        return
    print_rows(
        "",
        ["run", "started", "models", "benchmarks", "profile", "answered"],
        [
            [
                row["run"],
                row["started"],
                ", ".join(map(_labelled, row["models"], row["labels"])) or "people",
                ", ".join(row["benchmarks"]),
                row["profile"],
                f"{row['answered']} of {row['planned']}",
            ]
            for row in rows
        ],
    )


def _labelled(model: str, label: str) -> str:
    return f"{model} ({label})" if label else model


# `eqlab runs export`: a run's answers as a table for other tools.
def export(
    run: Annotated[str, typer.Argument(help="Run id, its beginning, or `last`.")] = "last",
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            metavar="FILE",
            help=".parquet, .csv, .jsonl, .sav or .dta.",
            show_default="RUN.parquet",
        ),
    ] = None,
    form: Annotated[
        str, typer.Option("--format", help="`table`, or `every-eval-ever`: records for that exchange, in a folder.")
    ] = "table",
    organisation: Annotated[str, typer.Option(help="every-eval-ever: who made the run.")] = "unknown",
    relationship: Annotated[
        str,
        typer.Option(help="every-eval-ever: first_party, third_party, collaborative or other, to the model's maker."),
    ] = "third_party",
    instances: Annotated[bool, typer.Option(help="every-eval-ever: a line for every item, too.")] = True,
    errors_as_wrong: Annotated[
        bool,
        typer.Option("--errors-as-wrong", help="every-eval-ever: lines for answers that could not be read, score 0."),
    ] = False,
    store: StoreFlag = "",
) -> None:
    """Export every attempt with its trial: one row each, as Parquet, CSV, JSONL, SPSS or Stata by the file's ending.

    A codebook beside the file describes every column; in files of SPSS and Stata (eqlab[spss]) labels do. CSV is made
    safe for spreadsheets: text that a spreadsheet would run as a formula gets a leading apostrophe.
    `--format every-eval-ever` writes records of scores and items to a folder instead. Nothing is sent anywhere."""
    from eqlab.core.errors import UsageError
    from eqlab.publish.export import write_answers
    from eqlab.store.access import open_reader

    if form not in ("table", "every-eval-ever"):
        raise UsageError(f"There is no format '{form}'.", "Write table or every-eval-ever.")
    with open_reader(store) as opened:
        stored = opened.find_run(run)
        if form == "every-eval-ever":
            from eqlab.publish.every_eval_ever import Sender, write_records

            sender = Sender(organisation, relationship, instances, errors_as_wrong)  # type: ignore[arg-type]
            for written in write_records(opened, stored, output or Path("every-eval-ever"), sender):
                print_text(str(written))
            return
        path = output or Path(f"{stored.id}.parquet")
        check_writable(path)
        rows = write_answers(opened, stored, path, print_text)
    print_text(f"{many(rows, 'row')}: {path.resolve()}")


# `eqlab data export-task`: a benchmark as a task of another tool.
def export_task(
    tool: Annotated[str, typer.Argument(metavar="TOOL", help="`lm-eval`: a task folder for lm-evaluation-harness.")],
    output: Annotated[Path, typer.Option("-o", "--output", metavar="DIR", help="Folder to write.")],
    benchmark: Annotated[
        str,
        typer.Option("-b", "--benchmark", help="A benchmark whose answers are scored one by one."),
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
    typer.echo(f"{many(written.questions, 'question')}: {written.folder.resolve()}")
    if written.published:
        typer.echo("The folder holds the study's own texts, under their own licence.")
    typer.echo(f"lm_eval --include_path {output} --tasks {written.name} --apply_chat_template --model …")


# `eqlab runs show`: a run item by item, in the subjects' own words.
def show(
    run: Annotated[str, typer.Argument(help="Run id, its beginning, or `last`.")] = "last",
    item: Annotated[list[str] | None, typer.Option("--item", help="Only this item; may be repeated.")] = None,
    subject: Annotated[str, typer.Option(help="Only those whose name contains this.")] = "",
    status: Annotated[str, typer.Option(help="Only ok, unparseable, refused, error or unanswered.")] = "",
    limit: Annotated[int, typer.Option(min=1, help="At most N items.")] = 20,
    prompt: Annotated[bool, typer.Option("--prompt/--no-prompt", help="Show the prompt too.")] = True,
    store: StoreFlag = "",
    as_json: JsonFlag = False,
) -> None:
    """Show a run item by item: prompt, every raw reply, parsed values, score."""
    from contextlib import closing
    from itertools import islice

    from eqlab.cli.plain import harmless, print_json
    from eqlab.core.answers import OUTCOMES
    from eqlab.core.errors import UsageError
    from eqlab.store.access import open_reader

    if status and status not in OUTCOMES:
        raise UsageError(f"--status '{status}' is unknown.", f"Choose {', '.join(OUTCOMES)}.")
    with open_reader(store) as opened:
        stored = opened.find_run(run)
        pairs = [(who, config) for who, config in stored.config.pairs() if subject in who]
        with closing(_matches(opened, stored.id, pairs, item or (), status)) as matches:
            shown = list(islice(matches, limit))
            if as_json:
                print_json([_as_json(match) for match in shown])
                return
            for text in _replaced(opened, stored.id, pairs):
                typer.secho(harmless(f"! {text}"), fg="yellow")
            subjects = {match[0] for match in shown}
            for text in _placed(opened, stored, [pair for pair in pairs if pair[0] in subjects]):
                typer.echo(harmless(text))
            for match in shown:
                _print(match, prompt=prompt)
            if item or status:
                more = sum(1 for _ in matches)
            else:  # reading everything only to count it would take long
                more = opened.planned_count(stored.id, [who for who, _ in pairs]) - len(shown)
    if more:
        typer.echo(f"{more} more; raise --limit, or choose with --item or --status.", err=True)
    elif not shown:
        wanted = [*(f"--item {one}" for one in item or ()), *([f"--status {status}"] if status else ())]
        typer.echo(harmless(f"No item of run {stored.id} matches {' '.join(wanted) or 'that'}."), err=True)
        raise typer.Exit(1)


def _replaced(opened: "Reader", run: str, pairs: "Sequence[tuple[str, BenchmarkConfig]]") -> "Iterator[str]":
    """Which subjects another model answered for, in the whole run."""
    from eqlab.core.answers import replaced

    names = opened.answered_as(run)
    for who in dict.fromkeys(who for who, _ in pairs):
        yield from replaced(who, names.get(who, {}))


def _placed(opened: "Reader", stored: "StoredRun", pairs: "Sequence[tuple[str, BenchmarkConfig]]") -> "Iterator[str]":
    """Where among people these subjects stand, of benchmarks that people have taken: only these are scored for it."""
    from eqlab.benchmarks.registry import load
    from eqlab.core.benchmark import Normed
    from eqlab.core.text import place_sentences

    studied = {
        benchmark_config.name
        for study in opened.studies()
        for benchmark_config in opened.read_run(study.run).config.benchmarks
    }
    normed = [
        (who, asked)
        for who, asked in pairs
        if asked.name in studied or who.startswith("judge:") or isinstance(load(asked.name), Normed)
    ]
    if not normed:
        return
    from eqlab.runs.context import Known
    from eqlab.runs.score import result_of

    known = Known(opened)
    for who, config in normed:
        yield from place_sentences(who.removeprefix("model:"), result_of(known, (stored, who, config)))


def _matches(
    opened: "Reader", run: str, pairs: "Sequence[tuple[str, BenchmarkConfig]]", items: "Sequence[str]", status: str
) -> "Generator[Match, None, None]":
    from eqlab.benchmarks.registry import load
    from eqlab.core.benchmark import Talks

    trials = opened.trials_about(items) if items else None
    for who, config in pairs:
        benchmark = load(config.name)
        found = opened.scored(run, who, config.name, trials=trials, status=status)
        for scored in talk_by_talk(found) if items and isinstance(benchmark, Talks) else found:
            if items and not set(items) & set(scored.trial.items):
                continue
            line = benchmark.item(scored, config.options)
            if not status or (line.status or "unanswered") == status:
                yield who, config.name, scored, line


def talk_by_talk(found: "Iterator[Scored]") -> "list[Scored]":
    """Turns in the order in which they were said; talks in the order in which they were planned."""
    turns = list(found)
    order: dict[tuple[str, int], int] = {}
    for scored in turns:
        order.setdefault((scored.trial.talk or scored.trial.id, scored.repeat), len(order))
    return sorted(turns, key=lambda one: (order[one.trial.talk or one.trial.id, one.repeat], one.trial.turn))


def _as_json(match: "Match") -> dict[str, object]:
    who, name, scored, line = match
    attempts = [
        {name: getattr(attempt, name) for name in ("attempt", "status", "text", "reasoning", "note", "model")}
        for attempt in scored.attempts
    ]
    return {
        "subject": who,
        "benchmark": name,
        "prompt": scored.trial.prompt,
        "attempts": attempts,
        **{key: getattr(line, key) for key in ("item", "repeat", "status", "score")},
        "values": dict(line.values),
        "reference": dict(line.reference),
    }


def _read_of(scored: "Scored") -> "Mapping[str, object]":
    """What was read, where a benchmark's own line does not say it."""
    from eqlab.core.answers import final

    last = final(scored.attempts)
    return last.values if last is not None and last.status == "ok" else {}


def _print(match: "Match", *, prompt: bool) -> None:
    from eqlab.cli.plain import harmless, print_rule, print_text
    from eqlab.core.answers import model_name, spec_of
    from eqlab.core.runs import PEOPLE

    who, name, scored, line = match
    someone = scored.attempts[0].subject if who == PEOPLE and scored.attempts else who
    turn = f" · turn {scored.trial.turn + 1}" if scored.trial.talk else ""
    turn += f" · {scored.trial.seat}" if scored.trial.seat else ""
    print_rule(f"{someone.removeprefix('model:')} · {name} · item {line.item}{turn}")
    if prompt:
        print_text(scored.trial.stimulus if who == PEOPLE else scored.trial.prompt, dim=True)
    for attempt in scored.attempts:
        said = f" · answered as {model_name(attempt.model)}" if attempt.model and attempt.model != spec_of(who) else ""
        typer.secho(harmless(f"\nreply {attempt.attempt} ({attempt.status}){said}"), bold=True)
        if attempt.reasoning:
            typer.secho(f"(reasoning of {len(attempt.reasoning)} characters, not parsed)", dim=True)
        print_text(attempt.text or attempt.note)
    values = ", ".join(
        f"{key} {value} (reference {line.reference[key]:g})" if key in line.reference else f"{key} {value}"
        for key, value in (line.values or _read_of(scored)).items()
    )
    score = "" if line.score is None else f"\nscore: {line.score:.2f}"
    print_text(f"\nread: {values or 'nothing'}{score}\n" if scored.attempts else "\nnot answered yet\n")


def check(store: StoreFlag = "", as_json: JsonFlag = False) -> None:
    """Read every page and look up every reference; fails if something is wrong."""
    from eqlab.cli.plain import harmless, print_json
    from eqlab.core.environment import default_store
    from eqlab.core.errors import StoreError
    from eqlab.core.results import as_dict
    from eqlab.store.maintenance import check as examine

    found = examine(store or default_store())
    if as_json:
        print_json(as_dict(found))
    else:
        typer.echo(
            f"{many(found.runs, 'run')}, {many(found.planned, 'planned trial')}, {many(found.answers, 'answer')}; "
            f"{_mb(found.size)} MB, of which {_mb(found.unused)} MB are free."
        )
        for problem in found.problems:
            typer.echo(harmless(problem))
    if found.problems:
        raise StoreError(
            f"The store is damaged in {many(len(found.problems), 'place')}.",
            "Go back to a copy, or export what can be read.",
        )
    if not as_json:
        typer.echo("Sound.")


def backup(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The copy to write; must not be there yet.")],
    store: StoreFlag = "",
) -> None:
    """Write a sound copy, also while a run is going on. The copy is a store: --store FILE opens it."""
    from eqlab.cli.output import errors
    from eqlab.core.environment import default_store
    from eqlab.store.maintenance import back_up

    out = errors()
    last = [-1]

    def say(done: int, total: int) -> None:
        percent = 100 * done // max(total, 1)
        if percent // 20 > last[0]:
            last[0] = percent // 20
            out.print(f"{percent} % copied", markup=False)

    size = back_up(store or default_store(), file, say)
    typer.echo(f"{_mb(size)} MB: {file.resolve()}")


def compact(store: StoreFlag = "") -> None:
    """Give free space in the file back and refresh the planner's statistics; no answer is touched."""
    from eqlab.core.environment import default_store
    from eqlab.store.maintenance import compact as shrink

    before, after = shrink(store or default_store())
    typer.echo(f"{_mb(before)} MB before, {_mb(after)} MB now.")


def upgrade(store: StoreFlag = "") -> None:
    """Bring the tables of a store with a locked study up to date; of others every command does. The version that locked
    it cannot read the store after that, and what is analysed is exploratory: stop its server, and keep a copy."""
    from eqlab.core.environment import default_store
    from eqlab.store.engine import open_engine
    from eqlab.store.location import check_there

    where = store or default_store()
    check_there(where)
    open_engine(where, upgrade=True).dispose()
    typer.echo("The store is up to date.")


def _mb(size: int) -> str:
    return f"{size / 2**20:.1f}"
