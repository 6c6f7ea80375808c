"""Logs of other tools, read in as runs: the replies are theirs, reading and scoring are ours, nobody is asked again.

A sample is found among the benchmark's own trials: by the trial's record, which tasks written by eqlab carry, else by
the words of its prompt. What is not found is counted and left out."""

import hashlib
import json
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from pathlib import Path
from typing import Any

from msgspec import structs

from eqlab.core.answers import LENGTH, Answer
from eqlab.core.errors import DataError, UsageError
from eqlab.core.plural import many
from eqlab.core.runs import BenchmarkConfig, ModelConfig, RunConfig
from eqlab.core.values import dataclass
from eqlab.models.chat import FILTERED
from eqlab.models.runner import Asked
from eqlab.publish.tools.tasks import TaskQuestion, can_be_exported, question_from, read_answer
from eqlab.runs.identity import provenance
from eqlab.runs.request import Prepared, Request, prepare
from eqlab.store.store import Store
from eqlab.store.writer import run_lock

ATTEMPTS = "eqlab_attempts"
"""Where a sample of our Inspect tasks keeps its answers, every attempt of them."""
_FINISH = {"max_tokens": LENGTH, "model_length": LENGTH, "content_filter": FILTERED}
_ITEM_SETS = ("open", "published")
_CHUNK = 500


@dataclass(frozen=True, slots=True)
class LoggedReply:
    """One question of a log and what was said to it, attempt after attempt."""

    prompt: str
    said: tuple[Mapping[str, Any], ...]
    """`text` and, where the log has them, `reasoning`, `finish`, `model`, `tokens_in`, `tokens_out`, `temperature`."""
    record: Mapping[str, Any] = field(default_factory=dict)
    """The question as a task of ours wrote it; empty in others' logs."""


@dataclass(frozen=True, slots=True)
class Log:
    tool: str
    model: str
    replies: tuple[LoggedReply, ...]
    sha256: str
    items: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    """How a task of ours was asked; empty in others' logs."""


@dataclass(frozen=True, slots=True)
class ImportedLog:
    run: str
    taken: int
    new: int
    """Attempts that were not in the store before."""
    unknown: tuple[str, ...]
    """Beginnings of the prompts that are no questions of the benchmark's."""


def read_inspect(path: Path, model: str = "") -> Log:
    """An Inspect log, `.eval` or `.json`. Raises UsageError without Inspect, which alone knows both."""
    digest = _sha256(path)  # a file that is not there is said before seconds of imports
    try:
        from inspect_ai.log import read_eval_log
    except ModuleNotFoundError as error:
        raise UsageError("Reading Inspect's logs needs an extra.", "pip install 'eqlab[inspect]'") from error
    try:
        log = read_eval_log(str(path), resolve_attachments=True)
    except (ValueError, KeyError, OSError, EOFError) as error:
        raise DataError(
            f"{path} is not an Inspect log: {error}.", "Name an .eval or .json file of Inspect's log folder."
        ) from error
    replies = tuple(_inspect_reply(sample) for sample in log.samples or ())
    about = log.eval.metadata or {}
    ours = about if "items" in about and any(reply.record for reply in replies) else {}
    name = model or str(log.eval.model)
    return Log("inspect", name, replies, digest, str(ours.get("items", "")), ours.get("options", {}))


def _inspect_reply(sample: Any) -> LoggedReply:
    prompt = sample.input if isinstance(sample.input, str) else sample.input[-1].text
    kept = (sample.store or {}).get(ATTEMPTS) or ()
    record = sample.metadata if "trial_id" in (sample.metadata or {}) else {}
    output = sample.output
    if not kept and output is not None and output.choices:
        usage = output.usage
        kept = (
            {
                "text": output.completion,
                "finish": _FINISH.get(output.stop_reason, "stop"),
                "model": output.model,
                "tokens_in": usage.input_tokens if usage else None,
                "tokens_out": usage.output_tokens if usage else None,
            },
        )
    return LoggedReply(prompt, tuple(kept), record)


