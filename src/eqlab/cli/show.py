"""`eqlab show`: a run item by item, in the subjects' own words."""

from typing import TYPE_CHECKING, Annotated

import typer

from eqlab.cli.flags import JsonFlag, StoreFlag

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from eqlab.core.benchmark import Scored
    from eqlab.core.results import ItemScore
    from eqlab.core.runs import BenchmarkConfig
    from eqlab.store.reader import Reader, StoredRun

    Match = tuple[str, str, Scored, ItemScore]
    """Subject, benchmark, trial with its answers, and how it is shown."""


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
    from itertools import islice

    from eqlab.cli.plain import harmless, print_json
    from eqlab.core.answers import OUTCOMES
    from eqlab.core.errors import UsageError
    from eqlab.store.looking import open_reader

    if status and status not in OUTCOMES:
        raise UsageError(f"--status '{status}' is unknown.", f"Choose {', '.join(OUTCOMES)}.")
    with open_reader(store) as opened:
        stored = opened.find_run(run)
        pairs = [(who, asked) for who, asked in stored.config.pairs() if subject in who]
        matches = _matches(opened, stored.id, pairs, item or (), status)
        shown = list(islice(matches, limit))
        if as_json:
            print_json([_as_json(match) for match in shown])
            return
        for text in _replaced(opened, stored.id, pairs):
            typer.secho(harmless(f"! {text}"), fg="yellow")
        for text in _placed(opened, stored, pairs):
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
        typer.echo("No item of this run matches.", err=True)
        raise typer.Exit(1)


def _replaced(opened: "Reader", run: str, pairs: "Sequence[tuple[str, BenchmarkConfig]]") -> "Iterator[str]":
    """Which subjects another model answered for, in the whole run."""
    from eqlab.core.answered_as import replaced

    names = opened.answered_as(run)
    for who in dict.fromkeys(who for who, _ in pairs):
        yield from replaced(who, names.get(who, {}))


def _placed(opened: "Reader", stored: "StoredRun", pairs: "Sequence[tuple[str, BenchmarkConfig]]") -> "Iterator[str]":
    """Where among people each subject stands, of benchmarks that people have taken: only these are scored for it."""
    from eqlab.benchmarks.registry import load
    from eqlab.core.benchmark import Normed
    from eqlab.core.text import percentile_sentence

    normed = [(who, asked) for who, asked in pairs if isinstance(load(asked.name), Normed)]
    if not normed:
        return
    from eqlab.runs.context import Known
    from eqlab.runs.score import result_of

    known = Known(opened)
    for who, asked in normed:
        found = result_of(known, (stored, who, asked))
        if found.percentile and found.norms:
            yield percentile_sentence(who.removeprefix("model:"), found.percentile, found.norms.source)


def _matches(
    opened: "Reader", run: str, pairs: "Sequence[tuple[str, BenchmarkConfig]]", items: "Sequence[str]", status: str
) -> "Iterator[Match]":
    from eqlab.benchmarks.registry import load
    from eqlab.core.benchmark import Talks

    trials = opened.trials_about(items) if items else None
    for who, asked in pairs:
        benchmark = load(asked.name)
        found = opened.scored(run, who, asked.name, trials=trials, status=status)
        for scored in talk_by_talk(found) if items and isinstance(benchmark, Talks) else found:
            if items and not set(items) & set(scored.trial.items):
                continue
            line = benchmark.item(scored, asked.options)
            if not status or (line.status or "unanswered") == status:
                yield who, asked.name, scored, line


def talk_by_talk(found: "Iterator[Scored]") -> "list[Scored]":
    """Turns in the order in which they were said; talks in the order in which they were planned."""
    turns = list(found)
    order: dict[tuple[str, int], int] = {}
    for one in turns:
        order.setdefault((one.trial.talk or one.trial.id, one.repeat), len(order))
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
    from eqlab.core.answered_as import spec_of
    from eqlab.core.runs import PEOPLE

    who, name, scored, line = match
    someone = scored.attempts[0].subject if who == PEOPLE and scored.attempts else who
    turn = f" · turn {scored.trial.turn + 1}" if scored.trial.talk else ""
    turn += f" · {scored.trial.seat}" if scored.trial.seat else ""
    print_rule(f"{someone.removeprefix('model:')} · {name} · item {line.item}{turn}")
    if prompt:
        print_text(scored.trial.stimulus if who == PEOPLE else scored.trial.prompt, dim=True)
    for attempt in scored.attempts:
        said = f" · answered as {attempt.model}" if attempt.model and attempt.model != spec_of(who) else ""
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
