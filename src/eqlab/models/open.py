"""From a model's spec to something that can be asked."""

from collections.abc import Callable

from eqlab.core.runs import ModelConfig
from eqlab.models.chat import Chat


def is_local(spec: str) -> bool:
    return spec == "embedded" or spec.startswith("gguf:")


def open_chat(model: ModelConfig, *, concurrency: int, timeout: float, say: Callable[[str], None]) -> Chat:
    """Raises UsageError or ModelError before anything is asked."""
    if is_local(model.spec) and not model.base_url:
        from eqlab.models.local import open_local

        return open_local(model.spec, say)
    from eqlab.models.http import HttpChat
    from eqlab.models.providers import resolve

    return HttpChat(resolve(model.spec, model.base_url), concurrency, timeout)
