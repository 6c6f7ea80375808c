"""Is a submission whole, possible and true to its own answers? Every reply is read and scored anew; nothing that the
file claims is believed. What does not hold is refused with the reason."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from eqlab.benchmarks.registry import load, names
from eqlab.core.answers import LENGTH, STATUSES, Answer
from eqlab.core.benchmark import Adaptive, Benchmark, Scored, Talks, check_item_set
from eqlab.core.errors import EqlabError
from eqlab.core.plural import many
from eqlab.core.runs import BenchmarkConfig, RunConfig, config_from_json
from eqlab.core.trials import Trial
from eqlab.data.items import read_sources
from eqlab.models.runner import Asked, open_talks
from eqlab.publish.groups import RunRecord
from eqlab.publish.leaderboard.entries import BoardEntry
from eqlab.publish.leaderboard.submission import (
    COLUMNS,
    Refused,
    answers_sha256,
    canonical,
    claim,
    fingerprint,
    signed_part,
    verified,
)
from eqlab.runs.identity import configured
from eqlab.runs.request import Prepared
from eqlab.runs.score import score

_BROKEN = (TypeError, ValueError, LookupError, AttributeError, ArithmeticError)
_TOLERANCE = 1e-6
_MOST_PROVENANCE = 50_000
_TYPES: Mapping[str, type | tuple[type, ...]] = {
    "benchmark": str, "subject": str, "trial": str, "repeat": int, "attempt": int, "status": str, "text": str,
    "values": dict, "model": str, "temperature": (int, float, type(None)), "tokens_in": (int, type(None)),
    "tokens_out": (int, type(None)), "finish": str, "at": (int, float),
}  # fmt: skip


Place = tuple[str, str, str, int]
"""Subject, benchmark, trial, repeat."""


def check_submission(body: Mapping[str, Any], data: Path | None) -> list[BoardEntry]:
    """The submission's entries, scored anew; raises `Refused`."""
    try:
        return _checked(body, data)
    except _BROKEN as error:  # whatever a hostile file makes a benchmark stumble over
        raise Refused(f"its configuration or answers make no sense ({type(error).__name__}: {error})") from error


def _checked(body: Mapping[str, Any], data: Path | None) -> list[BoardEntry]:
    _untouched(body)
    config = _config(body)
    here = prepared(config, data)
    answers = _attempts(body["answers"])
    trials = planned(here, answers, len(body["answers"]))
    attempts = _in_plan(answers, trials)
    _possible(attempts, trials, here)
    return _scored_anew(body, config, trials, attempts)


def _untouched(body: Mapping[str, Any]) -> None:
    if not isinstance(body["answers"], list):
        raise Refused("its answers are not a list")
    try:
        found = answers_sha256(body["answers"])
        signed = signed_part(body)
    except _BROKEN as error:
        raise Refused(f"it cannot be hashed ({error})") from error
    if found != body["answers_sha256"]:
        raise Refused("its answers were changed: their sha256 is not the one in the file")
    if not (isinstance(body["public_key"], str) and isinstance(body["signature"], str)):
        raise Refused("its key or signature is not text")
    if not verified(body["public_key"], body["signature"], signed):
        raise Refused("its signature does not fit: it was changed after signing, or signed with another key")


def _config(body: Mapping[str, Any]) -> RunConfig:
    try:
        config = config_from_json(canonical(body["config"]).decode())
        broken = [m.spec for m in config.models if not isinstance(m.spec, str) or m.role != "model"]
        number = config.id
    except _BROKEN as error:
        raise Refused(f"its configuration is broken ({type(error).__name__}: {error})") from error
    if number != body["run"]:
        raise Refused(f"it says run {body['run']!r}, but its configuration is run {number}")
    if not config.models or broken or len({m.subject for m in config.models}) < len(config.models):
        raise Refused("it does not name each of its models once")
    for name, count in (("limit", config.limit), ("repeats", config.repeats)):
        if count is not None and (not isinstance(count, int) or count < 1):
            raise Refused(f"its {name} is {count!r}")
    if config.profile not in ("quick", "full") or not isinstance(config.seed, int):
        raise Refused("its profile or seed makes no sense")
    created = body["created_at"]
    if isinstance(created, bool) or not isinstance(created, int | float) or not 0 <= created < 1e11:
        raise Refused("its date makes no sense")
    if not isinstance(body["provenance"], dict) or len(canonical(body["provenance"])) > _MOST_PROVENANCE:
        raise Refused("its provenance is not an object, or too long")
    return config


def _attempts(rows: Sequence[Any]) -> dict[Place, list[Answer]]:
    answers: dict[Place, list[Answer]] = {}
    for number, row in enumerate(rows, start=1):
        answer, benchmark = _answer(row, number)
        answers.setdefault((answer.subject, benchmark, answer.trial, answer.repeat), []).append(answer)
    return answers


