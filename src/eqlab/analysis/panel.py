"""Several judges, one result: each judge's severity taken out, judges left out one by one, the most disputed replies;
and what the panel is worth: its agreement, its effective number of judges, whether a judge favours its own.

Ratings are a replies × judges array, NaN where a judge did not rate. rating = reply + severity + rest, by least squares
with the severities summing to 0 (two-way additive model; Searle 1971), so a reply that only mild judges saw gains
nothing by it. Every reply belongs to a prompt and to the subject who wrote it; prompts are the units of all intervals:
a judge's ratings of replies to one prompt go together."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from eqlab.analysis.agreement import ordinal_alpha, tables_agreement
from eqlab.analysis.arrays import Floats, Ints, codes
from eqlab.analysis.bootstrap import Interval
from eqlab.analysis.intervals import FEWEST, mean_estimate, t_bounds
from eqlab.core.errors import UsageError
from eqlab.core.results import Estimate

DRAWS = 2000


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


def panel_alpha(ratings: PanelRatings, categories: int, draws: int = DRAWS, seed: int = 0) -> Interval:
    """Krippendorff's ordinal alpha over replies, with a 95 % interval over prompts. Ratings are whole numbers from 1 to
    `categories`."""
    given = ratings.values[np.isfinite(ratings.values)]
    if len(given) and (given.min() < 1 or given.max() > categories or (given != np.round(given)).any()):
        raise UsageError(f"Ordinal alpha needs whole ratings from 1 to {categories}.")
    prompt = codes(ratings.prompts)
    counts = np.stack([(ratings.values == value).sum(axis=1) for value in range(1, categories + 1)], axis=1).astype(
        float
    )
    raters = counts.sum(axis=1)
    pairs = counts[:, :, None] * counts[:, None, :]
    pairs[:, np.arange(categories), np.arange(categories)] -= counts
    pairs = np.where((raters > 1)[:, None, None], pairs / np.maximum(raters - 1, 1)[:, None, None], 0.0)
    tables = np.zeros((int(prompt.max()) + 1, categories, categories))
    np.add.at(tables, prompt, pairs)
    return tables_agreement(tables, {"alpha": ordinal_alpha}, draws=draws, seed=seed)["alpha"]


@dataclass(frozen=True, slots=True)
class Effective:
    """How many independent judges the panel is worth; at most as many as it has."""

    judges: int
    value: float | None
    low: float | None
    high: float | None
    """95 % bootstrap interval over prompts."""
    correlation: float | None
    """Mean correlation between two judges' errors."""
    prompts: int
    of: Literal["errors", "ratings"]
    """`errors`: against people. `ratings`: without people nobody can tell shared insight from shared error, so all that
    judges share beyond the subjects' means counts as error and the number is the least it can be."""


def effective_judges(
    ratings: PanelRatings, people: npt.ArrayLike | None = None, draws: int = DRAWS, seed: int = 0
) -> Effective:
    """J_eff = mean variance of a judge's error ÷ variance of the panel's mean error = J / (1 + (J − 1)·r̄) for equal
    variances (Kish 1965). A judge's error is its rating minus people's (`people`: one value per reply, NaN where there
    is none), or, without people, minus the mean of its ratings of that subject; severities do not count. Only replies
    that all judges rated are used."""
    values = ratings.values
    judges = values.shape[1]
    of: Literal["errors", "ratings"] = "ratings" if people is None else "errors"
    if people is None:
        errors = _within(values, codes(ratings.subjects))
    else:
        errors = values - np.asarray(people, dtype=float)[:, None]
    full = np.asarray(np.isfinite(errors).all(axis=1))
    errors, prompt = errors[full], codes([p for p, kept in zip(ratings.prompts, full.tolist(), strict=True) if kept])
    units = int(prompt.max()) + 1 if len(prompt) else 0
    if judges < 2 or units < FEWEST:
        return Effective(judges, None, None, None, None, units, of)
    # by prompt: count, sums and products, from which any weighting gives the covariance
    counts = np.bincount(prompt, minlength=units).astype(float)
    sums, products = np.zeros((units, judges)), np.zeros((units, judges, judges))
    np.add.at(sums, prompt, errors)
    np.add.at(products, prompt, errors[:, :, None] * errors[:, None, :])
    value, correlation = _worth(counts.sum(), sums.sum(axis=0), products.sum(axis=0))
    chosen = np.random.default_rng(seed).integers(0, units, size=(draws, units))
    drawn = []
    for pick in chosen:
        weight = np.bincount(pick, minlength=units).astype(float)
        drawn.append(_worth(weight @ counts, weight @ sums, np.tensordot(weight, products, 1))[0])
    usable = np.array([one for one in drawn if one is not None])
    if value is None or len(usable) < 100:
        return Effective(judges, value, None, None, correlation, units, of)
    low, high = np.quantile(usable, [0.025, 0.975])
    return Effective(judges, value, float(low), float(high), correlation, units, of)


