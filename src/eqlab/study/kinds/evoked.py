"""Evoked: a person fills in a mood questionnaire, imagines a situation and fills it in again. Every person has an item
order of their own, so every place is a batch; in rounds, so that all situations have one person before any has two."""

from dataclasses import replace

from eqlab.benchmarks.emotionbench.items import Situation
from eqlab.benchmarks.emotionbench.prompt import asks
from eqlab.benchmarks.emotionbench.trials import Material, build_trial, select
from eqlab.core.benchmark import Selection
from eqlab.core.design import Batch
from eqlab.core.study import Study
from eqlab.core.trials import Trial
from eqlab.instruments.wording import scales
from eqlab.study.kinds.common import attention


def one_person_a_batch(study: Study) -> Study:
    """As the design has it: people of one situation are spread over batches of one."""
    return replace(study, places=replace(study.places, people_per_batch=1))


def batches(study: Study, material: Material) -> tuple[Batch, ...]:
    """Two trials each: the questionnaire now, and in the situation."""
    selection = Selection(limit=study.limit, seed=study.seed)
    situations = select(material.situations, selection)
    numbers: dict[str, int] = {}
    found: list[Batch] = []
    for turn in range(study.places.people_per_batch):
        for situation in situations:
            arm = arm_of(study, situation)
            numbers[arm] = number = numbers.get(arm, -1) + 1
            pages = tuple(_page(material, one, len(found), selection) for one in (None, situation))
            found.append(Batch(arm, number, pages, turn))
    return tuple(found)


def arm_of(study: Study, situation: Situation) -> str:
    if study.arms_by == "emotion" or situation.kind != "negative":
        return situation.emotion
    return f"{situation.emotion}: {situation.factor}"


def _page(material: Material, situation: Situation | None, place: int, selection: Selection) -> Trial:
    """A benchmark's trial that says above the form what a model's prompt says around it."""
    trial = build_trial(material, situation, place, selection)
    question = asks(material.instrument, len(trial.form.scales), evoked=situation is not None)
    return replace(trial, stimulus=f"{trial.stimulus}\n\n{question}".strip(), id="")


def checks(study: Study, material: Material) -> tuple[Trial, ...]:
    scale = scales(material.instrument, material.wording)[0]
    middle = range(scale.low + 1, scale.high)
    return attention(study.checks, scale, tuple(middle) or (scale.high, scale.low))
