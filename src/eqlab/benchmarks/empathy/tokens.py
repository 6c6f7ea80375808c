"""Length of a text in tokens, as the study counted it: sentences first, then Penn Treebank words, in which a
punctuation mark is a token and "don't" is two.

Own rules that follow the Treebank conventions (Marcus, Santorini & Marcinkiewicz 1993), as NLTK's word tokenizer
does; a sentence ends at every period before a blank. Means, shortest and longest of the study's texts come out."""

import re
from functools import lru_cache

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
_FULL_STOP = re.compile(r"(?<![.\s])\.(?=\s|[\])}>\"'»”’]*\s*$)")
"""A period that ends a sentence: only such a one is cut off its word."""
_LONG = 40
"""Characters from which on a word is not kept: a page without blanks would fill the memory."""


def tokens(text: str) -> list[str]:
    """The tokens of a text; empty for a text of blanks."""
    return [
        word
        for chunk in _FULL_STOP.sub(" . ", text).split()
        for word in (_kept(chunk) if len(chunk) <= _LONG else _of(chunk))
    ]


def count(text: str) -> int:
    return len(tokens(text))


def _of(chunk: str) -> tuple[str, ...]:
    """The tokens between two blanks."""
    return tuple(word for piece in _PIECE.findall(chunk) for word in _words(piece))


_kept = lru_cache(maxsize=8192)(_of)  # most of what is said are the same few thousand words


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
