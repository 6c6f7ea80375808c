"""Pictures to take away: forest plot, profile, heat map, score against cost, or models among people, as one drawing
that needs nothing else."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal, TypeVar

from markupsafe import escape

from eqlab.analysis.norms import NAME, percentile
from eqlab.core.errors import UsageError, did_you_mean
from eqlab.core.plural import many
from eqlab.core.results import STANDS_ABOVE, Estimate, Result, goodness
from eqlab.core.text import is_number, number, percentile_text, short, short_name, visible
from eqlab.core.usage import Usage
from eqlab.core.values import dataclass
from eqlab.data.files import write_whole
from eqlab.publish.groups import Group, RunRecord, group
from eqlab.publish.report.opening import forests, landscape, opening
from eqlab.publish.sections import heat_of, profiles_of
from eqlab.runs.panel import with_panels
from eqlab.runs.parallel import results_of
from eqlab.runs.pool import pooled
from eqlab.store.reader import Reader, StoredRun
from eqlab.tables.forest import Forest, ForestLine, fitted, standalone, text_lines
from eqlab.tables.scatter import Dot, Scatter, amount, scatter_file
from eqlab.tables.svg import STEPS, HeatMap, bounds_of

Kind = Literal["forest", "profile", "heat", "cost", "people", "ladder"]
KINDS: tuple[Kind, ...] = ("forest", "profile", "heat", "cost", "people", "ladder")
ENDINGS = (".svg", ".png", ".pdf")
WIDTH = 1280
SIZES = {"slide": (1280, 720), "paper": (720, 540), "square": (1080, 1080)}
"""Canvases by name: width and height."""
Choice = TypeVar("Choice", bound=str)


def check(where: Path) -> None:
    """Before anything is read: a wrong ending or folder is said at once."""
    if where.suffix.lower() not in ENDINGS:
        raise UsageError(f"'{where.name}' is not a picture file.", f"Write a file that ends with {', '.join(ENDINGS)}.")
    if not where.resolve().parent.is_dir():
        raise UsageError(f"There is no folder {where.resolve().parent}.", "Make the folder, or write to another one.")


@dataclass(frozen=True, slots=True)
class Picture:
    """A drawing; a notebook shows it, `save` writes it as SVG, PNG or PDF."""

    svg: str
    size: tuple[int, int]
    charts: int
    forests: tuple[Forest, ...] = ()
    """What was drawn, where it can be drawn in letters, too."""

    def text(self, width: int) -> list[str]:
        """The picture as lines of a terminal."""
        if not self.forests:
            raise UsageError(
                "Only --kind forest and ladder can be drawn in letters.", "Write an .svg, .png or .pdf file."
            )
        return [line for forest in self.forests for line in (*text_lines(forest, width), "")]

    def _repr_svg_(self) -> str:
        return self.svg

    def save(self, where: Path | str) -> Path:
        path = Path(where)
        check(path)
        if path.suffix.lower() == ".svg":
            write_whole(path, self.svg)
        else:
            draw(self.svg, self.size, path)
        return path


def plot(
    store: Reader | None = None,
    runs: StoredRun | str | Sequence[StoredRun | str] = "last",
    *,
    kind: str = "forest",
    size: str = "",
    alone: bool = False,
    beside: Sequence[tuple[StoredRun, Sequence[Result]]] = (),
) -> Picture:
    """A picture of some runs of a store (ids, `last`, or what `find_run` returned) and of results from elsewhere.
    The kind `ladder` needs neither: published models, and a line left free for one's own."""
    if kind_named(kind) == "ladder":
        return forest_picture(landscape().forests, size_named(size))
    named = [runs] if isinstance(runs, str | StoredRun) else list(runs)
    found: list[tuple[StoredRun, Sequence[Result]]] = []
    if store is not None:
        stored = [store.find_run(one) if isinstance(one, str) else one for one in named]
        found = list(with_panels(store, pooled(store, results_of(store, stored))))
    every = [*found, *beside]
    return picture([RunRecord(run.config, run.created_at, run.provenance, tuple(own)) for run, own in every],
                   kind_named(kind), size_named(size), alone=alone)  # fmt: skip


def kind_named(name: str) -> Kind:
    return _named("--kind", name, KINDS)


