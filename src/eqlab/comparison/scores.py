"""The score table: one line a result, its columns in one list. Terminal, report, leaderboard, Markdown, CSV, JSON and
data frames all show what stands here: a new column is one more entry of `COLUMNS`."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from eqlab.analysis.intervals import FEWEST, mean_estimate
from eqlab.comparison.contender import Lost, comparable, item_means, lost_of, own_items
from eqlab.core.answers import OUTCOMES, in_words, replaced
from eqlab.core.plural import many
from eqlab.core.results import Better, Cell, Column, Estimate, Rank, Result, Table, best_baseline, field_of
from eqlab.core.runs import PEOPLE
from eqlab.core.text import ABOVE, count_of, is_number, percentile_text, usage_words, utc
from eqlab.core.usage import Usage
from eqlab.core.values import dataclass
from eqlab.tables.cells import estimate_text, interval_text
from eqlab.tables.data import records

if TYPE_CHECKING:
    from eqlab.analysis.components import Measurement

Surface = Literal["terminal", "page", "board", "file", "view"]
RANK = "Each rank range contains the model's true rank with 95 % confidence."
AT_WORST = (
    "At worst, at best: with every refused, unreadable or failed answer as the worst, or best, that its form allows. "
    "Tables are in the order of the first, which refusing cannot raise."
)
WORST = (
    "At worst: with every refused, unreadable or failed answer as the worst that its form allows. "
    "The table is in this order, which refusing cannot raise."
)
USABLE = "Usable: answers that could be read and scored, of those planned."
AS_WRONG = "Errors as wrong: with every such answer as 0 points."
SEM = "SEM: the standard error of measurement, how far a score would move against the others with other items."
USAGE = "All attempts. Cost: by the list prices of today, or as the provider said; ≥: some is unknown. Seconds: median."


@dataclass(frozen=True)
class ScoreLine:
    """A subject, people of a study or a baseline, with its score and its place."""

    name: str
    score: Estimate
    result: Result | None = None
    """None for a baseline and for people of a published study."""
    rank: Rank | None = None
    may_be_first: bool = False
    why_no_rank: str = ""
    kind: Literal["model", "people", "baseline"] = "model"
    origin: str = ""
    """Where it is from: run, submission, published."""
    source: str = ""
    id: str = ""
    participants: int | None = None
    at_equal_length: Estimate | None = None
    rank_at_equal_length: Rank | None = None
    words_per_reply: float | None = None
    """Mean length of a reply, where it is known already."""
    rank_at_worst: Rank | None = None
    at: float | None = None
    """When the run began, where that is known."""
    measured: "Measurement | None" = None
    """How well its table tells those in it apart; None with fewer than five models on the same items."""
    sem: float | None = None

    @property
    def valid(self) -> bool:
        return self.result is None or self.result.valid

    @property
    def usage(self) -> Usage | None:
        usage = self.result.usage if self.result else None
        return usage if usage is not None and usage.answers else None

    @classmethod
    def of(cls, result: Result, name: str = "", **more: Any) -> "ScoreLine":
        """A result's own line."""
        kind: Any = "people" if result.subject == PEOPLE else "model"
        return cls(name or result.subject.removeprefix("model:"), result.headline, result, kind=kind, **more)

    @cached_property
    def lost(self) -> Lost | None:
        """Answers that cannot be used, and the bounds between which the score lies whatever they would have been."""
        if self.result is None or self.kind != "model":
            return None
        return lost_of(own_items(self.result), self.result)

    @cached_property
    def words(self) -> Estimate:
        """Length of a reply, which is no merit and no fault but must be seen beside a score."""
        if self.words_per_reply is not None or self.result is None or self.kind == "people":
            return Estimate("words a reply", self.words_per_reply, 0, digits=0)
        lengths = [words for words in field_of(self.result.items, "words") if words]
        return mean_estimate("words a reply", lengths, digits=0)


