"""Rating: people rate replies, Bad to Good or on scales of the study's own. Batches hold the same prompts in every arm,
so arms can be paired; a person sees one arm, several or all."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from eqlab.analysis.power import StudySize, minimum_gap
from eqlab.benchmarks.empathy.items import balanced_batches
from eqlab.benchmarks.empathy.replies import manners
from eqlab.benchmarks.instructed import instructed
from eqlab.benchmarks.rating import prompt as words_of
from eqlab.benchmarks.rating.arm_shares import arm_shares
from eqlab.benchmarks.rating.benchmark import Ratings
from eqlab.benchmarks.rating.counterbalance import shares
from eqlab.benchmarks.rating.moderation import moderation_table
from eqlab.benchmarks.rating.people_result import first_arm, shares_words
from eqlab.benchmarks.rating.planned import planned_contrasts, planned_table, planned_words
from eqlab.benchmarks.rating.rated import GivenRating, given, rated
from eqlab.benchmarks.rating.reply_rows import FILE, choose, from_jsonl
from eqlab.benchmarks.rating.scales_result import scale_contrasts, scales_result
from eqlab.benchmarks.rating.simulated_people import Raters
from eqlab.benchmarks.rating.trials import single
from eqlab.benchmarks.template import template
from eqlab.core.design import Batch, Design
from eqlab.core.forms import Scale
from eqlab.core.results import Table
from eqlab.core.runs import PEOPLE
from eqlab.core.studied import Analysed, PeopleResult, Recovered, StudyForm, StudyPages, Truth, recovered_contrast
from eqlab.core.study import Study

TEQ = "TEQ Overall"


@dataclass(frozen=True, slots=True)
class RatingStudy:
    words: Mapping[str, str] = field(default_factory=lambda: words_of.RATING_WORDS)

    def in_words(self, words: Mapping[str, str]) -> "RatingStudy":
        return replace(self, words={**self.words, **words})

    def form(self) -> StudyForm:
        return StudyForm(
            "rating",
            "rating",
            "people rate replies",
            template("eqlab.benchmarks.rating"),
            0.7,
            "log-odds of a better rating, every arm against the reference",
            arms="replies",
            own_scales=True,
            one_scale=True,
            several_arms=True,
            options=(("purpose", "people"),),
        )

    def pages(self, study: Study, files: Mapping[str, bytes], options: Mapping[str, Any]) -> StudyPages:
        chosen = choose(from_jsonl(files[FILE]), study.limit, study.seed)
        reply = {(row.arm, row.prompt): row for row in chosen}
        emotion = {row.prompt: row.emotion for row in chosen}
        prompts = sorted(emotion)
        dealt = balanced_batches(prompts, [emotion[one] for one in prompts], study.places.batch_size, study.seed)
        arms = [name for name, _ in study.arms]
        scales = study.scales or (words_of.rating_scale(self.words),)
        made = {cell: single(row, scales=scales, words=self.words) for cell, row in reply.items()}
        design = study.design
        numbers: dict[str, int] = {}
        batches = []
        for share in shares(arms, dealt, min(design.arms_per_person, len(arms)), blocked=design.blocked):
            number = numbers[share.group] = numbers.get(share.group, -1) + 1
            batches.append(Batch(share.group, number, tuple(made[cell] for cell in share.cells), blocks=share.blocks))
        return StudyPages(tuple(batches), instructed(study.checks, scales[0], _middle_first(scales[0]), scales[1:]))

    def power(self, design: Design) -> str:
        """For the form of Bad, Okay and Good, with what the published ratings show of raters (their share of Good, and
        how alike one rater's ratings are)."""
        people = min(design.sizes.values())
        if len(design.arms) < 2 or design.study.scales or design.study.design.arms_per_person > 1:
            return ""
        each = round(sum(len(batch.trials) for batch in design.batches) / len(design.batches))
        alpha = design.study.analysis.alpha
        seen = StudySize()
        gap = minimum_gap(
            seen.baseline, people, design_effect=seen.design_effect, ratings_per_rater=max(each, 1), alpha=alpha
        )
        return (
            f"{people} a group with {each} ratings each find a gap of {100 * gap:.0f} points in P(Good) four times in "
            f"five (two-sided, alpha {alpha:g})."
        )

    def warnings(self, design: Design) -> Iterable[str]:
        if len(design.study.arms or design.arms) == 1:
            yield "There is one arm: nothing is compared. Name another under [arms]."
        told = f"{design.study.consent.text} {design.study.tutorial.text}"
        if design.study.scales and ("Bad, Okay or Good" in told or "Bad: it misses" in told):
            yield "The scales are your own, but the consent or the tutorial still speaks of Bad, Okay and Good."
        yield from about_replies(design)

    def simulated(self, design: Design, truth: Truth, seed: int) -> Raters:
        return Raters(design, truth, seed)

    def result(self, design: Design, people: Analysed) -> PeopleResult:
        reference, alpha = reference_of(design), design.study.analysis.alpha
        (asked,) = design.run.benchmarks
        if design.study.scales:
            found = scales_result(people.scored, design.study.scales, reference, asked.options)
            contrasts, planned = scale_contrasts(people.scored, design.study.scales, reference, alpha)
            said = f"{found.sentence} {planned_words(contrasts, alpha)}" if contrasts else found.sentence
            return PeopleResult(replace(found, sentence=said), contrasts, (planned,))
        ratings = given(rated(people.scored))
        arms = first_arm(sorted({one.arm for one in ratings}), reference)
        contrasts, why = planned_contrasts(ratings, arms, alpha)
        scored = Ratings().score(PEOPLE, people.scored, {**asked.options, "reference": reference})
        if contrasts and alpha != 0.05:
            said = shares_words(arm_shares(ratings, arms, lambda one: one.rater), len({one.rater for one in ratings}))
            scored = replace(scored, sentence=f"{said}. {planned_words(contrasts, alpha)}")
        return PeopleResult(
            scored,
            contrasts,
            (planned_table(contrasts, why, alpha),),
            _moderation(ratings, arms, people.questionnaires),
        )

    def recovered(self, design: Design, truth: Truth, found: PeopleResult) -> Sequence[Recovered]:
        return tuple(recovered_contrast(one, truth, design.study.analysis.alpha) for one in found.contrasts)


def reference_of(design: Design) -> str:
    """The arm that the others are compared with: as the plan says, or the first."""
    named = [name for name, _ in design.study.arms] or list(design.arms)
    return design.study.analysis.reference or named[0]


def about_replies(design: Design) -> Iterable[str]:
    """Replies that give their writer away, or are none."""
    replies: dict[str, set[tuple[str, str]]] = {}
    for batch in design.batches:
        for trial in batch.trials:
            for arm, reply in _replies(trial.key):
                replies.setdefault(arm, set()).add((str(trial.key["prompt"]), reply))
    for arm, own in replies.items():
        found = [manners(reply) for _, reply in own]
        refused = sum(one.refusal for one in found)
        machine = sum(one.says_it_is_ai for one in found)
        if refused:
            yield f"Arm '{arm}': {refused} of {len(own)} replies decline to help; people will rate them as they are."
        if machine:
            yield f"Arm '{arm}': {machine} of {len(own)} replies say that an AI wrote them, and unblind the raters."


def _replies(key: Mapping[str, Any]) -> list[tuple[str, str]]:
    if "arms" in key:
        return list(zip(key["arms"], key["replies"], strict=True))
    return [(key["arm"], key["reply"])]


def _middle_first(scale: Scale) -> tuple[int, ...]:
    """Answers to instruct: not one that somebody who gives the best mark throughout would give first."""
    middle = (scale.low + scale.high) // 2
    return tuple(dict.fromkeys((middle, scale.low, scale.high)))


def _moderation(
    ratings: Sequence[GivenRating], arms: Sequence[str], scores: Mapping[str, Mapping[str, float | None]]
) -> tuple[Table, ...]:
    """The raters' own empathy, where the study asked for it."""
    known = {subject: value for subject, own in scores.items() if (value := own.get(TEQ)) is not None}
    if not arms or not any(TEQ in own for own in scores.values()):
        return ()
    return (moderation_table(ratings, arms, known, "TEQ"),)
