"""People's EQ-Bench result: each person's own score by the benchmark's rule, their mean with an interval over people
and dialogues alike, how they spread, how reliable a score is, and the norms they give."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from statistics import fmean, stdev
from typing import Any

import numpy as np

from eqlab.analysis.agreement import coincidences, ordinal_alpha, tables_agreement
from eqlab.analysis.clusters import clustering, crossed_mean, reliability_of_means
from eqlab.analysis.correlation import pearson
from eqlab.analysis.intervals import clustered_share, mean_estimate
from eqlab.benchmarks.common.outcome import against, count_outcomes, pages_not_answered
from eqlab.benchmarks.eqbench.score import (
    PRESETS,
    EqBenchOptions,
    EqBenchRules,
    as_shown,
    baselines,
    item_score,
    run_score,
)
from eqlab.benchmarks.eqbench.trials import Chosen, choose
from eqlab.core.answers import UNANSWERED
from eqlab.core.benchmark import Scored
from eqlab.core.grouping import grouped
from eqlab.core.plural import many
from eqlab.core.results import Baseline, Estimate, ItemScore, Norms, Result, Table
from eqlab.core.runs import PEOPLE
from eqlab.core.trials import Trial
from eqlab.core.values import dataclass

_MOST = 100.0
"""The best score that the rules can give."""
FEW = 10
"""Fewer people than this are called few."""


@dataclass(frozen=True, slots=True)
class NormRating:
    """One person's scored answer to one dialogue."""

    person: str
    trial: Trial
    values: Mapping[str, int]
    score: float

    @property
    def item(self) -> str:
        return self.trial.items[0]


@dataclass(frozen=True, slots=True)
class Dialogue:
    """Everybody's answers to one dialogue."""

    trial: Trial
    given: tuple[NormRating, ...]

    @property
    def item(self) -> str:
        return self.trial.items[0]

    @property
    def reference(self) -> Mapping[str, float]:
        found: Mapping[str, float] = self.trial.key["reference"]
        return found

    def ratings(self, emotion: str) -> list[int]:
        return [rating.values[emotion] for rating in self.given]

    @property
    def means(self) -> dict[str, float]:
        return {name: fmean(self.ratings(name)) for name in self.reference}


def people_result(scored: Iterable[Scored], stored: Mapping[str, Any]) -> Result:
    """`stored`: the run's options, which are shown as they are."""
    options = EqBenchOptions.of(stored)
    rules, version = PRESETS[options.rules], options.version
    planned = list(scored)
    chosen = [choose(one, rules) for one in planned]
    rated = rated_of(chosen, version, rules)
    found = dialogues([one.trial for one in planned], rated)
    headline = _mean(f"EQ-Bench {version}", rated)
    counts = count_outcomes(one.status for one in chosen)
    answered = len(chosen) - counts[UNANSWERED]
    floor = _floor(rated, version, rules)
    valid = bool(rated) and len(rated) >= rules.min_parseable * answered
    scores = tuple(person_scores(rated, rules).values())
    return Result(
        noun="questions",
        benchmark="eqbench",
        title=f"EQ-Bench {version}",
        subject=PEOPLE,
        rules={
            **asdict(rules),
            **{key: value for key, value in stored.items() if key != "rules"},
            "mode": "form",
            "participants": headline.n,
        },
        sentence=_sentence(headline, found, floor, valid),
        headline=headline,
        score_range=(0.0, 100.0),
        estimates=tuple(_estimates(chosen, rated, found, version, rules)),
        counts={**counts, "people": headline.n},
        items=tuple(
            shown(dialogue, fmean(r.score for r in dialogue.given) if dialogue.given else None) for dialogue in found
        ),
        item_range=(-10.0, 10.0),
        baselines=floor,
        valid=valid,
        caveats=_caveats(chosen, rated, found, options, rules, valid),
        tables=tuple(table for table in (_spread_table(rated, rules), norms_table(found)) if table is not None),
        norms=Norms(scores, "people of this study") if scores else None,
    )


def rated_of(chosen: Sequence[Chosen], version: str, rules: EqBenchRules) -> list[NormRating]:
    """Answers with a score, in an order that does not depend on who came first."""
    rated = []
    for one in chosen:
        score = item_score(one.scores.first, one.scored.trial.key["reference"], version, rules)
        if one.answer is not None and one.scores.first is not None and score is not None:
            rated.append(NormRating(one.answer.subject, one.scored.trial, one.scores.first, score))
    return sorted(rated, key=lambda one: (one.person, one.item))


