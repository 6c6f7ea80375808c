"""Two replies at a time, in both orders, as a result. A judge's verdicts: which arm is preferred on how many prompts,
and what the first place is worth. People's choices: strengths of the arms by Bradley–Terry with Davidson's ties and a
first place that may count for something, errors over prompts and people together."""

from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np
from msgspec import structs

from eqlab.analysis.bradley_terry import FEWEST_PROMPTS, Strengths, strengths
from eqlab.analysis.comparison import paired
from eqlab.analysis.intervals import clustered_share, mean_bounds, mean_estimate
from eqlab.analysis.multiplicity import holm
from eqlab.analysis.ordinal_likelihood import FitError
from eqlab.benchmarks.common.people import contrast_table, corrected
from eqlab.benchmarks.rating.people import FOLLOWS, WHY_NO_POINTS, contrast_numbers
from eqlab.benchmarks.rating.powered import wins_table
from eqlab.benchmarks.rating.rated import HUMAN, Outcome, RatedReply, arms_of, unread_caveats
from eqlab.benchmarks.rating.strengths import (
    LOOKED,
    anchors_of,
    fitted,
    level_of,
    strengths_tables,
    verdicts_of,
    width_of,
)
from eqlab.benchmarks.rating.trials import ALL, RatingOptions
from eqlab.core.errors import UsageError
from eqlab.core.grouping import grouped
from eqlab.core.plural import many
from eqlab.core.results import Baseline, Estimate, OfOthers, Table, whiskers
from eqlab.core.studied import Contrast
from eqlab.core.values import dataclass
from eqlab.tables.cells import p_text

_OTHERS = OfOthers("Empathy", "replies called Good", (), HUMAN)
NO_LEVEL = "A preference has no level: both replies may be good, or both bad."


def readable(ratings: Sequence[RatedReply]) -> list[RatedReply]:
    return [reply for reply in ratings if reply.value is not None]


def _by_place(title: str, column: str, ratings: Sequence[RatedReply], note: str) -> Table:
    points = [reply.first_points for reply in ratings]
    rows = tuple((name, points.count(won)) for name, won in (("first", 1.0), ("tie", 0.5), ("second", 0.0)))
    return Table(title, (column, "times"), rows, note)


# -- a judge -------------------------------------------------------------------------------------------------------


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


def judge_outcome(subject: str, ratings: Sequence[RatedReply], options: RatingOptions) -> Outcome:
    judge, arms = subject.removeprefix("judge:"), arms_of(ratings)
    met = {(arm, reference): duels(ratings, arm, reference) for reference, arm in combinations(arms, 2)}
    met = {pair: own for pair, own in met.items() if own or options.pairs == ALL}
    level = level_of(options)
    preferred = {pair: _preference(pair, own, level) for pair, own in met.items()}
    p = dict(zip(met, holm([_even_p(own, level) for own in met.values()]), strict=True))
    bias = _first_place(ratings)
    every, verdicts = [duel for own in met.values() for duel in own], readable(ratings)
    beside_people = wins_table(ratings, arms)
    anchors = anchors_of(options, subject)
    return Outcome(
        title=f"{options.rubric_title}, replies in pairs",
        sentence=_preference_sentence(judge, preferred, p, bias),
        headline=_preference_headline(preferred),
        score_range=(0.0, 100.0),
        estimates=(
            *preferred.values(),
            bias,
            clustered_share(
                "same verdict in both orders",
                [duel.consistent for duel in every],
                [duel.prompt for duel in every],
                note="a judge that always says tie has 100 %",
            ),
            clustered_share("ties", [one.value == 2 for one in verdicts], [one.prompt for one in verdicts]),
            *(cell for table in beside_people for row in table.rows for cell in row if isinstance(cell, Estimate)),
        ),
        tables=(
            _preference_table(met, preferred, p),
            *strengths_tables({judge: ratings}, anchors, str(options.anchors.get("run", "")), level),
            *beside_people,
            _by_place("Verdicts by place", "verdict", ratings, "Every pair was shown in both orders."),
        ),
        caveats=(
            *_adaptive_note(ratings, options),
            "Judge-only: one judge is one rater; intervals are over prompts.",
            f"{NO_LEVEL} 'eqlab judge' without --pairwise rates each by itself.",
            *unread_caveats(ratings),
        ),
        baselines=(Baseline("no preference", 50.0),),
        others=_OTHERS,
        why_no_points="replies rated in pairs are compared in their own result; see the report",
    )


