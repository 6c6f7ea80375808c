"""Studies in which people rate replies: one at a time, Bad to Good or on scales of the study's own, or two beside each
other. Single ratings: batches hold the same prompts in every arm, so arms can be paired; a person sees one arm, several
or all. Pairs: every pair is shown in both orders, to different people; within a person's pages the orders are mixed."""

import math
import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, replace
from itertools import combinations
from typing import Any

from eqlab.analysis.power import SD_PROMPT, SD_RATER, SD_REPLY, StudySize, deciding_model
from eqlab.benchmarks.common.people import first_step, instructed, template
from eqlab.benchmarks.common.selection import balanced_batches
from eqlab.benchmarks.empathy.replies import manners
from eqlab.benchmarks.options import read_options
from eqlab.benchmarks.rating import people as people_results
from eqlab.benchmarks.rating import trials as words_of
from eqlab.benchmarks.rating.arm_shares import arm_shares
from eqlab.benchmarks.rating.benchmark import Ratings
from eqlab.benchmarks.rating.pairs import choices_words, pair_contrasts, readable, untestable
from eqlab.benchmarks.rating.people import (
    moderation_table,
    of_planned_arms,
    planned_contrasts,
    planned_table,
    planned_words,
    scale_contrasts,
)
from eqlab.benchmarks.rating.rated import GivenRating, arms_of, as_result, given, rated
from eqlab.benchmarks.rating.trials import FILE, PAIRWISE, SCALES, choose, from_jsonl, pair_key, single
from eqlab.core.benchmark import OptionHelp, ReplyRow
from eqlab.core.design import Batch, Design
from eqlab.core.errors import UsageError
from eqlab.core.forms import Form, Scale
from eqlab.core.plural import many
from eqlab.core.results import Table
from eqlab.core.runs import PEOPLE
from eqlab.core.studied import (
    Analysed,
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

TEQ = "TEQ Overall"
_FAR = 0.33
"""A gap in P(Good) beyond which a small study's ratings fall apart by arm: the model has no estimate, or a wide one."""


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
            headline="the share of ratings that are Good: of two arms their difference, of more the highest (with an "
            "interval that holds for all arms at once); on scales of the study's own the difference of means on the "
            "first, turned round where it is reverse-keyed",
        )

    def pages(self, study: Study, files: Mapping[str, bytes], options: Mapping[str, Any]) -> StudyPages:
        chosen = choose(from_jsonl(files[FILE]), study.limit, study.seed)
        reply = {(row.arm, row.prompt): row for row in chosen}
        emotion = {row.prompt: row.emotion for row in chosen}
        prompts = sorted(emotion)
        dealt = balanced_batches(prompts, [emotion[prompt] for prompt in prompts], study.places.batch_size, study.seed)
        arms = [name for name, _ in study.arms]
        scales = study.scales or (words_of.rating_scale(self.words),)
        trials = {cell: single(row, scales=scales, words=self.words) for cell, row in reply.items()}
        design = study.design
        numbers: dict[str, int] = {}
        batches = []
        for share in counterbalanced(arms, dealt, min(design.arms_per_person, len(arms)), blocked=design.blocked):
            number = numbers[share.group] = numbers.get(share.group, -1) + 1
            batches.append(Batch(share.group, number, tuple(trials[cell] for cell in share.cells), blocks=share.blocks))
        return StudyPages(tuple(batches), instructed(study.checks, scales[0], _middle_first(scales[0]), scales[1:]))

    def power(self, design: Design) -> str:
        """For the form of Bad, Okay and Good, with what the published ratings show of raters (their share of Good, and
        how alike one rater's ratings are)."""
        people = min(design.sizes.values())
        if len(design.study.arms or design.arms) < 2:
            return ""
        if design.study.scales or design.study.design.arms_per_person > 1:
            return (
                "What a study with scales of its own, or with several arms a person, will find is in no formula: "
                "'eqlab study simulate FILE --repeats 200' tells."
            )
        each = round(sum(len(batch.trials) for batch in design.batches) / len(design.batches))
        alpha, level = first_step(design.study.analysis.alpha, len(design.arms))
        prompts = _prompts(design)
        seen = StudySize()
        model = deciding_model(seen.baseline, prompts, max(each, 1), alpha=alpha)
        gap = model.minimum_gap(seen.baseline, people, 0.8)
        most = model.minimum_gap(seen.baseline, 1_000_000, 0.8)
        size = f"With {many(people, 'rater')} per arm and {many(each, 'rating')} each on {many(prompts, 'prompt')}, "
        if gap is None or gap > _FAR:
            return f"{size}no difference in P(Good) can be detected with 80 % power. Add raters and prompts."
        text = (
            f"{size}you have about 80 % power to detect a {100 * gap:.0f}-point difference in P(Good) (two-sided, "
            f"{level}, if raters differ by {SD_RATER:g} log-odds and prompts by {SD_PROMPT:g}, as in the published "
            f"ratings, and replies by {SD_REPLY:g})."
        )
        if most is not None and most > 0.8 * gap:
            text += f" More raters help little: {100 * most:.0f} points is the limit for any number. Add prompts."
        return text

    def warnings(self, design: Design) -> Iterable[str]:
        if len(design.study.arms or design.arms) == 1:
            yield "There is one arm: nothing is compared. Name another under [arms]."
        told = f"{design.study.consent.text} {design.study.tutorial.text}"
        if design.study.scales and ("Bad, Okay or Good" in told or "Bad: it misses" in told):
            yield "The scales are your own, but the consent or the tutorial still speaks of Bad, Okay and Good."
        yield from about_replies(design)

    def simulated(self, design: Design, truth: Truth, seed: int) -> "Raters":
        return Raters(design, truth, seed)

    def result(self, design: Design, people: Analysed) -> PeopleResult:
        reference, alpha, others = reference_of(design), design.study.analysis.alpha, len(arms_named(design)) - 1
        (asked,) = design.run.benchmarks
        replies, scales = rated(people.scored), design.study.scales
        ratings = [rating for scale in scales or (None,) for rating in given(replies, scale)]
        arms = people_results.first_arm(sorted({rating.arm for rating in ratings}), reference)
        if scales:
            outcome = people_results.on_scales(replies, scales, reference)
            contrasts, planned = scale_contrasts(replies, scales, reference, others, alpha)
            said = f"{outcome.sentence} {planned_words(contrasts, alpha)}" if contrasts else outcome.sentence
            found = as_result(PEOPLE, replies, asked.options, replace(outcome, sentence=said), SCALES)
            return PeopleResult(of_planned_arms(found, arms_named(design), arms, reference), contrasts, (planned,))
        contrasts, why = planned_contrasts(ratings, reference, others, alpha)
        scored = Ratings().score(PEOPLE, people.scored, {**asked.options, "reference": reference})
        if len(arms) > 1:
            shares = arm_shares(ratings, arms, lambda one: one.rater)
            said = people_results.shares_words(shares, len({rating.rater for rating in ratings}))
            scored = replace(scored, sentence=f"{said}. {planned_words(contrasts, alpha)}")
        return PeopleResult(
            of_planned_arms(scored, arms_named(design), arms, reference),
            contrasts,
            (planned_table(contrasts, why, alpha),),
            _moderation(ratings, arms, people.questionnaires),
        )

    def recovered(self, design: Design, truth: Truth, people_result: PeopleResult) -> Sequence[Recovered]:
        return tuple(
            recovered_contrast(contrast, truth, design.study.analysis.alpha) for contrast in people_result.contrasts
        )

    def planned(self, design: Design) -> PlannedContrasts | None:
        test = (
            "log-odds of a better rating, in a cumulative-link mixed model with everything random that another study "
            "would draw anew"
        )
        return _against_reference(design, test, len(design.study.scales) or 1)


