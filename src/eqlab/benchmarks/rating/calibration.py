"""How far a judge can be trusted: its ratings against people's ratings of the same replies, scale by scale. Agreement
beside the human ceiling, bias per arm, preference for its own family, bias towards length. Raters and prompts are both
samples in every interval: the judge's error on a reply is the same for all who rated it. The published form is one
scale, whose ceiling is known from the study's pilot."""

import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import permutations

import numpy as np
from msgspec import structs

from eqlab.analysis.agreement import MEASURES, printed_kappa
from eqlab.analysis.arrays import Floats
from eqlab.analysis.clusters import crossed_statistic
from eqlab.benchmarks.rating.powered import EVERYBODY
from eqlab.benchmarks.rating.rated import RatedReply
from eqlab.benchmarks.rating.trials import RATING, REFERENCE_ARMS, order_arms, words_of
from eqlab.core.forms import Scale
from eqlab.core.plural import many
from eqlab.core.results import Estimate, Result, Table
from eqlab.core.values import dataclass

HUMAN_KAPPA = 0.2817
"""Weighted kappa of two people on the three-point form, from the study's pilot of 100; no interval is printed."""
_PILOT_PAIRS = 100
CEILING = "quadratic kappa"
UNDEFINED = Estimate(CEILING, None, 0, note="no rating of the judge has a person's beside it")
NOTHING = "{judge} gave no rating to calibrate with."
JUDGE_LENGTH, PEOPLE_LENGTH = "judge: points for twice the length", "people: points for twice the length"
MORE_LENGTH = "judge − people, points for twice the length"
REACHES = (0.1, 0.05)
"""Half-widths that a calibration is planned for."""
MISSING = (
    "Ratings are missing on further prompts: they are so many if prompts grow in number as raters do, each rating as "
    "many replies as now. Of these prompts alone no number may be enough."
)


@dataclass(frozen=True, slots=True)
class RatingPair:
    """A judge's and a person's rating of one reply."""

    arm: str
    rater: str
    judge: int
    human: int
    words: int
    prompt: str
    reply: str = ""
    """What was rated: the same words to the same prompt are one reply, whoever has them."""
    weight: float = 1.0
    """Repeats of a judge share one: people said it once."""


@dataclass(frozen=True, slots=True)
class Calibration:
    pairs: int
    """Ratings of people that the judge's stand beside."""
    raters: int
    prompts: int
    measures: dict[str, Estimate]
    """Kappa, alpha, rho, exact agreement, mean difference. No interval where nothing varies, as for a judge that always
    says the same."""
    bias: dict[str, Estimate]
    """Judge minus people by arm, in scale points."""
    distortion: dict[str, Estimate]
    """By arm: its bias minus the reference arm's, which the judge adds to the arms' difference. The intervals hold all
    at once."""
    family: str
    own_family: Estimate | None
    """Bias on arms of its own family minus bias on the others; None where that cannot be measured."""
    own_family_note: str
    length: dict[str, Estimate]
    """Points for twice the length within an arm's replies, by judge, people, and what the judge adds."""
    confusion: Floats
    slope: Estimate
    """Points that people's rating rises with one point of the judge's: 1 is right, below 1 the judge exaggerates, 0 it
    knows nothing."""
    scale: Scale
    ceiling: Estimate | None
    """What two people reach; None where nobody knows."""

    @property
    def commonest(self) -> int:
        """The rating that people gave most often."""
        return int(self.confusion.sum(axis=0).argmax()) + self.scale.low

    @property
    def constant(self) -> dict[str, float | None]:
        """What a rater reaches who always gives people's commonest rating: no skill at all."""
        given = self.confusion.sum(axis=0)
        table = np.zeros_like(self.confusion)
        table[given.argmax()] = given
        found = {name: float(measure(table)) for name, measure in MEASURES.items()}
        return {name: None if math.isnan(value) else value for name, value in found.items()}

    @property
    def estimates(self) -> tuple[Estimate, ...]:
        own_family = () if self.own_family is None else (self.own_family,)
        parts = (self.measures, self.bias, self.distortion, self.length)
        measures, bias, distortion, length = (tuple(part.values()) for part in parts)
        return (*measures, self.slope, *bias, *distortion, *own_family, *length)