def duels(ratings: Sequence[RatedReply], arm: str, reference: str) -> list[Duel]:
    """Prompts for which both orders were rated; repeats are averaged."""
    orders: dict[str, dict[str, list[float]]] = {}
    for reply in ratings:
        if set(reply.key["arms"]) == {arm, reference} and (points := reply.points_for(arm)) is not None:
            orders.setdefault(reply.prompt, {}).setdefault(reply.key["arms"][0], []).append(points)
    return [
        Duel(prompt, (float(np.mean(order[arm])), float(np.mean(order[reference]))))
        for prompt, order in orders.items()
        if len(order) == 2
    ]


def _adaptive_note(ratings: Sequence[RatedReply], options: RatingOptions) -> tuple[str, ...]:
    """Where an adaptive run stands, and that it chose its pairs itself."""
    if not options.adaptive:
        return ()
    subject = next((reply.rater for reply in ratings if reply.rater), "")
    fit, _ = fitted({"": ratings}, anchors_of(options, subject))
    if fit is None:
        return ("Adaptive: no strengths can be told yet.",)
    width, wanted = width_of(fit), float(options.width)
    reached = "reached" if width <= wanted else "not reached: nothing that is left would narrow them, or it was stopped"
    return (
        f"Adaptive: pairs were chosen by what was known, until rank ranges would be {wanted:g} ranks wide on average; "
        f"they are {width:.2f} ({reached}), after {fit.verdicts} verdicts. Who looks and then stops errs more often: "
        f"intervals are drawn at {100 * LOOKED:g} % to hold 95 %.",
    )


def _preference(pair: tuple[str, str], own: Sequence[Duel], level: float) -> Estimate:
    """Share of duels won, ties half, the mean of both orders; prompts are the units."""
    points = [100 * duel.mean for duel in own]
    estimate = mean_estimate(f"preference for {pair[0]} over {pair[1]}", points, unit="%", digits=1)
    low, high = mean_bounds(points, (0.0, 100.0), level) or (None, None)
    return structs.replace(estimate, low=low, high=high, of="prompts")


def _even_p(own: Sequence[Duel], level: float = 0.95) -> float | None:
    """The verdict's test that neither is preferred: Student's over prompts, or exact by their signs where few are
    decided. A percentile bootstrap of five prompts would find a preference in one of eight that are none. What was
    looked at on the way counts as its `level` does."""
    p = paired([100 * duel.mean for duel in own], [50.0] * len(own)).p if own else None
    return None if p is None else min(1.0, p * 0.05 / (1 - level))


def _first_place(ratings: Sequence[RatedReply]) -> Estimate:
    """How much more often the first reply wins than the second, in points; 0 without position bias. Prompts are the
    units of the ratio of sums, linearised; Student's t."""
    by_prompt = grouped(
        (reply.prompt, 2 * reply.first_points - 1) for reply in ratings if reply.first_points is not None
    )
    name, n = "first reply preferred over second", len(readable(ratings))
    if not by_prompt:
        return Estimate(name, None, 0, unit="points", digits=1)
    sums = np.array([sum(values) for values in by_prompt.values()])
    counts = np.array([float(len(values)) for values in by_prompt.values()])
    value = float(sums.sum() / counts.sum())
    parts = 100 * (value + (sums - value * counts) / counts.mean())
    estimate = mean_estimate(name, parts.tolist(), unit="points", digits=1)
    return structs.replace(estimate, value=100 * value, n=n, note="nothing varied" if estimate.low is None else "")


def _preference_headline(preferred: Mapping[tuple[str, str], Estimate]) -> Estimate:
    if len(preferred) == 1:
        return next(iter(preferred.values()))
    n = sum(estimate.n for estimate in preferred.values())
    return Estimate("preference", None, n, unit="%", note=f"{many(len(preferred), 'pair')}: see the table", digits=1)


