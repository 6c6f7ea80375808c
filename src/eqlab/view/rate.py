"""Rate: a few replies, blind and in a shuffled order, by keys. Ratings go into the store as people's, each under a
pseudonym, where a judge is calibrated by them; how far raters agree is said at once. Colleagues are no sample, and the
page says so."""

import random
import secrets
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import field

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from eqlab.analysis.agreement import agreement
from eqlab.benchmarks.rating.benchmark import Ratings
from eqlab.benchmarks.rating.rated import rated
from eqlab.benchmarks.rating.trials import RATING, ReplyRow, single, to_jsonl
from eqlab.benchmarks.registry import find
from eqlab.core.answers import Answer
from eqlab.core.benchmark import Rated
from eqlab.core.errors import UsageError
from eqlab.core.grouping import grouped
from eqlab.core.results import Column, Estimate, Table
from eqlab.core.runs import PEOPLE, PERSON, RunConfig
from eqlab.core.trials import Trial
from eqlab.core.values import dataclass
from eqlab.runs.identity import provenance
from eqlab.store.access import open_store
from eqlab.store.reader import Reader
from eqlab.store.store import Store
from eqlab.view.judges import DRAWS, KAPPA
from eqlab.view.shelf import HeldRun, Snapshot
from eqlab.view.site import ViewSite, address, asked, asked_number, go_on, must, posted, site_of

USUAL, MOST = 20, 200
_MOST_SESSIONS = 100
_WRITING = threading.Lock()
Key = tuple[tuple[str, ...], str, str, int]
"""Whose reply, to which prompt, which repeat: the same reply whoever is shown it."""


@dataclass
class RatingSession:
    """One rater at work. The last rating waits until the next is given, so that it can be taken back."""

    id: str
    run: str
    """Whose replies are rated."""
    config: RunConfig
    """The run that the ratings go to."""
    rater: str
    """A pseudonym."""
    trials: Sequence[Trial]
    """In this rater's own order."""
    given: list[int | None] = field(default_factory=list)
    """One for each trial so far; None: passed over."""
    stored: int = 0
    count: int = USUAL
    """How many replies were asked for: another rater who asks for as many gets the same."""

    @property
    def link(self) -> str:
        """Where a second rater begins."""
        return address("/rate", run=self.run, count=self.count)

    @property
    def place(self) -> int:
        return len(self.given)

    @property
    def over(self) -> bool:
        return self.place >= len(self.trials)

    @property
    def may_undo(self) -> bool:
        return self.place > self.stored


def rate(request: Request) -> Response:
    site = site_of(request)
    runs = rateable(site.shelf.settle(0.3))
    return site.page(
        request, "rate", runs=runs, most=MOST, chosen=asked(request, "run"), levels=levels(),
        count=min(MOST, asked_number(request, "count", USUAL)),
    )  # fmt: skip


def levels() -> list[tuple[int, str]]:
    return list(RATING.anchors)


def rateable(snapshot: Snapshot) -> list[HeldRun]:
    """Runs with replies that are rated on the published form; talks have a rubric of their own, and a study."""
    return [
        run for run in snapshot.runs if run.stored.config.models and any(map(_is_rated, run.stored.config.benchmarks))
    ]


def _is_rated(config: object) -> bool:
    benchmark = find(str(getattr(config, "name", "")))
    return isinstance(benchmark, Rated) and not getattr(benchmark, "rubric", "")


async def begin(request: Request) -> Response:
    site, given = site_of(request), await posted(request)
    values = {name: "".join(given.get(name, ())[:1]).strip() for name in ("run", "count", "rater", "seed")}
    session = await run_in_threadpool(_begin, site, values)
    return go_on(request, f"/rate/{session.id}")


def _begin(site: ViewSite, values: Mapping[str, str]) -> RatingSession:
    from eqlab.runs.import_ratings import hashed, rater_key, ratings_run
    from eqlab.runs.judge import run_replies

    held: HeldRun = must(site.shelf.look().run(values["run"]), "No run of this store has this id.", "Choose one.")
    if not values["rater"]:
        raise UsageError("Who rates?", "Write a name or a word; only a pseudonym made of it is kept.")
    count = min(max(1, int(values["count"])), MOST) if values["count"].isdecimal() else USUAL
    with open_store(site.where, existing=bool(site.where)) as store:
        rows = drawn(run_replies(store, held.stored), count)
        config = ratings_run(to_jsonl(rows), f"view {held.id}")
        rater = hashed(values["rater"], rater_key())
        done = _done(store, config, rater)
    trials = [trial for trial in map(single, rows) if trial.id not in done]
    if not trials:
        raise UsageError("You have rated all of these.", "Choose more replies, or another run.")
    order = random.Random(f"{rater} {config.id}")
    order.shuffle(trials)
    session = RatingSession(secrets.token_urlsafe(9), held.id, config, rater, trials, count=count)
    while len(site.rating) >= _MOST_SESSIONS:
        site.rating.pop(next(iter(site.rating)))
    site.rating[session.id] = session
    return session


