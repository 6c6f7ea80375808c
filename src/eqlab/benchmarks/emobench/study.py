"""EmoBench with people: the same scenarios, each asked once, in one language."""

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean
from typing import Any

from eqlab.benchmarks.common.marks import guessed_share
from eqlab.benchmarks.common.people import Knowers, instructed, knows, template
from eqlab.benchmarks.common.selection import balanced_batches, spread
from eqlab.benchmarks.emobench.items import (
    QUESTIONS,
    EmoBenchOptions,
    Scenario,
    build_trial,
    chosen_scenarios,
    question,
)
from eqlab.benchmarks.emobench.result import result
from eqlab.core.design import Batch, Design
from eqlab.core.errors import UsageError
from eqlab.core.forms import Form
from eqlab.core.runs import PEOPLE
from eqlab.core.studied import Analysed, PeopleResult, Recovered, StudyForm, StudyPages, Truth
from eqlab.core.study import Study
from eqlab.core.trials import Trial

ARM = "scenarios"
_ORDERS = 4
_PEOPLE = 20_000
"""Simulated people, to know the score that a truth is worth."""


WORDS: Mapping[str, str] = QUESTIONS["en"]


@dataclass(frozen=True, slots=True)
class EmoBenchStudy:
    words: Mapping[str, str] = field(default_factory=lambda: WORDS)

    def in_words(self, words: Mapping[str, str]) -> "EmoBenchStudy":
        return replace(self, words={**self.words, **words})

    def form(self) -> StudyForm:
        return StudyForm(
            "emobench",
            "emobench",
            "people take EmoBench",
            template("eqlab.benchmarks.emobench"),
            0.7,
            "share of scenarios that the middle person knows; the others are guessed",
            not_for_people=(
                ("reasoning", "yes", "people are not asked to write (delete the line)"),
                ("language", "both", "a person is asked in one language (write en or zh)"),
            ),
        )

    def pages(self, study: Study, files: Mapping[str, bytes], options: Mapping[str, Any]) -> StudyPages:
        """Scenarios dealt by seed into batches of all categories; the orders of choices take turns."""
        typed = EmoBenchOptions.of(options)
        scenarios = chosen_scenarios(files, typed)
        chosen = spread(scenarios, study.limit or len(scenarios))
        trials = [self._page(one, typed, study.seed, place % _ORDERS) for place, one in enumerate(chosen)]
        groups = [one.category for one in chosen]
        dealt = balanced_batches(trials, groups, study.places.batch_size, study.seed)
        batches = tuple(Batch(ARM, number, tuple(own)) for number, own in enumerate(dealt))
        scale = batches[0].trials[0].form.scales[0]
        return StudyPages(batches, instructed(study.checks, scale, tuple(range(scale.low, scale.high + 1))))

    def _page(self, scenario: Scenario, options: EmoBenchOptions, seed: int, order: int) -> Trial:
        """Questions in the study's language; the scenario keeps its own."""
        trial = build_trial(scenario, options, seed, order)
        if self.words == WORDS:
            return trial
        asked = [replace(one, text=question(scenario, one.key, self.words)) for one in trial.form.scales]
        return replace(trial, form=Form(tuple(asked)), id="")

    def warnings(self, design: Design) -> Iterable[str]:
        return ()

    def simulated(self, design: Design, truth: Truth, seed: int) -> Knowers:
        if not 0 < truth.effect < 1:
            raise UsageError(f"{truth.effect:g} is not a share of scenarios.", "Put in a number between 0 and 1.")
        trials = [trial for batch in design.batches for trial in batch.trials]
        return Knowers(truth, {trial.id: trial.key["correct"] for trial in trials})

    def result(self, design: Design, people: Analysed) -> PeopleResult:
        (asked,) = design.run.benchmarks
        return PeopleResult(result(PEOPLE, people.scored, asked.options))

    def recovered(self, design: Design, truth: Truth, found: PeopleResult) -> Sequence[Recovered]:
        headline = found.result.headline
        if headline.value is None:
            return ()
        return (Recovered(headline.name, expected_score(design, truth), headline, null=None),)


def expected_score(design: Design, truth: Truth) -> float:
    """What such people get on average: a batch is as likely as another, and what is not known is guessed."""
    draw = random.Random("expected score")
    known = fmean(knows(truth, draw) for _ in range(_PEOPLE))
    guessed = fmean(fmean(guessed_share(trial) for trial in batch.trials) for batch in design.batches)
    return 100 * (known + (1 - known) * guessed)
