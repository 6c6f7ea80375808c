"""EQ-Bench with people: dialogues, each with four emotions to rate from 0 to 10, asked once."""

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean
from typing import Any

from eqlab.benchmarks.common.people import instructed, template
from eqlab.benchmarks.common.selection import balanced_batches, spread
from eqlab.benchmarks.eqbench.benchmark import EqBench, questions_of
from eqlab.benchmarks.eqbench.items import Question
from eqlab.benchmarks.eqbench.score import PRESETS, EqBenchOptions, item_score
from eqlab.benchmarks.eqbench.trials import build_trial
from eqlab.core.design import Batch, Design
from eqlab.core.forms import Form
from eqlab.core.runs import PEOPLE
from eqlab.core.studied import Analysed, PeopleResult, Recovered, StudyForm, StudyPages, Truth
from eqlab.core.study import Study
from eqlab.core.trials import Trial

ARM = "dialogues"
_DRAWS = 300
"""Simulated readings of each dialogue, to know the score that a noise is worth."""


WORDS: Mapping[str, str] = {
    "asks": "How strongly does {character} feel each of these at the end?",
    "not_at_all": "not at all",
    "most": "as strongly as anyone can",
}
"""Around our own items; published questions ask in their own words."""


@dataclass(frozen=True, slots=True)
class EqBenchStudy:
    words: Mapping[str, str] = field(default_factory=lambda: WORDS)

    def in_words(self, words: Mapping[str, str]) -> "EqBenchStudy":
        return replace(self, words={**self.words, **words})

    def form(self) -> StudyForm:
        return StudyForm(
            "eqbench",
            "eqbench",
            "people take EQ-Bench",
            template("eqlab.benchmarks.eqbench"),
            1.5,
            "SD of people's error around the references, in points of the scale",
            not_for_people=(("revision", "yes", "people are asked once (delete the line)"),),
        )

    def pages(self, study: Study, files: Mapping[str, bytes], options: Mapping[str, Any]) -> StudyPages:
        """Dialogues dealt by seed into batches whose sizes differ by one at most."""
        typed = EqBenchOptions.of(options)
        questions = questions_of(files, typed)
        chosen = spread(questions, study.limit or len(questions))
        trials = [self._page(question, typed) for question in chosen]
        dealt = balanced_batches(trials, [""] * len(trials), study.places.batch_size, study.seed)
        batches = tuple(Batch(ARM, number, tuple(own)) for number, own in enumerate(dealt))
        return StudyPages(batches, instructed(study.checks, batches[0].trials[0].form.scales[0], (3, 7, 1, 9)))

    def _page(self, question: Question, options: EqBenchOptions) -> Trial:
        trial = build_trial(question, options, structured=False)
        if self.words == WORDS:
            return trial
        ends = ((0, self.words["not_at_all"]), (10, self.words["most"]))
        asks = question.asks or self.words["asks"].format(character=question.character)
        form = Form(tuple(replace(scale, anchors=ends) for scale in trial.form.scales))
        return replace(trial, stimulus=f"{question.dialogue}\n\n{asks}", form=form, id="")

    def warnings(self, design: Design) -> Iterable[str]:
        return ()

    def simulated(self, design: Design, truth: Truth, seed: int) -> "Readers":
        return Readers(truth)

    def result(self, design: Design, people: Analysed) -> PeopleResult:
        (asked,) = design.run.benchmarks
        return PeopleResult(EqBench().score(PEOPLE, people.scored, asked.options))

    def recovered(self, design: Design, truth: Truth, found: PeopleResult) -> Sequence[Recovered]:
        headline = found.result.headline
        if headline.value is None:
            return ()
        (asked,) = design.run.benchmarks
        typed = EqBenchOptions.of(asked.options)
        expected = expected_score(design, truth, typed.version, typed.rules)
        return (Recovered(headline.name, expected, headline, null=None),)


@dataclass(frozen=True, slots=True)
class Readers:
    """People who read each emotion with a normal error around its reference."""

    truth: Truth

    def person(self, draw: random.Random) -> None:
        return None

    def answer(self, person: Any, trial: Trial, draw: random.Random) -> Mapping[str, Any]:
        reference = trial.key["reference"]
        return {
            scale.key: min(max(round(reference[scale.key] + draw.gauss(0.0, self.truth.effect)), scale.low), scale.high)
            for scale in trial.form.scales
        }


def expected_score(design: Design, truth: Truth, version: str, rules: str) -> float:
    """The score that readers with this noise get on average on these dialogues, by simulation."""
    readers, draw = Readers(truth), random.Random("expected score")
    means = []
    for batch in design.batches:
        own = []
        for trial in batch.trials:
            draws = (
                item_score(readers.answer(None, trial, draw), trial.key["reference"], version, PRESETS[rules])
                for _ in range(_DRAWS)
            )
            own += [value for value in draws if value is not None]
        means.append(10 * fmean(own))
    return fmean(means)
