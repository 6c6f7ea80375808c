"""Numbers, dates and untrusted text as a reader sees them. "Undefined" is a word here, never 0.

Replies are untrusted: what cannot be seen (control and direction characters) is made visible, what must not be
shared (keys, passwords in addresses) is left out."""

import math
import unicodedata
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

from eqlab.core.results import AMONG_REPLIES, FEWEST, STANDS_ABOVE, Estimate, ItemScore, Norms, Result
from eqlab.core.settings import is_secret, without_secrets
from eqlab.core.usage import Usage
from eqlab.core.values import dataclass

UNDEFINED = "undefined"
TOO_FEW = "too few"
ABOVE = "above people"
"""The head of the column of percentiles."""

_KEPT = "\n\t\u200c\u200d"  # line, tab, and the joiners that Persian and emoji need
_HIDDEN = {"Cc", "Cf", "Cs", "Zl", "Zp"}


def visible(text: str) -> str:
    """The text with every character that hides, reorders or breaks something replaced by a mark that shows it."""
    if text.isprintable():  # most texts, and done without looking at every character here
        return text
    text = text.replace("\r\n", "\n")
    if text.replace("\n", "").isprintable():
        return text
    return "".join(_mark(char) if _hides(char) else char for char in text)


def _hides(char: str) -> bool:
    return unicodedata.category(char) in _HIDDEN and char not in _KEPT


def _mark(char: str) -> str:
    code = ord(char)
    if code < 0x20:
        return chr(0x2400 + code)  # the control pictures
    return "␡" if code == 0x7F else f"⟨U+{code:04X}⟩"


def clip(text: str, limit: int, lines: int = 40) -> tuple[str, str]:
    """The text in two parts, cut near `limit` characters, at a space where there is one, or after `lines` lines.
    A short rest is not worth a cut."""
    start = text[: int(limit * 1.2)].split("\n")
    if len(start) > lines:
        cut = sum(len(line) + 1 for line in start[:lines])
        return text[:cut], text[cut:]
    if len(text) <= limit * 1.2:
        return text, ""
    space = max(text.rfind(" ", 0, limit), text.rfind("\n", 0, limit))
    cut = space if space > limit * 0.8 else limit
    return text[:cut], text[cut:]


def short(text: str, limit: int = 60) -> str:
    """One line of at most `limit` characters, for labels."""
    line = " ".join(text.split())
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"


def short_name(text: str, limit: int = 60) -> str:
    """A name cut in the middle: models differ at both ends."""
    line = " ".join(text.split())
    half = (limit - 1) // 2
    return line if len(line) <= limit else f"{line[:half]}…{line[-half:]}"


def is_number(value: float | None) -> bool:
    return value is not None and math.isfinite(value)


def number(value: float | None, digits: int = 2, unit: str = "") -> str:
    """ASCII minus on purpose: a number copied into a spreadsheet must stay a number."""
    if value is None or not math.isfinite(value):
        return UNDEFINED
    text = f"{value:.{digits}f}"
    if text.startswith("-") and float(text) == 0:
        text = text[1:]
    return f"{text} {unit}" if unit else text


def value_of(estimate: Estimate) -> str:
    return number(estimate.value, estimate.digits, estimate.unit)


def interval_of(estimate: Estimate) -> str:
    if not (is_number(estimate.low) and is_number(estimate.high)):
        return TOO_FEW if few(estimate) else UNDEFINED
    return f"{number(estimate.low, estimate.digits)} to {number(estimate.high, estimate.digits)}"


def basis_of(estimate: Estimate) -> str:
    """What stands behind the number: "95 % CI 51.20 to 63.40, n = 58"."""
    if is_number(estimate.low) and is_number(estimate.high):
        return f"95 % CI {interval_of(estimate)}, n = {count_of(estimate)}"
    return f"{'too few for an interval' if few(estimate) else 'no interval'}, n = {count_of(estimate)}"


def few(estimate: Estimate) -> bool:
    """Whether it has no interval because there is too little to make one of: fewer than five, or as its note says."""
    return is_number(estimate.value) and (estimate.n < FEWEST or estimate.note.startswith(TOO_FEW))


def count_of(estimate: Estimate) -> str:
    """n, and what it counts where that is not plain: "58", "1 person", "24 people"."""
    of = "person" if estimate.of == "people" and estimate.n == 1 else estimate.of
    return f"{estimate.n} {of}".rstrip()


def estimate_text(estimate: Estimate) -> str:
    """ "57.31 ± 3.11 SE (95 % CI 51.20 to 63.40, n = 58)"; an undefined value has no error and no interval."""
    if not is_number(estimate.value):
        return f"{UNDEFINED} (n = {count_of(estimate)})"
    error = f" ± {number(estimate.se, estimate.digits)} SE" if is_number(estimate.se) else ""
    return f"{value_of(estimate)}{error} ({basis_of(estimate)})"


def floor_text(value: float, digits: int) -> str:
    """A no-skill baseline: one digit after the point is enough, but for a score that lies between 0 and 1."""
    return f"{value:.{digits if 0 < abs(value) < 1 else min(digits, 1)}f}"


