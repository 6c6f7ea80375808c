"""Whether a subject goes on with published texts word for word more often than chance explains.

A subject sees the first half of each text and writes on. Overlap: the longest run of words that its reply shares with
the true second half, as a share of that half's words; two words that follow each other in the first half too, as a
name does, are no part of a run. The null is made of the same replies beside the second halves of
the *other* texts (same subject, same style, same stock phrases, but nothing to remember), and beside the true half with
its words in another order (the same topic, which the first half gives away, but nothing word for word). A text counts
as known when its overlap lies above the 99th percentile of both, which by chance happens to one text in a hundred
(Carlini et al. 2021, USENIX Security, probe with prefixes; the nulls are permutation references)."""

import random
import re
from collections.abc import Mapping, Set
from itertools import pairwise

from eqlab.analysis.intervals import proportion_estimate
from eqlab.core.grouping import grouped
from eqlab.core.results import Estimate
from eqlab.core.values import dataclass

LEVEL = 0.99
FEWEST = 10
"""Texts below which the null has too few pairs for a 99th percentile."""
_ORDERS = 20
"""Random orders of each true half."""
_WORD = re.compile(r"[\w'’]+")


@dataclass(frozen=True, slots=True)
class Memorised:
    """What a subject remembers of a set of texts."""

    overlaps: Mapping[str, float]
    """By text."""
    threshold: float
    """The larger of the two nulls' 99th percentiles."""
    null_n: int
    known: tuple[str, ...]
    """Texts above the threshold, most overlap first."""
    share: Estimate
    p: float | None
    """Probability of so many or more above the threshold by chance: binomial with one in a hundred."""


def words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())


def halves(text: str) -> tuple[str, str]:
    """Cut at the space nearest to the middle."""
    middle = len(text) // 2
    spaces = [index for index, char in enumerate(text) if char.isspace()]
    cut = min(spaces, key=lambda index: abs(index - middle), default=middle)
    return text[:cut].rstrip(), text[cut:].strip()


def longest_run(first: list[str], second: list[str], given: Set[tuple[str, str]] = frozenset()) -> int:
    """Words of the longest run that both share: the longest common substring, visiting only the pairs of equal words
    (Hunt & Szymanski 1977, Communications of the ACM 20:350, visit the same pairs for subsequences). A run ends
    between two words of `given`."""
    where = grouped((word, index) for index, word in enumerate(second))
    best = 0
    before: dict[int, int] = {}
    for word in first:
        row = {
            index: 1 if (second[index - 1], word) in given else before.get(index - 1, 0) + 1
            for index in where.get(word, ())
        }
        best = max(best, max(row.values(), default=0))
        before = row
    return best


def overlap(reply: list[str], truth: list[str], given: Set[tuple[str, str]] = frozenset()) -> float:
    return longest_run(reply, truth, given) / len(truth) if truth else 0.0


def probed(replies: Mapping[str, str], parts: Mapping[str, tuple[str, str]]) -> Memorised:
    """`replies`, and both halves of each text; a text without a reply is left out. Below ten texts the share is
    undefined."""
    from scipy.stats import binom

    said = {name: words(reply) for name, reply in replies.items()}
    true = {name: words(parts[name][1]) for name in said}
    given = {name: set(pairwise(words(parts[name][0]))) for name in said}
    own = {name: overlap(said[name], true[name], given[name]) for name in said}
    null = sorted(overlap(said[a], true[b], given[b]) for a in said for b in true if a != b)
    if len(said) < FEWEST:
        return Memorised(own, 1.0, len(null), (), Estimate("texts known", None, len(said), unit="%", digits=1), None)
    draw = random.Random(len(said))
    orders = sorted(
        overlap(said[name], draw.sample(true[name], len(true[name])), given[name])
        for name in said
        for _ in range(_ORDERS)
    )
    threshold = max(values[min(len(values) - 1, int(LEVEL * len(values)))] for values in (null, orders))
    known = sorted((name for name in own if own[name] > threshold), key=lambda name: -own[name])
    p = float(binom.sf(len(known) - 1, len(own), 1 - LEVEL))
    return Memorised(
        own, threshold, len(null), tuple(known), proportion_estimate("texts known", len(known), len(own)), p
    )
