"""What a run has taken so far, from what is stored: tokens, money, time."""

import math
from collections.abc import Mapping, Sequence

from eqlab.benchmarks.registry import load
from eqlab.core.answers import Answer
from eqlab.core.benchmark import Seated
from eqlab.core.runs import BenchmarkConfig, ModelConfig
from eqlab.core.usage import Took, Usage, total
from eqlab.models.prices import FREE, Price, known_prices
from eqlab.store.reader import Reader

_CHARACTERS_IN, _CHARACTERS_OUT = 3, 2
"""Characters a token, at the worst: for answers whose server counted none. A stored trial is longer than its prompt."""


def usage_of(attempts: Sequence[tuple[str, Answer]], model: ModelConfig, asked: BenchmarkConfig) -> Usage:
    """What a model's answers to a benchmark took, those of the others in its talks included; each after its seat."""
    prices = known_prices()
    benchmark = load(asked.name)
    by_seat = {"": prices.of(model)}
    if isinstance(benchmark, Seated):
        by_seat |= {name: prices.of(other) for name, other in benchmark.seats(asked.options).items()}
    currencies = {price.currency for price in by_seat.values() if price and price.currency}
    one = len(currencies) < 2  # amounts in two currencies have no sum
    costs = [cost_of(answer, by_seat.get(seat)) if one else None for seat, answer in attempts]
    free = by_seat[""] == FREE and not currencies
    return total([answer for _, answer in attempts], costs, "" if free else next(iter(currencies), "USD"))


def cost_of(use: Took, price: Price | None) -> float | None:
    """What one attempt cost: as the provider said, in US dollars, else by its price; None where that is unknown."""
    said = use.usage.get("cost") if use.usage else None
    if isinstance(said, int | float) and (price is None or price.currency == "USD"):
        return float(said)
    if price is None or use.tokens_in is None or use.tokens_out is None:
        return None
    cached = use.usage.get("cached_tokens", 0)
    return price.cost(use.tokens_in, use.tokens_out, cached=cached if isinstance(cached, int) else 0, batch=use.batch)


def spent(store: Reader, run: str, subject: str, by_seat: Mapping[str, Price | None]) -> tuple[int, float]:
    """(tokens, cost) that a limit counts: what was not counted is taken at its worst, a lost request only where it was
    given up for its silence. The cost is 0 where no price is known: such a run has no limit of cost."""
    tokens, cost = 0, 0.0
    for use in store.used(run, subject, whole=True):
        price = by_seat.get(use.seat)
        guess_in = math.ceil(use.characters_in / _CHARACTERS_IN)
        if use.timed_out:
            tokens += use.timed_out * (guess_in + use.room)
            cost += use.timed_out * (price.cost(guess_in, use.room) if price else 0.0)
        if not use.answered:
            continue
        tokens_in = guess_in if use.tokens_in is None else use.tokens_in
        tokens_out = math.ceil(use.characters_out / _CHARACTERS_OUT) if use.tokens_out is None else use.tokens_out
        tokens += tokens_in + tokens_out
        known = cost_of(use, price)
        cost += known if known is not None else price.cost(tokens_in, tokens_out, batch=use.batch) if price else 0.0
    return tokens, cost
