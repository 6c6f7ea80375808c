"""What scoring and statistics give back, the same for every benchmark, so that tables, reports and leaderboards
need to know none of them. "Undefined" is None, never 0."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, fields
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Literal

import msgspec
from msgspec import Struct

from eqlab.core.answers import Status
from eqlab.core.usage import Usage
from eqlab.core.values import dataclass
from eqlab.core.words import count_words

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


# Records of which a large report makes half a million (answers, items, estimates, talks) are
# `msgspec.Struct(frozen=True)`, which is made in half the time of a dataclass, or less; all others are dataclasses.
# None is ever part of a cycle, so Python's search for cycles leaves them out (`gc=False`): it took half of the time.


def as_dict(record: "Struct | DataclassInstance") -> dict[str, Any]:
    """Its fields by name, and theirs, as `dataclasses.asdict`, which knows no structs. Nothing is copied."""
    names = record.__struct_fields__ if isinstance(record, Struct) else [field.name for field in fields(record)]
    return {name: _plain(getattr(record, name)) for name in names}


def _plain(value: Any) -> Any:
    if isinstance(value, Struct) or hasattr(type(value), "__dataclass_fields__"):
        return as_dict(value)
    if isinstance(value, list | tuple):
        return type(value)(_plain(one) for one in value)
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):  # items in columns
        return [_plain(one) for one in value]
    if isinstance(value, dict):
        return {name: _plain(one) for name, one in value.items()}
    return value


Better = Literal["higher", "lower"]
"""Which way a score is better: a share of right answers is higher, a distance to a norm is lower."""
FEWEST = 5
"""Values below which a mean has no interval: too few to know their spread by."""
POINTS = "points"
"""The unit of ratings on a scale, and of differences; shares are in %."""


class Estimate(msgspec.Struct, frozen=True, gc=False):
    """A number that never travels without its n and its interval."""

    name: str
    value: float | None
    n: int
    se: float | None = None
    low: float | None = None
    high: float | None = None
    """Bounds of the 95 % interval."""
    unit: str = ""
    note: str = ""
    digits: int = 2
    of: str = ""
    """What n counts, where that is not plain: "people"."""


WITH_OTHER_ITEMS = "the same, with other questions of this kind"
"""The name of a headline's estimate once more, with an interval that takes the items for a sample: by it two are
compared, where the headline's own interval does not."""


@dataclass(frozen=True, slots=True)
class Baseline:
    """What a subject without any skill would get on the same items."""

    name: str
    value: float


def goodness(value: float | None, better: Better) -> float:
    """A score as a number of which more is better; the lowest where it is undefined."""
    if value is None or value != value:
        return float("-inf")
    return value if better == "higher" else -value


def best_baseline(baselines: Iterable[Baseline], better: Better) -> Baseline | None:
    """The strongest no-skill baseline."""
    return max(baselines, key=lambda baseline: goodness(baseline.value, better), default=None)


STANDS_ABOVE = "would stand above"


@dataclass(frozen=True, slots=True)
class Norms:
    """What people score on the same form: where among them a subject stands is worked out by the host."""

    values: tuple[float, ...]
    """People's scores, one each; or the scores whose share of people is known (`shares`)."""
    source: str
    """Who they are, for a reader: "541 students, Wang et al. 2023"."""
    n: int = 0
    """How many people stand behind the values; 0: as many as there are values."""
    shares: tuple[float, ...] = ()
    """Where only pairs were printed: the share of people, in %, who are worse than each of the values."""
    measure: str = ""
    """The name of the estimate that people's scores are of; empty: the headline."""
    differs: str = ""
    """What people were asked otherwise than the subject. There is no percentile then, and this is why."""
    caution: str = ""
    """What people were asked a little otherwise: the percentile stands, and this is said with it."""
    better: Better | None = None
    """Which way `measure` is better; None: as the headline is."""
    relation: str = STANDS_ABOVE
    """What the percentile says of the subject: that it stands above so many; or, of a measure that is no merit, that it
    is moved more than so many."""

    @property
    def people(self) -> int:
        return self.n or len(self.values)


