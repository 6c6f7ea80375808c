"""A rating result put together: counts, validity, items and rules are the same whoever rated, on whichever form. What
there is to say about the replies comes from a maker (judge.py, people.py, pairs.py) as an `Outcome`."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from eqlab.benchmarks.common.outcome import flatness
from eqlab.benchmarks.rating.rated import RatedReply, item_of, snapshots
from eqlab.benchmarks.rating.trials import ABSOLUTE, SCALES
from eqlab.core.answers import STATUSES
from eqlab.core.results import Baseline, Estimate, OfOthers, Result, Table
from eqlab.core.runs import PEOPLE
from eqlab.data.items import PUBLISHED, shipped

HUMAN = "human"
"""The arm of the empathy study whose replies people wrote."""
MIN_READABLE = 5 / 6
"""A smaller share of readable ratings makes a result invalid."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one kind of raters has to say on one kind of form."""

    title: str
    sentence: str
    headline: Estimate
    score_range: tuple[float, float]
    estimates: tuple[Estimate, ...] = ()
    tables: tuple[Table, ...] = ()
    caveats: tuple[str, ...] = ()
    rules: Mapping[str, Any] = field(default_factory=dict)
    baselines: tuple[Baseline, ...] = ()
    others: OfOthers | None = None
    why_no_points: str = ""


def as_result(
    subject: str, ratings: Sequence[RatedReply], options: Mapping[str, Any], outcome: Outcome, condition: str
) -> Result:
    people, on_scales = is_people(subject), condition == SCALES
    counts = counted(ratings)
    asked = len(ratings) - counts["unanswered"]
    valid = asked > 0 and counts["ok"] >= MIN_READABLE * asked
    complete = (list(one.values.values()) for one in ratings if one.overall is not None)
    flat = None if subject == PEOPLE else flatness(complete)
    unread = not valid and asked
    return Result(
        benchmark="rating",
        title=outcome.title,
        subject=subject,
        rules={**_rules(subject, ratings, options, condition), **outcome.rules},
        sentence=f"{outcome.sentence} But too few ratings could be read: not valid." if unread else outcome.sentence,
        headline=outcome.headline,
        score_range=outcome.score_range,
        estimates=(*outcome.estimates, *(flat.estimates if flat else ())),
        counts={"planned": counts["planned"], "ok": counts["ok"]} if people and on_scales else counts,
        items=tuple(item_of(one) for one in ratings),
        item_range=(0.0, 100.0) if on_scales else (1.0, 3.0),
        item_labels=((1.0, "Bad"), (2.0, "Okay"), (3.0, "Good")) if condition == ABSOLUTE else (),
        baselines=outcome.baselines,
        valid=valid,
        ranked=options["purpose"] == "calibration",
        caveats=(*(flat.caveats if flat else ()), *outcome.caveats),
        tables=outcome.tables,
        noun="items" if people and on_scales else "prompts",
        others=outcome.others,
        why_no_points=outcome.why_no_points,
    )


def is_people(subject: str) -> bool:
    return subject == PEOPLE or subject.startswith("person:")


def counted(ratings: Sequence[RatedReply]) -> dict[str, int]:
    """Ratings by status, with how many were planned and are not answered."""
    counts: Counter[str] = Counter(one.status or "unanswered" for one in ratings)
    return {
        "planned": len(ratings),
        **{status: counts.get(status, 0) for status in STATUSES},
        "unanswered": counts.get("unanswered", 0),
    }


def unread_caveats(ratings: Sequence[RatedReply]) -> tuple[str, ...]:
    """What is missing of the published form and of pairs."""
    counts, said = counted(ratings), []
    lost = sum(counts[status] for status in ("unparseable", "refused", "error"))
    if lost:
        said.append(f"{lost} of {len(ratings)} replies got no readable rating and are left out.")
    if counts["unanswered"]:
        said.append(f"{counts['unanswered']} replies are not rated yet; the result is preliminary.")
    return tuple(said)


def _rules(
    subject: str, ratings: Sequence[RatedReply], options: Mapping[str, Any], condition: str
) -> Mapping[str, Any]:
    if condition == SCALES and is_people(subject):
        return options
    rules = {**options, "mode": ratings[0].trial.mode if ratings else "text"}
    if subject.startswith("judge:"):
        sha256 = str(options.get("rubric_sha256") or shipped(PUBLISHED).sha256)
        rules |= {"rubric": options.get("rubric", PUBLISHED), "rubric_sha256": sha256}
    if subject != PEOPLE:
        rules["snapshot"] = ", ".join(sorted(snapshots(ratings))) or "not reported"
    return rules
