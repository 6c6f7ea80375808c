"""What a reply does besides answering: it declines to help, greets like an assistant, says that it is an AI.

Two rules for the first and last. `declines` and `says_it_is_ai` read what the speaker says of themselves. The phrase
rules count a phrase anywhere, as the audit of the published replies did; they find 67 refusals where 66 decline (one
reply tells a helpless witness "you're unable to help") and 11 self-identifications where 24 are ("artificial
intelligence" is spelled out in the rest)."""

import re
from dataclasses import dataclass

_DECLINES = re.compile(
    r"\bI(?:'m| am) (?:unable|not able) to (?:provide|assist|help|offer|continue)\b"
    r"|\bI (?:can't|cannot|can not|won't) (?:provide|assist|continue with|help you with that)\b"
    r"|\bI (?:must|have to) decline\b",
    re.IGNORECASE,
)
_PHRASE_UNABLE = re.compile(r"\bunable to (?:provide|assist|help)\b", re.IGNORECASE)
_AI = r"(?:AI|artificial intelligence|(?:large )?language model|chatbot|virtual assistant)"
_SAYS_AI = re.compile(rf"\b(?:as|being|I'm(?: just| only)?|I am(?: just| only)?) an? {_AI}\b", re.IGNORECASE)
_PHRASE_AI = re.compile(r"\bAI\b")
_GREETING = re.compile(r"\bHow (?:can|may) I (?:assist|help) you(?: today)?\b", re.IGNORECASE)
_PHRASE_GREETING = "How can I assist you today"


@dataclass(frozen=True, slots=True)
class Manners:
    """One reply's record."""

    refusal: bool
    greeting: bool
    says_it_is_ai: bool
    words: int


def manners(reply: str) -> Manners:
    return Manners(declines(reply), greets(reply), says_it_is_ai(reply), len(reply.split()))


def declines(reply: str) -> bool:
    """Whether the speaker says that they will not or cannot help."""
    return _DECLINES.search(_plain(reply)) is not None


def greets(reply: str) -> bool:
    """Whether it asks, like an assistant at a counter, how it can help."""
    return _GREETING.search(_plain(reply)) is not None


def says_it_is_ai(reply: str) -> bool:
    return _SAYS_AI.search(_plain(reply)) is not None


def phrase_refusal(reply: str) -> bool:
    """The audit's rule: "unable to provide / assist / help" anywhere."""
    return _PHRASE_UNABLE.search(_plain(reply)) is not None


def phrase_ai(reply: str) -> bool:
    """The audit's rule: the word "AI" anywhere."""
    return _PHRASE_AI.search(reply) is not None


def phrase_greeting(reply: str) -> bool:
    """The audit's rule: "How can I assist you today" anywhere."""
    return _PHRASE_GREETING in reply


def _plain(text: str) -> str:
    return text.replace("’", "'")
