"""How much care went into replies that people wrote: too short, pasted, typed faster than anybody types, copied from
the prompt, the same as another's, or a machine's words. Marks for a moderator; nothing is thrown away. Pure."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from eqlab.benchmarks.empathy.manners import manners

FASTEST = 12.0
"""Characters a second. The fastest typists reach about 10 with copied text, nobody with words of their own."""
_PASTED = 0.5
"""Share of a reply that was pasted, from which on it counts as pasted."""
_ALIKE = 0.9
"""Share of word pairs in common (Jaccard) from which on two replies count as the same."""
_COPIED = 0.6
"""Share of a reply's word pairs that the prompt has too."""
_FEW_WORDS = 0.35
"""Different words per word below which a reply of some length repeats itself."""


@dataclass(frozen=True, slots=True)
class WrittenReply:
    """One reply and how it came about."""

    person: str
    prompt: str
    said: str
    """What it replies to."""
    reply: str
    seconds: float | None = None
    pasted: int = 0


def care(replies: Sequence[WrittenReply], least_words: int) -> list[tuple[str, ...]]:
    """The marks of each reply, in the order given."""
    pairs = [_pairs(one.reply) for one in replies]
    seen: dict[str, list[int]] = {}
    by_prompt: dict[str, list[int]] = {}
    by_person: dict[str, list[int]] = {}
    for index, one in enumerate(replies):
        for where, name in ((seen, _bare(one.reply)), (by_prompt, one.prompt), (by_person, one.person)):
            where.setdefault(name, []).append(index)
    found = []
    for index, one in enumerate(replies):
        same = len(seen[_bare(one.reply)]) > 1
        near = not same and any(
            _jaccard(pairs[index], pairs[other]) >= _ALIKE
            for other in {*by_prompt[one.prompt], *by_person[one.person]} - {index}
        )
        found.append(_marks(one, pairs[index], least_words, same=same, near=near))
    return found


def _marks(
    one: WrittenReply, pairs: frozenset[tuple[str, str]], least_words: int, *, same: bool, near: bool
) -> tuple[str, ...]:
    words = _bare(one.reply).split()
    told = _pairs(one.said)
    manner = manners(one.reply)
    marks = {
        "too_short": len(words) < least_words,
        "pasted": one.pasted > _PASTED * max(1, len(one.reply)),
        "typed_too_fast": one.seconds is not None and len(one.reply) > FASTEST * max(one.seconds, 0.1),
        "duplicate": same,
        "near_duplicate": near,
        "copies_the_prompt": bool(pairs) and len(pairs & told) > _COPIED * len(pairs),
        "repeats_itself": len(words) >= 8 and len(set(words)) < _FEW_WORDS * len(words),
        "sounds_like_a_machine": manner.says_it_is_ai or manner.greeting,
        "declines": manner.refusal,
    }
    return tuple(name for name, hit in marks.items() if hit)


def _bare(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.casefold()))


def _pairs(text: str) -> frozenset[tuple[str, str]]:
    words = _bare(text).split()
    return frozenset(pairwise(words))


def _jaccard(one: frozenset[tuple[str, str]], other: frozenset[tuple[str, str]]) -> float:
    return len(one & other) / len(one | other) if one and other else 0.0
