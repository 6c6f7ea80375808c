"""Wire formats by name: our own, and those of other packages (entry point group `eqlab.wires`)."""

from functools import cache
from importlib import import_module
from importlib.metadata import entry_points

from eqlab.core.errors import UsageError
from eqlab.models.wire.contract import Wire

_OWN = {
    "openai_chat": "eqlab.models.wire.openai_chat:OpenAiChat",
    "openai_responses": "eqlab.models.wire.openai_responses:OpenAiResponses",
    "anthropic": "eqlab.models.wire.anthropic:AnthropicMessages",
    "gemini": "eqlab.models.wire.gemini:Gemini",
    "azure": "eqlab.models.wire.azure:AzureOpenAi",
}
_SHORT = {"openai": "openai_chat", "responses": "openai_responses", "google": "gemini"}
_GROUP = "eqlab.wires"


def wire_names() -> list[str]:
    """Every dialect there is."""
    return [*_OWN, *sorted(point.name for point in entry_points(group=_GROUP) if point.name not in _OWN)]


def named_wire(name: str) -> str:
    """The full name of a dialect; raises UsageError when there is none of that name."""
    found = _SHORT.get(name, name)
    if found in _OWN:
        return found
    found = found if found in wire_names() else found.replace("-", "_")
    if found not in wire_names():
        raise UsageError(f"There is no dialect '{name}'.", f"Known: {', '.join(wire_names())}.")
    return found


@cache
def wire(name: str) -> Wire:
    """The wire format of this name."""
    name = name if name in _OWN else named_wire(name)
    if name in _OWN:
        module, _, kind = _OWN[name].partition(":")
        made: Wire = getattr(import_module(module), kind)()
        return made
    (point,) = entry_points(group=_GROUP, name=name)
    loaded: Wire = point.load()()
    return loaded
