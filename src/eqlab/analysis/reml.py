"""Variance components by restricted maximum likelihood: random factors crossed in any way, their crossings too, cells
missing at will; and effects of a fixed factor (listeners, say) with intervals that generalise over the random ones.

y = Xβ + Σ Z_t b_t + e, b_t ~ N(0, σ_t²): REML (Patterson & Thompson 1971; Searle, Casella & McCulloch 1992, ch. 6) from
MIVQUE(0) starts (Rao 1971), with the expected information ½tr(PV_iPV_j). Balanced and inside the parameter space it is
the analysis of variance. Intervals of a variance by Satterthwaite's χ², of effects by his t (Fai & Cornelius 1996)."""

import math
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from eqlab.analysis.arrays import Floats, Labels, codes, count_levels
from eqlab.analysis.crossed import Factor, Layout, Term
from eqlab.analysis.special import chdtri, stdtrit
from eqlab.core.errors import UsageError
from eqlab.core.values import dataclass

RESIDUAL = "residual"
_FLOOR = 1e-10
"""Ratio to the residual variance below which a component is 0."""
_LARGEST = 6000
"""Levels of all terms together that the information matrix is computed for; beyond, there are no intervals."""


@dataclass(frozen=True, slots=True)
class Effect:
    """A fixed effect or a contrast of several, with a 95 % t interval over the random factors."""

    name: str
    value: float
    se: float
    df: float
    low: float
    high: float


@dataclass(frozen=True, slots=True, eq=False)
class Variances:
    """Components by term, the residual last."""

    n: int
    levels: Mapping[str, int]
    variance: Mapping[str, float]
    covariance: Floats | None
    """Of the variances, in their order; from the expected information. None with too many levels."""
    criterion: float
    """−2 × the restricted log-likelihood, without its constant."""
    names: tuple[str, ...]
    beta: Floats
    beta_covariance: Floats
    _pull: Floats
    """∂Var(β̂)/∂σ_t², term × effect × effect."""

    @property
    def share(self) -> dict[str, float | None]:
        """Of the variance of one value; None if nothing varies."""
        total = sum(self.variance.values())
        return {name: value / total if total > 0 else None for name, value in self.variance.items()}

    def df(self, name: str) -> float | None:
        """Degrees of freedom that the estimate is worth, 2·σ⁴/Var(σ̂²); None for an estimate of 0."""
        value, at = self.variance[name], list(self.variance).index(name)
        return None if self.covariance is None or value <= 0 else 2 * value**2 / float(self.covariance[at, at])

    def interval(self, name: str, confidence: float = 0.95) -> tuple[float, float] | None:
        """σ̂²·df/χ²; None where the estimate is 0 or worth less than half a degree of freedom, so that nothing can be
        said (two speakers tell next to nothing of all speakers)."""
        df = self.df(name)
        if df is None or df < 0.5:
            return None
        tail, value = (1 - confidence) / 2, self.variance[name]
        return float(value * df / chdtri(df, tail)), float(value * df / chdtri(df, 1 - tail))

    def effect(self, weights: Mapping[str, float], name: str = "") -> Effect | None:
        """Σ weight · effect, such as {"a": 1, "b": −1}. None where its error cannot be told."""
        unknown = set(weights) - set(self.names)
        if unknown:
            raise UsageError(f"No fixed effect {sorted(unknown)[0]!r}; there are {', '.join(self.names)}.")
        c = np.array([weights.get(one, 0.0) for one in self.names])
        spread = float(c @ self.beta_covariance @ c)
        if self.covariance is None or spread <= 0:
            return None
        slope = np.einsum("i,tij,j->t", c, self._pull, c)
        df = 2 * spread**2 / float(slope @ self.covariance @ slope)
        value, se = float(c @ self.beta), math.sqrt(spread)
        reach = float(stdtrit(df, 0.975)) * se
        return Effect(name or " ".join(weights), value, se, df, value - reach, value + reach)


