"""Which of the published EQ-Bench models descend from the same base model: relatives answer alike, so a figure for
"new" models is honest only if whole families are held out."""

import re

_BASES = {
    "gpt-4": r"gpt-4",
    "gpt-3.5": r"gpt-3\.5",
    "gemini": r"gemini",
    "phi-2": r"phi-2|phixtral",
    "solar-10.7b": r"solar|meow|lmcocktail",
    "qwen": r"qwen|momo-72b",
    "yi": r"\byi-|-yi-|bagel-34b|34bx2|capybara-34b|tess-34b",
    "mixtral": r"mixtral-8x7b|firefly-mixtral",
    "llama-70b": r"synthia|shiningvaliant|wizardlm-70b|tulu-2|megadolphin|discolm-120b|llama-2-70b|dolphin-2\.2-70b"
    r"|goliath|tess-xl|miqu|mistral-medium",
    "llama": r"llama-2-(?:7|13)b|capybara-7b|koala|vicuna|guanaco|wizardlm-13b",
    "mistral-7b": r"mistral|neural-?chat|beyonder|starling|una-cybertron|zephyr-7b|beagle14|marcoro|openchat|xdan"
    r"|laserxtral|2x7b",
}


def family(model: str) -> str:
    """The first base that the name speaks of; a model whose name says nothing is a family of its own."""
    return next((base for base, pattern in _BASES.items() if re.search(pattern, model, re.IGNORECASE)), model)
