"""Evoked: a person fills in a mood questionnaire, imagines a situation and fills it in again. Every person has an item
order of their own, so every place is a batch; in rounds, so that all situations have one person before any has two."""

import math
import random
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, replace
from typing import Any

import numpy as np

from eqlab.analysis.intervals import FEWEST, t_bounds
from eqlab.analysis.two_samples import welch, welch_comparison
from eqlab.benchmarks.common.people import contrast_table, instructed, template
from eqlab.benchmarks.emotionbench.benchmark import EmotionBench
from eqlab.benchmarks.emotionbench.benchmark import material as material_of
from eqlab.benchmarks.emotionbench.items import EmotionBenchOptions, Situation
from eqlab.benchmarks.emotionbench.measures import CONTROLS, MeasurePlace, defined, kind_of
from eqlab.benchmarks.emotionbench.moods import NEGATIVE
from eqlab.benchmarks.emotionbench.people import Paired, pair
from eqlab.benchmarks.emotionbench.score import administrations, place_of
from eqlab.benchmarks.emotionbench.trials import WORDS as ASKED
from eqlab.benchmarks.emotionbench.trials import Material, asks, build_trial, select, stimulus
from eqlab.benchmarks.emotionbench.views import by_factor, units_of
from eqlab.core.benchmark import Selection
from eqlab.core.design import Batch, Design
from eqlab.core.errors import UsageError
from eqlab.core.forms import Form, Scale
from eqlab.core.grouping import grouped
from eqlab.core.plural import many
from eqlab.core.results import Estimate, Table
from eqlab.core.runs import PEOPLE
from eqlab.core.studied import (
    Analysed,
    Contrast,
    PeopleResult,
    PlannedContrasts,
    Recovered,
    StudyForm,
    StudyPages,
    Truth,
    recovered_contrast,
)
from eqlab.core.study import Study
from eqlab.core.trials import Trial
from eqlab.core.values import dataclass
from eqlab.instruments.catalogue import PANAS, instrument
from eqlab.instruments.wording import own_wording, scales

_OURS = scales(PANAS, wording) if (wording := own_wording(PANAS)) else ()
WORDS: Mapping[str, str] = {
    **ASKED,
    **{f"answer_{value}": label for value, label in (_OURS[0].anchors if _OURS else ())},
    **{f"feeling_{scale.key}": scale.text for scale in _OURS},
}
"""What is asked, and our own wording of the PANAS; other questionnaires keep the words of their file."""
ARM = "negative situations"
_DEFAULT_MOOD = {"Negative Affect": 26.0, "Positive Affect": 29.0}
_MOOD_SD, _CHANGE_SD = 4.0, 7.5
"""Of moods and changes of simulated people, some below SD_PEOPLE, so that few stand at an end of the scale."""


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
            headline="concordance, how often the mood after a better kind of situation is the higher one, a "
            "situation's mood being the mean over its people; without controls the change in Negative Affect in "
            "negative situations, and of another questionnaire than the PANAS that of its sum over all items",
        )

    def pages(self, study: Study, files: Mapping[str, bytes], options: Mapping[str, Any]) -> StudyPages:
        """Two trials each: the questionnaire now, and in the situation."""
        material = material_of(files, EmotionBenchOptions.of(options))
        selection = Selection(limit=study.limit, seed=study.seed)
        situations = select(material.situations, selection)
        numbers: dict[str, int] = {}
        batches: list[Batch] = []
        for turn in range(study.places.people_per_batch):
            for situation in situations:
                arm = arm_of(study, situation)
                numbers[arm] = number = numbers.get(arm, -1) + 1
                pages = tuple(self._page(material, one, len(batches), selection) for one in (None, situation))
                batches.append(Batch(arm, number, pages, turn))
        (scale, *_) = self._translated(scales(material.instrument, material.wording), material)
        answers = tuple(range(scale.low + 1, scale.high)) or (scale.high, scale.low)
        return StudyPages(tuple(batches), instructed(study.checks, scale, answers), in_order=True, people_per_batch=1)

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
        return tuple(replace(scale, text=self.words[f"feeling_{scale.key}"], anchors=labels) for scale in asked)

    def warnings(self, design: Design) -> Iterable[str]:
        if self.words != WORDS:
            yield "The feelings of the PANAS are our own translation, no validated one: compare changes, not levels."
        if why := _untestable(design):
            yield why

    def power(self, design: Design) -> str:
        """Of the planned test, which is over situations: people of one situation know no other."""
        reference = design.study.analysis.reference
        if not reference:
            return "No contrast is planned (analysis.reference names no arm): no power is said of it."
        if why := _untestable(design):
            return why
        ours, theirs = _people_asked(design)
        alpha = design.study.analysis.alpha
        gap = found_by_welch(ours, theirs, alpha)
        many_each = [[[10**9] * len(unit) for unit in side] for side in (ours, theirs)]
        least = found_by_welch(many_each[0], many_each[1], alpha)
        negative, others = ([people for unit in side for people in unit] for side in (ours, theirs))
        return (
            f"With {many(len(negative), 'negative situation')} of {many(min(negative), 'person', 'people')} each and "
            f"{len(others)} "
            f"'{reference}' situations of {min(others)}, you have 80 % power to detect a {gap:.1f}-point difference in "
            f"{NEGATIVE} (two-sided, alpha {alpha:g}, if people and situations differ as in the published study). "
            f"More people for the same situations: {least:.1f} points at best."
        )

    def simulated(self, design: Design, truth: Truth, seed: int) -> "Moods":
        return Moods(design, truth, seed)

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

    def recovered(self, design: Design, truth: Truth, people_result: PeopleResult) -> Sequence[Recovered]:
        return (
            *(
                Recovered("change in Negative Affect, negative situations", truth.effect, estimate)
                for estimate in people_result.result.estimates
                if estimate.name == "Negative Affect: change" and estimate.value is not None
            ),
            *(
                recovered_contrast(contrast, truth, design.study.analysis.alpha)
                for contrast in people_result.contrasts
                if contrast.reference == "Neutral"
            ),
        )

    def planned(self, design: Design) -> PlannedContrasts | None:
        reference = design.study.analysis.reference
        if not reference or not _asks_negative(design):
            return None
        test = f"change in {NEGATIVE} within person, by Welch's test of the situations' means, a factor's as one unit"
        return PlannedContrasts((ARM,), reference, test)


