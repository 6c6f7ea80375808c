"""Where models live: address and key variable of every provider we know. All speak the OpenAI-compatible chat API."""

import os
from dataclasses import dataclass
from urllib.parse import urlsplit, urlunsplit

from eqlab.core.errors import ModelError, UsageError


@dataclass(frozen=True, slots=True)
class Provider:
    base_url: str
    key_variable: str = ""
    """Empty: no key is needed."""
    takes_seed: bool = False
    """Whether a `seed` field is understood; some servers refuse fields they do not know."""


PROVIDERS: dict[str, Provider] = {
    "openai": Provider("https://api.openai.com/v1", "OPENAI_API_KEY", takes_seed=True),
    "anthropic": Provider("https://api.anthropic.com/v1", "ANTHROPIC_API_KEY"),
    "google": Provider("https://generativelanguage.googleapis.com/v1beta/openai", "GEMINI_API_KEY"),
    "mistral": Provider("https://api.mistral.ai/v1", "MISTRAL_API_KEY"),
    "groq": Provider("https://api.groq.com/openai/v1", "GROQ_API_KEY", takes_seed=True),
    "together": Provider("https://api.together.xyz/v1", "TOGETHER_API_KEY", takes_seed=True),
    "openrouter": Provider("https://openrouter.ai/api/v1", "OPENROUTER_API_KEY", takes_seed=True),
    "deepseek": Provider("https://api.deepseek.com/v1", "DEEPSEEK_API_KEY"),
    "xai": Provider("https://api.x.ai/v1", "XAI_API_KEY", takes_seed=True),
    "ollama": Provider("http://localhost:11434/v1", takes_seed=True),
    "vllm": Provider("http://localhost:8000/v1", takes_seed=True),
    "llamacpp": Provider("http://localhost:8080/v1", takes_seed=True),
}


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One model at one address. The key is read from the environment here, kept in memory, and shown nowhere."""

    base_url: str
    model: str
    key: str
    takes_seed: bool

    def __repr__(self) -> str:
        return f"Endpoint({self.model} at {shown_url(self.base_url)})"


@dataclass(frozen=True, slots=True)
class Place:
    """Where a model is found and which variable holds its key; the key itself is not looked at."""

    base_url: str
    model: str
    key_variable: str
    key_needed: bool
    takes_seed: bool


def locate(spec: str, base_url: str = "", key_variable: str = "") -> Place:
    """The place of `provider/name`; with a base URL, any name goes there and a key is optional unless it is named."""
    name, slash, model = spec.partition("/")
    provider = PROVIDERS.get(name) if slash else None
    if base_url:
        if not is_web_address(base_url):
            raise UsageError(f"'{base_url}' is no web address.", "Give --base-url like http://localhost:8000/v1.")
        variable = key_variable or (provider and provider.key_variable) or "EQLAB_API_KEY"
        return Place(base_url.rstrip("/"), model if provider else spec, variable, bool(key_variable), takes_seed=True)
    if provider is None or not model:
        known = ", ".join(PROVIDERS)
        raise UsageError(
            f"'{spec}' is no model: write embedded, gguf:PATH or provider/name.",
            f"Providers: {known}. For another server add --base-url.",
        )
    variable = key_variable or provider.key_variable
    return Place(provider.base_url, model, variable, bool(variable), provider.takes_seed)


def is_web_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # brackets that hold no IPv6, a port above 65535
        return False


def resolve(spec: str, base_url: str = "", key_variable: str = "") -> Endpoint:
    """The endpoint of a model, with its key from the environment."""
    place = locate(spec, base_url, key_variable)
    key = os.environ.get(place.key_variable, "") if place.key_variable else ""
    if place.key_needed and not key:
        raise ModelError(f"{spec} needs a key.", f"Set the environment variable {place.key_variable}.")
    return Endpoint(place.base_url, place.model, key, place.takes_seed)


def shown_url(url: str) -> str:
    """The address without credentials or query, safe to show and store."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    host = f"[{host}]" if ":" in host else host
    return urlunsplit((parts.scheme, f"{host}:{parts.port}" if parts.port else host, parts.path, "", ""))
