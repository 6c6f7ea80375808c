"""Linear algebra of crossed random effects: the matrix H = I + Λ′Z′WZΛ, factored fast.

Every answer touches one level of each random term, so the block of one term alone is diagonal. The term with most
levels is eliminated (Schur complement). What is left, a few hundred raters, is factored as a sparse matrix while it
is one (raters who share batches) and as a dense one otherwise; its inverse is small enough to be had in full, which
gives the entries of H⁻¹ that an analytic gradient needs. In a small study everything is dense: there a sparse matrix
takes longer to be made than to be used."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from eqlab.analysis.arrays import Floats, Ints
from eqlab.core.values import dataclass


@dataclass(frozen=True, slots=True)
class Term:
    """One random intercept (values None) or slope, independent over its levels."""

    name: str
    codes: Ints
    """The level of each answer."""
    n_levels: int
    values: Floats | None = None

    def spread(self, effects: Floats) -> Floats:
        """Z·effects."""
        per_answer = effects[self.codes]
        return per_answer if self.values is None else per_answer * self.values

    def gather(self, per_answer: Floats) -> Floats:
        """Z′·per_answer."""
        weighted = per_answer if self.values is None else per_answer * self.values
        return np.asarray(np.bincount(self.codes, weighted, self.n_levels), dtype=float)


class Layout:
    """Where each term's effects stand in the vector of all effects."""

    def __init__(self, terms: Sequence[Term]) -> None:
        self.terms = tuple(terms)
        starts = np.concatenate([[0], np.cumsum([term.n_levels for term in terms])]).astype(int)
        self.slices = tuple(slice(starts[i], starts[i + 1]) for i in range(len(terms)))
        self.size = int(starts[-1])
        self.big = int(np.argmax([term.n_levels for term in terms])) if terms else -1
        self.small = tuple(i for i in range(len(terms)) if i != self.big)
        self.n_small = sum(terms[i].n_levels for i in self.small)
        offsets = np.concatenate([[0], np.cumsum([terms[i].n_levels for i in self.small])]).astype(int)
        self.small_codes = [terms[i].codes + offsets[k] for k, i in enumerate(self.small)]
        self.small_index = np.concatenate(
            [np.arange(self.slices[i].start, self.slices[i].stop) for i in self.small] or [np.empty(0, int)]
        ).astype(np.intp)
        n_big = terms[self.big].n_levels if terms else 0
        self.dense = 0 < self.n_small * n_big <= _DENSE_UP_TO
        if self.dense:  # where each pair of an answer's levels stands in a matrix laid out as a vector
            self.flat_block = np.concatenate(
                [first * self.n_small + second for first in self.small_codes for second in self.small_codes]
            )
            self.flat_cross = np.concatenate([first * n_big + terms[self.big].codes for first in self.small_codes])

    def spread(self, effects: Floats, sds: Floats, n: int) -> Floats:
        """ZΛ·effects."""
        eta = np.zeros(n)
        for term, part, sd in zip(self.terms, self.slices, sds, strict=True):
            eta += sd * term.spread(effects[part])
        return eta

    def gather(self, per_answer: Floats, sds: Floats) -> Floats:
        """Λ′Z′·per_answer."""
        parts = [sd * term.gather(per_answer) for term, sd in zip(self.terms, sds, strict=True)]
        return np.concatenate(parts) if parts else np.empty(0)


