"""Several judges of the same replies as one result: pooled with severities taken out, what the panel is worth, who
changes the order, who favours its own, and the replies that judges disagree about most, in full."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from types import MappingProxyType
from typing import Any

import numpy as np

from eqlab.analysis.intervals import mean_estimate
from eqlab.analysis.panel import PanelRatings as Panel
from eqlab.analysis.panel import (
    Pooled,
    effective_judges,
    leave_one_out,
    most_disputed,
    panel_alpha,
    pool,
    preferences,
    ranks_of,
)
from eqlab.benchmarks.rating.families import family
from eqlab.benchmarks.rating.rated import RatedReply
from eqlab.benchmarks.rating.snapshots import replaced, snapshots_table
from eqlab.benchmarks.rating.strengths import anchors_of, fitted, strengths_tables
from eqlab.core.errors import UsageError
from eqlab.core.results import POINTS, Estimate, ItemScore, OfOthers, Result, Table

SUBJECT = "judge:panel"
DISPUTED = 5
Reply = tuple[str, str]
"""(prompt, arm)."""


@dataclass(frozen=True, slots=True)
class Measure:
    """What of a rating is pooled."""

    low: int
    high: int
    read: Callable[[RatedReply], float | None]
    name: str = "mean rating"
    title: str = "Empathy"
    whole: bool = True
    """Whether values are whole numbers, so that ordinal agreement can be told."""

    @property
    def label(self) -> str:
        return f"{self.name}, {self.low} to {self.high}"


GOODNESS = Measure(1, 3, lambda one: one.value)


def panel_result(given: Mapping[str, Sequence[RatedReply]], measure: Measure = GOODNESS) -> Result | None:
    """`given`: each judge's ratings of single replies, by the judge's name. None for fewer than two judges, or where
    they cannot be pooled (then each has a result of its own and no more)."""
    if len(given) < 2:
        return None
    replies = _replies(given)
    panel = _panel(given, replies, measure)
    try:
        pooled = pool(panel)
    except UsageError:
        return None
    arms = _arm_estimates(pooled, measure)
    judged = [one for one in arms if one.value is not None]
    if not judged:
        return None
    best = max(judged, key=lambda one: one.value or 0.0)
    people = _people(replies)
    return Result(
        benchmark="rating",
        title=f"{measure.title}, rated by a panel",
        subject=SUBJECT,
        rules={"judges": ", ".join(given), "severity": "taken out", "mode": next(iter(replies.values())).trial.mode},
        sentence=_sentence(arms, panel, pooled, measure),
        headline=best,
        score_range=(float(measure.low), float(measure.high)),
        estimates=(*arms, *_worth(panel, people)),
        counts={"planned": len(replies), "ok": int(np.isfinite(pooled.replies).sum()), "judges": len(given)},
        items=_items(panel, pooled, list(replies.values())),
        item_range=_bounds(pooled, measure),
        valid=True,
        ranked=False,
        caveats=(*replaced(given), *_caveats(panel)),
        tables=(
            Table(
                "Pooled ratings",
                ("replies by", measure.label),
                tuple((one.name, one) for one in arms),
                "Each judge's severity is taken out; prompts are the units.",
                whiskers=measure.label,
            ),
            _differences(pooled),
            _worth_table(panel, _panel(given, replies, measure, first=True), people, measure),
            _severity(pooled),
            _left_out(panel, pooled),
            *_preferences(panel),
            _disputed(panel, replies),
            snapshots_table(given),
        ),
        noun="prompts",
        others=OfOthers(
            measure.title,
            f"{measure.label}, judges pooled",
            tuple((one.name, one) for one in judged),
            "human",
            _bounds(pooled, measure),
        ),
    )


def _bounds(pooled: Pooled, measure: Measure) -> tuple[float, float]:
    """The ends of the scale, or a little further: without its judge's severity a rating may lie outside."""
    known = [float(value) for value in pooled.replies if np.isfinite(value)]
    return min(float(measure.low), *known), max(float(measure.high), *known)


def _items(panel: Panel, pooled: Pooled, replies: Sequence[RatedReply]) -> tuple[ItemScore, ...]:
    """Every reply with what the panel makes of it."""
    found = []
    for one, value, row in zip(replies, pooled.replies.tolist(), panel.values.tolist(), strict=True):
        known = np.isfinite(value)
        given = {judge: said for judge, said in zip(panel.judges, row, strict=True) if np.isfinite(said)}
        found.append(
            ItemScore(
                item=one.prompt,
                trial=one.trial.id,
                repeat=0,
                status="ok" if known else "unparseable",
                score=value if known else None,
                title=f"Reply of {one.arm} to: {one.key.get('utterance') or one.prompt}",
                text=str(one.key.get("reply", "")),
                values={judge: f"{said:.3g}" for judge, said in given.items()},
                points=value if known else None,
                group=one.arm,
            )
        )
    return tuple(found)


