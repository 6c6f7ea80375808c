"""Simulations of what is said of items, short forms and shares, for claims.py."""

import math
from typing import Any

import numpy as np
import numpy.typing as npt
from claims_tables import Rows, mean, share, show

Floats = npt.NDArray[np.float64]
Random = np.random.Generator


# ---------------------------------------------------------------- items between groups


def _subjects(random: Random, people: int, each: int, models: int, items: int, planted: float) -> tuple[Floats, Any]:
    """Models answer all items and are 12 points better; people answer some. Items differ in their slopes."""
    slope = random.uniform(0.5, 1.5, items)
    ability = np.concatenate([random.normal(-12, 8, people), random.normal(0, 8, models)])
    table = random.normal(60, 10, items) + np.outer(ability, slope) + random.normal(0, 10, (people + models, items))
    table[:people, 0] += planted
    for person in range(people):
        table[person, random.permutation(items)[each:]] = np.nan
    return table, ["people"] * people + ["models"] * models


def groups(times: int) -> None:
    from eqlab.analysis.item_quality import against, differential

    rows = Rows()
    for people, each, models in ((40, 10, 25), (200, 3, 25), (200, 10, 25), (60, 40, 60)):
        random = np.random.default_rng(people)
        counts = np.zeros((2, 2))
        tested = flagged = seen = 0
        for _ in range(times):
            table, labels = _subjects(random, people, each, models, 40, 0.0)
            for row, way in enumerate((differential, against)):
                found = way(table, labels, "people", "models")
                counts[row] += sum(one.p < 0.05 for one in found), any(one.p_adjusted < 0.05 for one in found)
            tested += len(found)
            table, labels = _subjects(random, people, each, models, 40, 15.0)
            own = [one for one in against(table, labels, "people", "models") if one.item == 0]
            seen += len(own)
            flagged += sum(one.p_adjusted < 0.05 for one in own)
        rows.append(
            (f"{people} people, {each} of 40 items each", models, share(counts[0, 0], tested),
             share(counts[1, 0], tested), share(counts[1, 1], times), share(flagged, seen))
        )  # fmt: skip
    show(
        f"Items between people and models who differ by 12 points of ability, {times} tables a row",
        ("people", "models", "false p < .05, covariance analysis", "… slope of the models",
         "any item flagged after correction", "an item off by 15 points is flagged"),
        rows,
    )  # fmt: skip


# ---------------------------------------------------------------- equating


def equating(times: int) -> None:
    from eqlab.analysis.equating import equate

    rows = Rows()
    for models in (8, 20, 50):
        random = np.random.default_rng(models)
        slope = shift = alarms = found_it = 0
        for _ in range(times):
            ability = random.normal(60, 10, models)
            first = ability[:, None] + random.normal(0, 10, 60) + random.normal(0, 20, (models, 60))
            second = (
                65 + 1.2 * (ability - 60)[:, None] + random.normal(0, 10, 171) + random.normal(0, 20, (models, 171))
            )
            names = [f"m{k}" for k in range(models)]
            one = equate(first, second, names, draws=300)
            slope += one.slope_low <= 1.2 <= one.slope_high
            shift += one.shift_low <= 5.0 <= one.shift_high
            alarms += any(own.p_holm < 0.05 for own in one.models)
            second[0] += 15.0
            found_it += equate(first, second, names, draws=10).models[0].p_holm < 0.05
        rows.append((models, *(share(hits, times) for hits in (slope, shift, alarms, found_it))))
    show(
        f"Equating 60 to 171 items through models that answered both: {times} worlds a row",
        ("models", "interval holds the slope", "interval holds the shift", "an honest model is suspected",
         "15 points too many are found"),
        rows,
    )  # fmt: skip


def _board() -> tuple[list[str], Floats]:
    """The published models and their points, 0 to 10, on every question."""
    from eqlab.runs.published_results import PublishedReader

    found = {
        one.model: {item.item: item.points for item in one.result.items} for one in PublishedReader(None).results()
    }
    items = sorted({item for own in found.values() for item in own})
    points = [[np.nan if own.get(item) is None else own[item] for item in items] for own in found.values()]
    return list(found), np.array(points, dtype=float) / 10


