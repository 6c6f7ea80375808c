"""The words of an instrument: its items and the labels of its answers. Ours ship (PANAS); the others' are read from
the published questionnaire file or from an instrument file, and stay where they are; a list says what is missing here.

Every item carries its own answer labels. For MJS that is what keeps them true in a shuffled order: its published
instruction says which labels hold for which *positions*; for BDI the labels are the item."""

import json
import re
import tomllib
from collections.abc import Collection

from eqlab.core.errors import DataError
from eqlab.core.forms import Scale
from eqlab.core.values import dataclass
from eqlab.instruments.catalogue import INSTRUMENTS, Instrument

QUESTIONNAIRES = "emotionbench/questionnaires.json"
"""Where EmotionBench keeps nine of the instruments, among the published files."""

Anchors = tuple[tuple[int, str], ...]

_PANAS_ANCHORS: Anchors = (
    (1, "barely or not at all"),
    (2, "slightly"),
    (3, "to a medium degree"),
    (4, "strongly"),
    (5, "as strongly as can be"),
)
_FETCH = "Run 'eqlab data verify', then 'eqlab data fetch'."
_IN_QUESTIONNAIRES = ("PANAS", "AGQ", "DASS-21", "BDI", "FDS", "MJS", "GASP", "FSS", "BFNE")
PARTNER = "X stands for the person you love and live with."
"""Ours, beside the items of the MJS."""
_WHICH = "Which of these fits you best?"
"""Ours: the items of the BDI are lists of answers without a question."""


@dataclass(frozen=True, slots=True)
class Wording:
    items: tuple[str, ...]
    anchors: tuple[Anchors, ...]
    """One per item."""
    instruction: str = ""
    """The published instruction with the slot SCENARIO; empty where the wording is ours."""
    system: str = ""
    """The published system message."""

    @property
    def shared_anchors(self) -> Anchors | None:
        """The labels, if they are the same for all items."""
        return self.anchors[0] if len(set(self.anchors)) == 1 else None


def own_wording(instrument: Instrument) -> Wording | None:
    """The wording that ships; None where it may not."""
    if not instrument.ships:
        return None
    return Wording(tuple(key.capitalize() for key in instrument.item_keys), (_PANAS_ANCHORS,) * instrument.n_items)


def scales(instrument: Instrument, wording: Wording) -> tuple[Scale, ...]:
    """The items as scales, in the instrument's own order."""
    return tuple(
        Scale(key, text, instrument.low, instrument.high, anchors, reverse=number in instrument.reverse)
        for number, key, text, anchors in zip(
            instrument.numbers, instrument.item_keys, wording.items, wording.anchors, strict=True
        )
    )


def wording_file(instrument: Instrument) -> str:
    """The published file that holds an instrument's words."""
    return QUESTIONNAIRES if instrument.key in _IN_QUESTIONNAIRES else f"instruments/{instrument.key.lower()}.toml"


def read_wording(content: bytes, instrument: Instrument) -> Wording:
    """The words of an instrument in the published file that holds them."""
    name = wording_file(instrument)
    if name == QUESTIONNAIRES:
        return read_questionnaires(content, instrument)
    return read_instrument_file(content, instrument, name)


def read_questionnaires(content: bytes, instrument: Instrument, path: str = QUESTIONNAIRES) -> Wording:
    """The wording of one instrument in EmotionBench's questionnaire file."""
    try:
        entries = json.loads(content)
        by_name = {entry["name"]: entry for entry in entries}
    except (ValueError, TypeError, KeyError) as error:
        raise DataError(f"{path} is not a questionnaire file ({type(error).__name__}: {error}).", _FETCH) from error
    if instrument.key not in by_name:
        raise DataError(f"{path} has no {instrument.key}.", f"Give an instrument file for {instrument.key}.")
    entry = by_name[instrument.key]
    try:
        texts = [str(entry["questions"][str(number)]) for number in instrument.numbers]
        instruction, system = str(entry["prompt"]), str(entry["inner_setting"])
    except (KeyError, TypeError) as error:
        raise DataError(f"{path}: {instrument.key} lacks {error}.", _FETCH) from error
    if instrument.key == "BDI":
        options = [_options(instrument, text, path) for text in texts]
        return Wording((_WHICH,) * instrument.n_items, tuple(options), instruction, system)
    return Wording(tuple(texts), _anchors_by_item(instruction, instrument), instruction, system)


