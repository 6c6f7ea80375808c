"""A store with answers of known skill, no model asked; and a view of it, with a browser that came in by its token."""

import html
import random
import re

import eqlab as api
from eqlab.core.answers import Answer
from eqlab.runs.identity import provenance
from eqlab.view.app import create_app, make_site

PORT = 8123
BASE = f"http://127.0.0.1:{PORT}"
SKILL = {"lab/careful": 0.5, "lab/hasty": 3.0, "lab/terse": 5.0}
"""Spread of each model's answers around the reference."""


def prepared(models=tuple(SKILL), benchmarks=("eqbench",), limit=12, **more):
    named = {"profile": "full", "structured": False, "base_url": "http://localhost:9/v1", **more}
    return api.prepare(api.Request(tuple(models), tuple(benchmarks), limit=limit, **named))


def near(trial, subject, repeat):
    """A reply that lies around the reference, as far off as the model's skill says."""
    draw = random.Random(f"{subject} {trial.id} {repeat}")
    spread = SKILL.get(subject.removeprefix("model:"), 2.0)
    reference = trial.key.get("reference", {})
    values = {s.key: round(reference.get(s.key, 5) + draw.gauss(0, spread)) for s in trial.form.scales}
    return "\n".join(f"{key}: {max(0, min(10, value))}" for key, value in values.items())


def fill(path, plan=None, reply=near, leave=0, at=1_790_000_000.0, **answer):
    """Answers all trials of a run but the last `leave` of each model; says the run's id."""
    plan = plan or prepared()
    with api.open_store(str(path)) as store:
        trials = list(plan.plan())
        store.begin_run(plan.config, trials, provenance({}))
        kept = {}
        for subject, name, trial, repeat in trials:
            kept.setdefault(subject, []).append((name, trial, repeat))
        for subject, own in kept.items():
            store.add_answers([_answer(plan, subject, *one, reply, at, answer) for one in own[: len(own) - leave]])
    return plan.config.id


def _answer(plan, subject, name, trial, repeat, reply, at, more):
    asked = plan.asked[name]
    text = reply(trial, subject, repeat)
    read = asked.benchmark.read(trial, text, asked.options)
    fields = {"note": read.note, "tokens_in": 300, "tokens_out": 40, "latency": 0.4, "at": at, **more}
    return Answer(
        run=plan.config.id, trial=trial.id, subject=subject, repeat=repeat, attempt=1, text=text, status=read.status,
        values=read.values, **fields,
    )  # fmt: skip


class View:
    """A view of a store. Its shelf is read when a test says so, not by the clock of a thread."""

    def __init__(self, where, **more):
        self.site = make_site(str(where), **more)
        self.app = create_app(self.site, PORT)
        self.read()
        self.site.shelf.start = self.site.shelf.close = lambda: None
        self.client = self.browser()
        self.root = self.client.get("/", params={"token": self.site.token}).url.path.rstrip("/")
        self.client.base_url = f"{BASE}{self.root}"

    def read(self):
        with self.site.store() as store:
            self.site.shelf.read(store)

    def browser(self, **headers):
        from starlette.testclient import TestClient

        return TestClient(self.app, base_url=BASE, headers={"Sec-Fetch-Site": "same-origin", **headers})

    def get(self, path, code=200, **params):
        """A page with its links as the client takes them, without the secret path."""
        reply = self.client.get(path, params=params)
        assert reply.status_code == code, words(reply.text)
        return reply.text.replace(self.root, "")


def words(page):
    """What a page says, without its drawings."""
    plain = re.sub(r"<svg.*?</svg>|<script.*?</script>", " ", page, flags=re.DOTALL)
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", plain)).split())