def _prompts(design: Design) -> int:
    return len({trial.key["prompt"] for batch in design.batches for trial in batch.trials})


def _against_reference(design: Design, test: str, scales: int = 1) -> PlannedContrasts | None:
    reference = reference_of(design)
    others = tuple(arm for arm in arms_named(design) if arm != reference)
    return PlannedContrasts(others, reference, test, scales) if others else None


def reference_of(design: Design) -> str:
    """The arm that the others are compared with: as the plan says, or the first."""
    return design.study.analysis.reference or arms_named(design)[0]


def arms_named(design: Design) -> list[str]:
    """Those whose replies are shown; a design's own may be groups of them."""
    return [name for name, _ in design.study.arms] or list(design.arms)


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
            yield (
                f"Arm '{arm}': help is declined in {refused} of {many(len(own), 'reply', 'replies')}; people will rate "
                "them as they are."
            )
        if machine:
            yield (
                f"Arm '{arm}': an AI is named as the writer in {machine} of {many(len(own), 'reply', 'replies')}, "
                "which unblinds the raters."
            )


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
    known = {subject: value for subject, score in scores.items() if (value := score.get(TEQ)) is not None}
    if not arms or not any(TEQ in score for score in scores.values()):
        return ()
    return (moderation_table(ratings, arms, known, "TEQ"),)


