"""`eqlab models`: which providers there are, in which dialect, with which key; and whether a model answers."""

from typing import Annotated, Any

import typer

from eqlab.cli.flags import BaseUrlFlag, DialectFlag, EffortFlag, JsonFlag, SettingFlag, model_settings


def models(
    model: Annotated[
        list[str] | None,
        typer.Argument(metavar="[MODEL]…", help="With --check: the models to ask, as for `eqlab run`."),
    ] = None,
    check: Annotated[bool, typer.Option("--check", help="Ask each model one tiny question.")] = False,
    base_url: BaseUrlFlag = "",
    dialect: DialectFlag = "",
    effort: EffortFlag = "",
    setting: SettingFlag = None,
    markdown: Annotated[
        bool, typer.Option("--markdown", help="What each provider's dialect can do, as a Markdown table.")
    ] = False,
    as_json: JsonFlag = False,
) -> None:
    """List providers, or ask models one tiny question each."""
    from eqlab.cli.output import print_json, print_table
    from eqlab.core.errors import UsageError

    if markdown:
        from eqlab.models.providers import provider_table

        typer.echo(provider_table(), nl=False)
        return
    if check and not model:
        raise UsageError("--check asks models.", "Name them: eqlab models --check openai/gpt-5.")
    if model:
        found = _asked(model, base_url, model_settings(setting, effort, dialect))
        if as_json:
            print_json(found)
        else:
            for one in found:
                typer.echo(f"{one['model']}: {one['said']}")
                for line in one["learnt"]:
                    typer.echo(f"  {line}")
        if not all(one["answered"] for one in found):
            raise typer.Exit(1)
        return
    if as_json:
        print_json(_providers())
    else:
        print_table(_table(_providers()))


def _providers() -> list[dict[str, Any]]:
    from eqlab.models.providers import LITELLM, PROVIDERS, key_of

    rows = [
        {
            "provider": name,
            "dialect": provider.wire,
            "key": provider.key_variable.replace(",", " or "),
            "set": bool(key_of(provider.key_variable)) if provider.key_variable else None,
            "address": provider.base_url or f"{provider.url_variable} + {provider.url_tail}",
        }
        for name, provider in PROVIDERS.items()
    ]
    rows.append({"provider": LITELLM, "dialect": "in process", "key": "litellm's own", "set": None, "address": ""})
    return rows


def _table(rows: list[dict[str, Any]]) -> Any:
    from eqlab.core.results import Table

    said = {True: "set", False: "not set", None: "–"}
    cells = tuple(
        (row["provider"], row["dialect"], row["key"] or "none", said[row["set"]], row["address"]) for row in rows
    )
    return Table("Providers", ("provider", "dialect", "key", "", "address"), cells, "")


def _asked(specs: list[str], base_url: str, settings: dict[str, Any]) -> list[dict[str, Any]]:
    import asyncio

    from eqlab.core.runs import ModelConfig

    configs = [ModelConfig(spec, "" if spec == "embedded" else base_url, settings=settings) for spec in specs]
    return asyncio.run(_ask_all(configs))


async def _ask_all(configs: list[Any]) -> list[dict[str, Any]]:
    return [await _ask(config) for config in configs]


async def _ask(config: Any) -> dict[str, Any]:
    """One tiny question; what is wrong with a model is its line, not the end of the command."""
    from eqlab.core.errors import ModelError
    from eqlab.models.chat import TransportError, prompted
    from eqlab.models.open import open_chats
    from eqlab.models.timeouts import Timeouts

    row: dict[str, Any] = {"model": config.spec, "answered": False, "learnt": []}
    try:
        chat = open_chats([config], concurrency=1, timeouts=Timeouts(patience=20.0), say=lambda _: None)[config.subject]
    except ModelError as error:
        return row | {"said": str(error)}
    try:
        question = prompted("Answer with the word OK.", max_tokens=16, settings=config.settings)
        reply = await chat.ask(question)
        said = reply.text.strip() or (f"declined: {reply.refusal}" if reply.refusal else f"nothing ({reply.finish})")
        words = f"{' '.join(said.split())[:60]} · {reply.latency:.1f} s · {reply.model or 'model not said'}"
        return row | {"answered": True, "said": words, "learnt": list(chat.learnt()), "sent": dict(reply.sent)}
    except (ModelError, TransportError) as error:
        return row | {"said": str(error), "learnt": list(chat.learnt())}
    finally:
        await chat.close()
