"""Several judges, one result: each judge's severity taken out, judges left out one by one, the most disputed replies;
and what the panel is worth: its agreement, its effective number of judges, whether a judge favours its own.

Ratings are a replies × judges array, NaN where a judge did not rate. rating = reply + severity + rest, by least squares
with the severities summing to 0 (two-way additive model; Searle 1971), so a reply that only mild judges saw gains
nothing by it. Every reply belongs to a prompt and to the subject who wrote it; prompts are the units of all intervals:
a judge's ratings of replies to one prompt go together."""

from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np
import numpy.typing as npt

from eqlab.analysis.agreement import ordinal_alpha, tables_agreement
from eqlab.analysis.arrays import Floats, Ints, codes, count_levels
from eqlab.analysis.bootstrap import Interval
from eqlab.analysis.intervals import FEWEST, t_bounds
from eqlab.analysis.pairwise import Pairwise, pairwise
from eqlab.analysis.ranks import rank_sets
from eqlab.analysis.two_way import TwoWay, as_pairwise, over_judges, two_way
from eqlab.core.errors import UsageError
from eqlab.core.results import Estimate
from eqlab.core.values import dataclass

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
    estimates = _jackknife(normal, right, severity, ratings.judges)
    table = _table(replies, prompt, [names.index(one) for one in ratings.subjects], (len(names), len(prompts)))
    return Pooled(replies, estimates, residuals, names, tuple(prompts), table)


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


@dataclass(frozen=True, slots=True, eq=False)
class Differences:
    """Every two subjects, row minus column; prompts and judges are both taken for samples."""

    pairs: Pairwise
    spread: TwoWay
    apart: npt.NDArray[np.bool_]
    """apart[a, b]: a is rated better than b; all pairs at once, with 95 %."""

    def estimate(self, one: int, other: int) -> Estimate:
        """With its own 95 % interval, not corrected for other pairs."""
        value, n = float(self.pairs.difference[one, other]), int(self.pairs.n[one, other])
        se = float(self.pairs.se[one, other])
        if n == 0:
            return Estimate("difference", None, 0, of="prompts")
        if n < FEWEST or not se > 0:
            return Estimate("difference", value, n, of="prompts")
        reach = float(self.spread.quantile(0.025)[one, other]) * se
        return Estimate("difference", value, n, se, value - reach, value + reach, of="prompts")


def differences(ratings: PanelRatings, pooled: Pooled) -> Differences:
    """By the verdict's rule: paired over prompts, all pairs at once; and with the judges' own tastes in the error, as
    far as the judges who rated both tell them. Nothing is said of two that fewer than two judges rated both."""
    found = pairwise(pooled.table)
    severity = np.array([estimate.value for estimate in pooled.severity])
    prompt, names = codes(ratings.prompts), list(pooled.subjects)
    subject = [names.index(one) for one in ratings.subjects]
    by_judge = np.stack(
        [
            _table(column, prompt, subject, pooled.table.shape)
            for column in (ratings.values - severity).T  # severity cancels where a judge rated both
        ]
    )
    variance, df = over_judges(_means_on_shared(by_judge))
    spread = two_way(found.se**2, variance, _cells(by_judge), pooled.table.shape[1], df)
    pairs = as_pairwise(found.difference, spread, found.n)
    pairs.p[np.isnan(found.p) | np.isnan(variance)] = np.nan
    certain = np.nan_to_num(pairs.p, nan=1.0) < 0.05
    above = certain & (pairs.difference > 0)
    if len(names) > 2:
        above &= rank_sets(pooled.table, claim="all", found=pairs).above
    return Differences(pairs, spread, np.asarray(above))


def _means_on_shared(by_judge: Floats) -> Floats:
    """Subjects × judges: the mean over the prompts on which a judge rated every subject that it rated at all, so that
    differences are paired."""
    made = np.full(by_judge.shape[1::-1], np.nan)
    for judge, table in enumerate(by_judge):
        seen = np.isfinite(table).any(axis=1)
        shared = np.isfinite(table[seen]).all(axis=0)
        if seen.any() and shared.any():
            made[seen, judge] = table[seen][:, shared].mean(axis=1)
    return made


