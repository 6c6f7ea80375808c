"""How a command that asks models ends: what to do to go on, and the exit code."""

import gc
import shlex
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import typer

LIMIT_EXIT = 4
"""The exit code of a run that a limit of cost or tokens ended."""


def next_step(run: str, subjects: Sequence[str], *, own_items: bool = False, to_be_rated: bool = False) -> str:
    """The last line of a session that went well: what there is now, and what to do with it. `own_items`: the questions
    came from a file of the user's; `to_be_rated`: nothing but replies, which have no score before somebody rates them.
    """
    who = [subject.partition(":")[2] for subject in subjects]
    if all(subject.startswith("judge:") for subject in subjects):
        return f"Next, every rated reply beside its rating: eqlab report {run} --items"
    if to_be_rated:
        return f"Next, have the replies rated by a model: eqlab judge PROVIDER/MODEL --on {run}"
    if all(name == "embedded" for name in who):
        if own_items:
            return (
                "Everything works. Now a model of yours, with the same questions: eqlab run PROVIDER/MODEL --items FILE"
            )
        return (
            "Everything works. The report opens with twelve published models on one axis; to see where yours stands: "
            "eqlab run PROVIDER/MODEL"
        )
    if len(who) > 1:
        return f"Next, every pair with its interval, and how many questions would tell them apart: eqlab compare {run}"
    return f"Next, ask another model the same, then compare: eqlab run OTHER/MODEL; eqlab compare {run} last"


def end(*, interrupted: bool, failed: bool, unusable: bool = False, limit: str = "") -> None:
    """Return if all is done; else say how to go on, and exit. `unusable`: all was asked, and no answer can be used;
    `limit`: the one of cost or tokens that ended it, in words."""
    if not interrupted and not failed and not limit:
        if unusable:
            raise typer.Exit(1)
        return
    from eqlab.core.settings import without_secrets

    command = without_secrets(shlex.join(["eqlab", *sys.argv[1:]]))
    if limit and not interrupted:
        typer.echo(f"\nStopped before a limit ({limit}). Every answer so far is stored.", err=True)
        typer.echo(f"To go on, run the same command with a higher limit:\n  {command}", err=True)
        raise typer.Exit(1 if failed else LIMIT_EXIT)
    stopped = "\nStopped early; every answer so far is stored. " if interrupted else ""
    typer.echo(f"{stopped}To go on, run the same command again:\n  {command}", err=True)
    raise typer.Exit(130 if interrupted else 1)


@contextmanager
def uncollected() -> Iterator[None]:
    """Pauses Python's search for reference cycles while a command builds much that stays: neither results nor pages
    hold any, and looking for some takes a tenth of the time."""
    before = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if before:
            gc.enable()
