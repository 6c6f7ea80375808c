"""What other benchmarks say of the models that EQ-Bench was run on: 448 figures with the place where each stands, and
the scores of EQ-Bench's version 1, read off its chart. Compiled by us, and shipped: figures only."""

import csv
import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from eqlab.core.errors import DataError, UsageError
from eqlab.core.values import dataclass

LEADERBOARD, MAKER, ARENA, QUOTED = "leaderboard", "maker", "arena", "quoted"
FATHOM, HELM, HELM_MMLU = "GPT-Fathom", "HELM Classic", "HELM MMLU"
_KINDS = (
    (r"open-llm-leaderboard|hf_open_llm", LEADERBOARD),
    (r"^QwenLM/", MAKER),
    (r"leaderboard_table_|lmsys\.csv", ARENA),
    (r"^ryoungj/", QUOTED),
    (r"^GPT-Fathom/", FATHOM),
    (r"helm_classic", HELM),
    (r"helm_mmlu", HELM_MMLU),
)
REPORTED = (LEADERBOARD, MAKER, ARENA, QUOTED, FATHOM, HELM)
"""As reported: one evaluator for open models, makers' own figures for closed ones, and what else there is after
them."""
ARENA_V1, ARENA_V2, ARENA_EARLIER = "2023-12-06", "2024-02-07", "2023-11-16"
NAMES = {
    "mmlu": "MMLU",
    "arc": "ARC",
    "hellaswag": "HellaSwag",
    "truthfulqa": "TruthfulQA",
    "winogrande": "Winogrande",
    "gsm8k": "GSM8K",
    "mt-bench": "MT-bench",
    "elo": "Arena Elo",
}
"""The benchmarks by the names that a command takes."""
SNAPSHOTS = {"gpt-3.5-turbo-16k-0613": "gpt-3.5-turbo-0613", "gpt-3.5-turbo": "gpt-3.5-turbo-0613"}
"""Names of a snapshot that the sources know by another one."""
_SAME_AS = {"gpt-3.5-turbo-0613": "gpt-3.5-0613"}


@dataclass(frozen=True, slots=True)
class ExternalScore:
    model: str
    benchmark: str
    value: float
    source: str
    """Repository, commit and path."""
    date: str
    name_in_source: str
    same: bool
    """Whether the source speaks of the same version of the model."""

    @property
    def kind(self) -> str:
        """What sort of source it is."""
        return next((kind for pattern, kind in _KINDS if re.search(pattern, self.source)), "")


@dataclass(frozen=True, slots=True)
class FirstVersion:
    """A model's score in version 1 of EQ-Bench."""

    model: str
    score: float
    family: str
    """Whose weights it is made of."""


@cache
def external_scores() -> tuple[ExternalScore, ...]:
    return tuple(
        ExternalScore(
            row["model"],
            row["benchmark"],
            float(row["value"]),
            row["source"],
            row["date"],
            row["name_in_source"],
            row["match"] == "same",
        )
        for row in _table("external_scores.csv")
    )


@cache
def first_version() -> tuple[FirstVersion, ...]:
    rows = _table("eqbench_v1_scores.csv")
    return tuple(FirstVersion(row["model"], float(row["score"]), row["family"]) for row in rows)


def _table(name: str) -> list[dict[str, str]]:
    return list(csv.DictReader(Path(__file__).with_name(name).read_text(encoding="utf-8").splitlines()))


def benchmark_of(name: str) -> str:
    """The benchmark that a user means."""
    known = NAMES.get(name.casefold())
    if known is None and Path(name).suffix:
        if Path(name).exists():
            raise UsageError(f"--external takes a name, not the file {name}.", "Name the file first: correlate FILE …")
        raise DataError(f"There is no file {name}.", f"Name a file of scores, or one of {', '.join(NAMES)}.")
    if known is None:
        raise UsageError(f"No scores of '{name}' ship with eqlab.", f"There are: {', '.join(NAMES)}; or name a file.")
    return known


def values(
    benchmark: str, models: Sequence[str], order: Sequence[str] = REPORTED, arena: str = ARENA_V2
) -> dict[str, ExternalScore]:
    """The figure of each model that has one, from the first source of the order that does; of the arena's tables the
    one of this date."""
    by: dict[tuple[str, str], ExternalScore] = {}
    for score in external_scores():
        if score.benchmark == benchmark and score.same and (score.kind != ARENA or score.date == arena):
            by.setdefault((score.model, score.kind), score)
    found = {}
    for model in models:
        names = [model]
        if benchmark == "MMLU":  # knowledge is the snapshot's; a match in the arena is of the name
            names += [SNAPSHOTS.get(model, model), _SAME_AS.get(SNAPSHOTS.get(model, model), model)]
        there = (by[name, kind] for kind in order for name in names if (name, kind) in by)
        first = next(there, None)
        if first is not None:
            found[model] = first
    return found


def base_weights(model: str, family: str) -> str:
    """The weights that a model is made of, from its name and the family that the published figures give it: the two
    generations of Llama are two."""
    if family == "llama-70b" or (family == "llama" and re.search(r"llama-2|capybara", model, re.IGNORECASE)):
        return "Llama-2"
    return family


def families(models: Mapping[str, str]) -> dict[str, str]:
    """The base weights of each model, from the families of the published figures."""
    return {model: base_weights(model, family) for model, family in models.items()}
