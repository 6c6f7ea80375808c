"""Which family a model belongs to, by its name: judges may prefer their own relatives."""

import re

_FAMILIES = {
    "gpt": r"gpt|chatgpt|davinci|openai/o\d|\bo[134](?:-|$)",
    "claude": r"claude|anthropic",
    "gemini": r"gemini|gemma|palm|bard",
    "llama": r"llama|vicuna|alpaca",
    "mistral": r"mistral|mixtral|ministral|magistral",
    "qwen": r"qwen|qwq",
    "deepseek": r"deepseek",
    "grok": r"grok-|xai/",
    "phi": r"\bphi[-\d]",
    "smollm": r"smollm|^embedded$",
    "command": r"command-r|cohere",
}
_HOSTS = re.compile(r"^(?:ollama|llamacpp|vllm|groq|together|openrouter)/", re.IGNORECASE)


def family(name: str) -> str:
    """Empty when the name does not say, or says two families (a Llama distilled from DeepSeek)."""
    plain = _HOSTS.sub("", name.split("@", 1)[0])
    found = [known for known, pattern in _FAMILIES.items() if re.search(pattern, plain, re.IGNORECASE)]
    return found[0] if len(found) == 1 else ""
