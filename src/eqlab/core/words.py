"""How long a text is, in words, whatever it is written in."""

import re

_UNSPACED = (
    (re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"), 2),
    (re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]"), 4),
)
"""Scripts that put nothing between words, and about how many of their characters a word has: Chinese and Japanese;
Thai, Lao, Burmese and Khmer."""


def count_words(text: str) -> int:
    """Words between blanks; of scripts without blanks as many as so many characters are worth."""
    if text.isascii():
        return len(text.split())
    count, spaced = 0, text
    for script, characters in _UNSPACED:
        spaced, found = script.subn(" ", spaced)
        count += -(-found // characters)
    if not count:
        return len(text.split())
    return count + sum(any(map(str.isalnum, part)) for part in spaced.split())
