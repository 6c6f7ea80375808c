"""People who talk with models: what a person sees of a talk, and what the talks of a study may cost: prices of its
models, and the limits that its file sets."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Literal

from eqlab.benchmarks.registry import load
from eqlab.core.answers import Answer, final, outcomes, stands
from eqlab.core.benchmark import Turn
from eqlab.core.design import Design
from eqlab.core.errors import UsageError
from eqlab.core.plural import many
from eqlab.core.runs import ModelConfig
from eqlab.core.studied import Conversing
from eqlab.core.study import Study, TalkTerms
from eqlab.core.text import visible
from eqlab.core.trials import Trial
from eqlab.core.values import dataclass
from eqlab.models.prices import Price, known_prices
from eqlab.models.runner import Asked, place_in_talk
from eqlab.runs.budget import Amount, Budget, Limits
from eqlab.runs.estimate import CHARACTERS_PER_TOKEN, longest_reply, prompt_tokens, turns_ahead
from eqlab.store.study.participation import Participation
from eqlab.store.study.talks import CallLimits, CallTotals, TalkPosition, calls_in
from eqlab.study.kinds import kind_of

CLOSED = ("left", "down")
"""The finish of a turn with which a person closes a talk: because they want to, or because no reply comes."""
State = Literal["say", "wait", "down", "spent", "over"]


@dataclass(frozen=True, slots=True)
class TalkLine:
    who: Literal["you", "other"]
    text: str


@dataclass(frozen=True, slots=True)
class TalkView:
    step: int
    turn: int
    """Turns that are settled: what a post must name."""
    state: State
    lines: tuple[TalkLine, ...]
    shown: str = ""
    """What the person is asked to talk about; empty where they listen."""
    feels: bool = False
    """Whether they tell how they feel with their next turn."""
    speaks: bool = True
    """Whether there is anything left to say: not after the last reply, and not when none has come."""
    ends: bool = False
    """Whether they may end the talk with this turn and say how it was."""
    silence: bool = False
    left: bool = False
    """Over, because the other one has left."""
    emotion: int | None = None
    """What they told last."""


def settled(attempts: Sequence[Answer], tries: int, of_person: bool) -> Answer | None:
    """The answer that a talk goes on from; None while the turn is open. A person answers once. A model's reply stands
    when it can be read, when its provider refused, or when its tries are used up; a lost request settles nothing."""
    if not attempts:
        return None
    answer = final(attempts)
    if answer is None or of_person or answer.status == "ok":
        return answer
    closed = next((attempt for attempt in attempts if attempt.finish in CLOSED), None)
    if closed is not None:
        return closed
    if stands(outcomes(attempts)):
        return answer
    failed = [attempt for attempt in attempts if attempt.status in ("unparseable", "refused")]
    return failed[-1] if len(failed) >= tries else None


def chain(
    kind: Conversing, study: Study, first: Trial, found: Mapping[str, Sequence[Answer]], tries: Mapping[bool, int]
) -> tuple[list[Turn], Trial | None]:
    """The settled turns of a talk, and the one that comes next. The same answers lead to the same next turn."""
    turns: list[Turn] = []
    trial: Trial | None = first
    while trial is not None:
        of_person = kind.of_person(study, trial)
        answer = settled(found.get(trial.id, ()), tries[of_person], of_person)
        if answer is None:
            return turns, trial
        turns.append(Turn(trial, answer))
        following = kind.next_turn(study, turns)
        trial = None if following is None else place_in_talk(following, turns)
    return turns, None


def talk_view(position: TalkPosition, kind: Conversing, study: Study, state: State) -> TalkView:
    """`state` is what is known of the model's turn while it is open; else the turns say it."""
    speaking = kind.of_person(study, position.first) and bool(position.first.seat)
    lines = tuple(_lines(position.turns, speaking, position.first, kind, study))
    view = TalkView(position.step, len(position.turns), state, lines, position.first.stimulus if speaking else "")
    if position.pending is None:
        last = position.turns[-1].answer
        return replace(view, state="over", left=not speaking and bool(last.values.get("leaves")))
    if not kind.of_person(study, position.pending):
        return view
    if not speaking:
        return replace(view, state="say")
    replies = sum(not turn.trial.seat for turn in position.turns)
    silence = bool(position.turns) and position.turns[-1].answer.status != "ok"
    most = int(position.first.key["replies"])
    told = [turn.answer.values.get("emotion") for turn in position.turns if turn.trial.seat]
    return replace(
        view,
        state="say",
        feels=True,
        speaks=not silence and replies < most,
        ends=replies > 0 and not silence,
        silence=silence,
        emotion=told[-1] if told else None,
    )


def _lines(turns: Sequence[Turn], speaking: bool, first: Trial, kind: Conversing, study: Study) -> list[TalkLine]:
    lines = [] if speaking else [TalkLine("other", first.prompt)]
    for turn in turns:
        if turn.answer.status != "ok":
            continue
        text = str(turn.answer.values.get("says") or "") if turn.trial.seat else turn.answer.text
        who: Literal["you", "other"] = "you" if kind.of_person(study, turn.trial) else "other"
        if text.strip():
            lines.append(TalkLine(who, visible(text.strip())))
    return lines