@dataclass(frozen=True, slots=True)
class ScoreColumn:
    column: Column
    value: Callable[[ScoreLine], Any]
    """The value itself, as files hold it and tables are sorted by."""
    on: str
    """The surfaces that show it: t(erminal), p(age), b(oard), f(ile), v(iew)."""
    words: Callable[[ScoreLine], Cell] | None = None
    """What readers see instead, where the value alone does not say it."""
    always: bool = False
    """Whether it is shown even where it says nothing of any line."""
    matters: Callable[[ScoreLine], bool] | None = None
    """Of which lines it must be true of one for the column to be shown; None: those with a value."""

    def cell(self, line: ScoreLine) -> Cell:
        value: Cell = (self.words or self.value)(line)
        return value


def _score(line: ScoreLine) -> Cell:
    """A score, or in two words why there is none: it is a table, it may still come, or not."""
    if is_number(line.score.value):
        return line.score
    if "see the table" in line.score.note:
        return "see below"
    counts = line.result.counts if line.result else {}
    return "none yet" if counts.get("ok") or counts.get("unanswered") else "none"


def _interval(line: ScoreLine) -> str:
    if not is_number(line.score.value):
        return ""
    return "exact" if line.kind == "baseline" else interval_text(line.score)


def _words(line: ScoreLine) -> str:
    length = line.words
    if length.value is None:
        return ""
    return f"{length.value:.0f}" if length.low is None else f"{length.value:.0f} ({interval_text(length)})"


def _title(line: ScoreLine) -> str:
    if line.result is None:
        return ""
    head = line.result.headline.name
    return f"{line.result.title}: {head}" if " − " in head else line.result.title


def _count(status: str) -> Callable[[ScoreLine], int | None]:
    return lambda line: line.result.counts.get(status, 0) if line.result else None


def _n(line: ScoreLine) -> int | None:
    return None if line.kind == "baseline" else line.score.n


def _n_words(line: ScoreLine) -> Cell:
    return "" if line.kind == "baseline" else count_of(line.score) if line.score.of else line.score.n


def _usable(line: ScoreLine) -> str:
    counts = line.result.counts if line.result else {}
    return f"{counts.get('ok', 0):,} of {counts.get('planned', 0):,}"


def _counted_otherwise(line: ScoreLine) -> bool:
    """Whether n is another number than that of usable answers: of personas, prompts, people."""
    return bool(line.score.of) or line.result is None or line.score.n != line.result.counts.get("ok", 0)


def _used(name: str) -> Callable[[ScoreLine], Any]:
    return lambda line: getattr(line.usage, name) if line.usage else None


def _used_words(name: str) -> Callable[[ScoreLine], str]:
    """`unknown` where nobody said, nothing where there is nothing to say."""
    return lambda line: (
        getattr(usage_words(line.usage), name) if line.usage else "unknown" if line.kind == "model" else ""
    )


def rules_words(result: Result) -> str:
    """Under which rules the score was made, in two words."""
    mode = {"json": "structured", "form": "form"}.get(str(result.rules.get("mode")), "free text")
    mode = "form" if result.subject == PEOPLE else mode
    return ", ".join(part for part in (str(result.rules.get("name", "")), mode) if part)


def _answered_as(line: ScoreLine) -> str:
    """Which model answered, where another did than was asked, or several did."""
    result = line.result
    return in_words(result.answered_as) if result and any(replaced(result.subject, result.answered_as)) else ""


def _of_result(name: str) -> Callable[[ScoreLine], Any]:
    return lambda line: getattr(line.result, name) if line.result else None


def _bound(name: str) -> Callable[[ScoreLine], Any]:
    return lambda line: getattr(line.score, name)


def _equal(name: str) -> Callable[[ScoreLine], Any]:
    return lambda line: getattr(line.at_equal_length, name) if line.at_equal_length else None


def _equal_rank(end: int) -> Callable[[ScoreLine], int | None]:
    return lambda line: line.rank_at_equal_length[end] if line.rank_at_equal_length else None


def _bounded(name: str) -> Callable[[ScoreLine], float | None]:
    """One of the scores that count lost answers; the score itself where none is lost."""

    def value(line: ScoreLine) -> float | None:
        if line.lost is None:
            return line.score.value if line.kind == "model" else None
        return float(getattr(line.lost, name))

    return value


