"""Flags that several commands share."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from eqlab.cli.tree import ADVANCED
from eqlab.core.errors import UsageError
from eqlab.core.settings import read_settings
from eqlab.models.timeouts import PATIENCE

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
    int,
    typer.Option(
        "--max-concurrency", min=1, help="Requests to one endpoint at once, at most.", rich_help_panel=ADVANCED
    ),
]
BaseUrlFlag = Annotated[
    str,
    typer.Option("--base-url", metavar="URL", help="Another address, for the provider's dialect or OpenAI's."),
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
        rich_help_panel=ADVANCED,
    ),
]
TimeoutFlag = Annotated[
    float, typer.Option("--timeout", min=1.0, help="Seconds for a whole reply.", rich_help_panel=ADVANCED)
]
SilenceFlag = Annotated[
    float, typer.Option("--silence", min=1.0, help="Seconds without a byte of a reply.", rich_help_panel=ADVANCED)
]
_PATIENCE = "Seconds that an outage, or a rate limit, is waited for."
PatienceFlag = Annotated[float, typer.Option("--patience", min=0.0, help=_PATIENCE, rich_help_panel=ADVANCED)]
FilePatienceFlag = Annotated[
    float | None,
    typer.Option(
        "--patience", min=0.0, help=_PATIENCE, rich_help_panel=ADVANCED, show_default=f"the file's, else {PATIENCE:.0f}"
    ),
]
EffortFlag = Annotated[
    str,
    typer.Option(
        "--effort",
        metavar="LEVEL",
        help="How hard to think: none, minimal, low, medium, high or max.",
        show_default="the model's own",
    ),
]
DialectFlag = Annotated[
    str,
    typer.Option(
        "--dialect",
        metavar="NAME",
        help="Wire format: openai_chat, openai_responses, anthropic, gemini, azure.",
        show_default="the provider's",
        rich_help_panel=ADVANCED,
    ),
]
DryRunFlag = Annotated[bool, typer.Option("--dry-run", help="Show calls, tokens and cost; ask nothing.")]
MaxCostFlag = Annotated[
    float | None,
    typer.Option("--max-cost", metavar="AMOUNT", help="Stop before the run has cost more, in the prices' currency."),
]
MaxTokensFlag = Annotated[
    int | None, typer.Option("--max-tokens-total", metavar="N", help="Stop before the run has taken more tokens.")
]
PricesFlag = Annotated[
    Path | None,
    typer.Option("--prices", metavar="FILE", envvar="EQLAB_PRICES", help="Prices of your own (TOML), before ours."),
]
BatchFlag = Annotated[
    bool, typer.Option("--batch", help="Ask by batch: half price, within a day (openai, anthropic, google).")
]
PollFlag = Annotated[
    float,
    typer.Option(
        "--poll",
        min=0.05,
        metavar="SECONDS",
        help="With --batch: look at it this often, at most.",
        rich_help_panel=ADVANCED,
    ),
]
ReportFlag = Annotated[Path, typer.Option("--report", metavar="FILE", help="Where the HTML report goes.")]
RepeatsFlag = Annotated[int | None, typer.Option("--repeats", min=1, help="Ask every trial N times.")]
YesFlag = Annotated[bool, typer.Option("--yes", help="Do not ask.")]
JsonFlag = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]
REPORT = Path("eqlab-report.html")
POLL = 60.0


def check_writable(*paths: Path | None) -> None:
    """Before anything is asked or computed: a result that cannot be written is no result."""
    for path in paths:
        if path is not None:
            _check_writable(path)


def check_report(path: Path | None) -> None:
    """Before anything is asked: a report that could not be written, or not under this ending."""
    from eqlab.publish.report.write import check_ending

    check_writable(path)
    if path is not None:
        check_ending(path)


def _check_writable(path: Path) -> None:
    import os

    whole = path.expanduser().absolute()
    nearest = next(folder for folder in whole.parents if folder.exists())
    if whole.is_dir():
        raise UsageError(f"{path} is a folder.", "Name a file in it.")
    target = whole if whole.exists() else nearest
    if not os.access(target, os.W_OK) or not nearest.is_dir() or str(nearest) in ("/proc", "/sys"):
        raise UsageError(f"{path} cannot be written.", "Name a file in a folder that you may write to.")


def model_settings(pairs: Sequence[str] | None, effort: str = "", dialect: str = "") -> dict[str, Any]:
    """What --set, --effort and --dialect say together; raises UsageError on what makes no sense."""
    from eqlab.models.chat import sort_settings
    from eqlab.models.wire.contract import named_wire

    settings = read_settings(pairs or [])
    for name, value in (("effort", effort), ("dialect", dialect and named_wire(dialect))):
        if value:
            settings[name] = value
    sort_settings(settings)
    return settings
