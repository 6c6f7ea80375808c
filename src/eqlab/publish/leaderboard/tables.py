"""Entries become tables: who may be compared, in which order, with which ranks, beside which baselines and people."""

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from statistics import fmean
from typing import Literal

import numpy as np
import numpy.typing as npt

from eqlab.analysis.ranks import Keeper
from eqlab.benchmarks.registry import place
from eqlab.comparison.contender import (
    REFERENCE,
    Contender,
    bounds_of,
    clusters,
    compared,
    lost_of,
    own_items,
    settings_of,
    speakers,
    told_apart,
    why_no_rank,
)
from eqlab.comparison.equal_length import LengthLine, LengthView, length_view
from eqlab.comparison.scores import MeasuredLines, ScoreLine, measured_lines
from eqlab.comparison.sentences import conclusion
from eqlab.comparison.verdict import Pair, Verdict, rank
from eqlab.core.results import Estimate, goodness
from eqlab.core.text import is_number
from eqlab.core.values import dataclass
from eqlab.publish.groups import facts_of, label_of
from eqlab.publish.leaderboard.entries import BoardEntry
from eqlab.tables.svg import Range, common_range

_ORIGINS = ("run", "submission", "published")


@dataclass(frozen=True)
class BoardLine:
    """One row: a model, people, or a baseline that needs no skill."""

    name: str
    estimate: Estimate
    entry: BoardEntry | None = None
    rank: tuple[int, int] | None = None
    may_be_first: bool = False
    why_no_rank: str = ""
    certain: float | None = None
    """The score that refusing cannot raise, by which rows are sorted; None: as displayed."""
    rank_at_worst: tuple[int, int] | None = None
    study: bool = False
    """People of a published study, who are no entry: their number is known, or why there is none."""

    @property
    def kind(self) -> Literal["model", "people", "baseline"]:
        if self.entry is None:
            return "people" if self.study else "baseline"
        return "people" if self.entry.people else "model"

    @property
    def valid(self) -> bool:
        return self.entry is None or self.entry.result.valid

    @property
    def sorted_by(self) -> float | None:
        return self.estimate.value if self.certain is None else self.certain

    def score_line(self, equal: LengthLine | None = None) -> ScoreLine:
        """As the score table has it; `equal`: the same row at equal length."""
        entry = self.entry
        return ScoreLine(
            self.name,
            self.estimate,
            entry.result if entry else None,
            self.rank,
            self.may_be_first,
            self.why_no_rank,
            self.kind,
            origin=entry.origin if entry else "published" if self.study else "",
            source=entry.source if entry else "",
            id=entry.id if entry else "",
            participants=entry.participants if entry else None,
            at_equal_length=equal.estimate if equal else None,
            rank_at_equal_length=equal.rank if equal else None,
            words_per_reply=entry.words if entry else None,
            rank_at_worst=self.rank_at_worst,
        )


@dataclass(frozen=True)
class Board:
    """One table of the front page."""

    key: str
    benchmark: str
    title: str
    facts: tuple[str, ...]
    sentence: str
    scale: Range
    lines: tuple[BoardLine, ...]
    """Best first, by the score that refusing cannot raise; baselines and people among the models."""
    items: tuple[str, ...]
    """The items behind the scores; empty where scores are no means over items and are compared by their intervals."""
    caveats: tuple[str, ...]
    verdict: Verdict
    length: LengthView | None = None
    """The ranked rows at equal length; None where fewer than two are ranked."""
    unlike: tuple[str, ...] = ()
    """What another table of the same title and item set does not have."""

    @property
    def label(self) -> str:
        return ", ".join([label_of(self.title, self.facts), *self.unlike])

    @cached_property
    def score_lines(self) -> MeasuredLines:
        lines = [line.score_line(self.at_length.get(line.name) if line.entry else None) for line in self.lines]
        return measured_lines(lines)

    @property
    def compares(self) -> bool:
        return len(self.entered) > 1

    @cached_property
    def ranked(self) -> int:
        return sum(line.rank is not None for line in self.lines)

    @cached_property
    def subjects(self) -> tuple[BoardLine, ...]:
        return tuple(line for line, _ in self.entered)

    @cached_property
    def places(self) -> dict[str, int]:
        """Of subjects, by name."""
        return {line.name: place for place, line in enumerate(self.subjects)}

    @cached_property
    def people(self) -> tuple[BoardLine, ...]:
        return tuple(line for line in self.subjects if line.kind == "people")

    @cached_property
    def entered(self) -> tuple[tuple[BoardLine, BoardEntry], ...]:
        return tuple((line, line.entry) for line in self.lines if line.entry is not None)

    @cached_property
    def at_length(self) -> dict[str, LengthLine]:
        """By name, which is unique in a table."""
        return {line.name: line for line in self.length.lines} if self.length else {}

    @cached_property
    def _rows(self) -> dict[str, npt.NDArray[np.float64]]:
        return {}

    def row(self, entry: BoardEntry) -> npt.NDArray[np.float64]:
        """An entry's scores by item, NaN where there is none; kept, as every neighbour asks for it."""
        if entry.id not in self._rows:
            scores = [entry.item_scores.get(item, np.nan) for item in self.items]
            self._rows[entry.id] = np.array(scores, dtype=float)
        return self._rows[entry.id]

    @cached_property
    def _pairs(self) -> dict[tuple[str, str], Pair]:
        return {}

    def pair(self, one: str, other: str) -> Pair:
        """One minus the other, by name; kept until it is asked for the other way round, as neighbours do."""
        if known := self._pairs.pop((other, one), None):
            return known.turned()
        self._pairs[one, other] = self.verdict.pair(one, other)
        return self._pairs[one, other]