def variances(
    values: npt.ArrayLike,
    factors: Mapping[str, Labels],
    terms: Sequence[str] | None = None,
    fixed: str | None = None,
) -> Variances | None:
    """`terms` are names of factors or crossings such as "listener:persona"; without them, every factor but the fixed
    one. `fixed` names a factor each level of which has its own mean (the effects are then named by its levels, else
    there is one, "mean"). None where the terms cannot be told apart from each other or from the residual."""
    from scipy.optimize import minimize

    y = np.asarray(values, dtype=float)
    if y.ndim != 1 or not np.isfinite(y).all() or any(len(labels) != len(y) for labels in factors.values()):
        raise UsageError("Variance components need one finite value, and one level of every factor, per answer.")
    wanted = [name for name in factors if name != fixed] if terms is None else list(terms)
    random = [_term(name, factors) for name in wanted]
    x, names = _fixed(factors, fixed, len(y))
    rank = int(np.linalg.matrix_rank(x))
    if len(y) <= rank + len(random) or rank < x.shape[1]:
        return None
    first = _mivque(y, x, random)
    if first is None:
        return None
    model = _Model(y, x, Layout(random))
    ratios = np.clip(first[:-1] / max(float(first[-1]), 1e-3 * float(y.var()), 1e-300), 1e-3, 1e6)
    best = None
    for start in (ratios, np.ones(len(random))):
        found = minimize(
            model.criterion,
            np.log(start),
            jac=True,
            method="L-BFGS-B",
            bounds=[(math.log(_FLOOR), math.log(1e8))] * len(random),
            options={"maxiter": 500, "ftol": 1e-13, "gtol": 1e-7},
        )
        if best is None or found.fun < best.fun - 1e-9:
            best = found
    if best is None:
        return None
    gammas = np.exp(best.x)
    gammas[gammas < 100 * _FLOOR] = 0.0
    return model.solution(gammas, wanted, names, float(best.fun))


def _term(name: str, factors: Mapping[str, Labels]) -> Term:
    parts = name.split(":")
    unknown = [part for part in parts if part not in factors]
    if unknown:
        raise UsageError(f"No factor {unknown[0]!r} for the term {name!r}; there are {', '.join(factors)}.")
    level = codes(zip(*(np.asarray(factors[part]).tolist() for part in parts), strict=True))
    return Term(name, level, count_levels(level))


def _fixed(factors: Mapping[str, Labels], fixed: str | None, n: int) -> tuple[Floats, tuple[str, ...]]:
    if fixed is None:
        return np.ones((n, 1)), ("mean",)
    if fixed not in factors:
        raise UsageError(f"No factor {fixed!r} to hold fixed; there are {', '.join(factors)}.")
    labels = np.asarray(factors[fixed]).tolist()
    names = list(dict.fromkeys(labels))
    return (np.array(labels, dtype=object)[:, None] == np.array(names, dtype=object)[None, :]).astype(float), tuple(
        str(name) for name in names
    )


def _mivque(y: Floats, x: Floats, random: Sequence[Term]) -> Floats | None:
    """Quadratic unbiased estimates from tr(QV_iQV_j)·σ² = y′QV_iQy, Q the projection off X; None if they are not
    unique. V_i = Z_iZ_i′, the last is the identity."""
    from scipy import sparse

    basis = np.linalg.qr(x)[0]
    e = y - basis @ (basis.T @ y)
    z = [sparse.csr_array((np.ones(len(y)), (np.arange(len(y)), t.codes)), (len(y), t.n_levels)) for t in random]
    across = [np.asarray(one.T @ basis) for one in z]
    size = len(z) + 1
    system, right = np.zeros((size, size)), np.zeros(size)
    for i, one in enumerate(z):
        right[i] = float(((one.T @ e) ** 2).sum())
        for j in range(i + 1):
            block = (one.T @ z[j]).toarray() - across[i] @ across[j].T
            system[i, j] = system[j, i] = float((block**2).sum())
        system[i, -1] = system[-1, i] = len(y) - float((across[i] ** 2).sum())
    system[-1, -1] = len(y) - basis.shape[1]
    right[-1] = float((e**2).sum())
    scale = np.sqrt(np.diag(system))
    if (scale <= 0).any() or np.linalg.eigvalsh(system / np.outer(scale, scale))[0] < 1e-9:
        return None
    return np.asarray(np.linalg.solve(system, right))


