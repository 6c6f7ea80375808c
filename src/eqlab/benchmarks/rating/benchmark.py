"""Ratings as a benchmark: its items are other subjects' replies, its subjects judges or people. A judge's run is
started by `eqlab judge`, people's ratings come from a file or from a web study; `eqlab run` never asks it.

Reading a rater's reply, scale by scale: one word of choice where the form is one scale of words (Bad, Okay, Good;
First, Tie, Second), else a line for each scale, or a JSON object. What could be read in two ways, is off the scale
or lies between two values is not read; the scales beside it are."""

import json
import random
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from eqlab.benchmarks.common.reading import is_refusal, read_json, unfenced
from eqlab.benchmarks.rating.rated import item_of, rated
from eqlab.benchmarks.rating.trials import (
    FILE,
    RatingOptions,
    choose,
    designed,
    from_jsonl,
    is_published,
    judged,
    pairs,
    prompt_sha256,
)
from eqlab.core.answers import Reading
from eqlab.core.benchmark import NO_CONTEXT, Asking, Context, OptionHelp, Scored, Selection, Source
from eqlab.core.errors import UsageError
from eqlab.core.forms import Form, Scale
from eqlab.core.results import ItemScore, Result
from eqlab.core.rubric import Rubric, from_json, in_one_word
from eqlab.core.runs import PEOPLE
from eqlab.core.trials import Trial
from eqlab.data.items import PUBLISHED, shipped

_NOISE = re.compile(r"[*_`#\"'“”‘’]+")


def read_scales(trial: Trial, text: str) -> Reading:
    """All scales: ok. Some: unparseable, so it is asked for again, with the values that could be read; if nothing
    better comes they count, each for its own scale."""
    form = trial.form
    if in_one_word(form.scales):
        if trial.mode == "json":
            return _whole_json(text, form)
        (scale,) = form.scales
        value = read_choice(text, scale)
        found = {} if value is None else {scale.key: value}
        why = f"not one of {' or '.join(label for _, label in scale.anchors)}"
    else:
        found = _object(text, form) if unfenced(text).lstrip().startswith("{") else _lines(text[:_LONGEST], form)
        why = "no scale has a readable value"
    missing = [key for key in form.keys if key not in found]
    if not missing:
        return Reading("ok", {key: found[key] for key in form.keys})
    if not found:
        return Reading("refused" if is_refusal(text) else "unparseable", note=why)
    return Reading("unparseable", found, note=f"no readable value for {', '.join(missing)}")


# -- one word ------------------------------------------------------------------------------------------------------

_ALSO = {"ok": "okay", "equal": "tie", "draw": "tie", "neither": "tie", "both": "tie"}
_LAST = re.compile(r"(?:\A|(?<=\w))(\W*+)(\w++)\W*+\Z")
"""The last word, and what stands between it and the word before."""
_BREAK = re.compile(r"\n|[.:;!?]\s")
_TAIL = 2000


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
    named = {by_name[match.group(1)] for place in places for match in re.finditer(place, plain)}
    last = _LAST.search(plain[-_TAIL:])
    if last and last[2] in by_name and (_BREAK.search(last[1]) or len(last[0]) == len(plain)):
        named.add(by_name[last[2]])
    return named.pop() if len(named) == 1 else None


def _whole_json(text: str, form: Form) -> Reading:
    reading = read_json(text, form)
    for value in reading.values.values() if reading.status == "ok" else ():
        if value != int(value):
            return Reading("unparseable", note=f"{value} is not a whole number")
    return reading


# -- a line for each scale, or an object ---------------------------------------------------------------------------

_LONGEST = 20_000
"""Characters of a reply that are looked at: no rating is longer."""
_LINE = re.compile(r"\A[\s>•\-–\d.)]*+([^\W\d][\w \-/]{0,60}?)\s*(?:\([^)\n]{0,40}\))?\s*[:=–—]\s*(.{1,200})\Z")
_NUMBER = re.compile(
    r"\A(-?\d{1,6}(?:\.\d{1,6})?)\s*(?:(?:/|of|out of)\s*(\d{1,6}))?(?=\Z|[\s,;.!(–—-])(?!\s*[–—-]\s*\d)"
)


def _lines(text: str, form: Form) -> dict[str, int]:
    """The lines that begin with a scale's name. A scale that is named twice with two values has none."""
    scales = {_bare(scale.key): scale for scale in form.scales}
    named: dict[str, set[int | None]] = {}
    for line in text.splitlines():
        at = _LINE.match(" ".join(_NOISE.sub("", line).split())) if len(line) < 500 else None
        scale = scales.get(_bare(at[1])) if at else None
        if at and scale:
            named.setdefault(scale.key, set()).add(_value(at[2].strip(), scale))
    return {key: value for key, own in named.items() if len(own) == 1 and (value := next(iter(own))) is not None}


def _object(text: str, form: Form) -> dict[str, int]:
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
    return {
        scale.key: value
        for scale in form.scales
        if scale.key not in twice and (value := _whole(values.get(scale.key), scale)) is not None
    }


