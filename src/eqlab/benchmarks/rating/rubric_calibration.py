"""A judge's scales beside people's: bias, slope and agreement of every scale with intervals, how many human ratings are
still missing, and people and judge together where people rated some."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from eqlab.analysis.ppi import PpiMean, ppi_difference, ppi_mean
from eqlab.benchmarks.rating.calibration import (
    CEILING,
    Calibration,
    calibrate,
    pairs_of,
    still_missing,
    two_people,
)
from eqlab.benchmarks.rating.calibration_tables import REACHES, verdict
from eqlab.benchmarks.rating.judge_result import powered_arm
from eqlab.benchmarks.rating.rated import RatedReply
from eqlab.core.forms import Scale
from eqlab.core.results import Estimate, Table


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
        return min((one.pairs for one in self.found.values()), default=0)

    @property
    def headline(self) -> Estimate:
        """The scale on which the judge agrees least with people: a rubric is as good as its worst scale."""
        known = [
            replace(kappa, name=f"lowest {CEILING}", note=f"of {key}; the tables have all {len(self.scales)} scales")
            for key, one in self.found.items()
            if (kappa := one.measures[CEILING]).value is not None
        ]
        undefined = Estimate(CEILING, None, 0, note="no rating of the judge has a person's beside it")
        return min(known, key=lambda one: one.value or 0.0, default=undefined)

    @property
    def estimates(self) -> tuple[Estimate, ...]:
        return tuple(replace(one, name=f"{key}: {one.name}") for key, one in self._rows())

    def _rows(self) -> Iterator[tuple[str, Estimate]]:
        for key, own in self.found.items():
            yield key, replace(own.measures["mean difference"], name="bias, judge − people")
            yield key, replace(own.slope, name="slope of people on judge")
            for name, one in own.measures.items():
                if name != "mean difference":
                    yield key, one

    def sentence(self, judge: str) -> str:
        if not self.found:
            return f"{judge} gave no rating to calibrate with."
        said = []
        for key, one in self.found.items():
            kappa = one.measures[CEILING]
            bounds = "" if kappa.low is None else f" ({kappa.low:.2f} to {kappa.high:.2f})"
            said.append(f"{key} undefined" if kappa.value is None else f"{key} {kappa.value:.2f}{bounds}")
        return f"{judge}: agreement with people (quadratic kappa) is {', '.join(said)}."

    def size_rows(self, reaches: Sequence[float]) -> list[tuple[str | int | Estimate | None, ...]]:
        wanted = ("bias, judge − people", "slope of people on judge", CEILING)
        return [
            (key, one.name, one, *(still_missing(one, reach) for reach in reaches))
            for key, one in self._rows()
            if one.name in wanted
        ]


def calibrations(each: Mapping[str, Sequence[RatedReply]], scales: Sequence[Scale], judge: str) -> ScaleCalibrations:
    """`each`: the ratings on every scale, more being better."""
    found = {}
    for scale in scales:
        own = calibrate(pairs_of(each[scale.key]), judge, scale, two_people(each[scale.key], scale))
        if own is not None:
            found[scale.key] = own
    return ScaleCalibrations(found, tuple(scale.key for scale in scales))


def calibrated_tables(calibrated: ScaleCalibrations, reaches: Sequence[float] = REACHES) -> tuple[Table, ...]:
    if not calibrated.found:
        return ()
    rows: list[tuple[str | int | Estimate | None, ...]] = []
    by_arm: list[tuple[str | Estimate, ...]] = []
    for key, own in calibrated.found.items():
        for name, one in own.measures.items():
            if name != "mean difference":
                top = own.ceiling if name == CEILING else None
                rows.append((key, name, one, top, own.pairs, own.raters))
        by_arm += [(key, arm, one) for arm, one in own.bias.items()]
    return (
        Table(
            "Calibration: agreement with people",
            ("scale", "measure", "judge with people", "two people", "pairs", "raters"),
            tuple(rows),
            "Intervals: bootstrap over whole raters. Two people: of the same replies, where two rated one.",
        ),
        size_table(calibrated, reaches),
        Table(
            "Calibration: bias by whose replies",
            ("scale", "replies by", "judge − people, scale points"),
            tuple(by_arm),
            "A judge that agrees with people as they agree with each other can still favour one model.",
        ),
    )


def size_table(calibrated: ScaleCalibrations, reaches: Sequence[float]) -> Table:
    return Table(
        "Calibration: bias, slope, and what is missing",
        ("scale", "measure", "value", *(f"human ratings still missing for ±{reach:g}" for reach in reaches)),
        tuple(calibrated.size_rows(reaches)),
        "Slope 1: a point of the judge's is a point of people's; 0: it says nothing of people. Errors shrink with the "
        "root of the number of raters, each rating as many replies as now.",
    )


def missing_note(calibrated: ScaleCalibrations, *, calibrating: bool) -> tuple[str, ...]:
    lacking = [key for key in calibrated.scales if key not in calibrated.found]
    if calibrating and lacking and calibrated.found:
        return (f"People rated nothing on {', '.join(lacking)}: there the judge is not calibrated.",)
    if not calibrating and calibrated.found:
        said = " ".join(f"{key}: {verdict(one)}" for key, one in calibrated.found.items())
        return (f"On what people have rated too. {said}",)
    return ()


def people_tables(
    each: Mapping[str, Sequence[RatedReply]], scales: Sequence[Scale], arms: Sequence[str]
) -> tuple[Table, ...]:
    """Prediction-powered means and differences in people's scale points, scale by scale."""
    means: list[tuple[str | int | float | Estimate | None, ...]] = []
    gaps: list[tuple[str | int | float | Estimate | None, ...]] = []
    for scale in scales:
        own = {arm: powered_arm(each[scale.key], arm, lambda value: float(value or 0)) for arm in arms}
        for arm, data in own.items():
            if data is None:
                continue
            mean = ppi_mean(
                data.human,
                data.judge,
                data.judge_only,
                clusters=data.raters,
                prompts=data.prompts,
                judge_clusters=data.judge_prompts,
            )
            name = f"{scale.key} among people, {arm}"
            means.append((scale.key, arm, _estimate(name, mean), mean.human_only, mean.n_judged, mean.gain))
        for reference, arm in combinations(arms, 2):
            one, other = own[arm], own[reference]
            if one is not None and other is not None:
                gap = ppi_difference(one, other)
                name = f"{scale.key} among people, {arm} − {reference}"
                gaps.append((scale.key, arm, reference, _estimate(name, gap), gap.human_only, gap.gain))
    if not means:
        return ()
    note = (
        "Valid for people's mean if the replies that people rated are a random part of all. Gain below 1: use people."
    )
    found = [
        Table(
            "People and judge together (prediction-powered inference)",
            ("scale", "replies by", "mean among people", "people alone", "judged only", "gain"),
            tuple(means),
            note,
        )
    ]
    if gaps:
        found.append(
            Table(
                "People and judge together: differences",
                ("scale", "replies by", "against", "difference", "people alone", "gain"),
                tuple(gaps),
                "Each pair by itself. Gain below 1: the judge adds more noise than it takes away; use people alone.",
            )
        )
    return tuple(found)


def _estimate(name: str, found: PpiMean) -> Estimate:
    return Estimate(name, found.value, found.n_rated, found.se, found.low, found.high, "points")
