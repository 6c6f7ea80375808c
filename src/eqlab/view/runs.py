"""Runs: who scores what, with intervals, ranks and the answer that takes no skill; one run as it goes; one result in
full. The question first: which model is best, and is that certain?"""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from urllib.parse import urlencode

from markupsafe import Markup, escape
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from eqlab.comparison.contender import subject_name
from eqlab.comparison.scores import RANK, score_table, usage_table
from eqlab.core.answers import OUTCOMES, STATUSES
from eqlab.core.plural import many
from eqlab.core.results import Better, Column, ItemScore, Result, Table, goodness
from eqlab.core.text import short, utc
from eqlab.core.values import dataclass
from eqlab.publish.components import EXTREMES, extremes, in_points, score_rows, whisker_of
from eqlab.publish.groups import Group, Row, RunRecord, group_of
from eqlab.publish.report.opening import Opening, opening_among
from eqlab.publish.sections import heat_of, meaning_of
from eqlab.runs.context import Known
from eqlab.runs.pool import together
from eqlab.runs.score import result_of
from eqlab.store.reader import Reader
from eqlab.tables.html import RowMarks, html_table
from eqlab.tables.svg import HeatMap
from eqlab.view.shelf import HeldRun, Snapshot
from eqlab.view.site import ViewSite, address, asked, asked_number, kept, must, site_of

ROWS = 60
"""Rows of all tables together on the first page; each has at least LEAST, and a link to all of its own."""
LEAST = 8
MOST_RUNS = 50
LATEST = 12
ITEMS = 100
RATE = 60.0
"""Seconds over which the rate of a run under way is counted."""
SETTLE = 0.3
"""Seconds that a page waits for scores before it is shown without some: they come while it is looked at."""


@dataclass(frozen=True, slots=True)
class ScreenTable:
    """A table of results as the first page shows it."""

    number: int
    group: Group
    benchmark: str
    html: Markup
    shown: int
    total: int
    """Rows that fit what was searched for."""
    meaning: str
    """What is asked, and what the score means."""
    notes: tuple[str, ...]
    """What a reader must know of its columns."""
    opening: Opening
    """Its conclusion, and its picture among published models where they answered the same questions."""


