"""The likelihood of pairwise verdicts with ties (Davidson 1970), counted by ordered pair; strengths left out a cluster
at a time. Used by bradley_terry.py."""

from collections.abc import Sequence

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from eqlab.analysis.arrays import Floats, Ints, codes, count_levels
from eqlab.analysis.maximise import FitError
from eqlab.core.errors import UsageError

_STEPS = 100


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
                raise FitError(
                    "The verdicts cannot identify the strengths.",
                    "Show each pair in both orders, or fit without the first place's advantage.",
                )
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


def jackknife(
    model: Davidson, theta: Floats, information: Floats, counts: sparse.csr_array, units: int
) -> tuple[Floats, Floats]:
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


def _counts(rows: Ints, columns: Ints, shape: tuple[int, int]) -> sparse.csr_array:
    return sparse.csr_array((np.ones(len(rows)), (rows, columns)), shape=shape)
