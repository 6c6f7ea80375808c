"""Do situations move a subject as they move people? Three numbers that a default mood cannot cap (a ceiling can: ties
count half), each with its interval and, for people, with the value that people have themselves.

1. `concordance`: is the mood after good news higher than after nothing, and that higher than after bad news?
2. `profile`: do the same factors move the subject more, and less, as they move people?
3. `movement`: how far, against people?

Arrays in, numbers out; moods and changes are of any scale, kinds are 0 (bad), 1 (neutral), 2 (good)."""

import math

import numpy as np
import numpy.typing as npt

from eqlab.analysis.arrays import Floats, Ints, Labels, codes
from eqlab.analysis.intervals import FEWEST, fisher
from eqlab.analysis.special import stdtrit
from eqlab.core.errors import UsageError
from eqlab.core.results import Estimate
from eqlab.core.values import dataclass

PAIRS = ((0, 1), (1, 2), (0, 2))


@dataclass(frozen=True, slots=True)
class Concordance:
    """In percent: 100 always in order, 50 chance, 0 the other way round."""

    all: Estimate
    """Mean of the three pairs of kinds; undefined unless all kinds are there."""
    neutral_above_bad: Estimate
    good_above_neutral: Estimate
    good_above_bad: Estimate


def concordance(moods: npt.ArrayLike, kinds: npt.ArrayLike, units: Labels | None = None) -> Concordance:
    """P(mood of the better kind is higher), ties half, over all pairs of situations of two kinds (Mann & Whitney 1947;
    three ordered classes: Hand & Till 2001). Only the order of moods counts, so the default does not; the end of the
    scale does (`concordance_cap`). The variance is DeLong's (1988), summed within `units` (a person measured before
    and after, the people of one situation, the situations of one factor; else each situation), Student's t on the logit
    with the units of the smallest kind. Perfect order has the bound that these allow."""
    values, kind = np.asarray(moods, dtype=float), np.asarray(kinds, dtype=int)
    if values.shape != kind.shape or not np.isin(kind, (0, 1, 2)).all():
        raise UsageError("A concordance needs one kind (0 bad, 1 neutral, 2 good) for every mood.")
    unit = codes(range(len(values)) if units is None else units)
    known = np.isfinite(values)
    values, kind, unit = values[known], kind[known], unit[known]
    pulls, found = [], []
    for low, high in PAIRS:
        area, pull = _area(values, kind, low, high)
        pulls.append(pull)
        found.append(area)
    sizes = np.array([len(np.unique(unit[kind == one])) for one in (0, 1, 2)])
    names = ("neutral above bad", "good above neutral", "good above bad")
    estimates = [
        _shares(name, area, pull, unit, int(min(sizes[list(pair)])))
        for name, area, pull, pair in zip(names, found, pulls, PAIRS, strict=True)
    ]
    if (sizes == 0).any():
        whole = Estimate(
            "concordance", None, len(values), unit="%", note="needs bad, neutral and good situations", digits=1
        )
    else:
        mean = float(np.mean([area for area in found if area is not None]))
        whole = _shares("concordance", mean, np.mean(pulls, axis=0), unit, int(sizes.min()))
    return Concordance(whole, *estimates)


def concordance_value(moods: npt.ArrayLike, kinds: npt.ArrayLike) -> float | None:
    """The value of `concordance(…).all` by itself, for who needs it often."""
    values, kind = np.asarray(moods, dtype=float), np.asarray(kinds, dtype=int)
    known = [values[np.isfinite(values) & (kind == one)] for one in (0, 1, 2)]
    if not all(map(len, known)):
        return None
    return 100 * float(np.mean([float(_wins(known[low], known[high]).mean()) for low, high in PAIRS]))


def concordance_cap(moods: npt.ArrayLike, kinds: npt.ArrayLike, ends: tuple[float, float]) -> float | None:
    """The concordance, in percent, of a subject with these neutral moods whose every other situation is in order: what
    is at the top of the scale after nothing cannot be passed by good news, at best tied, and at the bottom not by bad
    news. 83.3 where every neutral mood is at the top. None without neutral situations."""
    values, kind = np.asarray(moods, dtype=float), np.asarray(kinds, dtype=int)
    neutral = values[np.isfinite(values) & (kind == 1)]
    if not len(neutral):
        return None
    tied = float((neutral <= ends[0] + 1e-9).mean()) + float((neutral >= ends[1] - 1e-9).mean())
    return 100 * (1 - tied / 2 / len(PAIRS))


