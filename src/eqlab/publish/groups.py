"""Results as tables: those that may be compared stand together, in order, with their verdict. Pure.

Results are compared only inside a group: same benchmark, protocol, rules, answer mode, items, options and selection."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

from eqlab.comparison.contender import (
    REFERENCE,
    Contender,
    arms,
    comparable,
    contender,
    mode_name,
    rater,
    rules_name,
    settings_of,
    subject_name,
    told_apart,
)
from eqlab.comparison.scores import ScoreLine
from eqlab.comparison.sentences import conclusion
from eqlab.comparison.verdict import Verdict, rank
from eqlab.core import text
from eqlab.core.results import Baseline, Result, as_dict, goodness
from eqlab.core.runs import PEOPLE, BenchmarkConfig, RunConfig
from eqlab.core.values import dataclass
from eqlab.tables import svg as figures


@dataclass(frozen=True)
class RunRecord:
    """One run as the report needs it."""

    config: RunConfig
    created_at: float
    provenance: Mapping[str, Any]
    """Versions, item hashes, model identities, python, platform; `command` is shown as the way to repeat the run."""
    results: tuple[Result, ...]
    """One per subject and benchmark."""


@dataclass(frozen=True)
class Row:
    """One result with its place on the page."""

    record: RunRecord
    result: Result
    name: str
    anchor: str
    rank: tuple[int, int] | None
    rank_at_worst: tuple[int, int] | None = None
    """The same with lost answers as the worst."""
    beside: bool = False
    """Whether it is there to compare with: a published model among the user's own."""
    again: bool = False
    """Whether an earlier table has this result too: people stand in every table of the same questions."""

    @property
    def people(self) -> bool:
        return self.result.subject == PEOPLE

    @property
    def baselines(self) -> tuple[tuple[str, float], ...]:
        return tuple((baseline.name, baseline.value) for baseline in self.result.baselines)

    @cached_property
    def line(self) -> ScoreLine:
        """As the score table has it."""
        return ScoreLine.of(
            self.result, self.name, rank=self.rank, rank_at_worst=self.rank_at_worst, at=self.record.created_at
        )


@dataclass(frozen=True)
class Group:
    """Results that may be compared: one table."""

    title: str
    facts: tuple[str, ...]
    rows: tuple[Row, ...]
    scale: figures.Range
    sentence: str
    baselines: tuple[tuple[str, str], ...]
    """The key to the ticks: (name, value or range of values)."""
    verdicts: tuple[tuple[str, Verdict], ...]
    """The verdict on the rows, after the empty name; or by rater, on those whose replies were rated."""
    things: str = "items"
    """What the items are called."""

    @property
    def label(self) -> str:
        return label_of(self.title, self.facts)

    @property
    def fine_print(self) -> tuple[str, ...]:
        """Facts that belong below a table: what its rows share beyond rules and way of answering."""
        return tuple(
            fact for fact in self.facts if fact.startswith(("item set", "protocol", "profile", "options", "no "))
        )

    @cached_property
    def lines(self) -> list[ScoreLine]:
        """As the score table has them; one row alone has no rank."""
        return [row.line if self.ranks else replace(row.line, rank=None, rank_at_worst=None) for row in self.rows]

    @property
    def compares(self) -> bool:
        return len(self.rows) > 1

    @property
    def ranks(self) -> bool:
        """Whether scores tell better subjects from worse ones."""
        return self.compares and any(row.result.ranked for row in self.rows)


Members = Sequence[tuple[RunRecord, Result]]
"""The results of one table, each after its run."""


def group(records: Sequence[RunRecord]) -> tuple[Group, ...]:
    """Tables in the order in which their first result appears."""
    anchors: dict[int, str] = {}
    return tuple(_group(members, anchors) for members in tables_of(records))


def group_of(members: Members) -> Group:
    """One of the tables by itself."""
    return _group(members, {})


def tables_of(records: Sequence[RunRecord]) -> list[Members]:
    """Which results stand in one table. People are a row of every table that asks the same questions, in whatever mode
    models answered; without such a table they have one of their own."""
    members: dict[str, list[tuple[RunRecord, Result]]] = {}
    every = [(record, result) for record in records for result in record.results]
    for pair in every:
        if pair[1].subject != PEOPLE:
            members.setdefault(table_key(*pair), []).append(pair)
    asked = {key: _question(*member[0]) for key, member in members.items()}
    for pair in every:
        if pair[1].subject == PEOPLE:
            question = _question(*pair)
            for key in [key for key in asked if asked[key] == question] or [question]:
                members.setdefault(key, []).append(pair)
    return list(members.values())


def table_key(record: RunRecord, result: Result) -> str:
    config = benchmark_config(record, result)
    # Without its configuration nobody knows whether a result is comparable: it stays inside its run.
    asked = as_dict(config) if config else record.config.id
    return json.dumps([asked, comparable(result), record.config.profile, record.config.limit], sort_keys=True)


_WHO = ("study", "purpose", "imported_as", "defaults", "repeats")
"""Options that say who was asked and how often, not what."""


def _question(record: RunRecord, result: Result) -> str:
    """What was asked and what the number means, whoever answered."""
    config = benchmark_config(record, result)
    asked: Any = record.config.id
    if config:
        options = {name: value for name, value in config.options.items() if name not in _WHO}
        asked = [config.name, config.protocol, config.item_set, config.items_sha256, options]
    meaning = [rules_name(result), result.headline.name]
    return json.dumps([asked, meaning, record.config.profile, record.config.limit], sort_keys=True)