def other_seat(trial: Trial) -> Trial:
    """A turn of the other seat, as far as asking needs to know."""
    return replace(trial, seat="" if trial.seat else "other", id="")


@dataclass(frozen=True, slots=True)
class ModelCalls:
    """What the models of a study have been asked, and at what cost."""

    totals: CallTotals
    cost: float | None
    """None where no price is known, and in several currencies."""
    currency: str
    currencies: tuple[str, ...]
    """Those of the models' prices: amounts in two have no sum."""
    unpriced: tuple[str, ...]
    """Models whose price is not known, and which the cost leaves out."""
    max_calls: int
    max_cost: float | None


def model_calls(participation: Participation) -> ModelCalls | None:
    """None where nobody talks with models."""
    study = participation.study
    kind = kind_of(study) if study.talk is not None else None
    if study.talk is None or not isinstance(kind, Conversing):
        return None
    models = list(kind.models(study).values())
    budget, totals = budget_of(study, models), calls_in(participation)
    unpriced = tuple(sorted({model.spec for model in models if budget.prices[model.subject] is None}))
    priced = any(price is not None for price in budget.prices.values())
    terms, currencies = study.talk, _currencies(budget.prices)
    cost = totals.cost if priced and len(currencies) < 2 else None
    totals = replace(totals, cost=cost)
    return ModelCalls(
        totals,
        cost,
        "" if len(currencies) > 1 else budget.currency,
        currencies,
        unpriced,
        terms.max_calls,
        terms.max_cost,
    )


def _currencies(prices: Mapping[str, Price | None]) -> tuple[str, ...]:
    return tuple(sorted({price.currency for price in prices.values() if price and price.currency}))


def limits_of(terms: TalkTerms) -> CallLimits:
    return CallLimits(terms.max_cost, terms.max_cost_person, terms.max_calls, terms.max_calls_person)


def too_little(design: Design) -> Iterator[str]:
    """Limits that end a talk before it is over, should the replies be as long as they may: a question is asked only if
    it can be paid for at its worst. And prices that cannot be added up."""
    study, terms, kind = design.study, design.study.talk, kind_of(design.study)
    if terms is None or not design.talks or not isinstance(kind, Conversing):
        return
    models = list(kind.models(study).values())
    budget = budget_of(study, models)
    if len(currencies := _currencies(budget.prices)) > 1:
        yield f"arms: the models' prices are in {' and '.join(currencies)}, so what they cost together is not told."
    (config,) = design.run.benchmarks
    asked = Asked(load(config.name), config.options)
    first = design.trials[design.talks[0]]
    replies, reply, most = terms.turns * terms.talks, 0.0, 0.0
    ahead = turns_ahead(asked, (), first, lambda turn: CHARACTERS_PER_TOKEN * asked.asking(turn).max_tokens)
    turns = [turn for turn in ahead if not kind.of_person(study, turn)]
    for model in models:
        price = budget.prices[model.subject]
        sent = [CHARACTERS_PER_TOKEN * prompt_tokens(turn) for turn in turns]  # at the worst a token a character
        rooms = [longest_reply(model, price, asked.asking(turn).max_tokens) for turn in turns]
        each = [budget.amount(model.subject, *pair).cost for pair in zip(sent, rooms, strict=True)]
        reply, most = max(reply, *each[:1]), max(most, terms.talks * sum(each))
    for name, limit in (("max_cost_person", terms.max_cost_person), ("max_cost", terms.max_cost)):
        if limit is not None and limit < reply:
            yield f"talk.{name} = {limit:g}: no model is ever asked, for one reply may cost {reply:.2g}."
        elif limit is not None and limit < most:
            yield (
                f"talk.{name} = {limit:g} may end a person's talks early: "
                f"{many(replies, 'reply', 'replies')} may cost {most:.2g}."
            )
    if terms.max_calls_person < replies:
        yield (
            f"talk.max_calls_person = {terms.max_calls_person} ends talks early: they have "
            f"{many(replies, 'reply', 'replies')}."
        )


def budget_of(study: Study, models: Iterable[ModelConfig]) -> Budget:
    """Counts, and limits nothing by itself: the limits are the store's, which outlives a server. Raises UsageError
    where a limit of cost cannot be held: an unknown price, or two currencies."""
    known, asked = known_prices(), list(models)
    prices = {model.subject: known.of(model) for model in asked}
    currencies = _currencies(prices)
    terms = study.talk
    if terms is not None and (terms.max_cost is not None or terms.max_cost_person is not None):
        unknown = sorted({model.spec for model in asked if prices[model.subject] is None})
        if unknown:
            raise UsageError(
                f"Study '{study.id}': talk.max_cost needs prices, and none is known of {', '.join(unknown)}.",
                "Give a price table (EQLAB_PRICES, see docs/models.md), or limit calls: talk.max_calls.",
            )
        if len(currencies) > 1:
            raise UsageError(
                f"Study '{study.id}': talk.max_cost cannot add {' and '.join(currencies)}.",
                "Take models whose prices are in one currency.",
            )
    return Budget(Limits(), prices, Amount(), currencies[0] if currencies else "USD")
