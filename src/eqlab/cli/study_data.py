"""`eqlab study lock`, `seal`, `verify`, `export`, `redo`, `publish`, `person`, `erase` and `clear`: a study's plan and
its data."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from eqlab.cli.flags import DataFlag, JsonFlag, StoreFlag, YesFlag, check_report, check_writable
from eqlab.cli.plain import print_text
from eqlab.cli.study_manage import File, PanelFlag, PersonFlag, begun_study, find_person, locked_warning
from eqlab.core.plural import many

if TYPE_CHECKING:
    from eqlab.store.study.participation import Participation
    from eqlab.study.results.analysis import StudyAnalysis
    from eqlab.study.results.lock_file import SealCheck


def lock(
    file: File,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="FILE", help="Where the lock file goes.", show_default="ID.lock.json"),
    ] = None,
    store: StoreFlag = "",
    data: DataFlag = None,
) -> None:
    """Freeze the analysis plan. Results are called confirmatory only if this was done before the first answer.

    What is frozen: [analysis] of the study file, the study's pages, the rule who is in the result, the source of the
    code that will analyse and the versions of its libraries. It cannot be undone. The lock is also written to a signed
    file, and as a registry of preregistrations asks for it (text and JSON): register it, or give it to somebody."""
    from eqlab.core.errors import UsageError
    from eqlab.core.study import PLACEHOLDER
    from eqlab.store.access import open_store
    from eqlab.store.study.lock import lock_plan, moment, read_lock
    from eqlab.store.study.participation import Participation
    from eqlab.study.build_design import begin_study, open_study
    from eqlab.study.kinds import kind_of
    from eqlab.study.results.analysis import analysis_code, analysis_libraries, current_standing, current_user
    from eqlab.study.results.lock_file import lock_file, signer, write_lock_file
    from eqlab.study.results.registration import write_registration

    _not_over(file, output)
    with open_store(store) as opened:
        text, design = open_study(file, opened, data)
        begin_study(opened, design, text)
        participation = Participation(opened, design)
        path = output or Path(f"{design.study.id}.lock.json")
        before = read_lock(participation)
        if path.exists() and (before is None or f'"locked_at": {before.at!r},'.encode() not in path.read_bytes()):
            raise UsageError(f"{path} is there, and of another lock.", "Name another file with -o, or move that one.")
        made, new = lock_plan(participation, *analysis_code(), current_user(), analysis_libraries())
        stands = current_standing(participation)
    print_text(f"{'Locked' if new else 'Was locked before, with the same plan,'} on {moment(made.at)}.")
    print_text(f"sha256 {made.sha256} (eqlab {made.version})")
    content = lock_file(design.study.id, design.study.title, made)
    write_lock_file(path, content)
    by = f"signed by key {signer(content)}" if content["signature"] else "not signed: pip install 'eqlab[study]'"
    print_text(f"{path} ({by})")
    stem = path.with_name(path.name.removesuffix(".json").removesuffix(".lock"))
    for written in write_registration(stem, design, stands):
        print_text(f"{written} (for a registry)")
    if PLACEHOLDER in text:
        print_text(f"! {file} still says '{PLACEHOLDER}': people will read it, and locked texts stay.")
    for warning in kind_of(design.study).warnings(design):
        print_text(f"! {warning}")
    called = "confirmatory" if stands.confirmatory else stands.label
    print_text(f"Results will be {called}: {stands.reason}.")


def _not_over(file: Path, output: Path | None) -> None:
    from eqlab.core.errors import UsageError

    if output is not None and output.resolve() == file.resolve():
        raise UsageError(f"{output} is the study file itself.", "Name another file with -o.")


def seal(
    file: File,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="FILE", help="Where the seal goes.", show_default="ID.seal-DATE.json"),
    ] = None,
    store: StoreFlag = "",
    data: DataFlag = None,
) -> None:
    """Hash the data so far, to put on record while a study is under way: mail the hash, or add the file to a registry.

    A seal shows no answer and counts as no look. `eqlab study verify SEAL --export DIR` (or `--study FILE`) later says
    whether everybody's answers are still those of then."""
    from eqlab.store.study.lock import moment
    from eqlab.study.results.analysis import current_user
    from eqlab.study.results.lock_file import make_seal, signer, write_lock_file

    _not_over(file, output)
    with begun_study(file, store, data) as participation:
        content = make_seal(participation, current_user())
    when = moment(content["sealed_at"])
    day = "".join(char for char in when if char.isdigit())
    path = output or Path(f"{content['study']}.seal-{day}.json")
    write_lock_file(path, content)
    people = len(content["people"])
    print_text(
        f"Sealed on {when}: {many(content['answers'], 'answer')}, people: {people}, links of the chain: "
        f"{content['links']}."
    )
    print_text(f"sha256 {content['sha256']}")
    by = f"signed by key {signer(content)}" if content["signature"] else "not signed: pip install 'eqlab[study]'"
    print_text(f"{path} ({by}). Send the hash or the file to somebody else today.")


