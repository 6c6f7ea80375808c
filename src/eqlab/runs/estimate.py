"""What a run will ask before it asks: calls, tokens, money; a range where replies, and thinking, may be short or long.
A talk is counted at its full length, with its context growing from turn to turn, and for every model in it.

No tokenizer of a model that is somewhere else is at hand: tokens are counted in characters."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace

from eqlab.core.answers import FAILED_READINGS, Answer, outcomes, stands
from eqlab.core.benchmark import Foreseen, Talks, Turn
from eqlab.core.errors import UsageError
from eqlab.core.forms import Writing, json_schema
from eqlab.core.runs import ModelConfig
from eqlab.core.text import money
from eqlab.core.trials import Trial
from eqlab.core.values import dataclass
from eqlab.models.chat import ChatRequest, Settings, sort_settings
from eqlab.models.open import is_local
from eqlab.models.prices import Price, Prices
from eqlab.models.runner import Asked, next_trial, open_talks
from eqlab.models.wire.contract import RequestProfile, token_limit
from eqlab.runs.request import Prepared, seated
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
_A_TEXT = 40
"""Tokens of a short text among other fields."""
_MOST_TURNS = 1000
"""Turns after which nobody counts on: a benchmark that never ends a talk is a fault of its own."""
_WORD = "words "
Waiting = tuple[str, Trial, Sequence[Turn]]
"""Benchmark, a trial that waits for its answer, and the turns of its talk before it."""
Totals = Mapping[str, tuple[int, tuple[int, int], tuple[int, int]]]
"""Calls, tokens in and tokens out, by seat."""


@dataclass(frozen=True, slots=True)
class Forecast:
    """One model's part of a run. Replies that cannot be read are asked for again, which no forecast knows."""

    model: ModelConfig
    calls: int
    answered: int
    """Trials that need no call any more."""
    tokens_in: tuple[int, int]
    """They differ in talks alone, where replies are sent again with every later turn."""
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
        ends = zip(self.tokens_in, self.tokens_out, strict=True)
        low, high = (self.price.cost(sent, out, batch=self.batch) for sent, out in ends)
        return low, high


def forecast_rows(found: Sequence[Forecast]) -> tuple[list[str], list[list[str]]]:
    """(titles, rows) of a dry run's table."""
    titles = ["model", "calls", "answered before", "tokens in", "tokens out", "cost"]
    return titles, [
        [
            asked_as(forecast),
            f"{forecast.calls:,}",
            f"{forecast.answered:,}",
            span_words(forecast.tokens_in),
            span_words(forecast.tokens_out),
            cost_words(forecast),
        ]
        for forecast in found
    ]


def asked_as(forecast: Forecast) -> str:
    return f"{forecast.model.spec} (as speaker)" if forecast.model.role == "seat" else forecast.model.spec


def span_words(range_: tuple[int, int]) -> str:
    low, high = range_
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def cost_words(forecast: Forecast) -> str:
    if forecast.cost is None or forecast.price is None:
        return "unknown"
    low, high = forecast.cost
    currency = forecast.price.currency
    if low == high:
        return money(low, currency)
    return f"{money(low, currency).removesuffix(f' {currency}')} to {money(high, currency)}"


def forecasts(prepared: Prepared, store: Reader | None, prices: Prices, *, batch: bool = False) -> list[Forecast]:
    """Every model's forecast, those in the seats of talks last; without what the store already holds, where there is
    one."""
    stored = store is not None and prepared.config.id in store.run_ids()
    seats = seated(prepared)
    models = [*prepared.config.models, *seats.values()]
    counting = {model.subject: _Counting(model, prices.of(model)) for model in models}
    alike: dict[str, dict[str, Totals]] = {}  # models of the same settings take the same tokens
    for model in prepared.config.models:
        own = {"": counting[model.subject]} | {seat: counting[other.subject] for seat, other in seats.items()}
        waiting, answered = _waiting(prepared, model, store if stored else None)
        counting[model.subject].answered = answered
        _count(prepared, waiting, own, alike.setdefault(repr([(seat, one.limits) for seat, one in own.items()]), {}))
    return [counting[model.subject].forecast(batch) for model in models]


