"""The ratings of Kumar et al. 2025 (arXiv 2506.10150), and a judge's examination by them: talks on up to four
frameworks, each rated on the framework's own scales (which ship as rubrics) by three experts, a crowd and three
models. A judge's place among them is the agreement of each with two experts at a time. Talks are known by a hash of
their id, and joined by it: every file has its own order, and some ids belong to people."""

import csv
import hashlib
import io
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
from msgspec import structs

from eqlab.analysis.agreement import distance_kappa, interval_alpha, pair_rows, unit_rows
from eqlab.analysis.arrays import Floats
from eqlab.analysis.bootstrap import interval, shared_totals
from eqlab.analysis.panel import PanelRatings, effective_judges, pool
from eqlab.core.benchmark import ReplyRow
from eqlab.core.errors import DataError
from eqlab.core.results import Cell, Estimate, Result, Table, goodness
from eqlab.core.text import estimate_text
from eqlab.core.values import dataclass
from eqlab.data import published

EXPERTS = ("expert1", "expert2", "expert3")
MODELS = ("gemini", "gpt", "claude")
CROWD = "crowd"
RATERS = (*EXPERTS, *MODELS, CROWD)
MODEL_NAMES = {"gemini": "Gemini 2.5 Pro", "gpt": "GPT-4o", "claude": "Claude 3.7 Sonnet"}
_FETCH = "Get it again with 'eqlab data fetch kumar'."
_SEEKER, _SUPPORTER = "Seeker", "Supporter"


@dataclass(frozen=True, slots=True)
class Framework:
    name: str
    """The folder of its ratings."""
    title: str
    low: int
    high: int
    ids: tuple[str, ...]
    """Columns that say which talk it is, the first in every file."""
    talks: str = ""
    """The file with the talks; empty where the study released none."""


FRAMEWORKS = (
    Framework("empatheticdialogues", "Empathetic Dialogues", 1, 5, ("conv_id",), "sample_empatheticdialogues.csv"),
    Framework("epitome", "EPITOME", 0, 2, ("sp_id", "rp_id"), "sample_epitome.csv"),
    Framework("lend_an_ear", "Lend an Ear", 1, 5, ("conversation_id",), "sample_lend_an_ear_conversations.csv"),
    Framework("perceived_empathy", "Perceived Empathy", 1, 7, ("id",)),
)
LESS_IS_BETTER = ("advice_giving", "self_oriented", "dismissing_emotions")
_NOT_SCALES = ("", "Unnamed: 0", "full_conversation", "response_length")


@dataclass(frozen=True, slots=True)
class Ratings:
    """One framework: every rater's value of every talk, scale by scale."""

    framework: Framework
    talks: tuple[str, ...]
    scales: tuple[str, ...]
    values: Mapping[str, Mapping[str, tuple[float, ...]]]
    """By rater, then by scale, in the order of the talks."""


def framework_of(name: str) -> Framework:
    found = [framework for framework in FRAMEWORKS if framework.name == name]
    if not found:
        raise DataError(
            f"Kumar et al. have no framework '{name}'.", f"There are: {', '.join(f.name for f in FRAMEWORKS)}."
        )
    return found[0]


def read_all(folder: Path) -> tuple[list[Ratings], list[str]]:
    """The frameworks whose ratings are in the folder, and the names of those that are not."""
    there = [
        framework for framework in FRAMEWORKS if all((folder / _file(framework, rater)).is_file() for rater in RATERS)
    ]
    missing = [framework.name for framework in FRAMEWORKS if framework not in there]
    if not there:
        read_ratings(FRAMEWORKS[0], folder)  # raises, and says how to get the files
    return [read_ratings(framework, folder) for framework in there], missing