def pairwise_panel(
    given: Mapping[str, Sequence[RatedReply]], options: Mapping[str, Any] = MappingProxyType({})
) -> Result | None:
    """The verdicts of several judges on replies in pairs as one ranking."""
    anchors = anchors_of(options, SUBJECT)
    found, _ = fitted(given, anchors)
    if len(given) < 2 or found is None:
        return None
    each = found.estimates()
    order = sorted(each, key=lambda one: -(one.value or 0.0))
    said = ", ".join(f"{one.name} {one.value:+.2f}" for one in order)
    sure = []
    for one, other in combinations([one.name for one in order], 2):
        gap = found.difference(one, other)
        if gap.low is not None and gap.low > 0:
            sure.append(f"{one} is preferred to {other}")
    return Result(
        benchmark="rating",
        title=f"{options.get('rubric_title', 'Empathy')}, replies in pairs, by a panel",
        subject=SUBJECT,
        rules={"judges": ", ".join(given), "pairwise": True},
        sentence=f"Judge-only: a panel of {len(given)} gives strengths of {said} (log odds). "
        f"{'; '.join(sure) or 'No two can be told apart'}.",
        headline=order[0],
        score_range=(-4.0, 4.0),
        estimates=each,
        counts={"verdicts": found.verdicts, "judges": len(given)},
        ranked=False,
        caveats=tuple(replaced(given)),
        tables=(
            *strengths_tables(given, anchors, str(options.get("anchors", {}).get("run", ""))),
            snapshots_table(given),
        ),
        noun="prompts",
    )


def _replies(given: Mapping[str, Sequence[RatedReply]]) -> dict[Reply, RatedReply]:
    """Every reply that a judge was shown, with a trial that shows it."""
    return {(one.prompt, one.arm): one for ratings in given.values() for one in ratings}


def _panel(
    given: Mapping[str, Sequence[RatedReply]],
    replies: Mapping[Reply, RatedReply],
    measure: Measure,
    *,
    first: bool = False,
) -> Panel:
    """A judge's repeats are averaged; `first`: only its first rating, where whole numbers are needed."""
    place = {reply: index for index, reply in enumerate(replies)}
    values = np.full((len(replies), len(given)), np.nan)
    for column, ratings in enumerate(given.values()):
        own: dict[int, list[float]] = {}
        for one in sorted(ratings, key=lambda one: one.repeat):
            value = measure.read(one)
            if value is not None:
                own.setdefault(place[one.prompt, one.arm], []).append(value)
        for row, seen in own.items():
            values[row, column] = seen[0] if first else sum(seen) / len(seen)
    return Panel(values, [prompt for prompt, _ in replies], [arm for _, arm in replies], list(given))


def _people(replies: Mapping[Reply, RatedReply]) -> list[float] | None:
    """People's mean rating of each reply; None unless all have one."""
    means = [
        float(np.mean([value for _, value in one.human])) if one.human else float("nan") for one in replies.values()
    ]
    return None if any(np.isnan(means)) else means


def _arm_estimates(pooled: Pooled, measure: Measure) -> list[Estimate]:
    """Without its judge's severity a single rating may leave the scale a little; a true mean cannot, so its interval
    ends where the scale does."""
    found = []
    for name, row in zip(pooled.subjects, pooled.table, strict=True):
        one = mean_estimate(name, [float(value) for value in row if np.isfinite(value)], unit=POINTS)
        if one.value is not None and one.low is not None and one.high is not None:
            low, high = min(float(measure.low), one.value), max(float(measure.high), one.value)
            one = replace(one, low=max(low, one.low), high=min(high, one.high))
        found.append(one)
    return found


def _gaps(pooled: Pooled) -> list[tuple[str, str, Estimate]]:
    found = []
    for one, other in combinations(range(len(pooled.subjects)), 2):
        gap = pooled.table[one] - pooled.table[other]
        estimate = mean_estimate("difference", [float(value) for value in gap if np.isfinite(value)])
        found.append((pooled.subjects[one], pooled.subjects[other], estimate))
    return found


def _differences(pooled: Pooled) -> Table:
    return Table(
        "Pooled differences",
        ("replies by", "against", "difference in scale points"),
        tuple(_gaps(pooled)),
        "Paired by prompt, each pair by itself. The judges are taken as given: another panel could differ more.",
    )


