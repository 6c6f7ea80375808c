"""Ratings as a benchmark: its items are other subjects' replies, its subjects judges or people. A judge's run is
started by `eqlab judge`, people's ratings come from a file or from a web study; `eqlab run` never asks it."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from eqlab.benchmarks.options import read_options
from eqlab.benchmarks.rating.parse import read_rating
from eqlab.benchmarks.rating.prompt import prompt_sha256
from eqlab.benchmarks.rating.rated import item_of, rated
from eqlab.benchmarks.rating.reply_rows import FILE, from_jsonl
from eqlab.benchmarks.rating.trials import plan
from eqlab.core.answers import Reading
from eqlab.core.benchmark import NO_CONTEXT, Asking, Context, OptionHelp, Scored, Selection, Source
from eqlab.core.errors import UsageError
from eqlab.core.results import ItemScore, Result
from eqlab.core.runs import PEOPLE
from eqlab.core.trials import Trial

PURPOSES = ("judging", "calibration", "people")
_OPTIONS = (
    OptionHelp("pairwise", "no", "two replies at a time, in both orders", ("yes", "no")),
    OptionHelp("purpose", "judging", "what the ratings are for", PURPOSES),
)
_TRIES, _TEMPERATURE_STEP, _TOKENS = 3, 0.15, 256


class Ratings:
    name = "rating"
    title = "Ratings"
    protocol = 1

    def option_help(self) -> Sequence[OptionHelp]:
        return _OPTIONS

    def options(self, item_set: str, given: Mapping[str, str]) -> Mapping[str, Any]:
        options = read_options(self.name, _OPTIONS, given)
        return {**options, "prompt_sha256": prompt_sha256(pairwise=options["pairwise"]), "item_set": item_set}

    def sources(self, item_set: str, options: Mapping[str, Any]) -> Sequence[Source]:
        raise UsageError("Ratings need replies to rate.", "Start a judge with 'eqlab judge MODEL --on RUN'.")

    def plan(
        self, files: Mapping[str, bytes], options: Mapping[str, Any], selection: Selection
    ) -> Iterator[tuple[Trial, int]]:
        return plan(from_jsonl(files[FILE]), options, selection)

    def asking(self, trial: Trial, options: Mapping[str, Any]) -> Asking:
        """Temperature 0: a judge's rating should not hang on a die. Raised only after a reply that was no rating."""
        return Asking(_TRIES, 0.0, _TEMPERATURE_STEP, _TOKENS)

    def read(self, trial: Trial, text: str, options: Mapping[str, Any]) -> Reading:
        return read_rating(trial, text)

    def score(
        self, subject: str, scored: Iterable[Scored], options: Mapping[str, Any], context: Context = NO_CONTEXT
    ) -> Result:
        if context.model is None or subject == PEOPLE:
            from eqlab.benchmarks.rating.result import result

            return result(subject, scored, options)
        from eqlab.benchmarks.rating.known import judged

        return judged(context.model, scored, options, context)

    def item(self, scored: Scored, options: Mapping[str, Any]) -> ItemScore:
        return item_of(rated([scored])[0])
