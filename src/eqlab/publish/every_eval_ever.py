"""A run as records of Every Eval Ever (arXiv 2606.14516, schema 0.3.0): of each model and benchmark an aggregate with
our intervals and baselines, and one line an item or talk; of a judge's run one of each model whose replies were
rated, with the judges. Written to a folder, byte for byte the same each time; nothing is sent."""

import hashlib
import json
import math
import re
import uuid
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal

from eqlab.benchmarks.dialogue.result import LISTENER
from eqlab.benchmarks.rating.panel import SUBJECT as PANEL
from eqlab.benchmarks.rating.trials import REFERENCE_ARMS
from eqlab.benchmarks.registry import load
from eqlab.core.answers import final
from eqlab.core.benchmark import Scored
from eqlab.core.errors import DataError, UsageError
from eqlab.core.results import Estimate, ItemScore, Result
from eqlab.core.runs import BenchmarkConfig, ModelConfig
from eqlab.core.values import dataclass
from eqlab.data.files import write_whole
from eqlab.data.published import manifest
from eqlab.runs.panel import panel_of
from eqlab.runs.score import results
from eqlab.store.reader import Reader, StoredRun

SCHEMA = "0.3.0"
Relationship = Literal["first_party", "third_party", "collaborative", "other"]
RELATIONSHIPS: tuple[Relationship, ...] = ("first_party", "third_party", "collaborative", "other")
_LOCAL = ("embedded", "gguf:", "ollama/", "vllm/", "llamacpp/")
_HOME = "https://github.com/{repository}"


@dataclass(frozen=True, slots=True)
class Sender:
    """What a record says of who made it."""

    organisation: str = "unknown"
    relationship: Relationship = "third_party"
    instances: bool = True
    errors_as_wrong: bool = False


def write_records(store: Reader, stored: StoredRun, folder: Path, sender: Sender) -> list[Path]:
    """The files written, aggregates first. A file that is there with other content is left alone, and said."""
    if sender.relationship not in RELATIONSHIPS:
        raise UsageError(f"'{sender.relationship}' is not a relationship.", f"Choose {', '.join(RELATIONSHIPS)}.")
    models = {model.subject: model for model in stored.config.models if model.role == "model"}
    configs = {config.name: config for config in stored.config.benchmarks}
    made: dict[Path, bytes] = {}
    found = results(store, stored)
    for result in found:
        if result.subject in models and result.headline.value is not None:
            made |= _files(store, stored, result, models[result.subject], configs[result.benchmark], folder, sender)
    panel = panel_of(store, stored)
    for result in [panel] if panel else found:
        if result.others is not None:
            made |= _rated_files(store, stored, result, found, configs[result.benchmark], folder, sender)
    if not made:
        raise UsageError(f"Run {stored.id} has no model with a score.", "Answers of people are not exported.")
    for path, content in made.items():
        if path.exists() and path.read_bytes() != content:
            raise DataError(f"{path} exists, with other content.", "Name another folder with -o, or move it away.")
    for path, content in made.items():
        write_whole(path, content)
    return sorted(made, key=lambda path: (path.suffix != ".json", path))


def _files(
    store: Reader,
    stored: StoredRun,
    result: Result,
    model: ModelConfig,
    config: BenchmarkConfig,
    folder: Path,
    sender: Sender,
) -> dict[Path, bytes]:
    scored = list(store.scored(stored.id, result.subject, config.name))
    same = _same(stored, result, model, config)
    lines: Iterable[dict[str, Any]] = ()
    if sender.instances:
        lines = _talks(result, config, sender) if result.transcripts else _lines(scored, result, config, sender)
    found = list(_results(result, config, model, scored, sender))
    whole = [{**same, **line} for line in lines]
    return _record(stored, config, model, scored, found, whole, (result.subject, config.name), folder, sender)


def _same(stored: StoredRun, result: Result, model: ModelConfig, config: BenchmarkConfig) -> dict[str, Any]:
    """What every line of a record says."""
    about = _model_info(model)["id"]
    return {
        "schema_version": SCHEMA,
        "evaluation_id": f"{config.name}/{about}/{int(stored.created_at)}/{stored.id}",
        "model_id": about,
        "evaluation_name": f"{result.title}: {result.headline.name}",
        "evaluation_result_id": f"eqlab.{config.name}.{_slug(result.headline.name)}",
    }


