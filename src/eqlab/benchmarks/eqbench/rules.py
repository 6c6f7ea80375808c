"""Every switch of EQ-Bench in one value, so that a score always says under which rules it was made.

The published code and the published leaderboard disagree in two of them: the leaderboard's numbers come out only
if pairs with other names are ignored and a difference of exactly five counts five."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class EqBenchRules:
    name: str
    parser: Literal["names", "strict"]
    """`strict`: exactly four pairs, all asked for, as published. `names`: pairs with other names are ignored."""
    five: Literal["linear", "curve"]
    """What a difference of exactly 5 costs: 5 (leaderboard) or 4.995, the curve's value (published code)."""
    missing: Literal["omit", "zero"] = "omit"
    """Unparseable questions are left out of the mean, or count 0 (as later lm-evaluation-harness versions do)."""
    zero_gate: bool = True
    """Four zeros are no answer: the v1 score, which gates v2 too, cannot be computed for them."""
    revised_share: float = 0.95
    """The revised scores count only if at least this share of the first-pass questions has them."""
    min_parseable: float = 0.8333
    """A run with a smaller share of readable answers is marked as failed."""
    tries: int = 3
    temperature: float = 0.01
    temperature_step: float = 0.15
    """Added after a reply that could not be read, so that the next try can differ."""
    tokens_plain: int = 256
    tokens_revision: int = 1000


PRESETS: dict[str, EqBenchRules] = {
    "leaderboard": EqBenchRules("leaderboard", parser="names", five="linear"),
    "published-code": EqBenchRules("published-code", parser="strict", five="curve", tokens_plain=60),
}
