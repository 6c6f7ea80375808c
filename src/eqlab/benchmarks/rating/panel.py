"""Several judges of the same replies as one result: pooled with severities taken out, what the panel is worth, who
changes the order, who favours its own, who really answered, and the replies that judges disagree about most, in full.
Under a rubric the panel pools all scales together, then every scale by itself; pairs become one ranking."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, combinations

import numpy as np
from msgspec import structs

from eqlab.analysis.arrays import Floats
from eqlab.analysis.intervals import mean_estimate
from eqlab.analysis.panel import (
    Differences,
    Pooled,
    differences,
    effective_judges,
    leave_one_out,
    most_disputed,
    panel_alpha,
    pool,
    preferences,
    ranks_of,
)
from eqlab.analysis.panel import PanelRatings as Panel
from eqlab.benchmarks.rating.calibration import family
from eqlab.benchmarks.rating.rated import HUMAN, RatedReply, Reply, snapshots
from eqlab.benchmarks.rating.strengths import anchors_of, fitted, level_of, preferred_pairs, strengths_tables
from eqlab.benchmarks.rating.trials import RATING, RatingOptions
from eqlab.core import answers
from eqlab.core.errors import UsageError
from eqlab.core.forms import Scale
from eqlab.core.grouping import grouped
from eqlab.core.plural import many
from eqlab.core.results import POINTS, Estimate, ItemScore, OfOthers, Result, Table, whiskers
from eqlab.core.values import dataclass

SUBJECT = "judge:panel"
DISPUTED = 5
Given = Mapping[str, Sequence[RatedReply]]
"""Each judge's ratings, by the judge's name."""


@dataclass(frozen=True, slots=True)
class Measure:
    """What of a rating is pooled."""

    low: int
    high: int
    read: Callable[[RatedReply], float | None]
    people: Callable[[RatedReply], Sequence[tuple[str, int]]] = lambda one: ()
    """(rater, rating) of people who rated the same reply, where they can be put beside it."""
    name: str = "mean rating"
    title: str = "Empathy"
    whole: bool = True
    """Whether values are whole numbers, so that ordinal agreement can be told."""

    @property
    def label(self) -> str:
        return f"{self.name}, {self.low} to {self.high}"


def _on(scale: Scale, title: str = "Empathy") -> Measure:
    return Measure(scale.low, scale.high, lambda one: one.on(scale), lambda one: one.people_on(scale), title=title)


def panel_by_form(given: Given, options: RatingOptions) -> Result | None:
    """The judges of a run as one, on the run's form; None for fewer than two, or where they cannot be pooled: then each
    has a result of its own and no more."""
    if options.pairwise:
        return pairwise_panel(given, options)
    if options.rubric_sha256:
        return rubric_panel(given, options.rubric_title)
    return panel_result(given)


def rubric_panel(given: Given, title: str) -> Result | None:
    """None where the judges cannot be pooled."""
    scales = next((ratings[0].trial.form.scales for ratings in given.values() if ratings), ())
    whole = panel_result(given, Measure(0, 100, lambda one: one.overall, name="overall", title=title, whole=False))
    if whole is None or len(scales) < 2:
        return whole
    parts: dict[str, list[tuple[Scale, Table]]] = {}
    for scale in scales:
        result = panel_result(given, _on(scale, title))
        for table in result.tables if result else ():
            if table.title in _EACH_SCALE:
                parts.setdefault(table.title, []).append((scale, table))
    by_scale = [
        Table(
            f"{title}, scale by scale",
            ("scale", *(column.split(", ")[0] for column in tables[0][1].titles)),
            tuple((scale.named, *row) for scale, table in tables for row in table.rows),
            tables[0][1].note,
        )
        for title, tables in parts.items()
    ]
    return replace(whole, tables=(*whole.tables[:-1], *by_scale, whole.tables[-1]))


_EACH_SCALE = ("Pooled ratings", "Pooled differences", "What the panel is worth", "How mild each judge is")


def panel_result(given: Given, measure: Measure | None = None) -> Result | None:
    """Of single replies, on the published form unless a measure says otherwise. None for fewer than two judges, or
    where they cannot be pooled (then each has a result of its own and no more)."""
    measure = measure or _on(RATING)
    if len(given) < 2:
        return None
    replies = _replies(given)
    panel = _panel(given, replies, measure)
    try:
        pooled = pool(panel)
    except UsageError:
        return None
    arms = _arm_estimates(pooled, measure)
    judged = [estimate for estimate in arms if estimate.value is not None]
    if not judged:
        return None
    best = max(judged, key=lambda one: one.value or 0.0)
    people = _people(replies, measure)
    gaps = differences(panel, pooled)
    return Result(
        benchmark="rating",
        title=f"{measure.title}, rated by a panel",
        subject=SUBJECT,
        rules={"judges": ", ".join(given), "severity": "taken out", "mode": next(iter(replies.values())).trial.mode},
        sentence=_sentence(arms, panel, pooled, gaps, measure),
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
                tuple((estimate.name, estimate) for estimate in arms),
                "Each judge's severity is taken out; prompts are the units.",
                draw=(whiskers(measure.label),),
            ),
            _differences(pooled, gaps),
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
            tuple((estimate.name, estimate) for estimate in judged),
            HUMAN,
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
    for reply, value, row in zip(replies, pooled.replies.tolist(), panel.values.tolist(), strict=True):
        known = np.isfinite(value)
        given = {judge: said for judge, said in zip(panel.judges, row, strict=True) if np.isfinite(said)}
        found.append(
            ItemScore(
                item=reply.prompt,
                trial=reply.trial.id,
                repeat=0,
                status="ok" if known else "unparseable",
                score=value if known else None,
                title=reply.title,
                text=str(reply.key.get("reply", "")),
                values={judge: f"{said:.3g}" for judge, said in given.items()},
                points=value if known else None,
                group=reply.arm,
            )
        )
    return tuple(found)


def _replies(given: Given) -> dict[Reply, RatedReply]:
    """Every reply that a judge was shown, with a trial that shows it."""
    return {reply.reply: reply for ratings in given.values() for reply in ratings}


def _panel(
    given: Given,
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
        for rated_reply in sorted(ratings, key=lambda one: one.repeat):
            value = measure.read(rated_reply)
            if value is not None:
                own.setdefault(place[rated_reply.reply], []).append(value)
        for row, seen in own.items():
            values[row, column] = seen[0] if first else sum(seen) / len(seen)
    return Panel(values, [prompt for prompt, _, _ in replies], [arm for _, arm, _ in replies], list(given))


def _people(replies: Mapping[Reply, RatedReply], measure: Measure) -> Floats | None:
    """Replies × people; None unless two or more rated each reply, which tells how far their mean errs."""
    given = [grouped(measure.people(reply)) for reply in replies.values()]
    if any(len(ratings) < 2 for ratings in given):
        return None
    columns = {rater: column for column, rater in enumerate(dict.fromkeys(chain.from_iterable(given)))}
    found = np.full((len(given), len(columns)), np.nan)
    for row, ratings in enumerate(given):
        for rater, values in ratings.items():
            found[row, columns[rater]] = np.mean(values)
    return found


def _arm_estimates(pooled: Pooled, measure: Measure) -> list[Estimate]:
    """Without its judge's severity a single rating may leave the scale a little; a true mean cannot, so its interval
    ends where the scale does."""
    found = []
    for name, row in zip(pooled.subjects, pooled.table, strict=True):
        estimate = mean_estimate(name, [float(value) for value in row if np.isfinite(value)], unit=POINTS)
        if estimate.value is not None and estimate.low is not None and estimate.high is not None:
            low, high = min(float(measure.low), estimate.value), max(float(measure.high), estimate.value)
            estimate = structs.replace(estimate, low=max(low, estimate.low), high=min(high, estimate.high))
        found.append(estimate)
    return found


def _differences(pooled: Pooled, gaps: Differences) -> Table:
    rows = []
    for one, other in combinations(range(len(pooled.subjects)), 2):
        better = "yes" if gaps.apart[one, other] or gaps.apart[other, one] else "no"
        rows.append((pooled.subjects[one], pooled.subjects[other], gaps.estimate(one, other), better))
    return Table(
        "Pooled differences",
        ("replies by", "against", "difference in scale points", "told apart, all at once"),
        tuple(rows),
        "Paired by prompt; prompts and judges are both taken as samples, with each judge's tastes in the error. "
        "Intervals are of each pair by itself, the last column is of all pairs at once.",
    )


def _worth(panel: Panel, people: Floats | None) -> list[Estimate]:
    found = effective_judges(panel, people)
    note = "of errors against people" if found.of == "errors" else "at least: without people shared insight counts too"
    return [Estimate("effective number of judges", found.value, found.prompts, None, found.low, found.high, "", note)]


def _worth_table(panel: Panel, first: Panel, people: Floats | None, measure: Measure) -> Table:
    (worth,) = _worth(panel, people)
    rows: list[tuple[str, Estimate, str]] = [
        ("effective number of judges", worth, f"{many(len(panel.judges), 'judge')}; {worth.note}")
    ]
    if measure.whole:
        shifted = replace(first, values=first.values - measure.low + 1)
        alpha = panel_alpha(shifted, measure.high - measure.low + 1)
        agreed = Estimate("ordinal alpha", alpha.value, worth.n, None, alpha.low, alpha.high)
        rows.append(("Krippendorff's alpha, ordinal", agreed, "1: judges agree; 0: chance, or ratings always the same"))
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
        tuple((estimate.name, estimate) for estimate in pooled.severity),
        "Above 0: milder than the panel. It is taken out of all pooled numbers.",
    )


def _left_out(panel: Panel, pooled: Pooled) -> Table:
    means = pooled.means
    order = sorted(means, key=lambda arm: -means[arm])
    whole = ranks_of(means)
    rows = [("nobody", *(f"{whole[arm]:g}" for arm in order))]
    rows += [(out.judge, *(f"{out.ranks[arm]:g}" for arm in order)) for out in leave_one_out(panel)]
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
            ("judge", "for", "scale points", "SD of tastes"),
            tuple((preference.judge, preference.of, preference.estimate, preference.taste) for preference in found),
            "How much more a judge gives its own than its severity and the other judges let expect, beside how far "
            "judges' tastes for subjects go where nobody rates its own; intervals hold for all rows at once.",
        ),
    )


def _disputed(panel: Panel, replies: Mapping[Reply, RatedReply]) -> Table:
    shown = list(replies.values())
    rows: list[tuple[str, str, str, str, float]] = []
    for index, spread in most_disputed(panel, len(shown)):
        if len(rows) == DISPUTED or len({value for value in panel.values[index].tolist() if np.isfinite(value)}) < 2:
            continue  # who all said the same do not dispute, however mild some of them are
        reply = shown[index]
        said = ", ".join(
            f"{judge} {value:.3g}"
            for judge, value in zip(panel.judges, panel.values[index].tolist(), strict=True)
            if np.isfinite(value)
        )
        rows.append((reply.prompt, reply.arm, str(reply.key.get("reply", "")), said, spread))
    return Table(
        "Most disputed replies",
        ("prompt", "replies by", "reply", "ratings", "spread"),
        tuple(rows),
        "Spread: standard deviation of the ratings, severities taken out. Read these first.",
    )


def _sentence(arms: Sequence[Estimate], panel: Panel, pooled: Pooled, gaps: Differences, measure: Measure) -> str:
    estimates = sorted(
        (estimate for estimate in arms if estimate.value is not None), key=lambda one: -(one.value or 0.0)
    )
    said = ", ".join(f"{estimate.name} {estimate.value:.2f}" for estimate in estimates)
    text = f"Judge-only: a panel of {len(panel.judges)} gives {said} of {measure.high} on average."
    sure = [(pooled.subjects[a], pooled.subjects[b]) for a, b in np.argwhere(gaps.apart).tolist()]
    return f"{text} {_better(sure, 'is rated better than', len(arms))}"


def _better(sure: Sequence[tuple[str, str]], verb: str, arms: int) -> str:
    """Who is better than whom, and of which judges and how many pairs that holds."""
    if not sure:
        return "No two can be told apart, with other judges and prompts in mind."
    pairs = arms * (arms - 1) // 2
    once = f", all {pairs} pairs at once" if pairs > 1 else ""
    listed = "; ".join(f"{one} {verb} {other}" for one, other in sure)
    return f"{listed} (for other judges and prompts like these too{once})."


def _caveats(panel: Panel) -> tuple[str, ...]:
    families = [family(judge) for judge in panel.judges]
    akin = sorted({name for name in families if name and families.count(name) > 1})
    if not akin:
        return ()
    return (f"Several judges are of one family ({', '.join(akin)}): they may err alike.",)


# -- who really judged ---------------------------------------------------------------------------------------------


def snapshots_table(given: Given) -> Table:
    rows = [(judge, answers.in_words(snapshots(ratings)) or "not reported") for judge, ratings in given.items()]
    return Table("Who answered", ("judge asked", "answered as"), tuple(rows), "As the server says.")


def replaced(given: Given) -> Iterator[str]:
    """What speaks for a silent replacement: several ids for one judge, another's name, or one id for several."""
    owners: dict[str, list[str]] = {}
    for judge, ratings in given.items():
        seen = snapshots(ratings)
        for model in seen:
            owners.setdefault(model, []).append(judge)
        yield from answers.replaced(judge, seen)
    for model, judges in owners.items():
        if len(judges) > 1:
            yield f"{' and '.join(judges)} all answered as {model}: they may be one judge, counted several times."


