"""What a panel of judges is worth: agreement, the effective number of judges, and whether a judge favours its own.

Prompts are the units: a judge's ratings of replies to one prompt go together, so whole prompts are drawn again."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from eqlab.analysis.agreement import ordinal_alpha, tables_agreement
from eqlab.analysis.arrays import Floats, codes
from eqlab.analysis.bootstrap import Interval
from eqlab.analysis.intervals import FEWEST, mean_estimate
from eqlab.analysis.panel import PanelRatings, pool
from eqlab.core.errors import UsageError
from eqlab.core.results import Estimate

DRAWS = 2000


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
