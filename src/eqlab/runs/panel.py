"""The judges of a run as one panel; and a judge beside the one before it."""

from collections.abc import Sequence

from eqlab.core.results import Result
from eqlab.runs.context import Known, StoreContext
from eqlab.store.reader import Reader, StoredRun


def panel_of(store: Reader, stored: StoredRun) -> Result | None:
    """The pooled result; None for one judge, and for a calibration."""
    judges = [model for model in stored.config.models if model.subject.startswith("judge:")]
    if len(judges) < 2:
        return None  # before ratings are loaded, which most reports have none of
    from eqlab.benchmarks.rating.benchmark import Ratings
    from eqlab.benchmarks.rating.panel import panel_by_form
    from eqlab.benchmarks.rating.rated import rated
    from eqlab.benchmarks.rating.score import people_ratings, with_people
    from eqlab.benchmarks.rating.trials import RatingOptions

    config = next(
        (benchmark_config for benchmark_config in stored.config.benchmarks if benchmark_config.name == Ratings.name),
        None,
    )
    if config is None or config.options["purpose"] == "calibration":
        return None
    scored = {
        model.subject.removeprefix("judge:"): store.scored(stored.id, model.subject, config.name) for model in judges
    }
    if not config.options["pairwise"]:
        people = people_ratings(StoreContext(Known(store), config, judges[0]))
        scored = {judge: with_people(own, people) for judge, own in scored.items()}
    return panel_by_form({judge: rated(own) for judge, own in scored.items()}, RatingOptions.of(config.options))


def with_panels(
    store: Reader, found: Sequence[tuple[StoredRun, Sequence[Result]]]
) -> list[tuple[StoredRun, list[Result]]]:
    """Runs with their results; before those of a run with several judges, what they say together."""
    made = []
    for stored, own in found:
        panel = panel_of(store, stored)
        made.append((stored, [*([panel] if panel else []), *own]))
    return made


def drift_of(store: Reader, stored: StoredRun, before: StoredRun) -> Result | None:
    """What the judge of a run says of replies that the judge of another run had rated."""
    from eqlab.benchmarks.rating.benchmark import Ratings
    from eqlab.benchmarks.rating.drift import drift_result
    from eqlab.benchmarks.rating.rated import rated

    (new,), (old,) = stored.config.models, before.config.models
    ratings = [
        rated(store.scored(run.id, model.subject, Ratings.name)) for run, model in ((before, old), (stored, new))
    ]
    names = [model.subject.removeprefix("judge:") for model in (old, new)]
    if names[0] == names[1]:
        names = [f"{name} (run {run.id})" for name, run in zip(names, (before, stored), strict=True)]
    return drift_result(names[0], ratings[0], names[1], ratings[1])
