"""What a submission's configuration asks, made anew here: options that a user could give, its trials, and for
an adaptive run every round that the answers lead to."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from eqlab.benchmarks.registry import load, names
from eqlab.core.answers import Answer
from eqlab.core.benchmark import Adaptive, Benchmark, Scored, Talks, check_item_set
from eqlab.core.errors import EqlabError
from eqlab.core.runs import BenchmarkConfig, RunConfig
from eqlab.core.trials import Trial
from eqlab.data.items import read_sources
from eqlab.models.runner import Asked
from eqlab.models.talks import open_talks
from eqlab.publish.leaderboard.submission import Refused
from eqlab.runs.identity import configured
from eqlab.runs.request import Prepared

Place = tuple[str, str, str, int]
"""Subject, benchmark, trial, repeat."""


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


def _check_options(benchmark: Benchmark, one: BenchmarkConfig) -> None:
    """Given as a user would give them, the options that are not the default must come out as they are in the file."""
    try:
        usual = benchmark.options(one.item_set, {})
        given = {name: _typed(value) for name, value in one.options.items() if usual.get(name) != value}
        given.pop("item_set", None)
        known = {option.name for option in benchmark.option_help()}
        same = set(given) <= known and benchmark.options(one.item_set, given) == one.options
    except EqlabError as error:
        raise Refused(f"its options of {one.name} do not hold: {error}") from error
    if not same:
        raise Refused(f"its options of {one.name} are not those that {one.name} has")


def _typed(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def planned(here: Prepared, attempts: Mapping[Place, list[Answer]], answers: int) -> dict[Place, Trial]:
    """What was to be asked; stops as soon as there are fewer answers than trials."""
    found: dict[Place, Trial] = {}
    try:
        _add(found, here.plan(), answers)
        for model in here.config.models:
            for name in here.asked:
                while more := _next_round(here, model.subject, name, found, attempts):
                    _add(found, ((model.subject, name, trial, repeat) for trial, repeat in more), answers)
    except EqlabError as error:
        raise error if isinstance(error, Refused) else Refused(f"its plan cannot be made: {error}") from error
    return found


def _add(found: dict[Place, Trial], trials: Iterable[tuple[str, str, Trial, int]], answers: int) -> None:
    for subject, benchmark, trial, repeat in trials:
        found[subject, benchmark, trial.id, repeat] = trial
        if len(found) > answers:
            raise Refused(f"it has {answers} answers, fewer than its configuration asks for")


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
