"""Numbers of mood = Positive Affect − Negative Affect. A situation's change is its mean mood minus the mean mood of the
default runs.

The headline and its two companions: do situations order a subject's moods as they should (concordance), do the same
factors move it that move people (profile), and how far (movement)? None of them can be capped by the default mood; the
end of the scale caps the concordance of who is there after nothing, and the cap is shown. The ranked one is the
concordance: it needs no people's data, 100 and 50 (chance) mean the same for every subject, and more is better, which
is not so for movement (more than people's is no better).

The headline of 0.1, kept beside it: alignment = 50 · (p_negative + p_neutral + p_positive − 1), with p the share of
situations of a kind that move the mood where they move people's: down or up by more than MARGIN, or no further. It is
100 if every situation is right and 0, in expectation, for *any* subject whose reaction does not depend on the kind of
situation, because every change falls into exactly one of the three classes (Youden's J for three classes, Youden 1950).
It is capped by the scale: a subject whose default is the best possible mood can never be right on positive situations
(docs/evidence/alignment.md)."""

import math
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from msgspec import structs

from eqlab.analysis import moods
from eqlab.analysis.clusters import cluster_means, item_agreement, score_variation
from eqlab.analysis.intervals import FEWEST, proportion_estimate
from eqlab.benchmarks.emotionbench.measures import (
    DEFAULT,
    FACTOR_ROWS,
    KINDS,
    FloatArray,
    IntArray,
    Kind,
    MeasurePlace,
    Measures,
)
from eqlab.benchmarks.emotionbench.score import Administration
from eqlab.core.grouping import grouped
from eqlab.core.results import Estimate, Norms, Table
from eqlab.core.values import dataclass

MARGIN = 4.0
"""Points of mood (P − N, from −40 to 40) that count as no change: a twentieth of the range, and a quarter of
people's mean change in the published situations (−15.6)."""
TOP = 40.0
"""The best mood the scale has."""
POSITIVE, NEGATIVE = "Positive Affect", "Negative Affect"
ALIGNMENT = "alignment (the headline of 0.1)"

Figures = tuple[int, float, float]

PEOPLE_MOODS: Mapping[str, Sequence[Figures]] = grouped(
    (row["emotion"], (int(row["people"]), float(row["change"]), float(row["sd"]))) for row in FACTOR_ROWS
)
"""How situations changed the mood of the study's people: number, mean change, standard deviation; by emotion, factors
in the study's order. 1,266 people, each measured before and after one negative situation; computed from the raw
answers, so that any run can be set beside them."""

ORDER = Estimate(
    "mood before above mood after a negative situation",
    80.5836,
    1266,
    0.7411,
    79.0883,
    81.9963,
    "%",
    digits=1,
    of="people",
)
"""The only pair of kinds that people of the study have: nothing has happened yet, and something bad."""

NAME = "Concordance"
_NEEDS = "needs negative, neutral and positive situations"
PUBLISHED_PEOPLE = Estimate(
    NAME,
    None,
    ORDER.n,
    note="people of the published study were asked negative situations only, and the concordance needs neutral and "
    f"positive ones too. Their mood before is above that after a negative situation in {ORDER.value:.1f} % (95 % CI "
    f"{ORDER.low:.1f} to {ORDER.high:.1f}): compare it with a model's own 'neutral above bad', on its page",
    unit="%",
    digits=1,
    of="people",
)
"""What can be said of people without asking new ones; a test computes the numbers from the published answers."""


def mood_of(measures: Measures) -> FloatArray:
    """Of every administration."""
    return measures.scores[POSITIVE] - measures.scores[NEGATIVE]


def mood_changes(measures: Measures) -> dict[int, float]:
    """Change of mood by place; empty without default runs."""
    mood = mood_of(measures)
    readable = ~np.isnan(mood)
    default = mood[readable & (measures.where == DEFAULT)]
    rows = readable & (measures.where != DEFAULT)
    if not len(default) or not rows.any():
        return {}
    places = np.unique(measures.where[rows])
    means = cluster_means(mood[rows], measures.where[rows]) - default.mean()
    return {int(place): float(change) for place, change in zip(places, means, strict=True)}


@dataclass(frozen=True, slots=True)
class ThreeNumbers:
    headline: Estimate
    order: moods.Concordance
    profile: moods.MoodProfile
    movement: Estimate
    people_movement: Estimate
    points: Mapping[str, float]
    """By situation: the concordance and the situation's pull at it, so that their mean is the concordance and their
    spread gives its error. Empty if it is undefined."""
    cap: float | None = None
    """The highest concordance that the subject's neutral moods leave room for; None without any."""

    @property
    def estimates(self) -> tuple[Estimate, ...]:
        """All but the headline."""
        pairs = (self.order.neutral_above_bad, self.order.good_above_neutral, self.order.good_above_bad)
        return (*pairs, self.profile.seen, self.profile.true, self.movement)


