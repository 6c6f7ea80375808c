"""Results of rating runs with what the store knows besides: people's ratings of the same replies, and the calibration
of the judge, which travels with every later use of it."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from eqlab.benchmarks.rating.prompt import prompt_sha256
from eqlab.benchmarks.rating.rated import rated
from eqlab.benchmarks.registry import load
from eqlab.core.benchmark import Scored
from eqlab.core.errors import StoreError
from eqlab.core.results import Result
from eqlab.core.runs import PEOPLE, BenchmarkConfig, ModelConfig
from eqlab.store.reader import Reader, StoredRun

RATING = "rating"
_ENOUGH_PAIRS = 100
"""People's ratings of the judged replies themselves with which a result needs no other calibration."""
People = Mapping[tuple[str, str], list[tuple[str, int]]]
"""(prompt, reply) → (rater, rating) of everybody who rated it."""


def rating_result(store: Reader, stored: StoredRun, subject: str, asked: BenchmarkConfig) -> Result:
    """One subject's result on one rating benchmark of a run."""
    scored: Iterable[Scored] = store.scored(stored.id, subject, asked.name)
    judge = next((model for model in stored.config.models if model.subject == subject), None)
    if judge is None or subject == PEOPLE:
        return load(asked.name).score(subject, scored, asked.options)
    if not asked.options["pairwise"]:
        scored = with_people(scored, people_ratings(store))
    result = load(asked.name).score(subject, scored, asked.options)
    if judge.spec == "embedded":
        caveat = "The embedded model is a tiny one (135M parameters): as a judge it proves the pipeline works, no more."
        result = replace(result, caveats=(caveat, *result.caveats))
    return result if asked.options["purpose"] == "calibration" else with_calibration(store, judge, asked, result)


def people_ratings(store: Reader) -> People:
    """Every rating that people have given to replies whose text is known, in all runs of the store."""
    found: dict[tuple[str, str], list[tuple[str, int]]] = {}
    for stored in _rating_runs(store):
        if stored.config.models:
            continue
        for one in rated(store.scored(stored.id, PEOPLE, RATING)):
            if one.value is not None and one.trial.condition == "absolute" and one.key.get("reply"):
                found.setdefault((one.prompt, one.key["reply"]), []).append((one.rater, one.value))
    return found


def with_people(scored: Iterable[Scored], people: People) -> Iterator[Scored]:
    """Trials that know what people said of the same reply to the same prompt."""
    for one in scored:
        key = one.trial.key
        more = people.get((key["prompt"], key["reply"]), [])
        if more:
            human = [*key.get("human", ()), *(list(pair) for pair in more)]
            one = replace(one, trial=replace(one.trial, key={**key, "human": human}))
        yield one


def with_calibration(store: Reader, judge: ModelConfig, asked: BenchmarkConfig, result: Result) -> Result:
    """The newest calibration of the same judge, under the same prompt and settings; or that there is none."""
    found = find_calibration(store, judge)
    command = f"eqlab judge calibrate {judge.spec}"
    if found is None and result.rules.get("calibration_pairs", 0) >= _ENOUGH_PAIRS:
        return replace(result, rules={**result.rules, "calibration": "on the same replies"})
    if found is None:
        caveat = f"This judge was never calibrated with this prompt and these settings: run '{command}'."
        return replace(result, caveats=(caveat, *result.caveats), rules={**result.rules, "calibration": "none"})
    run, known = found
    said = [f"Calibration of this judge (run {run}): {known.sentence}"]
    used, then = result.rules["snapshot"], known.rules["snapshot"]
    if used != then:
        said.append(f"It was calibrated as {then} and answers now as {used}: calibrate again with '{command}'.")
    if asked.options["pairwise"]:
        said.append("The calibration is of single ratings; no people's choices between pairs are known.")
    fine = [index for index, table in enumerate(result.tables) if table.title.startswith("P(Good) by")]
    place = fine[0] if fine else len(result.tables)  # before the finer tables, which few read
    return replace(
        result,
        caveats=(*said, *result.caveats),
        tables=(*result.tables[:place], *_not_yet(known, result), *result.tables[place:]),
        rules={**result.rules, "calibration": run},
    )


def find_calibration(store: Reader, judge: ModelConfig) -> tuple[str, Result] | None:
    """(run, result) of the newest calibration with at least one rating."""
    wanted = prompt_sha256(pairwise=False)
    for stored in _rating_runs(store):
        for asked in stored.config.benchmarks:
            options: Mapping[str, Any] = asked.options
            if options.get("purpose") != "calibration" or options.get("prompt_sha256") != wanted:
                continue
            if judge in stored.config.models:
                scored = store.scored(stored.id, judge.subject, RATING)
                known = load(RATING).score(judge.subject, scored, options)
                if known.headline.n:
                    return stored.id, known
    return None


def _not_yet(known: Result, result: Result) -> Iterator[Any]:
    """The calibration's tables, under a name of their own if the result is calibrated on its own replies too."""
    titles = {table.title for table in result.tables}
    for table in known.tables:
        if table.title.startswith("Calibration"):
            own = table.title in titles
            yield replace(table, title=f"{table.title} (published replies)") if own else table


def _rating_runs(store: Reader) -> Iterator[StoredRun]:
    """Newest first; runs that a newer version wrote are passed over."""
    for run in store.run_ids():
        try:
            stored = store.read_run(run)
        except StoreError:
            continue
        if any(benchmark.name == RATING for benchmark in stored.config.benchmarks):
            yield stored