def _worth(n: float, sums: Floats, products: Floats) -> tuple[float | None, float | None]:
    covariance = products / n - np.outer(sums, sums) / n**2
    judges = len(sums)
    own, panel = float(np.trace(covariance)) / judges, float(covariance.sum()) / judges**2
    if own <= 1e-12 or panel <= 1e-12 * own:
        return None, None
    spread = np.sqrt(np.maximum(np.diag(covariance), 1e-300))
    correlation = covariance / np.outer(spread, spread)
    mean = (float(correlation.sum()) - judges) / (judges * (judges - 1))
    return min(float(judges), own / panel), mean


def _within(values: Floats, group: npt.NDArray[np.intp]) -> Floats:
    """Ratings minus the judge's mean over the group."""
    out = np.full(values.shape, np.nan)
    for one in range(int(group.max()) + 1 if len(group) else 0):
        rows = group == one
        known = np.isfinite(values[rows])
        counts = known.sum(axis=0)
        means = np.where(known, values[rows], 0.0).sum(axis=0) / np.maximum(counts, 1)
        out[rows] = values[rows] - means
    return out


@dataclass(frozen=True, slots=True)
class Preference:
    """How much higher a judge rates its own than other judges do, beyond what it gives everybody else."""

    judge: str
    of: Literal["self", "family"]
    estimate: Estimate


def preferences(
    ratings: PanelRatings,
    judge_family: Mapping[str, str],
    subject_family: Mapping[str, str],
    self_of: Mapping[str, str],
) -> list[Preference]:
    """For each judge who wrote some of the replies itself (`self_of`: judge → subject), and for each whose family did
    (itself left out): on every prompt the mean over own replies of (rating − mean of the judges of other families)
    minus the same over the other replies; mean over prompts with a t interval. Severity cancels, and so does a prompt's
    ease."""
    prompt = codes(ratings.prompts)
    severity = np.array([one.value for one in pool(ratings).severity])
    subjects = np.array(ratings.subjects, dtype=object)
    families = np.array([subject_family.get(name, "") for name in ratings.subjects], dtype=object)
    found = []
    for index, judge in enumerate(ratings.judges):
        family = judge_family.get(judge, "")
        others = [
            k
            for k, name in enumerate(ratings.judges)
            if k != index and (judge_family.get(name, "") != family or not family)
        ]
        if not others:
            continue
        known = np.isfinite(ratings.values[:, others])
        sums = np.where(known, ratings.values[:, others], 0.0).sum(axis=1)
        sums = sums - np.where(known, severity[others], 0.0).sum(axis=1)
        counts = known.sum(axis=1)
        gap = np.where(counts > 0, ratings.values[:, index] - sums / np.maximum(counts, 1), np.nan)
        own = subjects == self_of[judge] if judge in self_of else np.zeros(len(gap), dtype=bool)
        kin = (families == family) & ~own if family else np.zeros(len(gap), dtype=bool)
        rest = ~own & ~kin
        kinds: list[tuple[Literal["self", "family"], npt.NDArray[np.bool_]]] = [("self", own), ("family", kin)]
        for kind, group in kinds:
            if group.any():
                values = _contrast(gap, group, rest, prompt)
                found.append(Preference(judge, kind, mean_estimate(judge, values, note="prompts")))
    return found


def _contrast(
    gap: Floats, own: npt.NDArray[np.bool_], rest: npt.NDArray[np.bool_], prompt: npt.NDArray[np.intp]
) -> list[float]:
    """By prompt that has both: mean of the one minus mean of the other."""
    known, size = np.isfinite(gap), int(prompt.max()) + 1
    means = []
    for group in (own & known, rest & known):
        counts = np.bincount(prompt[group], minlength=size)
        sums = np.bincount(prompt[group], gap[group], minlength=size)
        means.append(np.divide(sums, counts, out=np.full(size, np.nan), where=counts > 0))
    both = means[0] - means[1]
    return [float(value) for value in both[np.isfinite(both)]]
