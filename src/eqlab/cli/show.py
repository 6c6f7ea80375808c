"""`eqlab show`: a run item by item, in the subjects' own words."""

from typing import Annotated

import typer

from eqlab.cli.flags import JsonFlag, StoreFlag


def show(
    run: Annotated[str, typer.Argument(help="Run id, its beginning, or `last`.")] = "last",
    item: Annotated[list[str] | None, typer.Option("--item", help="Only this item; may be repeated.")] = None,
    subject: Annotated[str, typer.Option(help="Only subjects whose name contains this.")] = "",
    status: Annotated[str, typer.Option(help="Only ok, unparseable, refused, error or unanswered.")] = "",
    limit: Annotated[int, typer.Option(min=1, help="At most N items.")] = 20,
    prompt: Annotated[bool, typer.Option("--prompt/--no-prompt", help="Show the prompt too.")] = True,
    store: StoreFlag = "",
    as_json: JsonFlag = False,
) -> None:
    """Show a run item by item: prompt, every raw reply, parsed values, score."""
    from eqlab import api
    from eqlab.benchmarks.registry import load
    from eqlab.cli.output import console, harmless, print_json
    from eqlab.core.errors import UsageError
    from eqlab.core.runs import PEOPLE

    known = ("ok", "unparseable", "refused", "error", "unanswered")
    if status and status not in known:
        raise UsageError(f"--status '{status}' is unknown.", f"Choose {', '.join(known)}.")
    opened = api.open_store(store)
    stored = opened.find_run(run)
    out = console()
    shown: list[dict[str, object]] = []
    matching = 0
    for who, asked in stored.config.pairs():
        if subject and subject not in who:
            continue
        name, benchmark = asked.name, load(asked.name)
        for scored in opened.scored(stored.id, who, name):
            if item and not set(item) & set(scored.trial.items):
                continue
            line = benchmark.item(scored, asked.options)
            if status and (line.status or "unanswered") != status:
                continue
            matching += 1
            if matching > limit:
                continue
            if as_json:
                attempts = [
                    {"attempt": a.attempt, "status": a.status, "text": a.text, "reasoning": a.reasoning, "note": a.note}
                    for a in scored.attempts
                ]
                head = {"subject": who, "benchmark": name, "prompt": scored.trial.prompt, "attempts": attempts}
                shown.append(
                    {
                        **head,
                        **{key: getattr(line, key) for key in ("item", "repeat", "status", "score")},
                        "values": dict(line.values),
                        "reference": dict(line.reference),
                    }
                )
                continue
            someone = scored.attempts[0].subject if who == PEOPLE and scored.attempts else who
            out.rule(f"{harmless(someone.removeprefix('model:'))} · {name} · item {harmless(line.item)}", style="dim")
            if prompt:
                seen = scored.trial.stimulus if who == PEOPLE else scored.trial.prompt
                out.print(harmless(seen), markup=False, style="dim")
            for attempt in scored.attempts:
                out.print(f"\nreply {attempt.attempt} ({attempt.status})", style="bold")
                if attempt.reasoning:
                    out.print(f"(reasoning of {len(attempt.reasoning)} characters, not parsed)", style="dim")
                out.print(harmless(attempt.text or attempt.note), markup=False)
            values = ", ".join(
                f"{key} {value} (reference {line.reference[key]:g})" if key in line.reference else f"{key} {value}"
                for key, value in line.values.items()
            )
            score = "" if line.score is None else f"\nscore: {line.score:.2f}"
            out.print(f"\nread: {harmless(values) or 'nothing'}{score}\n", markup=False)
    if as_json:
        print_json(shown)
    elif matching > limit:
        typer.echo(f"{matching - limit} more; raise --limit, or choose with --item or --status.", err=True)
    elif not matching:
        typer.echo("No item of this run matches.", err=True)