def verify(
    paths: Annotated[
        list[Path], typer.Argument(metavar="LOCK|SEAL…", help="Files that `eqlab study lock` and `seal` wrote.")
    ],
    export_folder: Annotated[
        Path | None, typer.Option("--export", metavar="DIR", help="Hold an export against them.", show_default="none")
    ] = None,
    study: Annotated[
        Path | None, typer.Option("--study", metavar="FILE", help="Hold the store against them.", show_default="none")
    ] = None,
    store: StoreFlag = "",
    data: DataFlag = None,
) -> None:
    """Check locks and seals: hash and signature; with --export or --study also whether the data agree with them.

    The chain of events must agree with people, answers and audit trail, and the tables of an export with the stored
    rows in it. Under a seal everybody's answers of then must be what they were, unless the person was erased since.
    Ends with 1 where they are not."""
    from eqlab.store.study.lock import moment
    from eqlab.study.results.bundle import exported_breaks, exported_data
    from eqlab.study.results.export import table_breaks
    from eqlab.study.results.lock_file import SEAL, check_seal, read_lock_file, signer, stored_breaks, stored_data

    holds = True
    for path in paths:
        content = read_lock_file(path)
        sealed = content["format"] == SEAL
        what, when = ("sealed", content["sealed_at"]) if sealed else ("locked", content["locked_at"])
        print_text(f"Study '{content['study']}', {what} on {moment(when)} with eqlab {content['eqlab']}.")
        print_text(f"sha256 {content['sha256']}; signed by key {signer(content)}: the signature is right.")
        if export_folder is not None:
            _same_study(export_folder, content, sealed)
            against = exported_breaks(export_folder, when)
            if sealed:
                found = check_seal(content, *exported_data(export_folder), against, is_export=True)
                holds &= _say_check(str(export_folder), found)
            else:
                holds &= _say_breaks(against)
        if study is not None:
            with begun_study(study, store, data) as participation:
                against = stored_breaks(participation, when)
                if sealed:
                    holds &= _say_check("The store", check_seal(content, *stored_data(participation), against))
                else:
                    _same_lock(participation, content)
                    holds &= _say_breaks(against)
    if export_folder is not None:
        holds &= _say_breaks(table_breaks(export_folder))
    if not holds:
        raise typer.Exit(1)


def _same_study(folder: Path, content: dict[str, Any], sealed: bool) -> None:
    import json

    from eqlab.core.errors import DataError
    from eqlab.study.results.bundle import standing_from_plain

    about = json.loads((folder / "study.json").read_text(encoding="utf-8"))
    lock = about["standing"]["lock"] or {}
    there = (lock.get("sha256"), lock.get("at"))
    if about["study"] != content["study"] or (not sealed and there != (content["sha256"], content["locked_at"])):
        raise DataError(f"{folder} was not made under this {'seal' if sealed else 'lock'}.", "Is it the same study?")
    stands = standing_from_plain(about["standing"])
    if not sealed:
        print_text(f"{folder} was made under this lock; its results are {stands.label}.")
        if stands.looks:
            early = "once" if len(stands.looks) == 1 else f"{len(stands.looks)} times"
            print_text(f"Results were looked at {early} before the planned number was reached.")


def _same_lock(participation: "Participation", content: dict[str, Any]) -> None:
    from eqlab.core.errors import DataError
    from eqlab.store.study.lock import read_lock
    from eqlab.study.results.analysis import current_standing

    there = read_lock(participation)
    made = (content["study"], content["sha256"], content["locked_at"])
    if there is None or (participation.study.id, there.sha256, there.at) != made:
        raise DataError("The study in the store is not under this lock.", "Is it the same study, and the same store?")
    stands = current_standing(participation)
    print_text(f"The store is under this lock; its results are {stands.label}: {stands.reason}.")


