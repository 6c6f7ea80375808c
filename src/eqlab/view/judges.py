"""Judges: whose word a rating is. How far judges agree, how mild each is, whether people's ratings bear them out, and
the replies in dispute."""

from itertools import combinations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from eqlab.analysis.agreement import agreement
from eqlab.benchmarks.rating.rated import rated
from eqlab.core.results import Cell, Column, Estimate, Table
from eqlab.core.runs import ModelConfig
from eqlab.runs.panel import drift_of, panel_of
from eqlab.store.reader import Reader
from eqlab.view.runs import full_result
from eqlab.view.shelf import HeldRun
from eqlab.view.site import asked, site_of

RATING = "rating"
KAPPA = "quadratic kappa"
DRAWS = 500
"""Of the bootstrap behind an interval: a page is made while somebody waits."""


def judges(request: Request) -> Response:
    site = site_of(request)
    snapshot = site.shelf.settle(0.3)
    runs = [run for run in snapshot.runs if _judges(run)]
    chosen = next((run for run in runs if run.id == asked(request, "run")), runs[0] if runs else None)
    if chosen is None:
        return site.page(request, "judges", runs=runs, chosen=None)
    with site.store() as store:
        panel = panel_of(store, chosen.stored)
        results = [
            found
            for model in _judges(chosen)
            if (found := full_result(site, store, chosen, model.subject, RATING)) is not None
        ]
        matrix = agreement_matrix(store, chosen)
        earlier = [run for run in runs if run.id != chosen.id and len(_judges(run)) == len(_judges(chosen)) == 1]
        before = next((run for run in earlier if run.id == asked(request, "before")), None)
        drift = drift_of(store, chosen.stored, before.stored) if before else None
    return site.page(
        request, "judges", runs=runs, chosen=chosen, panel=panel, results=results, matrix=matrix,
        earlier=earlier, before=before, drift=drift,
        live=not chosen.finished,
    )  # fmt: skip


def _judges(run: HeldRun) -> list[ModelConfig]:
    return [model for model in run.stored.config.models if model.role == "judge"]


def agreement_matrix(store: Reader, run: HeldRun) -> Table | None:
    """Every two judges of a run on the replies that both rated; None for one judge, and for pairs of replies."""
    given: dict[str, dict[tuple[str, int], int]] = {}
    levels = 0
    for model in _judges(run):
        own = given.setdefault(model.subject.removeprefix("judge:"), {})
        for rating in rated(store.scored(run.id, model.subject, RATING)):
            if rating.value is not None and len(rating.trial.form.scales) == 1:
                scale = rating.trial.form.scales[0]
                levels = max(levels, scale.high - scale.low + 1)
                own[rating.trial.id, rating.repeat] = rating.value - scale.low + 1
    names = [name for name, own in given.items() if own]
    if len(names) < 2 or not levels:
        return None
    cells: dict[tuple[str, str], Estimate] = {}
    for a, b in combinations(names, 2):
        shared = [key for key in given[a] if key in given[b]]
        measure = agreement(
            [given[a][key] for key in shared], [given[b][key] for key in shared], categories=levels, draws=DRAWS
        ).measures[KAPPA]
        cells[a, b] = cells[b, a] = Estimate(KAPPA, measure.value, len(shared), None, measure.low, measure.high)
    rows: list[list[Cell]] = [[a, *("" if a == b else cells[a, b] for b in names)] for a in names]
    columns = [Column("judge", "judge"), *(Column(f"j{n}", name, "estimate") for n, name in enumerate(names))]
    note = (
        f"Quadratic kappa of every two judges, 95 % interval over replies ({DRAWS} draws), n: replies that both rated."
    )
    return Table("How far judges agree", columns, rows, note)


ROUTES = [Route("/judges", judges)]