def _cells(by_judge: Floats) -> Floats:
    """For every two subjects the variance of their difference that neither prompts nor judges explain: the residual of
    the prompts × judges table of differences, as part of its mean; 0 where it cannot be told."""
    judges, subjects, _ = by_judge.shape
    made = np.zeros((subjects, subjects))
    for one in range(subjects):
        for other in range(one):
            gaps = by_judge[:, one] - by_judge[:, other]
            gaps = gaps[:, np.isfinite(gaps).all(axis=0)]
            n = gaps.shape[1]
            if judges < 2 or n < 2:
                continue
            rest = gaps - gaps.mean(axis=0) - gaps.mean(axis=1, keepdims=True) + gaps.mean()
            made[one, other] = made[other, one] = float((rest**2).sum()) / ((n - 1) * (judges - 1)) / (n * judges)
    return made


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
    ratings: PanelRatings, people: Floats | None = None, draws: int = DRAWS, seed: int = 0
) -> Effective:
    """J_eff = mean variance of a judge's error ÷ variance of the panel's mean error = J / (1 + (J − 1)·r̄) for equal
    variances (Kish 1965). A judge's error is its rating minus the mean of people's (`people`: replies × people, NaN
    where one did not rate), or, without people, minus the mean of its ratings of that subject; severities do not count.
    Only replies that all judges rated are used, and at least two people: what their mean errs by itself would be an
    error that all judges share, and is taken out of every covariance (`_noise`)."""
    values = ratings.values
    judges = values.shape[1]
    of: Literal["errors", "ratings"] = "ratings" if people is None else "errors"
    if people is None:
        errors = _within(values, codes(ratings.subjects))
    else:
        count = np.isfinite(people).sum(axis=1, keepdims=True)
        errors = values - np.where(count > 1, np.nansum(people, axis=1, keepdims=True) / np.maximum(count, 1), np.nan)
    full = np.asarray(np.isfinite(errors).all(axis=1))
    errors, prompt = errors[full], codes([p for p, kept in zip(ratings.prompts, full.tolist(), strict=True) if kept])
    units = count_levels(prompt)
    if judges < 2 or units < FEWEST:
        return Effective(judges, None, None, None, None, units, of)
    # by prompt: count, sums and products, from which any weighting gives the covariance
    counts = np.bincount(prompt, minlength=units).astype(float)
    sums, products = np.zeros((units, judges)), np.zeros((units, judges, judges))
    np.add.at(sums, prompt, errors)
    np.add.at(products, prompt, errors[:, :, None] * errors[:, None, :])
    leanings = np.zeros((units, 0))
    if people is not None:
        noise, leaning = _noise(people[full])
        np.add.at(products, prompt, -noise[:, None, None])
        leanings = np.zeros((units, leaning.shape[1]))
        np.add.at(leanings, prompt, leaning)

    def worth(weight: Floats) -> tuple[float | None, float | None]:
        n, lean = float(weight @ counts), weight @ leanings
        mean = weight @ sums / n
        covariance = np.tensordot(weight, products, 1) / n - np.outer(mean, mean) + float(lean @ lean) / n**2
        return _worth(covariance)

    value, correlation = worth(np.ones(units))
    chosen = np.random.default_rng(seed).integers(0, units, size=(draws, units))
    drawn = [worth(np.bincount(pick, minlength=units).astype(float))[0] for pick in chosen]
    usable = np.array([one for one in drawn if one is not None])
    if value is None or len(usable) < 100:
        return Effective(judges, value, None, None, correlation, units, of)
    low, high = np.quantile(usable, [0.025, 0.975])
    return Effective(judges, value, float(low), float(high), correlation, units, of)


def _noise(people: Floats) -> tuple[Floats, Floats]:
    """By reply the variance s²/k of the mean of its k ratings; and by reply and person what that person's leaning adds
    to all replies' sum. Who leans one way on every reply moves all replies alike, which is no noise between them: the
    squares of these sums, one per person, are the variance of the grand mean, clustered by person."""
    known = np.isfinite(people)
    count = known.sum(axis=1, keepdims=True)
    rest = np.where(known, people - np.nansum(people, axis=1, keepdims=True) / count, 0.0)
    return (rest**2).sum(axis=1) / (count * (count - 1))[:, 0], rest / np.sqrt(count * (count - 1))


def _worth(covariance: Floats) -> tuple[float | None, float | None]:
    """The number, and the mean correlation of two judges. Where no shared error is left, it is all of them."""
    judges = len(covariance)
    own, panel = float(np.trace(covariance)) / judges, float(covariance.sum()) / judges**2
    if own <= 1e-12:
        return None, None
    spread = np.sqrt(np.maximum(np.diag(covariance), 1e-300))
    correlation = covariance / np.outer(spread, spread)
    mean = (float(correlation.sum()) - judges) / (judges * (judges - 1))
    return own / max(panel, own / judges), mean


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
    """How much higher a judge rates its own than its severity and the others' ratings of the same replies let expect;
    judged by how far judges' tastes for subjects go where nobody rates its own."""

    judge: str
    of: Literal["self", "family"]
    estimate: Estimate
    """The interval holds for all that are listed at once; None where too few other judgements show what tastes are."""
    taste: float | None
    """Standard deviation of a judge's mean rating of a subject around what severity and level say, own ones left out:
    tastes, and what is left of the error."""