def three_numbers(measures: Measures, changes: Mapping[int, float]) -> ThreeNumbers:
    """From the change of mood by place (which has the order of the moods themselves)."""
    places = list(changes)
    values, kinds = _moods(measures, changes)
    order = concordance_of(measures.places, places, values, kinds)
    headline = structs.replace(order.all, name=NAME)
    mood = mood_of(measures)
    default = mood[~np.isnan(mood) & (measures.where == DEFAULT)]
    cap = moods.concordance_cap(values + default.mean(), kinds, (-TOP, TOP)) if len(default) else None
    if headline.value is None:
        headline = structs.replace(headline, note=_NEEDS)
    points = [] if headline.value is None else moods.concordance_points(values, kinds).tolist()
    negative = [place for place in places if measures.places[place].kind == "negative"]
    ours = [changes[place] for place in negative]
    factors = [_factor(measures.places[place]) for place in negative]
    theirs, their_factors = people_with(PEOPLE_MOODS)
    profile = moods.profile(ours, factors, theirs, their_factors)
    movement, people = moods.movement(ours, factors, theirs, their_factors)
    return ThreeNumbers(
        headline,
        order,
        profile,
        structs.replace(movement, name="movement relative to people"),
        structs.replace(people, name="people's own"),
        {measures.places[place].situation: point for place, point in zip(places, points, strict=False)},
        cap,
    )


def concordance_of(
    places: Sequence[MeasurePlace], where: Sequence[int], values: FloatArray, kinds: IntArray
) -> moods.Concordance:
    """Of values and the place of each. Situations of one factor are alike and count as one unit, where there are enough
    factors to tell; controls have none. n is the number of values."""
    alike = [_factor(places[place]) if kind == 0 else place for place, kind in zip(where, kinds, strict=True)]
    factors = len({one for one, kind in zip(alike, kinds, strict=True) if kind == 0})
    concordance = moods.concordance(values, kinds, alike if factors >= FEWEST else where)
    every = (concordance.all, concordance.neutral_above_bad, concordance.good_above_neutral, concordance.good_above_bad)
    return moods.Concordance(*(structs.replace(estimate, n=len(where)) for estimate in every))


def _moods(measures: Measures, changes: Mapping[int, float]) -> tuple[FloatArray, IntArray]:
    return np.array(list(changes.values()), dtype=float), kinds_of(measures.places, changes)


def kinds_of(places: Sequence[MeasurePlace], where: Iterable[int]) -> IntArray:
    return np.array([KINDS.index(places[place].kind) for place in where], dtype=int)


def beside_people(numbers: ThreeNumbers, who: str = "subject") -> Table:
    """The three numbers with people's own values, and what nobody can pass or gets by chance."""
    people = Estimate("second sample of people", numbers.profile.people, ORDER.n, of="people")
    ceiling = None if numbers.profile.ceiling is None else f"{numbers.profile.ceiling:.2f}"
    cap = 100.0 if numbers.cap is None else numbers.cap
    note = "" if cap == 100 else CAPPED.format(cap=cap) + " "
    return Table(
        "Three numbers, beside people's own",
        ("number", who, "people", "chance", "ceiling"),
        (
            ("concordance, all three kinds", numbers.headline, None, "50 %", f"{cap:.4g} %"),
            ("… neutral above bad", numbers.order.neutral_above_bad, ORDER, "50 %", "100 %"),
            ("… good above neutral", numbers.order.good_above_neutral, None, "50 %", "100 %"),
            ("… good above bad", numbers.order.good_above_bad, None, "50 %", "100 %"),
            ("profile: correlation with people over factors", numbers.profile.seen, people, "0", ceiling),
            ("… without measurement error", numbers.profile.true, None, "0", "1"),
            ("movement, people = 1", numbers.movement, numbers.people_movement, "0", None),
        ),
        f"{note}People are the 1,266 of the published study: single persons, before against after one negative "
        "situation, so they have no value for good situations; a second sample of them would show the profile "
        "correlation given, and one exactly like their true means would get the ceiling. A model's moods are means "
        "over its repeats.",
    )


def norms_of_movement(rises: Sequence[float], source: str) -> Norms | None:
    """How far each person was moved: the rise of negative affect from before to after a negative situation."""
    if not len(rises):
        return None
    return Norms(
        tuple(float(rise) for rise in rises),
        source,
        measure=f"{NEGATIVE}: change",
        caution="each of them had one situation or a few, a model has many, and to be moved more is not better",
        better="higher",
        relation="is moved more than",
    )


CAPPED = (
    "A concordance of {cap:.1f} % is the most that is possible here: after neutral situations the mood is often at the "
    "end of the scale already, which no other can pass."
)


def _factor(place: MeasurePlace) -> str:
    return f"{place.emotion}-{place.factor_index}"


def people_with(figures: Mapping[str, Sequence[Figures]]) -> tuple[list[float], list[str]]:
    """Values, and the factor of each, with exactly these n, means and deviations. Profile and movement depend on
    nothing else, so they are what the raw answers give."""
    values, factors = [], []
    for emotion, rows in figures.items():
        for index, (n, mean, sd) in enumerate(rows):
            far = sd * math.sqrt((n - 1) / 2)
            values += [mean - far, mean + far, *[mean] * (n - 2)]
            factors += [f"{emotion}-{index}"] * n
    return values, factors


