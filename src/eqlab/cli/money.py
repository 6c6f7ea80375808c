"""Calls, tokens and money in the terminal: before a run, while it is limited, and after it."""

import os
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from eqlab.cli.plain import print_text
from eqlab.core.values import dataclass

if TYPE_CHECKING:
    from eqlab.core.results import Result
    from eqlab.models.timeouts import Pace
    from eqlab.runs.budget import Limits
    from eqlab.runs.estimate import Forecast
    from eqlab.runs.request import Prepared
    from eqlab.store.reader import Reader


@dataclass(frozen=True, slots=True)
class Spending:
    """What the flags about money say."""

    max_cost: float | None
    max_tokens: int | None
    prices: Path | None
    batch: bool
    poll: float
    mixed: bool = False
    """Whether models that take no batches are asked one by one."""

    @property
    def limits(self) -> "Limits":
        from eqlab.runs.budget import Limits

        return Limits(self.max_cost, self.max_tokens)

    @property
    def pace(self) -> "Pace | None":
        from eqlab.models.timeouts import Pace

        return Pace.every(self.poll) if self.batch else None

    def look_up(self) -> None:
        """Use the user's prices, here and in whatever process scores; raises where they cannot be read."""
        from eqlab.models.prices import VARIABLE, known_prices

        if self.prices is not None:
            os.environ[VARIABLE] = str(self.prices)
        known_prices()


def show_forecast(
    prepared: "Prepared", store: str, spending: Spending, *, as_json: bool, more: "Mapping[str, Any] | None" = None
) -> None:
    """--dry-run: what the run would ask, and cost; nothing is asked and nothing stored. `more` goes with the JSON."""
    from eqlab.cli.output import print_json, print_rows
    from eqlab.models.prices import known_prices
    from eqlab.runs.estimate import CHARACTERS_PER_TOKEN, forecast_rows, forecasts, refuse_absurd

    spending.look_up()
    refuse_absurd(prepared)
    with _existing(store) as reader:
        found = forecasts(prepared, reader, known_prices(), batch=spending.batch)
    if as_json:
        print_json({"run": prepared.config.id, "models": [_as_data(forecast) for forecast in found], **(more or {})})
        return
    columns, rows = forecast_rows(found)
    print_rows("", columns, rows, right=columns[1:])
    print_text(
        f"\nEstimated at {CHARACTERS_PER_TOKEN} characters a token. From: replies as short as the form, no thinking. "
        "To: every reply uses all its room."
    )
    if any(forecast.thinks for forecast in found):
        print_text("Room for thinking is billed as far as it is used; --effort and --set thinking_tokens=N change it.")
    if _talks(prepared):
        print_text("Talks are counted at their full length, all that was said before sent again with every turn.")
    print_text("A reply that cannot be read is asked for again, which is not counted here.")
    for line in _sources(found):
        print_text(line)


def say_size(prepared: "Prepared", store: "Reader", spending: Spending, out: Any) -> None:
    """Refuse an absurd run, and say what a large one will ask before it asks."""
    from eqlab.models.prices import known_prices
    from eqlab.runs.estimate import MANY, asked_as, cost_words, forecasts, refuse_absurd, span_words

    refuse_absurd(prepared)
    if not _talks(prepared) and sum(1 for _ in _first(prepared, MANY)) <= MANY:
        return
    found = forecasts(prepared, store, known_prices(), batch=spending.batch)
    if sum(one.calls for one in found) <= MANY:
        return
    for forecast in found:
        text = (
            f"{asked_as(forecast)}: {forecast.calls:,} calls, about {span_words(forecast.tokens_in)} tokens in, "
            f"{span_words(forecast.tokens_out)} out; cost {cost_words(forecast)}."
        )
        out.print(text, markup=False, soft_wrap=True)
    if _talks(prepared):
        out.print("Talks are counted at their full length; one that ends early takes less.", markup=False)


def _talks(prepared: "Prepared") -> bool:
    from eqlab.core.benchmark import Talks

    return any(isinstance(asked.benchmark, Talks) for asked in prepared.asked.values())


def _first(prepared: "Prepared", many: int) -> Any:
    from itertools import islice

    return islice(prepared.plan(), many + 1)


def print_usage(results: "Sequence[Result]") -> None:
    """What the answers took, one line a result."""
    from eqlab.cli.output import print_table
    from eqlab.comparison.scores import ScoreLine, usage_table

    lines = [ScoreLine.of(result) for result in results]
    if table := usage_table([line for line in lines if line.usage]):
        typer.echo("")
        print_table(table)


def _existing(store: str) -> "AbstractContextManager[Reader | None]":
    """The store, if there is one: a dry run makes no file."""
    from eqlab.core.environment import default_store
    from eqlab.store.access import open_reader
    from eqlab.store.location import sqlite_path

    path = sqlite_path(store or default_store())
    return open_reader(store) if path is None or path.is_file() else nullcontext()


def _sources(found: "Sequence[Forecast]") -> list[str]:
    lines = {
        f"Prices: {one.price.source} ({one.price.date})." if one.price.date else f"Prices: {one.price.source}."
        for one in found
        if one.price is not None and one.price.currency
    }
    unknown = [forecast.model.spec for forecast in found if forecast.price is None]
    said = sorted(lines)
    if unknown:
        said.append(f"No price is known of {', '.join(unknown)}: give one with --prices FILE (see docs/models.md).")
    return said


def _as_data(one: "Forecast") -> dict[str, Any]:
    price = one.price
    return {
        "model": one.model.spec,
        "role": one.model.role,
        "calls": one.calls,
        "answered": one.answered,
        "tokens_in": list(one.tokens_in),
        "tokens_out": list(one.tokens_out),
        "cost": None if one.cost is None else list(one.cost),
        "currency": price.currency if price else None,
        "price": None if price is None else {"date": price.date, "source": price.source, "batch": one.batch},
        "thinks": one.thinks,
    }
