"""From our entries and external scores to correlations: who is matched with whom, both reliabilities, in words."""

import csv
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Any

import numpy as np

from eqlab.analysis.components import alpha
from eqlab.analysis.correlation import FEW, Association, associate, grouped_r, reliability_from_errors
from eqlab.comparison.entries import Entry
from eqlab.core.errors import DataError, UsageError
from eqlab.core.plural import many
from eqlab.core.results import Estimate, Table, as_dict
from eqlab.core.values import dataclass
from eqlab.data.external import SNAPSHOTS, base_weights, benchmark_of, external_scores, values
from eqlab.data.figures import published_figures
from eqlab.tables.cells import interval_text
from eqlab.tables.scatter import Dot, Scatter, scatter_file

# Scores from elsewhere, from a CSV file: a column `model`, one column per score, and `NAME_se` for its standard
# errors where they are known; `family`, if there is one, names what a model was made of. An empty cell is a missing
# value.
_FORMAT = (
    "Write one row per model: a column 'model', then one column per score; 'NAME_se' holds standard errors, 'family' "
    "what a model was made of."
)


FAMILY = "family"


@dataclass(frozen=True, slots=True)
class External:
    name: str
    scores: Mapping[str, float]
    errors: Mapping[str, float]
    """Standard errors; empty unless every score has one."""
    shipped: bool = False
    """Whether it comes with eqlab: then only models that we have a score of are in it."""
    families: Mapping[str, str] = field(default_factory=dict)
    """What each model was made of, as far as the file says it."""


def read_scores(path: Path) -> list[External]:
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise DataError(f"There is no file {path}.", _FORMAT) from None
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{path} cannot be read as text: {error}.", _FORMAT) from error
    reader = csv.DictReader(text.splitlines())
    columns = [name.strip() for name in reader.fieldnames or ()]
    if "model" not in columns or len(columns) < 2 or len(set(columns)) < len(columns):
        raise DataError(f"{path} has the columns {', '.join(columns) or 'none'}.", _FORMAT)
    found: dict[str, dict[str, float]] = {name: {} for name in columns if name not in ("model", FAMILY)}
    families: dict[str, str] = {}
    seen: set[str] = set()
    for row in reader:
        cells = {name.strip(): (value or "").strip() for name, value in row.items() if isinstance(name, str)}
        model = cells["model"]
        if not model or model in seen:
            what = f"the model '{model}' a second time" if model else "no model"
            raise DataError(f"{path}, line {reader.line_num}: {what}.", "Every row names one model.")
        seen.add(model)
        if cells.get(FAMILY):
            families[model] = cells[FAMILY]
        for name in found:
            if cells.get(name):
                found[name][model] = _number(cells[name], path, reader.line_num, name)
    scores = [name for name in found if not _is_error(name, found)]
    return [
        External(
            name,
            found[name],
            errors if set(errors := found.get(f"{name}_se", {})) >= set(found[name]) else {},
            families=families,
        )
        for name in scores
    ]


def shipped_scores(names: Sequence[str], entries: Sequence[Entry]) -> list[External]:
    """Scores that ship with eqlab (`mmlu`, `elo` …), as reported, of the models that have one and are among the
    entries."""
    models = list(dict.fromkeys([*(score.model for score in external_scores()), *SNAPSHOTS]))
    found = []
    for name in names:
        benchmark = benchmark_of(name)
        scores = values(benchmark, models)
        there = set(match([entry.name for entry in entries], list(scores))[0].values())
        found.append(External(benchmark, {model: scores[model].value for model in scores if model in there}, {}, True))
    return found


def _is_error(name: str, found: Mapping[str, object]) -> bool:
    return name.endswith("_se") and name.removesuffix("_se") in found