def boards(entries: Iterable[BoardEntry], keeper: Callable[[str], Keeper | None] = lambda _: None) -> list[Board]:
    """Benchmarks in the order of `eqlab benchmarks`; whole item sets before parts, large tables first. `keeper`: by
    name, of what is drawn for ranks."""
    groups: dict[str, list[BoardEntry]] = {}
    for entry in entries:
        groups.setdefault(entry.table, []).append(entry)
    made = sorted((_board(key, members, keeper) for key, members in groups.items()), key=_place)
    return [replace(board, unlike=unlike(board, made)) for board in made]


def unlike(board: Board, made: Sequence[Board]) -> tuple[str, ...]:
    """The facts that tell tables of one label apart, such as `revision = yes`."""
    same = [_pieces(other) for other in made if other.label == board.label]
    return tuple(piece for piece in _pieces(board) if any(piece not in pieces for pieces in same))


def apart(board: Board, made: Sequence[Board]) -> str:
    """A table, and why its rows do not stand in the nearest one of the same title."""
    others = [other for other in made if other.title == board.title and other.key != board.key]
    if not others:
        return board.label
    own = set(_pieces(board))
    nearest = min(others, key=lambda other: len(own.symmetric_difference(_pieces(other))))
    facts = [piece for piece in _pieces(board) if piece not in _pieces(nearest)]
    facts += [f"not {piece}" for piece in _pieces(nearest) if piece not in own and not facts]
    return f"{board.label}: not in one table with {nearest.label}, because of {', '.join(facts) or 'another rater'}"


def _pieces(board: Board) -> list[str]:
    return [piece for fact in board.facts for piece in fact.removeprefix("options ").split(", ")]


def _place(board: Board) -> tuple[int, bool, int, str]:
    part = any(fact.startswith("limit ") or fact == "profile quick" for fact in board.facts)
    return place(board.benchmark), part, -len(board.entered), board.key


def _board(key: str, members: Sequence[BoardEntry], keeper: Callable[[str], Keeper | None]) -> Board:
    short = hashlib.sha256(key.encode()).hexdigest()[:8]
    members = sorted(members, key=lambda entry: (_ORIGINS.index(entry.origin), entry.name, entry.id))
    copies = _copies(members)
    named = dict(zip((entry.id for entry in members), _names(members), strict=True))
    unranked = {entry.id: why for entry in members if (why := _why_unranked(entry, copies, named))}
    first = members[0]
    items = tuple(dict.fromkeys(item for entry in members for item in sorted(entry.item_scores, key=_natural)))
    contenders = [_contender(entry, named[entry.id], unranked.get(entry.id, "")) for entry in members]
    verdict = rank(contenders, keeper=lambda which: keeper(f"{short}-{which}"))
    lines = [_line(verdict, named[entry.id], entry) for entry in members]
    lines += [BoardLine(estimate.name, estimate) for estimate in _baselines(members)]
    lines += _people_of_a_study(members)
    by = first.result.better
    lines.sort(key=lambda line: (not is_number(line.estimate.value), -goodness(line.sorted_by, by), line.name))
    return Board(
        key=short,
        benchmark=first.result.benchmark,
        title=first.result.title,
        facts=facts_of(first.record, first.result),
        sentence=conclusion(_without_copies(verdict, copies, named), first.result.noun, first.rater),
        scale=common_range([entry.result.score_range for entry in members]),
        lines=tuple(lines),
        items=items,
        caveats=_shared(members),
        verdict=verdict,
        length=_at_length(lines),
    )


