"""Strengths from pairwise verdicts: Bradley & Terry (1952) with Davidson's (1970) ties and an advantage of the first
place.

    first wins : tie : second wins  =  e^(η/2) : e^τ : e^(−η/2),     η = a_first − a_second + δ

A log-concave likelihood, by Newton's method. Errors come from prompts, not verdicts: a prompt with all its verdicts is
left out at a time (jackknife), which gives every model one pseudo-value per prompt, so that strengths are compared and
ranked like scores. With several judges their spread is added (two-way clusters: Cameron, Gelbach & Miller 2011)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import stdtr, stdtrit

from eqlab.analysis.arrays import Floats
from eqlab.analysis.davidson import Cells, Davidson, check_connected, directions, jackknife
from eqlab.analysis.pairs import Pairwise, pairwise
from eqlab.analysis.ranks import Claim, RankSets, rank_sets
from eqlab.core.errors import UsageError
from eqlab.core.results import Estimate


@dataclass(frozen=True, slots=True, eq=False)
class Verdicts:
    """One row per verdict. `outcome`: 1 if the reply in the first place won, 0 the second, 0.5 a tie."""

    first: Sequence[str]
    second: Sequence[str]
    outcome: npt.ArrayLike
    prompts: Sequence[str]
    judges: Sequence[str] | None = None

    def __post_init__(self) -> None:
        n = len(self.first)
        judges = self.first if self.judges is None else self.judges
        columns = (self.second, np.asarray(self.outcome), self.prompts, judges)
        if any(len(column) != n for column in columns) or n == 0:
            raise UsageError("Verdicts need, one by one, two models, an outcome and a prompt.")
        if not np.isin(np.asarray(self.outcome, dtype=float), (0.0, 0.5, 1.0)).all():
            raise UsageError("A verdict is 1 (the first won), 0 (the second won) or 0.5 (a tie).")
        if any(one == other for one, other in zip(self.first, self.second, strict=True)):
            raise UsageError("A verdict compares two different models.")


@dataclass(frozen=True, slots=True, eq=False)
class Strengths:
    """On the scale of log odds; their mean is 0, or the anchors' scale."""

    names: tuple[str, ...]
    ability: Floats
    table: Floats
    """Models × prompts: pseudo-values, whose mean is the strength up to bias; `paired` and `rank_sets` take them."""
    judge_table: Floats | None
    """Models × judges, likewise; None with one judge."""
    both_table: Floats | None
    """Models × (prompt, judge), likewise."""
    position: Estimate | None
    """δ: what the first place is worth; None if not fitted."""
    tie: float | None
    """τ; None where nobody tied."""
    covariance: Floats
    """Of the strengths if verdicts were independent: for planning alone."""
    verdicts: int
    free: tuple[bool, ...]
    """False: an anchor, not fitted."""

    def estimates(self) -> tuple[Estimate, ...]:
        """Each strength with its 95 % interval over prompts (and judges)."""
        prompts = self.table.shape[1]
        found = []
        for name, value, fitted, row in zip(self.names, self.ability, self.free, range(len(self.names)), strict=True):
            if not fitted:
                found.append(Estimate(name, float(value), prompts, note="anchor", of="prompts"))
                continue
            variance, df = self._spread(np.eye(len(self.names))[row])
            found.append(_estimate(name, float(value), variance, df, prompts))
        return tuple(found)

    def difference(self, one: str, other: str) -> Estimate:
        """Log odds that `one` beats `other`, with its interval."""
        weights = np.zeros(len(self.names))
        weights[self.names.index(one)], weights[self.names.index(other)] = 1.0, -1.0
        variance, df = self._spread(weights)
        return _estimate(f"{one} − {other}", float(weights @ self.ability), variance, df, self.table.shape[1])

    def ranks(self, level: float = 0.95, *, claim: Claim = "each", seed: int = 0) -> RankSets:
        """Rank ranges and who may be first, over prompts (and judges)."""
        return rank_sets(self.table, level, seed=seed, claim=claim, found=self.pairs())

    def pairs(self) -> Pairwise:
        """All pairs on prompts, the judges' spread added to the standard error where there are several."""
        found = pairwise(self.table)
        gap = self.ability[:, None] - self.ability[None, :]
        if self.judge_table is None or self.both_table is None:
            variance, df = found.se**2, np.full(gap.shape, self.table.shape[1] - 1.0)
        else:
            over, both = pairwise(self.judge_table).se ** 2, pairwise(self.both_table).se ** 2
            variance, df = _two_way(found.se**2, over, both, self.table.shape[1], self.judge_table.shape[1])
        se = np.sqrt(variance)
        with np.errstate(invalid="ignore", divide="ignore"):
            p = np.where(gap == 0, 1.0, 2 * stdtr(df, -np.abs(gap / se)))
        p[np.isnan(found.p)] = np.nan
        return Pairwise(gap, se, p, found.n)

    def _spread(self, weights: Floats) -> tuple[float, float]:
        tables = (self.table, self.judge_table, self.both_table)
        return _over([weights @ table for table in tables if table is not None])


