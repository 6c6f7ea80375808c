"""Reading several scales in a judge's reply: a line for each, or a JSON object. What could be read in two ways, is off
the scale or lies between two values is not read; the scales beside it are."""

import json
import re
from collections.abc import Mapping
from typing import Any

from eqlab.benchmarks.common.reading import is_refusal, unfenced
from eqlab.core.answers import Reading
from eqlab.core.forms import Scale
from eqlab.core.trials import Trial

_MOST = 20_000
"""Characters of a reply that are looked at: no rating is longer."""
_NOISE = re.compile(r"[*_`#\"'“”‘’]+")
_LINE = re.compile(r"\A[\s>•\-–\d.)]*+([^\W\d][\w \-/]{0,60}?)\s*(?:\([^)\n]{0,40}\))?\s*[:=–—]\s*(.{1,200})\Z")
_NUMBER = re.compile(
    r"\A(-?\d{1,6}(?:\.\d{1,6})?)\s*(?:(?:/|of|out of)\s*(\d{1,6}))?(?=\Z|[\s,;.!(–—-])(?!\s*[–—-]\s*\d)"
)


def read_scales(trial: Trial, text: str) -> Reading:
    """All scales: ok. Some: unparseable, so it is asked for again, with the values that could be read; if nothing
    better comes they count, each for its own scale."""
    found = _object(text, trial) if _looks_like_json(text) else _lines(text[:_MOST], trial)
    missing = [key for key in trial.form.keys if key not in found]
    if not missing:
        return Reading("ok", {key: found[key] for key in trial.form.keys})
    if not found:
        why = "no scale has a readable value"
        return Reading("refused" if is_refusal(text) else "unparseable", note=why)
    return Reading("unparseable", found, note=f"no readable value for {', '.join(missing)}")


def _looks_like_json(text: str) -> bool:
    return unfenced(text).lstrip().startswith("{")


def _object(text: str, trial: Trial) -> dict[str, int]:
    twice: set[str] = set()

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        names = [key for key, _ in pairs]
        twice.update(key for key in names if names.count(key) > 1)
        return dict(pairs)

    try:
        values = json.loads(unfenced(text), object_pairs_hook=once)
    except (ValueError, RecursionError):
        return {}
    if not isinstance(values, dict):
        return {}
    found: dict[str, int] = {}
    for scale in trial.form.scales:
        value = values.get(scale.key)
        if scale.key not in twice and (read := _whole(value, scale)) is not None:
            found[scale.key] = read
    return found


def _whole(value: Any, scale: Scale) -> int | None:
    if isinstance(value, str):
        return _value(value.strip(), scale)
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value or abs(value) > 1e6:
        return None
    return int(value) if value == int(value) and scale.holds(value) else None


def _lines(text: str, trial: Trial) -> dict[str, int]:
    """The lines that begin with a scale's name. A scale that is named twice with two values has none."""
    names = {_plain(scale.key): scale for scale in trial.form.scales}
    seen: dict[str, set[int | None]] = {}
    for line in text.splitlines():
        at = _LINE.match(" ".join(_NOISE.sub("", line).split())) if len(line) < 500 else None
        scale = names.get(_plain(at[1])) if at else None
        if at and scale:
            seen.setdefault(scale.key, set()).add(_value(at[2].strip(), scale))
    return {key: value for key, own in seen.items() if len(own) == 1 and (value := next(iter(own))) is not None}


def _value(said: str, scale: Scale) -> int | None:
    """A whole number of the scale, alone or before what explains it; or a label, word by word."""
    at = _NUMBER.match(said)
    if at:
        value = float(at[1])
        on_scale = value == int(value) and scale.holds(value) and (at[2] is None or int(at[2]) == scale.high)
        return int(value) if on_scale else None
    labels: Mapping[str, int] = {label.casefold(): value for value, label in scale.anchors}
    return labels.get(said.rstrip(".").casefold())


def _plain(name: str) -> str:
    return re.sub(r"[\s_\-]+", "", name).casefold()
