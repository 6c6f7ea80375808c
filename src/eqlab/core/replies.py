"""A reply as raters get it: text, what it replies to, and whose it is."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ReplyRow:
    arm: str
    """Who replied. No rater sees it."""
    prompt: str
    reply: str
    emotion: str = ""
    valence: str = ""
    situation: str = ""
    utterance: str = ""
    batch: int | None = None
    repeat: int = 0
    human: tuple[tuple[str, int], ...] = ()
    """(rater, rating) of people who have rated this very reply."""
    human_scales: tuple[tuple[str, str, int], ...] = ()
    """(rater, scale, value) where people rated it on scales of their own."""
