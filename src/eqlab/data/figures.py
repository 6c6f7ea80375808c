"""The figures of the published EQ-Bench results, which ship with the package: what was read in every model's replies,
and the references. No dialogue and no reply: those are fetched (`eqlab data fetch eqbench`)."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import field
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import orjson
from msgspec import Struct

from eqlab.core.errors import DataError
from eqlab.core.values import dataclass

FILE = "eqbench_figures.json"
FORMAT = 1
PASSES = ("first", "revised")
_AGAIN = "The file is part of the package: install eqlab again."

Four = tuple[int, ...]
"""Intensities in the order of the question's words."""


class FigureReply(Struct, frozen=True):
    """What was read in one reply. All zeros are kept: whether they count is a rule of scoring."""

    first: Four | None
    revised: Four | None
    words: int
    """Length of the reply; 0 where the file has none."""
    first_more: bool = False
    revised_more: bool = False
    """Whether the pass holds pairs besides the four asked for, which the published code rejects."""
    refused: bool = False


@dataclass(frozen=True, slots=True)
class ModelFigures:
    """One result file."""

    model: str
    family: str
    """Which base model it descends from: relatives answer alike."""
    file: str
    """Where it is in the repository."""
    sha256: str
    completed: float
    """When the run ended, Unix time."""
    revised: bool
    """Whether any reply has a heading for revised scores."""
    iterations: tuple[tuple[FigureReply, ...], ...]
    """Per iteration one reply a question, in the order of the questions."""
    facts: Mapping[str, Any] = field(default_factory=dict)
    """What else the file says of itself, under its own names: engine, template, the score it recorded."""

    @property
    def date(self) -> str:
        return datetime.fromtimestamp(self.completed, UTC).strftime("%Y-%m-%d")


@dataclass(frozen=True, slots=True)
class FigureQuestion:
    id: str
    emotions: tuple[str, ...]
    reference: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Figures:
    repository: str
    commit: str
    licence: str
    """The licence of the repository, in full, as it asks for."""
    version: str
    language: str
    file: str
    """The question file in the repository."""
    sha256: str
    items_sha256: str
    """Identity of the item set in a run that asks these questions."""
    questions: tuple[FigureQuestion, ...]
    models: tuple[ModelFigures, ...]


@cache
def published_figures(only: tuple[str, ...] | None = None) -> Figures:
    """The shipped figures; with `only`, other models come without replies, which take longest."""
    return parse(Path(__file__).with_name(FILE).read_bytes(), only)


def parse(content: bytes, only: Collection[str] | None = None) -> Figures:
    try:
        body = orjson.loads(content)
        if body["format"] != FORMAT:
            raise ValueError(f"format {body['format']!r}, expected {FORMAT}")
        asked = body["questions"]
        questions = tuple(
            FigureQuestion(str(number), tuple(words), tuple(map(float, levels)))
            for number, words, levels in zip(asked["ids"], asked["emotions"], asked["references"], strict=True)
        )
        return Figures(
            questions=questions,
            models=tuple(
                _model(one if only is None or one["model"] in only else {**one, "iterations": ()}, questions)
                for one in body["models"]
            ),
            **{name: asked[name] for name in ("version", "language", "file", "sha256", "items_sha256")},
            **{name: body[name] for name in ("repository", "commit", "licence")},
        )
    except (KeyError, TypeError, ValueError) as error:
        raise DataError(f"{FILE} is broken ({type(error).__name__}: {error}).", _AGAIN) from error


def _model(body: Mapping[str, Any], questions: Sequence[FigureQuestion]) -> ModelFigures:
    return ModelFigures(
        iterations=tuple(_iteration(one, questions) for one in body["iterations"]),
        **{name: body[name] for name in ("model", "family", "file", "sha256", "completed", "revised", "facts")},
    )


def _iteration(body: Mapping[str, Any], questions: Sequence[FigureQuestion]) -> tuple[FigureReply, ...]:
    """Columns become replies. A pass that nobody gave is an empty column."""
    first, revised = (body[name] or [None] * len(questions) for name in PASSES)
    more = {name: set(body["more"][name]) for name in PASSES}
    refused = set(body["refused"])
    replies = []
    for question, one, other, words in zip(questions, first, revised, body["words"], strict=True):
        for read in (one, other):
            if read is not None and len(read) != len(question.emotions):
                raise ValueError(f"question {question.id} has {len(read)} numbers")
        replies.append(
            FigureReply(
                None if one is None else tuple(one),
                None if other is None else tuple(other),
                words,
                question.id in more["first"],
                question.id in more["revised"],
                question.id in refused,
            )
        )
    return tuple(replies)