def runs(request: Request) -> Response:
    site = site_of(request)
    snapshot = site.shelf.settle(SETTLE)
    query, benchmark, only = asked(request, "q"), asked(request, "b"), asked(request, "table")
    benchmarks = sorted({group.rows[0].result.benchmark for group in snapshot.groups})
    wanted = [
        (number, group)
        for number, group in enumerate(snapshot.groups, start=1)
        if benchmark in ("", group.rows[0].result.benchmark) and only in ("", str(number))
    ]
    most = ROWS if only else max(LEAST, ROWS // max(1, len(wanted)))
    tables = [
        _table(site, snapshot, number, group, query, most, asked_number(request, "page") if only else 1)
        for number, group in wanted
    ]
    listed = [one for one in snapshot.runs if fits(query, _run_words(one)) and _asks(one, benchmark)]
    return site.page(
        request, "runs", snapshot=snapshot, tables=[table for table in tables if table.total or not query],
        runs=_run_table(listed[:MOST_RUNS]), listed=len(listed), most_runs=MOST_RUNS, query=query, benchmark=benchmark,
        benchmarks=benchmarks, only=only, going=[one for one in snapshot.runs if is_going(site, one)], live=True,
        state=kept(request), page_number=asked_number(request, "page"), rows=ROWS,
    )  # fmt: skip


def is_going(site: ViewSite, held_run: HeldRun) -> bool:
    """Whether answers may still come: it is not complete, and some came within the last minutes."""
    if may_stop(site, held_run.id):
        return True
    return (
        not held_run.finished
        and bool(held_run.stored.config.models)
        and time.time() - site.shelf.moved(held_run.id) < 10 * RATE
    )


def _table(
    site: ViewSite, snapshot: Snapshot, number: int, one: Group, query: str, most: int, page: int
) -> ScreenTable:
    chosen = [
        place for place, row in enumerate(one.rows) if fits(query, f"{row.name} {row.record.config.id} {one.title}")
    ]
    first = (page - 1) * most
    shown = chosen[first : first + most]
    rows, lines = [one.rows[place] for place in shown], [one.lines[place] for place in shown]
    benchmark = one.rows[0].result.benchmark
    html = Markup("")
    if rows:
        caption = Markup("<strong>{}</strong>").format(one.title)
        html = score_rows(lines, "view", one.scale, [_marks(site, one, row) for row in rows], caption)
    opening = opening_among(one, snapshot.ladders[number - 1], snapshot.groups, linked=False)
    notes = tuple(column.note for column in score_table(lines, "view").columns if column.note not in ("", RANK))
    return ScreenTable(
        number, one, benchmark, html, len(shown), len(chosen), meaning_of(one.rows[0].result), notes, opening
    )


def _marks(site: ViewSite, group: Group, row: Row) -> RowMarks:
    result, config = row.result, row.record.config
    pick = site.shelf.pick(config.id, result.subject, result.benchmark)
    words = escape(f"Choose {row.name} for a comparison")
    return RowMarks(
        href=result_address(config.id, result),
        flag="" if result.valid else "not valid",
        quiet=_remark(group, row),
        drawing=whisker_of(group, row),
        before=Markup(f'<input type="checkbox" name="s" value="{escape(pick)}" aria-label="{words}"> '),
        key=f"{config.id} {result.subject}",
    )


def _remark(group: Group, row: Row) -> str:
    """Which number it is where rows are no ladder: of a judge the difference, or the highest share, that it found."""
    if not any(other.result.ranked for other in group.rows):
        return row.result.headline.name
    return "" if row.rank or len(group.rows) == 1 else "people" if row.people else "no rank"


def result_address(run: str, result: Result) -> str:
    return address("/result", run=run, subject=result.subject, b=result.benchmark)


def fits(query: str, words: str) -> bool:
    return all(part in words.casefold() for part in query.casefold().split())


def _run_words(held_run: HeldRun) -> str:
    config = held_run.stored.config
    names = " ".join([*(model.spec for model in config.models), *(benchmark.name for benchmark in config.benchmarks)])
    return f"{held_run.id} {names} {' '.join(model.label for model in config.models)}"


def _asks(held_run: HeldRun, benchmark: str) -> bool:
    return not benchmark or any(config.name == benchmark for config in held_run.stored.config.benchmarks)


def _run_table(listed: Sequence[HeldRun]) -> Markup:
    rows = [
        (
            held_run.id,
            utc(held_run.stored.created_at)[:16].replace("T", " "),
            short(", ".join(model.spec for model in held_run.stored.config.models) or "people", 80),
            ", ".join(f"{config.name} ({config.item_set})" for config in held_run.stored.config.benchmarks),
            f"{held_run.answered:,} of {held_run.planned:,}",
            held_run.why or (f"{held_run.left} not scored yet" if held_run.left else ""),
        )
        for held_run in listed
    ]
    columns = ("run", "started, UTC", "models", "benchmarks", Column("answered", "answered", "number"), "remark")
    return html_table(Table("Runs", columns, rows), lambda run: f"/run/{run}", labelled=True) if rows else Markup("")


# -- one run -----------------------------------------------------------------------------------------------------------


def run(request: Request) -> Response:
    site = site_of(request)
    snapshot = site.shelf.settle(SETTLE)
    name = request.path_params["run"]
    if name in site.started and snapshot.run(name) is None:
        return site.page(request, "starting", run=name, started=site.started[name], live=True)
    one: HeldRun = must(snapshot.run(name), "No run of this store has this id.")
    record = record_of(one)
    rows = [(table, row) for table in snapshot.groups for row in table.rows if row.record.config.id == one.id]
    usage = usage_table([row.line for _, row in rows if row.result.usage])
    people = bool(one.why) or not one.stored.config.models
    with site.store() as store:
        now = time.time()
        came = 0 if people or one.finished else store.arrived(one.id, now - RATE)
        failures = [] if people else store.failures(one.id)
        latest = [] if people else store.latest(one.id, LATEST)
    return site.page(
        request, "run", one=one, record=record, rows=rows, usage=usage, came=came, rate=RATE, live=not one.finished,
        failures=_failures(failures), latest=latest, going=is_going(site, one), left_minutes=_left(one, came),
        subject_name=subject_name, may_stop=may_stop(site, one.id),
        started=site.started.get(one.id),
    )  # fmt: skip


def may_stop(site: ViewSite, run: str) -> bool:
    """Whether this process can end it: a run of its own, or one that was started from a page."""
    started = site.started.get(run)
    return (site.stop is not None and site.stop[0] == run) or (started is not None and started.going)


def _left(held_run: HeldRun, came: int) -> float | None:
    """Minutes, if it goes on as in the last one; None where nothing came."""
    return (held_run.planned - held_run.answered) / came * RATE / 60 if came else None


def _failures(found: Sequence[tuple[str, str, str, int]]) -> Table | None:
    rows = [(subject_name(subject), status, short(note, 200), count) for subject, status, note, count in found]
    return Table("What failed", (Column("who", "model"), "status", "why", "attempts"), rows) if rows else None


def record_of(held_run: HeldRun) -> RunRecord:
    return RunRecord(held_run.stored.config, held_run.stored.created_at, held_run.stored.provenance, held_run.results)


# -- one result --------------------------------------------------------------------------------------------------------


def result(request: Request) -> Response:
    """Everything the report says of a subject, and its items to look into."""
    site = site_of(request)
    snapshot = site.shelf.settle(SETTLE)
    held_run: HeldRun = must(snapshot.run(asked(request, "run")), "No run of this store has this id.")
    subject, benchmark = asked(request, "subject"), asked(request, "b")
    with site.store() as store:
        full: Result = must(full_result(site, store, held_run, subject, benchmark), "This run has no such result.")
    table, row = _placed(snapshot, held_run, full)
    status, topic = asked(request, "status"), asked(request, "topic")
    chosen = [
        item
        for item in in_points(full).items
        if status in ("", item.status or "unanswered") and (not topic or topic in item.topics)
    ]
    chosen.sort(key=worst_first(full.better))
    page = asked_number(request, "page")
    items = chosen[(page - 1) * ITEMS : page * ITEMS]
    return site.page(
        request, "result", one=held_run, row=row, group=table, items=items, total=len(chosen), page_number=page,
        pages=-(-len(chosen) // ITEMS), status=status, topic=topic, outcomes=OUTCOMES,
        topics=sorted({topic for item in full.items for topic in item.topics}),
        meaning=meaning_of(full), failing=_failing(full), by_emotion=_by_emotion(table, row),
        topic_links=TopicLinks(result_address(held_run.id, full)),
        state=kept(request, "page"), filters=kept(request, "status", "topic", "page"),
        hrefs=lambda items: [
            address("/item", run=held_run.id, b=benchmark, trial=item.trial, of=full.subject) for item in items
        ],
    )  # fmt: skip


def worst_first(better: Better) -> Callable[[ItemScore], tuple[int, float]]:
    """Answers that could not be used, then those with a score, worst first, then what nobody has scored."""

    def place(item: ItemScore) -> tuple[int, float]:
        if item.score is not None:
            return 1, goodness(item.score, better)
        return (0 if item.status in STATUSES[1:] else 2), 0.0

    return place


def _failing(full: Result) -> list[tuple[str, Sequence[ItemScore]]]:
    """What could not be used, and the worst of what was scored, a few of each."""
    ordered = sorted(in_points(full).items, key=worst_first(full.better))
    lost = [item for item in ordered if item.status in STATUSES[1:] and item.score is None]
    scored = [item for item in ordered if item.score is not None] if full.ranked else []
    said = f"{many(len(lost), 'answer')} of {len(ordered)} could not be used"
    return [(said, lost[:EXTREMES]), ("Worst items", extremes(scored)[0])]


def _by_emotion(table: Group, row: Row) -> HeatMap | None:
    """The emotions of one result, those with the largest numbers first."""
    if row.result.emotions is None:
        return None
    ordered = sorted(row.result.emotions.estimates, key=lambda estimate: -abs(estimate.value or 0.0))
    emotions = replace(row.result.emotions, estimates=tuple(ordered))
    return heat_of(replace(table, rows=(replace(row, result=replace(row.result, emotions=emotions)),)))


@dataclass(frozen=True, slots=True)
class TopicLinks:
    """From an emotion to a result's items about it."""

    folder: str
    """The address of the result."""

    def topic(self, anchor: str, topic: str) -> str:
        return f"{self.folder}&{urlencode({'topic': topic})}#items" if anchor else ""


def full_result(site: ViewSite, store: Reader, held_run: HeldRun, subject: str, benchmark: str) -> Result | None:
    """A result with its texts, scored now; seeds that the tables take together are taken together here, too."""
    found = [pair for pair in held_run.stored.config.pairs() if (pair[0], pair[1].name) == (subject, benchmark)]
    if not found:
        return None
    asked_for = found[0][1]
    runs = site.shelf.seeds(held_run.id, subject, benchmark)
    if len(runs) > 1:
        model = next(model for model in held_run.stored.config.models if model.subject == subject)
        return together(store, runs, subject, asked_for, model)
    return result_of(Known(store), (held_run.stored, subject, asked_for))


def _placed(snapshot: Snapshot, held_run: HeldRun, full: Result) -> tuple[Group, Row]:
    """The result in its table, with its rank there; in one of its own where it is in none yet."""
    for table in snapshot.groups:
        for row in table.rows:
            if (row.record.config.id, row.result.subject, row.result.benchmark) == (
                held_run.id,
                full.subject,
                full.benchmark,
            ):
                return table, replace(row, result=full, anchor="subject")
    table = group_of([(record_of(held_run), full)])
    return table, replace(table.rows[0], anchor="subject")


ROUTES = [Route("/", runs), Route("/run/{run}", run), Route("/result", result)]
