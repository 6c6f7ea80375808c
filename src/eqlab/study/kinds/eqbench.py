"""EQ-Bench with people: dialogues, each with four emotions to rate from 0 to 10, asked once."""

from collections.abc import Mapping, Sequence
from typing import Any

from eqlab.benchmarks.empathy.items import balanced_batches
from eqlab.benchmarks.eqbench.items import Question
from eqlab.benchmarks.eqbench.trials import build_trial
from eqlab.benchmarks.spread import spread
from eqlab.core.design import Batch
from eqlab.core.study import Study
from eqlab.core.trials import Trial
from eqlab.study.kinds.common import attention

ARM = "dialogues"


def batches(study: Study, questions: Sequence[Question], options: Mapping[str, Any]) -> tuple[Batch, ...]:
    """Dialogues dealt by seed into batches whose sizes differ by one at most."""
    chosen = spread(questions, study.limit or len(questions))
    trials = [build_trial(question, options, structured=False) for question in chosen]
    dealt = balanced_batches(trials, [""] * len(trials), study.places.batch_size, study.seed)
    return tuple(Batch(ARM, number, tuple(own)) for number, own in enumerate(dealt))


def checks(study: Study, all_batches: Sequence[Batch]) -> tuple[Trial, ...]:
    return attention(study.checks, all_batches[0].trials[0].form.scales[0], (3, 7, 1, 9))
