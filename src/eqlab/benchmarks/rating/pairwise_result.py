"""Two replies at a time, in both orders: which arm is preferred, and what the first place is worth."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from eqlab.analysis.arrays import Floats
from eqlab.analysis.bootstrap import draw_totals, interval
from eqlab.analysis.intervals import proportion_estimate
from eqlab.benchmarks.rating.outcome import RatingOutcome
from eqlab.benchmarks.rating.pairs_together import wins_table
from eqlab.benchmarks.rating.rated import RatedReply, arms_of
from eqlab.benchmarks.rating.strengths import anchors_of, fitted, strengths_tables, width_of
from eqlab.core.results import Baseline, Estimate, Table

_POINTS = {1: 1.0, 2: 0.5, 3: 0.0}
"""For the first reply: better, tie, worse."""


@dataclass(frozen=True, slots=True)
class Duel:
    """One prompt: the two orders' points for the second-named arm against the reference."""

    prompt: str
    points: tuple[float, float]

    @property
    def mean(self) -> float:
        return sum(self.points) / 2

    @property
    def consistent(self) -> bool:
        """Both orders lead to the same verdict."""
        return self.points[0] == self.points[1]


def duels(ratings: Sequence[RatedReply], arm: str, reference: str) -> list[Duel]:
    """Prompts for which both orders were rated; repeats are averaged."""
    seen: dict[str, dict[str, list[float]]] = {}
    for one in ratings:
        if one.value is not None and set(one.key["arms"]) == {arm, reference}:
            first = one.key["arms"][0]
            points = _POINTS[one.value] if first == arm else 1 - _POINTS[one.value]
            seen.setdefault(one.prompt, {}).setdefault(first, []).append(points)
    return [
        Duel(prompt, (float(np.mean(orders[arm])), float(np.mean(orders[reference]))))
        for prompt, orders in seen.items()
        if len(orders) == 2
    ]


def outcome(subject: str, ratings: Sequence[RatedReply], options: Mapping[str, Any]) -> RatingOutcome:
    judge = subject.removeprefix("judge:")
    arms = arms_of(ratings)
    met = {pair: own for pair, own in _met(ratings, arms).items() if own or not options.get("pairs")}
    preferred = {pair: _preference(pair, own) for pair, own in met.items()}
    bias = _first_place(ratings)
    every = [duel for own in met.values() for duel in own]
    together = wins_table(ratings, arms)
    title = str(options.get("rubric_title", "Empathy"))
    return RatingOutcome(
        title=f"{title}, replies in pairs",
        sentence=_sentence(judge, preferred, bias),
        headline=_headline(preferred),
        score_range=(0.0, 100.0),
        estimates=(
            *preferred.values(),
            bias,
            proportion_estimate("same verdict in both orders", sum(d.consistent for d in every), len(every)),
            proportion_estimate("ties", sum(one.value == 2 for one in ratings), _answered(ratings)),
            *(cell for table in together for row in table.rows for cell in row if isinstance(cell, Estimate)),
        ),
        tables=(
            _table(met, preferred),
            *strengths_tables(
                {judge: ratings}, anchors_of(options, subject), str(options.get("anchors", {}).get("run", ""))
            ),
            *together,
            _places(ratings),
        ),
        caveats=(
            *adaptive_note(ratings, options),
            "Judge-only: one judge is one rater; intervals are over prompts.",
            "A preference has no level: both replies may be good, or both bad. 'eqlab judge' without --pairwise rates "
            "each by itself.",
        ),
        baselines=(Baseline("no preference", 50.0),),
    )


def _met(ratings: Sequence[RatedReply], arms: Sequence[str]) -> dict[tuple[str, str], list[Duel]]:
    return {(arm, reference): duels(ratings, arm, reference) for reference, arm in combinations(arms, 2)}


def adaptive_note(ratings: Sequence[RatedReply], options: Mapping[str, Any]) -> tuple[str, ...]:
    """Where an adaptive run stands, and that it chose its pairs itself."""
    if not options.get("adaptive"):
        return ()
    subject = next((one.rater for one in ratings if one.rater), "")
    found, _ = fitted({"": ratings}, anchors_of(options, subject))
    if found is None:
        return ("Adaptive: no strengths can be told yet.",)
    width, wanted = width_of(found), float(options["width"])
    reached = "reached" if width <= wanted else "not reached: nothing that is left would narrow them, or it was stopped"
    return (
        f"Adaptive: pairs were chosen by what was known, until rank ranges would be {wanted:g} ranks wide on average; "
        f"they are {width:.2f} ({reached}), after {found.verdicts} verdicts.",
    )


