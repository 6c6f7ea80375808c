"""`eqlab probe`: does a model know the published items by heart?"""

from typing import Annotated

import typer

from eqlab.cli.flags import BaseUrlFlag, ConcurrencyFlag, DataFlag, JsonFlag, PatienceFlag, SettingFlag, TimeoutFlag
from eqlab.cli.plain import print_text
from eqlab.core.pairs import read_settings
from eqlab.models.timeouts import PATIENCE, WHOLE, Timeouts


def probe(
    models: Annotated[list[str], typer.Argument(metavar="MODEL…", help="As for `eqlab run`.")],
    benchmark: Annotated[str, typer.Option("-b", "--benchmark", help="One whose items are texts.")] = "eqbench",
    items: Annotated[str, typer.Option(help="`published`, or `open` to see what chance gives.")] = "published",
    limit: Annotated[int | None, typer.Option(min=10, help="At most N items.")] = None,
    max_concurrency: ConcurrencyFlag = 16,
    base_url: BaseUrlFlag = "",
    setting: SettingFlag = None,
    timeout: TimeoutFlag = WHOLE,
    patience: PatienceFlag = PATIENCE,
    data: DataFlag = None,
    as_json: JsonFlag = False,
) -> None:
    """Show the first half of each item and see whether models write the second from memory.

    A hint at contamination: the share of items above what the same replies reach beside other items."""
    from dataclasses import asdict

    from eqlab.cli.output import errors, harmless, print_json, print_table
    from eqlab.core.errors import UsageError
    from eqlab.core.runs import ModelConfig
    from eqlab.runs import probe as probing

    if items not in ("open", "published"):
        raise UsageError(f"--items '{items}' is unknown.", "Choose open or published.")
    texts = probing.chosen(probing.texts(benchmark, items, data), limit)
    found, timeouts, out = [], Timeouts(timeout, patience=patience), errors()

    def say(text: str) -> None:
        out.print(harmless(text), style="dim", markup=False)

    for spec in dict.fromkeys(models):
        config = ModelConfig(spec, "" if spec == "embedded" else base_url, settings=read_settings(setting or []))
        say(f"{spec}: {len(texts)} texts")
        result, lost = probing.probe(config, texts, concurrency=max_concurrency, timeouts=timeouts, say=say)
        found.append(probing.Probe(spec, benchmark, items, result, lost))
    if as_json:
        print_json([{**asdict(one), "sentence": probing.sentence(one)} for one in found])
        return
    for one in found:
        print_text(probing.sentence(one))
    typer.echo("")
    print_table(probing.table(found))