def forecast_of(
    model: ModelConfig, prepared: Prepared, trials: Iterable[Trial], price: Price | None, *, batch: bool = False
) -> Forecast:
    """What these trials of the run's one benchmark take of a model."""
    (name,) = prepared.asked
    counting = _Counting(model, price)
    _count(prepared, ((name, trial, ()) for trial in trials), {"": counting}, {})
    return counting.forecast(batch)


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


def _waiting(prepared: Prepared, model: ModelConfig, store: Reader | None) -> tuple[list[Waiting], int]:
    """Every trial that waits, and how many need no call any more."""
    if store is None:
        selection = prepared.selection(model)
        return [
            (name, trial, ())
            for name, asked in prepared.asked.items()
            for trial, _ in asked.benchmark.plan(prepared.files[name], asked.options, selection)
        ], 0
    waiting: list[Waiting] = []
    done = 0
    for name, asked in prepared.asked.items():
        scored = list(store.scored(prepared.config.id, model.subject, name))
        talks = open_talks(name, asked.benchmark, asked.options, scored)
        for one in scored:
            tries = asked.asking(one.trial).tries
            failed = sum(answer.status in FAILED_READINGS for answer in one.attempts)
            if failed >= tries or stands(outcomes(one.attempts)) or (one.trial.id, one.repeat) in talks.passed:
                done += 1
            else:
                waiting.append((name, one.trial, talks.turns.get((name, one.trial.talk, one.repeat), ())))
        for _, trial, repeat in talks.following:
            waiting.append((name, trial, talks.turns[name, trial.talk, repeat]))
    return waiting, done


@dataclass(slots=True)
class _Counting:
    """One model's calls and tokens, while they are counted."""

    model: ModelConfig
    price: Price | None
    answered: int = 0
    calls: int = 0
    tokens_in: tuple[int, int] = (0, 0)
    tokens_out: tuple[int, int] = (0, 0)
    thinks: bool = field(init=False)
    _settings: Settings = field(init=False)

    def __post_init__(self) -> None:
        self._settings = sort_settings(self.model.settings)
        effort = self._settings.chosen.get("effort")
        self.thinks = not is_local(self.model) and effort != "none" and (effort is not None or self._may_think())

    @property
    def limits(self) -> tuple[Settings, bool]:
        """All that decides how long replies may be."""
        return self._settings, self.thinks

    def _may_think(self) -> bool:
        return _thinks(self.model, self.price)

    def lengths(self, asked: Asked, trial: Trial) -> tuple[int, int]:
        """Tokens of a reply: as short as can be, and as long as there is room for."""
        most = self.room(_max_tokens_of(asked, trial))
        return min(most, reply_tokens(trial)), most

    def room(self, max_tokens: int) -> int:
        request = self._settings.request((), temperature=None, max_tokens=max_tokens)
        return token_limit(request, RequestProfile("", thinks=self.thinks))

    def words(self, asked: Asked, trial: Trial) -> int:
        """Tokens of the longest reply without what was thought before it, which no later turn is sent."""
        request = self._settings.request((), temperature=None, max_tokens=_max_tokens_of(asked, trial))
        return token_limit(request, RequestProfile(""))

    def add(self, calls: int, tokens_in: tuple[int, int], tokens_out: tuple[int, int]) -> None:
        self.calls += calls
        self.tokens_in = _sum(self.tokens_in, tokens_in)
        self.tokens_out = _sum(self.tokens_out, tokens_out)

    def forecast(self, batch: bool) -> Forecast:
        return Forecast(
            self.model, self.calls, self.answered, self.tokens_in, self.tokens_out, self.thinks, self.price, batch
        )


def _count(
    prepared: Prepared, waiting: Iterable[Waiting], by_seat: Mapping[str, _Counting], known: dict[str, Totals]
) -> None:
    """Repeats of one trial are counted once and added as often as they come."""
    for name, trial, before in waiting:
        if before:
            found = _ahead(prepared.asked[name], before, trial, by_seat)
        elif trial.id in known:
            found = known[trial.id]
        else:
            found = known[trial.id] = _ahead(prepared.asked[name], before, trial, by_seat)
        for seat, totals in found.items():
            by_seat[seat].add(*totals)


