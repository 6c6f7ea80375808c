"""`eqlab`: the list of commands, and how errors reach the user: one line with the way out, a traceback on --debug."""

import io
import os
import sys
from typing import Annotated

import typer
from typer._click.exceptions import NoArgsIsHelpError
from typer.exceptions import TyperException

from eqlab.cli import (
    compare,
    data,
    judge,
    leaderboard,
    models,
    report,
    research,
    run,
    runs,
    store,
    study,
    study_serve,
    sweep,
    view,
)
from eqlab.cli.plain import harmless
from eqlab.core.errors import EqlabError

app = typer.Typer(
    name="eqlab",
    help="Measure the emotional intelligence of language models and of people, with the same questions.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(value: bool) -> None:
    if value:
        from importlib.metadata import version

        typer.echo(f"eqlab {version('eqlab')}")
        raise typer.Exit


@app.callback()
def _global(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and stop.")
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks of errors.")] = False,
) -> None:
    pass


app.command("run")(run.run)
app.command("sweep")(sweep.sweep)
app.command("judge")(judge.judge)
app.add_typer(judge.ratings_app, name="ratings")
for command in (study_serve.serve, study_serve.preview, study_serve.status, study_serve.password):
    study.app.command()(command)
app.add_typer(study.app, name="study")
app.command("view")(view.view)
app.command("report")(report.report)
app.command("plot")(report.plot)
app.command("cite")(report.cite)
app.command("compare")(compare.compare)
app.command("correlate")(research.correlate)
app.command("runs")(runs.runs)
app.command("show")(runs.show)
app.command("export")(runs.export)
app.command("export-task")(runs.export_task)
app.add_typer(store.app, name="store")
app.add_typer(leaderboard.app, name="leaderboard")
app.command("submit")(leaderboard.submit)
app.add_typer(data.app, name="data")
app.add_typer(research.items_app, name="items")
app.command("probe")(research.probe)
app.command("power")(research.power)
app.command("reproduce")(research.reproduce)
app.command("models")(models.models)
app.command("benchmarks")(data.benchmarks)
app.command("instruments")(data.instruments)


def main() -> None:
    """Entry point. `--debug` works before and after the command's name."""
    arguments = sys.argv[1:]
    debug = "--debug" in arguments
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a terminal without Unicode shows '?', not a traceback
            stream.reconfigure(errors="replace")
    try:
        code = app([argument for argument in arguments if argument != "--debug"], standalone_mode=False)
    except EqlabError as error:
        if debug:
            raise
        _complain(harmless(str(error)))  # it may quote a server or a file
        code = error.exit_code
    except NoArgsIsHelpError as error:
        typer.echo(error.format_message())
        code = 2
    except TyperException as error:
        where = getattr(getattr(error, "ctx", None), "command_path", "eqlab")
        _complain(f"{error.format_message()} See '{where} --help'.")
        code = 2
    except (KeyboardInterrupt, typer.Abort):
        code = 130
    except BrokenPipeError:  # the reader of our output has gone (`eqlab show | head`)
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 0
    except OSError as error:  # a disk that is full, a file that is not ours
        if debug:
            raise
        _complain(harmless(f"{error.filename or 'A file'}: {error.strerror or error}."))
        code = 1
    sys.exit(code if isinstance(code, int) else 0)


def _complain(text: str) -> None:
    typer.secho(f"eqlab: {text}", err=True, fg=typer.colors.RED)
