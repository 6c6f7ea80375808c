"""Start a run from a form: what it would ask and cost first, then the command line's own process, whose command is
shown. Keys come from the environment alone."""

import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request as WebRequest
from starlette.responses import Response
from starlette.routing import Route

from eqlab.benchmarks.registry import load, names, usual
from eqlab.core.benchmark import item_sets_of
from eqlab.core.errors import UsageError
from eqlab.core.results import Table
from eqlab.models.prices import known_prices
from eqlab.models.providers import PROVIDERS, key_of
from eqlab.runs.estimate import CHARACTERS_PER_TOKEN, forecast_rows, forecasts, refuse_absurd
from eqlab.runs.request import AUTO, ITEM_SETS, PROFILES, Prepared, Request, prepare
from eqlab.view.site import StartedRun, ViewSite, go_on, posted, site_of

_WAIT = 20
"""Seconds that a run which was told to stop has for storing what is under way."""
_MOST_KNOWN = 300
_FIELDS = ("model", "items", "profile", "limit", "repeats", "seed", "base_url", "max_cost")


def start(request: WebRequest) -> Response:
    """The form; with a model named, what that run would ask and cost. Nothing is asked or stored by looking."""
    site = site_of(request)
    given = {name: request.query_params.getlist(name) for name in (*_FIELDS, "b")}
    return _page(site, request, given)


def _page(site: ViewSite, request: WebRequest, given: Mapping[str, Sequence[str]], problem: str = "") -> Response:
    values = {name: "".join(given.get(name, ())[:1]) for name in _FIELDS}
    forecast, command, run = None, "", ""
    if values["model"].strip() and not problem:
        try:
            made = wanted(given)
            prepared = prepare(made)
            forecast, run = _forecast(site, prepared), prepared.config.id
            command = shlex.join(arguments(site, made, values["max_cost"]))
        except UsageError as error:
            problem = str(error)
    providers = [
        (name, provider.key_variable.replace(",", " or "), bool(key_of(provider.key_variable)))
        for name, provider in PROVIDERS.items()
    ]
    return site.page(
        request, "start", values=values, chosen=list(given.get("b", ())) or usual(), benchmarks=_benchmarks(),
        item_sets=(AUTO, *ITEM_SETS), profiles=PROFILES, forecast=forecast, command=command, run=run, problem=problem,
        providers=providers, characters=CHARACTERS_PER_TOKEN, known=_known_models(),
    )  # fmt: skip


def _known_models() -> list[str]:
    """Models with a known price whose provider's key is set, to choose from."""
    usable = {
        name for name, provider in PROVIDERS.items() if not provider.key_variable or key_of(provider.key_variable)
    }
    named = dict.fromkeys(model for price in known_prices().tables for model in price.models)
    return ["embedded", *(model for model in named if model.partition("/")[0] in usable)][:_MOST_KNOWN]


def _benchmarks() -> list[tuple[str, str, str]]:
    """(name, title, item sets) of those that a run can ask."""
    found = [(name, load(name)) for name in names()]
    return [
        (name, benchmark.title, " or ".join(sets))
        for name, benchmark in found
        if (sets := [kind for kind in item_sets_of(benchmark) if kind in ITEM_SETS])
    ]


def wanted(given: Mapping[str, Sequence[str]]) -> Request:
    """What a form asks for; raises UsageError where it makes no sense. `prepare` looks everything else up."""
    values = {name: "".join(given.get(name, ())[:1]).strip() for name in _FIELDS}
    models = tuple(values["model"].replace(",", " ").split())
    if not models or any(model.startswith("-") for model in models):
        raise UsageError("No model is named.", "Write PROVIDER/MODEL, several with blanks between them.")
    if values["items"] not in ("", AUTO, *ITEM_SETS):  # a page names no file of this machine
        raise UsageError("These items are unknown.", f"Choose {', '.join((AUTO, *ITEM_SETS))}.")
    return Request(
        models=models,
        benchmarks=tuple(one for one in given.get("b", ()) if one) or None,
        items=values["items"] or AUTO,
        profile=values["profile"] or "quick",
        limit=_whole("limit", values["limit"]),
        repeats=_whole("repeats", values["repeats"]),
        seed=_whole("seed", values["seed"]) or 0,
        base_url=values["base_url"],
    )


