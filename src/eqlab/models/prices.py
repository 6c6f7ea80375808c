"""What tokens cost, by model, from tables with date and source, and what a run has taken so far: tokens, money, time.
An unknown price is None, never 0.

A user's table (EQLAB_PRICES) comes first, then the one in the package, then litellm's, if it is installed."""

import datetime
import math
import os
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any

from eqlab.benchmarks.registry import load
from eqlab.core.answers import Answer
from eqlab.core.benchmark import Seated
from eqlab.core.environment import version_of
from eqlab.core.errors import DataError
from eqlab.core.runs import BenchmarkConfig, ModelConfig
from eqlab.core.toml_file import Notes, Section
from eqlab.core.usage import Took, Usage, failed, timed_out, total
from eqlab.core.values import dataclass
from eqlab.data import FOLDER
from eqlab.models.open import is_local
from eqlab.store.reader import Reader

VARIABLE = "EQLAB_PRICES"
MILLION = 1_000_000
_MOST = 1e6
_DATED = re.compile(r"-(?:20\d{2}-?\d{2}-?\d{2})$")
_KEYS = ("models", "input", "output", "cached", "batch", "currency", "date", "source", "thinks", "until")
_LITELLM_FILE = "model_prices_and_context_window_backup.json"
_LITELLM = {
    "openai": ("", "openai/"),
    "anthropic": ("", "anthropic/"),
    "google": ("gemini/",),
    "together": ("together_ai/",),
}
"""How litellm's table names the models of a provider, where that is not the provider's name."""


@dataclass(frozen=True, slots=True)
class Price:
    """Per million tokens."""

    models: tuple[str, ...]
    input: float
    output: float
    cached: float | None = None
    """Input that the provider had in its cache; None: as all input."""
    batch: float = 1.0
    """What a batch costs, as a share of the rest."""
    currency: str = "USD"
    date: str = ""
    source: str = ""
    thinks: bool = False
    """Whether it thinks unless told otherwise."""
    until: str = ""
    """The last day it holds (ISO); empty: no end is announced."""

    def cost(self, tokens_in: int, tokens_out: int, *, cached: int = 0, batch: bool = False) -> float:
        """`tokens_in` are all input tokens, those in the cache included."""
        cached = min(cached, tokens_in)
        for_cached = self.input if self.cached is None else self.cached
        whole = (tokens_in - cached) * self.input + cached * for_cached + tokens_out * self.output
        return whole / MILLION * (self.batch if batch else 1.0)


FREE = Price((), 0.0, 0.0, currency="", source="runs on this machine")


@dataclass(frozen=True, slots=True)
class Prices:
    """Every price that is known here."""

    own: Sequence[Price]
    """The user's."""
    today: str

    @property
    def tables(self) -> Sequence[Price]:
        return (*self.own, *_shipped())

    def of(self, model: ModelConfig) -> Price | None:
        if is_local(model):
            return FREE
        if "/" not in model.spec:  # other tables have none without a provider, and are long
            return find(self.own, model.spec, self.today)
        return find(self.tables, model.spec, self.today) or litellm_price(*_litellm(), model.spec)


def known_prices() -> Prices:
    """Raises DataError where the user's table cannot be read."""
    own = os.environ.get(VARIABLE, "")
    return Prices(_own(own) if own else (), datetime.date.today().isoformat())


def _own(name: str) -> list[Price]:
    try:
        text = Path(name).expanduser().read_text(encoding="utf-8")
    except FileNotFoundError:
        raise DataError(f"There is no price table {name}.", f"Correct --prices or {VARIABLE}.") from None
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(
            f"The price table {name} cannot be read: {error}.", f"Correct --prices or {VARIABLE}."
        ) from error
    return read_prices(text, name)


@cache
def _shipped() -> tuple[Price, ...]:
    return tuple(read_prices((FOLDER / "prices.toml").read_text(encoding="utf-8"), "prices.toml"))


@cache
def _litellm() -> tuple[Mapping[str, Any], str]:
    """litellm's table as it lies in its package: loading litellm itself takes seconds."""
    from importlib.util import find_spec

    import orjson

    spec = find_spec("litellm")
    if spec is None or not spec.submodule_search_locations:
        return {}, ""
    try:
        table = orjson.loads((Path(spec.submodule_search_locations[0]) / _LITELLM_FILE).read_bytes())
        return (table if isinstance(table, dict) else {}), version_of("litellm")
    except (OSError, ValueError):
        return {}, ""


