"""An entry: one subject's result with where it comes from. Runs of a store become entries here."""

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import cached_property
from statistics import fmean
from typing import Literal

import msgspec

from eqlab.comparison.contender import arms, item_means, rater, subject_name
from eqlab.core.errors import EqlabError
from eqlab.core.item_columns import ItemColumns
from eqlab.core.results import AMONG_REPLIES, Result, field_of
from eqlab.core.runs import PEOPLE
from eqlab.core.values import dataclass
from eqlab.publish.groups import RunRecord, table_key
from eqlab.runs.context import Known
from eqlab.runs.pool import pooled
from eqlab.runs.score import results
from eqlab.store.kept_scores import without_texts as figures_of
from eqlab.store.reader import Reader, StoredRun

Origin = Literal["published", "submission", "run"]
_TEXTS = ("title", "text", "values", "reference", "reasons", "shown", "words_absent")


@dataclass(frozen=True)
class BoardEntry:
    record: RunRecord
    result: Result
    origin: Origin
    source: str
    """The file, run or key it comes from."""
    participants: int | None = None
    """How many people answered, where people did."""
    arm: str = ""
    """Empathy: whose replies were rated; the result is the rater's."""
    arm_points: Mapping[str, float] = field(default_factory=dict)
    """Empathy: by prompt, 100 where the reply was called Good; empty where the rater is the unit."""
    texts: bool = True
    """Whether replies, values and references may stand on the item pages."""

    @property
    def people(self) -> bool:
        others = self.result.others
        return self.result.subject == PEOPLE or bool(self.arm and others and self.arm == others.written_by_people)

    @property
    def rater(self) -> str:
        """Who rated the replies; empty where nobody did."""
        return PEOPLE if self.arm and self.result.subject == PEOPLE else rater(self.result) if self.arm else ""

    @property
    def name(self) -> str:
        if self.arm:
            return subject_name(self.arm)
        if self.result.subject == PEOPLE:
            return f"People ({self.participants})" if self.participants else "People"
        return subject_name(self.result.subject)

    @cached_property
    def table(self) -> str:
        """Entries with the same key may be compared."""
        if self.arm:  # raters differ: one rater's judgements are one table
            return f"{self.result.benchmark}/{self.record.config.id}/{self.result.rules.get('rater', '')}"
        return table_key(self.record, self.result)

    @cached_property
    def id(self) -> str:
        """Also the name of its pages: readable, and the same in every build."""
        words = re.sub(r"[^a-z0-9]+", "-", self.name.lower()).strip("-")[:40].strip("-")
        whole = "\0".join((self.table, self.origin, self.source, self.result.subject, self.arm))
        return f"{words or 'subject'}-{hashlib.sha256(whole.encode()).hexdigest()[:8]}"

    @cached_property
    def replies(self) -> str:
        """Every reply in its place, as a hash; empty where there are none to compare."""
        own = sorted((item.trial, item.repeat, item.text) for item in self.result.items if item.text)
        return hashlib.sha256(msgspec.msgpack.encode(own)).hexdigest() if own else ""

    @cached_property
    def words(self) -> float | None:
        """Mean length of a reply."""
        lengths = [words for words in field_of(self.result.items, "words") if words]
        return fmean(lengths) if lengths else None

    @cached_property
    def item_scores(self) -> dict[str, float]:
        """Points by item, the mean over repeats; their mean is the score. Empty where the score is no such mean."""
        return dict(self.arm_points) if self.arm or self.people else item_means(self.result.items)


def figures_only(entry: BoardEntry) -> BoardEntry:
    """Without the words that no page will show, of which many entries would fill the memory; what was to be found in
    them is found first."""
    if entry.texts or entry.arm or "replies" in vars(entry):  # found already, by another process
        return entry
    lean = figures_of(entry.result)
    record = replace(entry.record, results=(lean,)) if entry.record.results == (entry.result,) else entry.record
    made = replace(entry, record=record, result=lean)
    vars(made).update(replies=entry.replies)
    return made


def without_texts(entry: BoardEntry) -> BoardEntry:
    """Scores only. Words and references of published material are its authors'; so is the name of a character."""
    if entry.texts or not entry.result.items:
        return entry
    items = ItemColumns.of(entry.result.items).without(*_TEXTS)
    return replace(entry, result=replace(entry.result, items=items))


def store_entries(store: Reader, say_left_out: dict[str, str]) -> Iterator[BoardEntry]:
    """Every result of every run, seeds of one model taken together; what has no place on a leaderboard is named in
    `say_left_out` with the reason."""
    known = Known(store)
    found = []
    for run in reversed(store.run_ids()):
        try:
            stored = store.read_run(run)
            found.append((stored, results(store, stored, known)))
        except EqlabError as error:
            say_left_out[f"run {run}"] = str(error)
    for stored, own in pooled(store, found):
        yield from _of_run(store, stored, own, say_left_out)


def run_entries(store: Reader, stored: StoredRun, say_left_out: dict[str, str]) -> Iterator[BoardEntry]:
    return _of_run(store, stored, results(store, stored), say_left_out)


def _of_run(
    store: Reader, stored: StoredRun, found: Sequence[Result], say_left_out: dict[str, str]
) -> Iterator[BoardEntry]:
    record = RunRecord(stored.config, stored.created_at, stored.provenance, tuple(found))
    for result in found:
        people = _people(store, stored.id, result.benchmark) if result.subject == PEOPLE else 0
        where = f"run {stored.id}, {subject_name(result.subject)}"
        if result.others is not None:
            arms = list(_arms(record, result, stored.id, people))
            if not arms:
                say_left_out[where] = f"{result.title}: a calibration or pairs, no share of Good for each"
            yield from arms
        elif result.headline.value is None:
            say_left_out[where] = f"{result.title}: {result.headline.note or 'no answer could be scored'}"
        else:
            yield BoardEntry(record, result, "run", stored.id, people or None)


def _people(store: Reader, run: str, benchmark: str) -> int:
    """Who answered a question of it; others came to a quiz at most."""
    scored = store.scored(run, PEOPLE, benchmark)
    return len({answer.subject for one in scored for answer in one.attempts if answer.values})


def _arms(record: RunRecord, result: Result, run: str, people: int) -> Iterator[BoardEntry]:
    """Whoever's replies were rated is on the board, not the rater."""
    if result.others is None:
        return
    who = f"people ({people})" if result.subject == PEOPLE else result.subject
    for contender in arms(result):
        share = contender.score
        own = replace(
            result,
            headline=share,
            score_range=result.others.score_range,
            items=(),
            estimates=(),
            baselines=(),
            counts={"planned": share.n, "ok": share.n},
            usage=None,  # that is the rater's
            rules={**result.rules, "rater": who},
            title=f"{result.title}: {who.removeprefix('judge:')}",
            percentile=(above := result.others.above.get(contender.name)),
            norms=AMONG_REPLIES if above else None,
        )
        yield BoardEntry(record, own, "run", run, people or None, arm=contender.name, arm_points=contender.points)