AMONG_REPLIES = Norms((), "rated by the same", relation="is rated above")
"""Of whose replies a rater rated beside replies that people wrote."""


class ItemScore(msgspec.Struct, frozen=True, gc=False):
    """One trial's outcome, as shown item by item."""

    item: str
    trial: str
    repeat: int
    status: Status | None
    """None: not answered yet."""
    score: float | None
    title: str = ""
    text: str = ""
    values: Mapping[str, Any] = msgspec.field(default_factory=dict)
    reference: Mapping[str, Any] = msgspec.field(default_factory=dict)
    reasons: Mapping[str, str] = msgspec.field(default_factory=dict)
    attempts: int = 0
    points: float | None = None
    """What it adds to the headline, which is the mean of the items' points, and is better in the same direction. None:
    no answer that counts, or a headline that is no such mean."""
    group: str = ""
    """Whose reply the trial shows, if it shows one: items of one group are compared with those of another."""
    topics: tuple[str, ...] = ()
    """The emotions it is about, as the result's `emotions` name them."""
    shown: str = ""
    """What the subject was shown: the dialogue, situation or prompt; empty where only figures are here."""
    words_absent: int | None = None
    """Length of a reply whose text is not here: published figures tell how long it was, and no more."""
    worst: float | None = None
    """The points of the worst answer that its form allows; None: the end of the result's `score_range`."""
    cluster: str = ""
    """What it shares with items that are alike for it, such as a factor of situations; empty: it stands for itself."""

    def __repr__(self) -> str:
        score = "undefined" if self.score is None else f"{self.score:g}"
        return f"<ItemScore {self.item}, repeat {self.repeat}, {self.status or 'unanswered'}: {score}>"

    @property
    def words(self) -> int:
        """Length of the reply; 0 without one."""
        return count_words(self.text) if self.words_absent is None else self.words_absent


def field_of(items: Sequence[ItemScore], name: str) -> Iterable[Any]:
    """One field of every item; where items are held in columns, without making them."""
    column = getattr(items, "column", None)
    return column(name) if column else map(attrgetter(name), items)


WORDINGS, AGAINST_PLAIN = "score_by_perturbation", "difference, paired"
"""The key of a result's table of its score by wording, and the column that holds each against the usual one."""
Rank = tuple[int, int]
"""The best and the worst rank that a subject may have."""
Cell = str | int | float | Rank | Estimate | None
"""A value of a table. None is undefined; "" is a cell that has nothing to say."""
ColumnKind = Literal["text", "count", "number", "p", "share", "estimate", "rank", "money", "seconds", "flag"]


@dataclass(frozen=True, slots=True)
class Column:
    """One column: its name for machines, its title for readers, and what its cells are."""

    key: str
    title: str
    kind: ColumnKind = "text"
    digits: int = 2
    unit: str = ""
    """Of money: the currency."""
    note: str = ""
    """What a reader must know to understand the column; shown below the table, or on the title."""


@dataclass(frozen=True, slots=True)
class Drawing:
    """A drawing of a table. Whiskers: a column of estimates as dots with whiskers on one axis (a forest plot). Stacked:
    columns of counts as one bar a row, from worst to best. Heat: all estimates, of one kind, as a heat map."""

    kind: Literal["whiskers", "stacked", "heat"]
    columns: tuple[str, ...] = ()
    """Their titles."""


def whiskers(column: str) -> Drawing:
    return Drawing("whiskers", (column,))


def stacked(*columns: str) -> Drawing:
    return Drawing("stacked", columns)


HEAT = Drawing("heat")


