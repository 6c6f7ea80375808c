"""The pages and files of the site, one after the other, each made when it is asked for: nothing is written here."""

import io
import json
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from hashlib import sha256
from itertools import islice
from typing import Any
from urllib.parse import quote

import msgspec
import numpy as np
from markupsafe import Markup, escape

from eqlab.analysis.comparison import DIFFER
from eqlab.analysis.intervals import FEWEST
from eqlab.analysis.special import stdtrit
from eqlab.comparison.contender import Lost
from eqlab.comparison.scores import score_records, score_table, score_types, sort_values
from eqlab.comparison.verdict import Pair
from eqlab.core import text
from eqlab.core.results import Estimate, ItemScore, Table, as_dict, field_of
from eqlab.core.runs import PERSON
from eqlab.core.values import dataclass
from eqlab.data.figures import published_figures
from eqlab.publish.components import in_points, inlined, page_bytes
from eqlab.publish.groups import Row, group_of
from eqlab.publish.ladder import asked_published, ladder
from eqlab.publish.leaderboard.entries import BoardEntry, without_texts
from eqlab.publish.leaderboard.tables import Board, BoardLine
from eqlab.publish.report.opening import Opening, opening_among
from eqlab.publish.report.talk_pages import INDEX, Home, Listened, reader_files
from eqlab.publish.sections import ItemPage
from eqlab.publish.sections import pages as item_pages
from eqlab.tables import svg as figures
from eqlab.tables.cells import rank_text
from eqlab.tables.data import csv_bytes
from eqlab.tables.html import RowMarks, sortable_table

MOST_CHANGES = 50
WHOLE = 64
"""Rows of all tables together up to which the front page, which stays below 150 kB, has them all."""
FRONT_ROWS, _FEWEST_ROWS = 50, 10
"""Rows there of more, of all tables together and of each; pages of their own have them all."""
COMPARED = 500
"""Rows of all tables together up to which the page that compares two has them all; of more, the best of each table."""
TALKS = "talks"
"""The folder of talks to read."""
_NEAR = 3


# What is new since the last build: read from the JSON that it left in the folder.
@dataclass(frozen=True)
class BoardChange:
    table: str
    name: str
    what: str
    """new, gone, score, rank."""
    before: str
    after: str


def snapshot(boards: Sequence[Board]) -> list[dict[str, Any]]:
    """What the next build needs to know of this one."""
    return [
        {
            "key": board.key,
            "title": board.label,
            "rows": [
                {
                    "id": entry.id,
                    "name": line.name,
                    "score": line.estimate.value,
                    "digits": line.estimate.digits,
                    "rank": list(line.rank) if line.rank else None,
                }
                for line, entry in board.entered
            ],
        }
        for board in boards
    ]


def changes(before: Sequence[Mapping[str, Any]], now: Sequence[Mapping[str, Any]]) -> list[BoardChange]:
    known = {table["key"]: table for table in before}
    board_changes: list[BoardChange] = []
    for table in now:
        old = known.pop(table["key"], None)
        board_changes += _of_table(table, old["rows"] if old else [], table["rows"])
    for table in known.values():
        board_changes += _of_table(table, table["rows"], [])
    return board_changes


def _of_table(
    table: Mapping[str, Any], before: Sequence[Mapping[str, Any]], now: Sequence[Mapping[str, Any]]
) -> Iterator[BoardChange]:
    title = str(table["title"])
    old = {row["id"]: row for row in before}
    for row in now:
        name = str(row["name"])
        was = old.pop(row["id"], None)
        if was is None:
            yield BoardChange(title, name, "new", "", _score(row))
            continue
        if _score(was) != _score(row):
            yield BoardChange(title, name, "score", _score(was), _score(row))
        if was["rank"] != row["rank"]:
            yield BoardChange(title, name, "rank", rank_text(was["rank"]), rank_text(row["rank"]))
    for row in old.values():
        yield BoardChange(title, str(row["name"]), "gone", _score(row), "")


def _score(row: Mapping[str, Any]) -> str:
    return text.number(row["score"], row["digits"])


