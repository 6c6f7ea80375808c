"""Strengths from pairwise verdicts: Bradley & Terry (1952) with Davidson's (1970) ties and an advantage of the first
place; and which pair to compare next.

    first wins : tie : second wins  =  e^(η/2) : e^τ : e^(−η/2),     η = a_first − a_second + δ

A log-concave likelihood, by Newton's method. Errors come from prompts, not verdicts: a prompt with all its verdicts is
left out at a time (jackknife), which gives every model one pseudo-value per prompt, so that strengths are compared and
ranked like scores. With several judges their spread is added (`two_way`)."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from eqlab.analysis.arrays import Floats, Ints, codes, count_levels
from eqlab.analysis.ordinal_likelihood import FitError
from eqlab.analysis.pairwise import Pairwise, pairwise
from eqlab.analysis.ranks import Claim, RankSets, rank_sets
from eqlab.analysis.special import ndtr
from eqlab.analysis.two_way import TwoWay, as_pairwise, over_judges, tastes, two_way
from eqlab.core.errors import UsageError
from eqlab.core.results import Estimate
from eqlab.core.values import dataclass

# at a time. Used by bradley_terry.py.
_STEPS = 100

FEWEST_PROMPTS = 5
"""With fewer there is no interval."""


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

    def estimates(self, level: float = 0.95) -> tuple[Estimate, ...]:
        """Each strength with its interval over prompts (and judges)."""
        prompts = self.table.shape[1]
        found = []
        for name, value, fitted, row in zip(self.names, self.ability, self.free, range(len(self.names)), strict=True):
            if not fitted:
                found.append(Estimate(name, float(value), prompts, note="anchor", of="prompts"))
                continue
            found.append(_estimate(name, float(value), self._spread(np.eye(len(self.names))[row]), prompts, level))
        return tuple(found)

    def difference(self, one: str, other: str, level: float = 0.95) -> Estimate:
        """Log odds that `one` beats `other`, with its interval."""
        weights = np.zeros(len(self.names))
        weights[self.names.index(one)], weights[self.names.index(other)] = 1.0, -1.0
        value, prompts = float(weights @ self.ability), self.table.shape[1]
        return _estimate(f"{one} − {other}", value, self._spread(weights), prompts, level)

    def ranks(self, level: float = 0.95, *, claim: Claim = "each", seed: int = 0) -> RankSets:
        """Rank ranges and who may be first, over prompts (and judges)."""
        return rank_sets(self.table, level, seed=seed, claim=claim, found=self.pairs())

    def pairs(self) -> Pairwise:
        """All pairs on prompts, the judges' spread added to the standard error where there are several."""
        found = pairwise(self.table)
        gap = self.ability[:, None] - self.ability[None, :]
        over, df = np.zeros(gap.shape), np.ones(gap.shape)
        cells = over
        if self.judge_table is not None and self.both_table is not None:
            over, df = over_judges(self.judge_table)
            cells = pairwise(self.both_table).se ** 2
        made = as_pairwise(gap, two_way(found.se**2, over, cells, self.table.shape[1], df), found.n)
        made.p[np.isnan(found.p)] = np.nan
        return made

    def _spread(self, weights: Floats) -> TwoWay:
        tables = (self.table, self.judge_table, self.both_table)
        common, df = tastes(self.judge_table) if self.judge_table is not None and all(self.free) else (0.0, 1.0)
        own = weights - weights.mean()  # strengths have the mean 0
        return _over([weights @ table for table in tables if table is not None], common * float(own @ own), df)


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
        place = _estimate("first place", float(theta[model.k]), _over(deltas), cells.n_prompts)
    tie = float(theta[-1]) if model.tau is None else (None if np.isinf(model.tau) else float(model.tau))
    return Strengths(names, ability, table, judge_table, both_table, place, tie, covariance, len(verdicts.first), free)


def _over(samples: Sequence[Floats], tastes: float = 0.0, df_tastes: float = 1.0) -> TwoWay:
    """The spread of a mean over prompts; with judges and cells, over both. `tastes`: the variance of one judge's part
    as it is with all models, if that is known."""
    prompts, judges, cells = [
        *(float(sample.var(ddof=1)) / len(sample) if len(sample) > 1 else 0.0 for sample in samples),
        0.0,
        0.0,
    ][:3]
    if len(samples) == 1:
        return two_way(np.array(prompts), np.array(0.0), np.array(0.0), len(samples[0]), 1.0)
    count = len(samples[1])
    more = tastes / count > judges
    df = df_tastes if more else float(max(1, count - 1))
    return two_way(np.array(prompts), np.array(max(judges, tastes / count)), np.array(cells), len(samples[0]), df)