def _record(
    stored: StoredRun,
    config: BenchmarkConfig,
    model: ModelConfig,
    scored: list[Scored],
    found: list[dict[str, Any]],
    lines: list[dict[str, Any]],
    named: tuple[str, ...],
    folder: Path,
    sender: Sender,
) -> dict[Path, bytes]:
    """An aggregate, and the file with its lines; `named`: what tells it from the run's others."""
    about = _model_info(model)
    place = "/".join(_part(part) for part in ("eqlab", *_developer(model)))
    name = str(uuid.UUID(bytes=_digest(stored.id, *named)[:16], version=4))
    record = {
        "schema_version": SCHEMA,
        "evaluation_id": f"{config.name}/{about['id']}/{int(stored.created_at)}/{stored.id}",
        "evaluation_timestamp": str(int(stored.created_at)),
        "retrieved_timestamp": str(int(max((a.at for one in scored for a in one.attempts), default=stored.created_at))),
        "source_metadata": {
            "source_name": "EQ Lab",
            "source_type": "evaluation_run",
            "source_organization_name": sender.organisation,
            "evaluator_relationship": sender.relationship,
        },
        "model_info": about,
        "eval_library": {
            "name": "eqlab",
            "version": version("eqlab"),
            "additional_details": _texts(
                protocol=config.protocol,
                seed=stored.config.seed,
                profile=stored.config.profile,
                item_set=config.item_set,
                items_sha256=config.items_sha256,
                run=stored.id,
            ),
        },
        "evaluation_results": found,
    }
    files = {}
    if lines:
        content = "".join(_json(line) + "\n" for line in lines).encode()
        path = f"data/{place}/{name}_samples.jsonl"
        record["detailed_evaluation_results"] = {
            "format": "jsonl",
            "file_path": path,
            "hash_algorithm": "sha256",
            "checksum": hashlib.sha256(content).hexdigest(),
            "total_rows": len(lines),
        }
        files[folder / path] = content
    return {folder / f"data/{place}/{name}.json": (_json(record, indent=1) + "\n").encode(), **files}


def _results(
    result: Result, config: BenchmarkConfig, model: ModelConfig, scored: list[Scored], sender: Sender
) -> Iterator[dict[str, Any]]:
    """The headline first. What is undefined is named, never written as 0."""
    estimates = [result.headline, *result.estimates]
    undefined = [one.name for one in estimates if one.value is None or not math.isfinite(one.value)]
    counts = {name: count for name, count in result.counts.items() if count}
    seen = Counter[str]()
    for estimate in estimates:
        name = f"eqlab.{config.name}.{_slug(estimate.name)}"
        seen[name] += 1
        if estimate.value is None or not math.isfinite(estimate.value) or seen[name] > 1:
            continue
        first = estimate is result.headline
        low, high = _bounds(estimate, result.score_range if first else None)
        details = _texts(note=estimate.note, unit=estimate.unit)
        if first:
            wrong = "counted as wrong in the lines" if sender.errors_as_wrong else "left out of score and lines"
            details |= _texts(**counts, valid=result.valid, undefined=", ".join(undefined), not_read=wrong)
        yield {
            "evaluation_result_id": name,
            "evaluation_name": f"{result.title}: {estimate.name}",
            "source_data": _source_data(result, config),
            "metric_config": {
                "metric_name": estimate.name,
                "lower_is_better": result.better == "lower" and first,
                "score_type": "continuous",
                "min_score": low,
                "max_score": high,
                "additional_details": _beside(result) if first else {},
            },
            "score_details": {"score": estimate.value, "details": details, "uncertainty": _uncertainty(estimate)},
            "generation_config": _generation(model, scored, result),
        }


def _bounds(estimate: Estimate, known: tuple[float, float] | None) -> tuple[float | str, float | str]:
    if known is not None and estimate.value is not None and known[0] <= estimate.value <= known[1]:
        return known
    if estimate.unit == "%" and estimate.value is not None and 0 <= estimate.value <= 100:
        return 0.0, 100.0
    return "-Infinity", "Infinity"


