"""`eqlab reproduce`: a published study's tables, recomputed from its own raw data."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from eqlab.cli.flags import DataFlag, JsonFlag, check_writable

if TYPE_CHECKING:
    from eqlab.reproduce.claims import Study

_CsvFlag = Annotated[Path | None, typer.Option("--csv", metavar="FILE", help="Write the rows to a CSV file, too.")]
_MarkdownFlag = Annotated[bool, typer.Option("--markdown", help="Print Markdown instead of tables.")]


def reproduce(
    study: Annotated[str, typer.Argument(help="eqbench, emotionbench, empathy, sage or short-forms.")],
    data: DataFlag = None,
    as_json: JsonFlag = False,
    markdown: _MarkdownFlag = False,
    csv: _CsvFlag = None,
) -> None:
    """Recompute a study's published numbers and explain every difference."""
    from eqlab.cli.output import print_json
    from eqlab.core.errors import UsageError
    from eqlab.reproduce import load
    from eqlab.reproduce.present import as_csv, as_markdown

    if as_json and markdown:
        raise UsageError("--json and --markdown exclude each other.", "Choose one.")
    found = load(study)
    check_writable(csv)
    report = found.reproduce(data)
    if csv is not None:
        _write(csv, as_csv(found.rows_of(report)))
    if as_json:
        print_json(report)
    elif markdown:
        typer.echo(as_markdown(found.title, found.findings(report), found.tables(report)), nl=False)
    else:
        show(found, report)
    if csv is not None:
        typer.echo(f"Rows: {csv}", err=True)


def show(study: "Study", report: dict[str, Any]) -> None:
    """The answer in sentences, then the tables."""
    from eqlab.cli.output import print_table, say

    for sentence in study.findings(report):
        say(sentence)
    for table in study.tables(report):
        typer.echo()
        print_table(table)


def _write(path: Path, content: bytes) -> None:
    from eqlab.data.files import write_whole

    write_whole(path, content)
