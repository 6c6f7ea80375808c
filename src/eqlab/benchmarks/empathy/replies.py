"""What can be told of a reply by its text alone: its length in tokens, what it does besides answering, and for replies
that people wrote, marks of little care."""

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Any

from eqlab.core.answers import Answer, Reading
from eqlab.core.values import dataclass
from eqlab.core.words import count_words

MEAN_WORDS, MOST_WORDS = 28, 97
"""What the study told its models: mean and maximum of the people's replies, in tokens."""


def read_reply(text: str) -> Reading:
    """Every reply with words in it is used as it is, a refusal too: the study rated those as well. Only an empty one is
    asked for again."""
    if not text.strip():
        return Reading("unparseable", note="the reply is empty")
    return Reading("ok", describe(text))


def describe(reply: str) -> dict[str, Any]:
    """Length and manners: what is recorded of a reply."""
    refusal, greeting, ai, words = _manners(reply)
    return {"words": words, "tokens": count_tokens(reply), "refusal": refusal, "greeting": greeting, "ai": ai}


def reply_text(answer: Answer | None) -> str:
    """The words of a reply that was read; empty if there is none."""
    if answer is None or answer.status != "ok":
        return ""
    return str(answer.values.get("reply") or answer.text).strip()  # a person fills in a form, a model only speaks


# -- length --------------------------------------------------------------------------------------------------------

# As the study counted: sentences first, then Penn Treebank words, in which a punctuation mark is a token and "don't" is
# two. Own rules that follow the Treebank conventions (Marcus, Santorini & Marcinkiewicz 1993), as NLTK's word tokenizer
# does; a sentence ends at every period before a blank. Means, shortest and longest of the study's texts come out.
_ALONE = r"[;@#$%&?!*()\[\]{}<>«»“”‘’„\u2012-\u2015]"
_PIECE = re.compile(
    rf"""
      \.{{2,}}                          # an ellipsis of any length
    | `+ | -- | '' | "
    | {_ALONE}
    | [:,](?!\d)                        # 3,50 and 10:30 stay whole
    | (?: (?!\.{{2}}|--|''|[`"]|{_ALONE}|[:,](?!\d)) . )+
    """,
    re.VERBOSE,
)
_CLITIC = re.compile(r"(?<=[^'])(n't|N'T|'(?:ll|LL|re|RE|ve|VE|[sSmMdD])|')$")
_OPENING = re.compile(r"'(?!(?:re|ve|ll|m|t|s|d|n)\b)(?=\w)", re.IGNORECASE)
_MERGED = re.compile(
    r"(can)(not)|(d)('ye)|(gim)(me)|(gon)(na)|(got)(ta)|(lem)(me)|(more)('n)|(wan)(na)|('t)(is|was)", re.IGNORECASE
)
_FULL_STOP = re.compile(r"\.(?<![.\s]\.)(?=\s|[\])}>\"'»”’]*\s*$)")
"""A period that ends a sentence: only such a one is cut off its word."""
_LONG = 40
"""Characters from which on a word is not kept: a page without blanks would fill the memory."""


def tokens(text: str) -> list[str]:
    """The tokens of a text; empty for a text of blanks."""
    return [
        word
        for chunk in _FULL_STOP.sub(" . ", text).split()
        for word in (_kept(chunk) if len(chunk) <= _LONG else _chunk_tokens(chunk))
    ]


def count_tokens(text: str) -> int:
    chunks = _FULL_STOP.sub(" . ", text).split()
    short = max(map(len, chunks), default=0) <= _LONG
    return sum(map(_kept_count, chunks)) if short else len(tokens(text))


def _chunk_tokens(chunk: str) -> tuple[str, ...]:
    """The tokens between two blanks."""
    return tuple(word for piece in _PIECE.findall(chunk) for word in _words(piece))


_kept = lru_cache(maxsize=8192)(_chunk_tokens)  # most of what is said are the same few thousand words
_kept_count = lru_cache(maxsize=8192)(lambda chunk: len(_chunk_tokens(chunk)))


def _words(piece: str) -> list[str]:
    merged = _MERGED.fullmatch(piece)
    if merged:
        return [part for part in merged.groups() if part]
    if _OPENING.match(piece):
        return ["'", *_words(piece[1:])]
    clitic = _CLITIC.search(piece)
    if clitic:
        return [*_words(piece[: clitic.start()]), clitic.group()]
    return [piece]


# -- manners -------------------------------------------------------------------------------------------------------