def _answered(ratings: Sequence[RatedReply]) -> int:
    return sum(one.value is not None for one in ratings)


def _preference(pair: tuple[str, str], own: Sequence[Duel]) -> Estimate:
    """Share of duels won, ties half, the mean of both orders; prompts are drawn again."""
    name = f"preference for {pair[0]} over {pair[1]}"
    rows = np.array([[duel.mean, 1.0] for duel in own]).reshape(-1, 2)
    return _interval(name, rows, lambda totals: 100 * totals[0][..., 0] / totals[0][..., 1], len(own), "%")


def _first_place(ratings: Sequence[RatedReply]) -> Estimate:
    """How much more often the first reply wins than the second, in points; 0 without position bias."""
    by_prompt: dict[str, list[float]] = {}
    for one in ratings:
        if one.value is not None:
            by_prompt.setdefault(one.prompt, []).append(2 - one.value)
    rows = np.array([[sum(values), len(values)] for values in by_prompt.values()]).reshape(-1, 2)
    n = _answered(ratings)
    name = "first reply preferred over second"
    return _interval(name, rows, lambda totals: 100 * totals[0][..., 0] / totals[0][..., 1], n, "points")


def _interval(name: str, rows: Floats, statistic: Callable[[Sequence[Floats]], Floats], n: int, unit: str) -> Estimate:
    if not len(rows):
        return Estimate(name, None, 0, unit=unit, digits=1)
    found = interval([rows], statistic, totals=draw_totals([rows]) if len(rows) > 1 else [rows])
    flat = found.low is not None and found.low == found.high
    low, high = (None, None) if flat else (found.low, found.high)
    return Estimate(name, found.value, n, None, low, high, unit, "nothing varied" if flat else "", 1)


def _headline(preferred: Mapping[tuple[str, str], Estimate]) -> Estimate:
    if len(preferred) == 1:
        return next(iter(preferred.values()))
    n = sum(one.n for one in preferred.values())
    return Estimate("preference", None, n, unit="%", note=f"{len(preferred)} pairs: see the table", digits=1)


def _table(met: Mapping[tuple[str, str], Sequence[Duel]], preferred: Mapping[tuple[str, str], Estimate]) -> Table:
    rows = []
    for (arm, reference), own in met.items():
        won = sum(duel.mean > 0.5 for duel in own)
        lost = sum(duel.mean < 0.5 for duel in own)
        same = sum(duel.consistent for duel in own)
        rows.append((arm, reference, len(own), won, len(own) - won - lost, lost, same, preferred[arm, reference]))
    return Table(
        "Preferences (judge-only)",
        ("replies by", "against", "prompts", "won", "tied", "lost", "same in both orders", "preference"),
        tuple(rows),
        "Both orders of a prompt count together: a win in one order and a loss in the other is a tie.",
    )


def _places(ratings: Sequence[RatedReply]) -> Table:
    values = [one.value for one in ratings]
    rows = tuple((name, values.count(value)) for value, name in ((1, "first"), (2, "tie"), (3, "second")))
    return Table("Verdicts by place", ("verdict", "times"), rows, "Every pair was shown in both orders.")


def _sentence(judge: str, preferred: Mapping[tuple[str, str], Estimate], bias: Estimate) -> str:
    said, without = [], []
    for (arm, reference), share in preferred.items():
        if share.value is None:
            without.append(f"{arm} with {reference}")
            continue
        bounds = "no interval" if share.low is None else f"95 % interval {share.low:.1f} to {share.high:.1f}"
        if share.low is not None and share.low > 50:
            verdict = f"prefers {arm} to {reference}"
        elif share.high is not None and share.high < 50:
            verdict = f"prefers {reference} to {arm}"
        else:
            verdict = f"shows no clear preference between {arm} and {reference}"
        said.append(f"{verdict} ({share.value:.1f} % for {arm}, {bounds})")
    text = f"Judge-only: {judge} {'; '.join(said)}." if said else f"No verdict of {judge} could be read."
    if said and without:
        text += f" Not compared: {', '.join(without)}."
    if bias.low is not None and bias.high is not None and (bias.low > 0 or bias.high < 0):
        place = "first" if bias.low > 0 else "second"
        text += f" It favours the {place} place ({bias.value:+.1f} points), which asking in both orders evens out."
    return text
