"""Results, their items and comparisons as data frames, for notebooks: polars, or pandas where a user has it."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eqlab.comparison.compare import Comparison, compare
from eqlab.comparison.entries import entries, refuse_uncalibrated
from eqlab.comparison.scores import ScoreLine, score_records
from eqlab.comparison.sources import read_sources
from eqlab.core.errors import UsageError
from eqlab.core.results import Result
from eqlab.tables.data import FrameKind, frame

if TYPE_CHECKING:
    from eqlab.runs.ask import Outcome
    from eqlab.store.store import Store, StoredRun


def compare_runs(
    *names: "str | Outcome | StoredRun",
    store: "Store | str" = "",
    data: Path | None = None,
    joint: bool = False,
    uncalibrated: bool = False,
) -> "Comparisons":
    """What `eqlab compare` says of runs (ids, `last`, what `eqlab.run` or `find_run` returned), `published:MODEL` and
    result files. `uncalibrated`: also what a judge says that nobody has held against people."""
    where = store if isinstance(store, str) else store.where
    asked = [name if isinstance(name, str) else _run_of(name) for name in names]
    own, undefined = entries(read_sources(asked or ("last",), where, data))
    if not uncalibrated:
        refuse_uncalibrated(own)
    return Comparisons(compare(own, undefined, joint=joint))


def _run_of(one: "Outcome | StoredRun") -> str:
    run = getattr(one, "run", None) or getattr(one, "id", None)
    if not isinstance(run, str):
        raise UsageError(
            f"{type(one).__name__} does not name a run.",
            "Give ids or outcomes one by one, and the store by its name: compare_runs(a, b, store=store).",
        )
    return run


class Comparisons(list[Comparison]):
    """One comparison a benchmark; a notebook shows them as tables."""

    def _repr_html_(self) -> str:
        return "".join(comparison._repr_html_() for comparison in self)

    def to_frame(self, kind: FrameKind = "polars") -> Any:
        return to_frame(self, kind=kind)


def to_frame(
    found: Result | Comparison | Sequence[Result] | Sequence[Comparison],
    *,
    items: bool = False,
    kind: FrameKind = "polars",
) -> Any:
    """One row a result, one an item of them (`items=True`), or one a pair of a comparison. Undefined is null."""
    listed: list[Any] = [found] if isinstance(found, Result | Comparison) else list(found)
    rows: list[dict[str, Any]] = []
    for one in listed:
        if isinstance(one, Comparison):
            rows += _pairs(one)
        elif isinstance(one, Result):
            rows += (
                _items(one)
                if items
                else [{**record, "title": one.title} for record in score_records([ScoreLine.of(one)])]
            )
        else:
            raise UsageError(
                f"A {type(one).__name__} is not a result.", "Give what eqlab.results or eqlab.compare_runs returns."
            )
    return frame(rows, kind)


def _items(result: Result) -> list[dict[str, Any]]:
    import json

    return [
        {
            "benchmark": result.benchmark, "subject": result.subject, "item": item.item, "repeat": item.repeat,
            "status": item.status, "score": item.score, "points": item.points, "title": item.title,
            "group": item.group, "words": item.words, "shown": item.shown, "text": item.text,
            "values": json.dumps(dict(item.values), ensure_ascii=False),
            "reference": json.dumps(dict(item.reference), ensure_ascii=False),
        }
        for item in result.items
    ]  # fmt: skip


def _pairs(one: Comparison) -> list[dict[str, Any]]:
    return [
        {
            "benchmark": one.benchmark, "title": one.title, "rater": one.rater, "a": pair.a.name, "b": pair.b.name,
            "difference": pair.difference.value, "low": pair.difference.low, "high": pair.difference.high,
            "n": pair.difference.n, "p": pair.difference.p, "p_all_pairs": pair.p_jointly,
            "told_apart": pair.separated, "better": pair.better.name if pair.better else None, "needed": pair.needed,
        }
        for pair in one.pairs
    ]  # fmt: skip