def _floor(rated: Sequence[NormRating], version: str, rules: EqBenchRules) -> tuple[Baseline, ...]:
    """What no skill gets, as people's score is made: each person counts once, however many dialogues they answered."""
    answered, asked, weights = Counter(rating.person for rating in rated), dict[str, Trial](), dict[str, float]()
    for rating in sorted(rated, key=lambda one: one.trial.id):
        asked[rating.trial.id] = rating.trial
        weights[rating.trial.id] = weights.get(rating.trial.id, 0.0) + 1 / answered[rating.person]
    uneven = len(set(weights.values())) > 1
    return baselines(list(map(as_shown, asked.values())), version, rules, list(weights.values()) if uneven else None)


def person_scores(rated: Sequence[NormRating], rules: EqBenchRules) -> dict[str, float]:
    """Each person's score by the benchmark's rule, on the dialogues they answered."""
    own = grouped((rating.person, rating.score) for rating in rated)
    scores = {person: run_score(found, [None] * len(found), rules).score for person, found in own.items()}
    return {person: score for person, score in scores.items() if score is not None}


def _mean(name: str, rated: Sequence[NormRating], note: str = "") -> Estimate:
    people, items = [rating.person for rating in rated], [rating.item for rating in rated]
    return crossed_mean(name, _values(rated), people, items, note=note, most=_MOST)


def _values(rated: Sequence[NormRating]) -> Any:
    return np.array([10 * rating.score for rating in rated], dtype=float)


