"""`eqlab submit`: a run as one signed file for somebody else's leaderboard."""

from pathlib import Path
from typing import Annotated

import typer

from eqlab.cli.flags import DataFlag, StoreFlag, check_writable


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
    from eqlab.publish.leaderboard import keys
    from eqlab.publish.leaderboard.check import check_submission
    from eqlab.publish.leaderboard.submission import make_submission, write_submission
    from eqlab.store.looking import open_reader

    with open_reader(store) as opened:
        stored = opened.find_run(run)
        path = output or Path(f"{stored.id}.submission.json")
        check_writable(path)
        body = make_submission(opened, stored)
    check_submission(body, data)
    write_submission(body, path)
    typer.echo(f"{len(body['answers'])} answers of run {body['run']}, sha256 {body['answers_sha256']}")
    typer.echo(f"Signed with key {keys.fingerprint(body['public_key'])} ({keys.key_file()})")
    typer.echo(f"Submission: {path.resolve()}")
