"""Make the figures of the published EQ-Bench results that ship with the package, from the published files.

EQLAB_DATA=DIR python bench/published_figures.py            write src/eqlab/data/eqbench_figures.json
EQLAB_DATA=DIR python bench/published_figures.py --check    say whether that file is what the published files give"""

import hashlib
import json
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from eqlab.benchmarks.common.reading import is_refusal
from eqlab.benchmarks.eqbench.items import Question, parse_published
from eqlab.benchmarks.eqbench.score import PRESETS
from eqlab.benchmarks.eqbench.trials import above_zero, read_pass, split_passes
from eqlab.data import published
from eqlab.data.figures import FILE, FORMAT, PASSES, FigureQuestion, FigureReply, Figures, Four, ModelFigures
from eqlab.data.items import items_sha256
from eqlab.reproduce.eqbench import family

TARGET = Path(__file__).parent.parent / "src" / "eqlab" / "data" / FILE
QUESTIONS = "eqbench/data/eq_bench_v2_questions_171.json"
FACTS = (
    "benchmark_score",
    "n_questions_parseable",
    "inference_engine",
    "instruction_template",
    "bitsandbytes_quant",
    "total_iterations",
)
"""Figures and settings of one or two words; what else a file holds is paths, errors and the replies."""


def make(folder: Path) -> Figures:
    pinned = {one.name: one for one in published.manifest()}
    content = published.read(QUESTIONS, folder)
    questions = parse_published(content, QUESTIONS, "v2", "en")
    names = [name for name in sorted(pinned) if name.startswith("eqbench/results/") and (folder / name).is_file()]
    return Figures(
        repository=pinned[QUESTIONS].repository,
        commit=pinned[QUESTIONS].commit,
        licence=published.read("eqbench/LICENSE", folder).decode(),
        version="v2",
        language="en",
        file=pinned[QUESTIONS].path,
        sha256=_sha256(content, QUESTIONS),
        items_sha256=items_sha256({QUESTIONS: content}),
        questions=tuple(FigureQuestion(one.id, one.emotions, tuple(one.reference.values())) for one in questions),
        models=tuple(_model(name, published.read(name, folder), questions) for name in names),
    )


def _sha256(content: bytes, name: str) -> str:
    """Only pinned content: figures of a changed file would carry a provenance that is not theirs."""
    found = hashlib.sha256(content).hexdigest()
    if found != next(one.sha256 for one in published.manifest() if one.name == name):
        raise SystemExit(f"{name} is not the pinned file; run 'eqlab data verify'.")
    return found


def _model(name: str, content: bytes, questions: list[Question]) -> ModelFigures:
    body: dict[str, Any] = json.loads(content)
    if body["eqbench_version"] != "v2" or body.get("language", "en") != "en":
        raise SystemExit(f"{name} answers other questions than EQ-Bench v2 in English.")
    replies = [one["raw_inference"] for one in body["raw_results"].values()]
    return ModelFigures(
        model=body["model_path"],
        family=family(body["model_path"]),
        file=name.removeprefix("eqbench/"),
        sha256=_sha256(content, name),
        completed=float(body["run_completed"]),
        revised=any("Revised scores:" in text for one in replies for text in one.values()),
        iterations=tuple(
            tuple(figures_of(one.get(question.id, ""), question.emotions) for question in questions) for one in replies
        ),
        facts={fact: body[fact] for fact in FACTS if body.get(fact) not in (None, "")},
    )


def figures_of(text: str, names: Sequence[str]) -> FigureReply:
    """English only. What the published code rejects for pairs besides the four, and reads otherwise the same."""
    loose, strict = PRESETS["leaderboard"], PRESETS["published-code"]
    passes = split_passes(text, loose, "en")
    first, revised = (read_pass(one, names, loose, "en") for one in passes)
    more = [read_pass(one, names, strict, "en") is None for one in passes]
    unread = not above_zero(first) and not above_zero(revised)
    return FigureReply(
        _numbers(first, names),
        _numbers(revised, names),
        len(text.split()),
        first is not None and more[0],
        revised is not None and more[1],
        unread and is_refusal(text),
    )


def _numbers(read: dict[str, int] | None, names: Sequence[str]) -> Four | None:
    return None if read is None else tuple(read[name] for name in names)


def dump(figures: Figures) -> bytes:
    """The file that `parse` reads: the same bytes for the same figures, a line for each model."""
    head = {
        "format": FORMAT,
        "about": "What was read in the published EQ-Bench results: figures only. Made by bench/published_figures.py.",
        "repository": figures.repository,
        "commit": figures.commit,
        "licence": figures.licence,
        "questions": {
            **{name: getattr(figures, name) for name in ("version", "language", "file", "sha256", "items_sha256")},
            "ids": [question.id for question in figures.questions],
            "emotions": [question.emotions for question in figures.questions],
            "references": [[_plain(level) for level in question.reference] for question in figures.questions],
        },
    }
    lines = [f"{json.dumps(name)}: {_line(value)}" for name, value in head.items()]
    models = ",\n".join(_line(_as_json(model_figures, figures.questions)) for model_figures in figures.models)
    return ("{\n" + ",\n".join(lines) + ',\n"models": [\n' + models + "\n]\n}\n").encode()


def _as_json(figures: ModelFigures, questions: Sequence[FigureQuestion]) -> dict[str, Any]:
    names = ("model", "family", "file", "sha256", "completed", "revised", "facts")
    return {
        **{name: getattr(figures, name) for name in names},
        "completed": _plain(figures.completed),
        "iterations": [_columns(replies, questions) for replies in figures.iterations],
    }


def _columns(replies: Sequence[FigureReply], questions: Sequence[FigureQuestion]) -> dict[str, Any]:
    def ids(marked: Iterable[bool]) -> list[str]:
        return [question.id for question, mark in zip(questions, marked, strict=True) if mark]

    columns = {name: [getattr(reply, name) for reply in replies] for name in PASSES}
    return {
        **{name: column if any(read is not None for read in column) else [] for name, column in columns.items()},
        "words": [reply.words for reply in replies],
        "more": {name: ids(getattr(reply, f"{name}_more") for reply in replies) for name in PASSES},
        "refused": ids(reply.refused for reply in replies),
    }


def _plain(value: float) -> float | int:
    return int(value) if value == int(value) else value


def _line(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def main() -> None:
    figures = make(published.published_folder())
    made = dump(figures)
    if "--check" in sys.argv[1:]:
        same = TARGET.is_file() and TARGET.read_bytes() == made
        print(f"{TARGET.name} is {'' if same else 'not '}what the published files give")
        raise SystemExit(0 if same else 1)
    TARGET.write_bytes(made)
    print(f"{TARGET.name}: {len(figures.models)} models, {len(figures.questions)} questions, {len(made) / 1000:.0f} kB")


if __name__ == "__main__":
    main()
