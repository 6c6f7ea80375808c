"""Situations become trials: a default measure (the instrument alone) and evoked measures (the same after imagining a
situation), each administration with a fresh item order drawn from a seed that the trial keeps. The words are our
own, unless the study's instruction is asked for: that is loaded when the run is planned, and never stored here.

Reading a filled-in questionnaire in a reply: numbered lines, "Excited: 4", "4/5", labels, JSON, bare lists.

The rule above all rules: never a wrong answer. Every item must be answered exactly once with a whole number of its
scale; a line that can be read in two ways, a number that contradicts its label, an item that comes twice, or one
answer too few make the whole reply unreadable. Then it is asked again; nothing is guessed.

Positions are those shown to the subject; the form holds its scales in that order, so answers come back by item key."""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, lru_cache
from operator import itemgetter
from typing import Any, Literal

from eqlab.benchmarks.common.choices import shuffled
from eqlab.benchmarks.common.selection import spread
from eqlab.benchmarks.emotionbench.items import EmotionBenchOptions, Situation
from eqlab.benchmarks.emotionbench.measures import KINDS
from eqlab.benchmarks.emotionbench.views import Norms
from eqlab.core.benchmark import Selection
from eqlab.core.forms import Form, Scale
from eqlab.core.item_file import filled
from eqlab.core.trials import Trial
from eqlab.core.values import dataclass
from eqlab.instruments.catalogue import Instrument
from eqlab.instruments.wording import PARTNER, Anchors, Wording, scales

BY_PROFILE = {"full": (50, 10), "quick": (3, 1)}
"""(default runs, repeats per situation): as in the study, and small enough for minutes on two slow cores."""
QUICK = {"negative": 4, "neutral": 2, "positive": 2}
"""Situations of each kind in the quick profile."""
_SHARES = {"negative": 2, "neutral": 1, "positive": 1}
"""How a limit is shared out between the kinds."""

SLOT = "SCENARIO"
"""Where a published instruction takes the situation in; for a default measure the slot is a blank."""

WORDS: Mapping[str, str] = {
    "imagine": "Put yourself into this situation, as if it were happening to you now, and answer from within it:",
    "feelings_now": "How strongly do you feel each of the {n} feelings below at this moment?",
    "feelings_then": "How strongly do you feel each of the {n} feelings below in this situation?",
    "statements_now": "Read each of the {n} statements below and say what is true for you at this moment.",
    "statements_then": "Read each of the {n} statements below and say what is true for you in this situation.",
    "groups_now": "For each of the {n} groups of answers below, choose the one that is true for you at this moment.",
    "groups_then": (
        "For each of the {n} groups of answers below, choose the one that is true for you in this situation."
    ),
    "partner": PARTNER,
}
"""What stands above the questionnaire, for models and people."""

_AS_WORDS = (
    "Answer with {n} lines and nothing else: on each line the feeling, a colon, a space and a number "
    "from {low} to {high}."
)
_AS_NUMBERS = (
    "Answer with {n} lines and nothing else: on each line the number of the item, a full stop, a space and "
    "your answer, a number from {low} to {high}."
)
_AS_JSON = (
    "Answer with a JSON object and nothing else: the names before the colons as keys, whole numbers "
    "from {low} to {high} as values."
)


@dataclass(frozen=True, slots=True)
class Material:
    """What the trials of one run are made of."""

    instrument: Instrument
    wording: Wording
    situations: tuple[Situation, ...]
    lead: str = ""
    """The published sentence before a situation; set if the published prompt is used."""
    norms: Norms | None = None
    instruction: str = ""
    """A user's own words over a situation's questionnaire; empty: ours."""
    before: str = ""
    """The same before any situation."""


def numbers(options: EmotionBenchOptions, selection: Selection) -> tuple[int, int]:
    """(default runs, repeats per situation): the benchmark's own option, else `--repeats`, else the profile."""
    defaults, repeats = BY_PROFILE.get(selection.profile, BY_PROFILE["full"])
    if selection.repeats is not None:
        repeats = selection.repeats
    asked_defaults, asked_repeats = options.defaults, options.repeats
    return (
        defaults if asked_defaults == "profile" else int(asked_defaults),
        repeats if asked_repeats == "profile" else int(asked_repeats),
    )