def read_lm_eval(path: Path, model: str = "") -> Log:
    """A file of samples that lm-evaluation-harness wrote (`--log_samples`). Raises DataError where it is none."""
    digest = _sha256(path)
    replies: dict[int, LoggedReply] = {}  # a line a filter; the replies are the same
    try:
        for line in path.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            doc, resps = row["doc"], row["resps"]
            texts = resps[0] if isinstance(resps[0], list) else resps
            prompt = doc.get("prompt") if isinstance(doc.get("prompt"), str) else _argument(row.get("arguments"))
            record = doc if "trial_id" in doc else {}
            replies.setdefault(int(row["doc_id"]), LoggedReply(str(prompt), ({"text": str(texts[0])},), record))
    except (ValueError, KeyError, IndexError, TypeError, AttributeError) as error:
        raise DataError(
            f"{path} is not a file of samples: {error!r}.", "Name a samples_….jsonl of 'lm_eval --log_samples'."
        ) from error
    return Log("lm-eval", model or _lm_eval_model(path), tuple(replies.values()), digest)


def _argument(arguments: Any) -> str:
    """What was sent; a chat template makes it a list of messages in JSON."""
    while isinstance(arguments, Mapping | list):
        arguments = next(iter(arguments.values() if isinstance(arguments, Mapping) else arguments), "")
    text = str(arguments)
    if text.startswith("[{"):
        return str(json.loads(text)[-1]["content"])
    return text


def _lm_eval_model(path: Path) -> str:
    """The model's name as the results beside the samples have it; empty where there are none."""
    for beside in sorted(path.parent.glob("results_*.json"), reverse=True):
        if beside.stem.removeprefix("results_") in path.stem:
            return str(json.loads(beside.read_text(encoding="utf-8")).get("model_name") or "")
    return ""


def _sha256(path: Path) -> str:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}.") from error


def import_log(
    store: Store,
    log: Log,
    *,
    benchmark: str = "",
    items: str = "auto",
    options: Mapping[str, str] | None = None,
    data: Path | None = None,
) -> ImportedLog:
    """Store a log's replies as a run of their own; the same log again changes nothing."""
    if not log.replies:
        raise DataError("The log holds no reply.", "Name a file that its tool has finished.")
    if not log.model:
        raise UsageError("The log does not say which model answered.", "Name it with --model.")
    if not any(reply.said for reply in log.replies):
        raise DataError("The log holds no reply.", "Log samples, too (Inspect: --log-samples; lm_eval: --log_samples).")
    name = benchmark or _benchmark_of(log)
    prepared, found = _matched(log, name, items, options or {}, data)
    questions = [(question, reply) for question, reply in found if question is not None]
    unknown = tuple(reply.prompt[:60] for question, reply in found if question is None)
    if not questions:
        raise DataError(
            f"None of the log's {many(len(log.replies), 'prompt')} is a question of {name} ({items} items).",
            "Name the benchmark with -b, its items with --items and its options with --set.",
        )
    config = _config(prepared, log)
    subject, asked = config.models[0].subject, prepared.asked[name]
    answers = [
        answer for question, reply in questions for answer in _answers(config.id, subject, asked, question, reply)
    ]
    plan = [(subject, name, question.trial, question.repeat) for question, _ in questions]
    with run_lock(store, config.id):
        store.begin_run(config, iter(plan), {**provenance({}), "imported": {"tool": log.tool, "sha256": log.sha256}})
        there = sum(1 for _ in store.used(config.id, subject))
        fresh = answers[there:]
        for start in range(0, len(fresh), _CHUNK):
            store.add_answers(fresh[start : start + _CHUNK])
    return ImportedLog(config.id, len(questions), len(fresh), unknown)


def _benchmark_of(log: Log) -> str:
    names = {question_from(reply.record).trial.benchmark for reply in log.replies if reply.record}
    if len(names) != 1:
        raise UsageError("The log does not say which benchmark it is of.", "Name it with -b (eqbench, seceu, …).")
    return names.pop()


