"""`eqlab leaderboard`: a static site of all results that can be had."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from eqlab.cli.flags import DataFlag, JsonFlag, StoreFlag, check_writable
from eqlab.core.errors import UsageError
from eqlab.core.plural import many

if TYPE_CHECKING:
    from eqlab.publish.leaderboard.build import Built, Checked


def build(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Where the site goes: new, empty, or the last build.")],
    submissions: Annotated[
        list[Path] | None,
        typer.Option(
            "--from",
            metavar="PATH",
            help="A file that 'eqlab leaderboard submit' wrote, or a folder of them; may be repeated.",
        ),
    ] = None,
    published: Annotated[
        bool, typer.Option("--published", help="Add the published EQ-Bench results, scored again.")
    ] = False,
    runs: Annotated[bool, typer.Option("--runs/--no-runs", help="Take the runs of the store.")] = True,
    texts: Annotated[
        bool,
        typer.Option("--texts", help="Show replies and references of published items too (for readers who may)."),
    ] = False,
    store: StoreFlag = "",
    data: DataFlag = None,
    as_json: JsonFlag = False,
) -> None:
    """Build the leaderboard from the store's runs, from submissions and from the published results.

    Every submission is checked and scored anew; one that does not hold is refused, named with the reason, and makes
    the exit code 1. The site is written without it."""
    from contextlib import nullcontext

    from eqlab.cli.output import errors
    from eqlab.cli.plain import uncollected
    from eqlab.publish.leaderboard.build import Sources
    from eqlab.publish.leaderboard.build import build as build_site
    from eqlab.runs.parallel import cores
    from eqlab.store.access import open_reader

    out = errors()
    with open_reader(store) if runs else nullcontext() as opened, uncollected():
        sources = Sources(opened, tuple(submissions or ()), published, data, texts)
        built = build_site(folder, sources, lambda text: out.print(text, markup=False), processes=cores())
    if as_json:
        _print_json(built)
    else:
        _print(built)
    if built.refused:
        raise typer.Exit(1)


def check(
    submissions: Annotated[
        list[Path],
        typer.Argument(metavar="PATH…", help="Files that 'eqlab leaderboard submit' wrote, or folders of them."),
    ],
    data: DataFlag = None,
    as_json: JsonFlag = False,
) -> None:
    """Check submissions as `build` does, every reply read and scored anew; write nothing.

    Exit code 1 if one is refused. That a model really gave these answers cannot be seen from a file."""
    from eqlab.cli.output import print_json, say
    from eqlab.core.text import estimate_text
    from eqlab.publish.leaderboard.build import checked

    left_out: dict[str, str] = {}
    found = list(checked(submissions, data, left_out))
    if not found:
        raise UsageError("There is no submission.", "Name files that 'eqlab leaderboard submit' wrote.")
    if as_json:
        print_json({"submissions": [_checked_json(one) for one in found], "left_out": left_out})
    else:
        for one in found:
            for entry in one.entries:
                score = estimate_text(entry.result.headline)
                say(f"holds: {one.name}: {entry.name}, {entry.result.title} {score}, signed by key {entry.source}")
            if one.refused:
                say(f"refused: {one.name}: {one.refused}")
        for where, why in left_out.items():
            say(f"left out: {where}: {why}")
    if any(one.refused for one in found):
        raise typer.Exit(1)


def _checked_json(one: "Checked") -> dict[str, object]:
    from eqlab.core.results import as_dict

    scores = [
        {
            "name": entry.name,
            "title": entry.result.title,
            "score": as_dict(entry.result.headline),
            "source": entry.source,
        }
        for entry in one.entries
    ]
    return {"file": one.name, "holds": not one.refused, "reason": one.refused or None, "entries": scores}


def _print(built: "Built") -> None:
    from eqlab.cli.output import say

    for board in built.boards:
        say(f"{board.label}, {many(len(board.entered), 'entry', 'entries')}: {board.sentence}")
    for where, why in built.left_out.items():
        say(f"left out: {where}: {why}")
    for name, why in built.refused:
        say(f"refused: {name}: {why}")
    for table in built.new_tables:
        say(f"new table since the last build: {table}")
    what = ", ".join(f"{change.name} {change.what}" for change in built.changed[:5])
    more = f" and {len(built.changed) - 5} more" if len(built.changed) > 5 else ""
    if built.changed:
        say(f"{len(built.changed)} changes since the last build: {what}{more}")
    size = f"{many(built.files, 'file')}, front page {built.front_bytes / 1000:.0f} kB"
    say(f"Leaderboard: {(built.folder / 'index.html').resolve()} ({size})")


def _print_json(built: "Built") -> None:
    from eqlab.cli.output import print_json
    from eqlab.core.results import as_dict
    from eqlab.publish.leaderboard.site import line_facts

    print_json(
        {
            "folder": str(built.folder.resolve()),
            "files": built.files,
            "tables": [
                {
                    "title": board.label,
                    "facts": list(board.facts),
                    "sentence": board.sentence,
                    "rows": line_facts(board),
                }
                for board in built.boards
            ],
            "new_tables": list(built.new_tables),
            "changes": [as_dict(change) for change in built.changed],
            "left_out": built.left_out,
            "refused": [{"file": name, "reason": why} for name, why in built.refused],
        }
    )


# `eqlab leaderboard submit`: a run as one signed file for somebody else's leaderboard.
def submit(
    run: Annotated[str, typer.Argument(help="Run id, its beginning, or `last`.")] = "last",
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="FILE", help="The file to write.", show_default="RUN.submission.json"),
    ] = None,
    store: StoreFlag = "",
    data: DataFlag = None,
) -> None:
    """Write a run's configuration, all its answers and its scores into one file, hashed and signed with your key.

    The file is checked as a leaderboard will check it: every reply is read and scored anew. The key is made on first
    use and kept in the data folder."""
    from eqlab.publish.leaderboard.check import check_submission
    from eqlab.publish.leaderboard.submission import fingerprint, key_file, make_submission, write_submission
    from eqlab.store.access import open_reader

    with open_reader(store) as opened:
        stored = opened.find_run(run)
        path = output or Path(f"{stored.id}.submission.json")
        check_writable(path)
        body = make_submission(opened, stored)
    check_submission(body, data)
    write_submission(body, path)
    typer.echo(f"{many(len(body['answers']), 'answer')} of run {body['run']}, sha256 {body['answers_sha256']}")
    typer.echo(f"Signed with key {fingerprint(body['public_key'])} ({key_file()})")
    typer.echo(f"Submission: {path.resolve()}")