def benchmark_config(record: RunRecord, result: Result) -> BenchmarkConfig | None:
    """The one configuration that made this result; None when the run has none, or several that could be it."""
    named = [config for config in record.config.benchmarks if config.name == result.benchmark]
    if len(named) > 1 and "item_set" in result.rules:
        named = [config for config in named if config.item_set == result.rules["item_set"]]
    return named[0] if len(named) == 1 else None


def _group(pairs: Members, anchors: dict[int, str]) -> Group:
    """One table; `anchors` are those of the pairs that have their own section already."""
    shared = next((pair for pair in pairs if pair[1].subject != PEOPLE), pairs[0])
    ordered = sorted(((pair, contender("", pair[1])) for pair in pairs), key=lambda one: _order(*one))
    pairs = [pair for pair, _ in ordered]
    known = set(anchors)
    results = [result for _, result in pairs]
    names = _names(pairs)
    verdicts = _verdicts(results, [replace(own, name=name) for name, (_, own) in zip(names, ordered, strict=True)])
    found = {
        standing.contender.name: standing for rater, verdict in verdicts if not rater for standing in verdict.standings
    }
    rows = tuple(
        Row(
            record,
            result,
            name,
            anchors.setdefault(id(pair), f"subject-{len(anchors) + 1}"),
            found[name].rank if name in found else None,
            found[name].at_worst if name in found else None,
            again=id(pair) in known,
        )
        for pair, name in zip(pairs, names, strict=True)
        for record, result in (pair,)
    )
    every = [baseline for result in results for baseline in result.baselines]
    scale = figures.common_range([result.score_range for result in results])
    digits = results[0].headline.digits
    return Group(
        title=" · ".join(dict.fromkeys(result.title for result in (shared[1], *results))),
        facts=(*facts_of(*shared), *(("people on a form",) if len({row.people for row in rows}) == 2 else ())),
        rows=rows,
        scale=scale,
        sentence=_sentence(results, verdicts),
        baselines=tuple((name, _spread(name, every, scale, digits)) for name in dict.fromkeys(b.name for b in every)),
        verdicts=verdicts,
        things=results[0].noun,
    )


def _verdicts(results: Sequence[Result], contenders: Sequence[Contender]) -> tuple[tuple[str, Verdict], ...]:
    """One on all rows; or, where the rows are raters, one on those whose replies each of them rated."""
    if any(result.ranked for result in results):
        return (("", rank(contenders)),)
    return tuple((rater(result), rank(own)) for result in results if (own := arms(result)))


def _sentence(results: Sequence[Result], verdicts: Sequence[tuple[str, Verdict]]) -> str:
    """What a benchmark says of its only row, or of people's ratings, which a plan decides about, is said as it is."""
    if len(results) == 1 and results[0].ranked and results[0].sentence:
        return results[0].sentence
    things = results[0].noun
    if any(result.ranked for result in results):
        return conclusion(verdicts[0][1], things)
    judged = dict(verdicts)
    said = [
        conclusion(judged[who], things, who)
        if (who := rater(result)) in judged and result.subject != PEOPLE
        else result.sentence
        for result in results
    ]
    return "\n".join(said)


def _order(pair: tuple[RunRecord, Result], own: Contender) -> tuple[bool, float]:
    """Best first, by the score that refusing cannot raise; what cannot be ranked is last, in the order of the run."""
    value = own.certain if own.ranked or own.why_no_rank == REFERENCE else None
    return (value is None, -goodness(value or 0.0, own.better))


def _names(pairs: Sequence[tuple[RunRecord, Result]]) -> list[str]:
    """Subjects by name, with settings or the run where one subject stands in the table more than once."""
    return told_apart(
        [subject_name(result.subject) for _, result in pairs],
        [settings_of(record.config, result.subject) for record, result in pairs],
        [f"run {record.config.id}" for record, _ in pairs],
    )


def _spread(name: str, every: Sequence[Baseline], scale: figures.Range, digits: int) -> str:
    """A baseline's value, or the range of its values where subjects answered different items."""
    values = sorted({baseline.value for baseline in every if baseline.name == name and text.is_number(baseline.value)})
    printed = list(dict.fromkeys(text.number(value, digits) for value in values)) or [text.UNDEFINED]
    off = "" if any(figures.on_axis(value, scale) for value in values) else " (off the axis)"
    return (printed[0] if len(printed) == 1 else f"{printed[0]} to {printed[-1]}") + off


def label_of(title: str, facts: Sequence[str]) -> str:
    """The title with what tells tables of one benchmark apart."""
    told = [fact.partition(" (")[0] for fact in facts if fact.startswith(("item set ", "structured", "limit "))]
    return ", ".join([title, *told])


def facts_of(record: RunRecord, result: Result) -> tuple[str, ...]:
    """What all rows of a table share, in words."""
    config = benchmark_config(record, result)
    limit = record.config.limit
    parts = [
        f"rules {rules_name(result)}" if rules_name(result) else "",
        mode_name(result),
        f"item set {config.item_set} (sha256 {config.items_sha256[:10]}…)" if config else "item set not recorded",
        f"protocol {config.protocol}" if config else "",
        f"profile {record.config.profile}",
        f"limit {limit}" if limit is not None else "no limit",
    ]
    said = {"rules", "item_set"}
    options = {name: value for name, value in config.options.items() if name not in said} if config else {}
    if options:
        parts.append("options " + ", ".join(f"{name} = {value}" for name, value in text.facts(options)))
    return tuple(part for part in parts if part)
