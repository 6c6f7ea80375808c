"""The published tables, recomputed from the published raw data, with every difference explained: each study is a module
with a `STUDY`, most of it a table of claims (`claims.py`)."""

from importlib import import_module
from typing import TYPE_CHECKING

from eqlab.core.errors import UsageError

if TYPE_CHECKING:
    from eqlab.reproduce.claims import Study

STUDIES = (
    "eqbench",
    "emotionbench",
    "empathy",
    "sage",
    "short-forms",
    "kumar",
    "culemo",
    "tombench",
    "eqbench-mmlu",
    "seceu",
    "no-skill",
)


def load(name: str) -> "Study":
    if name not in STUDIES:
        raise UsageError(f"There is no study '{name}'.", f"There are: {', '.join(STUDIES)}.")
    study: Study = import_module(f"eqlab.reproduce.{name.replace('-', '_')}").STUDY
    return study
