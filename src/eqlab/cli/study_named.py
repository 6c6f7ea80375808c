"""The study and the person that a command names: the arguments, and what they stand for in the store."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from eqlab.store.study.participation import Participation

File = Annotated[Path, typer.Argument(metavar="FILE", help="A study file.")]
PersonFlag = Annotated[str, typer.Option("--person", metavar="NAME", help="The person's pseudonym, as in exports.")]
PanelFlag = Annotated[
    str, typer.Option("--panel-id", metavar="ID", help="The panel's id of the person; needs the server's secret.")
]


@contextmanager
def begun_study(file: Path, store: str, data: Path | None) -> "Iterator[Participation]":
    """The participation of a study that has begun in this store, which is closed afterwards."""
    from eqlab.store.access import open_store
    from eqlab.store.study.participation import Participation
    from eqlab.store.study.studies import check_begun
    from eqlab.study.build_design import open_study

    with open_store(store, existing=True) as opened:
        _, design = open_study(file, opened, data)
        check_begun(opened, design)
        yield Participation(opened, design)


def find_person(participation: "Participation", name: str, panel_id: str) -> str:
    from eqlab.core.errors import UsageError

    if bool(name) == bool(panel_id):
        raise UsageError("Name one person.", "Give --person NAME or --panel-id ID.")
    if name:
        return name
    from eqlab.core.environment import data_folder
    from eqlab.store.study.records import find_by_panel
    from eqlab.study.panels import panel_hash
    from eqlab.study.web.credentials import known_secret

    found = find_by_panel(participation, panel_hash(known_secret(data_folder()), panel_id))
    if found is None:
        raise UsageError(
            f"Nobody with this panel id takes part in study '{participation.study.id}'.",
            "Check the id, and that the secret is the server's.",
        )
    return found
