"""Why a printed number of EmotionBench (arXiv 2308.03656) differs from what its raw data give. Found by recomputing;
"unexplained" is said where no cause was found."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

UNEXPLAINED = "differs from the paper; no explanation known"


@dataclass(frozen=True, slots=True)
class Slip:
    """An error in print and the cells it touches; an empty field stands for any."""

    source: str
    text: str
    questionnaire: str = "PANAS"
    subscale: str = ""
    levels: tuple[str, ...] = ()
    emotion: str = ""
    factors: tuple[int, ...] = ()
    """1-based; only cells of these factors."""

    def covers(self, row: Mapping[str, Any], factor: int | None) -> bool:
        return (
            self.source == row["source"]
            and self.questionnaire == row["questionnaire"]
            and self.subscale in ("", row["subscale"])
            and (not self.levels or row["level"] in self.levels)
            and self.emotion in ("", row["emotion"])
            and (not self.factors or factor in self.factors)
        )


_SUMMARY_SHEET = "the workbook's Summary sheet has the printed value, but its own raw rows give another; unexplained"
_MISPRINT = "misprint"

SLIPS: tuple[Slip, ...] = (
    Slip(
        "human",
        "the SD printed for the default (8.7) is that of the evoked scores (8.67); the default's is 8.88",
        subscale="Positive Affect",
        levels=("default",),
    ),
    Slip(
        "human",
        "rows displaced in the printed table, and the arrow went with the displaced value; factor 2 is not significant",
        subscale="Negative Affect",
        emotion="Jealousy",
        factors=(2,),
    ),
    Slip(
        "human",
        "rows displaced in the printed table: row 1 repeats the emotion's average, row 2 has the values of factor 1, "
        "those of factor 2 are nowhere",
        levels=("factor",),
        factors=(1, 2),
    ),
    Slip("human", _SUMMARY_SHEET, levels=("emotion",), emotion="Guilt"),
    Slip("human", _SUMMARY_SHEET, levels=("factor",), emotion="Guilt", factors=(4,)),
    Slip(
        "human",
        "misprint; the printed average of Depression follows from the recomputed value",
        subscale="Negative Affect",
        emotion="Depression",
        factors=(5,),
    ),
    Slip("human", _MISPRINT, subscale="Negative Affect", emotion="Anger", factors=(4,)),
    Slip(
        "mixtral-8x22b",
        "the paper subtracted LLaMA-3.1's default (48.2 / 33.0) instead of Mixtral's own",
        emotion="Guilt",
    ),
    Slip(
        "mixtral-8x22b",
        "the paper used LLaMA-3.1's evoked answers with Mixtral's default",
        levels=("factor",),
        emotion="Depression",
        factors=(4, 5, 6),
    ),
    Slip(
        "mixtral-8x22b",
        "follows from LLaMA-3.1's answers that stand in for Mixtral's in Depression 4 to 6",
        levels=("emotion",),
        emotion="Depression",
    ),
    Slip(
        "mixtral-8x22b",
        "follows from LLaMA-3.1's answers that stand in for Mixtral's in Depression 4 to 6",
        levels=("overall",),
    ),
    Slip("gpt-3.5-turbo", _MISPRINT, subscale="Positive Affect", emotion="Depression", factors=(4,)),
    Slip("llama2-7b", _MISPRINT, subscale="Positive Affect", emotion="Anxiety", factors=(2,)),
    Slip("llama2-7b", _MISPRINT, subscale="Positive Affect", emotion="Fear", factors=(2,)),
    Slip("llama2-7b", _MISPRINT, subscale="Negative Affect", emotion="Frustration", factors=(1,)),
    Slip(
        "llama2-13b",
        "misprint: the arrow points against the printed (and right) value",
        subscale="Negative Affect",
        levels=("emotion",),
        emotion="Embarrassment",
    ),
    Slip("llama2-13b", "unexplained", levels=("emotion",), emotion="Frustration"),
    Slip("llama2-13b", "unexplained", subscale="Positive Affect", levels=("emotion",), emotion="Anxiety"),
    Slip(
        "gpt-3.5-turbo",
        "unexplained; the six printed factor values average to the recomputed one",
        questionnaire="BDI",
        levels=("emotion",),
    ),
    Slip("gpt-3.5-turbo", "the minus sign was lost in print", questionnaire="DASS-21", factors=(3,)),
    Slip("gpt-3.5-turbo", "the sign is the other way round in print", questionnaire="GASP", factors=(2,)),
    Slip("gpt-3.5-turbo", "unexplained", questionnaire="MJS", factors=(1, 2)),
    Slip("gpt-3.5-turbo", "unexplained", questionnaire="MJS", levels=("emotion",)),
)


def explanation(row: Mapping[str, Any], factor: int | None) -> str:
    """Why this cell differs from print; `factor` is the factor's number from 1."""
    return next((slip.text for slip in SLIPS if slip.covers(row, factor)), UNEXPLAINED)
