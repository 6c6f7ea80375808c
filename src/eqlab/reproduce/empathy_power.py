"""The study's power calculation, reproduced, and what it should have been. Keys are those of the golden file."""

from collections.abc import Mapping
from typing import Any

from eqlab.analysis.contingency import chi_square
from eqlab.analysis.ordinal import OrdinalFit
from eqlab.analysis.power import (
    PowerComponents,
    anova_n,
    chi_square_n,
    chi_square_power,
    log_odds_for_gap,
    minimum_gap,
    raters_per_arm,
    simulate_power,
    smallest_w,
)

_W, _GROUPS, _RATINGS, _EMOTIONS = 0.3, 5, 3, 32
_PER_RATER, _RATERS = 10, 200


def power_json(groups: Mapping[str, Any], effects: Mapping[str, float], crossed: OrdinalFit) -> dict[str, Any]:
    """`groups` are the five groups' counts of Good, `effects` the public arms' design effects of Good."""
    printed = chi_square_n(_W, (_GROUPS - 1) * (_RATINGS - 1))
    sizes = printed.n, printed.per_group(_GROUPS), printed.per_group(_GROUPS, times=2)
    three = chi_square_n(_W, (3 - 1) * (_RATINGS - 1))
    n = groups["human"]["good"] + groups["human"]["not_good"]
    overall = chi_square([(groups[name]["good"], groups[name]["not_good"]) for name in ("human", "GPT-4")])
    w = round(overall.cohen_w, 3) if overall else 0.0
    per_emotion = n / _EMOTIONS
    return {
        "published": {
            "text": (
                "chi-square test of independence, medium effect 0.3, alpha .05, power .95 -> minimal total N 253, "
                "at least 51 per group; 102 per group for the positive/negative split"
            ),
            "tool": "G*Power",
        },
        "reproduced": {
            "w": printed.w,
            "alpha": printed.alpha,
            "power": printed.power,
            "df": printed.df,
            "df_from": "(5 groups-1)*(3 ratings-1)",
            "lambda": printed.noncentrality,
            "N_exact": printed.n_exact,
            "N": printed.n,
            "per_group": sizes[1],
            "per_group_if_doubled_for_valence": sizes[2],
            "achieved_power_at_N": chi_square_power(_W, printed.n, printed.df),
            "verdict": "match" if sizes == (253, 51, 102) else "differs",
        },
        "same_inputs_for_3_groups_df4": {"lambda": three.noncentrality, "N": three.n, "per_group": three.per_group(3)},
        "pairwise_df2": {"N": chi_square_n(_W, 2).n},
        "good_vs_rest_df1": {"N": chi_square_n(_W, 1).n},
        "anova_alternative": {"f=0.25,k=3": anova_n(0.25, 3), "f=0.25,k=5": anova_n(0.25, 5)},
        "smallest_w_detectable": {
            "N=10000 ratings, df8": smallest_w(10000, 8),
            "N=1000 raters, df8": smallest_w(1000, 8),
            "N=6000 ratings, df4": smallest_w(6000, 4),
        },
        "caveat": (
            "G*Power's N counts independent observations. Ten ratings of one rater are not independent, so the "
            "effective N is ratings/deff; the number of raters is the conservative count."
        ),
        "per_emotion": {
            "n_per_group": per_emotion,
            "power_good_vs_rest_w.3_df1_N125": chi_square_power(_W, 2 * per_emotion, 1),
            "power_w.15 (about the overall effect)": chi_square_power(w, 2 * per_emotion, 1),
        },
        "clustered_two_arm (10 ratings per rater)": _clustered(groups, effects, n),
        "simulated_two_arm": _simulated(crossed, n, groups),
    }


def _clustered(groups: Mapping[str, Any], effects: Mapping[str, float], n: int) -> dict[str, Any]:
    effect = (effects["human"] + (effects["chatgpt"] + effects["chatgpt_empathy"]) / 2) / 2
    human = groups["human"]["good"] / n
    needed = {}
    for name in ("Gemini", "Mixtral", "LLaMA-2", "GPT-4"):
        other = groups[name]["good"] / n
        needed[f"{100 * human:g}% vs {100 * other:g}%"] = {
            f"power {power}": raters_per_arm(
                human, other, design_effect=effect, ratings_per_rater=_PER_RATER, power=power
            )
            for power in (0.8, 0.95)
        }
    return {
        "deff": effect,
        "raters_per_arm": needed,
        "minimum_detectable_difference_at_200_raters_per_arm_80pct": minimum_gap(
            human, _RATERS, design_effect=effect, ratings_per_rater=_PER_RATER
        ),
    }


def _simulated(crossed: OrdinalFit, n: int, groups: Mapping[str, Any]) -> dict[str, Any]:
    """From the mixed model's variance components: the power that 200 raters per group had. The threshold is moved so
    that the reference has the observed share of Good, not the model's, which bends to proportional odds."""
    fitted = PowerComponents((crossed.coefficients["2|3"].est,), crossed.sd["rater"], crossed.sd["item"])
    human = groups["human"]["good"] / n
    top = fitted.thresholds[-1] - log_odds_for_gap(fitted, human)
    parts = PowerComponents((top,), fitted.sd_rater, fitted.sd_prompt)
    found = {}
    for name in ("Gemini", "GPT-4"):
        shift = log_odds_for_gap(parts, groups[name]["good"] / n)
        power = simulate_power(parts, shift, raters=_RATERS, studies=500)
        found[f"human vs {name}"] = {
            "p_reference": power.p_reference,
            "p_other": power.p_other,
            "log_odds": shift,
            "power": power.power,
            "low": power.low,
            "high": power.high,
        }
    return {"raters_per_arm": _RATERS, "ratings_per_rater": _PER_RATER, **found}