def concordance_points(moods: npt.ArrayLike, kinds: npt.ArrayLike) -> Floats:
    """Each situation's pseudo-value in percent: the concordance plus n times the situation's pull at it. Their mean is
    the concordance, their standard error DeLong's, so subjects can be compared in pairs over shared situations."""
    values, kind = np.asarray(moods, dtype=float), np.asarray(kinds, dtype=int)
    areas, pulls = zip(*(_area(values, kind, low, high) for low, high in PAIRS), strict=True)
    known = [area for area in areas if area is not None]
    if len(known) < len(PAIRS) or not np.isfinite(values).all():
        raise UsageError("Points of a concordance need moods of bad, neutral and good situations, and no gaps.")
    return np.asarray(100 * (np.mean(known) + len(values) * np.mean(pulls, axis=0)))


def _area(values: Floats, kind: Ints, low: int, high: int) -> tuple[float | None, Floats]:
    """The share, and each value's pull at it."""
    pull = np.zeros(len(values))
    below, above = values[kind == low], values[kind == high]
    if not len(below) or not len(above):
        return None, pull
    wins = _wins(below, above)
    area = float(wins.mean())
    pull[kind == high] = (wins.mean(axis=1) - area) / len(above)
    pull[kind == low] = (wins.mean(axis=0) - area) / len(below)
    return area, pull


def _wins(below: Floats, above: Floats) -> Floats:
    """For every two values 1 where the one above is higher, a half where they are the same."""
    return np.asarray(np.sign(above[:, None] - below[None, :]) / 2 + 0.5)


def _shares(name: str, area: float | None, pull: Floats, unit: Ints, smallest: int) -> Estimate:
    n = len(np.unique(unit))
    if area is None:
        return Estimate(name, None, n, unit="%", digits=1)
    if smallest < FEWEST:
        few = f"too few for an interval: {smallest} situations of a kind, {FEWEST} are needed"
        return Estimate(name, 100 * area, n, unit="%", note=few, digits=1)
    if not 0 < area < 1:
        far = 0.025 ** (1 / smallest)
        low, high = (far, 1.0) if area == 1 else (0.0, 1 - far)
        return Estimate(name, 100 * area, n, None, 100 * low, 100 * high, "%", digits=1)
    sums = np.bincount(unit, pull)
    se = math.sqrt(float((sums**2).sum()) * n / (n - 1))
    # never surer than so many coin tosses of the smallest kind could be
    se = max(se, math.sqrt(area * (1 - area)) / (3 * smallest))
    reach = float(stdtrit(smallest - 1, 0.975)) * se / (area * (1 - area))
    centre = math.log(area / (1 - area))
    low, high = (1 / (1 + math.exp(-max(-700.0, min(700.0, centre + side * reach)))) for side in (-1, 1))
    return Estimate(name, 100 * area, n, 100 * se, 100 * low, 100 * high, "%", digits=1)


@dataclass(frozen=True, slots=True)
class MoodProfile:
    """The correlation of factor means over factors."""

    seen: Estimate
    """As it is, noise of both sides in it."""
    true: Estimate
    """Without noise: seen / √(reliability of both). Above 1 it means that errors go together or reliabilities are
    low."""
    ceiling: float | None
    """√ of people's reliability: what a subject exactly like people's true means would show."""
    people: float | None
    """What a second sample of people as large would correlate with the first: their reliability."""
    subject_reliability: float | None


def profile(
    subject: npt.ArrayLike,
    subject_factors: Labels,
    people: npt.ArrayLike,
    people_factors: Labels,
) -> MoodProfile:
    """`subject`: changes by situation (or answer), `people`: changes by person, each with its factor. Factors are the
    units: Fisher's z (1921) for the correlation as seen; without noise it and its bounds are divided by the root of the
    two reliabilities (Spearman 1904), 1 − 1/F of the one-way analysis of variance, which count as known."""
    name = "correlation with people over factors"
    ours, theirs, _ = _by_factor(subject, subject_factors, people, people_factors)
    count = len(ours)
    if count < FEWEST or ours[:, 1].std() == 0 or theirs[:, 1].std() == 0:
        nothing = Estimate(name, None, count, of="factors")
        return MoodProfile(nothing, nothing, None, None, None)
    r = float(np.corrcoef(ours[:, 1], theirs[:, 1])[0, 1])
    low, high = fisher(r, count)
    own, other = _reliability(ours), _reliability(theirs)
    seen = Estimate(name, r, count, None, low, high, of="factors")
    if own is None or other is None or min(own, other) <= 0:
        true = Estimate("… without measurement error", None, count, note="a reliability is not above 0", of="factors")
    else:
        root = math.sqrt(own * other)
        low, high = (None if bound is None else bound / root for bound in (low, high))
        true = Estimate("… without measurement error", r / root, count, None, low, high, of="factors")
    return MoodProfile(seen, true, math.sqrt(other) if other is not None and other > 0 else None, other, own)