def percentile_text(place: Estimate | None, norms: Norms | None = None) -> str:
    """Where among people: "62 % (48 to 75)", "at least 89 %", "moved more than 62 %"; the cell of every table, empty
    without norms."""
    if place is None:
        return ""
    if not is_number(place.value):
        return UNDEFINED
    if norms and norms.relation != STANDS_ABOVE:
        return f"{norms.relation.removeprefix('is ')} {percentile_text(place)}"
    beyond = next((f"{word} " for word in ("at least", "at most") if place.note.startswith(word)), "")
    bounds = f" ({interval_of(place)})" if is_number(place.low) and is_number(place.high) and not beyond else ""
    return f"{beyond}{value_of(place)}{bounds}"


def percentile_sentence(who: str, place: Estimate, norms: Norms) -> str:
    """The same in words, with whom the subject is held against, or why it cannot be."""
    people = f"{count_of(place)}{' who answered' if place.of == 'people' else ''} ({norms.source})"
    if not is_number(place.value):
        return f"Where {who} stands among the {people} is undefined: {place.note}."
    but = f"; {norms.caution}" if norms.caution else ""
    return f"{who} {norms.relation} {percentile_text(place)} of the {people}{but}."


def place_sentences(who: str, result: Result) -> Iterator[str]:
    """Where among people a subject stands; of a rater, where those stand whose replies it rated."""
    if result.percentile and result.norms:
        yield percentile_sentence(who, result.percentile, result.norms)
    for arm, place in result.others.above.items() if result.others else ():
        yield percentile_sentence(arm, place, AMONG_REPLIES)


@lru_cache(maxsize=16)
def utc(timestamp: float) -> str:
    return datetime.fromtimestamp(timestamp, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def plain(value: Any) -> str:
    """A JSON value as a few words."""
    if value is None:
        return UNDEFINED
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:g}" if math.isfinite(value) else UNDEFINED
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {plain(part)}" for key, part in value.items()) or "none"
    if isinstance(value, list | tuple | set | frozenset):
        return ", ".join(plain(part) for part in value) or "none"
    return str(value)


def item_keys(item: ItemScore) -> list[str]:
    """Every key that the answer, the reference or the reasons name, in that order."""
    return list(dict.fromkeys([*item.values, *item.reference, *item.reasons]))


def asked_keys(item: ItemScore) -> list[str]:
    """The same without what only reasons name."""
    return list(dict.fromkeys([*item.values, *item.reference]))


def level(value: Any) -> str:
    """A value of an item, in a table: a mean of people's ratings to two decimals."""
    return plain(round(value, 2) if isinstance(value, float) and math.isfinite(value) else value)


def distance(value: Any, reference: Any) -> float:
    """How far an item's value lies from its reference: of numbers the difference; of anything else nothing, or all."""
    if all(isinstance(one, int | float) and is_number(one) for one in (value, reference)):
        return abs(float(value) - float(reference))
    return 0.0 if level(value) == level(reference) else math.inf


def furthest(item: ItemScore) -> set[str]:
    """The keys whose values lie furthest from the reference; none where all are as it says, or one number is all."""
    far = {key: distance(item.values[key], item.reference[key]) for key in item.values if key in item.reference}
    most = max(far.values(), default=0.0)
    return {key for key, own in far.items() if own == most > 0 and (len(far) > 1 or most == math.inf)}


def facts(mapping: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    """(name, value) lines of a nested mapping, without secrets: a report is made to be passed on."""
    for key, value in mapping.items():
        name = f"{prefix}{key}"
        if is_secret(str(key)):
            yield name, "(left out)"
        elif isinstance(value, Mapping) and value:
            yield from facts(value, f"{name} · ")
        else:
            yield name, without_secrets(plain(value))


@dataclass(frozen=True, slots=True)
class UsageWords:
    tokens: str
    """In and out together."""
    tokens_in: str
    tokens_out: str
    cost: str
    seconds: str


def usage_words(usage: Usage) -> UsageWords:
    """What answers took, as a reader sees it: `unknown` where nobody said, a lower limit where some did not."""
    least = "≥ " if usage.uncounted else ""
    both = None if usage.tokens_in is None or usage.tokens_out is None else usage.tokens_in + usage.tokens_out
    cost = money(usage.cost, usage.currency)

    def counted(count: int | None) -> str:
        return "unknown" if count is None else f"{least}{count:,}"

    return UsageWords(
        counted(both),
        counted(usage.tokens_in),
        counted(usage.tokens_out),
        cost=f"≥ {cost}" if usage.cost and usage.unpriced else cost,
        seconds=_seconds(usage.seconds),
    )


def _seconds(value: float | None) -> str:
    if value is None:
        return "unknown"
    return "< 0.01" if value < 0.005 else number(value, 2 if value < 10 else 0)


def money(amount: float | None, currency: str) -> str:
    """An amount that is never shown as nothing while it is something; None is unknown."""
    if amount is None:
        return "unknown"
    if not amount and not currency:
        return "free"
    if amount and amount < 0.005:
        return f"{amount:.2g} {currency}" if amount >= 0.0001 else f"< 0.0001 {currency}"
    return f"{amount:,.2f} {currency}"


def people(count: int, kind: str = "") -> str:
    """1 person, 2 people; 2 simulated people."""
    return " ".join(filter(None, (str(count), kind, "person" if count == 1 else "people")))