@dataclass(frozen=True, slots=True)
class BatchShare:
    """Which arms a person sees on which prompts. One arm each (between people), all of them (within), or some (mixed):
    over the people of a group every prompt meets every arm equally often, and no person meets a prompt twice."""

    group: str
    """The arms, as one name; an arm's own name where it is one."""
    cells: tuple[tuple[str, str], ...]
    """(arm, prompt) in the order of showing, or of shuffling where there are no blocks."""
    blocks: tuple[int, ...] = ()


def counterbalanced(
    arms: Sequence[str], batches: Sequence[Sequence[str]], per_person: int, *, blocked: bool
) -> list[BatchShare]:
    """Every group of `per_person` arms with every batch of prompts, in a Latin square: in version v prompt i has the
    group's arm number i + v. In blocks, each version comes with each rotation of the arms' order."""
    found = []
    for group in combinations(arms, per_person):
        name = " + ".join(group)
        for prompts in batches:
            for version in range(per_person):
                cells = [(group[(index + version) % per_person], prompt) for index, prompt in enumerate(prompts)]
                if not blocked:
                    found.append(BatchShare(name, tuple(cells)))
                    continue
                for turn in range(per_person):
                    order = (*group[turn:], *group[:turn])
                    own = [[cell for cell in cells if cell[0] == arm] for arm in order]
                    shown = tuple(cell for block in own for cell in block)
                    found.append(BatchShare(name, shown, tuple(len(block) for block in own if block)))
    return found


# -- pairs ---------------------------------------------------------------------------------------------------------

ARM = "pairs"
_OPTIONS = (OptionHelp("ties", "yes", "whether people may say that both are alike", ("yes", "no")),)


def _with_ties(study: Study) -> bool:
    return bool(read_options("pairwise", _OPTIONS, dict(study.options))["ties"])