SD_PEOPLE, SD_SITUATIONS, SD_FACTORS = 8.4, 4.0, 2.3
"""Of changes in Negative Affect within a situation, between the means of a factor's situations, and between factors:
1,266 people in 175 situations of the published study."""
Units = Sequence[Sequence[int]]
"""Of situations that are alike, unit by unit, how many people each has."""


def found_by_welch(ours: Units, theirs: Units, alpha: float, power: float = 0.8) -> float:
    """The gap that Welch's test of situations' means finds with this power: (t_α/2 + t_power)·SE. A unit pulls at the
    mean with what its situations share, with what each has of its own, and with its people over their number."""
    from eqlab.analysis.special import stdtrit

    sds = [_sd_of_units(side) for side in (ours, theirs)]
    se, df = welch(sds[0], len(ours), sds[1], len(theirs))
    return (float(stdtrit(df, 1 - alpha / 2)) + float(stdtrit(df, power))) * se


def _sd_of_units(units: Units) -> float:
    """As `by_factor` has it: over √units it is the error of the situations' mean."""
    pulls: float = sum(
        (len(unit) * SD_FACTORS) ** 2 + sum(SD_SITUATIONS**2 + SD_PEOPLE**2 / people for people in unit)
        for unit in units
    )
    return math.sqrt(len(units) * pulls) / sum(map(len, units))


def arm_of(study: Study, situation: Situation) -> str:
    if study.arms_by == "emotion" or situation.kind != "negative":
        return situation.emotion
    return f"{situation.emotion}: {situation.factor}"


def hypothesis(
    paired: Paired, arm_of: Mapping[str, str], reference: str, alpha: float
) -> tuple[tuple[Contrast, ...], str]:
    """The planned contrast: negative situations raise Negative Affect more than the reference does. Welch's test over
    situations' mean changes, two-sided at alpha, or why there is none: people are nested in situations, and both are
    drawn anew in another study. Situations of one factor are alike and pull together. `arm_of` names each situation's
    arm."""
    if not paired.people.places:
        return (), "nobody has both measures yet"
    if NEGATIVE not in paired.people.before:
        return (), _NO_NEGATIVE
    every = paired.people.change(NEGATIVE)
    ours: dict[int, float] = {}
    theirs: dict[int, float] = {}
    for number, place in enumerate(paired.people.places):
        changes = defined(every[paired.people.where == number])
        if not len(changes):
            continue
        if arm_of.get(place.situation) == reference:
            theirs[number] = float(changes.mean())
        elif place.kind == "negative":
            ours[number] = float(changes.mean())
    if why := _too_few(len(ours), len(theirs), reference):
        return (), why
    sides = ((np.array(list(side)), np.array(list(side.values()))) for side in (ours, theirs))
    test = welch_comparison(*(by_factor(paired.people.places, where, means) for where, means in sides))
    if test.difference is None or test.se is None or test.df is None or test.p is None:
        return (), "situations do not differ at all"
    low, high = t_bounds(test.difference, test.se, test.df)
    name = f"change in {NEGATIVE}, negative − {reference}"
    estimate = Estimate(name, test.difference, len(ours) + len(theirs), test.se, low, high, digits=1, of="situations")
    own_low, own_high = t_bounds(test.difference, test.se, test.df, 1 - alpha)
    return (Contrast(ARM, reference, estimate, test.p, test.p, own_low, own_high),), ""


_NO_NEGATIVE = "the instrument has no Negative Affect"


