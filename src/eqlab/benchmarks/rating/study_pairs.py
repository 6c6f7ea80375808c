"""Pairwise: people see two replies to one prompt beside each other and choose. Every pair is shown in both orders, to
different people; within a person's pages the orders are mixed."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any

from eqlab.benchmarks.common.people import template
from eqlab.benchmarks.common.selection import balanced_batches
from eqlab.benchmarks.instructed import instructed
from eqlab.benchmarks.options import read_options
from eqlab.benchmarks.rating import prompt as words_of
from eqlab.benchmarks.rating.benchmark import Ratings
from eqlab.benchmarks.rating.pair_trials import pair_key
from eqlab.benchmarks.rating.people_pairs import chosen, pair_contrasts
from eqlab.benchmarks.rating.rated import rated
from eqlab.benchmarks.rating.reply_rows import FILE, ReplyRow, choose, from_jsonl
from eqlab.benchmarks.rating.simulated_people import Raters
from eqlab.benchmarks.rating.study import about_replies, reference_of
from eqlab.core.benchmark import OptionHelp
from eqlab.core.design import Batch, Design
from eqlab.core.errors import UsageError
from eqlab.core.forms import Form, Scale
from eqlab.core.runs import PEOPLE
from eqlab.core.studied import Analysed, PeopleResult, Recovered, StudyForm, StudyPages, Truth, recovered_contrast
from eqlab.core.study import Study
from eqlab.core.trials import Trial

ARM = "pairs"
_OPTIONS = (OptionHelp("ties", "yes", "whether people may say that both are alike", ("yes", "no")),)


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
        ties = bool(read_options("pairwise", _OPTIONS, dict(study.options))["ties"])
        scale = words_of.better_scale(self.words, ties=ties)
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
            "pairwise",
            shown + words_of.side_by_side(first.reply, second.reply, self.words),
            Form((scale,)),
            "",
            key=pair_key(first, second),
        )

    def power(self, design: Design) -> str:
        """A log-odds of m independent choices has a standard error of 2/√m near even odds."""
        from scipy.special import expit, ndtri

        arms, alpha = len(design.study.arms), design.study.analysis.alpha
        if arms < 2:
            return ""
        shown = sum(len(batch.trials) for batch in design.batches) * design.study.places.people_per_batch
        meet = round(shown / (arms * (arms - 1) / 2))
        won = 100 * float(expit((ndtri(1 - alpha / 2) + ndtri(0.8)) * 2 / meet**0.5))
        return (
            f"Every two arms meet {meet} times: {won:.0f} wins to {100 - won:.0f} are told from even four times in "
            f"five at best (two-sided, alpha {alpha:g}; ties and what one person's choices share cost some)."
        )

    def warnings(self, design: Design) -> Iterable[str]:
        return about_replies(design)

    def simulated(self, design: Design, truth: Truth, seed: int) -> Raters:
        return Raters(design, truth, seed)

    def result(self, design: Design, people: Analysed) -> PeopleResult:
        reference = reference_of(design)
        (asked,) = design.run.benchmarks
        contrasts, table = pair_contrasts(chosen(rated(people.scored)), reference, design.study.analysis.alpha)
        found = Ratings().score(PEOPLE, people.scored, {**asked.options, "reference": reference})
        return PeopleResult(found, contrasts, (table,))

    def recovered(self, design: Design, truth: Truth, found: PeopleResult) -> Sequence[Recovered]:
        return tuple(recovered_contrast(one, truth, design.study.analysis.alpha) for one in found.contrasts)
