"""From ratings to a result: the maker for these raters and this form; and for a judge what other runs of the store
know: people's ratings of the same replies, and its calibration, which travels with every later use of it."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

from msgspec import structs

from eqlab.benchmarks.rating import judge, pairs, people
from eqlab.benchmarks.rating.rated import Outcome, RatedReply, as_result, is_people, rated
from eqlab.benchmarks.rating.trials import ABSOLUTE, PAIRWISE, SCALES, RatingOptions, condition_of, prompt_sha256
from eqlab.core.benchmark import Context, Scored
from eqlab.core.forms import Scale
from eqlab.core.results import Result, Table
from eqlab.core.runs import PEOPLE, ModelConfig
from eqlab.core.trials import Trial
from eqlab.data.items import PUBLISHED, shipped

Maker = Callable[[str, Sequence[RatedReply], RatingOptions], Outcome]
MAKERS: Mapping[tuple[Literal["judge", "people"], str], Maker] = {
    ("judge", ABSOLUTE): judge.published_outcome,
    ("judge", SCALES): judge.rubric_outcome,
    ("judge", PAIRWISE): pairs.judge_outcome,
    ("people", ABSOLUTE): people.published_outcome,
    ("people", SCALES): people.scales_outcome,
    ("people", PAIRWISE): pairs.people_outcome,
}
"""By who rates and on which form. Several judges are a panel (panel.py)."""


def result(subject: str, ratings: Sequence[RatedReply], options: Mapping[str, Any]) -> Result:
    raters: Literal["judge", "people"] = "people" if is_people(subject) else "judge"
    typed = RatingOptions.of(options)
    form = PAIRWISE if typed.pairwise else ABSOLUTE
    if ratings and ratings[0].condition == SCALES:
        form = SCALES
    who = PEOPLE if (raters, form) == ("people", SCALES) else subject
    return as_result(who, ratings, options, MAKERS[raters, form](subject, ratings, typed), form)


def judged_beside_people(
    model: ModelConfig, scored: Iterable[Scored], options: Mapping[str, Any], context: Context
) -> Result:
    """One judge's result with what other runs know."""
    typed = RatingOptions.of(options)
    if typed.pairwise:
        scored = with_choices(scored, context.once("people's choices", lambda: people_choices(context)))
    elif typed.purpose != "calibration":
        scored = with_people(scored, context.once("people's ratings", lambda: people_ratings(context)))
    else:
        scored = _held_against(scored, context, typed)
    found = result(model.subject, rated(scored), options)
    if model.spec == "embedded":
        caveat = "The embedded model is a tiny one (135M parameters): as a judge it proves the pipeline works, no more."
        found = replace(found, caveats=(caveat, *found.caveats))
    return found if typed.purpose == "calibration" else _with_calibration(context, model, typed, found)


# -- what people said of the same replies --------------------------------------------------------------------------

Scaled = tuple[str, Scale, int]
"""Who rated, on which scale, how."""
People = Mapping[tuple[str, ...], list[Scaled]]
"""What people said of single replies, by form (a trial's condition), prompt and reply, or arm besides."""
_REPLY = ("prompt", "reply")


def people_ratings(context: Context, of: Sequence[str] = _REPLY, only: Sequence[str] = ()) -> People:
    """Every rating that people have given to replies whose text is known, in all runs of the store, or `only` in some;
    of a rater's ratings of one reply in several runs those of the newest. `of`: what makes a reply the same."""
    found: dict[tuple[str, ...], list[Scaled]] = {}
    rated_in: dict[tuple[object, ...], str] = {}
    for run, reply in _rated_by_people(context, only):
        if reply.condition != PAIRWISE and reply.key.get("reply"):
            place = _place(reply.trial, of)
            own = [one for one in scaled(reply) if rated_in.setdefault((*place, one[0], one[1].key), run) == run]
            found.setdefault(place, []).extend(own)
    return found


def _place(trial: Trial, of: Sequence[str]) -> tuple[str, ...]:
    return condition_of(trial), *(str(trial.key[name]) for name in of)


def _rated_by_people(context: Context, only: Sequence[str] = ()) -> Iterator[tuple[str, RatedReply]]:
    """With their runs, newest first. A table that was imported once more under its name takes the old one's place."""
    imported: set[str] = set()
    for run in context.others():
        if only and run.config.id not in only:
            continue
        name = str(run.asked.options.get("imported_as", ""))
        if not run.config.models and name not in imported:
            imported |= {name} - {""}
            for reply in rated(run.scored(PEOPLE)):
                yield run.config.id, reply


def scaled(reply: RatedReply) -> Iterator[Scaled]:
    """One person's rating, scale by scale."""
    for scale in reply.trial.form.scales:
        if reply.status == "ok" and scale.key in reply.values:
            yield reply.rater, scale, reply.values[scale.key]


def same_scale(scale: Scale, other: Scale) -> bool:
    """Whether ratings on them can be put beside each other: their words may be in two languages."""
    return (scale.key, scale.low, scale.high, scale.reverse) == (other.key, other.low, other.high, other.reverse)


