"""What answers took: tokens, money, time. Small and honest: what nobody said is unknown, never 0."""

from collections.abc import Iterable, Mapping
from dataclasses import field
from statistics import median
from typing import Any, Protocol

from eqlab.core.values import dataclass


class Took(Protocol):
    """What an attempt says about that: an answer does, and so does a `Use`."""

    @property
    def answered(self) -> bool: ...
    @property
    def tokens_in(self) -> int | None: ...
    @property
    def tokens_out(self) -> int | None: ...
    @property
    def latency(self) -> float | None: ...
    @property
    def usage(self) -> Mapping[str, Any]: ...
    @property
    def batch(self) -> bool: ...


@dataclass(frozen=True, slots=True)
class Use:
    """What one stored attempt took, without its text."""

    answered: bool
    """False: the request was lost."""
    tokens_in: int | None
    tokens_out: int | None
    latency: float | None
    usage: Mapping[str, Any] = field(default_factory=dict)
    batch: bool = False
    room: int = 0
    """Tokens that the reply might have had."""
    characters_in: int = 0
    """Of the trial as it is stored, and of the reply: all that is known where tokens were not counted."""
    characters_out: int = 0
    seat: str = ""
    """Who answered, in a talk: empty for the subject."""

    @property
    def counted(self) -> bool:
        return self.tokens_in is not None and self.tokens_out is not None

    @property
    def known_tokens(self) -> tuple[int | None, int | None]:
        """Tokens in and out; None for what is unknown, as a report of 0 is (earlier versions stored such)."""
        return self.tokens_in or None, self.tokens_out or (None if self.characters_out else self.tokens_out)

    @property
    def timed_out(self) -> int:
        return timed_out(self.usage)


def timed_out(usage: Mapping[str, Any]) -> int:
    """Requests of an attempt that were given up or broke off, and may be billed."""
    value = usage.get("timed_out", 0)
    return value if isinstance(value, int) else 0


@dataclass(frozen=True, slots=True)
class Failed:
    """What an attempt's requests that failed took, as far as their server told."""

    tokens_in: int
    tokens_out: int
    cost: float
    """In US dollars, of those whose server said it."""
    cost_in: int
    """Tokens that it is for."""
    cost_out: int


def failed(usage: Mapping[str, Any]) -> Failed:
    counts = [usage.get(name, 0) for name in ("failed_in", "failed_out", "failed_cost_in", "failed_cost_out")]
    given, made, cost_in, cost_out = counts if all(isinstance(count, int) for count in counts) else (0, 0, 0, 0)
    cost = usage.get("failed_cost", 0.0)
    return Failed(given, made, cost if isinstance(cost, int | float) else 0.0, cost_in, cost_out)


@dataclass(frozen=True, slots=True)
class Usage:
    """What a subject's answers took altogether, attempts that could not be read included."""

    answers: int
    tokens_in: int | None
    """Of what was counted, requests that failed included; None where nothing was."""
    tokens_out: int | None
    uncounted: int
    """Answers whose server counted no tokens, and requests that were given up: the rest is a lower limit."""
    cost: float | None
    """Of what is known; None where nothing is."""
    currency: str
    seconds: float | None
    """The median time of a reply; None where most were not waited for (batches)."""
    unpriced: int = 0
    """Attempts whose cost is not known, or not all of it: the rest is a lower limit."""


def total(uses: Iterable[Took], costs: Iterable[tuple[float | None, bool]], currency: str) -> Usage:
    """`costs` go with `uses`: what is known, and whether that is all. A cost stands only where some is known."""
    answers = uncounted = unpriced = tokens_in = tokens_out = 0
    seconds: list[float] = []
    priced: list[float] = []
    for use, (cost, whole) in zip(uses, costs, strict=True):
        if use.usage:
            uncounted += timed_out(use.usage)
            lost = failed(use.usage)
            tokens_in, tokens_out = tokens_in + lost.tokens_in, tokens_out + lost.tokens_out
        unpriced += not whole
        if cost is not None:
            priced.append(cost)
        if not use.answered:
            continue
        answers += 1
        asked, said = use.tokens_in, use.tokens_out
        if not asked or said is None:  # no prompt has 0 tokens
            uncounted += 1
        tokens_in += asked or 0
        tokens_out += said or 0
        if use.latency is not None:
            seconds.append(use.latency)
    some = tokens_in + tokens_out > 0
    return Usage(
        answers,
        tokens_in if some else None,
        tokens_out if some else None,
        uncounted,
        sum(priced) if any(priced) or (priced and not unpriced) else None,
        currency,
        median(seconds) if 2 * len(seconds) >= max(1, answers) else None,
        unpriced,
    )
