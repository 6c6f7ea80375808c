"""Reading one word of choice in a judge's reply. What could be read in two ways is not read."""

import re

from eqlab.benchmarks.common.reading import is_refusal, read_json
from eqlab.core.answers import Reading
from eqlab.core.forms import Scale
from eqlab.core.trials import Trial

_ALSO = {"ok": "okay", "equal": "tie", "draw": "tie", "neither": "tie", "both": "tie"}
_LAST = re.compile(r"(?:\A|(?<=\w))(\W*+)(\w++)\W*+\Z")
"""The last word, and what stands between it and the word before."""
_BREAK = re.compile(r"\n|[.:;!?]\s")
_TAIL = 2000
_NOISE = re.compile(r"[*_`#\"'“”‘’]+")


def read_rating(trial: Trial, text: str) -> Reading:
    (scale,) = trial.form.scales
    if trial.mode == "json":
        reading = read_json(text, trial.form)
        if reading.status == "ok" and reading.values[scale.key] != int(reading.values[scale.key]):
            return Reading("unparseable", note=f"{reading.values[scale.key]} is not a whole number")
        return reading
    value = read_choice(text, scale)
    if value is not None:
        return Reading("ok", {scale.key: value})
    names = " or ".join(label for _, label in scale.anchors)
    return Reading("refused" if is_refusal(text) else "unparseable", note=f"not one of {names}")


def read_choice(text: str, scale: Scale) -> int | None:
    """The value whose label, or number, is the whole reply, its first or last word, or follows "rating:". All places
    that name one must name the same; a label elsewhere ("not good") does not count."""
    plain = _NOISE.sub("", text).strip().lower()
    by_name = {label.lower(): value for value, label in scale.anchors}
    by_name |= {str(value): value for value, _ in scale.anchors}
    by_name |= {other: by_name[name] for other, name in _ALSO.items() if name in by_name}
    label = "|".join(sorted(by_name, key=len, reverse=True))
    places = (
        rf"\A\W*+({label})(?=\W*+\Z|\s*[.,;:!\n(–—-])",
        rf"(?:rating|answer|verdict|choice|better)(?: is)?\s*+[:=]?\s*+({label})\b",
    )
    found = {by_name[match.group(1)] for place in places for match in re.finditer(place, plain)}
    last = _LAST.search(plain[-_TAIL:])
    if last and last[2] in by_name and (_BREAK.search(last[1]) or len(last[0]) == len(plain)):
        found.add(by_name[last[2]])
    return found.pop() if len(found) == 1 else None
