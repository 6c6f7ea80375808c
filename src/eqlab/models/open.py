"""From models' specs to something that can be asked."""

from collections.abc import Callable, Iterable

from eqlab.core.runs import ModelConfig
from eqlab.models.chat import Chat


def is_local(model: ModelConfig) -> bool:
    return not model.base_url and (model.spec == "embedded" or model.spec.startswith("gguf:"))


def open_chats(
    models: Iterable[ModelConfig], *, concurrency: int, timeout: float, say: Callable[[str], None]
) -> dict[str, Chat]:
    """A chat for each model by its subject. Raises UsageError or ModelError before anything is asked."""
    from eqlab.models.http import HttpChat, Line
    from eqlab.models.providers import resolve

    endpoints = {model.subject: resolve(model.spec, model.base_url) for model in models if not is_local(model)}
    lines = {endpoint.base_url: Line(concurrency, timeout) for endpoint in endpoints.values()}
    chats: dict[str, Chat] = {}
    for model in models:
        if is_local(model):
            from eqlab.models.local import open_local

            chats[model.subject] = open_local(model.spec, say)
        else:
            endpoint = endpoints[model.subject]
            chats[model.subject] = HttpChat(endpoint, lines[endpoint.base_url])
    return chats
