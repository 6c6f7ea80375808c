"""From answers to scores, the same for every instrument.

A score is factor · Σ item, where a reversed item counts low + high − answer. **Missing answers:** a score is undefined
(None, or NaN in arrays) as soon as one of its items has no answer; nothing is imputed and no score is prorated, and
the other subscales stand. An answer outside the instrument's range is an error, not a missing answer."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from eqlab.core.errors import DataError
from eqlab.instruments.catalogue import Instrument, Subscale

FloatArray = npt.NDArray[np.float64]


def score(instrument: Instrument, values: Sequence[float | None], *, keyed: bool = True) -> dict[str, float | None]:
    """Each score the instrument defines, by name; no overall score where it defines none.

    `values` are the answers in the order of the items, None for a missing one. `keyed=False` gives raw sums, without
    reversing or doubling: what the EmotionBench paper printed for its challenging scales."""
    if len(values) != instrument.n_items:
        raise DataError(f"{instrument.key} has {instrument.n_items} items, but {len(values)} answers came.")
    answers = np.array([values], dtype=float)
    check(instrument, answers)
    return {
        part.name: defined(score_columns(instrument, answers.T, part, keyed=keyed)[0]) for part in instrument.scores
    }


def defined(score: float) -> float | None:
    return float(score) if score == score else None  # NaN is the only value that differs from itself


def score_columns(instrument: Instrument, answers: FloatArray, part: Subscale, *, keyed: bool = True) -> FloatArray:
    """One score for many administrations at once: `answers` is items × administrations, NaN where none."""
    rows = np.asarray(part.items) - 1
    chosen: FloatArray = answers[rows]
    if not keyed:
        return np.asarray(chosen.sum(axis=0))
    if any(flipped := [number in instrument.reverse for number in part.items]):
        chosen = np.where(np.array(flipped)[:, None], instrument.flip - chosen, chosen)
    return np.asarray(instrument.factor * chosen.sum(axis=0))


def check(instrument: Instrument, answers: FloatArray) -> None:
    """Of many administrations at once (administrations × items): raises if one holds an answer out of range."""
    for row, item in np.argwhere((answers < instrument.low) | (answers > instrument.high)):
        raise DataError(
            f"{instrument.key} item {item + 1}: {answers[row, item]:g} is not an answer from {instrument.low} to "
            f"{instrument.high}."
        )


def score_range(instrument: Instrument, part: Subscale, *, keyed: bool = True) -> tuple[int, int]:
    """Lowest and highest possible score."""
    factor = instrument.factor if keyed else 1
    return factor * instrument.low * len(part.items), factor * instrument.high * len(part.items)