def _over(samples: Sequence[Floats]) -> tuple[float, float]:
    """Variance and degrees of freedom of a mean over prompts; with judges and cells, over both."""
    spread = [float(one.var(ddof=1)) / len(one) if len(one) > 1 else 0.0 for one in samples]
    if len(samples) == 1:
        return spread[0], len(samples[0]) - 1.0
    prompts, judges, both = (np.array(one) for one in spread)
    variance, df = _two_way(prompts, judges, both, len(samples[0]), len(samples[1]))
    return float(variance), float(df)


def _two_way(prompts: Floats, judges: Floats, both: Floats, n_prompts: int, n_judges: int) -> tuple[Floats, Floats]:
    """V_prompts + V_judges − V_both, never below either; Satterthwaite's degrees of freedom, so that few judges who
    judge alike cost little and few who do not cost what they must."""
    total = np.maximum(prompts + np.maximum(judges - both, 0.0), judges)
    spent = prompts**2 / max(1, n_prompts - 1) + judges**2 / max(1, n_judges - 1)
    with np.errstate(invalid="ignore", divide="ignore"):
        return total, np.where(spent > 0, total**2 / spent, 1.0)


def _estimate(name: str, value: float, variance: float, df: float, prompts: int) -> Estimate:
    se = float(np.sqrt(variance))
    if df <= 0 or prompts < 5 or se == 0:
        return Estimate(name, value, prompts, se, of="prompts")
    reach = float(stdtrit(df, 0.975)) * se
    return Estimate(name, value, prompts, se, value - reach, value + reach, of="prompts")


def strengths(
    verdicts: Verdicts,
    *,
    position: bool = True,
    anchors: Strengths | Mapping[str, float] | None = None,
    prior_sd: float | None = None,
) -> Strengths:
    """Fit the strengths. `anchors` holds the abilities of models already measured (and, given the former result, its δ
    and τ) where they are: only new models are fitted, so nobody else's number moves. `prior_sd` adds a normal prior on
    strengths; without it, a model that won (or lost) everything has no finite strength and the fit refuses."""
    if isinstance(anchors, Strengths):
        fixed = dict(zip(anchors.names, anchors.ability.tolist(), strict=True))
    else:
        fixed = dict(anchors or {})
    names = tuple(dict.fromkeys([*fixed, *verdicts.first, *verdicts.second]))
    outcome = np.asarray(verdicts.outcome, dtype=float)
    cells = Cells(names, verdicts.first, verdicts.second, outcome, verdicts.prompts, verdicts.judges)
    free = tuple(name not in fixed for name in names)
    check_connected(cells, names, free, prior_sd)
    former = anchors if isinstance(anchors, Strengths) else None
    delta: float | None = None if position else 0.0
    tau: float | None = None if cells.total[:, 1].sum() else -np.inf
    if former is not None:
        delta = former.position.value if former.position else 0.0
        tau = tau if former.tie is None else former.tie
    prior = 0.0 if prior_sd is None else 1 / prior_sd**2
    start = np.array([fixed.get(name, 0.0) for name in names])
    model = Davidson(cells, directions(free), start, delta=delta, tau=tau, prior=prior)
    theta = model.fit(cells.total)
    ability = model.ability(theta)
    information = model.information(theta, cells.total)
    table, delta_table = jackknife(model, theta, information, cells.by_prompt, cells.n_prompts)
    judge_table = both_table = None
    deltas = [delta_table]
    if cells.n_judges > 1:
        judge_table, by_judge = jackknife(model, theta, information, cells.by_judge, cells.n_judges)
        both_table, by_both = jackknife(model, theta, information, cells.by_both, cells.n_both)
        deltas += [by_judge, by_both]
    inverse = np.linalg.inv(information)
    covariance = model.basis @ inverse[: model.k, : model.k] @ model.basis.T
    place = former.position if former is not None else None
    if model.delta is None:
        variance, df = _over(deltas)
        place = _estimate("first place", float(theta[model.k]), variance, df, cells.n_prompts)
    tie = float(theta[-1]) if model.tau is None else (None if np.isinf(model.tau) else float(model.tau))
    return Strengths(names, ability, table, judge_table, both_table, place, tie, covariance, len(verdicts.first), free)
