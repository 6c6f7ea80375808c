"""From models' specs to something that can be asked."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from eqlab.core.runs import ModelConfig
from eqlab.models.chat import Chat

if TYPE_CHECKING:
    from eqlab.models.http import Line


def is_local(model: ModelConfig) -> bool:
    return not model.base_url and (model.spec == "embedded" or model.spec.startswith("gguf:"))


def open_chats(
    models: Iterable[ModelConfig], *, concurrency: int, timeout: float, say: Callable[[str], None]
) -> dict[str, Chat]:
    """A chat for each model by its subject. Raises UsageError or ModelError before anything is asked."""
    from eqlab.models.http import Line
    from eqlab.models.providers import resolve

    endpoints = {model.subject: resolve(model.spec, model.base_url) for model in models if not is_local(model)}
    lines = {endpoint.base_url: Line(concurrency, timeout) for endpoint in endpoints.values()}
    return {
        model.subject: open_chat(
            model, lines[endpoints[model.subject].base_url] if model.subject in endpoints else None, say=say
        )
        for model in models
    }


def open_chat(
    model: ModelConfig, line: "Line | None", *, key_variable: str = "", say: Callable[[str], None] = lambda _: None
) -> Chat:
    """One model; at an address that may be shared, or in process without one."""
    if line is None:
        from eqlab.models.local import open_local

        return open_local(model.spec, say)
    from eqlab.models.http import HttpChat
    from eqlab.models.providers import resolve

    return HttpChat(resolve(model.spec, model.base_url, key_variable), line)