class Factor:
    """H for given weights and standard deviations, factored."""

    def __init__(self, layout: Layout, weight: Floats, sds: Floats) -> None:
        self.layout, self.sds = layout, sds
        big = layout.terms[layout.big]
        self._scaled = [sds[i] * (1.0 if t.values is None else t.values) for i, t in enumerate(layout.terms)]
        self.diagonal = 1.0 + np.bincount(big.codes, weight * np.square(self._scaled[layout.big]), big.n_levels)
        n = layout.n_small
        if not n:
            return
        data = [
            np.broadcast_to(weight * self._scaled[one] * self._scaled[other], weight.shape)
            for one in layout.small
            for other in layout.small
        ]
        cross_data = [
            np.broadcast_to(weight * self._scaled[one] * self._scaled[layout.big], weight.shape) for one in layout.small
        ]
        self._cross_over: Any
        if layout.dense:
            block = np.eye(n) + np.bincount(layout.flat_block, np.concatenate(data), n * n).reshape(n, n)
            size = n * big.n_levels
            cross = np.bincount(layout.flat_cross, np.concatenate(cross_data), size).reshape(n, big.n_levels)
            self._cross_over = cross / self.diagonal
            self._schur: _SparseFactor | _DenseFactor = _DenseFactor(block - self._cross_over @ cross.T)
            return
        from scipy import sparse

        rows = [np.arange(n), *(first for first in layout.small_codes for _ in layout.small_codes)]
        columns = [np.arange(n), *(second for _ in layout.small_codes for second in layout.small_codes)]
        block = _sparse([np.ones(n), *data], rows, columns, (n, n))
        cross = _sparse(cross_data, layout.small_codes, [big.codes] * len(cross_data), (n, big.n_levels))
        self._cross_over = sparse.csr_array(cross * (1.0 / self.diagonal)[None, :])
        self._schur = _small_factor(sparse.csc_array(block - self._cross_over @ cross.T))

    @property
    def log_det(self) -> float:
        total = float(np.log(self.diagonal).sum())
        return total + self._schur.log_det if self.layout.n_small else total

    def solve(self, right: Floats) -> Floats:
        """H⁻¹·right, for one vector or for columns."""
        layout = self.layout
        big = layout.slices[layout.big]
        across = right.shape[1:]
        diagonal = self.diagonal.reshape((-1,) + (1,) * len(across))
        solution = np.empty_like(right)
        if not layout.n_small:
            solution[big] = right[big] / diagonal
            return solution
        reduced = right[layout.small_index] - self._cross_over @ right[big]
        small = self._schur.solve(reduced)
        solution[layout.small_index] = small
        solution[big] = right[big] / diagonal - self._cross_over.T @ small
        return solution

    def sensitivities(self) -> Floats:
        """k[i, t] = v_it · Σ_s v_is σ_s · H⁻¹[level of t, level of s]: how answer i's predictor variance
        z′ΛH⁻¹Λ′z = Σ_t σ_t k[i, t] is made of the terms."""
        layout = self.layout
        big_codes = layout.terms[layout.big].codes
        n, count = len(big_codes), len(layout.terms)
        entries: dict[tuple[int, int], Floats] = {}
        big_inverse = np.reciprocal(self.diagonal)
        if layout.n_small:
            inverse = self._schur.inverse()
            joint = self._cross_over.T @ inverse  # big × small
            product = self._cross_over.T * joint if layout.dense else self._cross_over.T.multiply(joint)
            big_inverse += np.asarray(product.sum(axis=1), dtype=float).ravel()
            for one, first in zip(layout.small, layout.small_codes, strict=True):
                entries[one, layout.big] = entries[layout.big, one] = -joint[big_codes, first]
                for other, second in zip(layout.small, layout.small_codes, strict=True):
                    entries[one, other] = inverse[first, second]
        entries[layout.big, layout.big] = big_inverse[big_codes]
        found = np.zeros((n, count))
        for (one, other), value in entries.items():
            found[:, one] += value * self._scaled[other]
        for index, term in enumerate(layout.terms):
            if term.values is not None:
                found[:, index] *= term.values
        return found


class _SparseFactor:
    """A sparse positive definite matrix by LU without pivoting."""

    def __init__(self, matrix: Any) -> None:
        from scipy.sparse.linalg import splu

        self._lu = splu(matrix, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True})
        pivots = self._lu.U.diagonal()
        if not np.all(pivots > 0):
            raise np.linalg.LinAlgError(_NOT_DEFINITE)
        self.log_det = float(np.log(pivots).sum())
        self._size = matrix.shape[0]

    def solve(self, right: Floats) -> Floats:
        return np.asarray(self._lu.solve(np.ascontiguousarray(right)))

    def inverse(self) -> Floats:
        """A few columns at a time: from eight on BLAS starts threads, and on shared cores they wait for each other
        (measured: 20 ms against up to 6 s)."""
        inverse, unit = np.empty((self._size, self._size)), np.eye(self._size)
        for start in range(0, self._size, _FEW):
            inverse[:, start : start + _FEW] = self._lu.solve(unit[:, start : start + _FEW])
        return inverse


class _DenseFactor:
    """A dense positive definite matrix by Cholesky."""

    def __init__(self, matrix: Any) -> None:
        from scipy.linalg import lapack

        self._lapack: Any = lapack
        self._chol, failed = lapack.dpotrf(matrix, lower=1)
        if failed:
            raise np.linalg.LinAlgError(_NOT_DEFINITE)
        self.log_det = 2.0 * float(np.log(np.diag(self._chol)).sum())

    def solve(self, right: Floats) -> Floats:
        solution, _ = self._lapack.dpotrs(self._chol, right.reshape(len(right), -1), lower=1)
        return np.asarray(solution).reshape(right.shape)

    def inverse(self) -> Floats:
        inverse, _ = self._lapack.dpotri(self._chol, lower=1)
        return np.asarray(np.tril(inverse) + np.tril(inverse, -1).T)


_NOT_DEFINITE = "the precision of the random effects is not positive definite"
_DENSE_FROM = 0.25
_DENSE_UP_TO = 30_000
"""Entries of the matrix between the largest term and the others."""
_FEW = 7


def _small_factor(matrix: Any) -> _SparseFactor | _DenseFactor:
    """Dense algebra pays once a quarter of the entries is there."""
    return _DenseFactor(matrix.toarray()) if matrix.nnz > _DENSE_FROM * matrix.shape[0] ** 2 else _SparseFactor(matrix)


def _sparse(data: list[Floats], rows: list[Ints], columns: list[Ints], shape: tuple[int, int]) -> Any:
    from scipy import sparse

    return sparse.csr_array((np.concatenate(data), (np.concatenate(rows), np.concatenate(columns))), shape=shape)