def _uncertainty(estimate: Estimate) -> dict[str, Any]:
    found: dict[str, Any] = {"num_samples": estimate.n}
    if estimate.se is not None and math.isfinite(estimate.se):
        found["standard_error"] = {"value": estimate.se, "method": "over items"}
    if estimate.low is not None and estimate.high is not None:
        found["confidence_interval"] = {"lower": estimate.low, "upper": estimate.high, "confidence_level": 0.95}
    return found


def _beside(result: Result) -> dict[str, str]:
    """What has no field of its own: answers without skill, and where among people."""
    found = {f"baseline_{_slug(baseline.name)}": baseline.value for baseline in result.baselines}
    people = result.percentile
    if people is not None and people.value is not None:
        found |= {"people_below_percent": people.value, "people_n": people.n}
    return _texts(**found)


def _generation(model: ModelConfig, scored: list[Scored], result: Result) -> dict[str, Any]:
    answers = [answer for one in scored if (answer := final(one.attempts)) is not None]
    warm = [one.temperature for one in answers if one.temperature is not None]
    most = [int(room) for one in answers if isinstance(room := one.sent.get("max_tokens"), int)]
    given: dict[str, Any] = {"temperature": min(warm) if warm else None}
    if most:
        given["max_tokens"] = max(most)
    more = {name: value for name, value in result.rules.items() if value not in (None, "")}
    return {"generation_args": given, "additional_details": _texts(**more, **dict(model.settings))}


def _source_data(result: Result, config: BenchmarkConfig) -> dict[str, Any]:
    pinned = next((file for file in manifest() if file.source == config.name), None)
    if config.item_set == "published" and pinned is not None:
        address = _HOME.format(repository=pinned.repository)
        return {"dataset_name": result.title, "source_type": "url", "url": [f"{address}/tree/{pinned.commit}"]}
    details = _texts(item_set=config.item_set, sha256=config.items_sha256)
    return {
        "dataset_name": f"{result.title} ({config.item_set} items)",
        "source_type": "other",
        "additional_details": details,
    }


def _model_info(model: ModelConfig) -> dict[str, Any]:
    local = model.spec.startswith(_LOCAL)
    developer, name = _developer(model)
    platform = "" if local else model.spec.partition("/")[0]
    return {
        "name": model.spec,
        "id": f"{developer}/{name}",
        **({"inference_platform": platform} if platform else {}),
        "additional_details": {
            "deployment_type": "self_deployed" if local else "unknown" if model.base_url else "externally_managed",
            "model_availability": "open_weights" if local else "unknown",
            **_texts(label=model.label),
        },
    }


def _developer(model: ModelConfig) -> tuple[str, str]:
    """Who a name says the model is of: what stands before its last slash, the path of a file apart."""
    if model.spec.startswith("gguf:"):
        return "unknown", Path(model.spec.removeprefix("gguf:")).stem
    developer, _, name = model.spec.rpartition("/")
    return developer.rpartition("/")[2] or "eqlab", name


def _talks(result: Result, config: BenchmarkConfig, sender: Sender) -> Iterator[dict[str, Any]]:
    """One line a talk. What the person in it felt and thought is no message."""
    shown = config.item_set == "open"
    for talk in result.transcripts:
        if talk.score is None and not sender.errors_as_wrong:
            continue
        roles = ["assistant" if line.seat == LISTENER else "user" for line in talk.lines]
        thoughts = [{"turn": place, "emotion": line.emotion, "feeling": line.feeling}
                    for place, line in enumerate(talk.lines) if line.feeling or line.emotion is not None]  # fmt: skip
        last = max((place for place, role in enumerate(roles) if role == "assistant"), default=0)
        yield {
            "sample_id": f"{talk.item} {talk.trial} r{talk.repeat}",
            "sample_hash": hashlib.sha256(_json({"raw": talk.item, "reference": []}).encode()).hexdigest(),
            "interaction_type": "multi_turn",
            "input": {"raw": talk.item, "reference": []},
            "output": None,
            "messages": [
                {"turn_idx": place, "role": role, "content": line.text if shown or role == "assistant" else None}
                for place, (role, line) in enumerate(zip(roles, talk.lines, strict=True))
            ],
            "answer_attribution": [_extracted(last, "messages[turn_idx].content", talk.outcome or talk.end, config)],
            "evaluation": {"score": talk.score or 0.0, "is_correct": False, "num_turns": max(1, len(talk.lines))},
            **({} if talk.score is not None else {"error": talk.end or "no score"}),
            "metadata": _texts(
                repeat=talk.repeat,
                partner=talk.partner,
                end=talk.end,
                thoughts=thoughts if shown else "",
                text="" if shown else "withheld: licence",
                is_correct_meaning="not applicable",
            ),
        }


