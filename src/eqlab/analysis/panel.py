"""Several judges, one result: each judge's severity taken out, judges left out one by one, the most disputed replies.

Ratings are a replies × judges array, NaN where a judge did not rate. rating = reply + severity + rest, by least squares
with the severities summing to 0 (two-way additive model; Searle 1971), so a reply that only mild judges saw gains
nothing by it. Every reply belongs to a prompt and to the subject who wrote it; prompts are the units of all
intervals."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from eqlab.analysis.arrays import Floats, Ints, codes
from eqlab.analysis.intervals import FEWEST, t_bounds
from eqlab.core.errors import UsageError
from eqlab.core.results import Estimate


@dataclass(frozen=True, slots=True, eq=False)
class PanelRatings:
    """What a panel said."""

    values: Floats
    """Replies × judges."""
    prompts: Sequence[str]
    subjects: Sequence[str]
    """Of each reply."""
    judges: Sequence[str]

    def __post_init__(self) -> None:
        shape = (len(self.prompts), len(self.judges))
        if self.values.shape != shape or len(self.subjects) != shape[0]:
            raise UsageError("A panel needs one row per reply, with its prompt and subject, and one column per judge.")

    def without(self, judge: int) -> "PanelRatings":
        kept = [index for index in range(len(self.judges)) if index != judge]
        return PanelRatings(self.values[:, kept], self.prompts, self.subjects, [self.judges[index] for index in kept])


@dataclass(frozen=True, slots=True, eq=False)
class Pooled:
    """One value per reply (NaN: nobody rated it), and how much milder each judge is than the panel."""

    replies: Floats
    severity: tuple[Estimate, ...]
    """Positive: mild. 95 % jackknife interval over prompts."""
    residuals: Floats
    """What is left of each rating."""
    subjects: tuple[str, ...]
    prompts: tuple[str, ...]
    table: Floats
    """Subjects × prompts, a subject's several replies to a prompt averaged; for `paired` and `rank_sets`."""

    @property
    def means(self) -> dict[str, float]:
        return {
            name: float(np.nanmean(row)) if np.isfinite(row).any() else float("nan")
            for name, row in zip(self.subjects, self.table, strict=True)
        }


def pool(ratings: PanelRatings) -> Pooled:
    known = np.isfinite(ratings.values)
    values = np.where(known, ratings.values, 0.0)
    prompts = list(dict.fromkeys(ratings.prompts))
    prompt = codes(ratings.prompts)
    normal, right = _normal_equations(values, known, prompt, len(prompts))
    severity = _solve(normal.sum(axis=0), right.sum(axis=0))
    if severity is None:
        raise UsageError(
            "Some judges rated no reply that the others rated: how severe each is cannot be told.",
            "Let two judges rate some of the same replies.",
        )
    counts = known.sum(axis=1)
    with np.errstate(invalid="ignore"):
        replies = np.where(known, values - severity, 0.0).sum(axis=1) / np.where(counts > 0, counts, np.nan)
    residuals = np.where(known, ratings.values - severity - replies[:, None], np.nan)
    names = tuple(dict.fromkeys(ratings.subjects))
    found = _jackknife(normal, right, severity, ratings.judges)
    table = _table(replies, prompt, [names.index(one) for one in ratings.subjects], (len(names), len(prompts)))
    return Pooled(replies, found, residuals, names, tuple(prompts), table)


def _normal_equations(values: Floats, known: npt.NDArray[np.bool_], prompt: Ints, count: int) -> tuple[
    Floats, Floats
]:  # fmt: skip
    """By prompt, for the severities alone: a reply's own level is taken out by centring its ratings."""
    mask = known.astype(float)
    ratings = np.maximum(mask.sum(axis=1), 1.0)
    centred = np.where(known, values - (values.sum(axis=1) / ratings)[:, None], 0.0)
    judges = values.shape[1]
    outer = -mask[:, :, None] * mask[:, None, :] / ratings[:, None, None]
    outer[:, np.arange(judges), np.arange(judges)] += mask
    normal, right = np.zeros((count, judges, judges)), np.zeros((count, judges))
    np.add.at(normal, prompt, outer)
    np.add.at(right, prompt, centred)
    return normal, right


