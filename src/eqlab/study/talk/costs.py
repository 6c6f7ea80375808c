"""What the talks of a study may cost: prices of its models, and the limits that its file sets."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from eqlab.benchmarks.registry import load
from eqlab.core.design import Design
from eqlab.core.errors import UsageError
from eqlab.core.runs import ModelConfig
from eqlab.core.studied import Conversing
from eqlab.core.study import Study, TalkTerms
from eqlab.models.prices import known_prices
from eqlab.runs.budget import Amount, Budget, Limits
from eqlab.store.study.participation import Participation
from eqlab.store.study.talks import CallLimits, CallTotals, calls_in
from eqlab.study.kinds.registry import kind_of
from eqlab.study.talk.view import other_seat


@dataclass(frozen=True, slots=True)
class ModelCalls:
    """What the models of a study have been asked, and at what cost."""

    totals: CallTotals
    cost: float | None
    """None where no price is known."""
    currency: str
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
    terms = study.talk
    return ModelCalls(
        totals, totals.cost if priced else None, budget.currency, unpriced, terms.max_calls, terms.max_cost
    )


def limits_of(terms: TalkTerms) -> CallLimits:
    return CallLimits(terms.max_cost, terms.max_cost_person, terms.max_calls, terms.max_calls_person)


def too_little(design: Design) -> Iterator[str]:
    """Limits that end a talk before it is over, should the replies be as long as they may: a question is asked only if
    it can be paid for at its worst."""
    study, terms, kind = design.study, design.study.talk, kind_of(design.study)
    if terms is None or not design.talks or not isinstance(kind, Conversing):
        return
    models = list(kind.models(study).values())
    budget = budget_of(study, models)
    (config,) = design.run.benchmarks
    first = design.trials[design.talks[0]]
    turn = other_seat(first) if kind.of_person(study, first) else first
    max_tokens = load(config.name).asking(turn, config.options).max_tokens
    reply = max(budget.amount(model.subject, 0, max_tokens).cost for model in models)
    replies = terms.turns * terms.talks
    for name, limit in (("max_cost_person", terms.max_cost_person), ("max_cost", terms.max_cost)):
        if limit is not None and limit < reply:
            yield f"talk.{name} = {limit:g}: no model is ever asked, for one reply may cost {reply:.2g}."
        elif limit is not None and limit < reply * replies:
            most = reply * replies
            yield f"talk.{name} = {limit:g} may end a person's talks early: {replies} replies may cost {most:.2g}."
    if terms.max_calls_person < replies:
        yield f"talk.max_calls_person = {terms.max_calls_person} ends talks early: they have {replies} replies."


def budget_of(study: Study, models: Iterable[ModelConfig]) -> Budget:
    """Counts, and limits nothing by itself: the limits are the store's, which outlives a server. Raises UsageError
    where a limit of cost cannot be held: an unknown price, or two currencies."""
    known, asked = known_prices(), list(models)
    prices = {model.subject: known.of(model) for model in asked}
    currencies = sorted({price.currency for price in prices.values() if price and price.currency})
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