def _preference_table(
    met: Mapping[tuple[str, str], Sequence[Duel]],
    preferred: Mapping[tuple[str, str], Estimate],
    p: Mapping[tuple[str, str], float | None],
) -> Table:
    rows = []
    for (arm, reference), own in met.items():
        won = sum(duel.mean > 0.5 for duel in own)
        lost = sum(duel.mean < 0.5 for duel in own)
        same = sum(duel.consistent for duel in own)
        chance = p[arm, reference]
        shown = "" if chance is None else p_text(chance)
        rows.append(
            (arm, reference, len(own), won, len(own) - won - lost, lost, same, preferred[arm, reference], shown)
        )
    return Table(
        "Preferences (judge-only)",
        ("replies by", "against", "prompts", "won", "tied", "lost", "same in both orders", "preference", "p"),
        tuple(rows),
        "Both orders of a prompt count together: a win in one order and a loss in the other is a tie. p: of no "
        "preference, corrected for all pairs (Holm); intervals are of each pair by itself.",
    )


def _preference_sentence(
    judge: str,
    preferred: Mapping[tuple[str, str], Estimate],
    p: Mapping[tuple[str, str], float | None],
    bias: Estimate,
) -> str:
    said, without = [], []
    for (arm, reference), share in preferred.items():
        if share.value is None:
            without.append(f"{arm} with {reference}")
            continue
        bounds = "no interval" if share.low is None else f"95 % interval {share.low:z.1f} to {share.high:z.1f}"
        chance = p[arm, reference]
        if chance is not None and len(preferred) > 1:
            bounds += f", p = {p_text(chance)} of {many(len(preferred), 'pair')}"
        said.append(f"{_preferring(arm, reference, share, 50, chance)} ({share.value:.1f} % for {arm}, {bounds})")
    text = f"Judge-only: {judge} {'; '.join(said)}." if said else f"No verdict of {judge} could be read."
    if said and without:
        text += f" Not compared: {', '.join(without)}."
    if bias.low is not None and bias.high is not None and (bias.low > 0 or bias.high < 0):
        place = "first" if bias.low > 0 else "second"
        text += f" It favours the {place} place ({bias.value:+.1f} points), which asking in both orders evens out."
    return text


def _preferring(
    arm: str, reference: str, share: Estimate, even: float, p: float | None, alpha: float = 0.05, ending: str = "s"
) -> str:
    """p: corrected for all pairs that the sentence speaks of."""
    if p is None or p >= alpha or share.value is None or share.value == even:
        return f"show{ending} no clear preference between {arm} and {reference}"
    better, other = (arm, reference) if share.value > even else (reference, arm)
    return f"prefer{ending} {better} to {other}"


# -- people --------------------------------------------------------------------------------------------------------


def people_outcome(subject: str, ratings: Sequence[RatedReply], options: RatingOptions) -> Outcome:
    choices, arms, reference = readable(ratings), arms_of(ratings), options.reference
    people = len({reply.rater for reply in choices})
    fit, why = _people_fitted(choices)
    reference = reference if reference in arms else (arms[0] if arms else "")
    contrasts, why_none, _ = pair_contrasts(choices, reference, len(arms) - 1, 0.05)
    place = fit.position if fit else None
    worth = "" if place is None or place.value is None else f" The first place is worth {place.value:+.2f} log-odds."
    headline = Estimate("log-odds of being chosen", None, len(choices), note="see the tables")
    return Outcome(
        title="Replies in pairs, chosen by people",
        sentence=choices_words(choices, contrasts, why_none, 0.05),
        headline=contrasts[0].estimate if len(contrasts) == 1 else headline,
        score_range=(-5.0, 5.0),
        estimates=(
            *(contrast.estimate for contrast in contrasts),
            *((place,) if place else ()),
            clustered_share("ties", [one.first_points == 0.5 for one in choices], [one.rater for one in choices]),
        ),
        tables=(
            _choices_table(choices, arms),
            *((_strengths_table(fit),) if fit else ()),
            _by_place("Choices by place", "chosen", choices, f"Every pair is shown in both orders.{worth}"),
        ),
        caveats=(
            FOLLOWS,
            NO_LEVEL,
            *((f"No strengths: {why}",) if fit is None and choices else ()),
            *unread_caveats(ratings, by_people=True),
        ),
        rules={"people": people},
        baselines=(Baseline("no preference", 0.0),),
        others=_OTHERS,
        why_no_points=WHY_NO_POINTS,
    )


