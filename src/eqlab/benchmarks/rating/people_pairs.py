"""People's choices between two replies: strengths of the arms by Bradley–Terry with Davidson's ties and a first place
that may count for something, errors over prompts and people together."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from scipy.special import stdtrit

from eqlab.analysis.bradley_terry import Strengths, Verdicts, strengths
from eqlab.analysis.intervals import proportion_estimate
from eqlab.analysis.ordinal_likelihood import FitError
from eqlab.benchmarks.contrasts import contrast_table, corrected
from eqlab.benchmarks.rating.outcome import RatingOutcome
from eqlab.benchmarks.rating.people_result import FOLLOWS
from eqlab.benchmarks.rating.rated import RatedReply, arms_of
from eqlab.core.errors import UsageError
from eqlab.core.results import Baseline, Estimate, Table
from eqlab.core.studied import Contrast


@dataclass(frozen=True, slots=True)
class ChosenReply:
    """One choice: 1 where the first reply won, 0 the second, 0.5 a tie."""

    first: str
    second: str
    outcome: float
    prompt: str
    person: str


def chosen(ratings: Sequence[RatedReply]) -> list[ChosenReply]:
    """With three answers the middle one is a tie; with two there is none."""
    found = []
    for one in ratings:
        if one.value is not None:
            (scale,) = one.trial.form.scales
            first, second = one.key["arms"]
            outcome = (scale.high - one.value) / (scale.high - scale.low)
            found.append(ChosenReply(first, second, outcome, one.prompt, one.rater))
    return found


def fitted(choices: Sequence[ChosenReply]) -> tuple[Strengths | None, str]:
    """The strengths, or why there are none."""
    if not choices:
        return None, "Nobody has chosen anything yet."
    try:
        return strengths(
            Verdicts(
                [one.first for one in choices],
                [one.second for one in choices],
                [one.outcome for one in choices],
                [one.prompt for one in choices],
                [one.person for one in choices],
            )
        ), ""
    except (FitError, UsageError) as error:
        return None, str(error)


def pair_contrasts(choices: Sequence[ChosenReply], reference: str, alpha: float) -> tuple[tuple[Contrast, ...], Table]:
    """Every arm against the reference: log-odds of being chosen, the first place taken out."""
    fit, why = fitted(choices)
    found: tuple[Contrast, ...] = ()
    if fit is not None and reference in fit.names:
        p, place = fit.pairs().p, {name: index for index, name in enumerate(fit.names)}
        df = min(len({one.prompt for one in choices}), len({one.person for one in choices})) - 1
        reach = float(stdtrit(max(df, 1), 1 - alpha / 2))
        made = []
        for arm in sorted(set(fit.names) - {reference}):
            gap = fit.difference(arm, reference)
            one = float(p[place[arm], place[reference]])
            if gap.value is None or gap.se is None or np.isnan(one):
                why = "There are too few prompts for an interval."
                continue
            named = Estimate(f"log-odds, {arm} − {reference}", gap.value, len(choices), gap.se, gap.low, gap.high)
            low, high = gap.value - reach * gap.se, gap.value + reach * gap.se
            made.append(Contrast(arm, reference, named, one, one, low, high))
        found = corrected(made)
    note = "Bradley–Terry with ties and the first place; errors over prompts and people (two-way jackknife)."
    return found, contrast_table(found, "replies by", "log-odds of being chosen", alpha, f"{note} {why}".strip())


def outcome(ratings: Sequence[RatedReply], reference: str = "") -> RatingOutcome:
    choices = chosen(ratings)
    people = len({one.person for one in choices})
    fit, why = fitted(choices)
    arms = arms_of(ratings)
    against = reference if reference in arms else (arms[0] if arms else "")
    contrasts, _ = pair_contrasts(choices, against, 0.05)
    ties = sum(one.outcome == 0.5 for one in choices)
    headline = Estimate("log-odds of being chosen", None, len(choices), note="see the tables")
    if len(contrasts) == 1:
        headline = contrasts[0].estimate
    place = fit.position if fit else None
    return RatingOutcome(
        title="Replies in pairs, chosen by people",
        sentence=_sentence(people, len(choices), contrasts),
        headline=headline,
        score_range=(-5.0, 5.0),
        estimates=(
            *(one.estimate for one in contrasts),
            *((place,) if place else ()),
            proportion_estimate("ties", ties, len(choices)),
        ),
        tables=(_wins(choices, arms), *((_strengths(fit),) if fit else ()), _orders(choices, place)),
        caveats=(
            FOLLOWS,
            "A preference has no level: both replies may be good, or both bad.",
            *((f"No strengths: {why}",) if fit is None and choices else ()),
        ),
        rules={"people": people},
        baselines=(Baseline("no preference", 0.0),),
    )


def _sentence(people: int, n: int, contrasts: Sequence[Contrast]) -> str:
    if not n:
        return "Nobody has chosen anything yet."
    said = []
    for one in contrasts:
        gap = one.estimate
        bounds = (
            "no interval"
            if gap.low is None
            else f"log-odds {gap.value:+.2f}, 95 % interval {gap.low:.2f} to {gap.high:.2f}"
        )
        clear = gap.low is not None and gap.high is not None and (gap.low > 0 or gap.high < 0)
        if clear:
            better, worse = (one.arm, one.reference) if (gap.value or 0) > 0 else (one.reference, one.arm)
            said.append(f"they prefer {better} to {worse} ({bounds})")
        else:
            said.append(f"they show no clear preference between {one.arm} and {one.reference} ({bounds})")
    return f"{people} people made {n} choices between two replies: {'; '.join(said) or 'no strength could be fitted'}."


def _wins(choices: Sequence[ChosenReply], arms: Sequence[str]) -> Table:
    rows = []
    for reference, arm in combinations(arms, 2):
        own = [one for one in choices if {one.first, one.second} == {arm, reference}]
        points = [one.outcome if one.first == arm else 1 - one.outcome for one in own]
        rows.append((arm, reference, len(own), points.count(1.0), points.count(0.5), points.count(0.0)))
    return Table("Choices", ("replies by", "against", "choices", "won", "tied", "lost"), tuple(rows))


def _strengths(fit: Strengths) -> Table:
    ranks = fit.ranks() if len(fit.names) > 2 else None
    rows = []
    for index, one in enumerate(fit.estimates()):
        span = "–".join(map(str, ranks.ranges[index])) if ranks is not None else ""
        rows.append((one.value or 0.0, (one.name, one, span)))
    return Table(
        "Strengths",
        ("replies by", "log-odds, mean 0", "rank, 95 %"),
        tuple(row for _, row in sorted(rows, key=lambda row: -row[0])),
        "The difference of two is the log-odds that the one is chosen over the other, ties aside.",
        whiskers="log-odds, mean 0",
    )


def _orders(choices: Sequence[ChosenReply], place: Estimate | None) -> Table:
    counted = [one.outcome for one in choices]
    rows = (("first", counted.count(1.0)), ("tie", counted.count(0.5)), ("second", counted.count(0.0)))
    worth = "" if place is None or place.value is None else f" The first place is worth {place.value:+.2f} log-odds."
    return Table("Choices by place", ("chosen", "times"), rows, f"Every pair is shown in both orders.{worth}")