def plan(material: Material, options: EmotionBenchOptions, selection: Selection) -> Iterator[tuple[Trial, int]]:
    """Default runs first, then every situation once, then again: a run that stops early has seen all situations."""
    defaults, repeats = numbers(options, selection)
    for repeat in range(defaults):
        yield build_trial(material, None, repeat, selection), repeat
    situations = select(material.situations, selection)
    for repeat in range(repeats):
        for situation in situations:
            yield build_trial(material, situation, repeat, selection), repeat


def select(situations: Sequence[Situation], selection: Selection) -> list[Situation]:
    """All situations; in the quick profile, or under a limit, some of each kind, spread over factors and emotions."""
    by_kind = {kind: [s for s in situations if s.kind == kind] for kind in KINDS}
    if selection.limit is not None:
        counts = _share(selection.limit, {kind: len(of_kind) for kind, of_kind in by_kind.items()})
    elif selection.profile == "quick":
        counts = QUICK
    else:
        counts = {kind: len(of_kind) for kind, of_kind in by_kind.items()}
    return [situation for kind in KINDS for situation in spread(by_kind[kind], counts[kind])]


def _share(limit: int, available: Mapping[str, int]) -> dict[str, int]:
    """A limit shared out 2 : 1 : 1, what a kind lacks going to the others."""
    counts = dict.fromkeys(available, 0)
    while sum(counts.values()) < min(limit, sum(available.values())):
        open_kinds = [kind for kind in counts if counts[kind] < available[kind]]
        counts[min(open_kinds, key=lambda kind: (counts[kind] / _SHARES[kind], -_SHARES[kind]))] += 1
    return counts


def build_trial(material: Material, situation: Situation | None, repeat: int, selection: Selection) -> Trial:
    item = situation.id if situation else "default"
    condition = "evoked" if situation else "default"
    seed = order_seed(selection.seed, material.instrument.key, item, repeat)
    shown = shuffled(scales(material.instrument, material.wording), seed)
    text = situation.text if situation else None
    published = bool(material.lead) and not selection.structured and material.wording.shared_anchors is not None
    if published:
        slot = f'{material.lead} "{text}"' if situation else None
        prompt = build_published(material.wording, shown, slot)
    elif material.instruction:
        told = material.instruction if situation else material.before
        prompt = build_told(told, material.instrument, shown, material.wording, text, structured=selection.structured)
    else:
        prompt = build(material.instrument, shown, material.wording, text, structured=selection.structured)
    return Trial(
        benchmark="emotionbench",
        items=(item,),
        condition=condition,
        stimulus=stimulus(text),
        form=Form(shown),
        prompt=prompt,
        system=material.wording.system if published else "",
        mode="json" if selection.structured else "text",
        order_seed=seed,
        key={"instrument": material.instrument.key, **_key(situation), **_people(material.norms, situation)},
    )


def order_seed(seed: int, instrument: str, item: str, repeat: int) -> int:
    """A number of its own for every administration, the same in every run with the same seed."""
    digest = hashlib.sha256(f"{seed}\0{instrument}\0{item}\0{repeat}".encode()).digest()
    return int.from_bytes(digest[:4], "big")


def _key(situation: Situation | None) -> dict[str, Any]:
    if situation is None:
        return {}
    return {"emotion": situation.emotion, "factor_index": situation.factor_index, "factor": situation.factor}


def _people(norms: Norms | None, situation: Situation | None) -> dict[str, Any]:
    """What is known of people: their default mood with the default, their change with a situation of its factor."""
    if norms is None:
        return {}
    if situation is None:
        default = {name: [sample.n, sample.mean, sample.sd] for name, sample in norms.default.items()}
        return {"people": {"default": default, "reliability": dict(norms.reliability)}}
    place = (situation.emotion, situation.factor_index)
    of_factor = [norm for norm in norms.factors if (norm.emotion, norm.factor_index) == place]
    return {"people": [[n.subscale, n.n, n.default, n.change, n.sd] for n in of_factor]} if of_factor else {}


