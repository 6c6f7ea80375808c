"""Arms side by side: how many replies were rated Good, and how high, with intervals over whole clusters (raters, or
prompts where one judge rated all); and the same at equal length, since longer replies please raters."""

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np
from msgspec import structs

from eqlab.analysis.arrays import Floats
from eqlab.analysis.bootstrap import draw_totals, interval, shared_totals
from eqlab.analysis.contingency import Counts, count_ratings
from eqlab.analysis.intervals import (
    clustered_share,
    difference_bounds,
    proportion_bounds,
    t_bounds,
)
from eqlab.analysis.length import EqualLength, LengthReply, at_equal_length
from eqlab.benchmarks.rating.rated import GOOD, HUMAN, GivenRating
from eqlab.core.results import HEAT, Estimate, Table, stacked, whiskers
from eqlab.core.values import dataclass

AT_EQUAL_LENGTH = "P(Good) at equal length"
_COLUMNS = 3
"""Good, sum of ratings, number of ratings."""
_GOOD, _SUM = 0, 1
_UNIT = {_GOOD: 100.0, _SUM: 1.0}


@dataclass(frozen=True, slots=True, eq=False)
class ArmShares:
    arms: tuple[str, ...]
    counts: dict[str, Counts]
    samples: list[Floats]
    """One row per cluster. Where each cluster belongs to one arm, a sample per arm; else one sample of all arms."""
    totals: list[Floats]
    n_clusters: dict[str, int]

    def good(self, arm: str, together: int = 1) -> Estimate:
        """Wilson's interval over clusters, for it holds with few of them too (`bench/claims.py few_raters`)."""
        good, _, n = self._columns(self.samples, arm)
        hits = [each < own for own, of in zip(good, n, strict=True) for each in range(int(of))]
        clusters = [place for place, of in enumerate(n) for _ in range(int(of))]
        counts = self.counts[arm]
        note = "Wilson: every rating was the same" if counts.good in (0, counts.n) else ""
        found = clustered_share(f"P(Good), {arm}", hits, clusters, note=note, together=together)
        return found if len(set(clusters)) > 1 else structs.replace(found, low=None, high=None, note="")

    def highest(self) -> Estimate:
        """The best arm's share, under a name that does not depend on which it is. Its interval is one of as many as
        there are arms, which hold all at once: which arm is best was seen in the same ratings."""
        note = f"of {self.best}; the tables have all {len(self.arms)}; the interval holds for all of them at once"
        return structs.replace(self.good(self.best, together=len(self.arms)), name="highest P(Good)", note=note)

    @property
    def best(self) -> str:
        return max(self.arms, key=lambda arm: self.good(arm).value or 0.0)

    def headline(self, nothing: str) -> Estimate:
        """Of one arm or several; `nothing` says why there is none."""
        if not self.arms:
            return Estimate("P(Good)", None, 0, unit="%", note=nothing, digits=1)
        return self.good(self.arms[0]) if len(self.arms) == 1 else self.highest()

    def mean(self, arm: str) -> Estimate:
        _, total, n = self._columns(self.samples, arm)
        found = Estimate(f"mean rating, {arm}", float(total.sum() / n.sum()), int(n.sum()), digits=2)
        return _with_t(found, self._adds(_SUM, arm), int((n > 0).sum()), 1)

    def mean_gap(self, arm: str, reference: str, name: str) -> Estimate:
        """Difference of mean ratings, in points of the scale."""
        return self._gap(_SUM, self.mean, arm, reference, name)

    def gap(self, arm: str, reference: str) -> Estimate:
        """Difference in P(Good), in points."""
        found = self._gap(_GOOD, self.good, arm, reference, f"P(Good), {arm} − {reference}")
        low, high = (None if end is None else min(100.0, max(-100.0, end)) for end in (found.low, found.high))
        return structs.replace(found, low=low, high=high, unit="points", digits=1)

    def _gap(self, what: int, of: Callable[[str], Estimate], arm: str, reference: str, name: str) -> Estimate:
        """Its interval comes from the two arms' own where each rater belongs to one (Zou & Donner 2008), else from what
        each of their raters adds to it, with Student's t. `bench/claims.py few_raters` has both."""
        one, other = of(arm), of(reference)
        found = Estimate(name, (one.value or 0.0) - (other.value or 0.0), one.n + other.n, digits=2)
        if len(self.samples) > 1:
            low, high = difference_bounds(one, other) or (None, None)
            return structs.replace(found, low=low, high=high)
        saw, saw_other = (self._columns(self.samples, each)[2] > 0 for each in (arm, reference))
        means = 1 if np.array_equal(saw, saw_other) else 2  # of differences, or one of each arm
        adds = self._adds(what, arm) - self._adds(what, reference)
        return _with_t(found, adds, int((saw | saw_other).sum()), means)

    def _adds(self, what: int, arm: str) -> Floats:
        """By rater, what they add to an arm's mean beyond its value: whole numbers until the one division, so that
        raters who do not differ add exactly nothing."""
        columns = self._columns(self.samples, arm)
        own, n = columns[what], columns[2]
        return np.asarray(_UNIT[what] * (own * n.sum() - own.sum() * n) / n.sum() ** 2)

    def gain(self, arm: str, reference: str) -> Estimate:
        """Percent more Good, the study's measure."""
        with np.errstate(invalid="ignore", divide="ignore"):
            found = interval(
                self.samples,
                lambda totals: 100 * (self._share(totals, arm) / self._share(totals, reference) - 1),
                totals=self.totals,
                method="expanded",
                deciding=[self.arms.index(one) for one in (arm, reference)] if len(self.samples) > 1 else None,
            )
        varied = found.low != found.high  # else the width is not known to be 0
        low, high = (found.low, found.high) if varied else (None, None)
        n = self.counts[arm].n + self.counts[reference].n
        return Estimate(f"gain in Good, {arm} over {reference}", found.value, n, None, low, high, "%", digits=1)

    def _columns(self, totals: Sequence[Floats], arm: str) -> tuple[Floats, Floats, Floats]:
        place = self.arms.index(arm)
        own, start = (totals[place], 0) if len(totals) == len(self.arms) else (totals[0], _COLUMNS * place)
        return own[..., start], own[..., start + 1], own[..., start + 2]

    def _share(self, totals: Sequence[Floats], arm: str) -> Floats:
        good, _, n = self._columns(totals, arm)
        return np.asarray(good / n)


