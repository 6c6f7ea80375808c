"""Seeds of one model taken together as repeats: runs that differ in seed and number of repeats alone are one result,
scored again from all answers. A two-seed sweep is one model asked twice, not two rivals."""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, replace

from msgspec import structs

from eqlab.core.benchmark import Scored
from eqlab.core.plural import many
from eqlab.core.results import Result, field_of
from eqlab.core.runs import PEOPLE, BenchmarkConfig, ModelConfig
from eqlab.runs.score import score
from eqlab.store.reader import Reader, StoredRun

Found = tuple[StoredRun, list[Result]]


Together = Callable[[Reader, Sequence[str], str, BenchmarkConfig, ModelConfig], Result]
"""Scores the answers of some runs of one model as one."""


def together(store: Reader, runs: Sequence[str], subject: str, config: BenchmarkConfig, model: ModelConfig) -> Result:
    return score(subject, config, _scored(store, runs, subject, config), model=model)


def pooled(store: Reader, scored_runs: Sequence[Found], score_together: Together = together) -> list[Found]:
    """The same runs in the same order; a result that several of them share stands with the first."""
    if len(scored_runs) < 2:
        return [(stored, list(results)) for stored, results in scored_runs]
    groups: dict[tuple[str, frozenset[str]], list[tuple[int, int]]] = {}
    for place, (stored, results) in enumerate(scored_runs):
        for index, (subject, asked) in _paired(stored, results):
            if _may_be_pooled(results[index]):
                key = _key(stored, subject, asked), frozenset(field_of(results[index].items, "item"))
                groups.setdefault(key, []).append((place, index))
    kept: list[dict[int, Result]] = [dict(enumerate(results)) for _, results in scored_runs]
    for places in groups.values():
        runs = list(dict.fromkeys(scored_runs[place][0].id for place, _ in places))
        if len(runs) < 2:
            continue
        (first, index), *others = places
        subject, asked = dict(_paired(*scored_runs[first]))[index]
        model = next(config for config in scored_runs[first][0].config.models if config.subject == subject)
        whole = score_together(store, runs, subject, asked, model)
        seeds = [str(scored_runs[place][0].config.seed) for place, _ in places]
        named = f"seeds {', '.join(seeds)}; {', '.join(runs)}"
        said = f"{many(len(runs), 'run')} of this model, taken together as repeats ({named})."
        kept[first][index] = replace(whole, caveats=(*whole.caveats, said))
        for place, other in others:
            del kept[place][other]
    return [(stored, [own[index] for index in sorted(own)]) for (stored, _), own in zip(scored_runs, kept, strict=True)]


def _paired(stored: StoredRun, results: Sequence[Result]) -> Iterator[tuple[int, tuple[str, BenchmarkConfig]]]:
    """Each result's place with what it is of; results stand in the order of the run, and some may be missing."""
    place = 0
    for subject, config in stored.config.pairs():
        if place < len(results) and (results[place].subject, results[place].benchmark) == (subject, config.name):
            yield place, (subject, config)
            place += 1


def _may_be_pooled(result: Result) -> bool:
    """Not people, who are many already; not raters, who are asked about other replies with another seed."""
    return result.subject != PEOPLE and result.others is None


def _key(stored: StoredRun, subject: str, benchmark_config: BenchmarkConfig) -> str:
    """Everything but the seed and the repeats; with the items asked, which an adaptive run chooses by its answers."""
    config = stored.config
    model = next(asdict(model_config) for model_config in config.models if model_config.subject == subject)
    return json.dumps([model, asdict(benchmark_config), config.profile, config.limit], sort_keys=True)


def _scored(store: Reader, runs: Sequence[str], subject: str, config: BenchmarkConfig) -> Iterator[Scored]:
    """All answers, the repeats of one run after those of the other."""
    before = 0
    for run in runs:
        most = -1
        for scored in store.scored(run, subject, config.name):
            most = max(most, scored.repeat)
            yield structs.replace(scored, repeat=before + scored.repeat)
        before += most + 1
