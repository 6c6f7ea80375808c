"""Where among people a subject stands: the share of a norm's people who do worse, with an interval that honours both
the subject's own uncertainty and that the people are a sample."""

import math
from bisect import bisect_left, bisect_right

from eqlab.analysis.intervals import FEWEST, proportion_bounds
from eqlab.core.results import Better, Estimate, Norms, goodness

NAME = "people who do worse"
AT_LEAST, AT_MOST = "at least", "at most"
"""How the note of a percentile begins that lies beyond the people whose share is known."""


def percentile(score: Estimate, norms: Norms, better: Better) -> Estimate:
    """F(s), the share of people who are worse than the score s, ties counting half, in %.

    Its interval combines two sources by the method of variance estimates recovery (Zou & Donner 2008, Statistics in
    Medicine 27:1693): with l and u the bounds of the score, worse and better, and w, v Wilson's bounds of a share F(s)
    of n people, F(s) − √((F(s) − F(l))² + (F(s) − w)²) to F(s) + √((F(u) − F(s))² + (v − F(s))²), inside 0 to 100.
    Both parts are 95 % intervals of independent errors: the items that the subject was asked, the people who came.

    Undefined where norm and form differ, for fewer than five people, and without a score; without bounds where the
    score has none. Where only printed pairs are known (`shares`), F lies on straight lines between them, and beyond
    them no more is claimed than that the share is at least, or at most, the last one."""
    people = norms.people
    if norms.differs:
        return _undefined(people, norms.differs)
    if people < FEWEST or len(norms.values) < 2:
        return _undefined(people, f"too few people: {people}, at least {FEWEST} are needed")
    if score.value is None or not math.isfinite(score.value):
        return _undefined(people, "no score")
    share, beyond = _share_below(score.value, norms, better)
    note = f"{beyond} {share:.0f} % of {norms.source}" if beyond else norms.source
    if score.low is None or score.high is None:
        return _estimate(share, None, None, people, note)
    worst, best = (score.low, score.high) if better == "higher" else (score.high, score.low)
    least, most = _share_below(worst, norms, better)[0], _share_below(best, norms, better)[0]
    if beyond:  # the sample tells nothing of what lies beyond its last known share
        low, high = (0.0, most) if beyond == AT_MOST else (least, 100.0)
        return _estimate(share, low, high, people, note)
    low, high = (100 * bound for bound in proportion_bounds(share / 100, people))
    down, up = math.hypot(share - least, share - low), math.hypot(most - share, high - share)
    return _estimate(share, max(0.0, share - down), min(100.0, share + up), people, note)


def _share_below(score: float, norms: Norms, better: Better) -> tuple[float, str]:
    """(share of people who are worse, in %; whether more can be said than a bound)."""
    if not norms.shares:
        known, own = sorted(goodness(value, better) for value in norms.values), goodness(score, better)
        below, up_to = bisect_left(known, own), bisect_right(known, own)
        return 100 * (below + up_to) / 2 / len(known), ""
    pairs = sorted(zip((goodness(value, better) for value in norms.values), norms.shares, strict=True))
    own = goodness(score, better)
    if own < pairs[0][0]:
        return pairs[0][1], AT_MOST
    if own > pairs[-1][0]:
        return pairs[-1][1], AT_LEAST
    place = bisect_right(pairs, (own, math.inf))
    (left, lower), (right, upper) = pairs[max(0, place - 1)], pairs[min(place, len(pairs) - 1)]
    return lower if right == left else lower + (upper - lower) * (own - left) / (right - left), ""


def _estimate(share: float, low: float | None, high: float | None, people: int, note: str) -> Estimate:
    return Estimate(NAME, share, people, None, low, high, "%", note, 0, "people")


def _undefined(people: int, why: str) -> Estimate:
    return Estimate(NAME, None, people, unit="%", note=why, digits=0, of="people")
