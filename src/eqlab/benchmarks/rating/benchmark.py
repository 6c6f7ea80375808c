"""Ratings as a benchmark: its items are other subjects' replies, its subjects judges or people. A judge's run is
started by `eqlab judge`, people's ratings come from a file or from a web study; `eqlab run` never asks it."""

import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from eqlab.benchmarks.rating.prompt import prompt_sha256
from eqlab.benchmarks.rating.rated import item_of, rated
from eqlab.benchmarks.rating.read import read_scales
from eqlab.benchmarks.rating.reply_rows import FILE, choose, from_jsonl
from eqlab.benchmarks.rating.trials import RatingOptions, designed, is_published, judged, pairs
from eqlab.core.answers import Reading
from eqlab.core.benchmark import NO_CONTEXT, Asking, Context, OptionHelp, Scored, Selection, Source
from eqlab.core.errors import UsageError
from eqlab.core.results import ItemScore, Result
from eqlab.core.rubric import Rubric, from_json
from eqlab.core.runs import PEOPLE
from eqlab.core.trials import Trial
from eqlab.data.items import PUBLISHED, shipped

RUBRIC_FILE = "rubric.json"
_TRIES, _TEMPERATURE_STEP, _TOKENS, _A_SCALE = 3, 0.15, 256, 64
"""Tokens: room for a reply, and for each scale of a long rubric, for judges who add a word of why."""


class Ratings:
    name = "rating"
    title = "Ratings"
    protocol = 1
    item_sets = ("replies", "published", "imported")
    way_out = "Start a judge with 'eqlab judge MODEL --on RUN'."

    def option_help(self) -> Sequence[OptionHelp]:
        return RatingOptions.help()

    def options(self, item_set: str, given: Mapping[str, str]) -> Mapping[str, Any]:
        return with_rubric(RatingOptions.read(self.name, item_set, given).plain(), shipped(PUBLISHED))

    def sources(self, item_set: str, options: Mapping[str, Any]) -> Sequence[Source]:
        raise UsageError("Ratings need replies to rate.", self.way_out)

    def plan(
        self, files: Mapping[str, bytes], options: Mapping[str, Any], selection: Selection
    ) -> Iterator[tuple[Trial, int]]:
        """In a shuffled order, so that no rater sees one arm after the other."""
        typed = RatingOptions.of(options)
        rubric, rows = rubric_of(files, typed), choose(from_jsonl(files[FILE]), selection.limit, selection.seed)
        if not typed.pairwise:
            trials = [judged(row, rubric, selection) for row in rows]
        elif typed.adaptive:
            from eqlab.benchmarks.rating.strengths import first_round

            trials = first_round(rows, rubric, typed, selection)
        else:
            trials = pairs(rows, rubric, selection, designed(rows, typed))
        random.Random(selection.seed).shuffle(trials)
        for repeat in range(selection.repeats or 1):
            for trial in trials:
                yield trial, repeat

    def more(
        self,
        files: Mapping[str, bytes],
        options: Mapping[str, Any],
        selection: Selection,
        scored: Iterable[Scored],
    ) -> Sequence[tuple[Trial, int]]:
        """The pairs to ask next, where they are chosen by what is known."""
        typed = RatingOptions.of(options)
        if not typed.adaptive:
            return ()
        from eqlab.benchmarks.rating.strengths import next_round

        return next_round(from_jsonl(files[FILE]), rubric_of(files, typed), typed, selection, rated(scored))

    def asking(self, trial: Trial, options: Mapping[str, Any]) -> Asking:
        """Temperature 0: a judge's rating should not hang on a die. Raised only after a reply that was no rating."""
        return Asking(_TRIES, 0.0, _TEMPERATURE_STEP, max(_TOKENS, _A_SCALE * len(trial.form.scales)))

    def read(self, trial: Trial, text: str, options: Mapping[str, Any]) -> Reading:
        return read_scales(trial, text)

    def score(
        self, subject: str, scored: Iterable[Scored], options: Mapping[str, Any], context: Context = NO_CONTEXT
    ) -> Result:
        from eqlab.benchmarks.rating.score import judged_beside_people, result

        if context.model is None or subject == PEOPLE:
            return result(subject, rated(scored), options)
        return judged_beside_people(context.model, scored, options, context)

    def item(self, scored: Scored, options: Mapping[str, Any]) -> ItemScore:
        (rating,) = rated([scored])
        return item_of(rating)


def with_rubric(options: Mapping[str, Any], rubric: Rubric) -> dict[str, Any]:
    """A run's options under a rubric. The published one is told by the hash of its prompt alone, as it was before there
    were others."""
    hashed = {**options, "prompt_sha256": prompt_sha256(rubric, pairwise=options["pairwise"])}
    if is_published(rubric):
        return hashed
    return {**hashed, "rubric": rubric.name, "rubric_title": rubric.title, "rubric_sha256": rubric.sha256}


def rubric_of(files: Mapping[str, bytes], options: RatingOptions) -> Rubric:
    """The rubric that a run is asked with."""
    if RUBRIC_FILE not in files:
        return shipped(PUBLISHED)
    return from_json(files[RUBRIC_FILE].decode(), options.rubric, options.rubric_title)