def movement(
    subject: npt.ArrayLike, subject_factors: Labels, people: npt.ArrayLike, people_factors: Labels
) -> tuple[Estimate, Estimate]:
    """(the subject's mean change over people's, people's own): 1 is as far as people, 0 not at all, below 0 the other
    way. Factors are the units; Fieller's (1954) interval for a ratio of means, undefined where people's mean cannot be
    told from 0. People's own is 1 with the interval that chance between people gives it."""
    ours, theirs, rest = _by_factor(subject, subject_factors, people, people_factors)
    x, y = ours[:, 1], theirs[:, 1]
    n = len(x)
    if n < FEWEST or y.mean() == 0:
        return Estimate("movement", None, n, of="factors"), Estimate("people's own", None, n, of="factors")
    t = float(stdtrit(n - 1, 0.975))
    (vx, cxy), (_, vy) = np.cov(x, y) / n
    bounds = _fieller(float(x.mean()), float(y.mean()), float(vx), float(vy), float(cxy), t)
    low, high = bounds or (None, None)
    estimate = Estimate("movement", float(x.mean() / y.mean()), n, None, low, high, of="factors")
    spread = math.sqrt(float((theirs[:, 2] / np.maximum(theirs[:, 0] - 1, 1) / theirs[:, 0]).sum())) / n
    reach = float(stdtrit(max(1, rest), 0.975)) * spread / abs(float(y.mean()))
    return estimate, Estimate("people's own", 1.0, int(theirs[:, 0].sum()), None, 1 - reach, 1 + reach, of="people")


def _fieller(a: float, b: float, va: float, vb: float, cab: float, t: float) -> tuple[float, float] | None:
    """Roots of (a − ρb)² = t²(va − 2ρ·cab + ρ²vb)."""
    second, first, zero = b * b - t * t * vb, a * b - t * t * cab, a * a - t * t * va
    inside = first * first - second * zero
    if second <= 0 or inside < 0:
        return None
    return (first - math.sqrt(inside)) / second, (first + math.sqrt(inside)) / second


def _by_factor(
    subject: npt.ArrayLike, subject_factors: Labels, people: npt.ArrayLike, people_factors: Labels
) -> tuple[Floats, Floats, int]:
    """By factor that both have: count, mean, sum of squares within; and people's degrees of freedom."""
    ours, theirs = _one_side(subject, subject_factors), _one_side(people, people_factors)
    both = [name for name in theirs if name in ours]
    rows = (np.array([side[name] for name in both]).reshape(-1, 3) for side in (ours, theirs))
    left, right = rows
    return left, right, int((right[:, 0] - 1).sum()) if len(right) else 0


def _one_side(values: npt.ArrayLike, factors: Labels) -> dict[object, Floats]:
    """(count, mean, sum of squares within) of every factor with a value; all factors in one step, for a report asks
    for thousands of these."""
    array, labels = np.asarray(values, dtype=float), factors.tolist() if isinstance(factors, np.ndarray) else factors
    if array.ndim != 1 or len(array) != len(labels):
        raise UsageError("A profile needs one factor for every value.")
    seen: dict[object, int] = {}
    codes = np.fromiter((seen.setdefault(label, len(seen)) for label in labels), np.intp, len(array))
    known = np.isfinite(array)
    if not known.all():
        array, codes = array[known], codes[known]
    count = np.bincount(codes, minlength=len(seen)).astype(float)
    mean = np.bincount(codes, array, len(seen)) / np.maximum(count, 1.0)
    within = np.bincount(codes, (array - mean[codes]) ** 2, len(seen))
    table = np.column_stack([count, mean, within])
    return {name: table[code] for name, code in seen.items() if count[code]}


def _reliability(rows: Floats) -> float | None:
    """1 − 1/F. With one value per factor there is no spread within, and none can be told."""
    n, mean, within = rows.T
    grand = float((n * mean).sum() / n.sum())
    between = float((n * (mean - grand) ** 2).sum()) / (len(n) - 1)
    df = float(n.sum()) - len(n)
    return 1 - float(within.sum()) / df / between if df > 0 and between > 0 else None
