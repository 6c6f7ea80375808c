"""`eqlab study analyze`: what came of a study, and what it may be called."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from eqlab.cli.flags import DataFlag, JsonFlag, StoreFlag, check_writable
from eqlab.cli.plain import print_text
from eqlab.cli.study_named import File, begun_study

if TYPE_CHECKING:
    from eqlab.study.results.analysis import StudyAnalysis


def analyze(
    file: File,
    report: Annotated[
        Path | None, typer.Option("--report", metavar="FILE", help="Write the HTML report too.", show_default="none")
    ] = None,
    store: StoreFlag = "",
    data: DataFlag = None,
    as_json: JsonFlag = False,
) -> None:
    """Analyse a study: who came, who is left out and why, the result with its intervals.

    Confirmatory if the plan was locked before the first answer and has not changed since; else exploratory."""
    from eqlab.cli.output import print_json
    from eqlab.study.results.analysis import analyse, write_report

    check_writable(report)
    with begun_study(file, store, data) as participation:
        found = analyse(participation)
        written = write_report(participation, found, report) if report else None
    if as_json:
        print_json(analysis_json(found))
        return
    show(found)
    if written:
        print_text(f"\nReport: {written.resolve()}")


def show(found: "StudyAnalysis") -> None:
    """The result in words, the people, and the tables that are about the plan; the report has all of them."""
    from eqlab.cli.output import print_table, say
    from eqlab.cli.results import print_results

    say(f"{found.design.study.title} (study '{found.design.study.id}'): {found.standing.label}\n")
    say(f"{found.result.sentence}\n", style="bold")
    print_results([found.result], [found.result.sentence])
    for table in found.shown:
        typer.echo("")
        print_table(table)


def analysis_json(found: "StudyAnalysis") -> dict[str, Any]:
    from dataclasses import asdict

    from eqlab.cli.results import result_json

    return {
        "study": found.design.study.id,
        "standing": {"label": found.standing.label, **asdict(found.standing)},
        "excluded": {person: list(why) for person, why in found.sample.excluded.items()},
        "analysed": [person.person for person in found.sample.kept],
        "result": result_json(found.result),
    }
