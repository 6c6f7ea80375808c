"""A study's server for `bench/study.py`: two arms, the real application, any store. With `--bare`, a FastAPI page of
the same weight and nothing behind it: the floor."""

import argparse
import asyncio
from dataclasses import replace

from eqlab.core.design import Batch, Design
from eqlab.core.forms import Form, Scale
from eqlab.core.runs import BenchmarkConfig, RunConfig
from eqlab.core.study import Checks, Consent, Panel, Places, Study
from eqlab.core.trials import Trial

RATING = Scale("rating", "How empathetic is the reply?", 1, 3, ((1, "Bad"), (2, "Okay"), (3, "Good")))
ARMS = ("a", "b")


def design(places_per_arm: int, pages: int) -> Design:
    study = Study(
        "load",
        "rating",
        "Load",
        "en",
        0,
        Consent("1", "A load test.", "nobody@example.org", "today"),
        "Thank you.",
        checks=Checks(attention=0),
        places=Places(pages, places_per_arm, 60.0),
        panel=Panel("prolific", "PROLIFIC_PID", codes=(("complete", "DONE"),)),
    )
    batches = tuple(Batch(arm, 0, tuple(_trial(arm, page) for page in range(pages))) for arm in ARMS)
    config = BenchmarkConfig("rating", 1, "study", "load", {"purpose": "people", "pairwise": False, "study": "load"})
    return Design(study, RunConfig((), (config,), "full", None, None, 0), batches)


def _trial(arm: str, page: int) -> Trial:
    stimulus = (
        f"The person says:\n> {'Something happened to me today. ' * 6}\nThe other replies:\n> Reply {page} of {arm}."
    )
    key = {"prompt": f"p{page}", "arm": arm, "emotion": "sad", "valence": "negative", "words": 4, "reply": f"{page}"}
    return Trial("rating", (f"p{page}",), "absolute", stimulus, Form((RATING,)), stimulus, key=key)


def serve_study(store: str, port: int, made: Design, workers: int) -> None:
    from eqlab.store.store import Store
    from eqlab.store.study.participation import Participation
    from eqlab.store.study.studies import create_study
    from eqlab.study.served_study import ServedStudy
    from eqlab.study.web.server import listen, serve, share
    from eqlab.study.web.settings import ServerSettings

    with Store(store) as opened:
        create_study(opened, made, "", "bench", {})
    settings = ServerSettings(b"a secret of the bench and of nobody else", arrival_burst=1e9)
    listening = listen("127.0.0.1", port)

    def work(_: int) -> None:
        with Store(store) as own:
            serve([ServedStudy(Participation(own, made))], settings, "127.0.0.1", port, lambda _: None, listening)

    if workers > 1:
        share(workers, work)
    else:
        work(0)


def talk_design(models: str, places: int) -> Design:
    """People who talk with a model at this address; the study pays for three calls a person and not one more."""
    import tempfile
    from importlib import import_module

    import _support  # noqa: F401

    from eqlab.store.store import Store
    from eqlab.study.build_design import design_of
    from eqlab.study.file import read_study

    case = import_module("talk_case")
    limits = f"max_calls = {3 * places}\nmax_calls_person = 3\nper_minute = 600\nper_minute_all = 100000"
    text = case.talk_text(models, talk=limits, patience=120).replace(
        "people_per_batch = 50", f"people_per_batch = {places}"
    )
    with tempfile.TemporaryDirectory() as folder, Store(f"{folder}/made.db") as store:
        made = design_of(read_study(text), store)
    return replace(made, study=replace(made.study, panel=case.PANEL))


def serve_bare(port: int, size: int) -> None:
    import uvicorn
    from fastapi import FastAPI, Request
    from fastapi.responses import HTMLResponse, JSONResponse

    app = FastAPI()
    page = "x" * size

    @app.get("/page")
    async def get() -> HTMLResponse:
        return HTMLResponse(page)

    @app.post("/page")
    async def post(request: Request) -> JSONResponse:
        await request.form()
        return JSONResponse({"outcome": "saved"})

    asyncio.run(
        uvicorn.Server(
            uvicorn.Config(app, port=port, access_log=False, log_level="error", timeout_keep_alive=75)
        ).serve()
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--store", default="")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--places", type=int, default=500, help="per arm")
    parser.add_argument("--pages", type=int, default=10)
    parser.add_argument("--workers", type=int, default=1, help="processes; more than one with PostgreSQL only")
    parser.add_argument("--talk", default="", metavar="URL", help="talks with the models there instead of ratings")
    parser.add_argument("--bare", type=int, default=0, metavar="BYTES")
    asked = parser.parse_args()
    if asked.bare:
        serve_bare(asked.port, asked.bare)
    else:
        made = talk_design(asked.talk, asked.places) if asked.talk else design(asked.places, asked.pages)
        serve_study(asked.store, asked.port, made, asked.workers)
