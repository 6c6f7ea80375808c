"""How a command that asks models ends: what to do to go on, and the exit code."""

import shlex
import sys

import typer


def end(*, interrupted: bool, failed: bool, unusable: bool = False) -> None:
    """Return if all is done; else say how to go on, and exit. `unusable`: all was asked, and no answer can be used."""
    if not interrupted and not failed:
        if unusable:
            raise typer.Exit(1)
        return
    from eqlab.core.secrets import without_secrets

    command = without_secrets(shlex.join(["eqlab", *sys.argv[1:]]))
    stopped = "\nStopped early; every answer so far is stored. " if interrupted else ""
    typer.echo(f"{stopped}To go on, run the same command again:\n  {command}", err=True)
    raise typer.Exit(130 if interrupted else 1)
