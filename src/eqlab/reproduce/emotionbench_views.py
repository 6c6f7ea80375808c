"""What the published tables look like under stricter rules: for each model the number of significant factor cells
under four rules, how alike repeats are, and how its changes go with people's."""

from collections.abc import Sequence
from typing import Any

from eqlab.analysis.correlation import pearson
from eqlab.analysis.multiplicity import holm
from eqlab.benchmarks.emotionbench.measures import FloatArray, Measures, People
from eqlab.benchmarks.emotionbench.views import (
    ALPHA,
    agreement,
    cells,
    norms,
    people_cells,
    repeats_alike,
    situation_changes,
)
from eqlab.core.results import Table


def views(models: Sequence[Measures], people: People | None) -> dict[str, Any]:
    """Per model; without the people's workbook everything that needs them is None."""
    human = norms(people) if people else None
    return {
        "people_reliability": dict(human.reliability) if human else None,
        "models": [_model(model, people, human) for model in models],
    }


def _model(model: Measures, people: People | None, human: Any) -> dict[str, Any]:
    subscales = list(model.scores)
    published = [cell for name in subscales for cell in cells(model, name) if cell.level == "factor"]
    honest = situation_changes(model, subscales)
    factors = [change for change in honest if change.level == "factor"]
    corrected = holm([cell.comparison.p for cell in published])
    return {
        "source": model.source,
        "factor_cells": len(published),
        "significant_as_published": sum(cell.direction != "none" for cell in published),
        "significant_holm": sum(p is not None and p <= ALPHA for p in corrected),
        "significant_situation_as_unit": sum(_small(change.p_fixed_default) for change in factors),
        "significant_honest": sum(_small(change.p_holm) for change in factors),
        "subscales": {name: _subscale(model, name, people, human, honest) for name in subscales},
    }


def _small(p: float | None) -> bool:
    return p is not None and p <= ALPHA


def _subscale(model: Measures, name: str, people: People | None, human: Any, honest: Any) -> dict[str, Any]:
    alike = repeats_alike(model, name)
    found: dict[str, Any] = {"icc": alike.icc, "design_effect": alike.design_effect, "correlation": None, "mae": None}
    if people is None or human is None:
        return found
    ours, theirs = _pairs(model, people, name)
    compared = agreement(honest, human, name)
    r = pearson("", ours, theirs)
    return found | {
        "correlation": r.value,
        "correlation_low": r.low,
        "correlation_high": r.high,
        "mae": float(abs(ours - theirs).mean()) if len(ours) else None,
        "mean_gap": compared.mean_gap.value,
        "mean_gap_low": compared.mean_gap.low,
        "mean_gap_high": compared.mean_gap.high,
        "p_equivalent": compared.p_equivalent,
    }


def _pairs(model: Measures, people: People, name: str) -> tuple[FloatArray, FloatArray]:
    """Published differences of the factors that both have."""
    import numpy as np

    def by_factor(found: Any) -> dict[tuple[str, int | None], float]:
        return {
            (cell.emotion, cell.factor_index): cell.comparison.difference
            for cell in found
            if cell.level == "factor" and cell.comparison.difference is not None
        }

    ours, theirs = by_factor(cells(model, name)), by_factor(people_cells(people, name))
    both = [place for place in ours if place in theirs]
    return np.array([ours[place] for place in both]), np.array([theirs[place] for place in both])


def views_table(found: dict[str, Any]) -> Table:
    rows = []
    for model in found["models"]:
        parts = model["subscales"]
        rows.append(
            (
                model["source"],
                *(model[f"significant_{rule}"] for rule in ("as_published", "holm", "situation_as_unit", "honest")),
                *(parts[name][what] for what in ("design_effect", "correlation", "mae") for name in parts),
            )
        )
    reliability = found["people_reliability"]
    ceiling = (
        "People's split-half reliability, the ceiling of the correlations: "
        + ", ".join(f"{name} {value:.2f}" for name, value in reliability.items() if value is not None)
        + "."
        if reliability
        else "The people's workbook is not there: no comparison with people."
    )
    return Table(
        "EmotionBench under stricter rules (significant factor cells at 0.01, of 72)",
        (
            *("model", "as published", "with Holm", "situation as unit", "situation as unit, Holm"),
            *("design effect P", "design effect N", "r with people P", "r with people N", "MAE P", "MAE N"),
        ),
        tuple(rows),
        note=ceiling,
    )