def size_named(name: str) -> tuple[int, int] | None:
    return SIZES[_named("--size", name, tuple(SIZES))] if name else None


def _named(flag: str, name: str, choices: tuple[Choice, ...]) -> Choice:
    found = next((one for one in choices if one == name), None)
    if found is None:
        raise UsageError(f"{flag} '{name}' is unknown.", did_you_mean(name, choices, f"Choose {', '.join(choices)}."))
    return found


def picture(
    records: Sequence[RunRecord], kind: Kind = "forest", size: tuple[int, int] | None = None, *, alone: bool = False
) -> Picture:
    """The drawing of these results; published models stand beside what answered their questions, unless
    `alone`."""
    groups = group(records)
    if kind == "forest":
        drawn = [forest for one in groups for forest in (forests(one) if alone else opening(one, groups).forests)]
        if drawn:
            return forest_picture(drawn, size)
    charts = list(_charts(groups, kind)) if kind != "forest" else []
    if not charts:
        raise UsageError(f"These results have nothing for --kind {kind}.", "Choose another --kind, or other runs.")
    svg, height = _stacked(charts)
    if size is None:
        return Picture(svg, (WIDTH, height), len(charts))
    svg = svg.replace("<svg ", f'<svg viewBox="0 0 {WIDTH} {height}" ', 1)
    svg = svg.replace(f'width="{WIDTH}" height="{height}"', f'width="{size[0]}" height="{size[1]}"', 1)
    return Picture(svg, size, len(charts))