def _untestable(design: Design) -> str:
    """Why the design alone says that its planned contrast will never be tested."""
    reference = design.study.analysis.reference
    ours, theirs = (sum(map(len, side)) for side in _people_asked(design))
    why = _too_few(ours, theirs, reference) if _asks_negative(design) else _NO_NEGATIVE
    return f"The planned contrast cannot be tested: {why}." if reference and why else ""


def _asks_negative(design: Design) -> bool:
    asked = instrument(str(design.batches[0].trials[0].key["instrument"]))
    return NEGATIVE in {part.name for part in asked.subscales}


def _people_asked(design: Design) -> tuple[Units, Units]:
    """How many people each negative situation will have, and each of the reference."""
    ours: Counter[MeasurePlace] = Counter()
    theirs: Counter[MeasurePlace] = Counter()
    for batch in (design.batch(place.arm, place.batch) for place in design.places()):
        if batch.arm == design.study.analysis.reference:
            theirs[place_of(batch.trials[-1])] += 1
        elif batch.arm not in CONTROLS:
            ours[place_of(batch.trials[-1])] += 1
    return _by_unit(ours), _by_unit(theirs)


def _by_unit(asked: Mapping[MeasurePlace, int]) -> Units:
    return list(grouped(zip(units_of(list(asked)).tolist(), asked.values(), strict=True)).values())


def _too_few(ours: int, theirs: int, reference: str) -> str:
    if min(ours, theirs) >= FEWEST:
        return ""
    return (
        f"{many(ours, 'negative situation')} and {theirs} of the reference '{reference}' have people; "
        f"{FEWEST} of each are needed"
    )


def hypothesis_table(contrasts: Sequence[Contrast], why: str, alpha: float) -> Table:
    note = (why and f"Not tested: {why}.") or (
        "Welch's test, two-sided, of the situations' mean changes within person; situations of one factor are one unit."
    )
    return contrast_table(contrasts, "situations", f"change in {NEGATIVE}", alpha, note)


def hypothesis_words(found: Sequence[Contrast], why: str, alpha: float) -> str:
    if not found:
        return f"The planned contrast is not tested: {why}."
    (one,) = found
    value = one.estimate.value or 0.0
    numbers = f"{value:+.1f} points, {100 * (1 - alpha):g} % interval {one.low:.1f} to {one.high:.1f}, p = {one.p:.4g}"
    if one.p >= alpha:
        return f"{NEGATIVE} does not tell negative situations from {one.reference} ({numbers})."
    way = "more" if value > 0 else "less"
    return f"{NEGATIVE} rises {way} in negative situations than in {one.reference} ({numbers})."


class Moods:
    """Simulated people, whose Negative Affect rises in negative situations by what was put in, and in each factor and
    situation by more or less, as those of the published study differ."""

    def __init__(self, design: Design, truth: Truth, seed: int) -> None:
        asked = {trial.key.get("instrument") for batch in design.batches for trial in batch.trials}
        if asked != {PANAS.key}:
            raise UsageError("Simulated people know the PANAS only.", 'Set instrument = "PANAS" under [options].')
        self._truth, self._seed = truth, seed

    def person(self, draw: random.Random) -> Mapping[str, float]:
        """The sum scores of the default measure."""
        return {name: draw.gauss(mean, _MOOD_SD) for name, mean in _DEFAULT_MOOD.items()}

    def answer(self, person: Any, trial: Trial, draw: random.Random) -> Mapping[str, Any]:
        """Sum scores first, then spread over the items, so that the mean change is what was put in."""
        change = dict.fromkeys(person, 0.0)
        if trial.condition == "evoked":
            way = {"negative": 1.0, "neutral": 0.0, "positive": -1.0}[kind_of(str(trial.key["emotion"]))]
            change = {name: draw.gauss(0.0, _CHANGE_SD) for name in person}
            where = place_of(trial)
            unit = (where.emotion, where.factor_index) if where.kind == "negative" else where
            factor = random.Random(f"{self._seed} {unit}").gauss(0.0, SD_FACTORS)
            situation = random.Random(f"{self._seed} {trial.items}").gauss(0.0, SD_SITUATIONS)
            change["Negative Affect"] += way * self._truth.effect + factor + situation
            change["Positive Affect"] -= way * self._truth.effect
        values: dict[str, Any] = {}
        for part in PANAS.subscales:
            keys = [PANAS.item_keys[number - 1] for number in part.items]
            values |= _spread(draw, person[part.name] + change[part.name], keys)
        return {key: values[key] for key in trial.form.keys}


def _spread(draw: random.Random, total: float, keys: Sequence[str]) -> dict[str, int]:
    """Whole answers from 1 to 5 whose sum is the total, rounded up or down by lot so that the mean stays."""
    whole = math.floor(total) + (draw.random() < total - math.floor(total))
    left = min(max(whole, len(keys)), 5 * len(keys)) - len(keys)
    given = dict.fromkeys(keys, 1)
    while left:
        key = draw.choice(keys)
        if given[key] < 5:
            given[key] += 1
            left -= 1
    return given
