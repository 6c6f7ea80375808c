"""Score against cost: what each model's points took, in money where every price is known, else in tokens.

The axis of cost is logarithmic, since models differ by factors; nobody cheaper beats those on the stepped line."""

from collections.abc import Sequence
from dataclasses import dataclass

from eqlab.core.results import Estimate
from eqlab.core.text import is_number, number, short
from eqlab.core.usage import Usage
from eqlab.tables.scatter import Dot, Scatter, amount, scatter_file
from eqlab.tables.svg import bounds_of


@dataclass(frozen=True, slots=True)
class Spent:
    """One model's score and what its answers took."""

    name: str
    score: Estimate
    usage: Usage | None


@dataclass(frozen=True, slots=True)
class Priced:
    """A model with its place on the axis of cost."""

    name: str
    score: Estimate
    each: float
    """Money for a thousand answers, or tokens for one."""


def cost_chart(title: str, measure: str, some: Sequence[Spent], width: int) -> str | None:
    """The drawing as a file of its own; None where nobody has both a score and a cost."""
    axis, found = _priced([one for one in some if is_number(one.score.value)])
    if not found:
        return None
    missing = [one.name for one in some if one.name not in {priced.name for priced in found}]
    under = "The dashed line joins those that no cheaper model beats."
    if missing:
        under += f" Not drawn, because their cost is unknown: {', '.join(missing[:5])}{' …' * (len(missing) > 5)}."
    dots = tuple(
        Dot(
            one.name,
            one.each,
            one.score.value or 0.0,
            y_bounds=bounds_of(one.score),
            words=f"{one.name} {number(one.score.value, one.score.digits)} at {amount(one.each)}",
        )
        for one in found
    )
    drawn = Scatter(
        f"{title}: score and cost", short(under, 160), axis, f"{measure}, 95 % intervals", dots, log=True, steps=True
    )
    return scatter_file([drawn], width)


def _priced(some: Sequence[Spent]) -> tuple[str, list[Priced]]:
    """In money if all have a known price in one currency, else in tokens; those without are left out."""
    used = [(one, one.usage) for one in some if one.usage is not None and one.usage.answers]
    currencies = {usage.currency for _, usage in used if usage.cost is not None}
    if used and len(currencies) == 1 and all(usage.cost for _, usage in used):
        each = [Priced(one.name, one.score, 1000 * (usage.cost or 0) / usage.answers) for one, usage in used]
        return f"{currencies.pop()} for 1,000 answers", each
    counted = [
        Priced(one.name, one.score, ((usage.tokens_in or 0) + (usage.tokens_out or 0)) / usage.answers)
        for one, usage in used
        if usage.tokens_in is not None or usage.tokens_out is not None
    ]
    return "tokens for one answer, prompt included", [one for one in counted if one.each > 0]
