"""What each provider's dialect can do, as the table of docs/models.md, which is made from here."""

from dataclasses import dataclass

from eqlab.models.batch.registry import TAKERS
from eqlab.models.providers import PROVIDERS, Provider

_OPENAI_FILTERS = "`content_filter`, `refusal`, `invalid_prompt`"


@dataclass(frozen=True, slots=True)
class Capability:
    """One dialect, in words."""

    structured: str
    seed: bool
    effort: str
    filters: str
    batch: str = ""
    """How batches are asked for, by the providers that take them."""


DIALECTS: dict[str, Capability] = {
    "openai_chat": Capability(
        "strict `response_format`", True, "`reasoning_effort`", _OPENAI_FILTERS, "`/files` and `/batches`"
    ),
    "openai_responses": Capability("strict `text.format`", False, "`reasoning.effort`", _OPENAI_FILTERS),
    "anthropic": Capability(
        "`output_config.format`, else a tool",
        False,
        "adaptive thinking with `output_config.effort`, else a budget",
        "`stop_reason: refusal` and its category",
        "`/messages/batches`",
    ),
    "gemini": Capability(
        "`responseSchema`, enums as strings",
        True,
        "`thinkingLevel`, else `thinkingBudget`",
        "`blockReason`, `SAFETY`, `PROHIBITED_CONTENT`, `RECITATION`, `BLOCKLIST`, `SPII`, `LANGUAGE`",
        "`:batchGenerateContent` over a file",
    ),
    "azure": Capability(
        "strict `response_format`",
        True,
        "`reasoning_effort`",
        "`content_filter` and which (`self_harm` …), `ResponsibleAIPolicyViolation`",
    ),
}
_OWN_FILTERS = {
    "openrouter": "`moderation` and its reasons (403)",
    "xai": "`SAFETY_CHECK_TYPE_…` (403)",
    "ollama": "none of its own",
    "vllm": "none of its own",
    "llamacpp": "none of its own",
}


def provider_table() -> str:
    """Provider by what its dialect can do, as Markdown."""
    head = "| provider | dialect | structured | seed | effort | batch | refusals that are data |\n" + "|---" * 7 + "|\n"
    return head + "".join(_row(name, provider) for name, provider in PROVIDERS.items())


def _row(name: str, provider: Provider) -> str:
    can = DIALECTS[provider.wire]
    seed = "yes" if can.seed and provider.takes_seed else "not sent"
    filters = _OWN_FILTERS.get(name, can.filters)
    dialect = f"`{provider.wire}`" + (", `openai_responses` where a model demands it" if name == "openai" else "")
    batch = can.batch if name in TAKERS else "–"
    return f"| {name} | {dialect} | {can.structured} | {seed} | {can.effort} | {batch} | {filters} |\n"
