"""Separating a thinking model's inline reasoning from its answer. The reasoning is kept and never parsed."""

import re

_TAGS = ("think", "thinking", "reasoning", "thought")
_OPENING = re.compile(rf"<({'|'.join(_TAGS)})>", re.IGNORECASE)
_CLOSING = {tag: re.compile(f"</{tag}>", re.IGNORECASE) for tag in _TAGS}
_CLOSE = re.compile(r"^(.*)</(?:think|thinking|reasoning|thought)>", re.DOTALL | re.IGNORECASE)
_CHANNEL = re.compile(r"<\|channel\|>(?:analysis|commentary)<\|message\|>(.*?)<\|end\|>", re.DOTALL)
_CHANNEL_FINAL = re.compile(r"(?:<\|start\|>assistant)?<\|channel\|>final<\|message\|>|<\|return\|>|<\|end\|>")


def split_reasoning(text: str) -> tuple[str, str]:
    """(answer, reasoning). A block that was cut off is all reasoning; one whose start the server ate is too."""
    if "<" not in text:
        return text, ""
    thoughts: list[str] = []

    def take(match: re.Match[str]) -> str:
        thoughts.append(match.group(1))
        return ""

    rest = text
    if "<|channel|>" in text:
        end = text.rfind("<|end|>") + len("<|end|>")  # nothing closes behind it
        rest = _CHANNEL_FINAL.sub("", _CHANNEL.sub(take, text[:end]) + text[end:])
    rest = _without_blocks(rest, thoughts)
    rest = _CLOSE.sub(take, rest)
    if not thoughts:
        return text, ""
    return rest.strip(), "\n".join(thought.strip() for thought in thoughts)


def _without_blocks(text: str, thoughts: list[str]) -> str:
    """The text outside <think>…</think>; from the first tag that is never closed on, everything is thought.

    One pass: a model that loops on "<think>" writes thousands of them."""
    outside: list[str] = []
    after, unclosed = 0, None
    for opening in _OPENING.finditer(text):
        if opening.start() < after or (unclosed and unclosed[1].lower() == opening[1].lower()):
            continue
        closing = _CLOSING[opening[1].lower()].search(text, opening.end())
        if closing is None:
            unclosed = unclosed or opening
            continue
        if unclosed:  # a block inside what was cut off is part of it
            continue
        outside.append(text[after : opening.start()])
        thoughts.append(text[opening.end() : closing.start()])
        after = closing.end()
    if unclosed:
        outside.append(text[after : unclosed.start()])
        thoughts.append(text[unclosed.end() :])
    else:
        outside.append(text[after:])
    return "".join(outside)