def halves(times: int) -> None:
    """The published board split at random: both parts are of one kind, so the line is the identity and nobody knows one
    part better; then 15 points are given to one model on the second."""
    from eqlab.analysis.equating import equate

    names, table = _board()
    random = np.random.default_rng(0)
    slopes: list[float] = []
    held = shift = alarms = found_it = 0
    for number in range(times):
        order = random.permutation(table.shape[1])
        first, second = 10 * table[:, order[:60]], 10 * table[:, order[60:]]
        one = equate(first, second, names, draws=300)
        slopes.append(one.slope)
        held += one.slope_low <= 1 <= one.slope_high
        shift += one.shift_low <= 0 <= one.shift_high
        alarms += any(own.p_holm < 0.05 for own in one.models)
        cheat = number % len(names)
        second[cheat] += 15.0
        found_it += equate(first, second, names, draws=30).models[cheat].p_holm < 0.05
    rows = Rows()
    rows.append((len(names), mean(slopes), *(share(hits, times) for hits in (held, shift, alarms, found_it))))
    show(
        f"Equating 60 questions of the published board to its other 111, {times} splits",
        ("models", "slope", "its interval holds 1", "interval holds no shift", "somebody is suspected",
         "15 points too many are found"),
        rows,
    )  # fmt: skip


# ---------------------------------------------------------------- short forms


def short(times: int) -> None:
    """The published points, items split in two: forms and intervals are learned on one half, whole families held out;
    the first interval must hold the score on that half, the second (with the other half's own error) that on the
    other."""
    from scipy.special import stdtrit

    from eqlab.analysis.item_response import factors, fixed, leave_out
    from eqlab.reproduce.eqbench import family

    names, table = _board()
    families = [family(model) for model in names]
    rows = Rows()
    for size in (20, 40):
        random = np.random.default_rng(size)
        full = others = n = 0
        wide: list[float] = []
        for _ in range(times):
            order = random.permutation(table.shape[1])
            half, rest = np.sort(order[:86]), np.sort(order[86:])
            (held,) = leave_out(table[:, half], families, [fixed(size)])
            reach = factors([held], families, 0.95)
            for row, name in enumerate(families):
                first = reach[name] * held.sd[row]
                own = table[row, half]
                own = own[np.isfinite(own)]
                sampling = float(stdtrit(size - 1, 0.975) * own.std(ddof=1)) / math.sqrt(len(half))
                other = table[row, rest][np.isfinite(table[row, rest])]
                noise = 1.96 * float(other.std(ddof=1)) / math.sqrt(len(other))
                full += abs(held.guess[row] - held.full[row]) <= first
                others += abs(held.guess[row] - other.mean()) <= math.hypot(first, sampling, noise)
                wide.append(20 * first)
                n += 1
        rows.append((size, share(full, n), share(others, n), mean(wide)))
    show(
        f"Short forms of one half of the questions, families held out, {times} splits × {len(names)} models a row",
        ("questions asked, of 86", "prediction holds the 86's score", "sampling holds the other 85's", "width"),
        rows,
    )


# ---------------------------------------------------------------- shares of clustered answers; the default's error


def shares(times: int) -> None:
    from eqlab.analysis.intervals import clustered_share, proportion_estimate

    rows = Rows()
    for p, alike in ((0.95, 0.0), (0.95, 0.5), (0.8, 0.5), (0.5, 0.9)):
        for items, repeats in ((20, 5), (60, 5), (171, 3)):
            random = np.random.default_rng(items)
            plain = honest = 0
            for _ in range(times):
                level = np.full(items, p)
                if alike:
                    worth = 1 / alike - 1
                    level = random.beta(p * worth, (1 - p) * worth, items)
                hits = (random.random((items, repeats)) < level[:, None]).ravel()
                one = proportion_estimate("", int(hits.sum()), len(hits))
                plain += (one.low or 0) <= 100 * p <= (one.high or 0)
                one = clustered_share("", hits.tolist(), np.repeat(np.arange(items), repeats).tolist())
                honest += (one.low or 0) <= 100 * p <= (one.high or 0)
            rows.append((f"{100 * p:.0f} %", alike, items, repeats, share(plain, times), share(honest, times)))
    show(
        f"Shares of answers to repeated items: how often the interval holds, {times} runs a row",
        ("true share", "likeness of repeats (ICC)", "items", "repeats", "answers as units (0.1)", "items as units"),
        rows,
    )


