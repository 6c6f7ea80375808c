"""`eqlab`: the way in, and how errors reach the user: one line with the way out, a traceback on --debug."""

import atexit
import gc
import io
import os
import re
import sys
from collections.abc import Iterator
from typing import Annotated

import typer
from typer._click.exceptions import NoArgsIsHelpError
from typer.exceptions import TyperException

from eqlab.cli.plain import harmless, pasteable
from eqlab.cli.tree import Group
from eqlab.core.errors import EqlabError

app = typer.Typer(
    name="eqlab",
    help="Measure the emotional intelligence of language models and of people, with the same questions.",
    cls=Group,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(value: bool) -> None:
    if value:
        for line in _versions():
            typer.echo(line)
        raise typer.Exit


def _versions() -> Iterator[str]:
    """What a fault report needs: which code, which Python, which data."""
    import hashlib
    import tomllib
    from importlib.metadata import distribution
    from importlib.resources import files

    found = distribution("eqlab")
    yield f"eqlab {found.version}"
    own = sorted(line for line in (found.read_text("RECORD") or "").splitlines() if line.startswith("eqlab/"))
    build = hashlib.sha256("\n".join(own).encode()).hexdigest()[:12]
    yield f"build       {build if own else 'editable, from a clone'}"
    yield f"Python      {sys.version.split()[0]}"
    data = files("eqlab") / "data"
    items = sorted((one.name, one.read_bytes()) for one in (data / "open").iterdir() if one.is_file())
    yield f"open items  {hashlib.sha256(b''.join(name.encode() + content for name, content in items)).hexdigest()[:12]}"
    yield f"published   {hashlib.sha256((data / 'manifest.csv').read_bytes()).hexdigest()[:12]} (its list of files)"
    yield f"prices      {tomllib.loads((data / 'prices.toml').read_text('utf-8')).get('date', 'unknown')}"


@app.callback()
def _global(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show versions of code and data.")
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks of errors.")] = False,
) -> None:
    pass


def main() -> None:
    """Entry point. `--debug` works before and after the command's name."""
    atexit.register(gc.freeze)  # nothing is searched for garbage once all is done: that takes a tenth of a second
    arguments = sys.argv[1:]
    debug = "--debug" in arguments
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # ranks have threads of their own; two kinds would wait in turns
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a terminal without Unicode shows '?', not a traceback
            stream.reconfigure(errors="replace")
    try:
        code = app([argument for argument in arguments if argument != "--debug"], standalone_mode=False)
    except EqlabError as error:
        if debug:
            raise
        _complain(harmless(pasteable(str(error))))  # it may quote a server or a file
        code = error.exit_code
    except NoArgsIsHelpError as error:
        typer.echo(error.format_message())
        code = 2
    except TyperException as error:
        where = " ".join(getattr(getattr(error, "ctx", None), "command_path", "eqlab").split())
        _complain(f"{_plain(error.format_message())} See '{where} --help'.")
        code = 2
    except (KeyboardInterrupt, typer.Abort):
        code = 130
    except BrokenPipeError:  # the reader of our output has gone (`eqlab runs show | head`)
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 0
    except OSError as error:  # a disk that is full, a file that is not ours
        if debug:
            raise
        _complain(harmless(f"{error.filename or 'A file'}: {error.strerror or error}."))
        code = 1
    _let_go_of_the_log()
    sys.exit(code if isinstance(code, int) else 0)


def _plain(message: str) -> str:
    """A message of the parser of arguments, in a sentence."""
    for pattern, words in _PARSER:
        message = re.sub(pattern, words, message)
    return message if message.endswith((".", "?")) else f"{message}."


_PARSER = (
    (r"^Got unexpected extra arguments? ?(?:\(s\) )?\((.*)\)$", r"Too many arguments: \1"),
    (r"^No such option: (\S+)(?: \(Possible options: (.*)\)|.*)$", r"There is no option \1. Did you mean \2?"),
    (r" Did you mean \?$", ""),
    (r"is not a valid float(?: range)?\.", "is not a number."),
    (r"is not a valid int(?:eger)?(?: range)?\.", "is not a whole number."),
    (r"(\S+) is not in the range x>=(\S+)\.", r"\1 is less than \2."),
    (r"(\S+) is not in the range (\S+?)<=x<=(\S+)\.", r"\1 is not from \2 to \3."),
)


def _let_go_of_the_log() -> None:
    """What standard error could not take (a log on a full disk) is dropped: at its end Python would try once more, and
    turn the exit code into 120."""
    try:
        sys.stderr.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())


def _complain(text: str) -> None:
    typer.secho(f"eqlab: {text}", err=True, fg=typer.colors.RED)
