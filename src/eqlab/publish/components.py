"""The components that report, leaderboard and `eqlab view` share: one set of templates and styles (`templates/`), what
they call by name, and how much of a thing a page shows."""

import base64
import hashlib
import shlex
import sys
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache
from itertools import islice, starmap
from math import isclose, isfinite
from pathlib import Path
from statistics import median
from typing import Any, TypeVar

from jinja2 import Environment, FileSystemBytecodeCache, PackageLoader, StrictUndefined
from jinja2.bccache import Bucket
from markupsafe import Markup, escape

from eqlab.comparison.contender import mode_name, subject_name
from eqlab.comparison.disagreement import against_reference
from eqlab.comparison.scores import ScoreLine, Surface, measured_lines, score_table, sort_values, usage_table
from eqlab.core import text
from eqlab.core.answers import in_words
from eqlab.core.environment import version_of
from eqlab.core.item_columns import ItemColumns
from eqlab.core.results import Column, Result, Table, field_of
from eqlab.core.runs import PEOPLE
from eqlab.publish import sections
from eqlab.publish.groups import Group, Row
from eqlab.tables import forest
from eqlab.tables import svg as figures
from eqlab.tables.cells import rank_text
from eqlab.tables.html import RowMarks, html_table, sortable_table

T = TypeVar("T")
MAX_ROWS = 100
"""Items in the page's full table of one subject."""
MAX_ALL_ROWS = 3000
"""The same of all subjects together; each still has MIN_ROWS."""
MIN_ROWS = 10
EXTREMES = 5
FAILURES = 3
CLIP = 600
MOST_SHOWN = 1500
"""Characters of what the subject was shown, before a reader asks for the rest."""
MOST_TEXT = 10_000
"""Characters of one reply in the page, opened or not, so that no page grows without bound."""