def _number(text: str, path: Path, line: int, column: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise DataError(
            f"{path}, line {line}: {column} is '{text}', which is not a number.", "Leave unknown cells empty."
        )
    return value


_Z = 1.959963984540054


@dataclass(frozen=True, slots=True)
class Point:
    model: str
    ours: float
    ours_se: float | None
    theirs: float
    theirs_se: float | None


@dataclass(frozen=True, slots=True)
class Reliability:
    value: float | None
    how: str


@dataclass(frozen=True, slots=True)
class Range:
    """r among the models whose external score is at least so much."""

    least: float
    pearson: Estimate


@dataclass(frozen=True, slots=True)
class Correlation:
    """One external score against one benchmark."""

    title: str
    name: str
    points: tuple[Point, ...]
    association: Association
    ours: Reliability
    theirs: Reliability
    unmatched: tuple[str, ...]
    """Models of the file without a score of ours."""
    left: int
    """Scores of ours without an external one."""
    families: Estimate | None = None
    """r with whole families (base weights) left out in turn: fine-tunes of one base are no independent models."""
    ranges: tuple[Range, ...] = ()
    """r again, without the models below a value of the external score."""
    shipped: bool = False
    given: str = ""
    """The score that is taken out of both sides in `partial`."""
    partial: Estimate | None = None
    """What is left of r: convergent validity if it stays, none beyond ability if it goes."""


def correlate(
    entries: Sequence[Entry],
    external: External,
    *,
    reliability: float | None = None,
    seed: int = 0,
    given: External | None = None,
) -> Correlation:
    """With `given`, a third score (ability, say), also what it leaves of the correlation."""
    titles = sorted({entry.result.title for entry in entries})
    if len(titles) != 1:
        raise UsageError(
            f"These are scores of {many(len(titles), 'benchmark')} ({', '.join(titles)}).", "Choose one with -b."
        )
    matched, unmatched = match([entry.name for entry in entries], list(external.scores))
    own = [entry for entry in entries if entry.name in matched and entry.score.value is not None]
    points = tuple(
        Point(
            entry.name,
            entry.score.value or 0.0,
            entry.score.se,
            external.scores[matched[entry.name]],
            external.errors.get(matched[entry.name]),
        )
        for entry in own
    )
    groups = _groups(points, {own: external.families.get(name, "") for own, name in matched.items()})
    ours, theirs = _ours(own), _theirs(points, reliability)
    association = associate(
        [point.ours for point in points],
        [point.theirs for point in points],
        reliabilities=(ours.value, theirs.value),
        seed=seed,
    )
    return Correlation(
        titles[0],
        external.name,
        points,
        association,
        ours,
        theirs,
        tuple(unmatched),
        len(entries) - len(points),
        _families(points, groups),
        tuple(_ranges(points, seed)),
        external.shipped,
        given.name if given else "",
        _partial(points, groups, given) if given else None,
    )


def _groups(points: Sequence[Point], named: Mapping[str, str]) -> list[str]:
    """What each model was made of: as the file says, else as the published figures do, else the model itself."""
    known = {figures.model: base_weights(figures.model, figures.family) for figures in published_figures().models}
    return [named.get(point.model) or known.get(point.model, point.model) for point in points]


def _families(points: Sequence[Point], groups: Sequence[str]) -> Estimate | None:
    """None where every model is a family of its own."""
    if len(set(groups)) == len(points):
        return None
    ours, theirs = [point.ours for point in points], [point.theirs for point in points]
    return grouped_r("r, families as units", ours, theirs, groups, of="families")


def _partial(points: Sequence[Point], groups: Sequence[str], external: External) -> Estimate:
    """r over the models that have the third score too, without what that explains of both sides."""
    matched, _ = match([point.model for point in points], list(external.scores))
    kept = [(point, group) for point, group in zip(points, groups, strict=True) if point.model in matched]
    third = [external.scores[matched[point.model]] for point, _ in kept]
    both = [point.ours for point, _ in kept], [point.theirs for point, _ in kept]
    return grouped_r(f"r without {external.name}", *both, [group for _, group in kept], third, of="families")


def _ranges(points: Sequence[Point], seed: int) -> Iterator[Range]:
    """From all models to the better half, by the external score."""
    order = sorted(point.theirs for point in points)
    if len(order) < FEW:
        return
    for least in dict.fromkeys(order[len(order) * part // 12] for part in range(7)):
        kept = [point for point in points if point.theirs >= least]
        if len(kept) >= FEW:
            x, y = [point.ours for point in kept], [point.theirs for point in kept]
            yield Range(least, associate(x, y, draws=2_000, seed=seed).pearson)


def match(ours: Sequence[str], theirs: Sequence[str]) -> tuple[dict[str, str], list[str]]:
    """({our name: name in the file}, names in the file that fit none). Equal but for case, or equal after the owner's
    'name/'; a short name that fits several of ours fits none."""
    found: dict[str, str] = {}
    lost = []
    for name in theirs:
        same = [own for own in ours if own.casefold() == name.casefold()]
        tails = [own for own in ours if _tail(own) == _tail(name)]
        chosen = same or tails
        if len(chosen) == 1 and chosen[0] not in found:
            found[chosen[0]] = name
        else:
            lost.append(name)
    return found, lost


def _tail(name: str) -> str:
    return name.casefold().rsplit("/", 1)[-1]


def _ours(entries: Sequence[Entry]) -> Reliability:
    """Alpha over the items that all were asked; from the standard errors where items differ."""
    if len(entries) < 3:
        return Reliability(None, "fewer than three models")
    if len({entry.item_set for entry in entries}) == 1:
        items = list(dict.fromkeys(item for entry in entries for item in entry.items))
        means = [entry.means for entry in entries]
        matrix = np.array([[mean.get(item, np.nan) for item in items] for mean in means])
        if np.isfinite(matrix).mean() > 0.5:
            return Reliability(alpha(matrix), f"alpha over {many(len(items), 'item')}")
    errors = [entry.score.se for entry in entries]
    if any(error is None for error in errors):
        return Reliability(None, "not known: items differ and some scores have no standard error")
    found = reliability_from_errors([entry.score.value for entry in entries], errors)  # type: ignore[arg-type]
    return Reliability(found, "from the standard errors")


def _theirs(points: Sequence[Point], given: float | None) -> Reliability:
    if given is not None:
        return Reliability(given, "as given")
    errors = [point.theirs_se for point in points]
    if not errors or any(error is None for error in errors):
        return Reliability(None, "not known: counts as 1; give it with --reliability, or standard errors in the file")
    found = reliability_from_errors([point.theirs for point in points], errors)  # type: ignore[arg-type]
    return Reliability(found, "from the standard errors in the file")


def sentence(found: Correlation) -> str:
    r = found.association.pearson
    if r.value is None:
        return f"{found.title} and {found.name} share {many(r.n, 'model')}: too few, or too alike, for a correlation."
    text = f"{found.title} and {found.name} correlate with r = {r.value:.2f}"
    if r.low is None or r.high is None:
        return f"{text} over {many(r.n, 'model')}, too few for an interval."
    by = found.families
    if by is not None and (by.low is None or by.high is None):
        return f"{text} over {many(r.n, 'model')} of {many(by.n, 'family', 'families')}, too few for an interval."
    bounds, who = r, f"{many(r.n, 'model')}"
    if by is not None:  # relatives know less than as many strangers
        bounds, who = by, f"{many(r.n, 'model')} of {many(by.n, 'family', 'families')}"
    low, high = bounds.low or 0.0, bounds.high or 0.0
    text += f" (95 % interval {low:z.2f} to {high:z.2f}, {who})"
    if low <= 0 <= high:
        return f"{text}: whether they go together at all cannot be told.{_left(found)}"
    whole = found.association.corrected
    if whole.value is not None:
        text += f"; without measurement error it would be {whole.value:.2f}"
    return f"{text}.{_left(found)}"


def _left(correlation: Correlation) -> str:
    """What a third score leaves of it, in words."""
    left = correlation.partial
    if left is None or left.value is None or left.low is None or left.high is None:
        return ""
    bounds = f"r = {left.value:.2f}, 95 % interval {left.low:z.2f} to {left.high:z.2f}"
    if left.low <= 0 <= left.high:
        return f" With {correlation.given} taken out of both nothing is certain to be left ({bounds})."
    return f" With {correlation.given} taken out of both they still go together ({bounds})."


def table(correlations: Sequence[Correlation]) -> Table:
    rows = []
    taken = next((correlation.given for correlation in correlations if correlation.given), "")
    for one in correlations:
        extremes = one.association.without_one
        swing = None
        if extremes:
            (low, first), (high, last) = extremes
            swing = f"{low:.2f} (without {one.points[first].model}) … {high:.2f} (without {one.points[last].model})"
        rows.append(
            (
                one.name,
                one.association.n,
                one.association.pearson,
                one.families,
                *((one.partial,) if taken else ()),
                one.ranges[-1].pearson if one.ranges else None,
                one.association.spearman,
                _reliability(one.ours),
                _reliability(one.theirs),
                one.association.corrected,
                swing,
            )
        )
    columns = (
        "score",
        "models",
        "Pearson's r",
        "families as units",
        *((f"without {taken}",) if taken else ()),
        "without the weakest",
        "Spearman's ρ",
        "our reliability",
        "its reliability",
    )
    return Table(
        f"{correlations[0].title} against other scores",
        (*columns, "r without measurement error", "r with one model left out"),
        tuple(rows),
        "Without the weakest: of the external score, up to half, as long as ten are left. "
        "Intervals: bootstrap over models; with families as units whole families are left out in turn. They speak "
        "of models like these; a wide range of models raises r, a narrow one lowers it.",
    )


def _reliability(reliability: Reliability) -> str:
    return reliability.how if reliability.value is None else f"{reliability.value:.3f} ({reliability.how})"


def scatter(correlations: Sequence[Correlation]) -> str:
    """A picture of every correlation, and of what its range of models makes of it, as one file."""
    panels = [
        panel
        for correlation in correlations
        for panel in (_panel(correlation), _range_panel(correlation))
        if panel is not None
    ]
    return scatter_file(panels, width=720, height=460)


def _range_panel(one: Correlation) -> Scatter | None:
    dots = tuple(
        Dot(
            f"{many(part.pearson.n, 'model')}",
            part.least,
            part.pearson.value,
            None,
            None if part.pearson.low is None or part.pearson.high is None else (part.pearson.low, part.pearson.high),
            f"{one.name} of {part.least:g} or more: r = {part.pearson.value:.2f}, {many(part.pearson.n, 'model')}",
        )
        for part in one.ranges
        if part.pearson.value is not None
    )
    if len(dots) < 2 or not one.shipped:  # a file of one's own is drawn as it always was
        return None
    title = f"r by range: {one.title} with {one.name}"
    return Scatter(title, "with fewer of the weaker models", f"only models with {one.name} of at least", "r", dots)


def _panel(one: Correlation) -> Scatter:
    r = one.association.pearson
    shown = "r undefined" if r.value is None else f"r = {r.value:.2f} ({interval_text(r)}), {many(r.n, 'model')}"
    dots = tuple(
        Dot(
            point.model,
            point.theirs,
            point.ours,
            _around(point.theirs, point.theirs_se),
            _around(point.ours, point.ours_se),
            f"{point.model}: {point.theirs:g}, {point.ours:.2f}",
        )
        for point in one.points
    )
    return Scatter(f"{one.title} against {one.name}", shown, one.name, one.title, dots)


def _around(value: float, error: float | None) -> tuple[float, float] | None:
    return (value - _Z * error, value + _Z * error) if error else None


def notes(correlations: Sequence[Correlation]) -> list[str]:
    said = []
    for one in correlations:
        if one.unmatched:
            names = ", ".join(one.unmatched[:6]) + (
                f" and {len(one.unmatched) - 6} more" if len(one.unmatched) > 6 else ""
            )
            said.append(f"{one.name}: no score of ours for {names}.")
        if one.left:
            said.append(f"{one.name}: {one.left} of our scores have no value in the file and are left out.")
        if one.shipped:
            said.append(
                f"{one.name}: figures that ship with eqlab, as reported, of several protocols "
                "('eqlab research reproduce eqbench-mmlu' shows what each makes of it)."
            )
        extra = (one.association.pearson.note, one.association.corrected.note)
        said += [f"{one.name}: {note}." for note in extra if note]
    return list(dict.fromkeys(said))


def as_data(correlation: Correlation) -> dict[str, Any]:
    data: Mapping[str, Any] = as_dict(correlation)
    return {"sentence": sentence(correlation), **data}
