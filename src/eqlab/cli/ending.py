"""How a command that asks models ends: what to do to go on, and the exit code."""

import shlex
import sys

import typer


def end(*, interrupted: bool, failed: bool) -> None:
    """Return if all is done; else say how to go on, and exit."""
    if not interrupted and not failed:
        return
    from eqlab.core.secrets import without_secrets

    command = without_secrets(shlex.join(["eqlab", *sys.argv[1:]]))
    stopped = "\nStopped early; every answer so far is stored. " if interrupted else ""
    typer.echo(f"{stopped}To go on, run the same command again:\n  {command}", err=True)
    raise typer.Exit(130 if interrupted else 1)
