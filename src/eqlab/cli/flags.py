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
ConcurrencyFlag = Annotated[
    int, typer.Option("--max-concurrency", min=1, help="Requests to one endpoint at once, at most.")
]
BaseUrlFlag = Annotated[
    str, typer.Option("--base-url", metavar="URL", help="Any server with the OpenAI-compatible chat API.")
]
SettingFlag = Annotated[
    list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="Model setting, e.g. temperature=0.")
]
StructuredFlag = Annotated[
    bool | None,
    typer.Option(
        "--structured/--free-text",
        show_default="structured for embedded, else free text",
        help="Ask for the form as JSON under a schema.",
    ),
]
TimeoutFlag = Annotated[float, typer.Option("--timeout", min=1.0, help="Seconds until a request counts as lost.")]
ReportFlag = Annotated[Path, typer.Option("--report", metavar="FILE", help="Where the HTML report goes.")]
RepeatsFlag = Annotated[int | None, typer.Option("--repeats", min=1, help="Ask every trial N times.")]
JsonFlag = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]
REPORT = Path("eqlab-report.html")


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
