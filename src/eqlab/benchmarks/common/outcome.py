"""What became of the trials, and what a score must be seen against: counts, validity, caveats, flat answers, baselines,
the sentence. The same for every benchmark."""

import random
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import pairwise
from statistics import fmean

from eqlab.analysis.intervals import proportion_estimate
from eqlab.core.answers import OUTCOMES, UNANSWERED, Status
from eqlab.core.forms import Form, random_points
from eqlab.core.plural import many, one_of
from eqlab.core.results import Baseline, Better, Estimate, best_baseline
from eqlab.core.text import floor_text
from eqlab.core.trials import Trial
from eqlab.core.values import dataclass

MIN_READABLE = 5 / 6
"""A smaller share of readable answers makes a result invalid: the published rule of EQ-Bench, used by all."""
FORCED = "Answers were forced into the form (structured); not comparable with free-text scores."
Points = Callable[[Trial, Mapping[str, float]], float]
"""What an answer to a trial adds to the headline."""
_DRAWS = 100


def count_outcomes(statuses: Iterable[Status | None]) -> dict[str, int]:
    """Trials by what became of them; None is not answered yet."""
    counts: Counter[str] = Counter(status or UNANSWERED for status in statuses)
    return {"planned": counts.total(), **{name: counts.get(name, 0) for name in OUTCOMES}}


def is_valid(counted: Mapping[str, int], least: float = MIN_READABLE) -> bool:
    """Whether enough of what was answered could be read."""
    asked = counted["planned"] - counted[UNANSWERED]
    return asked > 0 and counted["ok"] >= least * asked


def count_caveats(counted: Mapping[str, int], noun: str, least: float = MIN_READABLE) -> list[str]:
    """What a reader must know of answers that do not count."""
    caveats = []
    lost = {name: counted[name] for name in OUTCOMES[1:-1] if counted[name]}
    if lost:
        listed = ", ".join(f"{count} {name}" for name, count in lost.items())
        caveats.append(
            f"{sum(lost.values())} of {many(counted['planned'], 'answer')} "
            f"{'is' if sum(lost.values()) == 1 else 'are'} left out ({listed})."
        )
    if counted["planned"] > counted[UNANSWERED] and not is_valid(counted, least):
        caveats.append(f"Fewer than {100 * least:.0f} % of the answers could be read: the run has failed.")
    return [*caveats, *not_answered_yet(counted[UNANSWERED], noun, "score")]


def not_answered_yet(count: int, noun: str = "questions", what: str = "result") -> list[str]:
    """Of whom more answers are to come; nothing where none are."""
    if not count:
        return []
    return [f"{many(count, f'{one_of(noun)} is', f'{noun} are')} not answered yet; the {what} is preliminary."]


def pages_not_answered(count: int) -> list[str]:
    """The same of people, of whom nobody knows whether more is to come."""
    if not count:
        return []
    return [
        f"{many(count, 'planned page is', 'planned pages are')} not answered: by people who left, or who are still at "
        "it."
    ]


def sentence(
    who: str, score: Estimate, title: str, noun: str, floor: Sequence[Baseline], better: Better, *, valid: bool
) -> str:
    """The conclusion in words: the score, its interval, and whether it is better than an answer without any skill."""
    if score.value is None:
        return f"No answer of {who} could be scored, so there is no score."
    unit = f" {score.unit}" if score.unit else ""
    text = f"{who} scores {score.value:.{score.digits}f}{unit} on {title} ({score.name}"
    if score.low is None or score.high is None:
        return f"{text}), with {many(score.n, one_of(noun), noun)} too few for an interval."
    text += f"; 95 % interval {score.low:z.{score.digits}f} to {score.high:z.{score.digits}f}, "
    text += f"{many(score.n, one_of(noun), noun)})"
    if not valid:
        return f"{text}, but too few answers could be read."
    return f"{text}, {against(score, floor, better)}" if floor else f"{text}."


def against(score: Estimate, floor: Sequence[Baseline], better: Better = "higher") -> str:
    """Whether a score lies beyond the best no-skill baseline; empty where there is none."""
    best = best_baseline(floor, better)
    if best is None:
        return ""
    where = f"what the answer '{best.name}' gets without any skill ({floor_text(best.value, score.digits)})"
    low, high = score.low, score.high
    if low is not None and low > best.value:
        return f"{'above' if better == 'higher' else 'worse than'} {where}."
    if high is not None and high < best.value:
        return f"{'below' if better == 'higher' else 'better than'} {where}."
    return f"which cannot be told apart from {where}."


# -- baselines -------------------------------------------------------------------------------------------------------


Asked = Sequence[Sequence[Trial]]
"""The trials of each subject: one list for a model, one for each of people, who were not all asked the same."""


def mean_of(asked: Asked, got: Callable[[Trial], float]) -> float:
    """The mean over subjects of what each gets on average: a person who left early counts like any other, as in
    people's own scores."""
    known = {trial.id: got(trial) for own in asked for trial in own}
    return fmean(fmean(known[trial.id] for trial in own) for own in asked)