def _solve(normal: Floats, right: Floats) -> Floats | None:
    """Severities that sum to 0; None if the judges fall into groups that share no reply."""
    judges = len(right)
    scale = float(np.trace(normal)) / max(judges, 1)
    if judges == 1:
        return np.zeros(1)
    if scale <= 0:
        return None
    full = normal / scale + 1.0 / judges
    return None if np.linalg.eigvalsh(full)[0] < 1e-9 else np.asarray(np.linalg.solve(full, right / scale))


def _jackknife(normal: Floats, right: Floats, severity: Floats, judges: Sequence[str]) -> tuple[Estimate, ...]:
    units, total, sums = len(normal), normal.sum(axis=0), right.sum(axis=0)
    kept = [_solve(total - one, sums - other) for one, other in zip(normal, right, strict=True)]
    if units < FEWEST or len(judges) < 2 or any(one is None for one in kept):
        return tuple(
            Estimate(name, float(value), units, of="prompts") for name, value in zip(judges, severity, strict=True)
        )
    left_out = np.array([one for one in kept if one is not None])
    se = np.sqrt((units - 1) / units * ((left_out - left_out.mean(axis=0)) ** 2).sum(axis=0))
    found = []
    for name, value, error in zip(judges, severity.tolist(), se.tolist(), strict=True):
        low, high = t_bounds(value, error, units - 1) if error > 0 else (None, None)
        found.append(Estimate(name, value, units, error, low, high, of="prompts"))
    return tuple(found)


def _table(replies: Floats, prompt: Ints, subject: Sequence[int], shape: tuple[int, int]) -> Floats:
    sums, counts = np.zeros(shape), np.zeros(shape)
    known = np.isfinite(replies)
    at = (np.asarray(subject, dtype=np.intp)[known], prompt[known])
    np.add.at(sums, at, replies[known])
    np.add.at(counts, at, 1.0)
    return np.asarray(np.divide(sums, counts, out=np.full(shape, np.nan), where=counts > 0))


@dataclass(frozen=True, slots=True)
class LeftOut:
    """The order of subjects without one judge."""

    judge: str
    ranks: dict[str, float]
    """1 is best, ties at their mean."""
    means: dict[str, float]


def leave_one_out(ratings: PanelRatings) -> list[LeftOut]:
    """The order that each judge's absence would give. Undefined (left away) where the others cannot be pooled."""
    found = []
    for index, name in enumerate(ratings.judges):
        if len(ratings.judges) < 2:
            break
        try:
            means = pool(ratings.without(index)).means
        except UsageError:
            continue
        found.append(LeftOut(name, ranks_of(means), means))
    return found


def ranks_of(means: dict[str, float]) -> dict[str, float]:
    """1 is best, ties at their mean; sums that differ by rounding only are ties."""
    values = np.round(np.array(list(means.values())), 9)
    known = np.isfinite(values)
    above = (values[None, :] > values[:, None]) & known[None, :]
    same = (values[None, :] == values[:, None]) & known[None, :]
    ranks = np.where(known, 1 + above.sum(axis=1) + (same.sum(axis=1) - 1) / 2, np.nan)
    return dict(zip(means, ranks.tolist(), strict=True))


def most_disputed(ratings: PanelRatings, count: int = 5) -> list[tuple[int, float]]:
    """(reply, spread): the replies whose ratings, severities taken out, differ most between judges; at least two
    ratings. The spread is their standard deviation."""
    pooled = pool(ratings)
    known = np.isfinite(pooled.residuals)
    several = known.sum(axis=1) >= 2
    squares = np.where(known, pooled.residuals, 0.0) ** 2
    spread = np.where(several, np.sqrt(squares.sum(axis=1) / np.maximum(known.sum(axis=1) - 1, 1)), -1.0)
    order = np.argsort(-spread, kind="stable")
    return [(int(index), float(spread[index])) for index in order[:count] if spread[index] >= 0]