def _has_lost(line: ScoreLine) -> bool:
    return line.lost is not None


def _currency(line: ScoreLine) -> str | None:
    return line.usage.currency if line.usage and line.usage.cost is not None else None


def _unpriced(line: ScoreLine) -> int | None:
    return line.usage.unpriced if line.usage and line.usage.cost is not None else None


def _reliability(name: str) -> Callable[[ScoreLine], float | None]:
    return lambda line: getattr(line.measured, name).value if line.measured else None


def _floor(line: ScoreLine) -> float | None:
    floor = best_baseline(line.result.baselines, line.result.better) if line.result else None
    return floor.value if floor else None


COLUMNS: tuple[ScoreColumn, ...] = (
    ScoreColumn(Column("kind", "kind"), lambda line: line.kind, "f"),
    ScoreColumn(Column("name", "model"), lambda line: line.name, "tpbfv", always=True),
    ScoreColumn(Column("id", "id"), lambda line: line.id, "f"),
    ScoreColumn(Column("subject", "subject"), _of_result("subject"), "f"),
    ScoreColumn(Column("benchmark", "benchmark"), _of_result("benchmark"), "tf", _title),
    ScoreColumn(Column("rank", "rank", "rank", note=RANK), lambda line: line.rank, "tpbfv"),
    ScoreColumn(
        Column("may_be_first", "may be first", "flag"), lambda line: line.may_be_first if line.rank else None, "f"
    ),
    ScoreColumn(Column("measure", "measure"), lambda line: line.score.name, "f"),
    ScoreColumn(Column("score", "score", "number"), _bound("value"), "tpbfv", _score, always=True),
    ScoreColumn(Column("interval", "95 % interval"), _bound("low"), "tpbv", _interval, always=True),
    ScoreColumn(
        Column("score_at_worst", "at worst", "number", note=WORST), _bounded("at_worst"), "tpbfv", matters=_has_lost
    ),
    ScoreColumn(
        Column("rank_at_worst", "rank at worst", "rank"), lambda line: line.rank_at_worst, "tpbfv", matters=_has_lost
    ),
    ScoreColumn(
        Column("score_at_best", "at best", "number", note=AT_WORST), _bounded("at_best"), "pf", matters=_has_lost
    ),
    ScoreColumn(
        Column("score_errors_as_wrong", "errors as wrong", "number", note=AS_WRONG),
        _bounded("as_wrong"),
        "pbf",
        matters=_has_lost,
    ),
    ScoreColumn(Column("sem", "SEM", "number", note=SEM), lambda line: line.sem, "tpbfv"),
    ScoreColumn(Column("reliability", "reliability", "number"), _reliability("reliability"), "f"),
    ScoreColumn(
        Column("reliability_better_half", "reliability, better half", "number"), _reliability("better_half"), "f"
    ),
    ScoreColumn(Column("low", "low", "number"), _bound("low"), "f"),
    ScoreColumn(Column("high", "high", "number"), _bound("high"), "f"),
    ScoreColumn(Column("se", "standard error", "number"), _bound("se"), "f"),
    ScoreColumn(Column("n", "n", "count"), _n, "tpbf", _n_words, always=True),
    ScoreColumn(Column("n", "n", "count"), _n, "v", _n_words, matters=_counted_otherwise),
    ScoreColumn(
        Column("percentile", ABOVE, "number", 0, "%"),
        lambda line: line.result.percentile.value if line.result and line.result.percentile else None,
        "tpbfv",
        lambda line: percentile_text(line.result.percentile, line.result.norms) if line.result else "",
    ),
    ScoreColumn(Column("planned", "planned", "count"), _count("planned"), "f"),
    ScoreColumn(Column("usable", "usable", "count", note=USABLE), _count("ok"), "v", _usable, always=True),
    *(
        ScoreColumn(
            Column(status, status, "count"), _count(status), "tpbf" + "v" * (status != "ok"), always=status == "ok"
        )
        for status in OUTCOMES
    ),
    ScoreColumn(Column("words_per_reply", "words a reply", "number", 0), lambda line: line.words.value, "pbf", _words),
    ScoreColumn(Column("tokens_in", "tokens in", "count"), _used("tokens_in"), "bf", _used_words("tokens_in")),
    ScoreColumn(Column("tokens_out", "tokens out", "count"), _used("tokens_out"), "bf", _used_words("tokens_out")),
    ScoreColumn(Column("cost", "cost", "money"), _used("cost"), "bfv", _used_words("cost")),
    ScoreColumn(Column("currency", "currency"), _currency, "f"),
    ScoreColumn(Column("unpriced", "attempts not wholly in the cost", "count"), _unpriced, "f"),
    ScoreColumn(
        Column("seconds_per_reply", "seconds a reply", "seconds"), _used("seconds"), "bf", _used_words("seconds")
    ),
    ScoreColumn(Column("score_at_equal_length", "score at equal length", "number"), _equal("value"), "f"),
    ScoreColumn(Column("low_at_equal_length", "low at equal length", "number"), _equal("low"), "f"),
    ScoreColumn(Column("high_at_equal_length", "high at equal length", "number"), _equal("high"), "f"),
    ScoreColumn(Column("rank_best_at_equal_length", "best rank at equal length", "count"), _equal_rank(0), "f"),
    ScoreColumn(Column("rank_worst_at_equal_length", "worst rank at equal length", "count"), _equal_rank(1), "f"),
    ScoreColumn(Column("participants", "participants", "count"), lambda line: line.participants, "f"),
    ScoreColumn(
        Column("best_without_skill", "best without skill", "number"),
        _floor,
        "f",
    ),
    ScoreColumn(
        Column("valid", "valid", "flag"), lambda line: line.result.valid if line.result else None, "pf", always=True
    ),
    ScoreColumn(Column("not_ranked_because", "not ranked because"), lambda line: line.why_no_rank, "f"),
    ScoreColumn(Column("rules", "rules"), lambda line: rules_words(line.result) if line.result else "", "tf"),
    ScoreColumn(Column("answered_as", "answered as"), _answered_as, "tf"),
    ScoreColumn(Column("origin", "from"), lambda line: line.origin, "bf"),
    ScoreColumn(Column("date", "date"), lambda line: line.at, "v", lambda line: utc(line.at)[:10] if line.at else ""),
    ScoreColumn(Column("source", "source"), lambda line: line.source, "f"),
    ScoreColumn(Column("sentence", "found"), _of_result("sentence"), "f"),
)
"""In the order of their reading. `_shown` leaves out what says nothing in a table."""


