"""From models' specs to something that can be asked."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from eqlab.core.runs import ModelConfig
from eqlab.models.chat import Chat
from eqlab.models.waits import Waits

if TYPE_CHECKING:
    from eqlab.models.transport import Connection


def is_local(model: ModelConfig) -> bool:
    return not model.base_url and (model.spec == "embedded" or model.spec.startswith("gguf:"))


def open_chats(
    models: Iterable[ModelConfig], *, concurrency: int, waits: Waits, say: Callable[[str], None]
) -> dict[str, Chat]:
    """A chat for each model by its subject. Raises UsageError or ModelError before anything is asked."""
    from eqlab.models.providers import locate
    from eqlab.models.settings import sort_settings
    from eqlab.models.transport import Connection

    models = list(models)
    addresses: dict[str, str] = {}
    for model in models:
        sort_settings(model.settings)
        if not is_local(model):
            addresses[model.subject] = model.spec if _in_litellm(model) else locate(model.spec, model.base_url).base_url
    lines = {address: Connection.waiting(concurrency, waits) for address in dict.fromkeys(addresses.values())}
    return {model.subject: open_chat(model, lines.get(addresses.get(model.subject, "")), say=say) for model in models}


def open_chat(
    model: ModelConfig,
    line: "Connection | None",
    *,
    key_variable: str = "",
    say: Callable[[str], None] = lambda _: None,
) -> Chat:
    """One model; at an address that may be shared, or in process without one."""
    if line is None:
        from eqlab.models.local import open_local

        return open_local(model.spec, say)
    from eqlab.models.http import HttpChat
    from eqlab.models.providers import LITELLM, resolve

    if _in_litellm(model):
        from eqlab.models.in_litellm import LitellmPost, litellm_endpoint

        return HttpChat(
            litellm_endpoint(model.spec.removeprefix(f"{LITELLM}/")), line, say, LitellmPost(line.waits.silence)
        )
    dialect = str(model.settings.get("dialect") or "")
    return HttpChat(resolve(model.spec, model.base_url, key_variable, dialect), line, say)


def _in_litellm(model: ModelConfig) -> bool:
    return not model.base_url and model.spec.startswith("litellm/")