def pairs_of(ratings: Sequence[RatedReply], scale: Scale = RATING) -> list[RatingPair]:
    """Each judge's rating with every person's rating of the same reply."""
    read = [(reply, value) for reply in ratings if (value := reply.on(scale)) is not None]
    repeats = Counter(reply.trial.id for reply, _ in read)
    return [
        RatingPair(
            *(reply.arm, rater, value, human, words_of(reply.key), reply.prompt),
            str(reply.key.get("reply") or reply.trial.id),
            1 / repeats[reply.trial.id],
        )
        for reply, value in read
        for rater, human in reply.people_on(scale)
    ]


def _human(pairs: Sequence[RatingPair]) -> int:
    """How many ratings of people are in the pairs: neither a judge's repeats nor another arm with the same reply make
    them more."""
    return len({(pair.rater, pair.prompt, pair.reply or pair.arm) for pair in pairs})


PILOT = Estimate(
    CEILING, HUMAN_KAPPA, _PILOT_PAIRS, None, *printed_kappa(HUMAN_KAPPA, _PILOT_PAIRS),
    note=f"the study's pilot; its interval as of {_PILOT_PAIRS} independent pairs",
)  # fmt: skip


def calibrate(
    pairs: Sequence[RatingPair], judge: str, scale: Scale = RATING, ceiling: Estimate | None = PILOT
) -> Calibration | None:
    """None without pairs. `judge` is the model's name, which says its family."""
    if not pairs:
        return None
    tables = _tables(pairs, scale)
    arms = order_arms(pair.arm for pair in pairs)
    own, note, gap = _own_family(pairs, arms, judge)
    jointly = 1 - 0.05 / max(1, len(arms) - 1)
    return Calibration(
        _human(pairs),
        len({pair.rater for pair in pairs}),
        len({pair.prompt for pair in pairs}),
        {name: _measure(name, pairs, tables) for name in MEASURES},
        {arm: _bias(f"judge − people, {arm}", pairs, [arm], []) for arm in arms},
        {arm: _bias(f"{arm} − {arms[0]}", pairs, [arm], [arms[0]], jointly) for arm in arms[1:]},
        own,
        gap,
        note,
        _length(pairs),
        tables.sum(axis=0),
        _slope(pairs),
        scale,
        ceiling,
    )


def published(ratings: Sequence[RatedReply], judge: str) -> Calibration | None:
    return calibrate(pairs_of(ratings), judge)