def score_table(lines: Sequence[ScoreLine], surface: Surface, title: str = "", note: str = "") -> Table:
    """The lines as a reader of this surface sees them."""
    lines = measured_lines(lines)
    said = dict.fromkeys(f"{reliability_words(line.measured)} {SEM}" for line in lines if line.measured)
    note = " ".join([*([note] if note else []), *said])
    columns = _shown(lines, surface)
    rows = [[column.cell(line) for column in columns] for line in lines]
    return Table(title, [column.column for column in columns], rows, note, key="scores")


def sort_values(lines: Sequence[ScoreLine], surface: Surface) -> list[list[Any]]:
    """What a page sorts the same cells by."""
    lines = measured_lines(lines)
    columns = _shown(lines, surface)
    return [[column.value(line) for column in columns] for line in lines]


def score_records(lines: Sequence[ScoreLine]) -> list[dict[str, Any]]:
    """The values themselves, for files and data frames."""
    lines = measured_lines(lines)
    columns = [column for column in COLUMNS if "f" in column.on]
    return records(
        Table("", [column.column for column in columns], [[c.value(line) for c in columns] for line in lines])
    )


def score_types() -> dict[str, type]:
    """The types of the same records' fields."""
    found: dict[str, type] = {}
    for column in COLUMNS:
        key, kind = column.column.key, column.column.kind
        if "f" in column.on and kind == "rank":
            found |= {f"{key}_best": int, f"{key}_worst": int}
        elif "f" in column.on:
            found[key] = _TYPES.get(kind, str)
    return found


