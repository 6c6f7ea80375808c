"""`eqlab`: the list of commands, and how errors reach the user: one line with the way out, a traceback on --debug."""

import inspect
import io
import os
import sys
from collections.abc import Callable, Iterator, MutableMapping
from importlib import import_module
from typing import Annotated, Any

import typer
from typer._click import Command, Context, HelpFormatter
from typer._click.exceptions import NoArgsIsHelpError
from typer.core import TyperCommand, TyperGroup
from typer.exceptions import TyperException
from typer.main import get_group

from eqlab.cli.plain import harmless
from eqlab.core.errors import EqlabError

COMMANDS = {
    "run": "run.run",
    "sweep": "sweep.sweep",
    "judge": "judge.judge",
    "view": "view.view",
    "report": "report.report",
    "plot": "report.plot",
    "cite": "report.cite",
    "compare": "compare.compare",
    "correlate": "research.correlate",
    "runs": "runs.runs",
    "show": "runs.show",
    "export": "runs.export",
    "export-task": "runs.export_task",
    "submit": "leaderboard.submit",
    "probe": "research.probe",
    "power": "research.power",
    "reproduce": "research.reproduce",
    "models": "models.models",
    "benchmarks": "data.benchmarks",
    "instruments": "data.instruments",
    "ratings": "judge.ratings_app",
    "study": "study.app",
    "store": "runs.store_app",
    "leaderboard": "leaderboard.app",
    "data": "data.app",
    "items": "research.items_app",
}
"""Name: file and function, or group of commands, in `eqlab.cli`; in the order of `eqlab --help`."""


def _load(name: str) -> typer.Typer | Callable[..., Any]:
    file, _, attribute = COMMANDS[name].partition(".")
    loaded: typer.Typer | Callable[..., Any] = getattr(import_module(f"eqlab.cli.{file}"), attribute)
    return loaded


def _help(name: str) -> str:
    loaded = _load(name)
    return str(loaded.info.help) if isinstance(loaded, typer.Typer) else inspect.getdoc(loaded) or ""


class _Commands(MutableMapping[str, Command]):
    """The commands by name, each imported when it is asked for: a command does not wait for the others."""

    def __init__(self) -> None:
        self._made: dict[str, Command] = {}

    def __getitem__(self, name: str) -> Command:
        if name not in self._made:
            around, loaded = typer.Typer(rich_markup_mode=None), _load(name)
            if isinstance(loaded, typer.Typer):
                around.add_typer(loaded, name=name)
            else:
                around.command(name)(loaded)
            self._made[name] = get_group(around).commands[name]
        return self._made[name]

    def __setitem__(self, name: str, command: Command) -> None:
        self._made[name] = command

    def __delitem__(self, name: str) -> None:
        del self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(COMMANDS)

    def __len__(self) -> int:
        return len(COMMANDS)

    def __contains__(self, name: object) -> bool:
        return name in COMMANDS


class _Group(TyperGroup):
    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands = _Commands()

    def format_commands(self, ctx: Context, formatter: HelpFormatter) -> None:
        """Names and first sentences; no command's flags are read for it."""
        limit = formatter.width - 6 - max(map(len, COMMANDS))
        rows = [(name, TyperCommand(name, help=_help(name)).get_short_help_str(limit)) for name in COMMANDS]
        with formatter.section("Commands"):
            formatter.write_dl(rows)


app = typer.Typer(
    name="eqlab",
    cls=_Group,
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