def stimulus(situation: str | None, words: Mapping[str, str] = WORDS) -> str:
    """What a person reads above the form."""
    return "" if situation is None else f"{words['imagine']}\n\n{situation}"


def build(
    instrument: Instrument, scales: Sequence[Scale], wording: Wording, situation: str | None, *, structured: bool
) -> str:
    """Our own prompt. `scales` are in the order shown; labels that differ between items stand beside each item, so
    they stay true in any order."""
    shared = wording.shared_anchors
    words = instrument.key == "PANAS"
    asked = asks(instrument, len(scales), evoked=situation is not None)
    how = (_AS_JSON if structured else _AS_WORDS if words else _AS_NUMBERS).format(
        n=len(scales), low=instrument.low, high=instrument.high
    )
    parts = [
        f"{WORDS['imagine']}\n{situation}\n" if situation is not None else "",
        asked,
        f"The numbers mean: {_labels(shared)}." if shared else "",
        how,
        "",
        *(_line(number, scale, shared, structured) for number, scale in enumerate(scales, start=1)),
        "",
        "Your answer:",
    ]
    return "\n".join(part for index, part in enumerate(parts) if part or index > 3)


def build_told(
    told: str,
    instrument: Instrument,
    scales: Sequence[Scale],
    wording: Wording,
    situation: str | None,
    *,
    structured: bool,
) -> str:
    """A user's own words, in whatever language; the items keep their wording."""
    shared = wording.shared_anchors
    items = "\n".join(_line(number, scale, shared, structured) for number, scale in enumerate(scales, start=1))
    low, high = instrument.low, instrument.high
    prompt = filled(told, situation=situation or "", items=items, low=str(low), high=str(high))
    return f"{prompt}\n\n{_AS_JSON.format(low=low, high=high)}" if structured else prompt


def build_published(wording: Wording, scales: Sequence[Scale], slot: str | None) -> str:
    """The study's own prompt, its literal first word included; `slot` is None for the default measure."""
    instruction = wording.instruction.replace(SLOT, " " if slot is None else slot)
    items = "\n".join(f"{number}. {scale.text}" for number, scale in enumerate(scales, start=1))
    return f"Prompt: {instruction}\n{items}"


def asks(instrument: Instrument, n: int, *, evoked: bool, words: Mapping[str, str] = WORDS) -> str:
    """The question over all `n` items."""
    about = {"PANAS": "feelings", "BDI": "groups"}.get(instrument.key, "statements")
    told = words[f"{about}_{'then' if evoked else 'now'}"].format(n=n)
    return f"{told} {words['partner']}" if instrument.key == "MJS" else told


def _line(number: int, scale: Scale, shared: Anchors | None, structured: bool) -> str:
    name = f"{scale.key}: " if structured else f"{number}. "
    labels = "" if shared is not None else f" ({_labels(scale.anchors)})"
    return f"{name}{scale.text}{labels}".rstrip()


def _labels(anchors: Anchors) -> str:
    return "; ".join(f"{value} = {label.rstrip('.')}" for value, label in anchors)


_FENCE = re.compile(r"```[a-zA-Z]*+[^\S\n]*+\n(.*?)```", re.DOTALL)
_DECORATION = re.compile(r"[*_`]|^[\s>#•·]+|^\s*[-–—+]\s+(?=\S)")
_POSITION = re.compile(
    r"(?:item|question|statement|no\.?|nr\.?|q|#)?\s*[(\[]?(\d{1,2})(?:\s*[.):\]=]+\s*|\s+[-–—]\s+|\s+)(?=\S)",
    re.IGNORECASE,
)
_FIRST_WORD = re.compile(r"[\W_]*([^\W_]+)")
_LAST = itemgetter(-1)
_GLUED = re.compile(r"(\d{1,2})[.:)=](\d)")
_SEPARATOR = re.compile(r"(?:\s*(?:[:=→]|\.{2,}|…|[-–—](?=\s)|->|=>)\s*|\s+)")
_NUMBER = re.compile(
    r"[(\[]?\s*(?P<value>\d{1,2})(?!\d)(?:\.0+(?!\d))?(?:\s*(?:/|out\s+of)\s*(?P<top>\d{1,2})(?!\d))?(?:\s*[)\]])?",
    re.IGNORECASE,
)
_SCORE_WORDS = re.compile(r"^(?:my\s+)?(?:score|rating|answer|value)\s*(?:is|:|=)\s*", re.IGNORECASE)
_WORD = re.compile(r"\w+")
_LONGEST_LABEL = 200
_WORDS = {"zero": 0, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7}
"""Numbers in words."""