def pair_contrasts(
    ratings: Sequence[RatedReply], reference: str, planned: int, alpha: float
) -> tuple[tuple[Contrast, ...], str, Table]:
    """Every arm against the reference, of which so many were planned: log-odds of being chosen, the first place taken
    out; and why some are missing."""
    choices = readable(ratings)
    fit, why = _people_fitted(choices)
    found: list[Contrast] = []
    if fit is not None and reference in fit.names:
        p, place = fit.pairs().p, {name: index for index, name in enumerate(fit.names)}
        for arm in sorted(set(fit.names) - {reference}):
            gap, own = fit.difference(arm, reference), fit.difference(arm, reference, 1 - alpha)
            p_value = float(p[place[arm], place[reference]])
            if own.low is None or own.high is None or np.isnan(p_value):
                why = untestable(len({reply.prompt for reply in choices})) or "The choices do not vary."
                continue
            named = Estimate(f"log-odds, {arm} − {reference}", gap.value, len(choices), gap.se, gap.low, gap.high)
            found.append(Contrast(arm, reference, named, p_value, p_value, own.low, own.high))
    if not found and not why:
        why = f"'{reference}' was in no choice."
    contrasts = corrected(found, planned)
    note = f"Bradley–Terry with ties and the first place; errors over prompts and people (two-way jackknife). {why}"
    return contrasts, why, contrast_table(contrasts, "replies by", "log-odds of being chosen", alpha, note.strip())


def untestable(prompts: int) -> str:
    """Why no difference between arms will ever be tested on so few prompts; empty where it will."""
    if prompts >= FEWEST_PROMPTS:
        return ""
    return f"The planned contrasts cannot be tested: {many(prompts, 'prompt')}, and {FEWEST_PROMPTS} are needed."


def _people_fitted(choices: Sequence[RatedReply]) -> tuple[Strengths | None, str]:
    """The strengths, or why there are none."""
    verdicts = verdicts_of((reply.rater, reply) for reply in choices)
    if verdicts is None:
        return None, "Nobody has chosen anything yet."
    try:
        return strengths(verdicts), ""
    except (FitError, UsageError) as error:
        return None, str(error)


def choices_words(ratings: Sequence[RatedReply], contrasts: Sequence[Contrast], why: str, alpha: float) -> str:
    """Whom people prefer, by the corrected p and nothing else; `why` that cannot be told where it cannot."""
    choices = readable(ratings)
    if not choices:
        return "Nobody has chosen anything yet."
    people = len({reply.rater for reply in choices})
    said = [
        f"they {_preferring(one.arm, one.reference, one.estimate, 0, one.p_holm, alpha, '')} "
        f"{contrast_numbers(one, alpha)}"
        for one in contrasts
    ]
    if not said:
        return f"{many(people, 'person', 'people')} made {many(len(choices), 'choice')}. {why}"
    missing = f" {why}" if why else ""
    return (
        f"{many(people, 'person', 'people')} made {many(len(choices), 'choice')} between two replies: "
        f"{'; '.join(said)}.{missing}"
    )


def _choices_table(choices: Sequence[RatedReply], arms: Sequence[str]) -> Table:
    rows = []
    for reference, arm in combinations(arms, 2):
        points = [reply.points_for(arm) for reply in choices if set(reply.key["arms"]) == {arm, reference}]
        rows.append((arm, reference, len(points), points.count(1.0), points.count(0.5), points.count(0.0)))
    return Table("Choices", ("replies by", "against", "choices", "won", "tied", "lost"), tuple(rows))


def _strengths_table(fit: Strengths) -> Table:
    ranks = fit.ranks() if len(fit.names) > 2 else None
    rows = []
    for index, estimate in enumerate(fit.estimates()):
        span = "–".join(map(str, ranks.ranges[index])) if ranks is not None else ""
        rows.append((estimate.value or 0.0, (estimate.name, estimate, span)))
    return Table(
        "Strengths",
        ("replies by", "log-odds, mean 0", "rank, 95 %"),
        tuple(row for _, row in sorted(rows, key=lambda row: -row[0])),
        "The difference of two is the log-odds that the one is chosen over the other, ties aside.",
        draw=(whiskers("log-odds, mean 0"),),
    )
