"""EmoBench as a benchmark: its options, its files, and the steps in their order."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from eqlab.benchmarks.common.choices import read_choices
from eqlab.benchmarks.emobench.items import (
    APPLICATION_FILE,
    OPEN,
    UNDERSTANDING_FILE,
    EmoBenchOptions,
    chosen_scenarios,
    plan,
)
from eqlab.core.answers import Reading
from eqlab.core.benchmark import NO_CONTEXT, Asking, Context, OptionHelp, Scored, Selection, Source
from eqlab.core.errors import UsageError
from eqlab.core.results import ItemScore, Result
from eqlab.core.runs import OWN
from eqlab.core.trials import Trial

if TYPE_CHECKING:
    from eqlab.core.studied import StudyKind

_TRIES, _TEMPERATURE_STEP, _TOKENS, _ROOM_TO_THINK = 3, 0.15, 64, 1024


class EmoBench:
    name = "emobench"
    title = "EmoBench"
    open_title = "EQ Lab open choices"
    protocol = 1
    item_sets = ("published", "open", OWN)

    def option_help(self) -> Sequence[OptionHelp]:
        return EmoBenchOptions.help()

    def options(self, item_set: str, given: Mapping[str, str]) -> Mapping[str, Any]:
        options = EmoBenchOptions.read(self.name, item_set, given)
        if item_set == "open" and options.language != "en":
            raise UsageError("The open scenarios are English.", "Add '--items published' for Chinese ones.")
        return options.plain()

    def sources(self, item_set: str, options: Mapping[str, Any]) -> Sequence[Source]:
        if item_set != "published":
            return (Source("open", OPEN),) if item_set == "open" else ()
        typed = EmoBenchOptions.of(options)
        files = {"understanding": UNDERSTANDING_FILE, "application": APPLICATION_FILE}
        return tuple(Source("published", path) for task, path in files.items() if typed.task in ("both", task))

    def plan(
        self, files: Mapping[str, bytes], options: Mapping[str, Any], selection: Selection
    ) -> Iterator[tuple[Trial, int]]:
        typed = EmoBenchOptions.of(options)
        return plan(chosen_scenarios(files, typed), typed, selection)

    def asking(self, trial: Trial, options: Mapping[str, Any]) -> Asking:
        """Temperature 0: what varies is the order. Raised only after a reply that could not be read."""
        room = _ROOM_TO_THINK if EmoBenchOptions.of(options).reasoning and trial.mode == "text" else _TOKENS
        return Asking(_TRIES, 0.0, _TEMPERATURE_STEP, room)

    def read(self, trial: Trial, text: str, options: Mapping[str, Any]) -> Reading:
        return read_choices(text, trial)

    def score(
        self, subject: str, scored: Iterable[Scored], options: Mapping[str, Any], context: Context = NO_CONTEXT
    ) -> Result:
        from eqlab.benchmarks.emobench.result import result

        return result(subject, scored, options)

    def item(self, scored: Scored, options: Mapping[str, Any]) -> ItemScore:
        from eqlab.benchmarks.common.marks import mark
        from eqlab.benchmarks.emobench.result import shown

        return shown(mark(scored))

    def study(self) -> "StudyKind":
        from eqlab.benchmarks.emobench.study import EmoBenchStudy

        return EmoBenchStudy()

    def probe_options(self) -> Mapping[str, str]:
        return {}

    def texts(self, files: Mapping[str, bytes], options: Mapping[str, Any]) -> Mapping[str, str]:
        return {scenario.id: scenario.text for scenario in chosen_scenarios(files, EmoBenchOptions.of(options))}
