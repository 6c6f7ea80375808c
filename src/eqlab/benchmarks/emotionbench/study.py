"""Evoked: a person fills in a mood questionnaire, imagines a situation and fills it in again. Every person has an item
order of their own, so every place is a batch; in rounds, so that all situations have one person before any has two."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from eqlab.benchmarks.common.people import template
from eqlab.benchmarks.emotionbench.benchmark import EmotionBench
from eqlab.benchmarks.emotionbench.hypothesis import hypothesis, hypothesis_table, hypothesis_words
from eqlab.benchmarks.emotionbench.items import Situation
from eqlab.benchmarks.emotionbench.people_paired import pair
from eqlab.benchmarks.emotionbench.prompt import WORDS as ASKED
from eqlab.benchmarks.emotionbench.prompt import asks, stimulus
from eqlab.benchmarks.emotionbench.score import administrations
from eqlab.benchmarks.emotionbench.simulated_people import Moods
from eqlab.benchmarks.emotionbench.trials import Material, build_trial, select
from eqlab.benchmarks.instructed import instructed
from eqlab.core.benchmark import Selection
from eqlab.core.design import Batch, Design
from eqlab.core.forms import Form, Scale
from eqlab.core.runs import PEOPLE
from eqlab.core.studied import Analysed, PeopleResult, Recovered, StudyForm, StudyPages, Truth, recovered_contrast
from eqlab.core.study import Study
from eqlab.core.trials import Trial
from eqlab.instruments.catalogue import PANAS
from eqlab.instruments.wording import own_wording, scales

_OURS = scales(PANAS, wording) if (wording := own_wording(PANAS)) else ()
WORDS: Mapping[str, str] = {
    **ASKED,
    **{f"answer_{value}": label for value, label in (_OURS[0].anchors if _OURS else ())},
    **{f"feeling_{scale.key}": scale.text for scale in _OURS},
}
"""What is asked, and our own wording of the PANAS; other questionnaires keep the words of their file."""


@dataclass(frozen=True, slots=True)
class EvokedStudy:
    words: Mapping[str, str] = field(default_factory=lambda: WORDS)

    def in_words(self, words: Mapping[str, str]) -> "EvokedStudy":
        return replace(self, words={**self.words, **words})

    def form(self) -> StudyForm:
        return StudyForm(
            "evoked",
            "emotionbench",
            "mood before a situation and in it",
            template("eqlab.benchmarks.emotionbench"),
            5.0,
            "points of Negative Affect that a negative situation adds",
            arms_by=("factor", "emotion"),
            batch_size=False,
        )

    def pages(self, study: Study, files: Mapping[str, bytes], options: Mapping[str, Any]) -> StudyPages:
        """Two trials each: the questionnaire now, and in the situation."""
        material = EmotionBench().material(files, options)
        selection = Selection(limit=study.limit, seed=study.seed)
        situations = select(material.situations, selection)
        numbers: dict[str, int] = {}
        found: list[Batch] = []
        for turn in range(study.places.people_per_batch):
            for situation in situations:
                arm = arm_of(study, situation)
                numbers[arm] = number = numbers.get(arm, -1) + 1
                pages = tuple(self._page(material, one, len(found), selection) for one in (None, situation))
                found.append(Batch(arm, number, pages, turn))
        (scale, *_) = self._translated(scales(material.instrument, material.wording), material)
        answers = tuple(range(scale.low + 1, scale.high)) or (scale.high, scale.low)
        return StudyPages(tuple(found), instructed(study.checks, scale, answers), in_order=True, people_per_batch=1)

    def _page(self, material: Material, situation: Situation | None, place: int, selection: Selection) -> Trial:
        """A benchmark's trial that says above the form what a model's prompt says around it."""
        trial = build_trial(material, situation, place, selection)
        question = asks(material.instrument, len(trial.form.scales), evoked=situation is not None, words=self.words)
        told = stimulus(situation.text if situation else None, self.words)
        form = Form(self._translated(trial.form.scales, material))
        return replace(trial, stimulus=f"{told}\n\n{question}".strip(), form=form, id="")

    def _translated(self, asked: Sequence[Scale], material: Material) -> tuple[Scale, ...]:
        """The PANAS in the study's language, where its wording is ours."""
        if self.words == WORDS or material.wording != own_wording(PANAS):
            return tuple(asked)
        labels = tuple((value, self.words[f"answer_{value}"]) for value in range(PANAS.low, PANAS.high + 1))
        return tuple(replace(one, text=self.words[f"feeling_{one.key}"], anchors=labels) for one in asked)

    def warnings(self, design: Design) -> Iterable[str]:
        if self.words != WORDS:
            yield "The feelings of the PANAS are our own translation, no validated one: compare changes, not levels."

    def simulated(self, design: Design, truth: Truth, seed: int) -> Moods:
        return Moods(design, truth)

    def result(self, design: Design, people: Analysed) -> PeopleResult:
        (asked,) = design.run.benchmarks
        plan = design.study.analysis
        found = EmotionBench().score(PEOPLE, people.scored, asked.options)
        if not plan.reference:
            return PeopleResult(found)
        arms = {trial.items[0]: batch.arm for batch in design.batches for trial in batch.trials}
        contrasts, why = hypothesis(pair(administrations(people.scored)), arms, plan.reference, plan.alpha)
        said = f"{hypothesis_words(contrasts, why, plan.alpha)} {found.sentence}"
        return PeopleResult(replace(found, sentence=said), contrasts, (hypothesis_table(contrasts, why, plan.alpha),))

    def recovered(self, design: Design, truth: Truth, found: PeopleResult) -> Sequence[Recovered]:
        return (
            *(
                Recovered("change in Negative Affect, negative situations", truth.effect, one)
                for one in found.result.estimates
                if one.name == "Negative Affect: change" and one.value is not None
            ),
            *(
                recovered_contrast(one, truth, design.study.analysis.alpha)
                for one in found.contrasts
                if one.reference == "Neutral"
            ),
        )


def arm_of(study: Study, situation: Situation) -> str:
    if study.arms_by == "emotion" or situation.kind != "negative":
        return situation.emotion
    return f"{situation.emotion}: {situation.factor}"