def _ahead(asked: Asked, before: Sequence[Turn], trial: Trial, by_seat: Mapping[str, _Counting]) -> Totals:
    """A trial with all that may follow from it, played through with short replies and with long ones."""

    def short(one: Trial) -> int:
        return CHARACTERS_PER_TOKEN * by_seat[one.seat].lengths(asked, one)[0]

    def long(one: Trial) -> int:
        return CHARACTERS_PER_TOKEN * by_seat[one.seat].words(asked, one)

    found: dict[str, tuple[int, tuple[int, int], tuple[int, int]]] = {}
    played = [list(turns_ahead(asked, before, trial, length)) for length in (short, long)]
    for end, turns in enumerate(played):
        for turn in turns:
            calls, sent, out = found.get(turn.seat, (0, (0, 0), (0, 0)))
            own = by_seat[turn.seat].lengths(asked, turn)[end]
            found[turn.seat] = (
                calls + (end == 0),
                _at(sent, end, prompt_tokens(turn)),
                _at(out, end, own),
            )
    return found


def _at(pair: tuple[int, int], end: int, more: int) -> tuple[int, int]:
    return (pair[0] + more, pair[1]) if end == 0 else (pair[0], pair[1] + more)


def _sum(one: tuple[int, int], other: tuple[int, int]) -> tuple[int, int]:
    return one[0] + other[0], one[1] + other[1]


def turns_ahead(
    asked: Asked, before: Sequence[Turn], trial: Trial, characters: Callable[[Trial], int]
) -> Iterator[Trial]:
    """The trial, and those that follow if the talk goes on as long as it can, each reply of so many characters."""
    yield trial
    benchmark = asked.benchmark
    if not isinstance(benchmark, Talks):
        return
    turns = list(before)
    following: Trial | None = trial
    while following is not None and len(turns) < _MOST_TURNS:
        turns.append(Turn(following, _supposed(asked, following, characters(following))))
        following = next_trial(benchmark, turns, asked.options)
        if following is not None:
            yield following


def _supposed(asked: Asked, trial: Trial, characters: int) -> Answer:
    benchmark, options = asked.benchmark, asked.options
    text = benchmark.supposed(trial, options, characters) if isinstance(benchmark, Foreseen) else _filler(characters)
    reading = benchmark.read(trial, text, options)
    return Answer("", trial.id, "", 0, 1, text, reading.status, reading.values)


def _filler(characters: int) -> str:
    return (_WORD * (characters // len(_WORD) + 1))[: max(characters, 1)].strip() or "w"


def _thinks(model: ModelConfig, price: Price | None) -> bool:
    """By its price table, else by its dialect."""
    if price is not None:
        return price.thinks
    from eqlab.models.providers import LITELLM, locate
    from eqlab.models.wire.contract import wire

    if model.spec.startswith(f"{LITELLM}/"):
        return False
    return wire(locate(model.spec, model.base_url, dialect=str(model.settings.get("dialect") or "")).wire).thinks


def _max_tokens_of(asked: Asked, trial: Trial) -> int:
    return asked.asking(trial).max_tokens


def text_tokens(text: str) -> int:
    return -(-len(text.encode("utf-8", "replace")) // CHARACTERS_PER_TOKEN)


def prompt_tokens(trial: Trial) -> int:
    """Of everything that is sent: what was said before, too."""
    schema = text_tokens(json.dumps(json_schema(trial.form))) if trial.mode == "json" else 0
    before = sum(text_tokens(message.text) + _AROUND for message in trial.messages)
    return text_tokens(trial.prompt) + text_tokens(trial.system) + _AROUND + schema + before


def reply_tokens(trial: Trial) -> int:
    """A reply that says no more than the form asks for."""
    return (
        sum(text_tokens(one.key) + (_A_TEXT if isinstance(one, Writing) else _A_VALUE) for one in trial.form.fields)
        or _A_REPLY
    )


def longest_reply(model: ModelConfig, price: Price | None, max_tokens: int) -> int:
    """Tokens of a reply with room for so many, and for thinking where the model does that."""
    return _Counting(model, price).room(max_tokens)


def most_tokens_in(request: ChatRequest) -> int:
    """Input tokens of a request at the worst: no tokenizer makes more tokens than there are bytes."""
    said = sum(len(message.text.encode("utf-8", "replace")) + _AROUND for message in request.messages)
    return said + (len(str(request.schema)) if request.schema is not None else 0)
