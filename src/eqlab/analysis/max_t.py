"""The largest of many t statistics that share their items, under a bootstrap that knows their joint distribution.

Items are drawn again with replacement and *every* t is studentised anew in each draw (bootstrap-t: Efron 1981; Romano &
Wolf 2005), so that few items, skew and heavy tails widen the bound, as they must: with normal weights and 40 skewed
items the largest of 780 t values exceeds its 5 % bound far too often (docs/coverage.md). All of a model's pairs come
from eqlab.analysis.arrays import Floats
from three matrix products."""

import numpy as np
import numpy.typing as npt

from eqlab.analysis.arrays import Floats

Small = npt.NDArray[np.float32]

MANY = 600
"""Items from which on normal weights do (the central limit theorem has set in); they cost less."""


class Waves:
    """t* of all pairs under `draws` bootstrap samples of items. A missing score counts as its model's mean: the bound
    needs only the shape of the distribution, the pairs themselves are tested on shared items."""

    def __init__(self, scores: Floats, draws: int, seed: int) -> None:
        known = np.isfinite(scores)
        self.draws = draws
        self.n = int(known.any(axis=0).sum())
        scores, known = scores[:, known.any(axis=0)], known[:, known.any(axis=0)]
        counts = np.maximum(known.sum(axis=1, keepdims=True), 1)
        means = np.where(known, scores, 0.0).sum(axis=1, keepdims=True) / counts
        rest = np.where(known, scores - means, 0.0)
        largest = np.abs(rest).max(initial=0.0)
        self._rest: Small = (rest / largest if largest > 0 else rest).astype(np.float32)
        random = np.random.default_rng(seed)
        self._plain = self.n > MANY
        if self._plain:
            self._weights: Small = random.standard_normal((draws, self.n), dtype=np.float32)
        else:
            chosen = random.integers(0, max(self.n, 1), size=(draws, self.n))
            flat = chosen + np.arange(draws)[:, None] * self.n
            counted = np.bincount(flat.ravel(), minlength=draws * self.n).reshape(draws, self.n)
            self._weights = counted.astype(np.float32)
        self._means: Small = (self._weights @ self._rest.T / max(self.n, 1)).astype(np.float32)

    def row(self, model: int, part: slice = slice(None)) -> Small:
        """draws × models: t* of every model minus this one; infinite where a draw has a gap and no spread. `part` takes
        some of the draws."""
        means = self._means[part]
        gap = means - means[:, [model]]
        squares = (self._rest - self._rest[model]) ** 2
        if self._plain:
            width = np.sqrt(squares.mean(axis=1) / self.n)
            return np.asarray(np.divide(gap, width, out=np.zeros_like(gap), where=width > 0), dtype=np.float32)
        spread = self._weights[part] @ squares.T / np.float32(self.n)
        floor = 1e-6 * spread
        spread -= gap**2
        width = np.sqrt(np.maximum(spread, 0.0) / np.float32(self.n - 1))
        nothing = spread <= floor
        width[nothing] = 1.0
        t = gap / width
        apart = nothing & (np.abs(gap) > 1e-9)
        t[nothing] = 0.0
        t[apart] = np.copysign(np.float32(np.inf), gap[apart])
        return np.asarray(t, dtype=np.float32)