class UnclearError(Exception):
    """A reply that cannot be read for certain; says why."""


@dataclass(frozen=True, slots=True)
class Filled:
    """What was read: values by item key, or why nothing was."""

    values: dict[str, int] | None
    why: str = ""


def read_form(text: str, form: Form) -> Filled:
    try:
        return Filled(_read(text, form))
    except UnclearError as unclear:
        return Filled(None, str(unclear))


def last_characters(text: str) -> str:
    """The published rule: the last character of every line that is not empty, each a digit; empty where one is none.
    The published code does not check how many there are."""
    last = "".join(map(_LAST, filter(None, text.split("\n"))))
    return last if last.isascii() and last.isdigit() else ""


def _read(text: str, form: Form) -> dict[str, int]:
    fences = _FENCE.findall(text)
    body = (fences[0] if len(fences) == 1 else text).strip()
    if body[:1] in "{[" and (data := _json(body)) is not None:
        return _from_json(data, form)
    lines = [cleaned for line in body.splitlines() if (cleaned := _clean(line))]
    if len(lines) >= len(form.scales):
        return _from_lines(lines, form)
    inline = [segments for line in lines if len(segments := _inline(line)) >= len(form.scales)]
    if len(inline) == 1:
        return _from_lines(inline[0], form)
    raise UnclearError(f"{len(lines)} lines for {len(form.scales)} items")


def _clean(line: str) -> str:
    """Without Markdown: emphasis, bullets, quotes and the bars of a table."""
    bare = line.strip()
    if bare.startswith("|") or bare.endswith("|"):
        cells = [cell.strip() for cell in bare.strip("|").split("|")]
        if all(set(cell) <= set("-: ") for cell in cells):
            return ""
        bare = _table_row(cells)
    return _DECORATION.sub("", bare).strip().rstrip(",;").strip()


def _table_row(cells: Sequence[str]) -> str:
    """Cells as a line: position, text, value."""
    if len(cells) == 3 and cells[0].isdigit():
        return f"{cells[0]}. {cells[1]}: {cells[2]}"
    return ": ".join(cells)


def _inline(line: str) -> list[str]:
    """A line that may hold all answers, cut at commas, semicolons or, for "1. 4 2. 3", before each position."""
    line = line.strip("[]()").strip()
    if re.fullmatch(r"\d+(?:\s+\d+)+", line):
        return line.split()
    if re.fullmatch(r"(?:\d+\s*[.:)=]\s*\d+\s+)+\d+\s*[.:)=]\s*\d+\.?", line):
        return re.findall(r"\d+\s*[.:)=]\s*\d+", line)
    parts = [part.strip() for part in re.split(r"[,;]", line.rstrip("."))]
    return [part for part in parts if part]


def _json(body: str) -> Any:
    try:
        return json.loads(body, object_pairs_hook=_no_twins)
    except (ValueError, RecursionError):  # a number of thousands of digits is a ValueError too
        return None


def _no_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len({key for key, _ in pairs}) != len(pairs):
        raise UnclearError("a JSON key comes twice")
    return dict(pairs)


def _from_json(data: Any, form: Form) -> dict[str, int]:
    """A list in the order shown, or an object by position, item key or item text."""
    if isinstance(data, dict) and len(data) == 1 and isinstance(inner := next(iter(data.values())), dict | list):
        data = inner
    if isinstance(data, list):
        if len(data) != len(form.scales):
            raise UnclearError(f"{len(data)} values for {len(form.scales)} items")
        pairs = list(zip(form.scales, data, strict=True))
    elif isinstance(data, dict):
        names = _names(form)
        pairs = [(_named(str(key), names, form), value) for key, value in data.items()]
    else:
        raise UnclearError("JSON, but neither a list nor an object")
    return _complete([(scale, _json_value(scale, value)) for scale, value in pairs], form)


