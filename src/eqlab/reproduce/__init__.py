"""The published tables, recomputed from the published raw data, with every difference explained."""

from importlib import import_module
from pathlib import Path
from typing import Any, Protocol, cast

from eqlab.core.errors import UsageError
from eqlab.core.results import Table

STUDIES = ("eqbench", "emotionbench", "empathy", "short-forms")


class Reproduction(Protocol):
    """What each study's module offers."""

    def reproduce(self, data: Path | None) -> dict[str, Any]:
        """From this folder of published data; None: from the usual one, or from what ships with the package."""
        ...

    def tables(self, report: dict[str, Any]) -> list[Table]: ...


def load(study: str) -> Reproduction:
    if study not in STUDIES:
        raise UsageError(f"There is no study '{study}'.", f"There are: {', '.join(STUDIES)}.")
    return cast(Reproduction, import_module(f"eqlab.reproduce.{study.replace('-', '_')}"))
