"""Rating: people call replies Bad, Okay or Good. Batches hold the same prompts in every arm, so arms can be paired."""

from collections.abc import Sequence

from eqlab.benchmarks.empathy.items import balanced_batches
from eqlab.benchmarks.rating.prompt import RATING
from eqlab.benchmarks.rating.reply_rows import ReplyRow
from eqlab.benchmarks.rating.trials import choose, single
from eqlab.core.design import Batch
from eqlab.core.study import Study
from eqlab.core.trials import Trial
from eqlab.study.kinds.common import attention


def batches(study: Study, rows: Sequence[ReplyRow]) -> tuple[Batch, ...]:
    """`rows` hold one reply of every arm to every prompt, under the arms' names in the study."""
    chosen = choose(rows, study.limit, study.seed)
    reply = {(row.arm, row.prompt): row for row in chosen}
    emotion = {row.prompt: row.emotion for row in chosen}
    prompts = sorted(emotion)
    dealt = balanced_batches(prompts, [emotion[one] for one in prompts], study.places.batch_size, study.seed)
    return tuple(
        Batch(arm, number, tuple(single(reply[arm, prompt]) for prompt in own))
        for arm, _ in study.arms
        for number, own in enumerate(dealt)
    )


def checks(study: Study) -> tuple[Trial, ...]:
    return attention(study.checks, RATING, (2, 1, 3))