def _estimates(
    chosen: Sequence[Chosen], rated: Sequence[NormRating], found: Sequence[Dialogue], version: str, rules: EqBenchRules
) -> Iterable[Estimate]:
    people, items = [rating.person for rating in rated], [rating.item for rating in rated]
    answered = [one for one in chosen if one.status is not None]
    read = {(rating.person, rating.trial.id) for rating in rated}
    who = [one.answer.subject if one.answer else "" for one in answered]
    hits = [(person, one.scored.trial.id) in read for person, one in zip(who, answered, strict=True)]
    yield clustered_share("readable answers", hits, who)
    once = "each dialogue counts once, however many answered it"
    yield crossed_mean("mean over dialogues", _values(rated), items, people, note=once, of="dialogues", most=_MOST)
    together = [
        10 * score
        for dialogue in found
        if dialogue.given and (score := item_score(dialogue.means, dialogue.reference, version, rules)) is not None
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
    codes = {person: number for number, person in enumerate(dict.fromkeys(rating.person for rating in rated))}
    alike = clustering(_values(rated), np.array([codes[rating.person] for rating in rated], dtype=np.int64))
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
    read = sum(bool(dialogue.given) for dialogue in found)
    if score.value is None:
        return "No answer of a person could be scored, so there is no score."
    if score.low is None or score.high is None:
        who = "One person scores" if score.n == 1 else f"{score.n} people score"
        few = f"{who} {score.value:.2f} on {score.name} with {read} of {len(found)} dialogues, too few for an interval"
        return f"{few}." if valid else f"{few}; and too few answers could be scored: by the published rule not valid."
    text = (
        f"{many(score.n, 'person scores', 'people score')} {score.value:.2f} on {score.name} on average (95 "
        f"% interval {score.low:.1f} to "
        f"{score.high:.1f}, {read} of {len(found)} dialogues)"
    )
    if not valid:
        return f"{text}, but too few answers could be scored: by the published rule the result is not valid."
    return f"{text}, {against(score, floor)}"


def _caveats(
    chosen: Sequence[Chosen],
    rated: Sequence[NormRating],
    found: Sequence[Dialogue],
    options: EqBenchOptions,
    rules: EqBenchRules,
    valid: bool,
) -> tuple[str, ...]:
    said = []
    per_person = Counter(rating.person for rating in rated)
    if options.item_set == "open":
        said.append("References are one author's judgement: a person who differs from them need not be wrong.")
    if 0 < len(per_person) < FEW:
        said.append(
            f"{many(len(per_person), 'person is', 'people are')} few: the interval is wide, and norms of "
            "single dialogues rest on less."
        )
    least, most = min(per_person.values(), default=0), max(per_person.values(), default=0)
    if per_person and least < len(found):
        each = f"{least}" if least == most else f"{least} to {most}"
        said.append(
            f"People had parts of it: each answered {each} of {len(found)} dialogues; the interval allows for it."
        )
    alone = sum(len(dialogue.given) == 1 for dialogue in found)
    if alone:
        said.append(f"{alone} dialogues were answered by one person only: no SD and no agreement for them.")
    missing = sum(not dialogue.given for dialogue in found)
    if missing:
        said.append(f"{missing} dialogues have no scored answer yet.")
    zeros = sum(one.status == "unparseable" for one in chosen)
    if zeros:
        said.append(
            f"{many(zeros, 'answer was', 'answers were')} four zeros, which the published rule takes for no answer."
        )
    if not valid and rated:
        said.append(f"Fewer than {100 * rules.min_parseable:.2f} % of the answers could be scored.")
    return (*said, *pages_not_answered(sum(one.status is None for one in chosen)))


# -- what people say of each dialogue --------------------------------------------------------------------------------
# What people say of each dialogue: norms per emotion beside the author's reference, and how far people agree.

MOST_ROWS = 400
"""Rows of the table of norms in a report; all 60 open dialogues fit."""
_LEVELS = 11
_DRAWS = 2000


def dialogues(trials: Sequence[Trial], rated: Sequence[NormRating]) -> list[Dialogue]:
    """One per dialogue that anybody was to answer, by its id, whoever came first."""
    by_item = grouped((rating.item, rating) for rating in rated)
    known = {trial.items[0]: trial for trial in sorted(trials, key=lambda trial: trial.id)}
    return [
        Dialogue(known[item], tuple(sorted(by_item.get(item, []), key=lambda one: one.person)))
        for item in sorted(known)
    ]


def norms_table(found: Sequence[Dialogue]) -> Table | None:
    """Every emotion of every dialogue, those where people and the reference disagree most first."""
    rows = []
    for dialogue in found:
        for emotion, reference in dialogue.reference.items():
            ratings = dialogue.ratings(emotion)
            if ratings:
                gap = mean_estimate("difference", [value - reference for value in ratings], digits=1)
                spread = stdev(ratings) if len(ratings) > 1 else None
                rows.append((dialogue.item, emotion, len(ratings), fmean(ratings), spread, float(reference), gap))
    if not rows:
        return None
    rows.sort(key=lambda row: (-abs(row[-1].value or 0.0), row[0], row[1]))
    cut = f" The first {MOST_ROWS} of {many(len(rows), 'row')}." if len(rows) > MOST_ROWS else ""
    return Table(
        "Human norms: what people say of each dialogue, farthest from the reference first",
        ("dialogue", "emotion", "people", "mean", "SD", "reference", "people − reference"),
        tuple(rows[:MOST_ROWS]),
        "Intensities from 0 to 10; the interval is Student's over people. The reference is its author's judgement; "
        f"where many people differ from it, it is the reference that should be looked at.{cut}",
    )


def agreements(found: Sequence[Dialogue]) -> Iterator[Estimate]:
    """How alike people rate one dialogue, and how their means follow the reference."""
    shared = [dialogue for dialogue in found if len(dialogue.given) > 1]
    name = "agreement of people on the same dialogue (ordinal alpha)"
    if shared:
        tables = np.array(
            [
                coincidences(
                    [[value + 1 for value in dialogue.ratings(name)] for name in dialogue.reference], _LEVELS
                ).sum(axis=0)
                for dialogue in shared
            ]
        )
        alpha = tables_agreement(tables, {"alpha": ordinal_alpha}, draws=_DRAWS)["alpha"]
        note = "Krippendorff 2011; bootstrap over dialogues; 1: all agree, 0: as by chance"
        yield Estimate(name, alpha.value, len(shared), None, alpha.low, alpha.high, note=note, of="dialogues")
    else:
        yield Estimate(name, None, 0, note="no dialogue was answered by several people", of="dialogues")
    pairs = [
        (dialogue.means[name], value)
        for dialogue in found
        if dialogue.given
        for name, value in dialogue.reference.items()
    ]
    people, reference = np.array(pairs, dtype=float).reshape(-1, 2).T
    yield pearson("correlation of people's mean ratings with the reference", people, reference)


def shown(dialogue: Dialogue, score: float | None) -> ItemScore:
    """A dialogue for the report: people's mean ratings, and how they spread in place of a reply."""
    lines = [f"{name}: {_spread(dialogue.ratings(name))}" for name in dialogue.reference] if dialogue.given else []
    return ItemScore(
        item=dialogue.item,
        trial=dialogue.trial.id,
        repeat=0,
        status="ok" if dialogue.given else None,
        score=score,
        title=f"How {dialogue.trial.key['character']} feels",
        text="\n".join(["Ratings, and how many people gave each:", *lines]) if lines else "",
        values={name: round(mean, 2) for name, mean in dialogue.means.items()} if dialogue.given else {},
        reference=dialogue.reference,
        reasons=dialogue.trial.key["reasons"],
        attempts=len(dialogue.given),
    )


def _spread(ratings: Sequence[int]) -> str:
    return ", ".join(f"{value} ×{ratings.count(value)}" for value in sorted(set(ratings)))