@dataclass(frozen=True, slots=True)
class PairwiseStudy:
    words: Mapping[str, str] = field(default_factory=lambda: words_of.PAIR_WORDS)

    def in_words(self, words: Mapping[str, str]) -> "PairwiseStudy":
        return replace(self, words={**self.words, **words})

    def form(self) -> StudyForm:
        return StudyForm(
            "pairwise",
            "rating",
            "people choose between two replies",
            template("eqlab.benchmarks.rating", "study_pairs.toml"),
            0.7,
            "log-odds of being chosen, every arm against the reference",
            arms="replies",
            one_scale=True,
            options=(("purpose", "people"), ("pairwise", "yes")),
            own_options=_OPTIONS,
            headline="log-odds of being chosen, an arm against the reference",
        )

    def pages(self, study: Study, files: Mapping[str, bytes], options: Mapping[str, Any]) -> StudyPages:
        """Each batch of pairs twice: the second time every pair the other way round."""
        rows = choose(from_jsonl(files[FILE]), study.limit, study.seed)
        arms = [name for name, _ in study.arms]
        if len(arms) < 2:
            raise UsageError(f"Study '{study.id}': a pair needs two arms.", "Name another under [arms].")
        reply = {(row.arm, row.prompt): row for row in rows}
        units = [(prompt, *pair) for prompt in sorted({row.prompt for row in rows}) for pair in combinations(arms, 2)]
        emotions = [reply[arms[0], prompt].emotion for prompt, _, _ in units]
        dealt = balanced_batches(units, emotions, study.places.batch_size, study.seed)
        scale = words_of.better_scale(self.words, ties=_with_ties(study))
        batches: list[Batch] = []
        for own in dealt:
            for version in (0, 1):
                trials = []
                for index, (prompt, one, other) in enumerate(own):
                    first, second = (one, other) if (index + version) % 2 == 0 else (other, one)
                    trials.append(self._trial(reply[first, prompt], reply[second, prompt], scale))
                batches.append(Batch(ARM, len(batches), tuple(trials)))
        return StudyPages(tuple(batches), instructed(study.checks, scale, (scale.high, scale.low)))

    def _trial(self, first: ReplyRow, second: ReplyRow, scale: Scale) -> Trial:
        shown = words_of.scene(first.emotion, first.situation, first.utterance, self.words)
        return Trial(
            "rating",
            (first.prompt,),
            PAIRWISE,
            shown + words_of.side_by_side(first.reply, second.reply, self.words),
            Form((scale,)),
            "",
            key=pair_key(first, second),
        )

    def power(self, design: Design) -> str:
        """A log-odds of m independent choices has a standard error of 2/√m near even odds; of k arms that all meet,
        the choices of the others tell of two as well, as if they had met k/2 times as often."""
        from eqlab.analysis.special import expit, ndtri

        arms = len(design.study.arms)
        if arms < 2:
            return ""
        alpha, level = first_step(design.study.analysis.alpha, arms)
        if why := untestable(_prompts(design)):
            return why
        shown = sum(len(design.batch(place.arm, place.batch).trials) for place in design.places())
        meet = round(shown / (arms * (arms - 1) / 2))
        won = 100 * float(expit((ndtri(1 - alpha / 2) + ndtri(0.8)) * 2 / (meet * arms / 2) ** 0.5))
        return (
            f"With {many(meet, 'choice')} between every two arms, you have at most 80 % power to detect a preference "
            f"of {won:.0f} to {100 - won:.0f} (two-sided, {level}; {'ties, and ' if _with_ties(design.study) else ''}"
            "choices by the same person, lower it)."
        )

    def warnings(self, design: Design) -> Iterable[str]:
        if why := untestable(_prompts(design)):
            yield why
        if not _with_ties(design.study) and "choose Tie" in design.study.tutorial.text:
            yield "People cannot choose a tie (ties = false), but the tutorial still tells them to."
        yield from about_replies(design)

    def simulated(self, design: Design, truth: Truth, seed: int) -> "Raters":
        return Raters(design, truth, seed)

    def result(self, design: Design, people: Analysed) -> PeopleResult:
        reference = reference_of(design)
        (asked,) = design.run.benchmarks
        alpha, others = design.study.analysis.alpha, len(arms_named(design)) - 1
        replies = readable(rated(people.scored))
        contrasts, why, table = pair_contrasts(replies, reference, others, alpha)
        scored = Ratings().score(PEOPLE, people.scored, {**asked.options, "reference": reference})
        found = replace(scored, sentence=choices_words(replies, contrasts, why, alpha))
        return PeopleResult(
            of_planned_arms(found, arms_named(design), arms_of(replies), reference), contrasts, (table,)
        )

    def recovered(self, design: Design, truth: Truth, people_result: PeopleResult) -> Sequence[Recovered]:
        return tuple(
            recovered_contrast(contrast, truth, design.study.analysis.alpha) for contrast in people_result.contrasts
        )

    def planned(self, design: Design) -> PlannedContrasts | None:
        test = (
            "log-odds of being chosen, in a Bradley–Terry model with ties and the first place; errors over prompts and "
            "people (two-way jackknife)"
        )
        return _against_reference(design, test)