def find(prices: Iterable[Price], spec: str, today: str) -> Price | None:
    """The first price for a model's name, or for its name without a date (`gpt-5-2025-08-07`)."""
    names = dict.fromkeys((spec, _DATED.sub("", spec)))
    current = [price for price in prices if not price.until or today <= price.until]
    for name in names:
        for price in current:
            if any(fnmatchcase(name, pattern) for pattern in price.models):
                return price
    return None


def read_prices(text: str, name: str) -> list[Price]:
    """A price table in TOML. Raises DataError with every problem and its line."""
    from eqlab.core.toml_lines import lines_of  # not for a model without a price

    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise DataError(f"{name} is not a TOML file: {error}.", "Correct that line.") from error
    notes = Notes(lines_of(text.replace("\r\n", "\n")))
    head = Section(values, (), notes, ("currency", "date", "source", "price"))
    common = {key: head.text(key, default) for key, default in (("currency", "USD"), ("date", ""), ("source", name))}
    prices = [_price(section, common) for section in head.tables("price", _KEYS)]
    if not prices and not notes.problems:
        notes.add(("price",), "is missing (begin each with a line [[price]])")
    if notes.problems:
        said = "; ".join(f"line {one.line}: {one.key} {one.what}" for one in sorted(notes.problems)[:5])
        raise DataError(f"{name}: {said}.", "Correct these lines; see docs/models.md for the format.")
    return prices


def _price(section: Section, common: Mapping[str, str]) -> Price:
    models = section.texts("models")
    if not models:
        section.wrong("models", 'is missing (write models = ["provider/name"])')
    for key in ("input", "output"):
        if not section.has(key):
            section.wrong(key, f"is missing (write {key} = 1.25, per million tokens)")
    thinks = section.values.get("thinks", False)
    if not isinstance(thinks, bool):
        section.wrong("thinks", "is neither true nor false")
    return Price(
        models,
        section.number("input", 0.0, 0, _MOST),
        section.number("output", 0.0, 0, _MOST),
        section.number("cached", 0.0, 0, _MOST) if section.has("cached") else None,
        section.number("batch", 1.0, 0, 1),
        section.text("currency", common["currency"]),
        section.text("date", common["date"], may_be_empty=True),
        section.text("source", common["source"], may_be_empty=True),
        thinks is True,
        section.text("until", "", may_be_empty=True),
    )


def litellm_price(table: Mapping[str, Any], version: str, spec: str) -> Price | None:
    """A model's price in litellm's table. What costs nothing there is not known to cost nothing."""
    provider, _, model = spec.partition("/")
    if provider == "litellm":
        keys = [model]
    else:
        keys = [f"{prefix}{model}" for prefix in _LITELLM.get(provider, (f"{provider}/",))]
    entry = next((found for key in keys if isinstance(found := table.get(key), Mapping)), {})
    each = [_amount(entry.get(f"{way}_cost_per_token")) for way in ("input", "output")]
    if each[0] is None or each[1] is None or not any(each):
        return None
    batch = _amount(entry.get("input_cost_per_token_batches"))
    cached = _amount(entry.get("cache_read_input_token_cost"))
    return Price(
        (spec,),
        round(each[0] * MILLION, 6),
        round(each[1] * MILLION, 6),
        None if cached is None else round(cached * MILLION, 6),
        batch / each[0] if batch is not None and each[0] else 1.0,
        date=f"litellm {version}",
        source="litellm's table",
        thinks=entry.get("supports_reasoning") is True,
    )


def _amount(value: Any) -> float | None:
    ok = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1
    return float(value) if ok else None


_CHARACTERS_IN, _CHARACTERS_OUT = 3, 2
"""Characters a token, at the worst: for answers whose server counted none. A stored trial is longer than its prompt."""


