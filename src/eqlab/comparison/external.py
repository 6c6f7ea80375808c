"""Scores from elsewhere, from a CSV file: a column `model`, one column per score, and `NAME_se` for its standard errors
where they are known. An empty cell is a missing value."""

import csv
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from eqlab.core.errors import DataError

_FORMAT = "Write one row per model: a column 'model', then one column per score; 'NAME_se' holds standard errors."


@dataclass(frozen=True, slots=True)
class External:
    name: str
    scores: Mapping[str, float]
    errors: Mapping[str, float]
    """Standard errors; empty unless every score has one."""


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
    found: dict[str, dict[str, float]] = {name: {} for name in columns if name != "model"}
    seen: set[str] = set()
    for row in reader:
        cells = {name.strip(): (value or "").strip() for name, value in row.items() if isinstance(name, str)}
        model = cells["model"]
        if not model or model in seen:
            what = f"the model '{model}' a second time" if model else "no model"
            raise DataError(f"{path}, line {reader.line_num}: {what}.", "Every row names one model.")
        seen.add(model)
        for name in found:
            if cells.get(name):
                found[name][model] = _number(cells[name], path, reader.line_num, name)
    scores = [name for name in found if not _is_error(name, found)]
    return [
        External(name, found[name], errors if set(errors := found.get(f"{name}_se", {})) >= set(found[name]) else {})
        for name in scores
    ]


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
