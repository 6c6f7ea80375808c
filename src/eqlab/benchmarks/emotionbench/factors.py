"""The study's map: eight emotions and their 36 factors, in the order of its files, and the two kinds of control."""

from typing import Literal

Kind = Literal["negative", "neutral", "positive"]
KINDS: tuple[Kind, ...] = ("negative", "neutral", "positive")

FACTORS: dict[str, tuple[str, ...]] = {
    "Anger": (
        "Facing Self-Opinioned People",
        "Blaming, Slandering, and Tattling",
        "Bullying, Teasing, Insulting, and Disparaging",
        "Silly and Thoughtless Behaviors",
        "Driving Situations",
    ),
    "Anxiety": (
        "External Factors",
        "Self-Imposed Pressure",
        "Personal Growth and Relationships",
        "Uncertainty and Unknowns",
    ),
    "Depression": (
        "Failure of Important Goals",
        "Death of Loved Ones",
        "Romantic Loss",
        "Chronic Stress",
        "Social Isolation",
        "Winter",
    ),
    "Frustration": (
        "Disappointments and Letdowns",
        "Unforeseen Obstacles and Accidents",
        "Miscommunications and Misunderstanding",
        "Rejection and Interpersonal Issues",
    ),
    "Jealousy": (
        "Romantic (Opposite Gender)",
        "Romantic (Same Gender)",
        "Material Possession",
        "Experiential",
    ),
    "Guilt": (
        "Betrayal and Deception",
        "Relationship and Interpersonal",
        "Broken Promises and Responsibilities",
        "Personal and Moral",
    ),
    "Fear": (
        "Social Fears",
        "Agoraphobia Fears",
        "Injury Fears",
        "Dangerous Environments",
        "Harmless Animals",
    ),
    "Embarrassment": (
        "Intimate",
        "Stranger",
        "Sticky Scenarios",
        "Centre of Attention",
    ),
}
EMOTIONS = tuple(FACTORS)
CONTROLS: dict[str, Kind] = {"Neutral": "neutral", "Positive": "positive"}
"""The two names that controls have in the place of an emotion."""


def kind_of(emotion: str) -> Kind:
    return CONTROLS.get(emotion, "negative")


def factor_name(emotion: str, index: int) -> str:
    """The name of a factor; a number the study does not know keeps its number."""
    names = FACTORS.get(emotion, ())
    return names[index] if index < len(names) else f"{emotion}-{index + 1}"