def _whole(name: str, said: str) -> int | None:
    if not said:
        return None
    if not said.isdecimal() or len(said) > 9:
        raise UsageError(f"--{name} '{said[:20]}' is no whole number.", "Give 1 or more, or leave it empty.")
    return int(said)


def _amount(said: str) -> str:
    try:
        return f"{float(said):g}" if said else ""
    except ValueError:
        raise UsageError(f"--max-cost '{said[:20]}' is no amount.", "Give a number, or leave it empty.") from None


def arguments(site: ViewSite, request: Request, max_cost: str = "") -> list[str]:
    """The command line of a run; models stand last, after a mark, so that none is taken for a flag."""
    parts = ["eqlab", "run"]
    for name in request.asked_benchmarks:
        parts += ["-b", name]
    parts += ["--items", request.items, "--profile", request.profile]
    for flag, value in (("--limit", request.limit), ("--repeats", request.repeats), ("--seed", request.seed or None)):
        parts += [flag, str(value)] if value is not None else []
    parts += ["--base-url", request.base_url] if request.base_url else []
    parts += ["--max-cost", amount] if (amount := _amount(max_cost.strip())) else []
    parts += ["--store", site.where] if site.where else []
    return [*parts, "--", *request.asked_models]


def _forecast(site: ViewSite, prepared: Prepared) -> Table:
    refuse_absurd(prepared)
    with site.store() as store:
        titles, rows = forecast_rows(forecasts(prepared, store, known_prices()))
    return Table("What it will ask", titles, rows)


async def begin(request: WebRequest) -> Response:
    """Start it, or go on with it, as the command does."""
    site = site_of(request)
    given = await posted(request)
    try:
        run = await run_in_threadpool(_begin, site, given)
    except UsageError as error:
        return await run_in_threadpool(_page, site, request, given, str(error))
    return go_on(request, f"/run/{run}")


def _begin(site: ViewSite, given: Mapping[str, Sequence[str]]) -> str:
    request = wanted(given)
    prepared = prepare(request)
    refuse_absurd(prepared)
    run = prepared.config.id
    before = site.started.get(run)
    if before is None or not before.going:
        command = arguments(site, request, "".join(given.get("max_cost", ())[:1]))
        folder = Path(tempfile.mkdtemp(prefix="eqlab-view-"))
        log = folder / "run.log"
        report = ["--report", str(folder / "report.html")]
        cut = command.index("--")
        with log.open("wb") as out:
            process = subprocess.Popen(
                [sys.executable, "-m", "eqlab", *command[1:cut], *report, *command[cut:]],
                stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT, start_new_session=True,
            )  # fmt: skip
        site.started[run] = StartedRun(shlex.join(command), process, log)
    site.shelf.expect(run)
    return run


async def stop(request: WebRequest) -> Response:
    """What Ctrl-C does to a run of this process, or to one that was started from a page."""
    site = site_of(request)
    given = await posted(request)
    run = "".join(given.get("run", ())[:1])
    if run in site.started:
        site.started[run].stop()
    elif site.stop is not None and site.stop[0] == run:
        site.stop[1]()
    else:
        raise HTTPException(404)
    return go_on(request, f"/run/{run}")


def end_all(site: ViewSite) -> None:
    """Runs that were started from pages end with the view, and store what is under way."""
    for run in site.started.values():
        run.stop()
    for started_run in site.started.values():
        try:
            started_run.process.wait(_WAIT)
        except subprocess.TimeoutExpired:
            started_run.process.send_signal(signal.SIGTERM)
            started_run.process.wait()
        shutil.rmtree(started_run.log.parent, ignore_errors=True)


ROUTES = [
    Route("/start", start),
    Route("/start", begin, methods=["POST"]),
    Route("/stop", stop, methods=["POST"]),
]