@dataclass(frozen=True, slots=True, init=False)
class Table:
    """What people read: columns and rows of values. `eqlab.tables` makes text, pages and files of it.

    A column may be given by its title alone where its cells tell what they are: estimates, whole numbers, other
    numbers, yes and no, or text. What a bare number cannot tell (a p-value, a share, a rank) needs a `Column`."""

    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    note: str
    draw: tuple[Drawing, ...]
    """What is drawn beside the numbers, where there is room for it."""
    key: str
    """Its name for machines."""

    def __init__(
        self,
        title: str,
        columns: Iterable[Column | str],
        rows: Iterable[Sequence[Cell]],
        note: str = "",
        draw: Iterable[Drawing] = (),
        key: str = "",
    ) -> None:
        body = tuple(map(tuple, rows))
        heads = tuple(columns)
        for number, row in enumerate(body, start=1):
            if len(row) != len(heads):
                raise ValueError(f"table '{title}', row {number}: {len(row)} cells under {len(heads)} titles")
        named = tuple(
            head if isinstance(head, Column) else Column(_slug(head), head, _kind(head, [row[place] for row in body]))
            for place, head in enumerate(heads)
        )
        for name, value in (
            ("title", title), ("columns", named), ("rows", body), ("note", note), ("draw", tuple(draw)),
            ("key", key or _slug(title)),
        ):  # fmt: skip
            object.__setattr__(self, name, value)

    @property
    def titles(self) -> tuple[str, ...]:
        return tuple(column.title for column in self.columns)

    @property
    def heat(self) -> bool:
        """Whether it is drawn as a heat map."""
        return HEAT in self.draw

    def drawn(self, kind: str) -> tuple[str, ...]:
        """The titles of the columns that it draws in this way."""
        return next((drawing.columns for drawing in self.draw if drawing.kind == kind), ())

    def column(self, title: str) -> tuple[Cell, ...]:
        """The cells under a title."""
        place = self.titles.index(title)
        return tuple(row[place] for row in self.rows)


_P_VALUE = re.compile(r"p(?:$|[ ,(])")


def _slug(title: str) -> str:
    """A title as a name: letters, digits and low lines."""
    spelled = title.casefold().replace("%", " percent").replace("−", " minus ")
    return "_".join(re.findall(r"[^\W_]+", spelled)) or "column"


def _kind(title: str, cells: Sequence[Cell]) -> ColumnKind:
    """What all of a column's defined cells are; text where they differ. Numbers under "p" are p-values."""
    kinds = {_kind_of(cell) for cell in cells if cell is not None and cell != ""}
    if kinds <= {"count", "number"} and kinds and _P_VALUE.match(title):
        return "p"
    if len(kinds) == 1:
        return kinds.pop()
    return "number" if kinds == {"count", "number"} else "estimate" if "estimate" in kinds else "text"


def _kind_of(cell: Cell) -> ColumnKind:
    if isinstance(cell, Estimate):
        return "estimate"
    if isinstance(cell, tuple):
        return "rank"
    if isinstance(cell, bool):
        return "flag"
    if isinstance(cell, int):
        return "count"
    return "number" if isinstance(cell, float) else "text"


@dataclass(frozen=True, slots=True)
class ByEmotion:
    """One number per emotion: a column of the heat map in which subjects stand side by side."""

    measure: str
    """What the numbers are, and which way is better."""
    estimates: tuple[Estimate, ...]
    """Named by emotion."""
    people: tuple[Estimate, ...] = ()
    """The same of people, where a study has published it."""
    note: str = ""


class Utterance(msgspec.Struct, frozen=True, gc=False):
    """One turn of a talk, as a reader sees it."""

    seat: str
    text: str
    emotion: float | None = None
    """What the one who speaks felt before these words; None where nobody said."""
    feeling: str = ""
    """Why, in its own words; kept apart from what it says."""


class Transcript(msgspec.Struct, frozen=True, gc=False):
    """A whole talk, for reading."""

    item: str
    title: str
    trial: str
    repeat: int
    partner: str
    """Who had the other seat."""
    outcome: str
    end: str
    """How it ended, in words."""
    score: float | None
    """None where it counts for nothing."""
    course: tuple[float, ...]
    """The emotion at the opening and after each reply; empty where nobody told it."""
    lines: tuple[Utterance, ...]
    topics: tuple[str, ...] = ()
    listener: str = ""
    """Who is measured, where a result has the talks of several."""