def _with_t(found: Estimate, adds: Floats, raters: int, means: int) -> Estimate:
    """With the interval of a sum of what each rater adds, around as many means as were estimated; without one where
    nothing varied, for then the width is not known to be 0."""
    free = raters - means
    if found.value is None or free < 1 or not (spread := math.sqrt((adds**2).sum() * raters / free)):
        return found
    low, high = t_bounds(found.value, spread, free)
    return structs.replace(found, low=low, high=high)


def arm_shares(
    ratings: Sequence[GivenRating], arms: Sequence[str], cluster_of: Callable[[GivenRating], str]
) -> ArmShares:
    """`arms` without any rating are left out."""
    present = {given_rating.arm for given_rating in ratings}
    known = tuple(arm for arm in arms if arm in present)
    by_cluster: dict[str, set[str]] = {}
    for rating in ratings:
        by_cluster.setdefault(cluster_of(rating), set()).add(rating.arm)
    nested = len(known) > 1 and all(len(own) == 1 for own in by_cluster.values())
    groups = (
        [[given_rating for given_rating in ratings if given_rating.arm == arm] for arm in known]
        if nested
        else [list(ratings)]
    )
    samples = [_rows(group, (arm,) if nested else known, cluster_of) for group, arm in zip(groups, known, strict=False)]
    return ArmShares(
        known,
        {
            arm: count_ratings([given_rating.value for given_rating in ratings if given_rating.arm == arm])
            for arm in known
        },
        samples,
        draw_totals(samples),
        {arm: sum(arm in own for own in by_cluster.values()) for arm in known},
    )


