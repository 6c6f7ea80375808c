"""`eqlab runs import inspect` and `lm-eval`: logs of other tools read in as runs, scored by our rules."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from eqlab.cli.flags import DataFlag, JsonFlag, StoreFlag
from eqlab.core.plural import many

if TYPE_CHECKING:
    from eqlab.publish.tools.import_logs import Log

_Model = Annotated[str, typer.Option("--model", metavar="NAME", help="Who answered.", show_default="as the log says")]
_Benchmark = Annotated[
    str, typer.Option("-b", "--benchmark", metavar="NAME", help="What was asked.", show_default="as our tasks say")
]
_Items = Annotated[str, typer.Option(help="open, published, or auto: those that the prompts are of.")]
_Options = Annotated[
    list[str] | None,
    typer.Option("-o", "--option", metavar="NAME=VALUE", help="Benchmark option; see `eqlab benchmarks`."),
]


def inspect(
    log: Annotated[Path, typer.Argument(metavar="LOG", help="An Inspect log (.eval or .json).")],
    model: _Model = "",
    benchmark: _Benchmark = "",
    items: _Items = "auto",
    options: _Options = None,
    store: StoreFlag = "",
    data: DataFlag = None,
    as_json: JsonFlag = False,
) -> None:
    """Read an Inspect log in as a run: replies to a benchmark's own questions, scored anew; nobody is asked again."""
    from eqlab.publish.tools.import_logs import read_inspect

    _read_in(read_inspect(log, model), benchmark, items, options or [], store, data, as_json)


def lm_eval(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A samples_….jsonl of lm_eval --log_samples.")],
    model: _Model = "",
    benchmark: _Benchmark = "",
    items: _Items = "auto",
    options: _Options = None,
    store: StoreFlag = "",
    data: DataFlag = None,
    as_json: JsonFlag = False,
) -> None:
    """Read samples of lm-evaluation-harness in as a run: replies to a benchmark's own questions, scored anew."""
    from eqlab.publish.tools.import_logs import read_lm_eval

    _read_in(read_lm_eval(file, model), benchmark, items, options or [], store, data, as_json)


def _read_in(
    log: "Log", benchmark: str, items: str, options: list[str], store: str, data: Path | None, as_json: bool
) -> None:
    from eqlab.cli.output import errors, print_json, say
    from eqlab.cli.results import print_results, result_json
    from eqlab.core.settings import read_pairs
    from eqlab.publish.tools.import_logs import import_log
    from eqlab.runs.score import results
    from eqlab.store.access import open_store

    given = read_pairs("--option", options)
    with open_store(store) as opened:
        done = import_log(opened, log, benchmark=benchmark, items=items, options=given, data=data)
        found = results(opened, opened.find_run(done.run))
    if done.unknown:
        first = done.unknown[0]
        errors().print(
            f"{len(done.unknown)} of {many(len(log.replies), 'prompt')} "
            f"{'is' if len(done.unknown) == 1 else 'are'} not in this benchmark and left out (first: {first}…).",
            markup=False,
        )
    if as_json:
        body = {"run": done.run, "taken": done.taken, "new": done.new, "unknown": len(done.unknown)}
        print_json({**body, "results": [result_json(result) for result in found]})
        return
    say(
        f"{many(done.taken, 'question')} from {log.tool} ({many(done.new, 'new reply', 'new replies')}): run {done.run}"
    )
    print_results(found)