# -- pairs ---------------------------------------------------------------------------------------------------------


def pairwise_panel(given: Given, options: RatingOptions) -> Result | None:
    """The verdicts of several judges on replies in pairs as one ranking."""
    anchors = anchors_of(options, SUBJECT)
    found, _ = fitted(given, anchors)
    if len(given) < 2 or found is None:
        return None
    level = level_of(options)
    estimates = found.estimates(level)
    order = sorted(estimates, key=lambda one: -(one.value or 0.0))
    said = ", ".join(f"{estimate.name} {estimate.value:+.2f}" for estimate in order)
    sure = preferred_pairs(found, level)
    return Result(
        benchmark="rating",
        title=f"{options.rubric_title}, replies in pairs, by a panel",
        subject=SUBJECT,
        rules={"judges": ", ".join(given), "pairwise": True},
        sentence=f"Judge-only: a panel of {len(given)} gives strengths of {said} (log odds). "
        f"{_better(sure, 'is preferred to', len(estimates))}",
        headline=order[0],
        score_range=(-4.0, 4.0),
        estimates=estimates,
        counts={"verdicts": found.verdicts, "judges": len(given)},
        ranked=False,
        caveats=tuple(replaced(given)),
        tables=(
            *strengths_tables(given, anchors, str(options.anchors.get("run", "")), level),
            snapshots_table(given),
        ),
        noun="prompts",
    )
