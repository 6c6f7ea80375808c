"""A judge's result with what is known besides: people's ratings of the same replies, and the calibration of the judge,
which travels with every later use of it."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from eqlab.benchmarks.rating.prompt import prompt_sha256
from eqlab.benchmarks.rating.rated import rated
from eqlab.benchmarks.rating.result import result
from eqlab.core.benchmark import Context, Scored
from eqlab.core.results import Result
from eqlab.core.runs import PEOPLE, ModelConfig

_ENOUGH_PAIRS = 100
"""People's ratings of the judged replies themselves with which a result needs no other calibration."""
People = Mapping[tuple[str, str], list[tuple[str, int]]]
"""(prompt, reply) → (rater, rating) of everybody who rated it."""


def judged(judge: ModelConfig, scored: Iterable[Scored], options: Mapping[str, Any], context: Context) -> Result:
    """One judge's result."""
    if not options["pairwise"]:
        scored = with_people(scored, context.once("people's ratings", lambda: people_ratings(context)))
    found = result(judge.subject, scored, options)
    if judge.spec == "embedded":
        caveat = "The embedded model is a tiny one (135M parameters): as a judge it proves the pipeline works, no more."
        found = replace(found, caveats=(caveat, *found.caveats))
    return found if options["purpose"] == "calibration" else with_calibration(context, judge, options, found)


def people_ratings(context: Context) -> People:
    """Every rating that people have given to replies whose text is known, in all runs of the store."""
    found: dict[tuple[str, str], list[tuple[str, int]]] = {}
    for run in context.others():
        if run.config.models:
            continue
        for one in rated(run.scored(PEOPLE)):
            if one.value is not None and one.trial.condition == "absolute" and one.key.get("reply"):
                found.setdefault((one.prompt, one.key["reply"]), []).append((one.rater, one.value))
    return found


def with_people(scored: Iterable[Scored], people: People) -> Iterator[Scored]:
    """Trials that know what people said of the same reply to the same prompt."""
    for one in scored:
        key = one.trial.key
        there = {rater for rater, _ in key.get("human", ())}  # a calibration brings its people along
        more = [pair for pair in people.get((key["prompt"], key["reply"]), []) if pair[0] not in there]
        if more:
            human = [*key.get("human", ()), *(list(pair) for pair in more)]
            one = replace(one, trial=replace(one.trial, key={**key, "human": human}))
        yield one


def with_calibration(context: Context, judge: ModelConfig, options: Mapping[str, Any], result: Result) -> Result:
    """The newest calibration of the same judge, under the same prompt and settings; or that there is none."""
    found = context.once(f"calibration of {judge}", lambda: find_calibration(context, judge))
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
    if options["pairwise"]:
        said.append("The calibration is of single ratings; no people's choices between pairs are known.")
    fine = [index for index, table in enumerate(result.tables) if table.title.startswith("P(Good) by")]
    place = fine[0] if fine else len(result.tables)  # before the finer tables, which few read
    return replace(
        result,
        caveats=(*said, *result.caveats),
        tables=(*result.tables[:place], *_not_yet(known, result), *result.tables[place:]),
        rules={**result.rules, "calibration": run},
    )


def find_calibration(context: Context, judge: ModelConfig) -> tuple[str, Result] | None:
    """(run, result) of the newest calibration with at least one rating."""
    wanted = prompt_sha256(pairwise=False)
    for run in context.others():
        options: Mapping[str, Any] = run.asked.options
        if options.get("purpose") != "calibration" or options.get("prompt_sha256") != wanted:
            continue
        if judge in run.config.models:
            known = result(judge.subject, run.scored(judge.subject), options)
            if known.headline.n:
                return run.config.id, known
    return None


def _not_yet(known: Result, result: Result) -> Iterator[Any]:
    """The calibration's tables, under a name of their own if the result is calibrated on its own replies too."""
    titles = {table.title for table in result.tables}
    for table in known.tables:
        if table.title.startswith("Calibration"):
            own = table.title in titles
            yield replace(table, title=f"{table.title} (published replies)") if own else table
