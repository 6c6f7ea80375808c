"""Keeping a key out of what a server says: it is looked for after decoding, and a short one is no secret."""

import re

from eqlab.core.secrets import without_secrets

HIDDEN = "(your-key)"  # one word, so that what is found twice is hidden once
_KEY = 8
"""Characters. A shorter key (`x`, `EMPTY`, `none`) stands in a text by chance and is no secret."""
_LONG_KEY = 16
"""From here on a part of it is recognised too, and models' replies are searched as well as errors."""


def without_key(text: str, key: str) -> str:
    """A server's error without the key, whole or cut short, and without whatever else looks like one."""
    if len(key) >= _KEY:
        for form in _forms(key):
            text = text.replace(form, HIDDEN)
    if len(key) >= _LONG_KEY:
        text = re.sub(re.escape(key[: _LONG_KEY // 2]) + r"[^\s'\"]*", HIDDEN, text)
    return without_secrets(text)


def reply_without_key(text: str, key: str) -> str:
    """A model's reply, from a server that shows what it was sent."""
    if len(key) < _LONG_KEY:
        return text
    for form in _forms(key):
        if form in text:
            text = text.replace(form, HIDDEN)
    return text


def _forms(key: str) -> tuple[str, ...]:
    """As it is, and as JSON inside of JSON writes it."""
    escaped = key.replace("/", "\\/")
    return (key,) if escaped == key else (key, escaped)
