"""Which instruments there are, whose they are, and what is missing to use them here."""

from collections.abc import Collection
from dataclasses import dataclass

from eqlab.instruments.catalogue import INSTRUMENTS
from eqlab.instruments.definition import Instrument
from eqlab.instruments.wording import QUESTIONNAIRES

_IN_QUESTIONNAIRES = ("PANAS", "AGQ", "DASS-21", "BDI", "FDS", "MJS", "GASP", "FSS", "BFNE")


@dataclass(frozen=True, slots=True)
class Listed:
    instrument: Instrument
    wording: str
    """Where its words come from: "shipped", or the published file that has them."""
    ready: bool
    missing: str
    """What is missing here and how to get it; empty if nothing is."""


def wording_file(instrument: Instrument) -> str:
    """The published file that holds an instrument's words."""
    return QUESTIONNAIRES if instrument.key in _IN_QUESTIONNAIRES else f"instruments/{instrument.key.lower()}.toml"


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
