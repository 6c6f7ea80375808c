"""Working on a run in the terminal: progress while it goes, then results, report and how to go on."""

import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from eqlab.cli.flags import check_report
from eqlab.cli.plain import end, next_step, pasteable

if TYPE_CHECKING:
    from eqlab.cli.money import Spending
    from eqlab.core.answers import Answer
    from eqlab.core.results import Result, Table
    from eqlab.runs.request import Prepared
    from eqlab.store.store import Store, StoredRun


_BRIEF = 70
"""Characters of an answer beside a bar."""


def work(
    prepared: "Prepared",
    store: "Store",
    *,
    concurrency: int,
    timeout: float,
    silence: float,
    patience: float,
    spending: "Spending",
    report: Path,
    as_json: bool,
    tables: int = 0,
    together: "Callable[[Store, StoredRun], Result | None] | None" = None,
    together_key: str = "panel",
    beside: "Callable[[Result], Sequence[Table]] | None" = None,
) -> None:
    """Start or continue a run and show what came of it, the first `tables` tables of each result included; `together`
    makes one more result of all subjects, `beside` more tables of each."""
    from eqlab.cli.money import print_usage, say_size
    from eqlab.cli.output import errors, harmless, print_json, print_table, say
    from eqlab.cli.results import print_conclusions, print_results, result_json, without_answers
    from eqlab.publish.ladder import conclusions
    from eqlab.publish.report.write import in_report, write_results
    from eqlab.runs.ask import Listener, run
    from eqlab.runs.parallel import cores, results_of

    check_report(report)
    out = errors()
    spending.look_up()
    say_size(prepared, store, spending, out)
    say_changed(prepared.changed, out)
    progress = Progress(out)
    with progress:
        if which := items_line(prepared):
            progress.say(which)
        listener = Listener(progress.say, progress.stored, progress.begun, progress.extended, progress.grown)
        outcome = run(
            prepared,
            store,
            concurrency=concurrency,
            timeout=timeout,
            silence=silence,
            patience=patience,
            limits=spending.limits,
            batch=spending.pace,
            mixed=spending.mixed,
            listener=listener,
        )
    if len(outcome.failures) == len(prepared.config.models) and not progress.heard:
        *others, last = outcome.failures.values()  # nothing was asked: there is nothing to show
        for other in others:
            out.print(harmless(pasteable(f"eqlab: {other}")), markup=False, style="red")
        raise last
    for subject, failure in outcome.failures.items():
        out.print(harmless(f"{_name(subject)} stopped: {failure}"), markup=False, style="red")
    for subject, lost in outcome.lost.items():
        out.print(harmless(f"{_name(subject)}: {lost}"), markup=False, style="red")
    stored = store.find_run(outcome.run)
    shown = None if as_json or beside else in_report([stored])
    ((_, results),) = scored = results_of(store, [stored], processes=cores(), in_full=shown)
    whole = together(store, stored) if together else None
    if beside:
        results = [replace(result, tables=(*beside(result), *result.tables)) for result in results]
    path = write_results([(stored, [*([whole] if whole else []), *results])], report)
    said, unusable = conclusions(scored), without_answers(results)
    if as_json:
        body: dict[str, Any] = {"run": outcome.run, "report": str(path), "conclusions": [one.data for one in said]}
        if whole:
            body[together_key] = result_json(whole)
        print_json({**body, "results": [result_json(result) for result in results]})
    else:
        if whole:
            say(f"{whole.sentence}\n", style="bold")  # all together come first
        print_conclusions(said)
        print_results(results, [conclusion.sentence for conclusion in said])
        print_usage(results)
        if whole:
            print_whole(whole)
        for table in (table for result in results for table in result.tables[:tables]):
            typer.echo("")
            print_table(table)
        say(f"\nRun {outcome.run} · item by item: eqlab runs show {outcome.run}")
        say(f"Report: {path.resolve()}")
        if not progress.heard and progress.planned and not outcome.failures:
            say("0 requests were sent: this run exists and is complete. --fresh asks again.")
        if not (outcome.failures or outcome.lost or outcome.interrupted or unusable):
            say(_next(outcome.run, prepared, results))
    for text in unusable:
        out.print(harmless(pasteable(text)), markup=False, style="red")
    failed = bool(outcome.failures or outcome.lost)
    end(interrupted=outcome.interrupted, failed=failed, unusable=bool(unusable), limit=outcome.limit)


def _next(run: str, prepared: "Prepared", found: "Sequence[Result]") -> str:
    from eqlab.core.benchmark import Rated
    from eqlab.core.runs import OWN

    rated = all(isinstance(asked.benchmark, Rated) for asked in prepared.asked.values())
    return next_step(
        run,
        [model.subject for model in prepared.config.models],
        own_items=any(config.item_set == OWN for config in prepared.config.benchmarks),
        to_be_rated=rated and all(result.headline.value is None for result in found),
    )


