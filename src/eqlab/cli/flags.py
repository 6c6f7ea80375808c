"""Flags that several commands share, and reading 'name=value' pairs."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from eqlab.core.errors import UsageError

StoreFlag = Annotated[
    str,
    typer.Option(
        "--store",
        metavar="URL",
        envvar="EQLAB_STORE",
        show_default="the user's data folder",
        help="Where runs are kept: a path, sqlite:///PATH or postgresql://…",
    ),
]
DataFlag = Annotated[
    Path | None,
    typer.Option("--data", metavar="DIR", help="Folder with the published data (else EQLAB_DATA, else the cache)."),
]
JsonFlag = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]


def read_pairs(flag: str, pairs: Sequence[str]) -> dict[str, str]:
    """{'name': 'value'} from 'name=value' arguments."""
    found = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name:
            raise UsageError(f"{flag} '{pair}' is not of the form name=value.", f"Write {flag} temperature=0.")
        found[name.strip()] = value.strip()
    return found


def read_settings(pairs: Sequence[str]) -> dict[str, Any]:
    """Model settings: numbers, true, false, null and JSON become such; the rest stays text."""
    import json

    settings: dict[str, Any] = {}
    for name, value in read_pairs("--set", pairs).items():
        if name in ("model", "messages", "stream", "response_format"):
            raise UsageError(f"--set {name} would change the protocol.", "Set sampling settings only.")
        try:
            settings[name] = json.loads(value)
        except ValueError:
            settings[name] = value
    return settings
