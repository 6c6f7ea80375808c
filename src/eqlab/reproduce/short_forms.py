"""Short forms of EQ-Bench v2, learned from the published results: items, parameters, and what they are worth for models
held out. `eqlab research reproduce short-forms --json` is the file that ships (benchmarks/eqbench/short_forms.json)."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from eqlab.analysis.arrays import Floats
from eqlab.analysis.item_response import (
    Fits,
    Form,
    HeldOutFigures,
    adaptive,
    copies,
    factors,
    figures,
    fit,
    fixed,
    leave_out,
)
from eqlab.analysis.item_response import choose as choose_items
from eqlab.benchmarks.eqbench.score import PRESETS, Reference, baselines, item_score
from eqlab.benchmarks.eqbench.short import FIRST, STEP, fingerprint, parameters
from eqlab.benchmarks.eqbench.trials import choose
from eqlab.core.errors import DataError
from eqlab.core.results import Estimate, Table, as_dict
from eqlab.reproduce.claims import Report, Row, Study
from eqlab.reproduce.eqbench import family
from eqlab.runs.published_results import PublishedReader

SIZES = (20, 30, 40, 50, 60, 80, 100)
WIDTHS = (8, 10, 12)
WAYS = {
    "models": "model alone",
    "copies": "model and copies",
    "families": "whole family",
}
"""What is held out. All intervals use the factor learned from families held out: it is the one that ships."""
_FIXED = [fixed(size) for size in SIZES]
_RULES = PRESETS["leaderboard"]


def reproduce(data: Path | None) -> Report:
    references, models, scores = first_pass_scores(data)
    numbers = list(references)
    families = [family(model) for model in models]
    model = fit(scores)
    fits: Fits = {}
    held = leave_out(scores, families, _FIXED, fits)
    at90, at95 = factors(held, families, 0.90), factors(held, families, 0.95)
    # Stopping when the interval looks narrow favours subjects whose answers look calm by chance: its own factor.
    trial = leave_out(scores, families, _adaptive(at90, families, families), fits)
    stop90, stop95 = factors(trial, families, 0.90), factors(trial, families, 0.95)
    held_out = {}
    for way, groups in zip(WAYS, (models, copies(scores, models), families), strict=True):
        fixed_forms = leave_out(scores, groups, _FIXED, fits)
        stopped = leave_out(scores, groups, _adaptive(stop90, groups, families), fits)
        held_out[way] = {
            **{str(size): figures(out, families, at90) for size, out in zip(SIZES, fixed_forms, strict=True)},
            **{f"width {w}": figures(out, families, stop90) for w, out in zip(WIDTHS, stopped, strict=True)},
        }
    means = 10 * np.nanmean(scores, axis=1)
    return {
        "holds_for": {
            "version": "v2",
            "language": "en",
            "rules": _RULES.name,
            "revision": False,
            "questions_sha256": fingerprint(references),
        },
        "fitted_to": {
            "models": len(models),
            "families": len(set(families)),
            "lowest": round(float(means.min()), 2),
            "highest": round(float(means.max()), 2),
        },
        "forms": {str(size): [numbers[item] for item in choose_items(model, size)] for size in SIZES},
        "reach": {
            "fixed": {"90": round(at90[""], 3), "95": round(at95[""], 3)},
            "adaptive": {"90": round(stop90[""], 3), "95": round(stop95[""], 3)},
        },
        "held_out": {way: {form: _shown(one) for form, one in found.items()} for way, found in held_out.items()},
        "baselines": {one.name: round(one.value, 2) for one in baselines(list(references.values()), "v2", _RULES)},
        "items": {
            number: " ".join(f"{_round(v):g}" for v in (b, a, u, *shared))
            for number, b, a, u, shared in zip(
                numbers, model.difficulty, model.slope, model.unique, model.shared, strict=True
            )
        },
    }


def _adaptive(reach: dict[str, float], groups: Sequence[str], families: Sequence[str]) -> list[Callable[[str], Form]]:
    """With the factor learned without the family, whatever the group that is held out."""
    by_group = {group: reach[name] for group, name in zip(groups, families, strict=True)}
    return [adaptive(by_group, width / 10, FIRST, STEP) for width in WIDTHS]


def first_pass_scores(data: Path | None) -> tuple[dict[str, Reference], list[str], Floats]:
    """References by question, models, and models × questions under the leaderboard's rules, NaN where unreadable. Of
    runs with revision only the first pass is taken: it is given before the critique, as in a run without revision."""
    references: dict[str, Reference] = {}
    models: list[str] = []
    rows: list[list[float]] = []
    for run in PublishedReader(data).runs():
        if (run.options["version"], run.options["language"]) != ("v2", "en"):
            continue
        by_repeat: dict[int, list[float]] = {}
        for scored in run.scored:
            reference = references.setdefault(scored.trial.items[0], scored.trial.key["reference"])
            score = item_score(choose(scored, _RULES).scores.first, reference, "v2", _RULES)
            by_repeat.setdefault(scored.repeat, []).append(np.nan if score is None else score)
        models += [run.model] * len(by_repeat)
        rows += by_repeat.values()
    if len({family(model) for model in models}) < 4:
        raise DataError(
            "The EQ-Bench results are of fewer than four families of models; a short form needs more.",
            "Get them with 'eqlab data fetch eqbench', or name a folder that has them with --data DIR.",
        )
    return references, models, np.array(rows)


def _shown(held_out_figures: HeldOutFigures) -> dict[str, float]:
    """On the 0–100 scale."""
    tenfold = ("mae", "mae_low", "mae_high", "plain_mae", "width")
    return {name: _round(10 * v if name in tenfold else v) for name, v in as_dict(held_out_figures).items()}


def _round(value: float) -> float:
    return round(float(value), 3) + 0.0


def findings(report: Report) -> list[str]:
    sentences = []
    for size in ("20", "40", "100"):
        held = report["held_out"]["families"][size]
        sentences.append(
            f"{size} questions give the score of a model whose family was held out to {held['mae']:.1f} points on "
            f"average (95 % interval {held['mae_low']:.1f} to {held['mae_high']:.1f}, {held['subjects']:.0f} models); "
            f"{100 * held['covered']:.0f} % of the 90 % intervals hold the score of all questions."
        )
    return sentences


def rows_of(report: Report) -> list[Row]:
    return [
        {"form": form, "held_out": WAYS[way], **found}
        for way, forms in report["held_out"].items()
        for form, found in forms.items()
    ]


def tables(report: Report) -> list[Table]:
    fitted = report["fitted_to"]
    items = sorted(parameters(report["items"]).items(), key=lambda pair: -pair[1][1])
    return [
        Table(
            "Short forms of EQ-Bench v2 on models held out",
            ("form", "held out", "asked", "r", "mean absolute error", "plain mean's", "in the 90 % interval", "width"),
            tuple(
                _row(form, WAYS[way], report["held_out"][way][form])
                for form in report["held_out"]["models"]
                for way in WAYS
            ),
            note=(
                f"{fitted['models']} models of {fitted['families']} families. Items, parameters and intervals are "
                "learned without what is held out: the model alone (relatives and other names of it may be among the "
                "others), the model and its copies (the same score on over half the questions), or its whole family. "
                "Errors in points of 100, with 95 % intervals over families."
            ),
        ),
        Table(
            "The chosen 40",
            ("questions",),
            ((", ".join(report["forms"]["40"]),),),
        ),
        Table(
            "Items: the five that tell models apart best, and least",
            ("question", "difficulty (mean score)", "slope", "residual SD"),
            tuple(
                (number, v[0], v[1], float(np.sqrt(v[2] + sum(x * x for x in v[3:]))))
                for number, v in (*items[:5], *items[-5:])
            ),
        ),
    ]


def _row(form: str, held_out: str, found: dict[str, float]) -> tuple[Any, ...]:
    error = Estimate("", found["mae"], int(found["subjects"]), None, found["mae_low"], found["mae_high"])
    return (
        f"{form} questions" if form.isdigit() else f"adaptive, {form}",
        held_out,
        found["asked"],
        f"{found['r']:.3f}",
        error,
        found["plain_mae"],
        f"{100 * found['covered']:.1f} %",
        found["width"],
    )


STUDY = Study("Short forms of EQ-Bench", reproduce, findings, tables, rows_of)