def _rows(ratings: Sequence[GivenRating], arms: Sequence[str], cluster_of: Callable[[GivenRating], str]) -> Floats:
    place: dict[str, int] = {}
    for rating in ratings:
        place.setdefault(cluster_of(rating), len(place))
    rows = np.zeros((len(place), _COLUMNS * len(arms)))
    start = {arm: _COLUMNS * index for index, arm in enumerate(arms)}
    for given_rating in ratings:
        row, first = rows[place[cluster_of(given_rating)]], start[given_rating.arm]
        row[first] += given_rating.value == GOOD
        row[first + 1] += given_rating.value
        row[first + 2] += 1
    return rows


def arm_table(shares: ArmShares, who: str, above: Mapping[str, Estimate]) -> Table:
    """Counts and shares of each arm: what a stacked bar shows; and its place among the replies that people wrote."""
    rows = [(arm, counts.n, *counts.row, shares.good(arm), shares.mean(arm)) for arm, counts in shares.counts.items()]
    columns = ("replies by", "ratings", "Bad", "Okay", "Good", "P(Good)", "mean rating")
    return with_place(
        Table(
            f"Ratings ({who})",
            columns,
            rows,
            "Bad 1, Okay 2, Good 3.",
            draw=(whiskers("P(Good)"), stacked("Bad", "Okay", "Good")),
        ),
        above,
    )


ABOVE_REPLIES = "above people's replies"
_DRAWS = 2_000


def above_people(rated: Sequence[tuple[str, str, float]]) -> dict[str, Estimate]:
    """Where among people, by arm: the share of the replies that people wrote above which one of its replies is rated,
    ties counting half (Mann and Whitney's U as a share), in %. Of (arm, cluster, rating) on one form, so that all
    were rated alike; whole clusters are drawn again. Empty without replies that people wrote."""
    arms = dict.fromkeys(arm for arm, _, _ in rated)
    if HUMAN not in arms:
        return {}
    levels = {value: place for place, value in enumerate(sorted({value for _, _, value in rated}))}
    wins = np.tri(len(levels)) - np.eye(len(levels)) / 2

    def share(totals: Sequence[Floats]) -> Floats:
        own, people = totals if len(totals) == 2 else np.split(totals[0], 2, axis=-1)
        won = np.einsum("...i,ij,...j->...", own, wins, people)
        return np.asarray(100 * won / (own.sum(axis=-1) * people.sum(axis=-1)))

    def histograms(own: Sequence[tuple[str, str, float]], *columns: str) -> Floats:
        clusters = {name: place for place, name in enumerate(dict.fromkeys(cluster for _, cluster, _ in own))}
        rows = np.zeros((len(clusters), len(columns), len(levels)))
        for arm, cluster, value in own:
            rows[clusters[cluster], columns.index(arm), levels[value]] += 1
        return rows.reshape(len(clusters), -1)

    found = {}
    for arm in arms:
        by = {one: [each for each in rated if each[0] == one] for one in (arm, HUMAN)}
        if arm == HUMAN:
            continue
        if {each[1] for each in by[arm]} & {each[1] for each in by[HUMAN]}:
            samples = [histograms([*by[arm], *by[HUMAN]], arm, HUMAN)]
        else:
            samples = [histograms(by[one], one) for one in (arm, HUMAN)]
        with np.errstate(invalid="ignore"):
            drawn = interval(samples, share, totals=shared_totals(samples, _DRAWS), method="expanded")
        low, high, value = drawn.low, drawn.high, drawn.value
        fewest = min(map(len, samples))
        if value in (0.0, 100.0) and fewest > 1:  # what never varies has no width when drawn again; Wilson's has
            low, high = (100 * bound for bound in proportion_bounds(value / 100, fewest))
        elif low == high:
            low = high = None
        name = f"{ABOVE_REPLIES}, {arm}"
        found[arm] = Estimate(
            name, value, len(by[HUMAN]), None, low, high, "%", digits=0, of="ratings of people's replies"
        )
    return found