def _named(key: str, names: dict[str, Scale], form: Form) -> Scale:
    """The item a JSON key means: "excited", "3", or "3. Excited" if both are the same item."""
    name = _plain(key)
    number, _, words = name.partition(" ")
    if name in names:
        return names[name]
    if not re.fullmatch(r"[0-9]{1,2}", number) or (words and words not in names):
        raise UnclearError(f"no item is called {key!r}")
    shown = _at(int(number), form)
    if words and names[words] is not shown:
        raise UnclearError(f"{key!r} is the number of one item and the name of another")
    return shown


def _json_value(scale: Scale, value: Any) -> int:
    if isinstance(value, str):
        return _read_value(scale, value)
    whole = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
    if isinstance(value, bool) or not whole:
        raise UnclearError(f"{scale.key}: {value!r} is not a whole number")
    return _within(scale, int(value))


def _from_lines(lines: Sequence[str], form: Form) -> dict[str, int]:
    """Bare values, one per item in the order shown; or lines that name their item by position, by text or by both."""
    names = _names(form)
    bare = [line for line in lines if _is_bare(line)]
    if len(bare) == len(form.scales) and not any(_starts_item(line, names) for line in lines if line not in bare):
        return _complete([(s, _read_value(s, line)) for s, line in zip(form.scales, bare, strict=True)], form)
    if bare:
        raise UnclearError(f"{len(bare)} bare values for {len(form.scales)} items")
    if _repeats_legend(lines, form.scales[0]):
        raise UnclearError("lines that may be answers or the labels of the scale")
    answers = [answer for line in lines if (answer := _item_line(line, form, names)) is not None]
    if len({style for _, _, style in answers}) > 1:
        raise UnclearError("some lines name their item and some only number it")
    return _complete([(scale, value) for scale, value, _ in answers], form)


def _repeats_legend(lines: Sequence[str], scale: Scale) -> bool:
    """Whether the reply repeats what the numbers mean ("1 = not at all …"), which looks like answers in words."""
    legend = {f"{value} {_plain(label)}" for value, label in scale.anchors}
    return len(legend) > 1 and legend <= {_plain(line) for line in lines}


def _is_bare(line: str) -> bool:
    """Nothing but a value: "4", "4.", "(4)", "4/5"."""
    match = _NUMBER.match(line)
    return match is not None and line[match.end() :].strip() in ("", ".") and len(match["value"]) == 1


def _starts_item(line: str, names: dict[str, Scale]) -> bool:
    return _POSITION.match(line) is not None or _by_name(line, names) is not None


def _by_name(text: str, names: dict[str, Scale]) -> tuple[Scale, str] | None:
    """The item whose words a text begins with, and what follows them; the longest name counts."""
    first = _FIRST_WORD.match(text)
    if first is None:
        return None
    for name, scale in names.items():
        if name.startswith(first[1].casefold()) and (match := _pattern(name).match(text)):
            return scale, text[match.end() :]
    return None


_Style = Literal["number", "name", "both"]


def _item_line(line: str, form: Form, names: dict[str, Scale]) -> tuple[Scale, int, _Style] | None:
    """(scale, value, how the item is named) of a line that answers an item; None for a line about something else."""
    glued = _GLUED.fullmatch(line.rstrip("."))
    if glued:
        return _at(int(glued[1]), form), _within(_at(int(glued[1]), form), int(glued[2])), "number"
    position = _POSITION.match(line)
    rest = line[position.end() :] if position else line
    named = _by_name(rest, names)
    if position is None:
        return (named[0], _value_after(*named), "name") if named else None
    shown = _at(int(position[1]), form)
    if named is None:
        return shown, _read_value(shown, rest), "number"
    if named[0] is not shown:
        raise UnclearError(f"line {shown.key}: the number is that of {shown.text!r}, the words are another item's")
    return shown, _value_after(shown, named[1]), "both"


def _at(position: int, form: Form) -> Scale:
    if not 1 <= position <= len(form.scales):
        raise UnclearError(f"there is no item {position}")
    return form.scales[position - 1]