def read_ratings(framework: Framework, folder: Path) -> Ratings:
    rows = {rater: _by_talk(_csv_rows(_file(framework, rater), folder), framework, rater) for rater in RATERS}
    talks = tuple(talk for talk in rows[EXPERTS[0]] if all(talk in row for row in rows.values()))
    if len(talks) < 2:
        raise DataError(f"The raters of {framework.name} have {len(talks)} talks in common.", _FETCH)
    first = [next(iter(row.values())) for row in rows.values()]
    unused = (*_NOT_SCALES, *framework.ids)
    scales = tuple(name for name in first[0] if name not in unused and all(name in row for row in first))
    values = {
        rater: {scale: tuple(_number(row[talk][scale], framework, rater, scale) for talk in talks) for scale in scales}
        for rater, row in rows.items()
    }
    return Ratings(framework, talks, scales, values)


def read_talks(framework: Framework, folder: Path) -> dict[str, tuple[tuple[str, str], ...]]:
    """Of every talk its lines as (who, text), who being "Seeker" or "Supporter"."""
    if not framework.talks:
        raise DataError(f"The study released no talks of {framework.title}.", "Its ratings can still be recomputed.")
    found: dict[str, tuple[tuple[str, str], ...]] = {}
    for row in _csv_rows(f"kumar/original_data/{framework.talks}", folder):
        if "full_conversation" in row:
            lines = _lines(row["full_conversation"])
        else:
            lines = ((_SEEKER, row["seeker_post"].strip()), (_SUPPORTER, row["response_post"].strip()))
        found.setdefault(_hashed(row[framework.ids[0]]), lines)
    return found


def _lines(text: str) -> tuple[tuple[str, str], ...]:
    parts = re.split(rf"^\s*({_SEEKER}|{_SUPPORTER}): ?", text.replace("_comma_", ", "), flags=re.MULTILINE)
    return tuple((who, part.strip()) for who, part in zip(parts[1::2], parts[2::2], strict=True))


def _file(framework: Framework, rater: str) -> str:
    return f"kumar/annotations/{framework.name}/{rater}_ratings.csv"


def _csv_rows(name: str, folder: Path) -> Sequence[Mapping[str, str]]:
    text = published.read(name, folder).decode("utf-8-sig", "replace")
    return list(csv.DictReader(io.StringIO(text, newline="")))


def _by_talk(rows: Sequence[Mapping[str, str]], framework: Framework, rater: str) -> dict[str, Mapping[str, str]]:
    key = framework.ids[0]
    if not rows or key not in rows[0]:
        raise DataError(f"{_file(framework, rater)} has no column {key}.", _FETCH)
    return {_hashed(row[key]): row for row in rows}


def _hashed(talk: str) -> str:
    """Ids are texts: those of twenty digits do not fit into a number."""
    return hashlib.sha256(talk.strip().encode()).hexdigest()[:12]


