"""From ratings to a result: of a judge, of people, or of replies in pairs."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from eqlab.benchmarks.flat import flatness
from eqlab.benchmarks.rating import judge_result, pairwise_result, people_pairs, people_result
from eqlab.benchmarks.rating.outcome import RatingOutcome
from eqlab.benchmarks.rating.rated import RatedReply, item_of, rated
from eqlab.benchmarks.rating.scales_result import scales_result
from eqlab.benchmarks.rating.snapshots import snapshots
from eqlab.benchmarks.rating.trials import SCALES
from eqlab.core.answers import STATUSES
from eqlab.core.benchmark import Scored
from eqlab.core.results import Estimate, OfOthers, Result, Table
from eqlab.core.runs import PEOPLE
from eqlab.data.rubric_files import PUBLISHED, shipped

HUMAN = "human"
"""The arm of the empathy study whose replies people wrote."""
MIN_READABLE = 5 / 6
"""A smaller share of readable ratings makes a result invalid."""


def result(subject: str, scored: Iterable[Scored], options: Mapping[str, Any]) -> Result:
    ratings = rated(scored := list(scored))
    if ratings and ratings[0].trial.condition == SCALES and subject.startswith("judge:"):
        from eqlab.benchmarks.rating.rubric_result import rubric_result

        return rubric_result(subject, ratings, options)
    if ratings and ratings[0].trial.condition == SCALES:
        return scales_result(scored, ratings[0].trial.form.scales, options.get("reference", ""), options)
    found = _outcome(subject, ratings, options)
    flat = flatness([one.value] for one in ratings if one.value is not None) if subject != PEOPLE else None
    counts: Counter[str] = Counter(one.status or "unanswered" for one in ratings)
    asked = len(ratings) - counts.get("unanswered", 0)
    valid = asked > 0 and counts.get("ok", 0) >= MIN_READABLE * asked
    rules = {**options, "mode": ratings[0].trial.mode if ratings else "text", **found.rules}
    if subject.startswith("judge:"):
        rules |= {"rubric": options.get("rubric", PUBLISHED), "rubric_sha256": rubric_sha256(options)}
    if subject != PEOPLE:
        rules["snapshot"] = ", ".join(sorted(snapshots(ratings))) or "not reported"
    return Result(
        benchmark="rating",
        title=found.title,
        subject=subject,
        rules=rules,
        sentence=found.sentence
        if valid or not asked
        else f"{found.sentence} But too few ratings could be read: not valid.",
        headline=found.headline,
        score_range=found.score_range,
        estimates=(*found.estimates, *(flat.estimates if flat else ())),
        counts={
            "planned": len(ratings),
            **{status: counts.get(status, 0) for status in STATUSES},
            "unanswered": counts.get("unanswered", 0),
        },
        items=tuple(item_of(one) for one in ratings),
        item_range=(1.0, 3.0),
        item_labels=() if options["pairwise"] else ((1.0, "Bad"), (2.0, "Okay"), (3.0, "Good")),
        baselines=found.baselines,
        valid=valid,
        ranked=options["purpose"] == "calibration",
        caveats=(*(flat.caveats if flat else ()), *found.caveats, *_caveats(ratings, counts)),
        tables=found.tables,
        noun="prompts",
        others=OfOthers("Empathy", "replies called Good", _shares(found.tables, options), HUMAN),
        why_no_points=_why_no_points(subject, options),
    )


def rubric_sha256(options: Mapping[str, Any]) -> str:
    return str(options.get("rubric_sha256") or shipped(PUBLISHED).sha256)


def _shares(tables: Sequence[Table], options: Mapping[str, Any]) -> tuple[tuple[str, Estimate], ...]:
    """The share of Good of everybody whose replies were rated one by one."""
    if options["purpose"] == "calibration" or options["pairwise"]:
        return ()
    return tuple(
        (str(cells[0]), share)
        for table in tables
        if table.whiskers == "P(Good)" and table.title.startswith(judge_result.ARMS)
        for cells in table.rows
        if isinstance(share := cells[table.titles.index("P(Good)")], Estimate)
    )


def _why_no_points(subject: str, options: Mapping[str, Any]) -> str:
    if subject == PEOPLE or subject.startswith("person:"):
        return (
            "people rate several replies each, so the rater is the unit; the report compares the arms with whole raters"
        )
    return "replies rated in pairs are compared in their own result; see the report" if options["pairwise"] else ""


def _outcome(subject: str, ratings: Sequence[RatedReply], options: Mapping[str, Any]) -> RatingOutcome:
    if options["pairwise"] and subject == PEOPLE:
        return people_pairs.outcome(ratings, options.get("reference", ""))
    if options["pairwise"]:
        return pairwise_result.outcome(subject, ratings, options)
    if subject == PEOPLE or subject.startswith("person:"):
        return people_result.outcome(ratings, options.get("reference", ""))
    return judge_result.outcome(subject, ratings, options)


def _caveats(ratings: Sequence[RatedReply], counts: Mapping[str, int]) -> tuple[str, ...]:
    said = []
    lost = sum(counts.get(status, 0) for status in ("unparseable", "refused", "error"))
    if lost:
        said.append(f"{lost} of {len(ratings)} replies got no readable rating and are left out.")
    if counts.get("unanswered"):
        said.append(f"{counts['unanswered']} replies are not rated yet; the result is preliminary.")
    return tuple(said)