# Two rules each for declining and for calling oneself an AI. `declines` and `says_it_is_ai` read what the speaker says
# of themselves. The phrase rules count a phrase anywhere, as the audit of the published replies did; they find 67
# refusals where 66 decline (one reply tells a helpless witness "you're unable to help") and 11 self-identifications
# where 24 are ("artificial intelligence" is spelled out in the rest).
#
# They read lower case. A search that begins with `\b` stops at every character of a text and takes ten times as long
# as one that begins with a letter, and looks then whether a word begins with it.
_DECLINES = re.compile(
    r"i(?<!\wi)(?:'m| am) (?:unable|not able) to (?:provide|assist|help|offer|continue)\b"
    r"|i(?<!\wi) (?:can't|cannot|can not|won't) (?:provide|assist|continue with|help you with that)\b"
    r"|i(?<!\wi) (?:must|have to) decline\b"
)
_PHRASE_UNABLE = re.compile(r"\bunable to (?:provide|assist|help)\b")
_AI = r" an? (?:ai|artificial intelligence|(?:large )?language model|chatbot|virtual assistant)\b"
_NAMES_AI = re.compile(_AI)
_SAYS_AI = re.compile(rf"\b(?:as|being|i'm(?: just| only)?|i am(?: just| only)?){_AI}")
_PHRASE_AI = re.compile(r"\bAI\b")
_GREETING = re.compile(r"how(?<!\whow) (?:can|may) i (?:assist|help) you(?: today)?\b")
_PHRASE_GREETING = "How can I assist you today"


@dataclass(frozen=True, slots=True)
class Manners:
    """One reply's record."""

    refusal: bool
    greeting: bool
    says_it_is_ai: bool
    words: int


def manners(reply: str) -> Manners:
    return Manners(*_manners(reply))


def _manners(reply: str) -> tuple[bool, bool, bool, int]:
    plain = _plain(reply)
    found = _DECLINES.search(plain), _GREETING.search(plain), _NAMES_AI.search(plain) and _SAYS_AI.search(plain)
    return found[0] is not None, found[1] is not None, found[2] is not None, count_words(reply)


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
    return text.replace("’", "'").lower()


# -- marks for a moderator -----------------------------------------------------------------------------------------

FASTEST = 12.0
"""Characters a second. The fastest typists reach about 10 with copied text, nobody with words of their own."""
_PASTED = 0.5
"""Share of a reply that was pasted, from which on it counts as pasted."""
_ALIKE = 0.9
"""Share of word pairs in common (Jaccard) from which on two replies count as the same."""
_COPIED = 0.6
"""Share of a reply's word pairs that the prompt has too."""
_FEW = 6
"""Words of a text below which it is nobody's in particular: many say "No", or "Thank you"."""
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
    pasted: int | None = None
    """Characters; None where nobody counted them."""


def moderation_marks(replies: Sequence[WrittenReply], least_words: int) -> list[tuple[str, ...]]:
    """The marks of each reply, in the order given: too short, pasted, typed faster than anybody types, copied from the
    prompt, the same as another's, or a machine's words. They are for a moderator; nothing is thrown away."""
    pairs = [_pairs(one.reply) for one in replies]
    seen: dict[str, list[int]] = {}
    by_prompt: dict[str, list[int]] = {}
    by_person: dict[str, list[int]] = {}
    for index, reply in enumerate(replies):
        for where, name in ((seen, _bare(reply.reply)), (by_prompt, reply.prompt), (by_person, reply.person)):
            where.setdefault(name, []).append(index)
    found = []
    for index, written_reply in enumerate(replies):
        bare = _bare(written_reply.reply)
        own = len(bare.split()) >= _FEW
        same = any(own or _again(written_reply, replies[other]) for other in seen[bare] if other != index)
        near = (
            own
            and not same
            and any(
                _jaccard(pairs[index], pairs[other]) >= _ALIKE
                for other in {*by_prompt[written_reply.prompt], *by_person[written_reply.person]} - {index}
            )
        )
        found.append(_marks(written_reply, pairs[index], least_words, same=same, near=near))
    return found


def _again(one: WrittenReply, other: WrittenReply) -> bool:
    """Whether somebody replies alike to two prompts: then a few words tell it, too."""
    return bool(one.said.strip()) and one.person == other.person and one.prompt != other.prompt


def _marks(
    reply: WrittenReply, pairs: frozenset[tuple[str, str]], least_words: int, *, same: bool, near: bool
) -> tuple[str, ...]:
    words = _bare(reply.reply).split()
    told = _pairs(reply.said)
    manner = manners(reply.reply)
    marks = {
        "too_short": count_words(reply.reply) < least_words,
        "pasted": (reply.pasted or 0) > _PASTED * max(1, len(reply.reply)),
        "typed_too_fast": reply.seconds is not None and len(reply.reply) > FASTEST * max(reply.seconds, 0.1),
        "duplicate": same,
        "near_duplicate": near,
        "copies_the_prompt": bool(pairs) and len(pairs & told) > _COPIED * len(pairs),
        "repeats_itself": len(words) >= 8 and len(set(words)) < _FEW_WORDS * len(words),
        "sounds_like_a_machine": manner.says_it_is_ai or manner.greeting,
        "declines": manner.refusal,
    }
    return tuple(name for name, hit in marks.items() if hit)


def likeness(one: str, other: str) -> float:
    """The share of word pairs that two texts have in common (Jaccard), from 0 to 1."""
    return _jaccard(_pairs(one), _pairs(other))


def _bare(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.casefold()))


def _pairs(text: str) -> frozenset[tuple[str, str]]:
    words = _bare(text).split()
    return frozenset(pairwise(words))


def _jaccard(one: frozenset[tuple[str, str]], other: frozenset[tuple[str, str]]) -> float:
    return len(one & other) / len(one | other) if one and other else 0.0