def item_rows(results: int) -> int:
    """Items in each full table of a page with so many results: a page that is mailed must not grow without bound."""
    return min(MAX_ROWS, max(MIN_ROWS, MAX_ALL_ROWS // max(1, results)))


def in_points(result: Result) -> Result:
    """With its items in the unit of the headline, where that is ten times theirs: on a page an item has one unit."""
    if not _in_tenths(result):
        return result
    items = ItemColumns.of(result.items).scored_as(list(field_of(result.items, "points")))
    low, high = result.item_range
    return replace(result, items=items, item_range=(10 * low, 10 * high))


def _in_tenths(result: Result) -> bool:
    pairs = zip(field_of(result.items, "score"), field_of(result.items, "points"), strict=True)
    scored = [(score, points) for score, points in pairs if score is not None and isfinite(score)]
    return any(score for score, _ in scored) and all(starmap(_tenfold, scored))


def _tenfold(score: float, points: float | None) -> bool:
    return points is not None and isclose(points, 10 * score, abs_tol=1e-9)


def scored_places(result: Result) -> list[int]:
    """The places of the items with a score, lowest first."""
    return _by_value(list(field_of(result.items, "score")))


def _by_value(scores: Sequence[Any]) -> list[int]:
    return sorted((place for place, score in enumerate(scores) if text.is_number(score)), key=scores.__getitem__)


def scores_at(result: Result, places: Sequence[int]) -> list[float]:
    scores = list(field_of(result.items, "score"))
    return [scores[place] for place in places]


def extremes(ordered: Sequence[T]) -> tuple[Sequence[T], Sequence[T]]:
    """The worst and the best of items in order, each at most five, none in both."""
    worst = min(EXTREMES, (len(ordered) + 1) // 2)
    best = min(EXTREMES, len(ordered) // 2)
    return ordered[:worst], ordered[::-1][:best]


def shared_caveats(group: Group) -> tuple[str, ...]:
    """What holds for every row of a table of several: said once, under it."""
    own = [row.result.caveats for row in group.rows]
    return tuple(caveat for caveat in own[0] if all(caveat in other for other in own)) if len(own) > 1 else ()


def score_rows(
    lines: Sequence[ScoreLine], surface: Surface, scale: figures.Range, marks: Sequence[RowMarks], caption: str = ""
) -> Markup:  # fmt: skip
    """The one table of scores, sortable, with whiskers; `marks`: what a page shows of each row beside its cells."""
    lines = measured_lines(lines)
    valued = [replace(mark, values=value) for mark, value in zip(marks, sort_values(lines, surface), strict=True)]
    return sortable_table(
        score_table(lines, surface), valued, axis=figures.axis(scale), after="interval", caption=Markup(caption)
    )


def whisker_of(group: Group, row: Row) -> Markup:
    return figures.whisker(row.name, row.result.headline, group.scale, row.baselines, row.result.valid)


def group_table(group: Group, caption: str, once: Sequence[str], shared: Sequence[str]) -> Markup:
    """The score table of a group; caveats that were told already are left out."""
    told = {*once, *shared}
    marks = [
        RowMarks(
            href=f"#{row.anchor}",
            drawing=whisker_of(group, row),
            caveats=[caveat for caveat in row.result.caveats if caveat not in told],
        )
        for row in group.rows
    ]
    return score_rows(group.lines, "page", group.scale, marks, caption)


def took_table(group: Group) -> Table | None:
    return usage_table([row.line for row in group.rows])


def estimates_table(result: Result) -> Table:
    """The estimates beside the headline; without a column of standard errors, or of notes, where nothing has one."""
    some = result.estimates
    errors, noted = any(text.is_number(one.se) for one in some), any(one.note for one in some)
    rows = [
        (
            one.name,
            text.value_of(one),
            text.interval_of(one),
            *(((text.number(one.se, one.digits) if text.is_number(one.se) else ""),) if errors else ()),
            text.count_of(one),
            *((one.note,) if noted else ()),
        )
        for one in some
    ]
    columns = [
        Column("estimate", "Estimate"),
        Column("value", "Value", "number"),
        Column("interval", "95 % interval", "number"),
        *([Column("se", "SE", "number")] if errors else []),
        Column("n", "n", "count"),
        *([Column("note", "Note")] if noted else []),
    ]
    lacking = errors and not all(text.is_number(one.se) for one in some)
    note = "Without SE: a single number, or an interval that is not symmetric." if lacking else ""
    return Table("Other estimates", columns, rows, note)


def failures(result: Result) -> list[int]:
    """The places of the first items with a reply and without a score: what to look at when a run is not valid."""
    said = zip(field_of(result.items, "text"), field_of(result.items, "score"), strict=True)
    found = (place for place, (words, score) in enumerate(said) if words and not text.is_number(score))
    return list(islice(found, FAILURES))


def level_of(values: Mapping[str, Any], key: str, far: Collection[str] = (), most: int = 200) -> Markup:
    """One value of an answer or a reference; marked where it is `far` off."""
    if key not in values:
        return Markup("none")
    shown = escape(text.visible(text.short(text.level(values[key]), most)))
    return Markup(f"<mark>{shown}</mark>") if key in far else shown


def levels_line(values: Mapping[str, Any], keys: Sequence[str], far: Collection[str] = ()) -> Markup:
    """An answer or a reference in a line."""
    named = (f"{escape(text.visible(text.short(key, 40)))} {level_of(values, key, far, 80)}" for key in keys)
    return Markup(", ".join(named))


_SILENT = 100
"""Items without a score and without a word that are looked at for one that has blanks to show."""


def items_shown(results: int, result: Result) -> list[int] | None:
    """The places of the items whose words a page of so many results may show, where these are all that it shows of
    words; None: it shows more."""
    if result.transcripts or result.others or result.subject == PEOPLE:
        return None
    found, silent, unscored = 0, 0, []
    answered = zip(field_of(result.items, "score"), field_of(result.items, "status"), strict=True)
    for place, (score, status) in enumerate(answered):
        if text.is_number(score) or status is None:
            continue
        unscored.append(place)
        said = bool(result.items[place].words)  # its text may be blanks
        found, silent = found + said, silent + (not said)
        if found == FAILURES:
            break
        if silent > _SILENT:
            return None
    worst, best = extremes(_by_value(list(field_of(result.items, "points" if _in_tenths(result) else "score"))))
    first = range(min(item_rows(results), len(result.items)))
    return list(dict.fromkeys((*first, *unscored, *worst, *best)))


def spread(scores: Sequence[float], items: int) -> str:
    """The distribution of the scores, lowest first, of so many items in words."""
    missing = items - len(scores)
    tail = f"; {missing} without a score" if missing else ""
    if not scores:
        return f"No item has a score{tail}."
    low, middle, high = (text.number(value) for value in (scores[0], median(scores), scores[-1]))
    return f"n = {len(scores)} scored{tail}. Lowest {low}, median {middle}, highest {high}."


# How templates become pages: escaped, made visible, and with a policy that admits our own style and script only.
@cache
def page_environment() -> Environment:
    """Undefined names are errors, everything printed is escaped."""
    made = Environment(
        loader=PackageLoader("eqlab.publish", "templates"),
        undefined=StrictUndefined,
        autoescape=True,
        finalize=_shown,
        trim_blocks=True,
        lstrip_blocks=True,
        bytecode_cache=_Compiled(),
        auto_reload=False,
    )
    for called in (
        estimates_table, extremes, failures, in_points, level_of, levels_line,
        group_table, took_table, spread, shared_caveats, scored_places, scores_at,
        mode_name, subject_name, html_table, against_reference, rank_text, sections.heat_of, sections.apart_of,
        sections.no_links, sections.length_of, figures.course, figures.mark,
    ):  # fmt: skip
        made.globals[called.__name__] = called
    made.globals.update(
        text=text, figures=figures, draw=forest.inline, answered_as=in_words, shell_word=shlex.quote, CLIP=CLIP,
        MOST_SHOWN=MOST_SHOWN, MAX_ROWS=MAX_ROWS, MOST_TEXT=MOST_TEXT,
    )  # fmt: skip
    made.tests["search"] = lambda value, part: part in value
    return made


class _Compiled(FileSystemBytecodeCache):
    """Templates as they were compiled before, beside them, as Python keeps modules: compiling those of a report takes
    longer than all its numbers. Nobody can change these files who could not change the program. A template that has
    changed is compiled anew."""

    def __init__(self) -> None:
        super().__init__(str(Path(__file__).parent / "templates" / "__pycache__"), f"%s.jinja-{version_of('jinja2')}")

    def dump_bytecode(self, bucket: Bucket) -> None:
        if not sys.dont_write_bytecode:
            with suppress(OSError):  # a folder that may not be written keeps nothing
                Path(self.directory).mkdir(exist_ok=True)
                super().dump_bytecode(bucket)


def source(environment: Environment, name: str) -> str:
    """A style sheet or script as it is; templates of our own, never a user's text."""
    if environment.loader is None:
        raise LookupError(f"no loader for {name}")
    return environment.loader.get_source(environment, name)[0]


@cache
def inlined(styles: tuple[str, ...], scripts: tuple[str, ...] = ()) -> Mapping[str, Any]:
    """What the frame of a page that loads nothing is given: style, script, and the policy that admits only these."""
    made = page_environment()
    style, script = ("".join(source(made, name) for name in own) for own in (styles, scripts))
    return {"style": Markup(style), "script": Markup(script), "policy": policy(style, *([script] if script else []))}


def page_bytes(name: str, /, **values: Any) -> bytes:
    return page_environment().get_template(name).render(**values).encode("utf-8", "replace")


def policy(style: str, *scripts: str) -> str:
    """A content security policy: these inline texts, and nothing from anywhere."""
    allowed = " ".join(f"'{_digest(script)}'" for script in scripts) or "'none'"
    return (
        f"default-src 'none'; style-src '{_digest(style)}'; script-src {allowed}; base-uri 'none'; form-action 'none'"
    )


def _digest(inline: str) -> str:
    """Lets the policy admit exactly this inline text and no other."""
    return "sha256-" + base64.b64encode(hashlib.sha256(inline.encode()).digest()).decode()


def _shown(value: Any) -> Any:
    """Applied to everything a template prints, before escaping."""
    if isinstance(value, Markup):
        return value
    return text.UNDEFINED if value is None else text.visible(str(value))