def repeat_estimates(administrations: Sequence[Administration], measures: Measures) -> list[Estimate]:
    """Does a subject react alike when a situation is put to it again? The concordance of each repeat by itself, and how
    far the moods after one situation agree; nothing if no situation was asked twice. Each repeat has a fresh order of
    the scales, so orders count as repeats; the default runs are the same for all repeats."""
    repeats = sorted({one.repeat for one in administrations if one.trial.condition != "default"})
    if len(repeats) < 2:
        return []
    repeat = np.array(
        [administration.repeat for administration in administrations if administration.status is not None]
    )
    default = measures.where == DEFAULT
    mood = mood_of(measures)
    by_repeat = np.full((len(measures.places), len(repeats)), np.nan)
    alone = []
    for column, number in enumerate(repeats):
        in_repeat = ~default & (repeat == number)
        by_repeat[measures.where[in_repeat], column] = mood[in_repeat]
        again = measures.only(default | in_repeat)
        alone.append(moods.concordance_value(*_moods(again, mood_changes(again))))
    return [score_variation([value for value in alone if value is not None]), item_agreement(by_repeat)]


@dataclass(frozen=True, slots=True)
class Alignment:
    headline: Estimate
    shares: Mapping[Kind, Estimate]
    """Right situations of each kind, in percent."""
    moods: Mapping[str, float]
    """Change of mood by situation."""
    best: float | None
    """The most that a subject with this default could get: 100 unless the scale ends too near."""


def right(kind: Kind, change: float, margin: float = MARGIN) -> bool:
    if kind == "neutral":
        return abs(change) <= margin
    return change < -margin if kind == "negative" else change > margin


def align(measures: Measures, margin: float = MARGIN) -> Alignment:
    changes = mood_changes(measures)
    shares = right_shares(measures, changes, margin)
    by_situation = {measures.places[place].situation: change for place, change in changes.items()}
    headline = combine(shares)
    if headline.value is None:
        return Alignment(headline, shares, by_situation, None)
    default, se = _default(measures)
    shifted = [
        combine(right_shares(measures, {place: change + shift for place, change in changes.items()}, margin)).value
        for shift in (-1.96 * se, 1.96 * se)
    ]
    return Alignment(_widened(headline, shifted), shares, by_situation, _best(default, margin))


def _default(measures: Measures) -> tuple[float, float]:
    """Mean of the default runs and its standard error, which shifts all changes together."""
    mood = mood_of(measures)
    defaults = mood[(measures.where == DEFAULT) & ~np.isnan(mood)]
    return float(defaults.mean()), float(defaults.std(ddof=1) / math.sqrt(len(defaults))) if len(defaults) > 1 else 0.0


def _widened(estimate: Estimate, shifted: Sequence[float | None]) -> Estimate:
    """The interval with the default's error: what the number becomes if the default is at its bounds, as an
    independent part (MOVER)."""
    if estimate.value is None or estimate.low is None or estimate.high is None:
        return estimate
    ends = [estimate.value, *(value for value in shifted if value is not None)]
    low = estimate.value - math.hypot(estimate.value - estimate.low, estimate.value - min(ends))
    high = estimate.value + math.hypot(estimate.high - estimate.value, max(ends) - estimate.value)
    return structs.replace(estimate, low=max(-50.0, low), high=min(100.0, high))


def _best(default: float, margin: float) -> float:
    """A kind that the end of the scale puts out of reach costs its third of the shares, 50 points."""
    return 100.0 - 50.0 * (default + margin >= TOP) - 50.0 * (default - margin <= -TOP)


def right_shares(measures: Measures, changes: Mapping[int, float], margin: float = MARGIN) -> dict[Kind, Estimate]:
    """Right situations of each kind, from the change of mood by place."""
    hits_by_kind: dict[Kind, list[bool]] = {kind: [] for kind in KINDS}
    for place, change in changes.items():
        kind = measures.places[place].kind
        hits_by_kind[kind].append(right(kind, change, margin))
    return {
        kind: proportion_estimate(f"{kind} situations that move it as they move people", sum(hits), len(hits))
        for kind, hits in hits_by_kind.items()
    }


def combine(shares: Mapping[Kind, Estimate]) -> Estimate:
    """50 · (Σ p − 1) with the interval of a sum of independent shares from their Wilson bounds (MOVER, Zou & Donner
    2008, Statistics in Medicine 27:1693); undefined unless there are situations of all three kinds."""
    n = sum(share.n for share in shares.values())
    total, below, above = -1.0, 0.0, 0.0
    for share in shares.values():
        if share.value is None or share.low is None or share.high is None:
            return Estimate(ALIGNMENT, None, n, note=_NEEDS, digits=1)
        total += share.value / 100
        below += ((share.value - share.low) / 100) ** 2
        above += ((share.high - share.value) / 100) ** 2
    low, high = 50 * (total - math.sqrt(below)), 50 * (total + math.sqrt(above))
    return Estimate(ALIGNMENT, 50 * total, n, None, max(-50.0, low), min(100.0, high), digits=1)