def _number(text: str, framework: Framework, rater: str, scale: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise DataError(f"{_file(framework, rater)}: {scale} is '{text}', not a number.", _FETCH) from None


PREFIX = "kumar:"
_ARM = "listener"
_DRAWS = 2_000
_NAMES = {"Seeker": "A", "Supporter": "B"}


def asked_framework(against: str) -> Framework | None:
    """The framework that `--against kumar:NAME` names; None where it names something else."""
    return framework_of(against.removeprefix(PREFIX)) if against.startswith(PREFIX) else None


def rubric_name(framework: Framework) -> str:
    return f"kumar-{framework.name}"


def expert_replies(framework: Framework, data: Path | None) -> list[ReplyRow]:
    """Every talk whose text is there, with the three experts' ratings."""
    folder = published.published_folder(data)
    ratings, talks = read_ratings(framework, folder), read_talks(framework, folder)
    rows = []
    for place, talk in enumerate(ratings.talks):
        if talk in talks:
            text = "\n".join(f"{_NAMES[who]}: {said}" for who, said in talks[talk])
            given = tuple(
                (expert, scale, int(ratings.values[expert][scale][place] + 0.5))
                for expert in EXPERTS
                for scale in ratings.scales
            )
            rows.append(ReplyRow(_ARM, talk, text, human_scales=given))
    return rows


def beside_experts(framework: Framework, data: Path | None, result: Result) -> tuple[Table, Table]:
    """The judge, each expert, the crowd and the published models: their kappa with two experts at a time, and all of
    them as one panel."""
    ratings = read_ratings(framework, published.published_folder(data))
    judge = _judged(result, ratings)
    # only the talks that all have rated, so that all are compared on the same
    places = [place for place in range(len(ratings.talks)) if all(np.isfinite(own[place]) for own in judge.values())]
    given: dict[str, Mapping[str, Sequence[float]]] = {JUDGE: judge} if judge else {}
    given |= {rater: ratings.values[rater] for rater in (*EXPERTS, CROWD, *MODELS)}
    who = {rater: np.array([own[scale] for scale in ratings.scales])[:, places] for rater, own in given.items()}
    return _among_experts(ratings, who), _as_a_panel(ratings, who)


JUDGE = "this judge"
Raters = Mapping[str, Floats]
"""By rater, scales × talks."""


def _judged(result: Result, ratings: Ratings) -> dict[str, list[float]]:
    """The judge's mean rating of each talk, NaN where it gave none."""
    given: dict[tuple[str, str], list[float]] = {}
    for item in result.items:
        for scale in ratings.scales:
            value = item.values.get(scale)
            if isinstance(value, int | float):
                given.setdefault((item.item, scale), []).append(float(value))
    if not given:
        return {}
    return {
        scale: [float(np.mean(given[talk, scale])) if (talk, scale) in given else np.nan for talk in ratings.talks]
        for scale in ratings.scales
    }


# -- as good as an expert among experts? -----------------------------------------------------------------------------


def rows_with_two(rater: str, own: Floats, experts: Mapping[str, Floats]) -> Floats:
    """One row a talk, for `kappa_with_two`: an expert beside the middle of the two others, everybody else beside the
    middle of each two of the three."""
    pairs = [[experts[one] for one in EXPERTS if one != out] for out in ([rater] if rater in EXPERTS else EXPERTS)]
    return np.hstack([pair_rows(own.tolist(), ((a + b) / 2).tolist()) for a, b in pairs])


def kappa_with_two(totals: Floats) -> Floats:
    """The mean kappa over distances of the pairs that a row holds."""
    return np.asarray(distance_kappa(totals.reshape(*totals.shape[:-1], -1, 6)).mean(axis=-1))


def _among_experts(ratings: Ratings, who: Raters) -> Table:
    """Kappa with two experts, scale by scale and in the median over scales; what an expert has with the two others is
    the mark to reach."""
    scales, talks = len(ratings.scales), len(next(iter(who.values()))[0])
    rows = {
        rater: [rows_with_two(rater, own[at], {one: who[one][at] for one in EXPERTS}) for at in range(scales)]
        for rater, own in who.items()
    }

    def median(totals: Floats) -> Floats:
        return np.asarray(np.nanmedian(kappa_with_two(totals.reshape(*totals.shape[:-1], scales, -1)), axis=-1))

    def estimate(name: str, own: Floats, statistic: Callable[[Floats], Floats]) -> Estimate:
        if talks < 2:
            return Estimate(name, None, talks)
        found = interval([own], lambda totals: statistic(totals[0]), totals=shared_totals([own], _DRAWS))
        return Estimate(name, found.value, talks, None, found.low, found.high)

    middle = {rater: estimate("median kappa", np.hstack(row), median) for rater, row in rows.items()}
    lines: list[tuple[Cell, ...]] = [
        (MODEL_NAMES.get(rater, rater), middle[rater], *(estimate("kappa", one, kappa_with_two) for one in rows[rater]))
        for rater in sorted(who, key=lambda rater: goodness(middle[rater].value, "higher"), reverse=True)
    ]
    columns = ("who", "median over scales", *(scale.replace("_", " ") for scale in ratings.scales))
    verdict = ""
    if JUDGE in rows and talks >= 2:
        width = rows[JUDGE][0].shape[1] * scales

        def behind(totals: Floats) -> Floats:
            own, *experts = np.split(totals, [width, width + 6 * scales, width + 12 * scales], axis=-1)
            return np.asarray(median(own) - np.min([median(expert) for expert in experts], axis=0))

        both = np.hstack([one for rater in (JUDGE, *EXPERTS) for one in rows[rater]])
        verdict = _verdict(estimate("difference", both, behind))
    note = (
        f"{verdict}Kappa over squared distances, with the middle of two experts: an expert with the two others, "
        f"everybody else with each two of the three, averaged. Intervals over the {talks} talks; a constant answer has "
        "0."
    )
    return Table("As good as an expert among experts?", columns, lines, note)


def _verdict(gap: Estimate) -> str:
    if gap.value is None or gap.low is None or gap.high is None:
        return ""
    said = f"{gap.value:+.2f} in median kappa, 95 % interval {gap.low:z.2f} to {gap.high:z.2f}"
    if gap.low >= 0:
        return f"Yes: the judge is not below the weakest expert ({said}). "
    if gap.high < 0:
        return f"No: the judge is below the weakest expert ({said}). "
    return f"Cannot say: the judge cannot be told from the weakest expert ({said}). "


# -- as a panel ------------------------------------------------------------------------------------------------------


def _as_a_panel(ratings: Ratings, who: Raters) -> Table:
    """All raters as one panel, on the mean of the scales from 0 to 100, more being better: how mild each is, what each
    does to the experts' agreement, and how many independent raters the others are worth with and without each."""
    low, high = ratings.framework.low, ratings.framework.high
    turned = np.array([scale in LESS_IS_BETTER for scale in ratings.scales])[:, None]
    shares = {rater: (own - low) / (high - low) for rater, own in who.items()}
    overall = {rater: 100 * np.where(turned, 1 - share, share).mean(axis=0) for rater, share in shares.items()}
    talks = len(next(iter(overall.values())))
    names = [MODEL_NAMES.get(rater, rater) for rater in who]
    whole = PanelRatings(np.column_stack(list(overall.values())), list(map(str, range(talks))), [_ARM] * talks, names)
    others = [rater for rater in who if rater not in EXPERTS]
    people = np.column_stack([overall[expert] for expert in EXPERTS])

    def worth(left_out: str = "") -> Estimate:
        kept = [rater for rater in others if rater != left_out]
        values = np.column_stack([overall[rater] for rater in kept])
        effective = effective_judges(PanelRatings(values, whole.prompts, whole.subjects, kept), people)
        return Estimate("worth", effective.value, effective.prompts, None, effective.low, effective.high, of="talks")

    def alpha(raters: Sequence[str]) -> Estimate:
        rows = np.hstack(
            [unit_rows([who[rater][at].tolist() for rater in raters]) for at in range(len(ratings.scales))]
        )

        def mean(totals: Sequence[Floats]) -> Floats:
            return np.asarray(np.nanmean(interval_alpha(totals[0].reshape(*totals[0].shape[:-1], -1, 4)), axis=-1))

        found = interval([rows], mean, totals=shared_totals([rows], _DRAWS))
        return Estimate("alpha", found.value, len(rows), None, found.low, found.high, of="talks")

    lines: list[tuple[Cell, ...]] = []
    for rater, severity in zip(who, pool(whole).severity, strict=True):
        expert = rater in EXPERTS
        among = [one for one in EXPERTS if one != rater] if expert else [*EXPERTS, rater]
        lines.append(
            (severity.name, structs.replace(severity, of="talks"), alpha(among), "" if expert else worth(rater))
        )
    columns = (
        "who",
        "mildness, points of 100",
        "experts' alpha with it, of an expert without",
        "others' worth without it",
    )
    together, agreed = worth(), alpha(EXPERTS)
    note = (
        f"The three experts' alpha (interval, mean over scales) is {estimate_text(agreed)}. The {len(others)} who are "
        f"no experts are worth {estimate_text(together)} independent raters, by errors against the experts' mean. "
        "Mildness: against the mean of all, on the mean of the scales."
    )
    return Table("Experts, crowd and models as one panel", columns, lines, note)