def _whole(value: Any, scale: Scale) -> int | None:
    if isinstance(value, str):
        return _value(value.strip(), scale)
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value or abs(value) > 1e6:
        return None
    return int(value) if value == int(value) and scale.holds(value) else None


def _value(text: str, scale: Scale) -> int | None:
    """A whole number of the scale, alone or before what explains it; or a label, word by word."""
    at = _NUMBER.match(text)
    if at:
        value = float(at[1])
        on_scale = value == int(value) and scale.holds(value) and (at[2] is None or int(at[2]) == scale.high)
        return int(value) if on_scale else None
    return {label.casefold(): value for value, label in scale.anchors}.get(text.rstrip(".").casefold())


def _bare(name: str) -> str:
    return re.sub(r"[\s_\-]+", "", name).casefold()


RUBRIC_FILE = "rubric.json"
_TRIES, _TEMPERATURE_STEP, _TOKENS, _A_SCALE = 3, 0.15, 256, 64
"""Tokens: room for a reply, and for each scale of a long rubric, for judges who add a word of why."""


class Ratings:
    name = "rating"
    title = "Ratings"
    asks = "Replies of others are rated, without their names."
    protocol = 1
    item_sets = ("replies", "published", "imported")
    way_out = "Start a judge with 'eqlab judge MODEL --on RUN'."

    def option_help(self) -> Sequence[OptionHelp]:
        return RatingOptions.help()

    def options(self, item_set: str, given: Mapping[str, str]) -> Mapping[str, Any]:
        return with_rubric(RatingOptions.read(self.name, item_set, given).plain(), shipped(PUBLISHED))

    def sources(self, item_set: str, options: Mapping[str, Any]) -> Sequence[Source]:
        raise UsageError("Ratings need replies to rate.", self.way_out)

    def plan(
        self, files: Mapping[str, bytes], options: Mapping[str, Any], selection: Selection
    ) -> Iterator[tuple[Trial, int]]:
        """In a shuffled order, so that no rater sees one arm after the other."""
        typed = RatingOptions.of(options)
        rubric, rows = rubric_of(files, typed), choose(from_jsonl(files[FILE]), selection.limit, selection.seed)
        if not typed.pairwise:
            trials = [judged(row, rubric, selection) for row in rows]
        elif typed.adaptive:
            from eqlab.benchmarks.rating.strengths import first_round

            trials = first_round(rows, rubric, typed, selection)
        else:
            trials = pairs(rows, rubric, selection, designed(rows, typed))
        random.Random(selection.seed).shuffle(trials)
        for repeat in range(selection.repeats or 1):
            for trial in trials:
                yield trial, repeat

    def more(
        self,
        files: Mapping[str, bytes],
        options: Mapping[str, Any],
        selection: Selection,
        scored: Iterable[Scored],
    ) -> Sequence[tuple[Trial, int]]:
        """The pairs to ask next, where they are chosen by what is known."""
        typed = RatingOptions.of(options)
        if not typed.adaptive:
            return ()
        from eqlab.benchmarks.rating.strengths import next_round

        return next_round(from_jsonl(files[FILE]), rubric_of(files, typed), typed, selection, rated(scored))

    def asking(self, trial: Trial, options: Mapping[str, Any]) -> Asking:
        """Temperature 0: a judge's rating should not hang on a die. Raised only after a reply that was no rating."""
        return Asking(_TRIES, 0.0, _TEMPERATURE_STEP, max(_TOKENS, _A_SCALE * len(trial.form.scales)))

    def read(self, trial: Trial, text: str, options: Mapping[str, Any]) -> Reading:
        return read_scales(trial, text)

    def score(
        self, subject: str, scored: Iterable[Scored], options: Mapping[str, Any], context: Context = NO_CONTEXT
    ) -> Result:
        from eqlab.benchmarks.rating.score import judged_beside_people, result

        if context.model is None or subject == PEOPLE:
            return result(subject, rated(scored), options)
        return judged_beside_people(context.model, scored, options, context)

    def item(self, scored: Scored, options: Mapping[str, Any]) -> ItemScore:
        (rating,) = rated([scored])
        return item_of(rating)


def with_rubric(options: Mapping[str, Any], rubric: Rubric) -> dict[str, Any]:
    """A run's options under a rubric. The published one is told by the hash of its prompt alone, as it was before there
    were others."""
    hashed = {**options, "prompt_sha256": prompt_sha256(rubric, pairwise=options["pairwise"])}
    if is_published(rubric):
        return hashed
    return {**hashed, "rubric": rubric.name, "rubric_title": rubric.title, "rubric_sha256": rubric.sha256}


def rubric_of(files: Mapping[str, bytes], options: RatingOptions) -> Rubric:
    """The rubric that a run is asked with."""
    if RUBRIC_FILE not in files:
        return shipped(PUBLISHED)
    return from_json(files[RUBRIC_FILE].decode(), options.rubric, options.rubric_title)
