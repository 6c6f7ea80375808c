"""A subject's reply as it came: its words, and what it does besides answering."""

from typing import Any

from eqlab.benchmarks.empathy.manners import manners
from eqlab.benchmarks.empathy.tokens import count
from eqlab.core.answers import Answer, Reading


def read_reply(text: str) -> Reading:
    """Every reply with words in it is used as it is, a refusal too: the study rated those as well. Only an empty one is
    asked for again."""
    if not text.strip():
        return Reading("unparseable", note="the reply is empty")
    return Reading("ok", describe(text))


def describe(reply: str) -> dict[str, Any]:
    """Length and manners: what is recorded of a reply."""
    found = manners(reply)
    return {
        "words": found.words,
        "tokens": count(reply),
        "refusal": found.refusal,
        "greeting": found.greeting,
        "ai": found.says_it_is_ai,
    }


def reply_text(answer: Answer | None) -> str:
    """The words of a reply that was read; empty if there is none."""
    if answer is None or answer.status != "ok":
        return ""
    return str(answer.values.get("reply") or answer.text).strip()  # a person fills in a form, a model only speaks