def _say_check(where: str, found: "SealCheck") -> bool:
    from eqlab.core.text import people

    rest = (
        ("erased since", found.erased),
        ("CHANGED", found.changed),
        ("MISSING", found.missing),
        ("ADDED with an earlier date", found.added),
    )
    print_text(
        f"{where}: answers of {people(found.same)} as they were sealed"
        + "".join(f"; {words}: {count}" for words, count in rest if count)
        + "."
    )
    if found.later:
        print_text(
            f"The seal is newer than {where} by {many(found.later, 'link')} of the chain of events: looks or seals, "
            "nothing else."
        )
        counts = " or ".join(word for word, count in (("changed", found.changed), ("missing", found.missing)) if count)
        if counts:
            print_text(
                f"Whoever was under way in between may have answered since, and counts as {counts}: export again."
            )
    _say_breaks(found.broken)
    return found.holds


def _say_breaks(lines: Sequence[str]) -> bool:
    for line in lines:
        print_text(f"! {line}")
    return not lines


def export(
    file: File,
    output: Annotated[Path, typer.Option("-o", "--output", metavar="DIR", help="The folder to write to.")] = Path(
        "study-export"
    ),
    form: Annotated[
        str,
        typer.Option(
            "--format", help="Also as sav (SPSS) or dta (Stata), with labels: eqlab[spss].", show_default="none"
        ),
    ] = "",
    store: StoreFlag = "",
    data: DataFlag = None,
) -> None:
    """Export everything that the analysis needs: answers, participants, events and questions as CSV and Parquet, a
    codebook, the study file, the design and the stored rows. No panel id is in any of it.

    `eqlab study redo DIR` does the analysis again from the folder alone."""
    from eqlab.core.toml_file import decoded
    from eqlab.study.results.export import export_all

    with begun_study(file, store, data) as participation:
        text = decoded(file.read_bytes(), str(file))
        for path, rows in export_all(participation, output, labelled=form, say=print_text, file=text):
            print_text(f"{path}" + ("" if rows is None else f"  {many(rows, 'row')}"))
        _say_if_under_way(participation, "an export")


def _say_if_under_way(participation: "Participation", what: str) -> None:
    from eqlab.store.study.studies import read_status
    from eqlab.study.results.analysis import current_standing

    now = current_standing(participation)
    if now.done < now.planned and read_status(participation) != "closed":
        print_text(f"! This is {what} of a study under way: of {many(now.planned, 'place')} {now.done} filled.")


def publish(
    file: File,
    output: Annotated[Path, typer.Option("-o", "--output", metavar="DIR", help="The folder to write to.")] = Path(
        "study-public"
    ),
    smallest: Annotated[
        int, typer.Option("--smallest", min=2, help="People who must share all that could tell who they are.")
    ] = 5,
    times: Annotated[
        bool, typer.Option("--times", help="With the seconds on each page, in tens; nothing protects them.")
    ] = False,
    replies: Annotated[
        bool, typer.Option("--replies", help="With replies that came in tables: whoever wrote them must have agreed.")
    ] = False,
    store: StoreFlag = "",
    data: DataFlag = None,
) -> None:
    """Write a release for everybody: names and order at random, no dates, nothing that people wrote themselves, and
    nobody who differs from at least four others in state, device, language, quality of answering and what they said of
    themselves, all together."""
    from eqlab.store.study.researchers import read_audit
    from eqlab.study.results.public import publish as release

    with begun_study(file, store, data) as participation:
        done = read_audit(participation.store, participation.study.id)
        for path in release(participation, output, smallest, times=times, replies=replies):
            print_text(str(path))
        _say_if_under_way(participation, "a release")
    if any(entry.action == "published" for entry in done):
        print_text(
            "! There is an earlier release of this study. People have other names in it, and the same answers: who has "
            "both can join what each hides. Publish only one of them."
        )