def baselines(asked: Asked, points: Points, better: Better) -> tuple[Baseline, ...]:
    """What answers that read nothing get on the same trials: of constant ones the best, of points dealt out the same to
    each and falling by place, of choices the longest, and a random one."""
    if not asked:
        return ()
    fills = _fills(asked[0][0].form)
    every = [Baseline(name, mean_of(asked, partial(_filled, fill, points))) for name, fill in fills.items()]
    constant = [one for one in every if one.name.startswith("always ") and one.name[7:].lstrip("-").isdigit()]
    best = best_baseline(constant, better)
    kept = [baseline for baseline in every if baseline not in constant or baseline is best]
    return (*kept, Baseline("random", _by_chance(asked, points)))


def _filled(fill: Callable[[Form], Mapping[str, float]], points: Points, trial: Trial) -> float:
    return points(trial, fill(trial.form))


def _fills(form: Form) -> dict[str, Callable[[Form], Mapping[str, float]]]:
    """Ways of filling in forms like this one, by name."""
    if form.total is not None:
        return {"the same to each": _even, "falling by place": _falling}
    low, high = min(scale.low for scale in form.scales), max(scale.high for scale in form.scales)
    fills: dict[str, Callable[[Form], Mapping[str, float]]] = {
        f"always {value}": partial(_constant, value) for value in range(low, high + 1)
    }
    if all(len(scale.anchors) == scale.high - scale.low + 1 for scale in form.scales):
        fills["always the longest choice"] = _longest
    return fills


def _constant(value: int, form: Form) -> dict[str, float]:
    return {scale.key: float(min(max(value, scale.low), scale.high)) for scale in form.scales}


def _longest(form: Form) -> dict[str, float]:
    return {scale.key: float(max(scale.anchors, key=lambda one: (len(one[1]), -one[0]))[0]) for scale in form.scales}


def _even(form: Form) -> dict[str, float]:
    return {scale.key: (form.total or 0) / len(form.scales) for scale in form.scales}


def _falling(form: Form) -> dict[str, float]:
    """4, 3, 2, 1 of ten points over four scales."""
    count = len(form.scales)
    part = 2 * (form.total or 0) / (count * (count + 1))
    return {scale.key: part * (count - place) for place, scale in enumerate(form.scales)}


def _by_chance(asked: Asked, points: Points) -> float:
    draw = random.Random(0)
    return mean_of(asked, lambda trial: fmean(points(trial, random_values(trial.form, draw)) for _ in range(_DRAWS)))


def random_values(form: Form, draw: random.Random) -> dict[str, int]:
    """An answer by chance: of scales any value, of points any way of dealing them out."""
    if form.total is not None:
        return random_points(form, draw)
    return {scale.key: draw.randint(scale.low, scale.high) for scale in form.scales}


# -- flat answers ----------------------------------------------------------------------------------------------------

ENOUGH = 5
"""Answers below which nothing is said: a few alike are no pattern."""
FLAT = 0.5
"""Share of answers with one pattern from which a reader is warned."""
ALWAYS = 0.95
"""The same for forms of one scale, where alike is common: from here on it is nearly always the same choice."""


@dataclass(frozen=True, slots=True)
class Flatness:
    """Counts of patterns among the readable answers of one subject."""

    n: int
    same: int
    """One number on every scale of the form."""
    staircase: int
    """Up or down by one from scale to scale, in the order shown."""
    commonest: int
    """The most frequent answer as a whole."""
    example: tuple[float, ...]
    """That answer."""

    @property
    def estimates(self) -> tuple[Estimate, ...]:
        if len(self.example) < 2:
            return (proportion_estimate("most frequent answer", self.commonest, self.n, note=self._shown),)
        return (
            proportion_estimate("same number on every scale", self.same, self.n),
            proportion_estimate("staircases (1, 2, 3 …)", self.staircase, self.n),
            proportion_estimate("most frequent answer", self.commonest, self.n, note=self._shown),
        )

    @property
    def caveats(self) -> tuple[str, ...]:
        """One warning for the plainest pattern; none for ordinary answers."""
        if self.n < ENOUGH:
            return ()
        if len(self.example) < 2:
            always = self.commonest >= ALWAYS * self.n
            return (self._said(self.commonest, f"are {self.example[0]:g}"),) if always else ()
        if self.commonest >= FLAT * self.n:
            return (self._said(self.commonest, f"are the same, {self._shown}"),)
        if self.same >= FLAT * self.n:
            return (self._said(self.same, "give one number on every scale"),)
        if self.staircase >= FLAT * self.n:
            return (self._said(self.staircase, "count up or down from scale to scale"),)
        return ()

    def _said(self, count: int, pattern: str) -> str:
        return f"Flat answers: {count} of {self.n} {pattern}. Compare the score with the baselines before believing it."

    @property
    def _shown(self) -> str:
        values = ", ".join(f"{value:g}" for value in self.example[:6])
        return f"{values} …" if len(self.example) > 6 else values


def flatness(answers: Iterable[Sequence[float]]) -> Flatness | None:
    """`answers`: the values of each readable answer in the order of its form; None without any."""
    given = [tuple(answer) for answer in answers if answer]
    if not given:
        return None
    example, commonest = Counter(given).most_common(1)[0]
    return Flatness(len(given), sum(map(_same, given)), sum(map(_staircase, given)), commonest, example)


def _same(values: tuple[float, ...]) -> bool:
    return len(values) > 1 and values.count(values[0]) == len(values)


def _staircase(values: tuple[float, ...]) -> bool:
    if len(values) < 3 or abs(step := values[1] - values[0]) != 1:
        return False
    return all(after - before == step for before, after in pairwise(values))
