"""`eqlab run`: ask models, show progress, print the result, write the report."""

import shlex
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from eqlab.cli.flags import DataFlag, JsonFlag, StoreFlag, read_pairs, read_settings

if TYPE_CHECKING:
    from eqlab.core.answers import Answer


def run(
    models: Annotated[
        list[str] | None,
        typer.Argument(metavar="[MODEL]…", help="`embedded` (default), `gguf:PATH` or `provider/name`."),
    ] = None,
    benchmark: Annotated[
        list[str] | None, typer.Option("-b", "--benchmark", help="Benchmark; may be repeated.")
    ] = None,
    items: Annotated[str, typer.Option(help="`open` (shipped) or `published` (the studies' own).")] = "open",
    profile: Annotated[str, typer.Option(help="`quick` (a few items) or `full` (all).")] = "quick",
    limit: Annotated[int | None, typer.Option(min=1, help="At most N items.")] = None,
    repeats: Annotated[int | None, typer.Option(min=1, help="Ask every trial N times.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of orders and of sampling.")] = 0,
    max_concurrency: Annotated[int, typer.Option(min=1, help="Requests to one endpoint at once, at most.")] = 16,
    base_url: Annotated[str, typer.Option(metavar="URL", help="Any server with the OpenAI-compatible chat API.")] = "",
    setting: Annotated[
        list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="Model setting, e.g. temperature=0.")
    ] = None,
    option: Annotated[
        list[str] | None,
        typer.Option("-o", "--option", metavar="NAME=VALUE", help="Benchmark option; see `eqlab benchmarks`."),
    ] = None,
    situations: Annotated[
        str,
        typer.Option(help="Published EmotionBench situations: `tested` (175) or `all` (428).", show_default="tested"),
    ] = "",
    structured: Annotated[
        bool | None,
        typer.Option(
            "--structured/--free-text",
            show_default="structured for embedded, else free text",
            help="Ask for the form as JSON under a schema.",
        ),
    ] = None,
    timeout: Annotated[float, typer.Option(min=1.0, help="Seconds until a request counts as lost.")] = 120.0,
    report: Annotated[Path | None, typer.Option(metavar="FILE", help="Where the HTML report goes.")] = None,
    store: StoreFlag = "",
    data: DataFlag = None,
    as_json: JsonFlag = False,
) -> None:
    """Ask models the trials of one or more benchmarks.

    Answers are stored as they arrive. The same command again continues a stopped run and asks nothing twice."""
    from eqlab import api
    from eqlab.benchmarks.registry import names
    from eqlab.cli.output import errors, print_json, print_results, result_json
    from eqlab.core.errors import UsageError

    for name, value, allowed in (("items", items, ("open", "published")), ("profile", profile, ("quick", "full"))):
        if value not in allowed:
            raise UsageError(f"--{name} '{value}' is unknown.", f"Choose {' or '.join(allowed)}.")
    prepared = api.prepare(
        api.Request(
            models=tuple(models or ["embedded"]),
            benchmarks=tuple(benchmark or names()),
            items=items,
            profile=profile,
            limit=limit,
            repeats=repeats,
            seed=seed,
            base_url=base_url,
            structured=structured,
            settings=read_settings(setting or []),
            options=read_pairs("--option", option or []) | ({"situations": situations} if situations else {}),
            data=data,
        )
    )
    opened = api.open_store(store)
    out = errors()
    run_id = prepared.config.id
    progress = _Progress(out)
    with progress:
        outcome = api.run(
            prepared,
            opened,
            concurrency=max_concurrency,
            timeout=timeout,
            listener=api.Listener(progress.say, progress.stored, progress.begun),
        )
    if len(outcome.failures) == len(prepared.config.models) and not progress.heard:
        raise next(iter(outcome.failures.values()))  # nothing was asked: there is nothing to show
    again = f"To go on, run the same command again:\n  {shlex.join(['eqlab', *sys.argv[1:]])}"
    for subject, failure in outcome.failures.items():
        out.print(f"[red]{subject.removeprefix('model:')} stopped:[/] {failure}", markup=True)
    stored = opened.find_run(run_id)
    found = api.results(opened, stored)
    path = api.write_report(opened, [stored], report or Path("eqlab-report.html"))
    if as_json:
        print_json({"run": run_id, "report": str(path), "results": [result_json(result) for result in found]})
    else:
        print_results(found)
        typer.echo(f"\nRun {run_id} · item by item: eqlab show {run_id}")
        typer.echo(f"Report: {path.resolve()}")
    opened.close()
    if outcome.interrupted:
        typer.echo(f"\nStopped early; every answer so far is stored. {again}", err=True)
        raise typer.Exit(130)
    if outcome.failures:
        typer.echo(again, err=True)
        raise typer.Exit(1)


class _Progress:
    """A bar per model on a terminal; plain lines elsewhere. Hears of an answer only after it is stored."""

    def __init__(self, out: Any) -> None:
        self._out = out
        self._bars: dict[str, Any] = {}
        self._done: dict[str, int] = {}
        self._totals: dict[str, int] = {}
        self._live = out.is_terminal
        self._said_at = 0.0
        self.heard = 0
        """Answers stored in this session."""
        self._lock = threading.Lock()
        if self._live:
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

            self._progress = Progress(
                TextColumn("{task.description}"),
                BarColumn(),
                MofNCompleteColumn(),
                TimeRemainingColumn(),
                TextColumn("{task.fields[last]}"),
                console=out,
            )

    def __enter__(self) -> None:
        if self._live:
            self._progress.start()

    def __exit__(self, *_: object) -> None:
        if self._live:
            self._progress.stop()

    def say(self, text: str) -> None:
        self._out.print(text)

    def begun(self, progress: dict[str, tuple[int, int]]) -> None:
        for subject, (done, total) in progress.items():
            name = subject.removeprefix("model:")
            self._done[subject], self._totals[subject] = done, total
            if done:
                self.say(f"{name}: {done} of {total} answered before; going on.")
            if self._live:
                self._bars[subject] = self._progress.add_task(name, total=total, completed=done, last="")
            else:
                self.say(f"{name}: {total - done} trials to ask.")

    def stored(self, answers: "Sequence[Answer]") -> None:
        with self._lock:
            self.heard += len(answers)
            for answer in answers:
                if answer.attempt == 1 and answer.answered:
                    self._done[answer.subject] += 1
            last = answers[-1]
            what = _brief(last)
            for subject in {answer.subject for answer in answers}:
                if self._live:
                    self._progress.update(self._bars[subject], completed=self._done[subject], last=what)
                    continue
                full = self._done[subject] >= self._totals[subject]
                if full or time.monotonic() - self._said_at > 5:
                    self._said_at = time.monotonic()
                    name = subject.removeprefix("model:")
                    self.say(f"{name}: {self._done[subject]} of {self._totals[subject]} answered; last: {what}")


def _brief(answer: "Answer") -> str:
    from eqlab.cli.output import harmless

    if answer.status != "ok":
        return answer.status
    values = ", ".join(f"{key} {value}" for key, value in answer.values.items())
    return harmless(values)[:70].replace("[", "(")
