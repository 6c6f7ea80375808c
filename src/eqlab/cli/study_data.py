"""`eqlab study lock`, `export`, `person` and `erase`: a study's plan and its data."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from eqlab.cli.flags import DataFlag, StoreFlag

if TYPE_CHECKING:
    from eqlab.store.study.participation import Participation

File = Annotated[Path, typer.Argument(metavar="FILE", help="A study file.")]
PersonFlag = Annotated[str, typer.Option("--person", metavar="NAME", help="The person's pseudonym, as in exports.")]
PanelFlag = Annotated[
    str, typer.Option("--panel-id", metavar="ID", help="The panel's id of the person; needs the server's secret.")
]


def begun_study(file: Path, store: str, data: Path | None) -> "Participation":
    """The participation of a study that has begun in this store."""
    from eqlab.store.open import open_store
    from eqlab.store.study.create import check_begun
    from eqlab.store.study.participation import Participation
    from eqlab.study.build_design import open_study

    opened = open_store(store)
    _, design = open_study(file, opened, data)
    check_begun(opened, design)
    return Participation(opened, design)


def lock(file: File, store: StoreFlag = "", data: DataFlag = None) -> None:
    """Freeze the analysis plan. Results are called confirmatory only if this was done before the first answer.

    What is frozen: [analysis] of the study file, the study's pages and the version of eqlab. It cannot be undone."""
    from importlib.metadata import version

    from eqlab.runs.provenance import provenance
    from eqlab.store.open import open_store
    from eqlab.store.study.create import create_study
    from eqlab.store.study.lock import lock_plan, moment, standing
    from eqlab.store.study.participation import Participation
    from eqlab.study.build_design import open_study

    opened = open_store(store)
    text, design = open_study(file, opened, data)
    create_study(opened, design, text, version("eqlab"), provenance({}))
    participation = Participation(opened, design)
    made, new = lock_plan(participation, version("eqlab"))
    stands = standing(participation, version("eqlab"))
    opened.close()
    typer.echo(f"{'Locked' if new else 'Was locked before, with the same plan,'} on {moment(made.at)}.")
    typer.echo(f"sha256 {made.sha256} (eqlab {made.version})")
    typer.echo(f"Results will be {stands.label}: {stands.reason}.")


def export(
    file: File,
    output: Annotated[Path, typer.Option("-o", "--output", metavar="DIR", help="The folder to write to.")] = Path(
        "study-export"
    ),
    store: StoreFlag = "",
    data: DataFlag = None,
) -> None:
    """Export answers, participants and events as CSV and Parquet, with a codebook. No panel id is in any of them."""
    from eqlab.study.results.export import export_all

    participation = begun_study(file, store, data)
    for path, rows in export_all(participation, output):
        typer.echo(f"{path}" + ("" if rows is None else f"  {rows} rows"))
    participation.store.close()


def person(
    file: File,
    name: PersonFlag = "",
    panel_id: PanelFlag = "",
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="FILE", help="Where to.", show_default="the screen")
    ] = None,
    store: StoreFlag = "",
    data: DataFlag = None,
) -> None:
    """Export everything that is stored about one person, as JSON."""
    from eqlab.cli.plain import as_json
    from eqlab.store.study.erase import export_person

    participation = begun_study(file, store, data)
    found = export_person(participation, _find(participation, name, panel_id))
    participation.store.close()
    text = as_json(found)
    if output is None:
        typer.echo(text)
        return
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(text + "\n", encoding="utf-8")
    typer.echo(f"{output}  {len(found['answers'])} answers")


def erase(
    file: File,
    name: PersonFlag = "",
    panel_id: PanelFlag = "",
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    store: StoreFlag = "",
    data: DataFlag = None,
) -> None:
    """Erase everything about one person, for good. Their place opens again; that somebody was erased stays known.

    Exports and backups made before still hold their answers: delete them there too."""
    from eqlab.store.study.erase import erase_person, export_person

    participation = begun_study(file, store, data)
    who = _find(participation, name, panel_id)
    known = export_person(participation, who)
    state = known["participants"][0]["state"]
    if not yes:
        typer.confirm(f"Erase {who} ({state}, {len(known['answers'])} answers) for good?", abort=True)
    gone = erase_person(participation, who)
    participation.store.close()
    typer.echo(f"Erased: {who} and {gone} answers.")


def _find(participation: "Participation", name: str, panel_id: str) -> str:
    from eqlab.core.errors import UsageError

    if bool(name) == bool(panel_id):
        raise UsageError("Name one person.", "Give --person NAME or --panel-id ID.")
    if name:
        return name
    from eqlab.core.folders import data_folder
    from eqlab.store.study.erase import find_by_panel
    from eqlab.study.panel_ids import panel_hash
    from eqlab.study.web.credentials import known_secret

    found = find_by_panel(participation, panel_hash(known_secret(data_folder()), panel_id))
    if found is None:
        raise UsageError(
            f"Nobody with this panel id takes part in study '{participation.study.id}'.",
            "Check the id, and that the secret is the server's.",
        )
    return found
