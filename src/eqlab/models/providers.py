"""Where models live: address, key variable and dialect of every provider we know."""

import os
from dataclasses import dataclass
from urllib.parse import urlsplit, urlunsplit

from eqlab.core.errors import ModelError, UsageError
from eqlab.models.wire.contract import Endpoint as Endpoint
from eqlab.models.wire.registry import named_wire

LITELLM = "litellm"
"""Everything that litellm reaches, in process: `litellm/bedrock/…`."""


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


PROVIDERS: dict[str, Provider] = {
    "openai": Provider(
        "https://api.openai.com/v1",
        "OPENAI_API_KEY",
        takes_seed=True,
        url_variable="OPENAI_BASE_URL",
        headers=(("OpenAI-Organization", "OPENAI_ORG_ID"), ("OpenAI-Project", "OPENAI_PROJECT_ID")),
    ),
    "anthropic": Provider(
        "https://api.anthropic.com/v1",
        "ANTHROPIC_API_KEY",
        wire="anthropic",
        url_variable="ANTHROPIC_BASE_URL",
        url_tail="/v1",
    ),
    "google": Provider(
        "https://generativelanguage.googleapis.com/v1beta",
        "GEMINI_API_KEY,GOOGLE_API_KEY",
        takes_seed=True,
        wire="gemini",
        url_variable="GOOGLE_GEMINI_BASE_URL",
        url_tail="/v1beta",
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
            f"Providers: {known}, {LITELLM}. For another server add --base-url.",
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


def key_of(variable: str) -> str:
    """The key in the first of these variables that is set; a line end behind it is nobody's intent."""
    return next((key for name in variable.split(",") if name and (key := os.environ.get(name, "").strip())), "")


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
            raise ModelError(f"What the environment says for the header {name} cannot be sent.", "Copy it again.")
    return Endpoint(
        place.base_url, place.model, key, place.takes_seed, place.wire, place.streams, headers, place.provider
    )


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