def _matched(
    log: Log, name: str, items: str, options: Mapping[str, str], data: Path | None
) -> tuple[Prepared, list[tuple[TaskQuestion | None, LoggedReply]]]:
    """The benchmark with the items that most of the log's prompts are of, and each reply's question."""
    if log.items:
        prepared = _prepared(log, name, log.items, {}, data)
        (config,) = prepared.config.benchmarks
        benchmarks = (replace(config, options=dict(log.options)),)
        asked = {name: Asked(prepared.asked[name].benchmark, log.options)}
        prepared = Prepared(replace(prepared.config, benchmarks=benchmarks), asked, prepared.files)
        return prepared, [(question_from(reply.record) if reply.record else None, reply) for reply in log.replies]
    best: tuple[Prepared, list[tuple[TaskQuestion | None, LoggedReply]]] | None = None
    hits = -1
    missing: DataError | None = None
    for item_set in _ITEM_SETS if items == "auto" else (items,):
        try:
            prepared = _prepared(log, name, item_set, options, data)
            found = list(_found(log, prepared, name))
        except DataError as error:  # published files that are not here
            missing = error
            continue
        now = sum(question is not None for question, _ in found)
        if now > hits:
            best, hits = (prepared, found), now
    if best is None:
        raise missing or DataError(f"There are no items of {name}.")
    return best


def _prepared(log: Log, name: str, items: str, options: Mapping[str, str], data: Path | None) -> Prepared:
    prepared = prepare(Request((log.model,), (name,), items=items, profile="full", options=dict(options), data=data))
    if not can_be_exported(prepared.asked[name].benchmark):
        raise UsageError(f"Replies of '{name}' cannot be imported.", "Only benchmarks with single questions can be.")
    return prepared


def _found(log: Log, prepared: Prepared, name: str) -> Iterator[tuple[TaskQuestion | None, LoggedReply]]:
    trials = [trial for _, _, trial, _ in prepared.plan()]
    items = {item for trial in trials for item in trial.items}
    by_prompt = {_words(trial.prompt): trial for trial in trials}
    times: Counter[str] = Counter()
    for place, reply in enumerate(log.replies):
        if reply.record:
            question = question_from(reply.record)
            known = items.issuperset(question.trial.items)  # seeds and options change orders, not items
            yield (question if known else None), reply
            continue
        trial = by_prompt.get(_words(reply.prompt))
        if trial is None or not reply.said:
            yield None, reply
            continue
        yield TaskQuestion(place, trial, times[trial.id]), reply
        times[trial.id] += 1


def _words(prompt: str) -> str:
    """A prompt without what templates add or take at its ends, and with one kind of white space."""
    return " ".join(prompt.split())


def _config(prepared: Prepared, log: Log) -> RunConfig:
    """A run of its own, which asking the same model continues neither in name nor in fact."""
    (asked,) = prepared.config.benchmarks
    name = log.model if "/" not in log.model or not Path(log.model).is_absolute() else Path(log.model).name
    model = ModelConfig(name, label=f"{log.tool} {log.sha256[:8]}")
    config = BenchmarkConfig(asked.name, asked.protocol, asked.item_set, asked.items_sha256, dict(asked.options))
    return RunConfig((model,), (config,), "full", None, None, 0)


def _answers(run: str, subject: str, asked: Asked, question: TaskQuestion, reply: LoggedReply) -> Sequence[Answer]:
    """Every attempt, read anew by this version's parser."""
    kept = ("reasoning", "finish", "model", "tokens_in", "tokens_out", "temperature", "latency")
    made = []
    for number, said in enumerate(reply.said, start=1):
        more = {name: said[name] for name in kept if said.get(name) is not None}
        answer = read_answer(asked, question, str(said.get("text") or ""), attempt=number, **more)
        made.append(structs.replace(answer, run=run, subject=subject, at=time.time()))
    return made