@dataclass(frozen=True)
class BoardSite:
    boards: Sequence[Board]
    changed: Sequence[BoardChange]
    before: float | None
    """When the last build was made; None for the first."""
    refused: Sequence[tuple[str, str]]
    generated_at: float
    version: str
    code: str = ""
    """A hash of the program, if pages of the last build may be kept."""

    @cached_property
    def compared(self) -> frozenset[str]:
        """Entries on the page that compares two: all, or where that page would grow too large the best."""
        most = COMPARED
        if sum(len(board.entered) for board in self.boards) > COMPARED:
            most = max(_FEWEST_ROWS, COMPARED // len(self.boards))
        return frozenset(entry.id for board in self.boards for _, entry in board.entered[:most])

    @cached_property
    def _entries(self) -> dict[str, str]:
        return {}

    def of(self, entry: BoardEntry) -> str:
        """An entry, as a hash."""
        if entry.id not in self._entries:
            self._entries[entry.id] = self.digest(entry, entry.words)
        return self._entries[entry.id]

    def digest(self, *inputs: Any) -> str:
        """What a page is made from, with the program that makes it, as a hash; empty where there is none."""
        made = sha256(self.code.encode())
        try:
            made.update(msgspec.msgpack.encode(inputs, enc_hook=_plain, order="deterministic"))
        except (TypeError, NotImplementedError, ValueError, OverflowError):  # what a run of elsewhere may hold
            return ""
        return made.hexdigest()[:32] if self.code else ""

    @property
    def few_compared(self) -> list[tuple[Board, int]]:
        """The tables of which not all are there, each with how many are."""
        found = ((board, sum(entry.id in self.compared for _, entry in board.entered)) for board in self.boards)
        return [(board, count) for board, count in found if count < len(board.entered)]


@dataclass(frozen=True, slots=True)
class SiteFile:
    name: str
    parts: Callable[[], Iterable[bytes]]
    """Its content, made when this is called."""
    key: str = ""
    """What it is made from, as a hash: a file whose key has not changed need not be made again. Empty: always made."""


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, Sequence):  # items in columns
        return tuple(value)
    raise TypeError(f"a page cannot be known by a {type(value).__name__}")


def site_files(site: BoardSite) -> Iterator[tuple[str, bytes]]:
    """(path, content) of everything but `board.json`."""
    return ((file.name, b"".join(file.parts())) for file in site_parts(site))


def site_parts(site: BoardSite) -> Iterator[SiteFile]:
    """Everything but `board.json`; the front page comes last, so that it never leads to what is not there yet."""
    for board in site.boards:
        yield from _board_files(board)
        for line, entry in board.entered:
            if not entry.arm:
                yield from _entry_files(site, board, line, without_texts(entry))
    home = Home("Leaderboard", "../index.html", site.generated_at, site.version)
    for name, content in reader_files(talks_of(site), home):
        yield SiteFile(f"{TALKS}/{name}", lambda content=content: [content])  # type: ignore[misc]
    changed = [as_dict(change) for change in site.changed]
    yield from _table_parts("data/changes", changed, CHANGES)
    yield SiteFile("compare.html", lambda: [_compare(site)])
    most = _front_rows(site.boards)
    scores = partial(board_scores, {board.key: board_rows(board) for board in site.boards})
    large = [board for board in site.boards if len(board.lines) > most]
    split = {board.key: item_pages(f"table-{board.key}", len(board.lines)) for board in large}
    for board in large:
        for page in split[board.key]:
            about = {"board": board, "page": page, "pages": split[board.key], "board_scores": scores}
            yield SiteFile(page.href, partial(_page, site, "board_page.html.j2", **about))
    counted = Counter(entry.origin for board in site.boards for _, entry in board.entered)
    origins = ", ".join(f"{count} × {origin}" for origin, count in sorted(counted.items())) or "nothing"
    yield SiteFile(
        "index.html",
        partial(
            _page,
            site,
            "board.html.j2",
            boards=site.boards,
            board_scores=scores,
            most=most,
            split=split,
            among={board.key: among_published(board) for board in site.boards},
            MOST_CHANGES=MOST_CHANGES,
            changed=site.changed,
            before=site.before,
            refused=site.refused,
            origins=origins,
            few_compared=site.few_compared,
            talks=f"{TALKS}/{INDEX}" if talks_of(site) else "",
        ),
    )