_TYPES: dict[str, type] = {"count": int, "number": float, "money": float, "seconds": float, "flag": bool}


class MeasuredLines(list[ScoreLine]):
    """Lines that know how well their table tells them apart: who needs several views of a table measures it once."""


def measured_lines(lines: Sequence[ScoreLine]) -> MeasuredLines:
    """With each line's standard error of measurement, and the reliability of the scores it stands among: models on the
    same items under the same rules, whose score is a mean over items."""
    if isinstance(lines, MeasuredLines):
        return lines
    tables: dict[tuple[str, ...], dict[int, Result]] = {}
    for place, line in enumerate(lines):
        if line.kind == "model" and line.result and line.result.ranked and line.valid:
            tables.setdefault((line.result.title, *comparable(line.result)), {})[place] = line.result
    score_lines = MeasuredLines(lines)
    for table in tables.values():
        if len(table) < FEWEST:
            continue
        points = [item_means(own_items(result)) for result in table.values()]
        measured = measure_points(points, next(iter(table.values())).better)
        for place, error in zip(table, measured.errors if measured else (), strict=bool(measured)):
            score_lines[place] = replace(lines[place], measured=measured, sem=error)
    return score_lines


def measure_points(points: Sequence[Mapping[str, float]], better: Better) -> "Measurement | None":
    """By subject, its points by item; None with fewer than five of either."""
    if len(points) < FEWEST or not any(points):
        return None
    import numpy as np

    from eqlab.analysis.components import measure

    items = list(dict.fromkeys(item for point in points for item in point))
    table = np.array([[point.get(item, np.nan) for item in items] for point in points], dtype=float)
    return measure(table if better == "higher" else -table)


def reliability_words(found: "Measurement") -> str:
    """One sentence: of all, and of the better half."""
    whole, half = found.reliability, found.better_half
    said = f"Reliability of {whole.n} scores over {many(found.items, 'item')}: {estimate_text(whole)}"
    if half.value is not None:
        said += f"; among the better half, chosen by other items: {estimate_text(half)}"
    return f"{said}."


def usage_table(lines: Sequence[ScoreLine]) -> Table | None:
    """What the answers took, a line a model; None where nothing is known of any."""
    if not any(line.usage for line in lines):
        return None
    several = len({_title(line) for line in lines}) > 1
    rows: list[list[Cell]] = []
    for line in lines:
        if line.kind != "model":
            continue
        words = usage_words(line.usage) if line.usage else None
        taken: list[Cell] = (
            [line.usage.answers, words.tokens_in, words.tokens_out, words.cost, words.seconds]
            if (line.usage and words)
            else ["unknown"] * 5
        )
        rows.append([line.name, *([_title(line)] if several else []), *taken])
    columns = [
        Column("name", "model"),
        *([Column("benchmark", "benchmark")] if several else []),
        Column("answers", "answers", "count"),
        Column("tokens_in", "tokens in", "count"),
        Column("tokens_out", "tokens out", "count"),
        Column("cost", "cost", "money"),
        Column("seconds_per_reply", "seconds a reply", "seconds"),
    ]
    return Table("Usage and cost", columns, rows, USAGE, key="usage")


def _shown(lines: Sequence[ScoreLine], surface: Surface) -> list[ScoreColumn]:
    """Without columns that say nothing: statuses that nobody has, rules where all have one kind, ranks without any."""
    return [
        column for column in COLUMNS if surface[0] in column.on and (column.always or _says_something(column, lines))
    ]


def _says_something(column: ScoreColumn, lines: Sequence[ScoreLine]) -> bool:
    if column.matters is not None and not any(map(column.matters, lines)):
        return False
    values = [column.value(line) for line in lines]
    if column.column.key == "rules":
        kinds: dict[str, set[Any]] = {}
        for line, value in zip(lines, values, strict=True):
            kinds.setdefault(_title(line), set()).add(value)
        return any(len(kind) > 1 for kind in kinds.values())
    return any(value not in (None, "", 0) for value in values)
