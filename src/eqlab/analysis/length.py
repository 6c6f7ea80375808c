"""What scores would be if all replies were equally long: one slope for length, beside every subject and every item.

Association, not cause: a model that thinks longer on hard questions is adjusted like one that only talks more."""

import math
from collections.abc import Sequence

import numpy as np

from eqlab.analysis.arrays import Floats, Ints, codes
from eqlab.analysis.special import stdtrit
from eqlab.core.results import Estimate
from eqlab.core.values import dataclass

ONE_SUBJECT = "one model alone: its length cannot be told from its skill"
SAME_LENGTH = "the replies to a question are as long as each other, or longer by the same factor everywhere"
FEW_ITEMS = "fewer than five items, or nothing left to judge a slope by"
SAME_POINTS = "all replies were rated alike"
_FEWEST = 5
_NO_SPREAD = 1e-9


@dataclass(frozen=True, slots=True)
class LengthReply:
    """One subject's points on one item, with the length of the reply that got them."""

    subject: str
    item: str
    points: float
    doublings: float
    """log2 of its words, at least one."""
    cluster: str = ""
    """What is drawn together: its item, if not said."""


@dataclass(frozen=True, slots=True, eq=False)
class EqualLength:
    subjects: tuple[str, ...]
    scores: tuple[Estimate, ...]
    """By subject, at the common length."""
    slope: Estimate
    """Points that go with a reply twice as long."""
    words: float
    """The common length: the geometric mean of the subjects' own."""
    pseudo_values: Floats
    """Subjects × clusters: rows whose means are the scores and whose spread is theirs, for ranks and differences."""


def at_equal_length(replies: Sequence[LengthReply], digits: int = 2, unit: str = "") -> EqualLength | str:
    """Scores at the common length, or why they are undefined.

    y = α(subject) + γ(item) + β·log2(words) + ε by least squares; β̂ is fitted after both effects are taken out of y
    and x (Frisch & Waugh 1933; Lovell 1963). A subject's score becomes ȳ − β̂·(x̄ − x̿), x̿ the mean of the subjects'
    x̄. Errors add up each cluster's influence on that number, φ: se² = G/(G − 1)·Σφ², Student's t with G − 1 degrees
    (infinitesimal jackknife over G clusters, Efron 1982). A cluster's influence on the slope is that of leaving it out,
    φ/(1 − h) with h its share of the spread of x (Bell & McCaffrey 2002, CR3), less their mean: few clusters draw the
    slope towards themselves. Without a slope this is the plain mean's s/√n. Where raters are drawn, the slope's error
    is over items too: length belongs to their replies."""
    subjects = tuple(dict.fromkeys(reply.subject for reply in replies))
    if len(subjects) < 2:
        return ONE_SUBJECT
    who = codes([reply.subject for reply in replies])
    item = codes([reply.item for reply in replies])
    drawn = codes([reply.cluster or reply.item for reply in replies])
    x = np.array([reply.doublings for reply in replies], dtype=float)
    y = np.array([reply.points for reply in replies], dtype=float)
    own_x, own_y = _without_effects(x, who, item), _without_effects(y, who, item)
    spread = float(own_x @ own_x)
    groups = int(drawn.max()) + 1
    left = len(replies) - len(subjects) - int(item.max())
    if spread <= _NO_SPREAD * max(1.0, float(((x - x.mean()) ** 2).sum())):
        return SAME_LENGTH
    if groups < _FEWEST or left < 2:
        return FEW_ITEMS
    if not np.ptp(y):
        return SAME_POINTS
    beta = float(own_x @ own_y) / spread
    counts = np.bincount(who).astype(float)
    mean_x, mean_y = np.bincount(who, x) / counts, np.bincount(who, y) / counts
    common = float(mean_x.mean())
    pull, weight = own_x * (own_y - beta * own_x) / spread, own_x**2 / spread
    if np.bincount(drawn, weight).max() > 1 - _NO_SPREAD:
        return FEW_ITEMS
    on_slope = _on_slope(drawn, pull, weight)
    off_common = np.bincount(drawn, (x - mean_x[who]) / counts[who], groups) / len(subjects)
    rest = (y - mean_y[who] - beta * (x - mean_x[who])) / counts[who]
    own = np.zeros((len(subjects), groups))
    np.add.at(own, (who, drawn), rest)
    influence = own + beta * off_common - (mean_x - common)[:, None] * on_slope
    scores = mean_y - beta * (mean_x - common)
    return EqualLength(
        subjects,
        tuple(
            _estimate("score at equal length", float(score), int(n), row, digits, unit)
            for score, n, row in zip(scores, counts, influence, strict=True)
        ),
        _estimate("points for a reply twice as long", beta, groups, on_slope, 2, unit)
        if np.array_equal(drawn, item)
        else _over_both(beta, on_slope, _on_slope(item, pull, weight), pull, unit),
        float(2**common),
        scores[:, None] + groups * influence,
    )


def _on_slope(drawn: Ints, pull: Floats, weight: Floats) -> Floats:
    """What each cluster adds to the slope."""
    found = np.bincount(drawn, pull) / (1 - np.minimum(np.bincount(drawn, weight), 1 - _NO_SPREAD))
    return np.asarray(found - found.mean())


def _over_both(beta: float, raters: Floats, items: Floats, single: Floats, unit: str) -> Estimate:
    """The slope with an error over raters and over items at once (Cameron, Gelbach & Miller 2011), never below that of
    one of them, and with Student's t of the fewer."""
    by = [len(one) / (len(one) - 1) * float(one @ one) for one in (raters, items)]
    se = math.sqrt(max(*by, sum(by) - float(single @ single)))
    reach = float(stdtrit(min(len(raters), len(items)) - 1, 0.975)) * se
    name = "points for a reply twice as long"
    return Estimate(name, beta, len(raters), se, beta - reach, beta + reach, unit, digits=2)


def _without_effects(values: Floats, who: Ints, item: Ints) -> Floats:
    """Residuals of least squares on subjects and items; the more numerous are eliminated, so that the system stays
    small."""
    if who.max() > item.max():
        who, item = item, who
    cells = np.zeros((int(who.max()) + 1, int(item.max()) + 1))
    np.add.at(cells, (who, item), 1.0)
    per_item = cells.sum(axis=0)
    of_item = np.bincount(item, values) / per_item
    system = np.diag(cells.sum(axis=1)) - (cells / per_item) @ cells.T
    subject = np.linalg.lstsq(system, np.bincount(who, values - of_item[item]), rcond=None)[0]
    rest = values - subject[who]
    return np.asarray(rest - (np.bincount(item, rest) / per_item)[item])


def _estimate(name: str, value: float, n: int, influence: Floats, digits: int, unit: str) -> Estimate:
    groups = len(influence)
    se = float(np.sqrt(groups / (groups - 1) * (influence @ influence)))
    reach = float(stdtrit(groups - 1, 0.975)) * se
    return Estimate(name, value, n, se, value - reach, value + reach, unit, digits=digits)