def two_people(ratings: Sequence[RatedReply], scale: Scale) -> Estimate | None:
    """Quadratic kappa of two people on the same reply, prompts as the sample; None where no reply has two."""
    both = [
        RatingPair(reply.arm, reply.prompt, first, second, 0, reply.prompt)
        for reply in ratings
        if reply.repeat == 0
        for (_, first), (_, second) in permutations(reply.people_on(scale), 2)
    ]
    found = _measure(CEILING, both, _tables(both, scale)) if both else None
    return None if found is None else structs.replace(found, n=len(both) // 2, se=None)


def _tables(pairs: Sequence[RatingPair], scale: Scale) -> Floats:
    """A table for each pair, with its weight in one cell."""
    size = scale.high - scale.low + 1
    tables = np.zeros((len(pairs), size, size))
    for place, pair in enumerate(pairs):
        tables[place, pair.judge - scale.low, pair.human - scale.low] = pair.weight
    return tables


def _estimate(
    name: str,
    pairs: Sequence[RatingPair],
    rows: Floats,
    statistic: Callable[[Floats], Floats],
    ends: tuple[float, float] | None = None,
    confidence: float = 0.95,
    unit: str = "",
) -> Estimate:
    raters, prompts = [pair.rater for pair in pairs], [pair.prompt for pair in pairs]
    found = crossed_statistic(name, rows, statistic, raters, prompts, ends=ends, confidence=confidence, unit=unit)
    return structs.replace(found, n=_human(pairs))


def _measure(name: str, pairs: Sequence[RatingPair], tables: Floats) -> Estimate:
    size = tables.shape[-1]
    ends = {"exact agreement": (0.0, 1.0), "mean difference": None}.get(name, (-1.0, 1.0))
    return _estimate(
        name, pairs, tables.reshape(len(pairs), -1),
        lambda totals: MEASURES[name](totals.reshape(*totals.shape[:-1], size, size)), ends,
    )  # fmt: skip


def _bias(
    name: str, pairs: Sequence[RatingPair], arms: Sequence[str], reference: Sequence[str], confidence: float = 0.95
) -> Estimate:
    """Mean of judge − people on some arms, minus the same on the reference arms."""
    used = [pair for pair in pairs if pair.arm in (*arms, *reference)]
    gap = np.array([float(pair.judge - pair.human) for pair in used])
    inside = np.array([pair.weight * (pair.arm in arms) for pair in used])
    beside = np.array([pair.weight * (pair.arm in reference) for pair in used])

    def statistic(sums: Floats) -> Floats:
        with np.errstate(invalid="ignore", divide="ignore"):
            value = sums[..., 0] / sums[..., 1]
            return np.asarray(value - sums[..., 2] / sums[..., 3] if reference else value)

    rows = np.column_stack([gap * inside, inside, gap * beside, beside])
    return _estimate(name, used, rows, statistic, None, confidence, "points")


def _slope(pairs: Sequence[RatingPair]) -> Estimate:
    """Least squares of people on the judge."""
    judge = np.array([float(pair.judge) for pair in pairs])
    human = np.array([float(pair.human) for pair in pairs])
    weight = np.array([pair.weight for pair in pairs])
    rows = weight[:, None] * np.column_stack([np.ones(len(pairs)), judge, human, judge**2, judge * human])

    def statistic(sums: Floats) -> Floats:
        n, x, y, xx, xy = (sums[..., column] for column in range(5))
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(np.where(xx - x**2 / n > 1e-9, (xy - x * y / n) / (xx - x**2 / n), np.nan))

    return _estimate("slope", pairs, rows, statistic)


def still_missing(estimate: Estimate, reach: float) -> int | None:
    """Human ratings that are still needed for an interval of ± `reach` where raters and prompts grow alike in number,
    for both are samples; each rater rates as many as now. 0 if it is reached; None without an interval."""
    if estimate.low is None or estimate.high is None:
        return None
    now = (estimate.high - estimate.low) / 2
    return max(0, math.ceil(estimate.n * ((now / reach) ** 2 - 1)))


def _own_family(pairs: Sequence[RatingPair], arms: Sequence[str], judge: str) -> tuple[str, str, Estimate | None]:
    own = family(judge)
    if not own:
        return "", f"The name '{judge}' does not say which family the judge belongs to.", None
    relatives = [arm for arm in arms if family(arm) == own]
    others = [arm for arm in arms if arm not in relatives]
    if not relatives or not others:
        which = "No rated reply is" if not relatives else "All rated replies are"
        return own, f"{which} of the judge's family ({own}): a preference for it cannot be measured here.", None
    gap = _bias(f"own family ({own}) − others", pairs, relatives, others)
    note = f"Own family: {', '.join(relatives)}; others: {', '.join(others)}."
    if all(arm in REFERENCE_ARMS for arm in others):
        note += " The others are people's replies only, so a preference for model text in general looks the same."
    return own, note, gap


def _length(pairs: Sequence[RatingPair]) -> dict[str, Estimate]:
    """Least squares on the logarithm of the number of words, each arm around its own means. Points, not correlations: a
    judge that reads replies with less error than one person has the larger correlation at the same liking."""
    length, judge, human = np.array(
        [(math.log2(max(pair.words, 1)), pair.judge, pair.human) for pair in pairs], dtype=float
    ).T
    arms = list(dict.fromkeys(pair.arm for pair in pairs))
    inside = np.array([[float(pair.arm == arm) for arm in arms] for pair in pairs])
    weight = np.array([pair.weight for pair in pairs])

    def points(sums: Floats) -> Floats:
        n, x, y, (xx, xy) = (*np.moveaxis(sums[..., :-2].reshape(*sums.shape[:-1], 3, -1), -2, 0), sums[..., -2:].T)
        with np.errstate(invalid="ignore", divide="ignore"):
            spread, joint = xx - np.nansum(x**2 / n, axis=-1), xy - np.nansum(x * y / n, axis=-1)
            return np.asarray(np.where(spread > 1e-9, joint / spread, np.nan))

    def rows(rated: Floats) -> Floats:
        by_arm = (inside, inside * length[:, None], inside * rated[:, None])
        return np.asarray(weight[:, None] * np.column_stack([*by_arm, length**2, length * rated]))

    return {
        name: _estimate(name, pairs, rows(rated), points)
        for name, rated in ((JUDGE_LENGTH, judge), (PEOPLE_LENGTH, human), (MORE_LENGTH, judge - human))
    }


# -- in tables and in one sentence ---------------------------------------------------------------------------------


def published_tables(found: Calibration) -> tuple[Table, ...]:
    basis = (
        f"{many(found.pairs, 'pair')} of a judge's and a person's rating; intervals for other raters and prompts than "
        f"these ({found.raters} and {found.prompts})."
    )
    basis += f" {EVERYBODY}"
    top = found.ceiling
    constant = found.constant
    measures = [
        (name, estimate, constant[name], top, _against_ceiling(estimate, top))
        if name == CEILING and top is not None and top.value is not None
        else (name, estimate, constant[name], "not known", "")
        for name, estimate in found.measures.items()
    ]
    labels = dict(found.scale.anchors) if len(found.scale.anchors) == len(found.confusion) else {}
    values = [(value, labels.get(value, str(value))) for value in range(found.scale.low, found.scale.high + 1)]
    family_row = () if found.own_family is None else ((found.own_family.name, found.own_family),)
    return (
        Table(
            "Calibration: agreement with people",
            ("measure", "judge with people", f"always {found.commonest}", "two people", "reading"),
            tuple(measures),
            f"{basis} {_of_ceiling(found.ceiling)} Always {found.commonest}: a rater who reads nothing and gives "
            "people's commonest rating; empty where that is undefined.",
        ),
        size_table(
            ("measure",),
            [
                (("bias: mean of judge − people",), found.measures.get("mean difference")),
                (("slope of people on judge",), found.slope),
                ((CEILING,), found.measures[CEILING]),
            ],
        ),
        bias_table(("replies by",), [((arm,), bias) for arm, bias in found.bias.items()]),
        Table(
            "Calibration: what the judge adds to differences",
            ("difference", "scale points"),
            (*((estimate.name, estimate) for estimate in found.distortion.values()), *family_row),
            "0: differences between models are as people see them. Intervals hold for all differences at once. "
            f"{found.own_family_note}",
        ),
        Table(
            "Calibration: length",
            ("within each model's replies", "scale points"),
            tuple(found.length.items()),
            "Above 0: longer replies are rated better. The difference is the judge's own preference for length.",
        ),
        Table(
            "Calibration: judge (rows) against people (columns)",
            ("judge says", *(label for _, label in values)),
            tuple((label, *map(_count, found.confusion[value - found.scale.low].tolist())) for value, label in values),
        ),
    )


def _count(value: float) -> int | float:
    """Of pairs, of which a judge's repeats that differ hold parts."""
    return round(value) if abs(value - round(value)) < 1e-6 else round(value, 1)


def size_table(columns: tuple[str, ...], rows: Sequence[tuple[tuple[str, ...], Estimate | None]]) -> Table:
    """Bias and slope, and how many human ratings a narrower interval takes."""
    return Table(
        "Calibration: bias, slope, and what is missing",
        (*columns, "value", *(f"human ratings still missing for ±{reach:g}" for reach in REACHES)),
        tuple(
            (*names, estimate, *(still_missing(estimate, reach) for reach in REACHES))
            for names, estimate in rows
            if estimate is not None
        ),
        f"Slope 1: a point of the judge's is a point of people's; 0: it says nothing of people. {MISSING}",
    )


def bias_table(columns: tuple[str, ...], rows: Sequence[tuple[tuple[str, ...], Estimate]]) -> Table:
    return Table(
        "Calibration: bias by whose replies",
        (*columns, "judge − people, scale points"),
        tuple((*names, bias) for names, bias in rows),
        "A judge that agrees with people as they agree with each other can still favour one model.",
    )


def _of_ceiling(ceiling: Estimate | None) -> str:
    if ceiling is None or ceiling.value is None:
        return "What two people reach is not known: no reply has ratings of two."
    bounds = "" if ceiling.low is None else f" ({ceiling.low:.2f} to {ceiling.high:.2f})"
    where = ceiling.note or f"from {many(ceiling.n, 'pair')} of people's ratings of one reply"
    return f"Two people reach a weighted kappa of {ceiling.value:.2f}{bounds}: {where}."


def _against_ceiling(kappa: Estimate, ceiling: Estimate) -> str:
    """Both have an error: the difference's interval from the two (MOVER, Zou & Donner 2008)."""
    if kappa.value is None or ceiling.value is None:
        return "undefined"
    low, high = _bounds(kappa, kappa.value)
    floor, top = _bounds(ceiling, ceiling.value)
    gap = kappa.value - ceiling.value
    if gap + math.hypot(high - kappa.value, ceiling.value - floor) < 0:
        reading = "below two people"
    elif gap - math.hypot(kappa.value - low, top - ceiling.value) > 0:
        reading = "above two people"
    else:
        reading = "cannot be told apart from two people"
    return reading if low > 0 else f"{reading}; not shown to be better than chance"


def _bounds(estimate: Estimate, value: float) -> tuple[float, float]:
    return (value, value) if estimate.low is None or estimate.high is None else (estimate.low, estimate.high)


def verdict(calibration: Calibration) -> str:
    """The calibration in one sentence."""
    kappa = calibration.measures[CEILING]
    if kappa.value is None:
        return "Agreement with people is undefined: the ratings do not vary."
    bounds = "" if kappa.low is None else f" (95 % interval {kappa.low:z.2f} to {kappa.high:z.2f})"
    text = f"With people the judge reaches a quadratic kappa of {kappa.value:.2f}{bounds}"
    top = calibration.ceiling
    known = top is not None and top.value is not None
    text += f", where two people reach {top.value:.2f}: {_against_ceiling(kappa, top)}." if top and known else "."
    shifted = [
        estimate
        for estimate in calibration.distortion.values()
        if estimate.low is not None and estimate.high is not None
    ]
    sure = [estimate for estimate in shifted if (estimate.low or 0) > 0 or (estimate.high or 0) < 0]
    if sure:
        worst = max(sure, key=lambda one: abs(one.value or 0))
        text += f" It distorts the difference {worst.name} by {worst.value:+.2f} scale points."
    liking = calibration.length[MORE_LENGTH]
    if liking.low is not None and liking.low > 0:
        text += " It likes longer replies better than people do."
    elif liking.high is not None and liking.high < 0:
        text += " It likes longer replies less than people do."
    return text


# -- a rubric, scale by scale --------------------------------------------------------------------------------------

_BIAS, _SLOPE = "bias, judge − people", "slope of people on judge"


@dataclass(frozen=True, slots=True)
class ScaleCalibrations:
    found: Mapping[str, Calibration]
    """By scale; only those that people rated too."""
    scales: tuple[str, ...]

    @property
    def pairs(self) -> int:
        """Of the scale that has fewest."""
        if set(self.found) != set(self.scales):
            return 0
        return min((calibration.pairs for calibration in self.found.values()), default=0)

    @property
    def headline(self) -> Estimate:
        """The scale on which the judge agrees least with people: a rubric is as good as its worst scale."""
        known = [
            structs.replace(
                kappa, name=f"lowest {CEILING}", note=f"of {key}; the tables have all {len(self.scales)} scales"
            )
            for key, calibration in self.found.items()
            if (kappa := calibration.measures[CEILING]).value is not None
        ]
        return min(known, key=lambda one: one.value or 0.0, default=UNDEFINED)

    @property
    def estimates(self) -> tuple[Estimate, ...]:
        return tuple(structs.replace(estimate, name=f"{key}: {estimate.name}") for key, estimate in self._rows())

    def _rows(self) -> Iterator[tuple[str, Estimate]]:
        for key, calibration in self.found.items():
            yield key, structs.replace(calibration.measures["mean difference"], name=_BIAS)
            yield key, structs.replace(calibration.slope, name=_SLOPE)
            for name, estimate in calibration.measures.items():
                if name != "mean difference":
                    yield key, estimate

    def sentence(self, judge: str) -> str:
        if not self.found:
            return NOTHING.format(judge=judge)
        said = []
        for key, calibration in self.found.items():
            kappa = calibration.measures[CEILING]
            bounds = "" if kappa.low is None else f" ({kappa.low:.2f} to {kappa.high:.2f})"
            said.append(f"{key} undefined" if kappa.value is None else f"{key} {kappa.value:.2f}{bounds}")
        return f"{judge}: agreement with people (quadratic kappa) is {', '.join(said)}."

    def tables(self) -> tuple[Table, ...]:
        if not self.found:
            return ()
        agreed: list[tuple[str | int | float | Estimate | None, ...]] = []
        for key, calibration in self.found.items():
            for name, estimate in calibration.measures.items():
                if name != "mean difference":
                    constant = calibration.constant[name]
                    agreed.append(
                        (
                            key,
                            name,
                            estimate,
                            constant,
                            calibration.ceiling if name == CEILING else None,
                            calibration.pairs,
                            calibration.raters,
                        )
                    )
        planned = (_BIAS, _SLOPE, CEILING)
        return (
            Table(
                "Calibration: agreement with people",
                ("scale", "measure", "judge with people", "constant", "two people", "pairs", "raters"),
                tuple(agreed),
                "Intervals are for other raters and prompts. Constant: a rater who reads nothing and always gives "
                "people's commonest rating. Two people: of the same replies, where two rated one. "
                f"{EVERYBODY}",
            ),
            size_table(
                ("scale", "measure"), [((key, one.name), one) for key, one in self._rows() if one.name in planned]
            ),
            bias_table(
                ("scale", "replies by"),
                [((key, arm), bias) for key, own in self.found.items() for arm, bias in own.bias.items()],
            ),
        )

    def caveats(self, *, calibrating: bool) -> tuple[str, ...]:
        lacking = [key for key in self.scales if key not in self.found]
        if calibrating and lacking and self.found:
            return (f"People rated nothing on {', '.join(lacking)}: there the judge is not calibrated.",)
        if not calibrating and self.found:
            verdicts = " ".join(f"{key}: {verdict(calibration)}" for key, calibration in self.found.items())
            return (f"On what people have rated too. {verdicts}",)
        return ()


def by_scale(ratings: Sequence[RatedReply], scales: Sequence[Scale], judge: str) -> ScaleCalibrations:
    calibrations = {
        scale.named: own
        for scale in scales
        if (own := calibrate(pairs_of(ratings, scale), judge, scale, two_people(ratings, scale))) is not None
    }
    return ScaleCalibrations(calibrations, tuple(scale.named for scale in scales))


_PLANNED = (CEILING, "mean difference", "slope", _BIAS, _SLOPE)


def missing_table(result: Result, reach: float) -> Table:
    """What a calibration lacks for intervals of ± `reach`: of bias, slope and agreement, scale by scale."""
    rows = []
    for estimate in result.estimates:
        scale, _, name = estimate.name.rpartition(": ")
        if name in _PLANNED:
            rows.append((scale or "rating", name, estimate, still_missing(estimate, reach)))
    return Table(
        f"Human ratings still missing for ±{reach:g}",
        ("scale", "measure", "now", "still missing"),
        tuple(rows),
        f"{MISSING} Empty: none yet.",
    )


# -- families: judges may prefer their own relatives ---------------------------------------------------------------

_FAMILIES = {
    "gpt": r"gpt|chatgpt|davinci|openai/o\d|\bo[134](?:-|$)",
    "claude": r"claude|anthropic",
    "gemini": r"gemini|gemma|palm|bard",
    "llama": r"llama|vicuna|alpaca",
    "mistral": r"mistral|mixtral|ministral|magistral",
    "qwen": r"qwen|qwq",
    "deepseek": r"deepseek",
    "grok": r"grok-|xai/",
    "phi": r"\bphi[-\d]",
    "smollm": r"smollm|^embedded$",
    "command": r"command-r|cohere",
}
_HOSTS = re.compile(r"^(?:ollama|llamacpp|vllm|groq|together|openrouter)/", re.IGNORECASE)


def family(name: str) -> str:
    """Empty when the name does not say, or says two families (a Llama distilled from DeepSeek)."""
    plain = _HOSTS.sub("", name.split("@", 1)[0])
    found = [known for known, pattern in _FAMILIES.items() if re.search(pattern, plain, re.IGNORECASE)]
    return found[0] if len(found) == 1 else ""


def relatives(judge: str, arms: Sequence[str]) -> tuple[str, ...]:
    """What must be said of a judge that may favour its own kind."""
    own = family(judge)
    if not own:
        return (f"The family of {judge} is not known from its name: it may favour its own kind.",)
    akin = [arm for arm in arms if family(arm) == own]
    return (f"The judge is of the family of {', '.join(akin)} ({own}) and may favour it.",) if akin else ()
