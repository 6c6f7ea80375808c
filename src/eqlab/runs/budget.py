"""Limits of what a run may cost or take, held while it is asked: a request is sent only if the run stays below them
with everything under way at its worst. They are no part of a run: the same command with a higher limit goes on."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import structs

from eqlab.core.errors import UsageError
from eqlab.core.text import money
from eqlab.core.values import dataclass
from eqlab.models.chat import Bill, Chat, ChatReply, ChatRequest, LimitReached
from eqlab.models.prices import Price, cost_of_failures, known_prices, most_said, spent
from eqlab.runs.estimate import most_tokens_in
from eqlab.runs.request import Prepared, seated
from eqlab.store.reader import Reader

_BYTES_A_TOKEN = 2
"""At the worst, for replies whose server counts no tokens."""
_ESTIMATED = "estimated from the text for {n} replies whose tokens were not counted"


@dataclass(frozen=True, slots=True)
class Limits:
    """What a run may take altogether, earlier sessions included; None: whatever it takes."""

    cost: float | None = None
    tokens: int | None = None

    def __bool__(self) -> bool:
        return self.cost is not None or self.tokens is not None


@dataclass(frozen=True, slots=True)
class Amount:
    tokens: int = 0
    cost: float = 0.0
    estimated: int = 0
    """Replies whose tokens nobody counted, or that were given up: their amounts are estimated."""

    def __add__(self, other: "Amount") -> "Amount":
        return Amount(self.tokens + other.tokens, self.cost + other.cost, self.estimated + other.estimated)

    def __sub__(self, other: "Amount") -> "Amount":
        return Amount(self.tokens - other.tokens, self.cost - other.cost, self.estimated - other.estimated)


class Budget:
    """What is spent and what is under way, for all models of a run together."""

    def __init__(self, limits: Limits, prices: Mapping[str, Price | None], already: Amount, currency: str) -> None:
        self.limits = limits
        self.prices = prices
        self.currency = currency
        self.spent = already
        self._reserved = Amount()
        self._under_way = 0
        self._changed = asyncio.Event()

    def try_reserve(self, worst: Amount) -> bool:
        """Take room for a request; False where it could pass a limit."""
        whole = self.spent + self._reserved + worst
        if self.limits.cost is not None and whole.cost > self.limits.cost:
            return False
        if self.limits.tokens is not None and whole.tokens > self.limits.tokens:
            return False
        self.reserve_anyway(worst)
        return True

    def reserve_anyway(self, worst: Amount) -> None:
        """For what was sent before: it is under way, whatever the limit is now."""
        self._reserved += worst
        self._under_way += 1

    async def reserve(self, worst: Amount) -> None:
        """Wait for room; raises LimitReached when nothing is under way that could still leave some."""
        while not self.try_reserve(worst):
            if not self._under_way:
                raise LimitReached(self.why(worst))
            self._changed.clear()
            await self._changed.wait()

    def settle(self, worst: Amount, actual: Amount, requests: int = 1) -> None:
        """Requests have ended, and took this."""
        self._reserved -= worst
        self._under_way -= requests
        self.spent += actual
        self._changed.set()

    def why(self, worst: Amount) -> str:
        """The limit that the next request could pass, and what is spent."""
        limits, used = self.limits, self.spent
        guessed = f" ({_ESTIMATED.format(n=used.estimated)})" if used.estimated else ""
        if limits.cost is not None and (used + worst).cost > limits.cost:
            now, more = money(used.cost, self.currency), money(worst.cost, self.currency)
            return f"--max-cost {limits.cost:g}: {now} are spent{guessed}, and the next request may cost up to {more}"
        return (
            f"--max-tokens-total {limits.tokens}: {used.tokens:,} are used{guessed}, and the next request may take "
            f"up to {worst.tokens:,}"
        )

    def amount(self, subject: str, tokens_in: int, tokens_out: int, *, batch: bool = False) -> Amount:
        price = self.prices[subject]
        cost = price.cost(tokens_in, tokens_out, batch=batch) if price else 0.0
        return Amount(tokens_in + tokens_out, cost)

    def room(self, subject: str, chat: Chat, request: ChatRequest) -> int:
        """Tokens that a reply may have, by what is known of the model so far."""
        price = self.prices[subject]
        return chat.most_tokens(request, price is None or price.thinks)

    def worst(
        self, subject: str, chat: Chat, request: ChatRequest, room: int | None = None, *, batch: bool = False
    ) -> Amount:
        most = self.room(subject, chat, request) if room is None else room
        return self.amount(subject, most_tokens_in(request), most, batch=batch)

    def actual(self, subject: str, request: ChatRequest, reply: ChatReply, *, batch: bool = False) -> Amount:
        """What a reply took; at the worst where nobody counted."""
        price = self.prices[subject]
        unknown = reply.tokens_in is None or reply.tokens_out is None
        said = (len(reply.text.encode()) + len(reply.reasoning.encode())) // _BYTES_A_TOKEN
        said = most_said(said, reply.usage, int(reply.sent.get("room") or 0))
        tokens_in = most_tokens_in(request) if reply.tokens_in is None else reply.tokens_in
        tokens_out = said if reply.tokens_out is None else reply.tokens_out
        cached = int(reply.usage.get("cached_tokens", 0))
        cost = price.cost(tokens_in, tokens_out, cached=cached, batch=batch) if price else 0.0
        if "cost" in reply.usage and self.currency == "USD":
            cost = float(reply.usage["cost"])
        return Amount(tokens_in + tokens_out, cost, int(unknown))


def open_budget(limits: Limits, prepared: Prepared, store: Reader) -> Budget:
    """Raises UsageError where a limit of cost cannot be held: an unknown price, or two currencies."""
    if (limits.cost is not None and limits.cost <= 0) or (limits.tokens is not None and limits.tokens <= 0):
        raise UsageError("A limit must be above 0.", "Leave the option out for no limit.")
    run, seats = prepared.config.id, seated(prepared)
    models = [*prepared.config.models, *seats.values()]
    known = known_prices()
    prices = {model.subject: known.of(model) for model in models}
    currencies = sorted({price.currency for price in prices.values() if price and price.currency})
    if limits.cost is not None:
        unknown = [model.spec for model in models if prices[model.subject] is None]
        if unknown:
            raise UsageError(
                f"--max-cost needs prices, and none is known of {', '.join(unknown)}.",
                "Give --prices FILE (see docs/models.md), or limit tokens: --max-tokens-total N.",
            )
        if len(currencies) > 1:
            raise UsageError(
                f"--max-cost cannot add up {' and '.join(currencies)}.", "Ask these models in runs of their own."
            )
    already = Amount()
    if run in store.run_ids():
        by_seat = {name: prices[model.subject] for name, model in seats.items()}
        for model in prepared.config.models:
            already += Amount(*spent(store, run, model.subject, by_seat | {"": prices[model.subject]}))
    return Budget(limits, prices, already, currencies[0] if currencies else "USD")


class Metered:
    """A model that is asked within a budget."""

    def __init__(self, chat: Chat, subject: str, budget: Budget) -> None:
        self._chat, self._subject, self._budget = chat, subject, budget

    @property
    def concurrency(self) -> int:
        return self._chat.concurrency

    async def ask(self, request: ChatRequest) -> ChatReply:
        budget = self._budget
        bill, took, settled, reserved = request.bill or Bill(), Amount(), Amount(), True
        bill.room = budget.room(self._subject, self._chat, request)
        worst = budget.worst(self._subject, self._chat, request, bill.room)
        await budget.reserve(worst)

        async def reserve(now: Amount) -> None:
            """What was lost is settled before there is room for more."""
            nonlocal worst, settled, reserved
            lost = self._lost(bill, worst)
            budget.settle(worst, lost - settled)
            settled, reserved = lost, False
            await budget.reserve(now)
            worst, reserved = now, True

        async def again() -> None:
            if self._lost(bill, worst) != settled:
                await reserve(worst)
            if request.again is not None:
                await request.again()

        async def more_room(room: int) -> None:
            await reserve(budget.worst(self._subject, self._chat, request, room))

        try:
            reply = await self._chat.ask(structs.replace(request, bill=bill, again=again, more_room=more_room))
            took = budget.actual(self._subject, request, reply)
            return reply
        finally:
            if reserved:
                budget.settle(worst, took + self._lost(bill, worst) - settled)

    def _lost(self, bill: Bill, worst: Amount) -> Amount:
        """Requests that brought no reply: at what their server counted and said, else at their worst."""
        times, budget = bill.lost, self._budget
        cost, _ = cost_of_failures(bill.usage(), budget.prices[self._subject], budget.currency)
        told = Amount(bill.tokens_in + bill.tokens_out, cost)
        return told + Amount(times * worst.tokens, times * worst.cost, times)

    def hurry(self) -> None:
        self._chat.hurry()

    async def close(self) -> None:
        await self._chat.close()

    def most_tokens(self, request: ChatRequest, thinks: bool = True) -> int:
        return self._chat.most_tokens(request, thinks)

    def identity(self) -> Mapping[str, Any]:
        return self._chat.identity()

    def learnt(self) -> Sequence[str]:
        return self._chat.learnt()