def _contender(entry: BoardEntry, name: str, why: str) -> Contender:
    """All of a table were asked the same files, which its key holds."""
    head = entry.result.headline
    if entry.arm:
        return Contender(name, head, entry.item_scores, "", why, bounds=(0.0, 100.0))
    bounds = bounds_of(entry.result, entry.item_scores)
    result = entry.result
    scores = own_items(result)
    lost = None if entry.people or not entry.item_scores else lost_of(scores, result)
    about = (name, head, entry.item_scores, "", why, entry.people, result.baselines, bounds, result.better, lost)
    return Contender(*about, compared(result), speakers(result), clusters(scores))


def _line(verdict: Verdict, name: str, entry: BoardEntry) -> BoardLine:
    standing = verdict.of(name)
    contender = standing.contender
    return BoardLine(
        name,
        contender.score,
        entry,
        standing.rank,
        standing.may_be_first,
        contender.why_no_rank,
        contender.certain,
        standing.at_worst,
    )


def _without_copies(verdict: Verdict, copies: Mapping[str, BoardEntry], named: Mapping[str, str]) -> Verdict:
    """One result under a second name is not worth a sentence; its row says what it is."""
    left = {named[copy] for copy in copies}
    return replace(
        verdict, standings=tuple(standing for standing in verdict.standings if standing.contender.name not in left)
    )


def _at_length(lines: Sequence[BoardLine]) -> LengthView | None:
    ranked = {line.name: line.entry.result for line in lines if line.rank and line.entry}
    return length_view(ranked) if len(ranked) > 1 else None


def _copies(members: Sequence[BoardEntry]) -> dict[str, BoardEntry]:
    """Entries whose replies are, word for word, those of an earlier one: one result under two names."""
    seen: dict[str, BoardEntry] = {}
    found = {}
    for entry in members:
        if entry.replies and seen.setdefault(entry.replies, entry) is not entry:
            found[entry.id] = seen[entry.replies]
    return found


def _why_unranked(entry: BoardEntry, copies: Mapping[str, BoardEntry], named: Mapping[str, str]) -> str:
    head = entry.result.headline
    why = why_no_rank(head, entry.item_scores, valid=entry.result.valid, note=head.note)
    if entry.people and not entry.arm and not why:
        return REFERENCE
    if not why and entry.id in copies:
        return f"the same replies, word for word, as {named[copies[entry.id].id]}"
    return why


def _names(members: Sequence[BoardEntry]) -> list[str]:
    """Subjects by name, with their settings or source where one stands there more than once."""
    return told_apart(
        [entry.name for entry in members],
        [settings_of(entry.record.config, entry.result.subject) for entry in members],
        [_short_source(entry) for entry in members],
    )


def _short_source(entry: BoardEntry) -> str:
    return f"{entry.origin} {entry.source.rpartition('/')[2]}"


def _baselines(members: Sequence[BoardEntry]) -> list[Estimate]:
    """Over whoever answered; where subjects answered different items, the mean of their baselines."""
    found: dict[str, list[float]] = {}
    for entry in members:
        for baseline in entry.result.baselines:
            if is_number(baseline.value):
                found.setdefault(baseline.name, []).append(baseline.value)
    digits = members[0].result.headline.digits
    n = max((entry.result.headline.n for entry in members), default=0)
    return [Estimate(name, fmean(values), n, digits=digits) for name, values in found.items()]


def _people_of_a_study(members: Sequence[BoardEntry]) -> list[BoardLine]:
    estimate = next((entry.result.people for entry in members if entry.result.people), None)
    why = REFERENCE if estimate and estimate.value is not None else estimate.note if estimate else ""
    return [BoardLine(f"People, published ({estimate.n})", estimate, why_no_rank=why, study=True)] if estimate else []


def _shared(members: Sequence[BoardEntry]) -> tuple[str, ...]:
    """Caveats that hold for every row; the others stand on the pages of those whom they concern."""
    first, *rest = [entry.result.caveats for entry in members]
    return tuple(caveat for caveat in first if all(caveat in other for other in rest))


def _natural(item: str) -> tuple[int, str]:
    return (int(item), "") if item.isdigit() else (10**9, item)