def default(times: int) -> None:
    from eqlab.benchmarks.emotionbench.measures import DEFAULT, MeasurePlace, Measures
    from eqlab.benchmarks.emotionbench.moods import (
        MARGIN,
        NEGATIVE,
        POSITIVE,
        align,
        combine,
        mood_changes,
        right_shares,
    )

    counts, names = {"negative": 108, "neutral": 24, "positive": 24}, _emotions()
    rows = Rows()
    for defaults, spread in ((5, 2.0), (10, 4.0), (10, 8.0)):
        random = np.random.default_rng(defaults)
        before = after = 0
        middles = {"negative": -8.0, "neutral": 0.0, "positive": 8.0}
        truth = 50 * (
            _below(-MARGIN, middles["negative"]) + _below(MARGIN, 0.0) - _below(-MARGIN, 0.0)
            + 1 - _below(MARGIN, middles["positive"]) - 1
        )  # fmt: skip
        for _ in range(times):
            places, where, moods = [], [], []
            for kind, count in counts.items():
                for number in range(count):
                    places.append(MeasurePlace(names[kind], 0, "f", f"{kind} {number}"))
                    where.append(len(places) - 1)
                    moods.append(5 + middles[kind] + random.normal(0, 6))
            own = 5 + random.normal(0, spread, defaults)
            mood = np.concatenate([moods, own])
            measures = Measures(
                "s", "PANAS", tuple(places), np.array([*where, *[DEFAULT] * defaults]),
                {POSITIVE: mood, NEGATIVE: np.zeros(len(mood))},
            )  # fmt: skip
            plain = combine(right_shares(measures, mood_changes(measures)))
            before += (plain.low or -99) <= truth <= (plain.high or 999)
            one = align(measures).headline
            after += (one.low or -99) <= truth <= (one.high or 999)
        rows.append((defaults, spread, share(before, times), share(after, times)))
    show(
        f"Alignment: how often the interval holds, {times} subjects a row",
        ("default runs", "SD of default runs", "default taken as known (0.1)", "with the default's error"),
        rows,
    )


def kappa(times: int) -> None:
    from eqlab.analysis.agreement import confusion, printed_kappa, quadratic_kappa

    rows = Rows()
    for r in (0.2, 0.35, 0.6):
        random = np.random.default_rng(int(100 * r))
        truth = float(quadratic_kappa(confusion(*_two_raters(random, r, 400_000))))
        for n in (50, 100, 400):
            held = 0
            for _ in range(times):
                low, high = printed_kappa(float(quadratic_kappa(confusion(*_two_raters(random, r, n)))), n)
                held += low <= truth <= high
            rows.append((f"{truth:.2f}", n, share(held, times)))
    show(
        f"A printed kappa, its interval from the number of pairs alone: how often it holds, {times} pilots a row",
        ("true kappa", "pairs", "held"),
        rows,
    )


def _two_raters(random: Random, r: float, n: int) -> tuple[Any, Any]:
    """Bad, Okay, Good in the shares of the published ratings."""
    latent = random.normal(0, 1, (n, 2)) @ np.linalg.cholesky([[1, r], [r, 1]]).T
    one, other = (1 + (latent[:, k] > -1.0).astype(int) + (latent[:, k] > -0.1) for k in (0, 1))
    return one, other


def _below(x: float, middle: float) -> float:
    return 0.5 * (1 + math.erf((x - middle) / 6 / math.sqrt(2)))


def _emotions() -> dict[str, str]:
    """An emotion of each kind of situation."""
    from eqlab.benchmarks.emotionbench.measures import CONTROLS, EMOTIONS, kind_of

    found: dict[str, str] = {}
    for name in (*EMOTIONS, *CONTROLS):
        found.setdefault(kind_of(name), name)
    return found


def families(times: int) -> None:
    """A correlation over models in families: models as units (Fisher), and whole families left out in turn."""
    from eqlab.analysis.correlation import grouped_r
    from eqlab.analysis.intervals import fisher

    rows = Rows()
    truth = 0.7
    spread = np.linalg.cholesky([[1.0, truth], [truth, 1.0]]).T
    for count, size in ((3, 4), (6, 2), (5, 5), (10, 4)):
        for alike in (0.3, 0.6, 0.9):
            random = np.random.default_rng(100 * count + size)
            alone = together = 0
            group = np.repeat(np.arange(count), size)
            for _ in range(times):
                family = random.normal(size=(count, 2)) @ spread * math.sqrt(alike)
                x, y = (family[group] + random.normal(size=(len(group), 2)) @ spread * math.sqrt(1 - alike)).T
                bounds = fisher(float(np.corrcoef(x, y)[0, 1]), len(x))
                alone += (bounds[0] or 0.0) <= truth <= (bounds[1] or 0.0)
                found = grouped_r("r", x, y, group)
                together += found.low is not None and found.high is not None and found.low <= truth <= found.high
            rows.append((count * size, count, f"{alike:.1f}", share(alone, times), share(together, times)))
    show(
        f"A correlation of .7 over models in families: how often the interval holds, {times} worlds a row",
        ("models", "families", "likeness within a family (ICC)", "models as units", "families as units"),
        rows,
    )