def _in_plan(attempts: Mapping[Place, list[Answer]], trials: Mapping[Place, Trial]) -> dict[Place, list[Answer]]:
    """The attempts of every planned trial; none may be of another."""
    for subject, benchmark, trial, repeat in attempts:
        if (subject, benchmark, trial, repeat) not in trials:
            where = f"{subject[:60]}, {benchmark[:24]}, {trial[:24]!r}, repeat {repeat}"
            raise Refused(f"it has an answer to a trial that is not in its plan ({where})")
    return {place: attempts.get(place, []) for place in trials}


def _answer(row: Any, number: int) -> tuple[Answer, str]:
    if not isinstance(row, list) or len(row) != len(COLUMNS):
        raise Refused(f"answer {number} does not have {len(COLUMNS)} columns")
    named = dict(zip(COLUMNS, row, strict=True))
    for column, value in named.items():
        if isinstance(value, bool) or not isinstance(value, _TYPES[column]):
            raise Refused(f"answer {number}: {column} is {str(value)[:40]!r}")
    if named["status"] not in STATUSES:
        raise Refused(f"answer {number}: status is {named['status'][:40]!r}")
    benchmark = named.pop("benchmark")
    return Answer(run="submission", **named), benchmark


def _possible(attempts: Mapping[Place, list[Answer]], trials: Mapping[Place, Trial], here: Prepared) -> None:
    """Could the runner have stored these attempts, and does each value follow from its text?"""
    for place, attempt in attempts.items():
        asked = here.asked[place[1]]
        trial = trials[place]
        item = " ".join(trial.items)
        attempt.sort(key=lambda answer: answer.attempt)
        numbers = [answer.attempt for answer in attempt]
        if len(set(numbers)) < len(numbers):
            raise Refused(f"item {item}: attempt {max(n for n in numbers if numbers.count(n) > 1)} is there twice")
        if numbers != list(range(1, len(numbers) + 1)):
            raise Refused(f"item {item}: attempts {numbers} are not counted from 1 without a gap")
        answered = [answer for answer in attempt if answer.answered]
        if not answered:
            raise Refused(f"item {item} of {place[0]} has no answer")
        cut = any(answer.finish == LENGTH for answer in answered)  # asked once more with more room: no try
        if len(answered) > asked.benchmark.asking(trial, asked.options).tries + cut:
            raise Refused(f"item {item}: {len(answered)} attempts, more than the benchmark allows")
        if any(answer.status == "ok" for answer in attempt[:-1]):
            raise Refused(f"item {item}: asked again after a readable answer")
        for answer in attempt:
            _follows(answer, trial, asked, item)


def _follows(answer: Answer, trial: Trial, asked: Asked, item: str) -> None:
    if not answer.answered:
        if answer.text or answer.values:
            raise Refused(f"item {item}: a lost request has a text or values")
        return
    if not answer.whole:
        status = "unparseable" if answer.finish == LENGTH else "refused"
        if answer.status != status or answer.values:
            raise Refused(f"item {item}: it ended with {answer.finish}, so it is {status} and has no values")
        return
    reading = asked.benchmark.read(trial, answer.text, asked.options)
    if reading.status != answer.status:
        raise Refused(f"item {item}: it says {answer.status}, the text reads as {reading.status}")
    if canonical(dict(reading.values)) != canonical(dict(answer.values)):
        raise Refused(f"item {item}: its values do not follow from its text")


def _scored_anew(
    body: Mapping[str, Any],
    config: RunConfig,
    trials: Mapping[Place, Trial],
    attempts: Mapping[Place, list[Answer]],
) -> list[BoardEntry]:
    found = []
    for subject, benchmark_config in config.pairs():
        found.append(score(subject, benchmark_config, list(_of(subject, benchmark_config.name, trials, attempts))))
    _as_claimed([claim(result) for result in found], body["claims"])
    name = fingerprint(body["public_key"])
    provenance = {**body["provenance"], "submitter's key": name, "answers sha256": body["answers_sha256"]}
    record = RunRecord(config, body["created_at"], provenance, tuple(found))
    return [BoardEntry(record, result, "submission", f"{name} run {config.id}") for result in found]


def _of(
    subject: str, benchmark: str, trials: Mapping[Place, Trial], attempts: Mapping[Place, list[Answer]]
) -> Iterator[Scored]:
    for place, trial in trials.items():
        if place[:2] == (subject, benchmark):
            yield Scored(trial, place[3], tuple(attempts[place]))