def _estimate(name: str, value: float, spread: TwoWay, prompts: int, level: float = 0.95) -> Estimate:
    se = float(spread.se)
    if prompts < FEWEST_PROMPTS or se == 0:
        return Estimate(name, value, prompts, se, of="prompts")
    reach = float(spread.quantile((1 - level) / 2)) * se
    return Estimate(name, value, prompts, se, value - reach, value + reach, of="prompts")


class Cells:
    """Verdicts counted by ordered pair and outcome (first wins, tie, second wins), in all and by prompt and judge."""

    def __init__(
        self,
        names: tuple[str, ...],
        first_names: Sequence[str],
        second_names: Sequence[str],
        outcome: Floats,
        prompts: Sequence[str],
        judges: Sequence[str] | None,
    ) -> None:
        place = {name: index for index, name in enumerate(names)}
        first = np.array([place[name] for name in first_names], dtype=np.intp)
        second = np.array([place[name] for name in second_names], dtype=np.intp)
        column = np.where(outcome == 1, 0, np.where(outcome == 0.5, 1, 2))
        pairs, cell = np.unique(first * len(names) + second, return_inverse=True)
        self.first, self.second = pairs // len(names), pairs % len(names)
        at = (cell * 3 + column).astype(np.intp)
        self.total: Floats = np.bincount(at, minlength=3 * len(pairs)).reshape(-1, 3).astype(float)
        prompt = codes(prompts)
        self.n_prompts = count_levels(prompt)
        self.by_prompt = _counts(prompt, at, (self.n_prompts, 3 * len(pairs)))
        judge = np.zeros_like(prompt) if judges is None else codes(judges)
        self.n_judges = count_levels(judge)
        self.by_judge = _counts(judge, at, (self.n_judges, 3 * len(pairs)))
        both = np.unique(prompt * self.n_judges + judge, return_inverse=True)[1].astype(np.intp)
        self.n_both = count_levels(both)
        self.by_both = _counts(both, at, (self.n_both, 3 * len(pairs)))