def items_line(prepared: "Prepared") -> str:
    """Which questions are asked, and how to get a study's own where the shipped ones stand in for them."""
    from eqlab.runs.request import ITEM_SETS

    named = [config for config in prepared.config.benchmarks if config.item_set in ITEM_SETS]
    get = f"; the published ones: eqlab data fetch {' '.join(prepared.missing)}" if prepared.missing else ""
    return f"Items: {', '.join(f'{config.name} {config.item_set}' for config in named)}{get}." if named else ""


def say_changed(names: Sequence[str], out: Any) -> None:
    """Published data that somebody changed are named, as `eqlab data verify` does."""
    for name in names:
        out.print(f"! changed: {name} is not as it was published.", markup=False, style="yellow")
    if names:
        out.print("! Scores are of the changed data; 'eqlab data fetch' gets the published ones.", style="yellow")


def print_whole(whole: "Result") -> None:
    """All subjects together, whose conclusion was said: what to know, and every table."""
    from eqlab.cli.output import print_table, say

    if whole.caveats:
        say("")
    for caveat in whole.caveats:
        say(f"! {caveat}", style="yellow")
    for table in whole.tables:
        typer.echo("")
        print_table(table)


class Progress:
    """A bar per subject on a terminal; plain lines elsewhere. Hears of an answer only after it is stored."""

    def __init__(self, out: Any) -> None:
        self._out = out
        self._bars: dict[str, Any] = {}
        self._done: dict[str, int] = {}
        self._totals: dict[str, int] = {}
        self._live = out.is_terminal
        self._full: set[str] = set()
        """Whose last trial was said to be answered; what comes then are further tries."""
        self._said_at = 0.0
        self.heard = 0
        """Answers stored in this session."""
        self._lock = threading.Lock()
        if self._live:
            from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
            from rich.progress import Progress as Bars

            self._progress = Bars(
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
        from eqlab.cli.plain import harmless

        with suppress(OSError):  # a log on a full disk is no reason not to ask
            self._out.print(harmless(pasteable(text)), markup=False)

    def begun(self, progress: dict[str, tuple[int, int]]) -> None:
        for subject, (done, total) in progress.items():
            name = _name(subject)
            self._done[subject], self._totals[subject] = done, total
            if done:
                self.say(f"{name}: {done} of {total} answered before; going on.")
            if self._live:
                self._bars[subject] = self._progress.add_task(name, total=total, completed=done, last="")
            else:
                self.say(f"{name}: {total - done} {'trial' if total - done == 1 else 'trials'} to ask.")

    @property
    def planned(self) -> int:
        return sum(self._totals.values())

    def extended(self, subject: str, total: int) -> None:
        """The next round of an adaptive run."""
        with self._lock:
            before, self._totals[subject] = self._totals[subject], total
            if self._live:
                self._lengthen(subject, total)
            else:
                self.say(f"{_name(subject)}: not sure enough yet; {total - before} more to ask.")

    def grown(self, subject: str, total: int) -> None:
        """A talk goes on."""
        with self._lock:
            self._totals[subject] = total
            if self._live:
                self._lengthen(subject, total)

    def _lengthen(self, subject: str, total: int) -> None:
        """`update` forgets the pace: in talks, which grow at every turn, the time left would never be known."""
        for task in self._progress.tasks:
            if task.id == self._bars[subject]:
                task.total = total

    def stored(self, answers: "Sequence[Answer]") -> None:
        with self._lock:
            self.heard += len(answers)
            for answer in answers:
                if answer.attempt == 1 and answer.answered:
                    self._done[answer.subject] += 1
            for subject, what in {answer.subject: _brief(answer) for answer in answers}.items():
                if self._live:
                    self._progress.update(self._bars[subject], completed=self._done[subject], last=what)
                    continue
                full = self._done[subject] >= self._totals[subject] and subject not in self._full
                self._full |= {subject} if full else set()
                if full or time.monotonic() - self._said_at > 5:
                    self._said_at = time.monotonic()
                    line = f"{_name(subject)}: {self._done[subject]} of {self._totals[subject]} answered; last: {what}"
                    self.say(line if len(line) <= self._out.width else line[: self._out.width - 2] + " …")


def _name(subject: str) -> str:
    return subject.removeprefix("model:")


def _brief(answer: "Answer") -> str:
    from eqlab.cli.plain import harmless

    if answer.status != "ok":
        return answer.status
    if any(isinstance(value, bool | str) for value in answer.values.values()):  # words, and what was noticed in them
        return _cut(harmless(" ".join(answer.text.split())))
    return _cut(harmless(", ".join(f"{key} {value}" for key, value in answer.values.items())).replace("\n", " "))


def _cut(text: str) -> str:
    return (text if len(text) <= _BRIEF else f"{text[: _BRIEF - 2].rstrip(' ,')} …").replace("[", "(")