def redo(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A folder that `eqlab study export` wrote.")],
    as_json: JsonFlag = False,
) -> None:
    """Do the analysis of a study again, from an export alone, and say whether the same comes out."""
    from eqlab.cli.output import print_json
    from eqlab.study.results.bundle import redo as again

    found, different = again(folder)
    if as_json:
        print_json({**analysis_json(found), "differences": different})
    else:
        show(found)
        print_text("\nThe same as in the export." if not different else "\nNot the same as in the export:")
        for line in different:
            print_text(f"  {line}")
    if different:
        raise typer.Exit(1)


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
    from eqlab.data.files import write_whole
    from eqlab.store.engine import snapshot
    from eqlab.store.study.lock import standing
    from eqlab.store.study.records import export_person
    from eqlab.study.results.analysis import analysis_code, analysis_libraries, current_user, log_look

    check_writable(output)
    with begun_study(file, store, data) as participation:
        who = find_person(participation, name, panel_id)
        with snapshot(participation.store.engine) as moment:
            stands = standing(participation, *analysis_code(), analysis_libraries(), moment)
            found = export_person(participation, who, moment)
        found = {"standing": log_look(participation, current_user(), "read", stands), **found}
    text = as_json(found)
    if output is None:
        typer.echo(text)
        return
    write_whole(output, text + "\n")
    print_text(f"{output}  {many(len(found['answers']), 'answer')}")


def erase(
    file: File,
    name: PersonFlag = "",
    panel_id: PanelFlag = "",
    yes: YesFlag = False,
    store: StoreFlag = "",
    data: DataFlag = None,
) -> None:
    """Erase everything about one person, for good. Their place opens again; that somebody was erased stays known.

    The store's own files are cleaned at once (SQLite: overwritten, log emptied; PostgreSQL: vacuumed). Exports,
    reports, tables of replies with the studies and runs that show them, backups and archived logs of the database made
    before still hold their answers: delete them there too.
    After the plan is locked, erasing somebody who has answered makes the result exploratory; who deletes their own
    answers, on the study's pages, does not."""
    from eqlab.store.study.records import erase_cleanly, export_person
    from eqlab.study.results.analysis import current_user

    with begun_study(file, store, data) as participation:
        who = find_person(participation, name, panel_id)
        known = export_person(participation, who)
        state = known["participants"][0]["state"]
        if not yes:
            asked = f"Erase {who} ({state}, {many(len(known['answers']), 'answer')}) for good?"
            typer.confirm(f"{locked_warning(participation, who)}{asked}", abort=True)
        gone, clean = erase_cleanly(participation, who, "researcher", current_user())
    print_text(
        f"Erased: {who} and {many(gone, 'answer')}. Exports, reports, tables of replies (and what shows those) and "
        "backups made before still hold them: delete them there."
    )
    if not clean:
        print_text(
            "Traces in the database's own files go with the next erasure, when no other program reads them and the "
            "disk has room for a copy; of a SQLite store also with 'eqlab runs store compact'."
        )


def clear(file: File, store: StoreFlag = "", data: DataFlag = None) -> None:
    """Delete the simulated people of a study, so that it can be locked and begin."""
    from eqlab.core.text import people
    from eqlab.store.study.records import clear_simulated
    from eqlab.study.results.analysis import current_user

    with begun_study(file, store, data) as participation:
        gone = clear_simulated(participation, current_user())
    print_text(f"Deleted: {people(gone, 'simulated')}. Their places are open again.")


# `eqlab study analyze`: what came of a study, and what it may be called.
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
    from eqlab.publish.report.write import talk_folder
    from eqlab.study.results.analysis import analyse, write_report

    check_report(report)
    with begun_study(file, store, data) as participation:
        analysis = analyse(participation)
        written = write_report(participation, analysis, report) if report else None
    if as_json:
        print_json(analysis_json(analysis))
        return
    show(analysis)
    if written:
        print_text(f"\nReport: {written.resolve()}")
        if (talks := talk_folder(written)).is_dir():
            print_text(f"! {talks} has what people wrote, word for word: keep it to yourself.")


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
    from eqlab.cli.results import result_json
    from eqlab.core.results import as_dict

    return {
        "study": found.design.study.id,
        "standing": {"label": found.standing.label, **as_dict(found.standing)},
        "excluded": {person: list(why) for person, why in found.sample.excluded.items()},
        "analysed": [person.person for person in found.sample.kept],
        "result": result_json(found.result),
    }
