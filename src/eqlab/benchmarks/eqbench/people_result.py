"""People's EQ-Bench result: each person's own score by the benchmark's rule, their mean with an interval over people
and dialogues alike, how they spread, how reliable a score is, and the norms they give."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from statistics import fmean
from typing import Any

import numpy as np

from eqlab.analysis.clusters import clustering, crossed_mean, reliability_of_means
from eqlab.analysis.intervals import clustered_share, mean_estimate
from eqlab.benchmarks.eqbench.baselines import baselines
from eqlab.benchmarks.eqbench.chosen import Chosen, choose
from eqlab.benchmarks.eqbench.people_norms import Dialogue, NormRating, agreements, dialogues, norms_table, shown
from eqlab.benchmarks.eqbench.result import against
from eqlab.benchmarks.eqbench.rules import PRESETS, EqBenchRules
from eqlab.benchmarks.eqbench.score import item_score, run_score
from eqlab.core.answers import STATUSES
from eqlab.core.benchmark import Scored
from eqlab.core.results import Baseline, Estimate, Result, Table
from eqlab.core.runs import PEOPLE

_MOST = 100.0
"""The best score that the rules can give."""
FEW = 10
"""Fewer people than this are called few."""


def people_result(scored: Iterable[Scored], options: Mapping[str, Any]) -> Result:
    rules, version = PRESETS[options["rules"]], options["version"]
    planned = list(scored)
    chosen = [choose(one, rules) for one in planned]
    rated = rated_of(chosen, version, rules)
    found = dialogues([one.trial for one in planned], rated)
    headline = _mean(f"EQ-Bench {version}", rated)
    counts: Counter[str] = Counter(one.status or "unanswered" for one in chosen)
    answered = len(chosen) - counts["unanswered"]
    floor = baselines([one.reference for one in found], version, rules)
    valid = bool(rated) and len(rated) >= rules.min_parseable * answered
    return Result(
        noun="questions",
        benchmark="eqbench",
        title=f"EQ-Bench {version}",
        subject=PEOPLE,
        rules={
            **asdict(rules),
            **{key: value for key, value in options.items() if key != "rules"},
            "mode": "form",
            "participants": headline.n,
        },
        sentence=_sentence(headline, found, floor, valid),
        headline=headline,
        score_range=(0.0, 100.0),
        estimates=tuple(_estimates(chosen, rated, found, version, rules)),
        counts={
            "planned": len(planned),
            **{status: counts.get(status, 0) for status in STATUSES},
            "unanswered": counts.get("unanswered", 0),
            "people": headline.n,
        },
        items=tuple(shown(one, fmean(r.score for r in one.given) if one.given else None) for one in found),
        item_range=(-10.0, 10.0),
        baselines=floor,
        valid=valid,
        caveats=_caveats(chosen, rated, found, options, rules, valid),
        tables=tuple(table for table in (_spread_table(rated, rules), norms_table(found)) if table is not None),
    )


def rated_of(chosen: Sequence[Chosen], version: str, rules: EqBenchRules) -> list[NormRating]:
    """Answers with a score, in an order that does not depend on who came first."""
    rated = []
    for one in chosen:
        score = item_score(one.scores.first, one.scored.trial.key["reference"], version, rules)
        if one.answer is not None and one.scores.first is not None and score is not None:
            rated.append(NormRating(one.answer.subject, one.scored.trial, one.scores.first, score))
    return sorted(rated, key=lambda one: (one.person, one.item))


def person_scores(rated: Sequence[NormRating], rules: EqBenchRules) -> dict[str, float]:
    """Each person's score by the benchmark's rule, on the dialogues they answered."""
    own: dict[str, list[float | None]] = {}
    for one in rated:
        own.setdefault(one.person, []).append(one.score)
    scores = {person: run_score(found, [None] * len(found), rules).score for person, found in own.items()}
    return {person: score for person, score in scores.items() if score is not None}


def _mean(name: str, rated: Sequence[NormRating], note: str = "") -> Estimate:
    people, items = [one.person for one in rated], [one.item for one in rated]
    return crossed_mean(name, _values(rated), people, items, note=note, most=_MOST)


def _values(rated: Sequence[NormRating]) -> Any:
    return np.array([10 * one.score for one in rated], dtype=float)


def _estimates(
    chosen: Sequence[Chosen], rated: Sequence[NormRating], found: Sequence[Dialogue], version: str, rules: EqBenchRules
) -> Iterable[Estimate]:
    people, items = [one.person for one in rated], [one.item for one in rated]
    answered = [one for one in chosen if one.status is not None]
    read = {(one.person, one.trial.id) for one in rated}
    who = [one.answer.subject if one.answer else "" for one in answered]
    hits = [(person, one.scored.trial.id) in read for person, one in zip(who, answered, strict=True)]
    yield clustered_share("readable answers", hits, who)
    once = "each dialogue counts once, however many answered it"
    yield crossed_mean("mean over dialogues", _values(rated), items, people, note=once, of="dialogues", most=_MOST)
    together = [
        10 * score
        for one in found
        if one.given and (score := item_score(one.means, one.reference, version, rules)) is not None
    ]
    note = "the score of people's mean ratings: what a crowd would get"
    yield mean_estimate("people taken together as one reader", together, note=note)
    for other in PRESETS.values():
        if other.name != rules.name:
            again = rated_of([choose(one.scored, other) for one in chosen], version, other)
            yield _mean(f"under the rules '{other.name}'", again)
    yield _reliability(rated)
    yield from agreements(found)


def _reliability(rated: Sequence[NormRating]) -> Estimate:
    """Whether another set of dialogues would order these people alike."""
    codes = {person: number for number, person in enumerate(dict.fromkeys(one.person for one in rated))}
    alike = clustering(_values(rated), np.array([codes[one.person] for one in rated], dtype=np.int64))
    found = reliability_of_means("reliability of one person's score", alike)
    note = f"ICC(1,k) over the dialogues of a person, {alike.size:.1f} on average; that some are harder adds noise"
    return Estimate(found.name, found.value, found.n, None, found.low, found.high, note=note, of="people")


def _spread_table(rated: Sequence[NormRating], rules: EqBenchRules) -> Table | None:
    scores = list(person_scores(rated, rules).values())
    if len(scores) < 2:
        return None
    shares = (0, 10, 25, 50, 75, 90, 100)
    quantiles = (float(value) for value in np.percentile(scores, shares))
    return Table(
        "How people's own scores spread",
        ("people", "mean", "SD", "lowest", *(f"{share} %" for share in shares[1:-1]), "highest"),
        ((len(scores), fmean(scores), float(np.std(scores, ddof=1)), *quantiles),),
        "Each person's score by the benchmark's rule on the dialogues they answered; quantiles interpolate. Part of "
        "the spread is noise of few dialogues: see the reliability.",
    )


def _sentence(score: Estimate, found: Sequence[Dialogue], floor: Sequence[Baseline], valid: bool) -> str:
    read = sum(bool(one.given) for one in found)
    if score.value is None:
        return "No answer of a person could be scored, so there is no score."
    if score.low is None or score.high is None:
        who = "One person scores" if score.n == 1 else f"{score.n} people score"
        few = f"{who} {score.value:.2f} on {score.name} with {read} of {len(found)} dialogues, too few for an interval"
        return f"{few}." if valid else f"{few}; and too few answers could be scored: by the published rule not valid."
    text = (
        f"{score.n} people score {score.value:.2f} on {score.name} on average (95 % interval {score.low:.1f} to "
        f"{score.high:.1f}, {read} of {len(found)} dialogues)"
    )
    if not valid:
        return f"{text}, but too few answers could be scored: by the published rule the result is not valid."
    return f"{text}, {against(score, floor)}"


def _caveats(
    chosen: Sequence[Chosen],
    rated: Sequence[NormRating],
    found: Sequence[Dialogue],
    options: Mapping[str, Any],
    rules: EqBenchRules,
    valid: bool,
) -> tuple[str, ...]:
    said = []
    per_person = Counter(one.person for one in rated)
    if options["item_set"] == "open":
        said.append("References are one author's judgement: a person who differs from them need not be wrong.")
    if 0 < len(per_person) < FEW:
        said.append(
            f"{len(per_person)} people are few: the interval is wide, and norms of single dialogues rest on less."
        )
    least, most = min(per_person.values(), default=0), max(per_person.values(), default=0)
    if per_person and least < len(found):
        each = f"{least}" if least == most else f"{least} to {most}"
        said.append(
            f"People had parts of it: each answered {each} of {len(found)} dialogues; the interval allows for it."
        )
    alone = sum(len(one.given) == 1 for one in found)
    if alone:
        said.append(f"{alone} dialogues were answered by one person only: no SD and no agreement for them.")
    missing = sum(not one.given for one in found)
    if missing:
        said.append(f"{missing} dialogues have no scored answer yet.")
    zeros = sum(one.status == "unparseable" for one in chosen)
    if zeros:
        said.append(f"{zeros} answers were four zeros, which the published rule takes for no answer.")
    if not valid and rated:
        said.append(f"Fewer than {100 * rules.min_parseable:.2f} % of the answers could be scored.")
    waiting = sum(one.status is None for one in chosen)
    if waiting:
        said.append(f"{waiting} planned pages are not answered: by people who left, or who are still at it.")
    return tuple(said)
