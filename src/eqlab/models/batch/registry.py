"""Which endpoints take batches: those of the providers whose batches we speak, and any address in their dialects."""

from importlib import import_module

from eqlab.core.errors import UsageError
from eqlab.core.runs import ModelConfig
from eqlab.models.batch.contract import BatchWay
from eqlab.models.open import is_local
from eqlab.models.providers import LITELLM, locate

_WAYS = {
    "openai_chat": "eqlab.models.batch.openai:OpenAiBatches",
    "openai_responses": "eqlab.models.batch.openai:OpenAiBatches",
    "anthropic": "eqlab.models.batch.anthropic:AnthropicBatches",
    "gemini": "eqlab.models.batch.gemini:GeminiBatches",
}
TAKERS = ("openai", "anthropic", "google")
"""Providers that take batches."""


def takes_batches(model: ModelConfig) -> bool:
    if is_local(model) or (model.spec.startswith(f"{LITELLM}/") and not model.base_url):
        return False
    place = locate(model.spec, model.base_url, dialect=str(model.settings.get("dialect") or ""))
    return place.wire in _WAYS and (place.provider in TAKERS or (not place.provider and bool(model.base_url)))


def check_batches(models: tuple[ModelConfig, ...]) -> None:
    """Raises UsageError unless every model can be asked by batch."""
    none = [model.spec for model in models if not takes_batches(model)]
    if none:
        raise UsageError(
            f"--batch does not work with {', '.join(none)}.",
            f"Batches are taken by {', '.join(TAKERS)}; ask other models in a run without --batch.",
        )


def batch_way(wire: str) -> BatchWay:
    """The batches of a wire format; one that was learnt on the way included."""
    if wire not in _WAYS:
        raise UsageError(f"The dialect {wire} has no batches.", "Run without --batch.")
    module, _, kind = _WAYS[wire].partition(":")
    made: BatchWay = getattr(import_module(module), kind)()
    return made
