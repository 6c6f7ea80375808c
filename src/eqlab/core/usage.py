"""What answers took: tokens, money, time. Small and honest: what nobody said is unknown, never 0."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from statistics import median
from typing import Any


@dataclass(frozen=True, slots=True)
class Use:
    """What one stored attempt says about that."""

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
    def timed_out(self) -> int:
        """Requests of this attempt that were given up, and were probably billed."""
        value = self.usage.get("timed_out", 0)
        return value if isinstance(value, int) else 0


@dataclass(frozen=True, slots=True)
class Usage:
    """What a subject's answers took altogether, attempts that could not be read included."""

    answers: int
    tokens_in: int | None
    """Of the answers that were counted; None where none was."""
    tokens_out: int | None
    uncounted: int
    """Answers whose server counted no tokens, and requests that were given up: the rest is a lower limit."""
    cost: float | None
    """None: unknown."""
    currency: str
    seconds: float | None
    """The median time of a reply; None where most were not waited for (batches)."""


def total(uses: Iterable[Use], costs: Iterable[float | None], currency: str) -> Usage:
    """`costs` go with `uses`: None for what is not known. A cost stands only where it is known of some answer."""
    answers = uncounted = tokens_in = tokens_out = 0
    seconds: list[float] = []
    known: list[float] = []
    for use, cost in zip(uses, costs, strict=True):
        uncounted += use.timed_out + (use.answered and not use.counted)
        if not use.answered:
            continue
        answers += 1
        tokens_in += use.tokens_in or 0
        tokens_out += use.tokens_out or 0
        if cost is not None:
            known.append(cost)
        if use.latency is not None:
            seconds.append(use.latency)
    some = tokens_in + tokens_out > 0
    return Usage(
        answers,
        tokens_in if some else None,
        tokens_out if some else None,
        uncounted,
        sum(known) if known else None,
        currency,
        median(seconds) if 2 * len(seconds) >= max(1, answers) else None,
    )
