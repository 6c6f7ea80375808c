"""`eqlab study pause`, `resume`, `close`, `people`, `release`, `ban`, `links`, `approve`, `audit` and `researcher`:
what a researcher does while a study runs."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from eqlab.cli.flags import DataFlag, JsonFlag, StoreFlag, YesFlag
from eqlab.cli.plain import print_text
from eqlab.core.plural import many

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


def pause(file: File, store: StoreFlag = "", data: DataFlag = None) -> None:
    """Let nobody new in for now. Who is inside goes on."""
    _door(file, store, data, "paused")


def resume(file: File, store: StoreFlag = "", data: DataFlag = None) -> None:
    """Open the door of a paused study again."""
    _door(file, store, data, "open")


def close(
    file: File,
    yes: YesFlag = False,
    store: StoreFlag = "",
    data: DataFlag = None,
) -> None:
    """Close a study for good. Who is inside may finish."""
    if not yes:
        typer.confirm("Nobody new can take part any more, ever. Close the study?", abort=True)
    _door(file, store, data, "closed")


def _door(file: Path, store: str, data: Path | None, status: str) -> None:
    from eqlab.store.study.studies import set_status
    from eqlab.study.results.analysis import current_user

    with begun_study(file, store, data) as participation:
        set_status(participation, status, current_user())  # type: ignore[arg-type]
    typer.echo(f"Study '{participation.study.id}' is {status}.")


def people(file: File, store: StoreFlag = "", data: DataFlag = None, as_json: JsonFlag = False) -> None:
    """List everybody who came, by pseudonym, with what might call for an action; while a locked study is under way
    without their arms."""
    from eqlab.cli.output import number, print_json, print_rows
    from eqlab.core.results import as_dict
    from eqlab.study.results.people import people_rows

    with begun_study(file, store, data) as participation:
        rows = people_rows(participation)
        shut = participation.store.shut(participation.design.run.id)
    if as_json:
        print_json([as_dict(row) for row in rows])
        return
    columns = ["person", "state", *(() if shut else ("arm",)), "page", "minutes", "silent", "flags"]
    told = [
        [row.person, row.state, *(() if shut else (row.arm,)), f"{row.page}/{row.pages}", number(row.minutes, 1),
         f"{row.silent:.0f}", ", ".join(row.flags)]
        for row in rows
    ]  # fmt: skip
    if shut:
        print_text("Arms are not shown while a locked study is under way.")
    print_rows("", columns, told, right=["page", "minutes", "silent"])


def signals(
    file: File,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="FILE", help="Write a CSV table.", show_default="none")
    ] = None,
    store: StoreFlag = "",
    data: DataFlag = None,
    as_json: JsonFlag = False,
) -> None:
    """Show how each person worked: pasted text, typing speed, time out of sight, repeated phrases, replies like a
    model's.

    Flags to look at, never verdicts: no rule of an analysis uses them, and nobody should be refused payment for one.
    How much people wrote is what some studies measure: that somebody looked is kept."""
    from eqlab.cli.flags import check_writable
    from eqlab.cli.output import print_json, print_table
    from eqlab.core.results import as_dict
    from eqlab.data.files import write_whole
    from eqlab.study.results.analysis import current_user, log_look, read_moment
    from eqlab.study.results.people import signal_table
    from eqlab.study.results.people import signals as read_signals
    from eqlab.tables.data import table_csv

    check_writable(output)
    with begun_study(file, store, data) as participation:
        stands, _, participants = read_moment(participation)
        found = read_signals(participation, participants)
        label = log_look(participation, current_user(), "read", stands) if any(one.texts for one in found) else ""
    if as_json:
        print_json([as_dict(one) for one in found])
        return
    if output is None:
        if label:
            typer.echo(f"This look at what people wrote is on record; results are {label}.")
        print_table(signal_table(found))
        return
    write_whole(output, table_csv(signal_table(found)))
    path = f"{output} ({label})" if label else str(output)
    typer.echo(f"{path}  people: {len(found)}, with a flag: {sum(bool(one.flags) for one in found)}")


def release(
    file: File,
    name: PersonFlag = "",
    panel_id: PanelFlag = "",
    yes: YesFlag = False,
    store: StoreFlag = "",
    data: DataFlag = None,
) -> None:
    """Open the place of somebody who will not come back. They cannot go on; what they answered is kept.

    After the plan is locked, releasing somebody who has answered makes the result exploratory."""
    _send_away(file, name, panel_id, yes, store, data, "returned")


def ban(
    file: File,
    name: PersonFlag = "",
    panel_id: PanelFlag = "",
    yes: YesFlag = False,
    store: StoreFlag = "",
    data: DataFlag = None,
) -> None:
    """Shut somebody out: their place opens, even if it was filled, and their answers are left out of the analysis.

    After the plan is locked, banning somebody who has answered makes the result exploratory."""
    _send_away(file, name, panel_id, yes, store, data, "banned")


def _send_away(file: Path, name: str, panel_id: str, yes: bool, store: str, data: Path | None, state: str) -> None:
    from eqlab.core.moves import ENDED
    from eqlab.store.study.records import export_person
    from eqlab.study.results.analysis import current_user

    what, done = ("Release", "released") if state == "returned" else ("Ban", "banned")
    with begun_study(file, store, data) as participation:
        who = find_person(participation, name, panel_id)
        now = export_person(participation, who)["participants"][0]["state"]
        if state == "returned" and now in ENDED:
            print_text(f"Nothing is left to release: {who} is {now}.")
            return
        if not yes and (warning := locked_warning(participation, who)):
            typer.confirm(f"{warning}{what} {who}?", abort=True)
        participation.send_away(who, state, current_user())  # type: ignore[arg-type]
    typer.echo(f"{who} is {done}.")


def locked_warning(participation: "Participation", who: str) -> str:
    """What is to be known before somebody is taken out of a study by its researcher."""
    from eqlab.store.study.lock import read_lock

    if read_lock(participation) is None:
        return ""
    return f"The plan is locked: if {who} has answered, the result is exploratory from then on. "


def links(
    file: File,
    ids: Annotated[Path, typer.Argument(metavar="IDS", help="A text file with a panel's id on each line.")],
    url: Annotated[str, typer.Option("--url", metavar="URL", help="How participants reach the server.")],
    days: Annotated[int, typer.Option("--days", min=1, max=3650, help="How long the links are good.")] = 60,
) -> None:
    """Write a signed link for each id: with it a person is let in from any device, and nobody else can make one. It is
    good for 60 days, or --days.

    With `signed = true` under [panel] only such links open the door."""
    import time

    from eqlab.core.environment import data_folder
    from eqlab.core.errors import UsageError
    from eqlab.study.file import read_study
    from eqlab.study.panels import read_panel_id, signed_link
    from eqlab.study.web.credentials import known_secret

    study = read_study(file.read_text(encoding="utf-8"), file.name)
    if not study.panel.person:
        raise UsageError(f"Study '{study.id}' has no panel.", "Name one under [panel].")
    lines = ids.read_text(encoding="utf-8-sig").splitlines()
    named = {number: line.strip() for number, line in enumerate(lines, start=1) if line.strip()}
    for number, one in named.items():
        if read_panel_id({study.panel.person: one}, study.panel) is None:
            raise UsageError(
                f"{ids}, line {number}: '{one}' is no id that this study's door lets in.",
                "Correct it, or set id_pattern under [panel].",
            )
    secret = known_secret(data_folder())
    until = int(time.time()) + days * 24 * 3600
    for one in named.values():
        typer.echo(signed_link(secret, url.rstrip("/"), study.id, study.panel, one, until))


def approve(
    file: File,
    ids: Annotated[
        Path, typer.Argument(metavar="IDS", help="The panel's own list: a CSV file, or an id on each line.")
    ],
    column: Annotated[
        str, typer.Option("--column", help="Column with the ids.", show_default="the panel's parameter, or the first")
    ] = "",
    bonus: Annotated[float, typer.Option("--bonus", min=0.0, help="Pay everybody who completed so much more.")] = 0.0,
    output: Annotated[Path, typer.Option("-o", "--output", metavar="DIR", help="The folder to write to.")] = Path("."),
    store: StoreFlag = "",
    data: DataFlag = None,
) -> None:
    """Say what became of each id on the panel's list: whom to approve, whom to ask to return, who gets a bonus.

    The store has no panel id, only hashes: the list comes from the panel, and the secret from the server."""
    from eqlab.core.environment import data_folder
    from eqlab.study.results.people import approvals, write_approvals
    from eqlab.study.web.credentials import known_secret

    with begun_study(file, store, data) as participation:
        found = approvals(participation, known_secret(data_folder()), ids, column)
    for path, rows in write_approvals(found, output, participation.study.id, bonus):
        typer.echo(f"{path}  {many(rows, 'row')}")


def audit(file: File, store: StoreFlag = "", data: DataFlag = None, as_json: JsonFlag = False) -> None:
    """Show what researchers did: locked, looked, exported, erased, released, paused."""
    from eqlab.cli.output import print_json, print_rows
    from eqlab.core.results import as_dict
    from eqlab.store.study.lock import moment
    from eqlab.store.study.researchers import read_audit

    with begun_study(file, store, data) as participation:
        entries = read_audit(participation.store, participation.study.id)
    if as_json:
        print_json([as_dict(entry) for entry in entries])
        return
    rows = [
        [moment(one.at), one.who, one.action, ", ".join(f"{name} {value}" for name, value in one.detail.items())]
        for one in entries
    ]
    print_rows("", ["when", "who", "what", "detail"], rows)


def add_researcher(
    name: Annotated[str, typer.Argument(help="What they log in as.")],
    role: Annotated[str, typer.Option("--role", help="viewer (sees progress) or manager (may also act and export).")],
    store: StoreFlag = "",
) -> None:
    """Add a researcher, or change their role and password."""
    import re
    import time

    from eqlab.core.errors import UsageError
    from eqlab.store.access import open_store
    from eqlab.store.study.researchers import ROLES, keep_researcher
    from eqlab.study.results.analysis import current_user
    from eqlab.study.web.credentials import make_hash

    if role not in ROLES:
        raise UsageError(f"There is no role '{role}'.", f"There are: {', '.join(ROLES)}.")
    if not re.fullmatch(r"[A-Za-z0-9._@-]{1,64}", name) or name == "researcher":
        raise UsageError(
            f"'{name}' cannot be a researcher's name.", "Use letters, digits and . _ @ -; 'researcher' is taken."
        )
    chosen = typer.prompt("Password (at least 10 characters)", hide_input=True, confirmation_prompt=True)
    with open_store(store) as opened:
        new = keep_researcher(opened, name, role, make_hash(chosen), time.time(), current_user())
    typer.echo(f"{name} is {'now' if new else 'still'} a researcher, as {role}.")


def drop_researcher(name: Annotated[str, typer.Argument(help="Who.")], store: StoreFlag = "") -> None:
    """Remove a researcher; they are logged out at once."""
    import time

    from eqlab.store.access import open_store
    from eqlab.store.study.researchers import remove_researcher
    from eqlab.study.results.analysis import current_user

    with open_store(store, existing=True) as opened:
        remove_researcher(opened, name, time.time(), current_user())
    typer.echo(f"{name} is not a researcher any more.")


def list_researchers(store: StoreFlag = "") -> None:
    """List researchers and their roles. Who has the server's own password is 'researcher', a manager."""
    from eqlab.cli.output import print_rows
    from eqlab.store.access import open_store
    from eqlab.store.study.researchers import read_researchers

    with open_store(store, existing=True) as opened:
        rows = [[researcher.name, researcher.role] for researcher in read_researchers(opened)]
    print_rows("", ["name", "role"], rows)