class Davidson:
    """The likelihood, its gradient and information in θ = (free strengths, δ if fitted, τ if fitted)."""

    def __init__(
        self, cells: Cells, basis: Floats, fixed: Floats, *, delta: float | None, tau: float | None, prior: float
    ) -> None:
        self.basis, self.fixed, self.delta, self.tau, self.k = basis, fixed, delta, tau, basis.shape[1]
        rows = basis[cells.first] - basis[cells.second]
        self.x: Floats = np.column_stack([rows, np.ones(len(rows))]) if delta is None else rows
        self._offset = fixed[cells.first] - fixed[cells.second] + (delta or 0.0)
        self.prior = np.zeros(self.size)
        self.prior[: self.k] = prior

    @property
    def size(self) -> int:
        return int(self.k) + (self.delta is None) + (self.tau is None)

    def ability(self, theta: Floats) -> Floats:
        return np.asarray(self.fixed + self.basis @ theta[: self.k])

    def _shares(self, theta: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        eta = self._offset + self.x @ theta[: self.x.shape[1]]
        tau = theta[-1] if self.tau is None else self.tau
        top = np.maximum(np.abs(eta) / 2, tau)
        win, lose, tie = np.exp(eta / 2 - top), np.exp(-eta / 2 - top), np.exp(tau - top)
        total = win + lose + tie
        return win / total, tie / total, lose / total, np.log(total) + top

    def loglik(self, theta: Floats, counts: Floats) -> float:
        eta = self._offset + self.x @ theta[: self.x.shape[1]]
        tau = theta[-1] if self.tau is None else (0.0 if np.isinf(self.tau) else self.tau)
        value = (counts[:, 0] - counts[:, 2]) @ eta / 2 + counts[:, 1].sum() * tau
        return float(value - counts.sum(axis=1) @ self._shares(theta)[3] - self.prior @ theta**2 / 2)

    def scores(self, theta: Floats, counts: Floats) -> Floats:
        """Gradient of counts, shape … × cells × 3; without the prior."""
        win, tie, lose, _ = self._shares(theta)
        n = counts.sum(axis=-1)
        along = (counts[..., 0] - counts[..., 2]) / 2 - n * (win - lose) / 2
        by_x = along @ self.x
        if self.tau is not None:
            return np.asarray(by_x)
        return np.concatenate([by_x, (counts[..., 1] - n * tie).sum(axis=-1, keepdims=True)], axis=-1)

    def information(self, theta: Floats, counts: Floats) -> Floats:
        """Minus the Hessian for each leading index of counts, with the prior."""
        win, tie, lose, _ = self._shares(theta)
        n = counts.sum(axis=-1)
        weight = n * (win + lose - (win - lose) ** 2) / 4
        width = self.x.shape[1]
        found = np.zeros((*n.shape[:-1], self.size, self.size))
        found[..., :width, :width] = np.einsum("...c,ci,cj->...ij", weight, self.x, self.x, optimize=True)
        if self.tau is None:
            cross = -(n * (win - lose) / 2 * tie) @ self.x
            found[..., :width, -1] = cross
            found[..., -1, :width] = cross
            found[..., -1, -1] = (n * tie * (1 - tie)).sum(axis=-1)
        return found + np.diag(self.prior)

    def fit(self, counts: Floats) -> Floats:
        theta = np.zeros(self.size)
        height = self.loglik(theta, counts)
        for _ in range(_STEPS):
            gradient = self.scores(theta, counts) - self.prior * theta
            information = self.information(theta, counts)
            if np.linalg.eigvalsh(information)[0] < 1e-9 * max(1.0, float(np.trace(information))):
                raise self._unidentified(counts)
            step = np.linalg.solve(information, gradient)
            if float(gradient @ step) < 1e-18 * (1 + abs(height)):
                return theta
            scale = 1.0
            while (ahead := self.loglik(theta + scale * step, counts)) < height - 1e-12 * abs(height):
                scale /= 2
                if scale < 1e-10:
                    return theta
            theta, height = theta + scale * step, ahead
        raise FitError("The strengths did not converge.", "Give a prior_sd.")

    def _unidentified(self, counts: Floats) -> FitError:
        if not counts[:, ::2].any():
            return FitError("The verdicts cannot identify the strengths: all are ties.", "Compare more pairs.")
        if np.linalg.matrix_rank(self.x) < self.x.shape[1]:
            return FitError(
                "The verdicts cannot identify the strengths: a pair was shown in one order only.",
                "Show each pair in both orders, or fit without the first place's advantage.",
            )
        return FitError(
            "The verdicts cannot identify the strengths: they go so much one way that a strength, or what the first "
            "place is worth, has no end.",
            "Compare more pairs.",
        )


def jackknife(model: Davidson, theta: Floats, information: Floats, counts: Any, units: int) -> tuple[Floats, Floats]:
    """Pseudo-values n·θ̂ − (n − 1)·θ̂₍₋ᵢ₎ of strengths (models × units) and of δ, each unit left out by one Newton step
    with its own information taken away. A unit whose absence leaves the model unidentified counts by its gradient."""
    moved = np.empty((units, model.size))
    step = max(1, 2_000_000 // max(1, counts.shape[1]))
    for start in range(0, units, step):
        part = counts[start : start + step].toarray().reshape(-1, counts.shape[1] // 3, 3)
        gradient = model.scores(theta, part)
        rest = information - model.information(theta, part) + np.diag(model.prior)
        weak = np.linalg.eigvalsh(rest)[:, 0] < 1e-6 * np.linalg.eigvalsh(information)[0]
        rest[weak] = information
        moved[start : start + step] = np.linalg.solve(rest, gradient[..., None])[..., 0]
    pseudo = theta + (units - 1) * moved
    delta = pseudo[:, model.k] if model.delta is None else np.zeros(units)
    return np.asarray(model.fixed[:, None] + model.basis @ pseudo[:, : model.k].T), delta


def directions(free: tuple[bool, ...]) -> Floats:
    """Directions in which strengths may move: all with sum 0, or, with anchors, the new ones each by itself."""
    count = len(free)
    if not all(free):
        return np.asarray(np.eye(count)[:, [index for index in range(count) if free[index]]])
    return np.asarray(np.linalg.svd(np.eye(count) - 1.0 / count)[0][:, : count - 1])


def check_connected(cells: Cells, names: tuple[str, ...], free: tuple[bool, ...], prior: float | None) -> None:
    """Finite strengths need that no group of models won, or lost, all its verdicts against the rest (Ford 1957)."""
    if not any(free):
        raise UsageError("There is no new model to fit: all are anchors.")
    if prior is not None:
        return
    from scipy import sparse
    from scipy.sparse.csgraph import connected_components

    anchor = len(names)  # all anchors count as one
    node = np.array([index if fitted else anchor for index, fitted in enumerate(free)])
    beats: list[tuple[int, int]] = []
    for one, other, (win, tie, lose) in zip(node[cells.first], node[cells.second], cells.total, strict=True):
        beats += [(int(one), int(other))] * bool(win + tie) + [(int(other), int(one))] * bool(lose + tie)
    graph = sparse.csr_array((np.ones(len(beats)), tuple(np.array(beats).T)), shape=(anchor + 1, anchor + 1))
    _, group = connected_components(graph, directed=True, connection="strong")
    used = np.unique(node)
    if len(set(group[used].tolist())) > 1:
        counts = np.bincount(group[used])
        lonely = [names[index] for index in used if index < anchor and counts[group[index]] < counts.max()]
        raise FitError(
            f"No finite strength: {', '.join(lonely[:3]) or 'some models'} won or lost everything against the others.",
            "Compare more pairs, or give a prior_sd.",
        )


def _counts(rows: Ints, columns: Ints, shape: tuple[int, int]) -> Any:
    from scipy import sparse

    return sparse.csr_array((np.ones(len(rows)), (rows, columns)), shape=shape)


# and so narrow the rank ranges; until the ranges are as narrow as wanted.
@dataclass(frozen=True, slots=True)
class NextPair:
    """What to compare now."""

    first: str
    second: str
    gain: float
    """Pairs more that this batch is expected to decide."""


@dataclass(frozen=True, slots=True)
class PairPlan:
    pairs: tuple[NextPair, ...]
    width: float
    """Mean width of the rank ranges now: how many ranks a model may have."""
    stop: bool
    """Whether the ranges are as narrow as wanted."""


def next_pairs(
    found: Strengths,
    count: int = 4,
    *,
    batch: int = 20,
    width: float | None = None,
    only: Sequence[tuple[str, str]] | None = None,
    seed: int = 0,
) -> PairPlan:
    """The pairs whose verdicts would most likely decide pairs that are still open, and so narrow the rank ranges:
    `count` batches of `batch` verdicts each (a prompt in both orders is two), or none if the mean width is at most
    `width`. `only` names the pairs to choose from.

    The covariance of strengths over prompts is known, and what a verdict between i and j would take off it too: with
    Fisher's information λ of a verdict (as it counts given the spread between prompts), Σ ← Σ − λΣxx′Σ/(1 + λx′Σx),
    x = e_i − e_j. An open pair is decided when its t exceeds the bound, whose chance is Φ(|d|/se − c); pairs are chosen
    one by one for the greatest gain in that (greedy, as in optimal design: Fedorov 1972)."""
    sets = found.ranks(seed=seed)
    mean = float(np.mean([high - low + 1 for low, high in sets.ranges]))
    if width is not None and mean <= width:
        return PairPlan((), mean, True)
    place = {name: index for index, name in enumerate(found.names)}
    candidates = (
        [(place[one], place[other]) for one, other in only]
        if only is not None
        else [(i, j) for i in range(len(place)) for j in range(i + 1, len(place)) if found.free[i] or found.free[j]]
    )
    covariance = np.cov(found.table) / found.table.shape[1]
    inflation = _inflation(covariance, found.covariance)
    bound = _bound(found)
    chosen = []
    for _ in range(count):
        gains = [
            _gain(found.ability, covariance, bound, pair, batch * _information(found, pair) / inflation)
            for pair in candidates
        ]
        if not gains or max(gains) <= 0:
            break
        best = int(np.argmax(gains))
        pair = candidates[best]
        chosen.append(NextPair(found.names[pair[0]], found.names[pair[1]], float(gains[best])))
        covariance = _after(covariance, pair, batch * _information(found, pair) / inflation)
    return PairPlan(tuple(chosen), mean, False)


def _information(found: Strengths, pair: tuple[int, int]) -> float:
    """Of one verdict for the difference, in either order."""
    eta = float(found.ability[pair[0]] - found.ability[pair[1]])
    tie = 0.0 if found.tie is None else float(np.exp(found.tie))
    win, lose = np.exp(eta / 2), np.exp(-eta / 2)
    total = win + lose + tie
    return float(((win + lose) / total - ((win - lose) / total) ** 2) / 4)


def _inflation(robust: Floats, plain: Floats) -> float:
    """How much less a verdict tells than an independent one, as several verdicts come from one prompt; at least 1."""
    scale = float(np.trace(plain))
    return max(1.0, float(np.trace(robust)) / scale) if scale > 0 else 1.0


def _bound(found: Strengths) -> float:
    """The normal bound for one model's differences to all others, by Bonferroni: near the bootstrap's, and quick."""
    from eqlab.analysis.special import ndtri

    return float(-ndtri(0.025 / max(1, len(found.names) - 1)))


def _gain(ability: Floats, covariance: Floats, bound: float, pair: tuple[int, int], information: float) -> float:
    gap = np.abs(ability[:, None] - ability[None, :])
    chances = []
    for one in (covariance, _after(covariance, pair, information)):
        spread = np.diag(one)[:, None] + np.diag(one)[None, :] - 2 * one
        with np.errstate(divide="ignore", invalid="ignore"):
            chances.append(np.where(spread > 0, ndtr(gap / np.sqrt(np.maximum(spread, 1e-300)) - bound), 0.0))
    return float((chances[1] - chances[0]).sum() / 2)


def _after(covariance: Floats, pair: tuple[int, int], information: float) -> Floats:
    along = covariance[:, pair[0]] - covariance[:, pair[1]]
    return np.asarray(
        covariance - information * np.outer(along, along) / (1 + information * (along[pair[0]] - along[pair[1]]))
    )