def with_people(scored: Iterable[Scored], people: People, of: Sequence[str] = _REPLY) -> Iterator[Scored]:
    """Trials that know what people said of the same reply to the same prompt."""
    for one in scored:
        trial, key = one.trial, one.trial.key
        name = "human_scales" if trial.condition == SCALES else "human"
        found = [
            [*((rater, scale.key) if trial.condition == SCALES else (rater,)), value]
            for rater, scale, value in people.get(_place(trial, of), ())
            if any(same_scale(scale, asked) for asked in trial.form.scales)
        ]
        if found:
            one = structs.replace(one, trial=replace(trial, key={**key, name: found}))
        yield one


def _held_against(scored: Iterable[Scored], context: Context, options: RatingOptions) -> Iterable[Scored]:
    """A calibration's trials with its people, and no others: those of its runs; of what was published, and in stores of
    before, they stand in the trial until they are erased: that is to be looked at anew, as other runs are."""
    if not options.against:
        context.once("whether there are other runs", lambda: next(iter(context.others()), None))
        return scored
    of, only = ("arm", *_REPLY), options.against
    return with_people(scored, context.once(f"ratings in {only}", lambda: people_ratings(context, of, only)), of)


Choices = Mapping[tuple[str, frozenset[str]], list[tuple[str, str, float]]]
"""(prompt, both replies) → (rater, a reply, points for it) of everybody who chose: 1 better, 0.5 a tie, 0 worse."""


def people_choices(context: Context) -> Choices:
    """Every choice of people between two replies whose texts are known."""
    found: dict[tuple[str, frozenset[str]], list[tuple[str, str, float]]] = {}
    for _, reply in _rated_by_people(context):
        if reply.condition == PAIRWISE and (points := reply.first_points) is not None:
            first, second = (str(text) for text in reply.key["replies"])
            found.setdefault((reply.prompt, frozenset((first, second))), []).append((reply.rater, first, points))
    return found


def with_choices(scored: Iterable[Scored], choices: Choices) -> Iterator[Scored]:
    """Pairs that know what people chose: (rater, points for the first reply as it stands here)."""
    for one in scored:
        key = one.trial.key
        first, second = (str(text) for text in key["replies"])
        own = choices.get((key["prompt"], frozenset((first, second))), []) if first != second else []
        if own:
            human = [[rater, points if shown == first else 1 - points] for rater, shown, points in own]
            one = structs.replace(one, trial=replace(one.trial, key={**key, "people": human}))
        yield one


# -- the judge's calibration ---------------------------------------------------------------------------------------

_ENOUGH_PAIRS = 100
"""People's ratings of the judged replies themselves with which a result needs no other calibration."""


def _with_calibration(context: Context, model: ModelConfig, options: RatingOptions, result: Result) -> Result:
    """The newest calibration of the same judge, under the same prompt and settings; or that there is none."""
    rubric = options.rubric_sha256
    found = context.once(f"calibration of {model}, {rubric}", lambda: find_calibration(context, model, options))
    command = f"eqlab judge calibrate {model.spec}"
    if rubric:
        command += f" --rubric {options.rubric} --against RUN"
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
    if options.pairwise:
        said.append("The calibration is of single ratings; no people's choices between pairs are known.")
    fine = [index for index, table in enumerate(result.tables) if table.title.startswith("P(Good) by")]
    place = fine[0] if fine else len(result.tables)  # before the finer tables, which few read
    return replace(
        result,
        caveats=(*said, *result.caveats),
        tables=(*result.tables[:place], *_not_yet(known, result), *result.tables[place:]),
        rules={**result.rules, "calibration": run},
    )


def find_calibration(context: Context, model: ModelConfig, rating_options: RatingOptions) -> tuple[str, Result] | None:
    """(run, result) of the newest calibration with at least one rating: of this judge with these settings, under this
    rubric and in these words."""
    rubric = rating_options.rubric_sha256
    if rubric:
        words = None if rating_options.pairwise else rating_options.prompt_sha256
    else:
        words = prompt_sha256(shipped(PUBLISHED), pairwise=False)
    for run in context.others():
        options = RatingOptions.of(run.asked.options)
        if options.purpose != "calibration" or options.rubric_sha256 != rubric:
            continue
        if model in run.config.models and words in (None, options.prompt_sha256):
            answered = _held_against(run.scored(model.subject), context, options)
            known = result(model.subject, rated(answered), run.asked.options)
            if known.headline.n:
                return run.config.id, known
    return None


def _not_yet(known: Result, result: Result) -> Iterator[Table]:
    """The calibration's tables, under a name of their own if the result is calibrated on its own replies too."""
    titles = {table.title for table in result.tables}
    for table in known.tables:
        if table.title.startswith("Calibration"):
            own = table.title in titles
            yield replace(table, title=f"{table.title} (replies of the calibration)") if own else table
