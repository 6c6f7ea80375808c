"""How the situations of the published study changed its people's mood (Positive − Negative Affect), by factor: people,
mean change, standard deviation. Figures computed from the raw answers, so that any run can be set beside them."""

import math
from collections.abc import Mapping

from eqlab.core.results import Estimate

Figures = tuple[int, float, float]

PEOPLE_MOODS: Mapping[str, tuple[Figures, ...]] = {
    "Anger": (
        (35, -10.6857, 13.8198),
        (35, -23.3143, 13.7301),
        (35, -9.1143, 10.7915),
        (35, -18.8286, 12.2726),
        (37, -13.7297, 14.4177),
    ),
    "Anxiety": (
        (36, -17.6944, 16.0157),
        (35, -12.2571, 15.7374),
        (36, -9.8333, 12.3993),
        (36, -4.4444, 10.2719),
    ),
    "Depression": (
        (36, -22.1389, 16.7522),
        (39, -11.3333, 10.9625),
        (39, -14.3846, 14.2416),
        (35, -27.0000, 16.4066),
        (35, -20.2857, 17.3062),
        (37, -7.1081, 14.0728),
    ),
    "Frustration": (
        (35, -19.0286, 13.5288),
        (36, -17.8056, 13.7255),
        (36, -13.9444, 13.5392),
        (37, -14.1081, 13.3391),
    ),
    "Jealousy": (
        (36, -16.6667, 12.8085),
        (35, -6.1429, 20.0575),
        (16, -12.5000, 9.2664),
        (22, -6.2727, 15.6758),
    ),
    "Guilt": (
        (36, -21.2500, 16.5864),
        (36, -18.5556, 15.5370),
        (37, -22.6216, 14.1526),
        (37, -16.9459, 14.7892),
    ),
    "Fear": (
        (35, -15.6286, 13.9307),
        (36, -20.6111, 16.1869),
        (36, -14.0278, 12.9714),
        (36, -18.9722, 13.2222),
        (39, -9.9231, 13.7619),
    ),
    "Embarrassment": (
        (36, -16.4722, 11.5523),
        (36, -16.8056, 12.9169),
        (37, -13.7838, 12.2137),
        (35, -22.2000, 16.2260),
    ),
}
"""1,266 people, each measured before and after one negative situation; by emotion, factors in the study's order."""

ORDER = Estimate(
    "mood before above mood after a negative situation",
    80.5836,
    1266,
    0.7411,
    79.0883,
    81.9963,
    "%",
    digits=1,
    of="people",
)
"""The only pair of kinds that people of the study have: nothing has happened yet, and something bad."""


def drawn(figures: Mapping[str, tuple[Figures, ...]]) -> tuple[list[float], list[str]]:
    """Values, and the factor of each, with exactly these n, means and deviations. Profile and movement depend on
    nothing else, so they are what the raw answers give."""
    values, factors = [], []
    for emotion, rows in figures.items():
        for index, (n, mean, sd) in enumerate(rows):
            far = sd * math.sqrt((n - 1) / 2)
            values += [mean - far, mean + far, *[mean] * (n - 2)]
            factors += [f"{emotion}-{index}"] * n
    return values, factors
