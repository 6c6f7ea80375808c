"""Where models live: address, key variable and dialect of every provider we know, and what each can do.

Keys are kept out of whatever a server says: they are looked for after decoding, and a short one is no secret."""

import os
import re
from urllib.parse import urlsplit, urlunsplit

from eqlab.core.errors import ModelError, UsageError, did_you_mean
from eqlab.core.settings import without_secrets
from eqlab.core.values import dataclass
from eqlab.models.chat import with_whole_letters
from eqlab.models.wire.contract import Endpoint as Endpoint
from eqlab.models.wire.contract import named_wire

LITELLM = "litellm"
"""Everything that litellm reaches, in process: `litellm/bedrock/…`."""
HIDDEN = "(your-key)"  # one word, so that what is found twice is hidden once
_KEY = 8
"""Characters. A shorter key (`x`, `EMPTY`, `none`) stands in a text by chance and is no secret."""
_LONG_KEY = 16
"""From here on a part of it is recognised too, and models' replies are searched as well as errors."""


@dataclass(frozen=True, slots=True)
class Provider:
    base_url: str
    key_variable: str = ""
    """Empty: no key is needed. Several, by comma: the first that is set."""
    takes_seed: bool = False
    """Whether a `seed` field is understood; some servers refuse fields they do not know."""
    wire: str = "openai_chat"
    streams: bool = True
    """Whether replies are streamed from the start; elsewhere once a model turns out to be slow, or to think."""
    url_variable: str = ""
    """What the provider's own library reads an address from."""
    url_tail: str = ""
    """What our address has behind the library's."""
    headers: tuple[tuple[str, str], ...] = ()
    """(header, environment variable) pairs that the provider's own library sends."""
    batches: bool = False
    """Whether it takes batches that we know how to ask for."""


PROVIDERS: dict[str, Provider] = {
    "openai": Provider(
        "https://api.openai.com/v1",
        "OPENAI_API_KEY",
        takes_seed=True,
        url_variable="OPENAI_BASE_URL",
        headers=(("OpenAI-Organization", "OPENAI_ORG_ID"), ("OpenAI-Project", "OPENAI_PROJECT_ID")),
        batches=True,
    ),
    "anthropic": Provider(
        "https://api.anthropic.com/v1",
        "ANTHROPIC_API_KEY",
        wire="anthropic",
        url_variable="ANTHROPIC_BASE_URL",
        url_tail="/v1",
        batches=True,
    ),
    "google": Provider(
        "https://generativelanguage.googleapis.com/v1beta",
        "GEMINI_API_KEY,GOOGLE_API_KEY",
        takes_seed=True,
        wire="gemini",
        url_variable="GOOGLE_GEMINI_BASE_URL",
        url_tail="/v1beta",
        batches=True,
    ),
    "azure": Provider(
        "",
        "AZURE_OPENAI_API_KEY",
        takes_seed=True,
        wire="azure",
        url_variable="AZURE_OPENAI_ENDPOINT",
        url_tail="/openai",
        headers=(("api-version", "OPENAI_API_VERSION"),),
    ),
    "mistral": Provider("https://api.mistral.ai/v1", "MISTRAL_API_KEY"),
    "groq": Provider("https://api.groq.com/openai/v1", "GROQ_API_KEY", takes_seed=True),
    "together": Provider("https://api.together.xyz/v1", "TOGETHER_API_KEY", takes_seed=True),
    "openrouter": Provider("https://openrouter.ai/api/v1", "OPENROUTER_API_KEY", takes_seed=True),
    "deepseek": Provider("https://api.deepseek.com/v1", "DEEPSEEK_API_KEY"),
    "xai": Provider("https://api.x.ai/v1", "XAI_API_KEY", takes_seed=True),
    "ollama": Provider("http://localhost:11434/v1", takes_seed=True, streams=False),
    "vllm": Provider("http://localhost:8000/v1", takes_seed=True, streams=False),
    "llamacpp": Provider("http://localhost:8080/v1", takes_seed=True, streams=False),
}
BATCH_PROVIDERS = tuple(name for name, provider in PROVIDERS.items() if provider.batches)


@dataclass(frozen=True, slots=True)
class Address:
    """Where a model is found and which variable holds its key; the key itself is not looked at."""

    base_url: str
    model: str
    key_variable: str
    key_needed: bool
    takes_seed: bool
    wire: str = "openai_chat"
    streams: bool = False
    provider: str = ""


