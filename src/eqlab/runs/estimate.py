"""What a run will ask before it asks: calls, tokens, money; a range where replies, and thinking, may be short or long.

No tokenizer of a model that is somewhere else is at hand: tokens are counted in characters."""

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from eqlab.core.answers import PROVIDER_REFUSED, Answer
from eqlab.core.errors import UsageError
from eqlab.core.forms import json_schema
from eqlab.core.runs import ModelConfig
from eqlab.core.trials import Trial
from eqlab.models.chat import ChatRequest
from eqlab.models.fit import Fit, room
from eqlab.models.open import is_local
from eqlab.models.price_files import Prices
from eqlab.models.prices import Price
from eqlab.models.runner import Asked
from eqlab.models.settings import sort_settings
from eqlab.runs.request import Prepared
from eqlab.store.reader import Reader

CHARACTERS_PER_TOKEN = 4
"""A rule of thumb for English."""
MANY = 500
"""Calls from which on a run says what it will ask before it asks."""
MOST = 1_000_000
"""Calls of one run at most: nobody means more, and no report could hold them."""
_AROUND = 8
"""Tokens that stand around every message."""
_A_VALUE = 4
"""Tokens of a number in a form, with what stands around it."""
_A_REPLY = 120
"""Tokens of a short free reply."""
Turns = Callable[[Asked, Trial], int]
"""How many turns a trial takes; every one of today's takes one. A talk's benchmark will say."""


@dataclass(frozen=True, slots=True)
class Forecast:
    """One model's part of a run. Replies that cannot be read are asked for again, which no forecast knows."""

    model: ModelConfig
    calls: int
    answered: int
    """Trials that need no call any more."""
    tokens_in: int
    tokens_out: tuple[int, int]
    """If replies are as short as the form, without thinking; and if all room is used up."""
    thinks: bool
    """Whether the upper end holds room for thinking."""
    price: Price | None
    batch: bool

    @property
    def cost(self) -> tuple[float, float] | None:
        """None: unknown."""
        if self.price is None:
            return None
        low, high = (self.price.cost(self.tokens_in, out, batch=self.batch) for out in self.tokens_out)
        return low, high


def forecasts(
    prepared: Prepared, store: Reader | None, prices: Prices, *, batch: bool = False, turns: Turns | None = None
) -> list[Forecast]:
    """Every model's forecast; without what the store already holds, where there is one."""
    stored = store is not None and prepared.config.id in store.run_ids()
    found = []
    for model in prepared.config.models:
        price = prices.of(model)
        waiting, answered = _waiting(prepared, model, store if stored else None)
        found.append(_forecast(model, prepared, waiting, answered, price, batch, turns or _one_turn))
    return found


def forecast_of(
    model: ModelConfig, prepared: Prepared, trials: Iterable[Trial], price: Price | None, *, batch: bool = False
) -> Forecast:
    """What these trials of the run's one benchmark take of a model."""
    (name,) = prepared.asked
    return _forecast(model, prepared, ((name, trial) for trial in trials), 0, price, batch, _one_turn)


def refuse_absurd(prepared: Prepared) -> None:
    """Raises UsageError for a size that nobody means, at once: repeats are multiplied, not planned."""
    repeats = prepared.config.repeats
    calls = 0
    for model in prepared.config.models:
        selection = prepared.selection(model)
        selection = selection if repeats is None else replace(selection, repeats=1)
        for name, asked in prepared.asked.items():
            for _ in asked.benchmark.plan(prepared.files[name], asked.options, selection):
                calls += repeats or 1
                if calls > MOST:
                    raise UsageError(
                        f"This run would be more than {MOST:,} calls.", "Give fewer --repeats, models or items."
                    )


def _one_turn(asked: Asked, trial: Trial) -> int:
    return 1


def _waiting(prepared: Prepared, model: ModelConfig, store: Reader | None) -> tuple[list[tuple[str, Trial]], int]:
    """(benchmark, trial) of every call to come, and how many trials need none."""
    if store is None:
        selection = prepared.selection(model)
        return [
            (name, trial)
            for name, asked in prepared.asked.items()
            for trial, _ in asked.benchmark.plan(prepared.files[name], asked.options, selection)
        ], 0
    waiting, done = [], 0
    for name, asked in prepared.asked.items():
        for scored in store.scored(prepared.config.id, model.subject, name):
            tries = asked.benchmark.asking(scored.trial, asked.options).tries
            failed = sum(answer.status in ("unparseable", "refused") for answer in scored.attempts)
            if failed >= tries or any(map(_stands, scored.attempts)):
                done += 1
            else:
                waiting.append((name, scored.trial))
    return waiting, done


def _stands(answer: Answer) -> bool:
    return answer.status == "ok" or (answer.status == "refused" and answer.finish in PROVIDER_REFUSED)


def _forecast(
    model: ModelConfig,
    prepared: Prepared,
    waiting: Iterable[tuple[str, Trial]],
    answered: int,
    price: Price | None,
    batch: bool,
    turns: Turns,
) -> Forecast:
    settings = sort_settings(model.settings)
    effort = settings.chosen.get("effort")
    thinks = not is_local(model) and effort != "none" and (effort is not None or _thinks(model, price))
    fit = Fit("", thinks=thinks)
    calls = tokens_in = low = high = 0
    for name, trial in waiting:
        asked = prepared.asked[name]
        most = room(settings.request((), temperature=None, max_tokens=_room_of(asked, trial)), fit)
        short = min(most, reply_tokens(trial))
        times = turns(asked, trial)
        calls += times
        tokens_in += talk_tokens(prompt_tokens(trial), short, times)
        low += times * short
        high += times * most
    return Forecast(model, calls, answered, tokens_in, (low, high), thinks, price, batch)


def _thinks(model: ModelConfig, price: Price | None) -> bool:
    """By its price table, else by its dialect."""
    if price is not None:
        return price.thinks
    from eqlab.models.providers import LITELLM, locate
    from eqlab.models.wire.registry import wire

    if model.spec.startswith(f"{LITELLM}/"):
        return False
    return wire(locate(model.spec, model.base_url, dialect=str(model.settings.get("dialect") or "")).wire).thinks


def _room_of(asked: Asked, trial: Trial) -> int:
    return asked.benchmark.asking(trial, asked.options).max_tokens


def text_tokens(text: str) -> int:
    return -(-len(text.encode("utf-8", "replace")) // CHARACTERS_PER_TOKEN)


def prompt_tokens(trial: Trial) -> int:
    schema = text_tokens(json.dumps(json_schema(trial.form))) if trial.mode == "json" else 0
    return text_tokens(trial.prompt) + text_tokens(trial.system) + _AROUND + schema


def reply_tokens(trial: Trial) -> int:
    """A reply that says no more than the form asks for."""
    return sum(text_tokens(key) + _A_VALUE for key in trial.form.keys) or _A_REPLY


def talk_tokens(prompt: int, reply: int, turns: int) -> int:
    """Input of a talk: every turn sends all that was said before."""
    return turns * prompt + (prompt + reply) * (turns * (turns - 1) // 2)


def most_tokens_in(request: ChatRequest) -> int:
    """Input tokens of a request at the worst: no tokenizer makes more tokens than there are bytes."""
    said = sum(len(message.text.encode("utf-8", "replace")) + _AROUND for message in request.messages)
    return said + (len(str(request.schema)) if request.schema is not None else 0)