class _Model:
    """The restricted likelihood with the residual variance profiled out; γ_t = σ_t²/σ²."""

    def __init__(self, y: Floats, x: Floats, layout: Layout) -> None:
        self.y, self.x, self.layout = y, x, layout
        self._ones = np.ones(len(y))
        self._df = len(y) - x.shape[1]

    def _whitened(self, sds: Floats) -> tuple[Factor, Floats, Floats, Floats, float]:
        """(H, V⁻¹X, (X′V⁻¹X)⁻¹, V⁻¹(y − Xβ̂), β̂′s residual sum of squares), V in units of σ²."""
        factor = Factor(self.layout, self._ones, sds)

        def inverse(columns: Floats) -> Floats:
            gathered = np.column_stack([self.layout.gather(one, sds) for one in columns.T])
            solved = factor.solve(gathered)
            return columns - np.column_stack([self.layout.spread(one, sds, len(self.y)) for one in solved.T])

        vx = inverse(self.x)
        inner: Floats = np.asarray(np.linalg.inv(self.x.T @ vx), dtype=float)
        beta = inner @ (vx.T @ self.y)
        off = self.y - self.x @ beta
        r = inverse(off[:, None])[:, 0]
        return factor, vx, inner, r, max(float(off @ r), 1e-300)

    def criterion(self, log_ratios: Floats) -> tuple[float, Floats]:
        """−2 log restricted likelihood and its gradient by log γ."""
        sds = np.exp(log_ratios / 2)
        factor, vx, inner, r, rss = self._whitened(sds)
        value = factor.log_det - float(np.linalg.slogdet(inner)[1]) + self._df * math.log(rss / self._df)
        traces = factor.sensitivities().sum(axis=0) * sds
        gradient = np.empty(len(sds))
        for at, term in enumerate(self.layout.terms):
            zr = term.gather(r)
            zx = np.column_stack([term.gather(column) for column in vx.T])
            lost = float((zr**2).sum()) * self._df / rss + float(np.einsum("ki,ij,kj->", zx, inner, zx))
            gradient[at] = traces[at] - sds[at] ** 2 * lost
        return value, gradient

    def solution(self, gammas: Floats, wanted: Sequence[str], names: tuple[str, ...], criterion: float) -> Variances:
        sds = np.sqrt(gammas)
        _, vx, inner, _, rss = self._whitened(sds)
        sigma = rss / self._df
        beta = inner @ (vx.T @ self.y)
        pulls = []
        for term in self.layout.terms:
            zx = np.column_stack([term.gather(column) for column in vx.T]) @ inner
            pulls.append(zx.T @ zx)
        pulls.append(inner @ (vx.T @ vx) @ inner)
        variance = dict(zip([*wanted, RESIDUAL], (*(gammas * sigma).tolist(), sigma), strict=True))
        levels = {term.name: term.n_levels for term in self.layout.terms}
        covariance = self._covariance(gammas, sigma) if self.layout.size <= _LARGEST else None
        return Variances(
            len(self.y), levels, variance, covariance, criterion, names, beta, inner * sigma, np.array(pulls)
        )

    def _covariance(self, gammas: Floats, sigma: float) -> Floats | None:
        """Inverse of ½tr(PV_iPV_j) over the components that are not 0; those stay at 0 (their variance is not known).
        All from C = Z′PZ, for PVP = P gives the terms with the residual."""
        from scipy import sparse

        n, terms = len(self.y), self.layout.terms
        columns = np.concatenate([t.codes + part.start for t, part in zip(terms, self.layout.slices, strict=True)])
        z = sparse.csr_array((np.ones(len(columns)), (np.tile(np.arange(n), len(terms)), columns)))
        gram, zx = (z.T @ z).toarray(), np.asarray(z.T @ self.x)
        sd = np.concatenate([np.full(t.n_levels, math.sqrt(g)) for t, g in zip(terms, gammas, strict=True)])
        h = np.eye(len(sd)) + sd[:, None] * gram * sd[None, :]
        solved = np.linalg.solve(h, np.column_stack([sd[:, None] * gram, sd[:, None] * zx]))
        half = gram * sd[None, :]
        zvz, zvx = gram - half @ solved[:, : len(sd)], zx - half @ solved[:, len(sd) :]
        xvx = self.x.T @ self.x - (zx * sd[:, None]).T @ solved[:, len(sd) :]
        c = (zvz - zvx @ np.linalg.solve(xvx, zvx.T)) / sigma
        k = len(terms)
        information, trace = np.zeros((k + 1, k + 1)), np.zeros(k)
        for i, rows in enumerate(self.layout.slices):
            trace[i] = float(np.trace(c[rows, rows]))
            for j, others in enumerate(self.layout.slices):
                information[i, j] = float((c[rows, others] ** 2).sum())
        variance = gammas * sigma
        information[:k, k] = information[k, :k] = (trace - information[:k, :k] @ variance) / sigma
        information[k, k] = ((self._df - variance @ trace) / sigma - variance @ information[:k, k]) / sigma
        kept = np.append(gammas > 0, True)
        covariance = np.zeros((k + 1, k + 1))
        try:
            covariance[np.ix_(kept, kept)] = 2 * np.linalg.inv(information[np.ix_(kept, kept)])
        except np.linalg.LinAlgError:
            return None
        return covariance