def _extracted(turn: int, source: str, value: str, config: BenchmarkConfig) -> dict[str, Any]:
    return {
        "turn_idx": turn,
        "source": source,
        "extracted_value": value,
        "extraction_method": f"eqlab {config.name}",
        "is_terminal": True,
    }


# -- what judges say of others' replies ------------------------------------------------------------------------------


def _rated_files(
    store: Reader,
    stored: StoredRun,
    result: Result,
    each: Iterable[Result],
    config: BenchmarkConfig,
    folder: Path,
    sender: Sender,
) -> dict[Path, bytes]:
    """Of each model whose replies were rated one record, with the judges, their prompt and, of several, their weights.
    Replies that people or the author of the items wrote are no model's."""
    of = {model.subject: model for model in stored.config.models if model.role == "judge"}
    judges = {one: model for one, model in of.items() if result.subject in (one, PANEL)}
    others = result.others
    if others is None or not judges:
        return {}
    scored = [one for judge in judges for one in store.scored(stored.id, judge, config.name)]
    scoring = {
        "judges": [_judge(judge, next((o for o in each if o.subject == judge.subject), result), scored, len(judges))
                   for judge in judges.values()],
        "input_prompt": _template([one.trial.prompt for one in scored]),
        **({"aggregation_method": "average"} if len(judges) > 1 else {}),
    }  # fmt: skip
    keys = {one.trial.id: one.trial.key for one in scored}
    made: dict[Path, bytes] = {}
    for arm, share in others.shares:
        if arm in (others.written_by_people, *REFERENCE_ARMS) or share.value is None:
            continue
        model, above = ModelConfig(arm), others.above.get(arm)
        own = replace(result, headline=share, estimates=(), baselines=(), percentile=above, usage=None,
                      score_range=others.score_range)  # fmt: skip
        (found,) = _results(own, config, model, scored, sender)
        found["metric_config"]["llm_scoring"] = scoring
        same = _same(stored, own, model, config)
        lines = [
            {**same, **_rated_line(item, keys.get(item.trial, {}), config)}
            for item in (own.items if sender.instances else ())
            if item.group == arm and item.points is not None
        ]
        made |= _record(
            stored, config, model, scored, [found], lines, (result.subject, config.name, arm), folder, sender
        )
    return made


def _judge(judge: ModelConfig, result: Result, scored: list[Scored], judges: int) -> dict[str, Any]:
    answers = [one.attempts[-1] for one in scored if one.attempts and one.attempts[-1].subject == judge.subject]
    warm = [answer.temperature for answer in answers if answer.temperature is not None]
    rules = {name: result.rules.get(name) for name in ("rubric", "rubric_sha256", "calibration", "snapshot")}
    return {
        "model_info": _model_info(judge),
        **({"temperature": min(warm)} if warm else {}),
        **({"weight": 1 / judges} if judges > 1 else {}),
        "additional_details": _texts(**rules, ratings=len(answers)),
    }


def _template(prompts: list[str]) -> str:
    """What all prompts of a judge share, whole lines at either end; what is rated stands between them."""
    lines = [prompt.split("\n") for prompt in dict.fromkeys(prompts)]
    least = min(map(len, lines))
    head = next((at for at in range(least) if len({line[at] for line in lines}) > 1), least)
    tail = next((at for at in range(least - head) if len({line[-1 - at] for line in lines}) > 1), least - head)
    return "\n".join([*lines[0][:head], "[what is rated]", *(lines[0][-tail:] if tail else ())])