def forest_picture(drawn: Sequence[Forest], size: tuple[int, int] | None) -> Picture:
    each = (size[0], size[1] // len(drawn)) if size else None
    charts = [fitted(forest, each) if each else standalone(forest, WIDTH) for forest in drawn]
    svg, height = _stacked(charts)
    return Picture(svg, size or (WIDTH, height), len(charts), tuple(drawn))


def _charts(groups: Sequence[Group], kind: Kind) -> Iterator[str]:
    if kind == "profile":
        for profile in profiles_of(groups):
            for line in profile.lines:
                title = f"{profile.subject}: {line.label}"
                drawn = (ForestLine(line.label, line.estimate, None, line.valid, line.people),)
                forest = Forest(title, line.detail.partition(";")[0], drawn, line.scale, line.baselines)
                if forest.drawn:
                    yield standalone(forest, WIDTH)
    elif kind == "cost":
        yield from (chart for one in groups if (chart := _cost(one)))
    elif kind == "people":
        yield from (chart for one in groups if (chart := _among_people(one)))
    else:
        yield from (_heat(found, one.title) for one in groups if (found := heat_of(one)))


def _cost(one: Group) -> str | None:
    rows = [row for row in one.rows if row.result.ranked and not row.people]
    spent = [Spent(row.name, row.result.headline, row.result.usage) for row in rows]
    return cost_chart(one.title, rows[0].result.headline.name, spent, WIDTH) if rows else None


MARKS = 120
"""Places of people's curve, spread evenly over them."""


def _among_people(one: Group) -> str | None:
    """People's scores against the share of them who do worse as a curve, and models as lines on it."""
    rows = [row for row in one.rows if row.result.percentile and is_number(row.result.percentile.value)]
    placed = [row.result for row in rows]
    if not placed or placed[0].norms is None:
        return None
    norms = placed[0].norms
    better = norms.better or placed[0].better
    known = sorted(norms.values, key=lambda value: goodness(value, better))
    shown = [known[place * (len(known) - 1) // (MARKS - 1)] for place in range(MARKS)] if len(known) > MARKS else known
    curve = [(value, percentile(Estimate("", value, 1), norms, better).value) for value in dict.fromkeys(shown)]
    dots = []
    for row in rows:
        result = row.result
        estimate = next((made for made in result.estimates if made.name == norms.measure), result.headline)
        place = result.percentile
        if estimate.value is None or place is None or place.value is None:
            continue
        words = f"{row.name} {norms.relation} {percentile_text(place)}"
        dots.append(Dot(row.name, estimate.value, place.value, bounds_of(estimate), bounds_of(place), words))
    but = f"; {norms.caution}" if norms.caution else ""
    under = f"The curve: {many(norms.people, 'person', 'people')} ({norms.source}){but}"
    label = norms.measure or placed[0].headline.name
    share = f"{NAME}, %" if norms.relation == STANDS_ABOVE else "people with less, %"
    line = tuple((value, found) for value, found in curve if found is not None)
    return scatter_file([Scatter(one.title, under, label, share, tuple(dots), curve=line)], WIDTH)


def _stacked(charts: Sequence[str]) -> tuple[str, int]:
    """Charts one below the other; each is a whole drawing already."""
    width = int(charts[0].partition(' width="')[2].partition('"')[0])
    heights = [int(chart.partition(' height="')[2].partition('"')[0]) for chart in charts]
    if len(charts) == 1:
        return charts[0], heights[0]
    body, top = "", 0
    for chart, height in zip(charts, heights, strict=True):
        body += chart.replace("<svg ", f'<svg y="{top}" ', 1)
        top += height
    return f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{top}">{body}</svg>\n', top


_STYLE = """
text{font:13px system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans",Arial,sans-serif;fill:#1b2026}
.title{font-size:17px;font-weight:650}.soft{fill:#565f69}
"""


def _heat(heat_map: HeatMap, title: str) -> str:
    """Rows are emotions, columns subjects; the tint repeats the number."""
    left, top, row = 220, 76, 30
    column = (WIDTH - left - 16) // max(1, len(heat_map.columns))
    height = top + row * len(heat_map.rows) + 20
    letters = max(6, column // 9)
    parts = [f'<text class="title" x="16" y="28">{_text(f"{title}: {heat_map.measure}")}</text>']
    for index, name in enumerate(heat_map.columns):
        x = left + column * index + column // 2
        parts.append(
            f'<text class="soft" x="{x}" y="{top - 12}" text-anchor="middle">{_text(short_name(name, letters))}</text>'
        )
    for place, (name, cells) in enumerate(heat_map.rows):
        y = top + row * place
        parts.append(f'<text x="16" y="{y + 20}">{_text(short(name, 28))}</text>')
        for index, cell in enumerate(cells):
            x = left + column * index
            value = cell.estimate.value if cell.estimate else None
            said = number(value, cell.estimate.digits) if cell.estimate and is_number(value) else "none"
            parts.append(f'<rect x="{x}" y="{y}" width="{column - 2}" height="{row - 2}" fill="{_colour(cell.tint)}"/>')
            parts.append(f'<text x="{x + column // 2}" y="{y + 20}" text-anchor="middle">{_text(said)}</text>')
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" role="img">'
        f'<style>{_STYLE}</style><rect width="100%" height="100%" fill="#fff"/>{"".join(parts)}</svg>\n'
    )


def _text(text: str) -> str:
    return str(escape(visible(text)))


def _colour(tint: str) -> str:
    """The page's tints on white: blue for more, orange below zero."""
    kind, _, step = tint.partition("-")
    if not step.isdecimal():
        return "#ffffff"
    share = 0.4 * int(step) / STEPS
    hue = (180, 87, 11) if kind == "below" else (10, 93, 148)
    return "#" + "".join(f"{round(255 + (part - 255) * share):02x}" for part in hue)


# PNG and PDF of a drawing or page, by the Chromium that is installed; without one the way out is said.
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
_QUIET = (
    "--headless", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-component-update",
    "--disable-sync", "--hide-scrollbars", "--no-pdf-header-footer",
)  # fmt: skip
_SECONDS = 120


def browser() -> str:
    found = next((path for name in NAMES if (path := shutil.which(name))), None)
    if found is None:
        raise UsageError(
            "PNG and PDF are made by Chromium, and none is installed.",
            "Install chromium, or write an .svg or .html file.",
        )
    return found


def draw(svg: str, size: tuple[int, int], where: Path) -> None:
    """A drawing as PNG, twice as fine as on a screen, or as a PDF page of its size."""
    width, height = size
    page = (
        f'<!doctype html><meta charset="utf-8"><style>@page{{size:{width}px {height}px;margin:0}}'
        f"html,body{{margin:0;background:#fff}}svg{{display:block}}</style>{svg}"
    )
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "page.html")
        source.write_text(page, encoding="utf-8")
        if where.suffix.lower() == ".pdf":
            _run(source, "print-to-pdf", where)
        else:
            _run(source, "screenshot", where, f"--window-size={width},{height}", "--force-device-scale-factor=2")


def print_page(source: Path, where: Path) -> None:
    """A page of ours as PDF."""
    _run(source, "print-to-pdf", where)


def _run(source: Path, what: str, where: Path, *more: str) -> None:
    """Made elsewhere and then written whole: a browser that fails leaves the old file as it was."""
    with tempfile.TemporaryDirectory() as profile:
        made = Path(profile, f"made{where.suffix}")
        own = [f"--user-data-dir={profile}", f"--{what}={made}"]
        if hasattr(os, "geteuid") and os.geteuid() == 0:  # Chromium's own sandbox cannot be used by root
            own.append("--no-sandbox")
        try:
            done = subprocess.run(
                [browser(), *_QUIET, *own, *more, source.resolve().as_uri()],
                capture_output=True, timeout=_SECONDS, check=False,
            )  # fmt: skip
        except (OSError, subprocess.TimeoutExpired) as error:
            raise UsageError(
                f"Chromium did not answer ({type(error).__name__}).", "Write an .svg or .html file."
            ) from error
        if not made.is_file():
            words = done.stderr.decode("utf-8", "replace").strip().splitlines()
            raise UsageError(
                f"Chromium made no {where.name} ({(words or ['it said nothing'])[-1][:200]}).", "Write an .svg."
            )
        write_whole(where, made.read_bytes())


# Score against cost: what each model's points took, in money where every price is known, else in tokens.  The axis
# of cost is logarithmic, since models differ by factors; nobody cheaper beats those on the stepped line.
@dataclass(frozen=True, slots=True)
class Spent:
    """One model's score and what its answers took."""

    name: str
    score: Estimate
    usage: Usage | None


@dataclass(frozen=True, slots=True)
class Priced:
    """A model with its place on the axis of cost."""

    name: str
    score: Estimate
    each: float
    """Money for a thousand answers, or tokens for one."""
    least: bool
    """Whether some of it is unknown."""


def cost_chart(title: str, measure: str, some: Sequence[Spent], width: int) -> str | None:
    """The drawing as a file of its own; None where nobody has both a score and a cost."""
    axis, found = _priced([cost for cost in some if is_number(cost.score.value)])
    if not found:
        return None
    missing = [cost.name for cost in some if cost.name not in {priced.name for priced in found}]
    under = "The dashed line joins those that no cheaper model beats."
    if missing:
        under += f" Not drawn, because their cost is unknown: {', '.join(missing[:5])}{' …' * (len(missing) > 5)}."
    if least := [priced.name for priced in found if priced.least]:
        under += f" At least, for some of it is unknown: {', '.join(least[:5])}{' …' * (len(least) > 5)}."
    dots = tuple(
        Dot(
            priced.name,
            priced.each,
            priced.score.value or 0.0,
            y_bounds=bounds_of(priced.score),
            words=f"{priced.name} {number(priced.score.value, priced.score.digits)} at "
            f"{'≥ ' * priced.least}{amount(priced.each)}",
        )
        for priced in found
    )
    drawn = Scatter(
        f"{title}: score and cost", short(under, 160), axis, f"{measure}, 95 % intervals", dots, log=True, steps=True
    )
    return scatter_file([drawn], width)


def _priced(some: Sequence[Spent]) -> tuple[str, list[Priced]]:
    """In money if all have a known price in one currency, else in tokens; those without are left out."""
    used = [(cost, cost.usage) for cost in some if cost.usage is not None and cost.usage.answers]
    currencies = {usage.currency for _, usage in used if usage.cost is not None}
    if used and len(currencies) == 1 and all(usage.cost for _, usage in used):
        each = [
            Priced(cost.name, cost.score, 1000 * (usage.cost or 0) / usage.answers, usage.unpriced > 0)
            for cost, usage in used
        ]
        return f"{currencies.pop()} for 1,000 answers", each
    counted = [
        Priced(
            cost.name,
            cost.score,
            ((usage.tokens_in or 0) + (usage.tokens_out or 0)) / usage.answers,
            usage.uncounted > 0,
        )
        for cost, usage in used
        if usage.tokens_in is not None or usage.tokens_out is not None
    ]
    return "tokens for one answer, prompt included", [priced for priced in counted if priced.each > 0]
