"""Flat answers: the same number everywhere, a staircase (1, 2, 3, 4), or the same answer to every question. Such a
subject may score well where references lie near the middle, and has read nothing; so it is said beside the score."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from eqlab.analysis.intervals import proportion_estimate
from eqlab.core.results import Estimate

ENOUGH = 5
"""Answers below which nothing is said: a few alike are no pattern."""
FLAT = 0.5
"""Share of answers with one pattern from which a reader is warned."""
ALWAYS = 0.95
"""The same for forms of one scale, where alike is common: from here on it is nearly always the same choice."""


@dataclass(frozen=True, slots=True)
class Flatness:
    """Counts of patterns among the readable answers of one subject."""

    n: int
    same: int
    """One number on every scale of the form."""
    staircase: int
    """Up or down by one from scale to scale, in the order shown."""
    commonest: int
    """The most frequent answer as a whole."""
    example: tuple[float, ...]
    """That answer."""

    @property
    def estimates(self) -> tuple[Estimate, ...]:
        if len(self.example) < 2:
            return (proportion_estimate("most frequent answer", self.commonest, self.n, note=self._shown),)
        return (
            proportion_estimate("same number on every scale", self.same, self.n),
            proportion_estimate("staircases (1, 2, 3 …)", self.staircase, self.n),
            proportion_estimate("most frequent answer", self.commonest, self.n, note=self._shown),
        )

    @property
    def caveats(self) -> tuple[str, ...]:
        """One warning for the plainest pattern; none for ordinary answers."""
        if self.n < ENOUGH:
            return ()
        if len(self.example) < 2:
            always = self.commonest >= ALWAYS * self.n
            return (self._said(self.commonest, f"are {self.example[0]:g}"),) if always else ()
        if self.commonest >= FLAT * self.n:
            return (self._said(self.commonest, f"are the same, {self._shown}"),)
        if self.same >= FLAT * self.n:
            return (self._said(self.same, "give one number on every scale"),)
        if self.staircase >= FLAT * self.n:
            return (self._said(self.staircase, "count up or down from scale to scale"),)
        return ()

    def _said(self, count: int, pattern: str) -> str:
        return f"Flat answers: {count} of {self.n} {pattern}. Compare the score with the baselines before believing it."

    @property
    def _shown(self) -> str:
        values = ", ".join(f"{value:g}" for value in self.example[:6])
        return f"{values} …" if len(self.example) > 6 else values


def flatness(answers: Iterable[Sequence[float]]) -> Flatness | None:
    """`answers`: the values of each readable answer in the order of its form; None without any."""
    given = [tuple(answer) for answer in answers if answer]
    if not given:
        return None
    example, commonest = Counter(given).most_common(1)[0]
    return Flatness(len(given), sum(map(_same, given)), sum(map(_staircase, given)), commonest, example)


def _same(values: tuple[float, ...]) -> bool:
    return len(values) > 1 and values.count(values[0]) == len(values)


def _staircase(values: tuple[float, ...]) -> bool:
    if len(values) < 3 or abs(step := values[1] - values[0]) != 1:
        return False
    return all(after - before == step for before, after in pairwise(values))