def _rated_line(item: ItemScore, key: Mapping[str, Any], config: BenchmarkConfig) -> dict[str, Any]:
    shown = config.item_set != "published"
    given = {name: value for name, value in item.values.items() if value is not None}
    again = int(key.get("reply_repeat") or 0)
    return {
        "sample_id": f"{item.item} r{item.repeat}{f' reply {again + 1}' if again else ''}",
        "sample_hash": hashlib.sha256(_json({"raw": item.item, "reference": []}).encode()).hexdigest(),
        "interaction_type": "single_turn",
        "input": {"raw": item.item, "reference": []},
        "output": {"raw": [str(key.get("reply", "")) if shown else ""]},
        "answer_attribution": [_extracted(0, "output.raw", _json(given), config)],
        "evaluation": {"score": float(item.points or 0.0), "is_correct": False},
        "metadata": _texts(
            status=item.status, repeat=item.repeat, text="" if shown else "withheld: licence",
            is_correct_meaning="not applicable",
        ),
    }  # fmt: skip


def _lines(scored: list[Scored], result: Result, config: BenchmarkConfig, sender: Sender) -> Iterator[dict[str, Any]]:
    benchmark = load(config.name)
    shown = config.item_set == "open"
    for one in scored:
        item, answer = benchmark.item(one, config.options), final(one.attempts)
        read = item.score is not None and math.isfinite(item.score)
        if answer is None or not (read or sender.errors_as_wrong):
            continue
        graded = "correct" not in one.trial.key
        raw = one.trial.prompt if shown else " ".join(one.trial.items)
        key = one.trial.key.get("correct") or one.trial.key.get("reference") or {}
        reference = [_json(key)] if shown and key else []
        score = float(item.score or 0.0) if read else 0.0
        metadata = _texts(
            status=item.status,
            repeat=one.repeat,
            order=one.trial.order_seed,
            condition=one.trial.condition,
            text="" if shown else "withheld: licence",
            is_correct_meaning="not applicable" if graded else "",
        )
        choices = [label for scale in one.trial.form.scales for _, label in scale.anchors]
        counted = answer.tokens_in is not None and answer.tokens_out is not None
        total = (answer.tokens_in or 0) + (answer.tokens_out or 0)
        usage = {"input_tokens": answer.tokens_in, "output_tokens": answer.tokens_out, "total_tokens": total}
        yield {
            "sample_id": f"{' '.join(one.trial.items)} {one.trial.condition} r{one.repeat}",
            "sample_hash": hashlib.sha256(_json({"raw": raw, "reference": reference}).encode()).hexdigest(),
            "interaction_type": "single_turn",
            "input": {"raw": raw, "reference": reference, **({"choices": choices} if shown and not graded else {})},
            "output": {"raw": [answer.text]},
            "answer_attribution": [_extracted(0, "output.raw", _json(dict(answer.values)), config)],
            "evaluation": {"score": score, "is_correct": not graded and score > 0},
            **({"token_usage": usage} if counted else {}),
            **({"performance": {"latency_ms": 1000 * answer.latency}} if answer.latency is not None else {}),
            **({} if read else {"error": str(item.status)}),
            "metadata": metadata,
        }


def _texts(**values: Any) -> dict[str, str]:
    """Every `additional_details` holds texts only; what is empty is left out."""
    return {
        name: value if isinstance(value, str) else _json(value)
        for name, value in values.items()
        if value is not None and value != ""
    }


def _json(value: Any, indent: int | None = None) -> str:
    spaces = (",", ": ") if indent else (",", ":")
    return json.dumps(
        value, sort_keys=True, ensure_ascii=False, allow_nan=False, indent=indent, separators=spaces, default=_plain
    )


def _plain(value: Any) -> Any:
    return dict(value) if isinstance(value, Mapping) else str(value)


def _digest(*parts: str) -> bytes:
    return hashlib.sha256("\n".join(parts).encode()).digest()


def _slug(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "_", name.casefold()).strip("_") or "score"


def _part(name: str) -> str:
    """As a folder's name."""
    return re.sub(r"[^\w.-]+", "-", name).strip("-.") or "unknown"
