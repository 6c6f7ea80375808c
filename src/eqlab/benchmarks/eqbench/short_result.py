"""The result of a short form: the estimated score over all questions, said to be one, with the plain score beside."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import fmean
from typing import Any

from eqlab.benchmarks.eqbench.short import FullScore, facts, full_baselines, full_score
from eqlab.core.results import Baseline, Estimate, ItemScore, Result

_BEYOND = "Outside {low:.0f} to {high:.0f}, the scores of the models the form was learned from: neither estimate nor \
interval has been checked there."
_UNREAD = (
    "{n} answers could not be read and are left out, as in a full run: the estimate rests on the other {read}. If \
a model is unreadable where it is weak, neither this nor a full score shows it."
)


def as_short(plain: Result, options: Mapping[str, Any]) -> Result:
    """The result of the questions asked, turned into one about all of them."""
    scores = _scores(plain)
    total, asked = len(facts()["items"]), len({item.item for item in plain.items})
    found = full_score(scores, options)
    name = f"{plain.headline.name}, estimated from {len(scores)} of {total} questions"
    floor = full_baselines()
    headline = Estimate(name, None, 0)
    if found is not None:
        note = f"of the score on all {total} questions; 90 % interval {found.low90:.1f} to {found.high90:.1f}"
        headline = Estimate(name, found.value, len(scores), found.se, found.low95, found.high95, note=note)
    return replace(
        plain,
        title=f"{plain.title}, {'adaptive' if options.get('width') else 'short form'}",
        sentence=_sentence(plain, found, len(scores), total, floor),
        headline=headline,
        estimates=(
            *_with_others(found, len(scores)),
            replace(plain.headline, name="plain score of the questions asked", note="no estimate of the full score"),
            *plain.estimates,
        ),
        baselines=floor,
        items=_without_points(plain.items),
        caveats=(*_caveats(plain, found, asked, total, options), *plain.caveats),
    )


def _with_others(found: FullScore | None, n: int) -> tuple[Estimate, ...]:
    """The same estimate with the other interval: the one to hold beside a full run's, whose questions are a sample."""
    if found is None or found.others is None:
        return ()
    name = "the same, with other questions of this kind"
    return (Estimate(name, found.value, n, None, *found.others, note="questions as a sample, as in a full run"),)


def _without_points(items: Sequence[ItemScore]) -> tuple[ItemScore, ...]:
    """The estimate is no mean of the points of the questions asked, so it is the estimates that are compared."""
    return tuple(replace(item, points=None) for item in items)


def _scores(plain: Result) -> dict[str, float]:
    """By question number, the mean over repeats."""
    known: dict[str, list[float]] = {}
    for item in plain.items:
        if item.score is not None:
            known.setdefault(item.item, []).append(item.score)
    return {number: fmean(scores) for number, scores in known.items()}


def _sentence(plain: Result, found: FullScore | None, n: int, total: int, floor: tuple[Baseline, ...]) -> str:
    who = plain.subject.removeprefix("model:")
    if found is None:
        return f"No answer of {who} could be scored, so there is no estimate."
    text = (
        f"{who} would score about {found.value:.1f} on all {total} questions of {plain.headline.name}: an estimate "
        f"from {n} of them (95 % interval of that score {found.low95:.1f} to {found.high95:.1f}"
    )
    if found.others is not None:
        text += f"; with other questions of this kind {found.others[0]:.1f} to {found.others[1]:.1f}"
    text += ")"
    if not plain.valid:
        return f"{text}, but too few answers could be read: by the published rule the run has failed."
    best = max(floor, key=lambda baseline: baseline.value)
    where = f"what the answer '{best.name}' gets without any skill ({best.value:.1f})"
    if found.low95 > best.value:
        return f"{text}, above {where}."
    if found.high95 < best.value:
        return f"{text}, below {where}."
    return f"{text}, which cannot be told apart from {where}."


def _caveats(plain: Result, found: FullScore | None, asked: int, total: int, options: Mapping[str, Any]) -> list[str]:
    held, size, n = facts()["held_out"], options.get("short"), len(_scores(plain))
    said = []
    if size:
        seen, stricter = held["copies"][str(size)], held["families"][str(size)]
        said.append(
            f"Estimated from a short form. On {seen['subjects']:.0f} published models held out with their copies, "
            f"forms of {size} were off by {seen['mae']:.1f} points on average (r = {seen['r']:.3f}); with their whole "
            f"families held out, as for a model of a new family, by {stricter['mae']:.1f} (r = {stricter['r']:.3f})."
        )
    else:
        reached = found is not None and found.high90 - found.low90 <= options["width"]
        goal = f"the 90 % interval, by which it stops, is at most {options['width']} points wide"
        why = goal if reached else "not sure enough yet"
        said.append(
            f"Estimated by an adaptive run: {asked} of {total} questions asked, {total - asked} calls saved; {why}."
        )
    if plain.headline.value is not None:
        said.append(f"The plain score of the {n} questions read is {plain.headline.value:.2f}.")
    if found is not None and found.beyond:
        fitted = facts()["fitted_to"]
        said.append(_BEYOND.format(low=fitted["lowest"], high=fitted["highest"]))
    if n < asked:
        said.append(_UNREAD.format(n=asked - n, read=n))
    return said