def _worth(panel: Panel, people: Sequence[float] | None) -> list[Estimate]:
    found = effective_judges(panel, people)
    note = "of errors against people" if found.of == "errors" else "at least: without people shared insight counts too"
    return [Estimate("effective number of judges", found.value, found.prompts, None, found.low, found.high, "", note)]


def _worth_table(panel: Panel, first: Panel, people: Sequence[float] | None, measure: Measure) -> Table:
    (worth,) = _worth(panel, people)
    rows: list[tuple[str, Estimate, str]] = [
        ("effective number of judges", worth, f"{len(panel.judges)} judges; {worth.note}")
    ]
    if measure.whole:
        shifted = replace(first, values=first.values - measure.low + 1)
        alpha = panel_alpha(shifted, measure.high - measure.low + 1)
        agreed = Estimate("ordinal alpha", alpha.value, worth.n, None, alpha.low, alpha.high)
        rows.append(("Krippendorff's alpha, ordinal", agreed, "1: judges agree; 0: chance"))
    return Table(
        "What the panel is worth",
        ("measure", "value", "of"),
        tuple(rows),
        "Intervals: bootstrap over whole prompts. Judges who make the same errors count as fewer.",
    )


def _severity(pooled: Pooled) -> Table:
    return Table(
        "How mild each judge is",
        ("judge", "against the panel, scale points"),
        tuple((one.name, one) for one in pooled.severity),
        "Above 0: milder than the panel. It is taken out of all pooled numbers.",
    )


def _left_out(panel: Panel, pooled: Pooled) -> Table:
    means = pooled.means
    order = sorted(means, key=lambda arm: -means[arm])
    whole = ranks_of(means)
    rows = [("nobody", *(f"{whole[arm]:g}" for arm in order))]
    rows += [(one.judge, *(f"{one.ranks[arm]:g}" for arm in order)) for one in leave_one_out(panel)]
    return Table(
        "Ranks if a judge were left out",
        ("left out", *order),
        tuple(rows),
        "A rank that changes here depends on one judge.",
    )


def _preferences(panel: Panel) -> tuple[Table, ...]:
    arms = sorted(set(panel.subjects))
    found = preferences(
        panel,
        {judge: family(judge) for judge in panel.judges},
        {arm: family(arm) for arm in arms},
        {judge: judge for judge in panel.judges if judge in arms},
    )
    if not found:
        return ()
    return (
        Table(
            "Preference for oneself and one's family",
            ("judge", "for", "scale points"),
            tuple((one.judge, one.of, one.estimate) for one in found),
            "How much more a judge gives its own than judges of other families do, beyond what it gives the others.",
        ),
    )


def _disputed(panel: Panel, replies: Mapping[Reply, RatedReply]) -> Table:
    shown = list(replies.values())
    rows: list[tuple[str, str, str, str, float]] = []
    for index, spread in most_disputed(panel, len(shown)):
        if len(rows) == DISPUTED or len({value for value in panel.values[index].tolist() if np.isfinite(value)}) < 2:
            continue  # who all said the same do not dispute, however mild some of them are
        one = shown[index]
        said = ", ".join(
            f"{judge} {value:.3g}"
            for judge, value in zip(panel.judges, panel.values[index].tolist(), strict=True)
            if np.isfinite(value)
        )
        rows.append((one.prompt, one.arm, str(one.key.get("reply", "")), said, spread))
    return Table(
        "Most disputed replies",
        ("prompt", "replies by", "reply", "ratings", "spread"),
        tuple(rows),
        "Spread: standard deviation of the ratings, severities taken out. Read these first.",
    )


def _sentence(arms: Sequence[Estimate], panel: Panel, pooled: Pooled, measure: Measure) -> str:
    known = sorted((one for one in arms if one.value is not None), key=lambda one: -(one.value or 0.0))
    said = ", ".join(f"{one.name} {one.value:.2f}" for one in known)
    sure = [
        f"{a if (gap.value or 0) > 0 else b} is rated better than {b if (gap.value or 0) > 0 else a}"
        for a, b, gap in _gaps(pooled)
        if gap.low is not None and gap.high is not None and (gap.low > 0 or gap.high < 0)
    ]
    text = f"Judge-only: a panel of {len(panel.judges)} gives {said} of {measure.high} on average."
    return f"{text} {'; '.join(sure)}." if sure else f"{text} No two can be told apart."


def _caveats(panel: Panel) -> tuple[str, ...]:
    families = [family(judge) for judge in panel.judges]
    akin = sorted({name for name in families if name and families.count(name) > 1})
    if not akin:
        return ()
    return (f"Several judges are of one family ({', '.join(akin)}): they may err alike.",)