def with_place(table: Table, above: Mapping[str, Estimate]) -> Table:
    """A table of arms, its first column their names, with the place of each among people's replies."""
    if not above:
        return table
    return Table(
        table.title,
        (*table.columns, ABOVE_REPLIES),
        [(*row, above.get(str(row[0]), "")) for row in table.rows],
        f"{table.note} Above people's replies: the share of the replies that people wrote than which one of these is "
        "rated better, ties counting half.",
        table.draw,
    )


def shares_of(table: Table) -> tuple[tuple[str, Estimate], ...]:
    """The share of Good of everybody in the table of counts and shares."""
    place = table.titles.index("P(Good)")
    return tuple((str(row[0]), share) for row in table.rows if isinstance(share := row[place], Estimate))


def by_group(
    usable: Sequence[GivenRating], shares: ArmShares, cluster_of: Callable[[GivenRating], str], by: str
) -> tuple[Table, ...]:
    """Counts of Good per emotion or valence."""
    groups = sorted({getattr(rating, by) for rating in usable} - {""})
    if len(groups) < 2:
        return ()
    rows = []
    for name in groups:
        row: list[str | Estimate] = [name]
        for arm in shares.arms:
            own = [rating for rating in usable if getattr(rating, by) == name and rating.arm == arm]
            row.append(clustered_share(arm, [one.value == GOOD for one in own], [cluster_of(one) for one in own]))
        rows.append(tuple(row))
    note = "Each interval by itself, of few ratings: a difference here is a hint, not a finding."
    return (Table(f"P(Good) by {by}", (by, *shares.arms), tuple(rows), note, draw=(HEAT,)),)


def length_table(
    usable: Sequence[GivenRating], shares: ArmShares, cluster_of: Callable[[GivenRating], str]
) -> tuple[Table, ...]:
    """Nothing for one arm alone; a reason instead of numbers where length and arm cannot be told apart."""
    if len(shares.arms) < 2:
        return ()
    found = at_equal_length(
        [
            LengthReply(
                rating.arm, rating.prompt, 100.0 * (rating.value == GOOD), math.log2(rating.words), cluster_of(rating)
            )
            for rating in usable
            if rating.words > 0
        ],
        digits=1,
        unit="%",
    )
    columns = ("replies by", AT_EQUAL_LENGTH, "P(Good)", "mean words")
    words = {
        arm: _mean([rating.words for rating in usable if rating.arm == arm and rating.words]) for arm in shares.arms
    }
    if not isinstance(found, EqualLength):
        rows = tuple((arm, None, shares.good(arm), words[arm]) for arm in shares.arms)
        return (Table(AT_EQUAL_LENGTH, columns, rows, f"Undefined: {found}."),)
    estimates = {arm: _within(share) for arm, share in zip(found.subjects, found.scores, strict=True)}
    slope = found.slope
    return (
        Table(
            AT_EQUAL_LENGTH,
            columns,
            tuple((arm, estimates.get(arm), shares.good(arm), words[arm]) for arm in shares.arms),
            f"As if all replies had {found.words:.0f} words, the geometric mean over all. A reply twice as long is "
            f"called Good {slope.value:+.1f} points more often (95 % CI {slope.low:.1f} to {slope.high:.1f}) than "
            "another by the same writer, prompts taken out: Good = writer + prompt + slope · log2(words). Linear, cut "
            "at 0 and 100 %. An association, not a cause.",
            draw=(whiskers(AT_EQUAL_LENGTH),),
        ),
    )


def _within(share: Estimate) -> Estimate:
    """A line knows no limits, a share does."""

    def inside(value: float | None) -> float | None:
        return None if value is None else min(100.0, max(0.0, value))

    return structs.replace(share, value=inside(share.value), low=inside(share.low), high=inside(share.high))


def _mean(words: Sequence[int]) -> float | None:
    return sum(words) / len(words) if words else None