def locate(spec: str, base_url: str = "", key_variable: str = "", dialect: str = "") -> Address:
    """The place of `provider/name`. An address of the user's own replaces the provider's and keeps its dialect; with
    one, any name will do, and a key is optional unless it is named."""
    name, slash, model = spec.partition("/")
    provider = PROVIDERS.get(name) if slash else None
    wire = named_wire(dialect) if dialect else provider.wire if provider else "openai_chat"
    if base_url:
        if not is_web_address(base_url):
            raise UsageError(f"'{base_url}' is not a web address.", "Give --base-url like http://localhost:8000/v1.")
        variable = key_variable or (provider and provider.key_variable) or "EQLAB_API_KEY"
        streams = provider is not None and provider.streams
        known = name if provider else ""
        return Address(
            base_url.rstrip("/"), model if provider else spec, variable, bool(key_variable), True, wire, streams, known
        )
    if provider is None or not model:
        known = ", ".join(PROVIDERS)
        raise UsageError(
            f"'{spec}' is not a model: write embedded, gguf:PATH or provider/name.",
            did_you_mean(name, tuple(PROVIDERS), f"Providers: {known}, {LITELLM}. For another server add --base-url."),
        )
    address = _own_address(provider) or provider.base_url
    if not address:
        raise UsageError(
            f"{spec} needs an address.",
            f"Set {provider.url_variable}, or give --base-url ending in {provider.url_tail}.",
        )
    variable = key_variable or provider.key_variable
    return Address(address, model, variable, bool(variable), provider.takes_seed, wire, provider.streams, name)


def _own_address(provider: Provider) -> str:
    """The address in the environment, as the provider's own library understands it."""
    address = os.environ.get(provider.url_variable, "").rstrip("/") if provider.url_variable else ""
    if not address:
        return ""
    if not is_web_address(address):
        raise UsageError(f"{provider.url_variable} is not a web address.", "Write it like https://host/path.")
    tail = provider.url_tail
    return address if not tail or address.endswith(tail) or f"{tail}/" in address else address + tail


def is_web_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # brackets that hold no IPv6, a port above 65535
        return False


def resolve(spec: str, base_url: str = "", key_variable: str = "", dialect: str = "") -> Endpoint:
    """The endpoint of a model, with its key from the environment."""
    place = locate(spec, base_url, key_variable, dialect)
    provider = PROVIDERS.get(place.provider)
    key, headers = key_of(place.key_variable), _headers(provider)
    if place.wire == "anthropic" and not key and (token := os.environ.get("ANTHROPIC_AUTH_TOKEN", "").strip()):
        key, headers["Authorization"] = token, f"Bearer {token}"
    if place.provider == "azure" and not key and (token := os.environ.get("AZURE_OPENAI_AD_TOKEN", "").strip()):
        key, headers["Authorization"] = token, f"Bearer {token}"
    if place.key_needed and not key:
        names = " or ".join(place.key_variable.split(","))
        raise ModelError(f"{spec} needs a key.", f"Set the environment variable {names}.")
    if not _carried(key):
        raise ModelError(f"The key of {spec} holds characters that no header can carry.", "Copy it again.")
    for name, value in headers.items():
        if not _carried(value):
            raise ModelError(f"The value of the header {name}, from the environment, cannot be sent.", "Copy it again.")
    return Endpoint(
        place.base_url, place.model, key, place.takes_seed, place.wire, place.streams, headers, place.provider
    )


def key_of(variable: str) -> str:
    """The key in the first of these variables that is set; a line end behind it is nobody's intent."""
    return next((key for name in variable.split(",") if name and (key := os.environ.get(name, "").strip())), "")


def _carried(value: str) -> bool:
    """Whether a header can carry it."""
    return all(32 <= ord(letter) <= 126 for letter in value)


def _headers(provider: Provider | None) -> dict[str, str]:
    if provider is None:
        return {}
    return {header: value for header, name in provider.headers if (value := os.environ.get(name, "").strip())}


def shown_url(url: str) -> str:
    """The address without credentials or query, safe to show and store."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    host = f"[{host}]" if ":" in host else host
    return urlunsplit((parts.scheme, f"{host}:{parts.port}" if parts.port else host, parts.path, "", ""))


def without_key(text: str, key: str) -> str:
    """A server's error without the key, whole or cut short, and without whatever else looks like one; in whole letters,
    for a server may cut what it repeats."""
    text = with_whole_letters(text)
    if len(key) >= _KEY:
        for form in _forms(key):
            text = text.replace(form, HIDDEN)
    if len(key) >= _LONG_KEY:
        text = re.sub(re.escape(key[: _LONG_KEY // 2]) + r"[^\s'\"]*", HIDDEN, text)
    return without_secrets(text)


def reply_without_key(text: str, key: str) -> str:
    """A model's reply, from a server that shows what it was sent."""
    if len(key) < _LONG_KEY:
        return text
    for form in _forms(key):
        if form in text:
            text = text.replace(form, HIDDEN)
    return text


def _forms(key: str) -> tuple[str, ...]:
    """As it is, and as JSON inside of JSON writes it."""
    escaped = key.replace("/", "\\/")
    return (key,) if escaped == key else (key, escaped)


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
    batch = can.batch if provider.batches else "–"
    return f"| {name} | {dialect} | {can.structured} | {seed} | {can.effort} | {batch} | {filters} |\n"