def _as_claimed(ours: Sequence[Mapping[str, Any]], theirs: Any) -> None:
    if not isinstance(theirs, list) or len(theirs) != len(ours):
        raise Refused(
            f"it claims {len(theirs) if isinstance(theirs, list) else 'no'} results; its answers make {len(ours)}"
        )
    for own, said in zip(ours, theirs, strict=True):
        where = f"{own['subject']} on {own['benchmark']}"
        if not isinstance(said, dict) or set(said) != set(own):
            raise Refused(f"its claim for {where} is broken")
        if any(said[name] != own[name] for name in ("benchmark", "subject", "n", "counts")):
            raise Refused(f"its counts for {where} do not follow from its answers")
        if not _same(own["score"], said["score"]):
            raise Refused(f"its score for {where} is {said['score']!r}; its answers make {own['score']!r}")


def _same(own: float | None, said: Any) -> bool:
    if own is None or isinstance(said, bool) or not isinstance(said, int | float):
        return own is None and said is None
    return math.isclose(own, said, rel_tol=_TOLERANCE, abs_tol=_TOLERANCE)


# What a submission's configuration asks, made anew here: options that a user could give, its trials, and for an
# adaptive run every round that the answers lead to.
def prepared(config: RunConfig, data: Path | None) -> Prepared:
    """The benchmarks as they are here, if they are the ones the run was made with."""
    asked, files = {}, {}
    for one in config.benchmarks:
        if one.name not in names() or one.name in asked:
            raise Refused(f"benchmark {one.name!r} cannot be submitted, or is there twice")
        try:
            benchmark = load(one.name)
            check_item_set(benchmark, one.item_set)
            _check_options(benchmark, one)
            files[one.name] = read_sources(benchmark.sources(one.item_set, one.options), data)
        except Refused:
            raise
        except EqlabError as error:
            raise Refused(f"its items are not here, so it cannot be scored again: {error}") from error
        if one.protocol != benchmark.protocol:
            raise Refused(f"it was made with protocol {one.protocol!r} of {one.name}; this is {benchmark.protocol}")
        if one.items_sha256 != configured(benchmark, one.options, files[one.name]).items_sha256:
            raise Refused(f"its item set of {one.name} is another one than here (sha256 {str(one.items_sha256)[:10]}…)")
        asked[one.name] = Asked(benchmark, one.options)
    if not asked:
        raise Refused("it names no benchmark")
    return Prepared(config, asked, files)


def _check_options(benchmark: Benchmark, config: BenchmarkConfig) -> None:
    """Given as a user would give them, the options that are not the default must come out as they are in the file."""
    try:
        usual = benchmark.options(config.item_set, {})
        given = {name: _typed(value) for name, value in config.options.items() if usual.get(name) != value}
        given.pop("item_set", None)
        known = {option.name for option in benchmark.option_help()}
        same = set(given) <= known and benchmark.options(config.item_set, given) == config.options
    except EqlabError as error:
        raise Refused(f"its options of {config.name} do not hold: {error}") from error
    if not same:
        raise Refused(f"its options of {config.name} are not those that {config.name} has")


def _typed(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def planned(here: Prepared, attempts: Mapping[Place, list[Answer]], answers: int) -> dict[Place, Trial]:
    """What was to be asked; stops as soon as there are fewer answers than trials."""
    trials: dict[Place, Trial] = {}
    try:
        _add(trials, here.plan(), answers)
        for model in here.config.models:
            for name in here.asked:
                while more := _next_round(here, model.subject, name, trials, attempts):
                    _add(trials, ((model.subject, name, trial, repeat) for trial, repeat in more), answers)
    except EqlabError as error:
        raise error if isinstance(error, Refused) else Refused(f"its plan cannot be made: {error}") from error
    return trials


def _add(found: dict[Place, Trial], trials: Iterable[tuple[str, str, Trial, int]], answers: int) -> None:
    for subject, benchmark, trial, repeat in trials:
        found[subject, benchmark, trial.id, repeat] = trial
        if len(found) > answers:
            raise Refused(f"it has {many(answers, 'answer')}, fewer than its configuration asks for")


def _next_round(
    here: Prepared, subject: str, name: str, found: Mapping[Place, Trial], attempts: Mapping[Place, list[Answer]]
) -> list[tuple[Trial, int]]:
    """What a benchmark asks after these answers, adaptive or in talks: the same answers always lead to the same."""
    asked = here.asked[name]
    if not isinstance(asked.benchmark, Adaptive | Talks):
        return []
    (model,) = [model for model in here.config.models if model.subject == subject]
    scored = [
        Scored(trial, place[3], tuple(sorted(attempts.get(place, ()), key=lambda answer: answer.attempt)))
        for place, trial in found.items()
        if place[:2] == (subject, name)
    ]
    more = [(trial, n) for _, trial, n in open_talks(name, asked.benchmark, asked.options, scored).following]
    if isinstance(asked.benchmark, Adaptive):
        more += asked.benchmark.more(here.files[name], asked.options, here.selection(model), scored)
    return [(trial, repeat) for trial, repeat in more if (subject, name, trial.id, repeat) not in found]