def usage_of(attempts: Sequence[tuple[str, Answer]], model: ModelConfig, config: BenchmarkConfig) -> Usage:
    """What a model's answers to a benchmark took, those of the others in its talks included; each after its seat."""
    prices = known_prices()
    benchmark = load(config.name)
    by_seat = {"": prices.of(model)}
    if isinstance(benchmark, Seated):
        by_seat |= {name: prices.of(other) for name, other in benchmark.seats(config.options).items()}
    currency = _currency(by_seat)
    if not currency:  # amounts in two have no sum
        by_seat = {}
    costs = [_cost_with_failures(answer, by_seat.get(seat), currency) for seat, answer in attempts]
    free = bool(by_seat) and all(price is FREE for price in by_seat.values())
    return total([answer for _, answer in attempts], costs, "" if free else currency)


def _currency(by_seat: Mapping[str, Price | None]) -> str:
    """That of all prices: US dollars, in which providers say costs, where there are none; empty where there are two."""
    currencies = {price.currency for price in by_seat.values() if price and price.currency} or {"USD"}
    return currencies.pop() if len(currencies) == 1 else ""


def _cost_with_failures(use: Took, price: Price | None, currency: str) -> tuple[float | None, bool]:
    """What is known of an attempt's cost, its requests that failed included; and whether that is all."""
    if price is FREE:
        return 0.0, True
    cost = cost_of(use, price, currency) if use.answered else None
    whole = cost is not None or not use.answered
    if use.usage:
        lost, told = cost_of_failures(use.usage, price, currency)
        cost = (cost or 0.0) + lost if lost else cost
        whole = whole and told and not timed_out(use.usage)
    return cost, whole


def cost_of_failures(usage: Mapping[str, Any], price: Price | None, currency: str) -> tuple[float, bool]:
    """What is known of the cost of failures that were counted, and whether that is all: as their provider said, in US
    dollars, else by their price."""
    lost = failed(usage)
    said, given, made = (lost.cost, lost.cost_in, lost.cost_out) if currency == "USD" else (0.0, 0, 0)
    rest = lost.tokens_in - given, lost.tokens_out - made
    return said + (price.cost(*rest) if price else 0.0), price is not None or not any(rest)


def cost_of(use: Took, price: Price | None, currency: str) -> float | None:
    """What a reply cost: as the provider said, in US dollars, else by its price; None where that is unknown."""
    said = use.usage.get("cost") if use.usage else None
    if isinstance(said, int | float) and currency == "USD":
        return float(said)
    if price is None or not use.tokens_in or use.tokens_out is None:
        return None
    cached = use.usage.get("cached_tokens", 0)
    return price.cost(use.tokens_in, use.tokens_out, cached=cached if isinstance(cached, int) else 0, batch=use.batch)


def spent(store: Reader, run: str, subject: str, by_seat: Mapping[str, Price | None]) -> tuple[int, float, int]:
    """(tokens, cost, replies that are estimated) that a limit counts: what was not counted is taken at its worst,
    a lost request only where it may be billed. The cost is 0 where no price is known: such a run has no
    limit of cost."""
    tokens, cost, estimated, currency = 0, 0.0, 0, _currency(by_seat)
    for use in store.used(run, subject, whole=True):
        price = by_seat.get(use.seat)
        guess_in = math.ceil(use.characters_in / _CHARACTERS_IN)
        if use.timed_out:
            tokens += use.timed_out * (guess_in + use.room)
            cost += use.timed_out * (price.cost(guess_in, use.room) if price else 0.0)
        lost = failed(use.usage)
        tokens += lost.tokens_in + lost.tokens_out
        cost += cost_of_failures(use.usage, price, currency)[0]
        if not use.answered:
            continue
        tokens_in, tokens_out = use.known_tokens
        estimated += tokens_in is None or tokens_out is None
        tokens_in = guess_in if tokens_in is None else tokens_in
        if tokens_out is None:
            tokens_out = most_said(math.ceil(use.characters_out / _CHARACTERS_OUT), use.usage, use.room)
        tokens += tokens_in + tokens_out
        known = cost_of(use, price, currency)
        cost += known if known is not None else price.cost(tokens_in, tokens_out, batch=use.batch) if price else 0.0
    return tokens, cost, estimated


def most_said(guess: int, usage: Mapping[str, Any], room: int) -> int:
    """Tokens of a reply that were not counted: by its text, or all its room where far more was reported than can be."""
    reported = usage.get("reported_out", 0)
    return max(guess, room) if isinstance(reported, int) and reported > room else guess