def _front_rows(boards: Sequence[Board]) -> int:
    """Of each table, at most."""
    if sum(len(board.lines) for board in boards) <= WHOLE:
        return WHOLE
    return max(_FEWEST_ROWS, FRONT_ROWS // len(boards))


def talks_of(site: BoardSite) -> list[Listened]:
    """Who talked, and may be read."""
    every = [(line, entry) for board in site.boards for line, entry in board.entered]
    return [(line.name, entry.result.transcripts) for line, entry in every if _readable(entry)]


def _readable(entry: BoardEntry) -> bool:
    """Talks of published personas stay where they are, as all published texts do; and what people said in a study is
    not for a public site, in whichever seat they sat."""
    talks = entry.result.transcripts
    people = any(who.startswith(PERSON) for talk in talks for who in (talk.partner, talk.listener))
    return bool(talks) and entry.texts and not (people or entry.people or entry.arm)


@dataclass(frozen=True, slots=True)
class _Again:
    """Rows that are made anew each time they are gone through, so that a large table is never held."""

    rows: Callable[[], Iterator[Mapping[str, Any]]]

    def __iter__(self) -> Iterator[Mapping[str, Any]]:
        return self.rows()


def _board_files(board: Board) -> Iterator[SiteFile]:
    yield from _table_parts(f"data/board-{board.key}", _Again(lambda: iter(line_facts(board))), LINES)
    estimates = _Again(lambda: (row for line, entry in board.entered for row in _estimate_rows(line, entry)))
    yield from _table_parts(f"data/estimates-{board.key}", estimates, ESTIMATES)
    items = _Again(lambda: (row for line, entry in board.entered for row in _item_rows(line, entry)))
    yield from _table_parts(f"data/items-{board.key}", items, ITEMS)


def _entry_files(site: BoardSite, board: Board, line: BoardLine, entry: BoardEntry) -> Iterator[SiteFile]:
    items = entry.result.items
    pages = item_pages(f"{entry.id}-items", len(items))
    near = _neighbours(board, line)
    talks = f"../{TALKS}/{INDEX}#listener={quote(line.name)}" if _readable(entry) else ""
    about = (board.key, board.label, board.scale, board.compares, bool(board.items), board.ranked, talks)
    known = [(replace(one, entry=None), one.kind, site.of(one.entry)) for one in (line, *near) if one.entry]
    compared = [one.entry is not None and one.entry.id in site.compared for one in (line, *near)]
    hashed = all(digest for *_, digest in known)

    def page_of_model() -> Iterable[bytes]:
        return _page(
            site,
            "model.html.j2",
            board=board,
            line=line,
            row=Row(entry.record, entry.result, line.name, "subject", line.rank, line.rank_at_worst),
            entry=entry,
            pages=pages,
            near=_differences(board, line, near),
            compared=site.compared,
            talks=talks,
            ranked=board.ranked,
        )

    key = site.digest(about, known, compared) if hashed else ""
    yield SiteFile(f"models/{entry.id}.html", page_of_model, key)
    for page in pages:
        yield SiteFile(
            f"models/{page.href}",
            partial(_items_page, site, board, line, entry, page, pages),
            site.digest(board.key, line.name, page, site.of(entry)) if hashed else "",
        )
    if items and entry.texts:
        replies = _Again(lambda: map(_reply_row, in_points(entry.result).items))
        yield from _table_parts(f"data/{entry.id}-replies", replies, REPLIES, site.of(entry))


def _items_page(
    site: BoardSite,
    board: Board,
    line: BoardLine,
    entry: BoardEntry,
    page: ItemPage,
    pages: Sequence[ItemPage],
) -> Iterable[bytes]:
    part, items = slice(page.first - 1, page.last), in_points(entry.result).items
    about = {"board": board, "entry": entry, "name": line.name, "page": page, "pages": pages}
    rows = None if entry.texts else _rows(items, part)
    return _page(site, "items.html.j2", **about, items=items[part] if entry.texts else (), rows=rows)


def _rows(items: Sequence[ItemScore], part: slice) -> Markup:
    """A table's body without texts, made here: thousands of such rows are most of a large site."""
    made = []
    columns = (field_of(items, name) for name in ("item", "repeat", "status", "score"))
    for item, repeat, status, value in islice(zip(*columns, strict=True), part.start, part.stop):
        name = escape(text.visible(text.short(item)))
        again = f' <span class="quiet">repeat {repeat}</span>' if repeat else ""
        status, score = status or "unanswered", text.number(value)
        made.append(f'<tr><th scope="row">{name}{again}</th><td>{status}</td><td class="num">{score}</td></tr>')
    return Markup("\n".join(made))


BoardRows = tuple[Table, list[RowMarks]]


def board_rows(board: Board) -> BoardRows:
    """The table with all its rows: what it says of them together is not said of a page. Rows have no words in their
    drawings: their cells say them."""
    marks = [
        RowMarks(
            values=values,
            href=f"models/{entry.id}.html" if (entry := line.entry) and not entry.arm else "",
            flag="" if line.valid else "not valid",
            quiet=line.kind if line.kind != "model" else line.why_no_rank if line.valid else "",
            drawing=figures.bare_baseline(line.estimate.value, board.scale)
            if line.kind == "baseline" and line.estimate.value is not None
            else figures.bare_whisker(line.estimate, board.scale, line.valid),
            kind=line.kind,
        )
        for line, values in zip(board.lines, sort_values(board.score_lines, "board"), strict=True)
    ]
    return score_table(board.score_lines, "board"), marks


def board_scores(tables: Mapping[str, BoardRows], board: Board, caption: str, first: int, last: int) -> Markup:
    """Some rows of a board's table."""
    (table, marks), part = tables[board.key], slice(first - 1, last)
    return sortable_table(
        replace(table, rows=table.rows[part]), marks[part], axis=figures.axis(board.scale), after="interval",
        caption=Markup(caption), more=Markup(' data-filter="{}"').format(board.label),
    )  # fmt: skip


def among_published(board: Board) -> Opening | None:
    """Where a board without published results stands among published models on the same questions."""
    own = [(entry.record, entry.result) for _, entry in board.entered if entry.origin != "published" and not entry.arm]
    figures_shipped = published_figures()
    if len(own) < len(board.entered) or not all(asked_published(*pair, figures_shipped) for pair in own):
        return None
    group = group_of(own)
    found = ladder(group)
    return opening_among(group, found, linked=False) if found else None


def _neighbours(board: Board, line: BoardLine) -> list[BoardLine]:
    """The next rows above and below, and people."""
    others, place = board.subjects, board.places[line.name]
    chosen = [*others[max(0, place - _NEAR) : place], *others[place + 1 : place + 1 + _NEAR]]
    return chosen + [other for other in board.people if other not in chosen and other is not line]


def _differences(board: Board, line: BoardLine, others: Sequence[BoardLine]) -> list[tuple[BoardLine, Estimate, str]]:
    found = []
    for other in others:
        pair = board.pair(line.name, other.name)
        gap = pair.difference
        shown = Estimate("difference", gap.value, gap.n, gap.se, gap.low, gap.high, digits=line.estimate.digits)
        found.append((other, shown, _words(pair)))
    return found


def _words(pair: Pair) -> str:
    if pair.separated is None:
        return pair.why
    return "cannot be told apart" if pair.better is None else "better" if pair.better is pair.a else "worse"


def _estimate_rows(line: BoardLine, entry: BoardEntry) -> Iterator[dict[str, Any]]:
    who = {"id": entry.id, "subject": line.name}
    for estimate in (entry.result.headline, *entry.result.estimates):
        own = {name: getattr(estimate, name) for name in ESTIMATES if name not in who}
        yield {**who, **own}
    for baseline in entry.result.baselines:
        yield {**who, "name": f"baseline: {baseline.name}", "value": baseline.value}


def _item_rows(line: BoardLine, entry: BoardEntry) -> Iterator[dict[str, Any]]:
    names = [name for name in ITEMS if name not in ("id", "subject")]
    for values in zip(*(field_of(entry.result.items, name) for name in names), strict=True):
        row = {"id": entry.id, "subject": line.name, **dict(zip(names, values, strict=True))}
        row["status"] = row["status"] or "unanswered"
        yield row


def _reply_row(item: ItemScore) -> dict[str, Any]:
    plain = {name: getattr(item, name) for name in ("item", "trial", "repeat", "score", "attempts", "text")}
    return {
        **plain,
        "status": item.status or "unanswered",
        "values": json.dumps(dict(item.values), ensure_ascii=False),
        "reference": json.dumps(dict(item.reference), ensure_ascii=False),
    }


def _compare(site: BoardSite) -> bytes:
    data = json.dumps(compare_data(list(site.boards), site.compared), ensure_ascii=True, separators=(",", ":"))
    harmless = data.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
    values = {"boards": site.boards, "data": Markup(harmless), "few_compared": site.few_compared}
    return b"".join(_page(site, "compare.html.j2", **values))


_SCRIPTS = {
    "board.html.j2": ("report.js", "board.js"),
    "board_page.html.j2": ("report.js", "board.js"),
    "compare.html.j2": ("compare.js",),
}


def _page(site: BoardSite, template: str, **values: Any) -> Iterable[bytes]:
    frame = inlined(("report.css", "board.css"), _SCRIPTS.get(template, ()))
    return [page_bytes(template, **frame, generated_at=site.generated_at, version=site.version, **values)]


def whole(
    site: BoardSite,
    files: Sequence[str],
    tables: Sequence[Mapping[str, Any]],
    made: Mapping[str, Sequence[str]] | None = None,
) -> bytes:
    """`board.json`: all rows, what the next build compares with, the list of files it may remove, and of pages that it
    need not make again the hashes of what they are made from and of what they hold."""
    body = {
        "format": "eqlab-leaderboard",
        "version": 1,
        "eqlab": site.version,
        "built_at": site.generated_at,
        "tables": tables,
        "rows": [row for board in site.boards for row in line_facts(board)],
        "sentences": {board.key: board.sentence for board in site.boards},
        "changes": [as_dict(change) for change in site.changed],
        "refused": [list(pair) for pair in site.refused],
        "files": list(files),
        "made_from": dict(made or {}),
    }
    return json.dumps(body, ensure_ascii=True, allow_nan=False).encode()


# What the page that compares any two entries computes with: the rule of `verdict.pair`, done in the browser.
def compare_data(boards: list[Board], compared: Collection[str] | None = None) -> dict[str, Any]:
    """Everything the compare page computes with, of all entries or of the `compared`. Item scores take few different
    values, so each is kept once, in full precision, and a row is a list of places in that list (−1: no score). Who lost
    answers has a second row, with these as the worst."""
    most = max((len(board.items) for board in boards), default=0)
    reach = stdtrit(np.arange(1, max(most, 2)), 0.975)
    return {
        "t": [float(value) for value in reach],
        "fewest": FEWEST,
        "differ": DIFFER,
        "tables": [_table(board, compared) for board in boards if len(board.entered) > 1],
    }


def _table(board: Board, compared: Collection[str] | None) -> dict[str, Any]:
    values: dict[float, int] = {}
    models = []
    for line, entry in board.entered:
        if compared is not None and entry.id not in compared:
            continue
        row = _places(values, board.row(entry))
        head, lost = line.estimate, board.verdict.of(line.name).contender.lost
        models.append([entry.id, line.name, head.value, head.low, head.high, head.n, row, _lost(board, values, lost)])
    return {
        "title": board.label,
        "digits": board.lines[0].estimate.digits,
        "better": board.verdict.standings[0].contender.better,
        "items": list(board.items),
        "values": list(values),
        "models": models,
    }


def _places(values: dict[float, int], row: Iterable[float]) -> list[int]:
    return [values.setdefault(float(v), len(values)) if np.isfinite(v) else -1 for v in row]


def _lost(board: Board, values: dict[float, int], lost: Lost | None) -> dict[str, Any] | None:
    if lost is None:
        return None
    worst = _places(values, (lost.worst.get(item, np.nan) for item in board.items))
    places = [place for place, item in enumerate(board.items) if item in lost.items]
    return {"words": lost.words, "items": places, "worst": worst}


# The same table as CSV, JSON and Parquet, for every table of the site; what a row is in it.
ENDINGS = ("csv", "json", "parquet")


_ROWS = 2000
"""Rows of a table that are text at once."""


def table_files(
    stem: str, rows: Iterable[Mapping[str, Any]], schema: Mapping[str, type]
) -> Iterator[tuple[str, bytes]]:
    """(path, content) of each."""
    return ((file.name, b"".join(file.parts())) for file in _table_parts(stem, rows, schema))


def _table_parts(
    stem: str, rows: Iterable[Mapping[str, Any]], schema: Mapping[str, type], key: str = ""
) -> Iterator[SiteFile]:
    """CSV is made safe for spreadsheets; JSON and Parquet are exact."""
    for ending, made in zip(ENDINGS, (_csv_parts, _json_parts, _parquet_parts), strict=True):
        yield SiteFile(f"{stem}.{ending}", partial(made, rows, schema), key)


def _csv_parts(rows: Iterable[Mapping[str, Any]], schema: Mapping[str, type]) -> Iterator[bytes]:
    names = list(schema)
    yield csv_bytes(names, [])
    head = len(csv_bytes(names, []))
    for some in _batches(rows):
        yield csv_bytes(names, some)[head:]


def _json_parts(rows: Iterable[Mapping[str, Any]], schema: Mapping[str, type]) -> Iterator[bytes]:
    between = b"["
    for some in _batches(rows):
        yield between + json.dumps(some, ensure_ascii=True, check_circular=False).encode()[1:-1]
        between = b", "
    yield b"[]" if between == b"[" else b"]"


def _parquet_parts(rows: Iterable[Mapping[str, Any]], schema: Mapping[str, type]) -> Iterator[bytes]:
    import polars as pl

    columns: dict[str, list[Any]] = {name: [] for name in schema}
    for some in _batches(rows):
        for name, column in columns.items():
            column.extend([row.get(name) for row in some])
    buffer = io.BytesIO()
    pl.DataFrame(columns, schema=dict(schema)).write_parquet(buffer, compression="lz4", statistics=False)
    yield buffer.getvalue()


def _batches(rows: Iterable[Mapping[str, Any]]) -> Iterator[list[Mapping[str, Any]]]:
    every = iter(rows)
    while some := list(islice(every, _ROWS)):
        yield some


def line_facts(board: Board) -> list[dict[str, Any]]:
    """The rows as plain values, for files."""
    rows = []
    for line, record in zip(board.lines, score_records(board.score_lines), strict=True):
        caveats = json.dumps(list(line.entry.result.caveats), ensure_ascii=False) if line.entry else ""
        rows.append({"table": board.label, **record, "caveats": caveats})
    return rows


LINES: Mapping[str, type] = {"table": str, **score_types(), "caveats": str}
CHANGES: Mapping[str, type] = {"table": str, "name": str, "what": str, "before": str, "after": str}
ESTIMATES: Mapping[str, type] = {
    "id": str, "subject": str, "name": str, "value": float, "low": float, "high": float, "se": float, "n": int,
    "unit": str, "note": str,
}  # fmt: skip
ITEMS: Mapping[str, type] = {
    "id": str, "subject": str, "item": str, "repeat": int, "status": str, "score": float, "points": float,
    "attempts": int,
}  # fmt: skip
"""`points` lie on the scale of the headline, which is their mean."""
REPLIES: Mapping[str, type] = {
    "item": str, "trial": str, "repeat": int, "status": str, "score": float, "attempts": int, "values": str,
    "reference": str, "text": str,
}  # fmt: skip
