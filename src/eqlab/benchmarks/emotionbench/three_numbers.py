"""The headline and its two companions: do situations order a subject's moods as they should, do the same factors move
it that move people, and how far? None of them can be capped by the default mood or the end of the scale.

The ranked one is the concordance: it needs no people's data, 100 and 50 (chance) mean the same for every subject, and
more is better, which is not so for movement (more than people's is no better)."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from eqlab.analysis import moods
from eqlab.benchmarks.emotionbench.factors import KINDS
from eqlab.benchmarks.emotionbench.measures import Measures
from eqlab.benchmarks.emotionbench.people_moods import ORDER, PEOPLE_MOODS, drawn
from eqlab.core.results import Estimate, Table

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

    @property
    def estimates(self) -> tuple[Estimate, ...]:
        """All but the headline."""
        pairs = (self.order.neutral_above_bad, self.order.good_above_neutral, self.order.good_above_bad)
        return (*pairs, self.profile.seen, self.profile.true, self.movement)


def three_numbers(measures: Measures, changes: Mapping[int, float]) -> ThreeNumbers:
    """From the change of mood by place (which has the order of the moods themselves)."""
    places = list(changes)
    values, kinds = _moods(measures, changes)
    order = moods.concordance(values, kinds)
    headline = replace(order.all, name=NAME)
    if headline.value is None:
        headline = replace(headline, note=_NEEDS)
    points = [] if headline.value is None else moods.concordance_points(values, kinds).tolist()
    negative = [place for place in places if measures.places[place].kind == "negative"]
    ours = [changes[place] for place in negative]
    factors = [_factor(measures, place) for place in negative]
    theirs, their_factors = drawn(PEOPLE_MOODS)
    profile = moods.profile(ours, factors, theirs, their_factors)
    movement, people = moods.movement(ours, factors, theirs, their_factors)
    return ThreeNumbers(
        headline,
        order,
        profile,
        replace(movement, name="movement relative to people"),
        replace(people, name="people's own"),
        {measures.places[place].situation: point for place, point in zip(places, points, strict=False)},
    )


def concordance_alone(measures: Measures, changes: Mapping[int, float]) -> float | None:
    """The headline's value by itself, for who needs it often."""
    return moods.concordance_value(*_moods(measures, changes))


def _moods(measures: Measures, changes: Mapping[int, float]) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]:
    values = np.array(list(changes.values()), dtype=float)
    return values, np.array([KINDS.index(measures.places[place].kind) for place in changes], dtype=int)


def beside_people(found: ThreeNumbers, who: str = "subject") -> Table:
    """The three numbers with people's own values, and what nobody can pass or gets by chance."""
    own, ceiling = found.profile.people, found.profile.ceiling
    people = Estimate("second sample of people", own, ORDER.n, of="people")
    return Table(
        "Three numbers, beside people's own",
        ("number", who, "people", "chance", "ceiling"),
        (
            ("concordance, all three kinds", found.headline, None, "50 %", "100 %"),
            ("… neutral above bad", found.order.neutral_above_bad, ORDER, "50 %", "100 %"),
            ("… good above neutral", found.order.good_above_neutral, None, "50 %", "100 %"),
            ("… good above bad", found.order.good_above_bad, None, "50 %", "100 %"),
            ("profile: correlation with people over factors", found.profile.seen, people, "0", _two(ceiling)),
            ("… without measurement error", found.profile.true, None, "0", "1"),
            ("movement, people = 1", found.movement, found.people_movement, "0", None),
        ),
        "People are the 1,266 of the published study: single persons, before against after one negative situation, so "
        "they have no value for good situations; a second sample of them would show the profile correlation given, and "
        "one exactly like their true means would get the ceiling. A model's moods are means over its repeats.",
    )


def _factor(measures: Measures, place: int) -> str:
    where = measures.places[place]
    return f"{where.emotion}-{where.factor_index}"


def _two(value: float | None) -> str | None:
    return None if value is None else f"{value:.2f}"
