"""The steps of an exported task when lm-evaluation-harness runs it: documents in, replies read, our score out.

The task folder's `utils.py` calls these; it holds no logic of its own, so a folder written once stays true."""

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from eqlab.core.errors import DataError
from eqlab.publish.tools.tasks import asked_with, figures, question_from, read_answer, score

TASK, DOCUMENTS = "task.json", "documents.jsonl"
METRICS = ("score", "score_low", "score_high", "n", "readable", "refused", "valid")
"""Every metric of the task; all are made of the same replies."""

Reply = tuple[int, str]
"""(position of the question, text of the reply)."""


def documents(folder: Path) -> list[dict[str, Any]]:
    """One document per question: what is sent, and what reading and scoring need."""
    with (folder / DOCUMENTS).open(encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def process_results(document: Mapping[str, Any], results: Sequence[Any]) -> dict[str, Reply]:
    """The reply under every metric's name. Nothing is judged here: only all replies together have a score."""
    text = results[0] if results else ""
    reply = (int(document["position"]), text if isinstance(text, str) else "")
    return dict.fromkeys(METRICS, reply)


def aggregate(folder: Path, metric: str, replies: Iterable[Reply]) -> float:
    """One figure of our result; not a number where it is undefined."""
    value = _figures(folder, tuple((position, text) for position, text in replies))[metric]
    return math.nan if value is None else value


@lru_cache(maxsize=8)
def _figures(folder: Path, replies: tuple[Reply, ...]) -> Mapping[str, float | None]:
    """Kept for a moment: seven metrics are made of the same result."""
    task = _task(folder)
    asked = asked_with(task["benchmark"], task["options"])
    questions = {question.position: question for question in map(question_from, documents(folder))}
    answers = [(questions[position], [read_answer(asked, questions[position], text)]) for position, text in replies]
    return figures(score(asked, "model:lm-eval", answers))


def _task(folder: Path) -> dict[str, Any]:
    path = folder / TASK
    try:
        task: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise DataError(
            f"{path} cannot be read: {error}.", "Write the folder again: eqlab data export-task lm-eval."
        ) from error
    now = asked_with(task["benchmark"], task["options"]).benchmark.protocol
    if task["protocol"] != now:
        raise DataError(
            f"{folder} was written for protocol {task['protocol']} of {task['benchmark']}; this version has {now}.",
            "Write the folder again: eqlab data export-task lm-eval.",
        )
    return task
