"""Separating a thinking model's inline reasoning from its answer. The reasoning is kept and never parsed."""

import re

_BLOCK = re.compile(r"<(think|thinking|reasoning|thought)>(.*?)</\1>", re.DOTALL | re.IGNORECASE)
_OPEN = re.compile(r"<(think|thinking|reasoning|thought)>(?!.*</\1>)", re.DOTALL | re.IGNORECASE)
_CLOSE = re.compile(r"^(.*)</(?:think|thinking|reasoning|thought)>", re.DOTALL | re.IGNORECASE)
_CHANNEL = re.compile(r"<\|channel\|>(?:analysis|commentary)<\|message\|>(.*?)<\|end\|>", re.DOTALL)
_CHANNEL_FINAL = re.compile(r"(?:<\|start\|>assistant)?<\|channel\|>final<\|message\|>|<\|return\|>|<\|end\|>")


def split_reasoning(text: str) -> tuple[str, str]:
    """(answer, reasoning). A block that was cut off is all reasoning; one whose start the server ate is too."""
    if "<" not in text:
        return text, ""
    thoughts: list[str] = []

    def take(match: re.Match[str]) -> str:
        thoughts.append(match.group(match.lastindex or 0))
        return ""

    rest = _CHANNEL_FINAL.sub("", _CHANNEL.sub(take, text)) if "<|channel|>" in text else text
    rest = _BLOCK.sub(take, rest)
    unclosed = _OPEN.search(rest)
    if unclosed:
        thoughts.append(rest[unclosed.end() :])
        rest = rest[: unclosed.start()]
    rest = _CLOSE.sub(take, rest)
    if not thoughts:
        return text, ""
    return rest.strip(), "\n".join(thought.strip() for thought in thoughts)