@dataclass(frozen=True, slots=True)
class OfOthers:
    """What a rater's result says of those whose replies were rated."""

    title: str
    """What they were rated for."""
    detail: str
    """What the numbers are."""
    shares: tuple[tuple[str, Estimate], ...] = ()
    """By whose replies they were; empty where they have no number of their own."""
    written_by_people: str = ""
    """Which of them are replies that people wrote."""
    score_range: tuple[float, float] = (0.0, 100.0)
    above: Mapping[str, Estimate] = field(default_factory=dict)
    """By whose replies they were: the share of people's replies above which they are rated, in %."""


@dataclass(frozen=True, slots=True, repr=False)
class Result:
    """One subject on one benchmark in one run."""

    benchmark: str
    title: str
    subject: str
    rules: Mapping[str, Any]
    """Under which rules the score was made; always shown with it."""
    sentence: str
    """The conclusion in words, for the first line."""
    headline: Estimate
    score_range: tuple[float, float]
    """Lowest and highest value worth drawing; scores below are drawn at the edge and printed in full."""
    estimates: tuple[Estimate, ...] = ()
    counts: Mapping[str, int] = field(default_factory=dict)
    """Trials by status, with "planned" and "unanswered"."""
    items: Sequence[ItemScore] = ()
    item_range: tuple[float, float] = (0.0, 10.0)
    item_labels: tuple[tuple[float, str], ...] = ()
    """What each value of an item is called, where the scale has words: Bad, Okay, Good."""
    baselines: tuple[Baseline, ...] = ()
    valid: bool = True
    ranked: bool = True
    """Whether the headline tells a better subject from a worse one. A rater's does not: it is about those rated."""
    caveats: tuple[str, ...] = ()
    """What a reader must know before believing the number."""
    tables: tuple[Table, ...] = ()
    emotions: ByEmotion | None = None
    beside_people: tuple[tuple[Estimate, Estimate], ...] = ()
    """The subject's number and that of people in a published study, of the same measure."""
    usage: Usage | None = None
    """What the answers took: tokens, money, time; None for people, and where it was not looked up."""
    answered_as: Mapping[str, int] = field(default_factory=dict)
    """Replies by the model id that the server named in them; empty where none was."""
    people: Estimate | None = None
    """The headline of people in a published study; undefined, with the reason as note, if they lack what it takes."""
    noun: str = "items"
    """What its items are called, in sentences."""
    others: OfOthers | None = None
    """Set where the trials show other subjects' replies."""
    why_no_points: str = ""
    """Why its items have no points, where that is meant so: nothing can be compared item by item then."""
    proviso: str = ""
    """What the score depends on so much that it is said wherever the score stands: whose word it is."""
    transcripts: tuple[Transcript, ...] = ()
    """Where trials are turns of talks: the talks."""
    better: Better = "higher"
    norms: Norms | None = None
    """People's scores on the same form, where there are some."""
    percentile: Estimate | None = None
    """The share of these people who do worse, in %; made by the host. None without norms."""

    def __repr__(self) -> str:
        """A line: the items are in `items`."""
        return f"<Result {self.benchmark}, {self.subject}: {_brief(self.headline)}, {len(self.items)} {self.noun}>"

    def _repr_html_(self) -> str:
        """For notebooks."""
        return results_html([self])


def _brief(estimate: Estimate) -> str:
    if estimate.value is None:
        return "undefined"
    value = f"{estimate.value:.{estimate.digits}f}"
    if estimate.low is None or estimate.high is None:
        return f"{value} (no interval, n = {estimate.n})"
    return f"{value} ({estimate.low:.{estimate.digits}f} to {estimate.high:.{estimate.digits}f}, n = {estimate.n})"


def results_html(results: Iterable[Result]) -> str:
    """A table of results for notebooks; everything in it is text, escaped."""
    from html import escape  # a notebook has it anyway

    rows = "".join(
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in (
            result.subject, result.title, _brief(result.headline), "yes" if result.valid else "no", result.sentence,
        )) + "</tr>"
        for result in results
    )  # fmt: skip
    heads = "".join(
        f"<th>{head}</th>" for head in ("model", "benchmark", "score (95 % interval)", "valid", "conclusion")
    )
    return f"<table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>"


class Results(list[Result]):
    """Some results; a notebook shows them as a table."""

    def _repr_html_(self) -> str:
        return results_html(self)
