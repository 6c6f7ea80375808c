"""The published tables, recomputed from the published raw data, with every difference explained."""

from importlib import import_module
from pathlib import Path
from typing import Any, Protocol, cast

from eqlab.core.errors import UsageError
from eqlab.core.results import Table

TITLES = {
    "eqbench": "EQ-Bench, recomputed",
    "emotionbench": "EmotionBench, recomputed",
    "empathy": "Empathy (Welivita & Pu), recomputed",
    "sage": "SAGE, recomputed",
    "short-forms": "Short forms of EQ-Bench",
}
STUDIES = tuple(TITLES)


class Reproduction(Protocol):
    """What each study's module offers. The report is JSON's own types only: it is printed as it is."""

    def reproduce(self, data: Path | None) -> dict[str, Any]:
        """From this folder of published data; None: from the usual one, or from what ships with the package."""
        ...

    def findings(self, report: dict[str, Any]) -> list[str]:
        """The answer in a few sentences, to be read first."""
        ...

    def tables(self, report: dict[str, Any]) -> list[Table]: ...

    def rows_of(self, report: dict[str, Any]) -> list[dict[str, Any]]:
        """The numbers as flat rows, for a spreadsheet."""
        ...


def load(study: str) -> Reproduction:
    if study not in STUDIES:
        raise UsageError(f"There is no study '{study}'.", f"There are: {', '.join(STUDIES)}.")
    return cast(Reproduction, import_module(f"eqlab.reproduce.{study.replace('-', '_')}"))