def drawn(rows: Sequence[ReplyRow], count: int) -> list[ReplyRow]:
    """The same for every rater: so many replies, as evenly over those who wrote them as their number allows."""
    arms = grouped((row.arm, row) for row in sorted(rows, key=lambda row: (row.arm, row.prompt, row.repeat)))
    prompts = sorted({row.prompt for row in rows})
    random.Random(0).shuffle(prompts)
    place = {prompt: number for number, prompt in enumerate(prompts)}
    queues = [sorted(arm, key=lambda row: (place[row.prompt], row.repeat)) for arm in arms.values()]
    reply_rows: list[ReplyRow] = []
    while len(reply_rows) < count and any(queues):
        reply_rows += [queue.pop(0) for queue in queues if queue]
    return reply_rows[:count]


def _done(store: Store, config: RunConfig, rater: str) -> set[str]:
    if config.id not in store.run_ids():
        return set()
    given = store.scored(config.id, f"{PERSON}{rater}", Ratings.name)
    return {scored.trial.id for scored in given if scored.attempts}


def page(request: Request) -> Response:
    site = site_of(request)
    session: RatingSession = must(
        site.rating.get(request.path_params["session"]), "This rating is over.", "Begin another on the page Rate."
    )
    done = None
    if session.over and session.stored == session.place:
        with site.store() as store:
            done = agreements(store, session)
    trial = None if session.over else session.trials[session.place]
    return site.page(request, "rating", session=session, trial=trial, levels=levels(), done=done)


async def give(request: Request) -> Response:
    site, given = site_of(request), await posted(request)
    session: RatingSession = must(
        site.rating.get(request.path_params["session"]), "This rating is over.", "Begin another on the page Rate."
    )
    action = "".join(given.get("action", ())[:1])
    place = "".join(given.get("place", ())[:1])
    if action == "undo" and session.may_undo:
        session.given.pop()
    elif action == "finish" and session.over:
        await run_in_threadpool(_store, site, session, session.place)
    elif place == str(session.place) and not session.over:  # a form that was sent twice counts once
        value = next((value for value, _ in levels() if str(value) == action), None)
        if value is not None or action == "skip":
            session.given.append(value)
            await run_in_threadpool(_store, site, session, session.place - 1)
    return go_on(request, f"/rate/{session.id}")


def _store(site: ViewSite, session: RatingSession, until: int) -> None:
    """Ratings up to a place that are not stored yet; each with its place in the plan, so that what was passed over is
    nobody's missing answer."""
    new = [(session.trials[place], session.given[place]) for place in range(session.stored, until)]
    kept = [(trial, value) for trial, value in new if value is not None]
    if kept:
        subject = f"{PERSON}{session.rater}"
        with _WRITING, open_store(site.where, existing=bool(site.where)) as store:
            store.begin_run(session.config, (), provenance({}))
            store.extend_plan(session.config.id, subject, [(Ratings.name, trial, 0) for trial, _ in kept])
            store.add_answers([_answer(session, subject, trial, value) for trial, value in kept])
    session.stored = max(session.stored, until)


def _answer(session: RatingSession, subject: str, trial: Trial, value: int) -> Answer:
    values = {RATING.key: value}
    return Answer(session.config.id, trial.id, subject, 0, 1, str(value), "ok", values, "rated here", at=time.time())


def agreements(store: Reader, session: RatingSession) -> Table | None:
    """This rater beside everybody else who rated the same replies: other people here, and judges of the run."""
    own = _ratings(store, session.config.id, f"{PERSON}{session.rater}")
    others: dict[str, Mapping[Key, int]] = {}
    people: dict[str, dict[Key, int]] = {}
    for reply in rated(store.scored(session.config.id, PEOPLE, Ratings.name)):
        who = reply.answer.subject if reply.answer else ""
        if reply.value is not None and who != f"{PERSON}{session.rater}":
            people.setdefault(who, {})[_key(reply.trial)] = reply.value
    others |= {f"person {number}": person for number, person in enumerate(people.values(), start=1)}
    for run in store.run_ids():
        for model in store.read_run(run).config.models:
            if model.role == "judge":
                others[f"{model.subject} ({run})"] = _ratings(store, run, model.subject)
    rows = [(name, found) for name, given in others.items() if (found := _agree(own, given))]
    columns = (Column("who", "with"), Column("kappa", "quadratic kappa", "estimate"))
    note = f"1: the same; 0: chance. 95 % interval over replies ({DRAWS} draws); n: replies that both rated."
    return Table("How far you agree", columns, rows, note) if rows else None


def _ratings(store: Reader, run: str, subject: str) -> dict[Key, int]:
    replies = rated(store.scored(run, subject, Ratings.name))
    rated_replies = [reply for reply in replies if reply.value is not None and reply.trial.form.scales == (RATING,)]
    return {_key(reply.trial): int(reply.value or 0) for reply in rated_replies}


def _key(trial: Trial) -> Key:
    key = trial.key
    return trial.items, str(key.get("arm")), str(key.get("reply")), int(key.get("reply_repeat") or 0)


def _agree(one: Mapping[Key, int], other: Mapping[Key, int]) -> Estimate | None:
    shared = [key for key in one if key in other]
    if not shared:
        return None
    interval = agreement([one[key] for key in shared], [other[key] for key in shared], draws=DRAWS).measures[KAPPA]
    return Estimate(KAPPA, interval.value, len(shared), None, interval.low, interval.high)


ROUTES = [
    Route("/rate", rate),
    Route("/rate", begin, methods=["POST"]),
    Route("/rate/{session}", page),
    Route("/rate/{session}", give, methods=["POST"]),
]