def read_instrument_file(content: bytes, instrument: Instrument, path: str) -> Wording:
    """An instrument file (TOML: key, low, high, anchors, and one [[item]] with number, text, reverse for each item).
    Its facts must be those of our key: a file of another edition is refused rather than scored wrongly."""
    try:
        data = tomllib.loads(content.decode())
        items = sorted(data["item"], key=lambda item: int(item["number"]))
        reverse = tuple(int(item["number"]) for item in items if item.get("reverse"))
        facts = (str(data["key"]).casefold(), int(data["low"]), int(data["high"]), len(items), reverse)
        anchors = tuple(enumerate((str(label) for label in data.get("anchors", ())), start=instrument.low))
        texts = tuple(str(item["text"]) for item in items)
    except (KeyError, TypeError, ValueError) as error:
        raise DataError(f"{path} is not an instrument file ({type(error).__name__}: {error}).") from error
    wanted = (instrument.key.casefold(), instrument.low, instrument.high, instrument.n_items, instrument.reverse)
    if facts != wanted:
        raise DataError(f"{path} is not the {instrument.key} we can score: it has {facts}, the key {wanted}.")
    return Wording(texts, (anchors,) * instrument.n_items)


_LABEL = re.compile(r'(\d)\s*(?:denotes|=)\s*"([^"]+)"')
_SPAN = re.compile(r"questions?\s+(\d+)\s+to\s+(?:question\s+)?(\d+)", re.IGNORECASE)


def _anchors_by_item(instruction: str, instrument: Instrument) -> tuple[Anchors, ...]:
    """Labels as the instruction gives them: for all items, or group by group with the positions they hold for."""
    tokens = sorted([*_LABEL.finditer(instruction), *_SPAN.finditer(instruction)], key=lambda match: match.start())
    found: dict[int, Anchors] = {}
    group: list[tuple[int, str]] = []
    closed = False
    for token in tokens:
        if token.re is _LABEL:
            group = [] if closed else group
            group.append((int(token.group(1)), token.group(2)))
            closed = False
        else:
            found |= dict.fromkeys(range(int(token.group(1)), int(token.group(2)) + 1), tuple(group))
            closed = True
    return tuple(found.get(number, () if found else tuple(group)) for number in instrument.numbers)


def _options(instrument: Instrument, text: str, path: str) -> Anchors:
    """The answers of a BDI item, which is nothing but its answers: "0. … 1. … 2. … 3. …"."""
    values = range(instrument.low, instrument.high + 1)
    pattern = r"\s+".join(rf"{value}\.\s*(.+?)" for value in values)
    match = re.fullmatch(rf"\s*{pattern}\s*", text, re.DOTALL)
    if match is None:
        raise DataError(f"{path}: an item of {instrument.key} is not a list of answers from 0 to 3.", _FETCH)
    return tuple(zip(values, match.groups(), strict=True))


@dataclass(frozen=True, slots=True)
class Listed:
    instrument: Instrument
    wording: str
    """Where its words come from: "shipped", or the published file that has them."""
    ready: bool
    missing: str
    """What is missing here and how to get it; empty if nothing is."""


def list_instruments(present: Collection[str]) -> list[Listed]:
    """All instruments, given the names of the published files that are present (`<source>/<path>`)."""
    return [_listed(instrument, present) for instrument in INSTRUMENTS.values()]


def _listed(instrument: Instrument, present: Collection[str]) -> Listed:
    if instrument.ships:
        return Listed(instrument, "shipped", True, "")
    name = wording_file(instrument)
    if name in present:
        return Listed(instrument, name, True, "")
    way = "eqlab data fetch emotionbench" if name == QUESTIONNAIRES else "a folder with an instrument file, --data DIR"
    return Listed(instrument, name, False, f"wording: {name} ({way})")