def preferences(
    ratings: PanelRatings,
    judge_family: Mapping[str, str],
    subject_family: Mapping[str, str],
    self_of: Mapping[str, str],
) -> list[Preference]:
    """For each judge who wrote some of the replies itself (`self_of`: judge → subject), and for each whose family did
    (itself left out). The subjects × judges table of mean ratings without all such cells is fitted by severity + level;
    a preference is an own cell minus what the fit says of it, and its error is the residual error of a new cell,
    s·√(1 + x′(X′X)⁻¹x), Student's t with the residual degrees of freedom: an outlier test. Judges have tastes for
    subjects, whoever wrote them; a mean over many prompts alone would take every such taste for a preference."""
    pooled = pool(ratings)
    subjects = list(pooled.subjects)
    subject = np.array([subjects.index(one) for one in ratings.subjects])
    table = np.full((len(subjects), len(ratings.judges)), np.nan)
    for place in range(len(subjects)):
        own = pooled.residuals[subject == place]  # a reply's own level is taken out: who saw easy prompts gains nothing
        known = np.isfinite(own)
        with np.errstate(invalid="ignore"):
            table[place] = np.where(known, own, 0.0).sum(axis=0) / np.where(
                known.any(axis=0), known.sum(axis=0), np.nan
            )
    groups: list[tuple[str, Literal["self", "family"], list[int]]] = []
    held = np.zeros(table.shape, dtype=bool)
    for column, judge in enumerate(ratings.judges):
        family = judge_family.get(judge, "")
        mine = [subjects.index(self_of[judge])] if self_of.get(judge) in subjects else []
        kin = [
            place
            for place, name in enumerate(subjects)
            if family and subject_family.get(name, "") == family and place not in mine
        ]
        kinds: tuple[tuple[Literal["self", "family"], list[int]], ...] = (("self", mine), ("family", kin))
        for kind, places in kinds:
            if places:
                groups.append((judge, kind, places))
                held[places, column] = True
    return _outliers(table, held, groups, ratings)


def _outliers(
    table: Floats,
    held: npt.NDArray[np.bool_],
    groups: Sequence[tuple[str, Literal["self", "family"], list[int]]],
    ratings: PanelRatings,
) -> list[Preference]:
    design = _additive(*table.shape)
    use = (np.isfinite(table) & ~held).ravel()
    rows = design[use]
    df = int(use.sum()) - int(np.linalg.matrix_rank(rows)) if use.any() else 0
    inverse = np.linalg.pinv(rows.T @ rows) if use.any() else np.zeros((design.shape[1],) * 2)
    fit = inverse @ rows.T @ table.ravel()[use]
    squares = float(((table.ravel()[use] - rows @ fit) ** 2).sum()) if use.any() else 0.0
    spread = squares / df if df > 0 else None
    n = len(set(ratings.prompts))
    found = []
    for judge, kind, places in groups:
        at = [place * table.shape[1] + list(ratings.judges).index(judge) for place in places]
        x = design[at].mean(axis=0)
        seen = bool(np.isfinite(table.ravel()[at]).all())
        fitted = np.allclose(rows.T @ rows @ inverse @ x, x, atol=1e-8)  # whether the others tell of such a cell
        if not (seen and fitted):
            found.append(Preference(judge, kind, Estimate(judge, None, n, note=UNKNOWN, of="prompts"), None))
            continue
        value = float(table.ravel()[at].mean() - x @ fit)
        if spread is None or spread <= 0:
            found.append(Preference(judge, kind, Estimate(judge, value, n, note=UNKNOWN, of="prompts"), None))
            continue
        se = float(np.sqrt(spread * (1 / len(at) + x @ inverse @ x)))
        low, high = t_bounds(value, se, df, 1 - 0.05 / len(groups))
        found.append(
            Preference(judge, kind, Estimate(judge, value, n, se, low, high, of="prompts"), float(np.sqrt(spread)))
        )
    return found


UNKNOWN = "too few other judges and subjects to tell it from a taste"


def _additive(subjects: int, judges: int) -> Floats:
    """One row a cell of the subjects × judges table, in its order: which subject, which judge."""
    return np.hstack([np.repeat(np.eye(subjects), judges, axis=0), np.tile(np.eye(judges), (subjects, 1))])
