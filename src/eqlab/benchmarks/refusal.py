"""Recognising that a reply declines to answer. Used only on replies that could not be read, so a reply that
answers and apologises is never counted as a refusal."""

import re

_REFUSAL = re.compile(
    r"\b(?:"
    r"I(?:'m| am) (?:sorry|unable|not able|not comfortable|afraid I)"
    r"|I (?:can(?:no|')t|can not|won't|will not|must decline|do not feel comfortable|don't feel comfortable)"
    r"|I (?:have to|must) (?:decline|refuse)"
    r"|(?:As|Being) an? (?:AI|artificial intelligence|language model|assistant)"
    r"|I (?:do not|don't) (?:have|experience|possess) (?:personal )?(?:feelings|emotions)"
    r"|against my (?:guidelines|policy|programming)"
    r"|(?:Es tut mir leid|Ich kann (?:diese|das|keine|nicht)|Als (?:KI|Sprachmodell))"
    r")",
    re.IGNORECASE,
)


def is_refusal(text: str) -> bool:
    """Whether the opening of a reply declines; a long answer that mentions a limit later on does not."""
    return _REFUSAL.search(text[:400].replace("’", "'")) is not None