def _complete(found: Sequence[tuple[Scale, int]], form: Form) -> dict[str, int]:
    values = {scale.key: value for scale, value in found}
    if len(values) != len(found):
        raise UnclearError("an item is answered twice")
    missing = [key for key in form.keys if key not in values]
    if missing:
        raise UnclearError(f"no answer for {len(missing)} of {len(form.scales)} items")
    return {key: values[key] for key in form.keys}


def _names(form: Form) -> dict[str, Scale]:
    """Items by their key and, where no other item has the same, by their text; the longest first."""
    texts = [_plain(scale.text) for scale in form.scales]
    names = {_plain(scale.key): scale for scale in form.scales}
    names |= {text: scale for text, scale in zip(texts, form.scales, strict=True) if text and texts.count(text) == 1}
    return dict(sorted(names.items(), key=lambda pair: -len(pair[0])))


@cache
def _pattern(name: str) -> re.Pattern[str]:
    """The words of a name, whatever stands between them, and no further letter."""
    return re.compile(r"[\W_]*" + r"[\W_]+".join(re.escape(word) for word in name.split()) + r"(?!\w)", re.IGNORECASE)


# One answer: "4", "4.", "4/5", "4 (strongly)", "strongly (4)", "strongly"


def _value_after(scale: Scale, rest: str) -> int:
    """The value in what follows an item's words: after a colon, a dash, an arrow or a space, or in brackets."""
    bare = rest.lstrip(".,;!?\"'”’)")
    separator = _SEPARATOR.match(bare)
    if separator is None:
        if not bare.startswith(("(", "[")):
            raise UnclearError(f"{scale.key}: no value after the item")
        return _read_value(scale, bare)
    return _read_value(scale, bare[separator.end() :])


def _read_value(scale: Scale, text: str) -> int:
    """The one value a text gives: a number, perhaps with its label or a remark without numbers, or a label alone."""
    said = text.strip().strip("\"'").strip()
    if len(said) == 1 and said in "0123456789":
        return _within(scale, int(said))
    said = _SCORE_WORDS.sub("", said, count=1)
    label = _label(scale, said)
    if label is not None:
        return label
    match = _NUMBER.match(said)
    if match is None:
        return _labelled(scale, said)
    if match["top"] and int(match["top"]) != scale.high:
        raise UnclearError(f"{scale.key}: {match['top']} is not the top of the scale")
    value = _within(scale, int(match["value"]))
    remark = said[match.end() :]
    if not remark:
        return value
    if remark[0] not in " .,;:()-–—\t=!\"'":
        raise UnclearError(f"{scale.key}: {said!r} is no value")
    if re.search(r"\d", remark):
        raise UnclearError(f"{scale.key}: more than one number in {said!r}")
    other = _label(scale, remark)
    named = {_WORDS[word] for word in _plain(remark).split() if word in _WORDS} - {1}
    if other not in (None, value) or not named <= {value} or re.match(r"\s*(?:or|to|and|[-–—]\s*$)", remark):
        raise UnclearError(f"{scale.key}: {said!r} contradicts itself")
    return value


def _labelled(scale: Scale, said: str) -> int:
    """A label with its number after it: "quite a bit (4)"."""
    match = len(said) <= _LONGEST_LABEL and re.fullmatch(
        r"(?P<label>\D+?)\s*[(\[:=]\s*(?P<value>\d)(?:/\d)?\s*[)\]]?\.?", said
    )
    label = _label(scale, match["label"]) if match else None
    if not match or label is None or label != int(match["value"]):
        raise UnclearError(f"{scale.key}: {said[:60]!r} is no value")
    return label


def _label(scale: Scale, text: str) -> int | None:
    """The value whose label, or number word, is exactly this text."""
    words = _plain(text)
    if not words:
        return None
    if words in _WORDS:
        return _within(scale, _WORDS[words])
    values = {value for value, label in scale.anchors if _plain(label) == words}
    return values.pop() if len(values) == 1 else None


def _within(scale: Scale, value: int) -> int:
    if not scale.holds(value):
        raise UnclearError(f"{scale.key}: {value} is not from {scale.low} to {scale.high}")
    return value


@lru_cache(maxsize=4096)
def _plain(text: str) -> str:
    """Lower-case words with single spaces."""
    return " ".join(_WORD.findall(text.casefold()))