# -- simulated raters under a known truth --------------------------------------------------------------------------

_THREE = (-1.2, 0.3)
"""Of Bad|Okay and Okay|Good, in log-odds, for the reference arm and a middling rater and prompt."""
TIE = 0.6
"""Davidson's ν: how much of a tie equals give, against the geometric mean of their wins."""
FIRST_PLACE = 0.2
"""Log-odds that the first place is worth: what asking in both orders takes out."""


@dataclass(frozen=True, slots=True)
class Rater:
    """How much more generous than others, in log-odds, and to which arm more than to another."""

    generous: float
    likes: Mapping[str, float]


class Raters:
    """Single ratings: a cumulative logit, P(y ≤ k) = F(θ_k − effect − rater − taste − prompt − reply), the same effect
    on every scale. Pairs: Davidson's model with a first place that counts for something."""

    def __init__(self, design: Design, truth: Truth, seed: int) -> None:
        self.reference = reference_of(design)
        self._truth = truth
        draw = random.Random(f"{seed} prompts")
        trials = [trial for batch in design.batches for trial in batch.trials]
        prompts = dict.fromkeys(str(trial.key.get("prompt", "")) for trial in trials)
        self._prompts = {prompt: draw.gauss(0.0, truth.item_sd) for prompt in prompts}
        shown = sorted({(str(trial.key["prompt"]), str(trial.key["arm"])) for trial in trials if "arm" in trial.key})
        again = random.Random(f"{seed} replies")
        self._replies = {reply: again.gauss(0.0, truth.reply_sd) for reply in shown}
        self._tasted = arms_named(design) if design.study.design.arms_per_person > 1 else []

    def person(self, draw: random.Random) -> "Rater":
        generous = draw.gauss(0.0, self._truth.person_sd)
        return Rater(generous, {arm: draw.gauss(0.0, self._truth.taste_sd) for arm in self._tasted})

    def answer(self, person: Any, trial: Trial, draw: random.Random) -> Mapping[str, Any]:
        if "arms" in trial.key:
            return {trial.form.keys[0]: self._choice(trial, draw)}
        effect = self._worth(trial.key["arm"]) + person.likes.get(trial.key["arm"], 0.0)
        prompt = str(trial.key["prompt"])
        eta = effect + person.generous + self._prompts[prompt] + self._replies[prompt, str(trial.key["arm"])]
        return {scale.key: _category(scale, eta, draw) for scale in trial.form.scales}

    def _worth(self, arm: str) -> float:
        return self._truth.effect if arm != self.reference else 0.0

    def _choice(self, trial: Trial, draw: random.Random) -> int:
        """Davidson (1970): first, tie and second as a : ν√(ab) : b. Without a tie among the answers, a : b."""
        first, second = (math.exp(self._worth(arm)) for arm in trial.key["arms"])
        first *= math.exp(FIRST_PLACE)
        (scale,) = trial.form.scales
        weights = [first, TIE * math.sqrt(first * second), second] if scale.high == 3 else [first, second]
        return draw.choices(range(1, scale.high + 1), weights)[0]


def _category(scale: Scale, eta: float, draw: random.Random) -> int:
    share = draw.random()
    latent = eta + math.log(share / (1.0 - share))
    better = sum(latent > threshold for threshold in _thresholds(scale.high - scale.low + 1))
    return scale.high - better if scale.reverse else scale.low + better


def _thresholds(count: int) -> tuple[float, ...]:
    """As many categories as the scale has, alike in share for the reference arm."""
    if count == 3:
        return _THREE
    return tuple(math.log(k / (count - k)) for k in range(1, count))
