"""A run's answers as one flat table, every column described: Parquet, CSV, JSONL, SPSS or Stata."""

import json
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, get_args

from eqlab.benchmarks.registry import load
from eqlab.core.answers import Status, standing
from eqlab.core.errors import UsageError
from eqlab.core.trials import AnswerMode
from eqlab.data.files import whole_file, write_whole
from eqlab.store.reader import Reader, StoredRun
from eqlab.tables.data import safe_csv
from eqlab.tables.labelled import LABELLED, Variable, labelled_file, variables_csv, variables_frame

VARIABLES = (
    Variable("run", "text", "id of the run"),
    Variable(
        "subject",
        "text",
        "who answered: model:, judge: or person: and a name; sim… are simulated people of a study",
    ),
    Variable("benchmark", "text", "name of the benchmark"),
    Variable("items", "text", "item or items that the trial shows, with a space between them"),
    Variable("condition", "text", "what the benchmark varies, such as default or evoked"),
    Variable("mode", "text", "how an answer was to be written", values=get_args(AnswerMode)),
    Variable("trial", "text", "id of the question, a hash of its content: the same everywhere"),
    Variable("repeat", "integer", "which asking of the same question, from 0"),
    Variable("attempt", "integer", "which try of this asking, from 1; empty: unanswered"),
    Variable("status", "text", "whether an answer could be read", values=(*get_args(Status), "unanswered")),
    Variable("score", "number", "score of the attempt that counts, on the benchmark's own scale; empty for others"),
    Variable("values", "text", "what was read from the answer, as JSON: a value for every scale"),
    Variable("reference", "text", "what the item's authors expect, as JSON; null where there is no such thing"),
    Variable("text", "text", "the answer, word for word"),
    Variable("reasoning", "text", "what a thinking model wrote before it answered; never scored"),
    Variable("note", "text", "why an answer could not be read or used"),
    Variable("model", "text", "name of the model, as the server that answered gave it"),
    Variable("temperature", "number", "as it was sent; empty where none was"),
    Variable("latency", "number", "from sending the request that succeeded to its last byte", "seconds"),
    Variable("transport_retries", "integer", "requests that failed on the way before this one", "requests"),
    Variable("tokens_in", "integer", "length of the prompt, as the server counted it", "tokens"),
    Variable("tokens_out", "integer", "length of the answer with its reasoning, as the server counted it", "tokens"),
    Variable("finish", "text", "why the server stopped, such as stop, length or content_filter"),
    Variable("at", "number", "when the answer arrived", "seconds since 1970-01-01 UTC"),
    Variable("order_seed", "integer", "seed of the order in which options were shown; empty: the printed order"),
    Variable("prompt", "text", "the question, word for word"),
    Variable("system", "text", "the system prompt, word for word"),
)
"""Every column of the table, in order."""
ENDINGS = ("parquet", "csv", "jsonl")

_ASK = 65536
"""Bytes with which a disk is asked once more what is the matter."""
_PART = 10_000
"""Rows that are Python objects at a time."""


def write_answers(store: Reader, stored: StoredRun, path: Path, say: Callable[[str], None] = lambda _: None) -> int:
    """One row per attempt, and one for each unanswered trial, with a codebook beside the file (of SPSS and Stata: in
    it); returns how many. `say` is called where something could not be kept as it is."""
    import polars as pl

    ending = path.suffix.removeprefix(".")
    if ending not in (*ENDINGS, *LABELLED):
        raise UsageError(f"'{path.name}' has no known ending.", "Use .parquet, .csv, .jsonl, .sav or .dta.")
    rows = _rows(store, stored)
    parts = (variables_frame(VARIABLES, part) for part in iter(lambda: list(islice(rows, _PART)), []))
    empty = variables_frame(VARIABLES, [])
    if ending in LABELLED:
        frame = pl.concat([empty, *parts])
        write_whole(path, labelled_file(frame, VARIABLES, ending, say))
        return frame.height
    count = 0
    with whole_file(path) as file:
        if ending == "parquet":
            frame = pl.concat([empty, *parts], rechunk=False)
            count = frame.height
            try:
                frame.write_parquet(file)
            except pl.exceptions.ComputeError as error:  # whatever the disk said is lost in it
                file.write(bytes(_ASK))
                file.flush()
                raise OSError(str(error)) from error
        elif ending == "csv":
            file.write(safe_csv(empty))
        for part in parts:  # text needs no more memory than a part
            if ending == "csv":
                file.write(safe_csv(part, header=False))
            else:
                file.write(part.write_ndjson().encode())  # polars 1.30 to 1.40 is silent about a full disk
            count += part.height
    if path.is_file():
        write_whole(codebook_path(path), variables_csv(VARIABLES))
    return count


def codebook_path(path: Path) -> Path:
    return path.with_name(f"{path.stem}.codebook.csv")


def _rows(store: Reader, stored: StoredRun) -> Iterator[dict[str, Any]]:
    for subject, config in stored.config.pairs():
        name, benchmark = config.name, load(config.name)
        for scored in store.scored(stored.id, subject, name, everybody=True):
            trial = scored.trial
            base = {
                "run": stored.id,
                "subject": subject,
                "benchmark": name,
                "items": " ".join(trial.items),
                "condition": trial.condition,
                "mode": trial.mode,
                "trial": trial.id,
                "repeat": scored.repeat,
                "order_seed": trial.order_seed,
                "prompt": trial.prompt,
                "system": trial.system,
                "reference": json.dumps(trial.key.get("reference"), ensure_ascii=False),
            }
            if not scored.attempts:
                yield {**base, "status": "unanswered"}
            line = benchmark.item(scored, config.options)
            counted = next((answer for answer in standing(scored.attempts) if answer.text == line.text), None)
            for answer in scored.attempts:
                yield {
                    **base,
                    "subject": answer.subject,
                    "attempt": answer.attempt,
                    "status": answer.status,
                    "score": line.score if answer is counted else None,
                    "values": json.dumps(dict(answer.values), ensure_ascii=False),
                    **{
                        column: getattr(answer, column)
                        for column in (
                            "text", "reasoning", "note", "model", "temperature", "latency", "transport_retries",
                            "tokens_in", "tokens_out", "finish", "at",
                        )
                    },
                }  # fmt: skip
