"""A study rehearsed with simulated people: put an effect in, walk the real server, and see what the analysis finds and
whether everybody and every answer is counted.

Simulated people without a server: the same personas on the same plans, straight to the analysis. For many
repetitions, where the server has been walked once and only the analysis is in question."""

import asyncio
import json
import math
import secrets
import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from importlib.metadata import version
from itertools import chain
from pathlib import Path
from statistics import fmean
from typing import Any

from aiohttp import web
from msgspec import structs

from eqlab.analysis.intervals import proportion_estimate
from eqlab.benchmarks.registry import load
from eqlab.core.answers import Answer
from eqlab.core.benchmark import Scored, Turn
from eqlab.core.design import Design, Step, choose_arm, personal_seed
from eqlab.core.errors import UsageError
from eqlab.core.moves import State
from eqlab.core.plural import many
from eqlab.core.results import Estimate
from eqlab.core.runs import PERSON, ModelConfig
from eqlab.core.studied import Conversing, Recovered, Truth
from eqlab.core.study import Panel, Study
from eqlab.core.trials import Message, Trial, outgoing
from eqlab.core.values import dataclass
from eqlab.models.runner import place_in_talk
from eqlab.runs.identity import provenance
from eqlab.store.access import open_store
from eqlab.store.study.participation import Participation
from eqlab.store.study.records import count_answers
from eqlab.store.study.studies import create_study
from eqlab.study.kinds import kind_of
from eqlab.study.results.analysis import (
    AnalysisSample,
    StudyAnalysis,
    analyse,
    people_result,
    select_sample,
    write_report,
)
from eqlab.study.results.participants import Given, Participant, Participants, participant, read_participants
from eqlab.study.served_study import ServedStudy
from eqlab.study.simulation.personas import Player, World, players
from eqlab.study.simulation.walk import Address, Walked, walk_all

_START = 1_000_000.0


class _Places:
    """Open places by arm, in the order in which a participation gives them out. Nobody here comes back late."""

    def __init__(self, design: Design) -> None:
        self._design = design
        self._arms = design.arms
        self._open: dict[str, list[int]] = {arm: [] for arm in design.arms}
        self._queues: dict[str, list[tuple[str, int]]] = {}
        places = list(design.places())
        for place in places:
            self._open[place.arm].append(place.batch)
        if design.in_order:
            for stratum, _ in design.quotas:
                own = design.numbers(stratum)
                self._queues[stratum] = [(place.arm, place.batch) for place in places[own.start : own.stop]]

    @property
    def left(self) -> bool:
        return any(self._queues.values()) if self._queues else any(self._open.values())

    def claim(self, seed: int, values: Mapping[str, Any]) -> tuple[str, int] | None:
        """`values`: what the person answered to the questions before."""
        if self._queues:
            queue = self._queues.get(self._design.stratum(values) or "", [])
            return queue.pop(0) if queue else None
        arm = choose_arm({arm: len(own) for arm, own in self._open.items()}, self._arms, seed, self._design.sizes)
        return None if arm is None else (arm, self._open[arm].pop(0))


def rehearse(design: Design, players: Sequence[Player]) -> Participants:
    """Everybody one after the other, as if each were quick enough to keep their place."""
    places = _Places(design)
    return Participants(tuple(_walk(design, places, player) for player in players), ())


def _walk(design: Design, places: _Places, player: Player) -> Participant:
    person = f"sim{player.number:06d}"
    seed = personal_seed(design.study.seed, person)
    steps: tuple[Step, ...] = design.first_steps()
    given: list[Given] = []
    number, attempt, now = 0, 1, _START
    state: State = "arrived" if places.left else "full"
    held: tuple[str, int] | None = None
    consented = False
    values_before: Mapping[str, Any] = {}
    turns: list[Scored] = []
    while state in ("arrived", "taking"):
        step = steps[number]
        trial = design.trials.get(step.trial)
        if step.kind == "talk" and trial is not None and held is not None and number != player.leaves_at:
            talked, seconds = _talk(design, player, person, held[0], trial, now)
            turns += talked
            now += seconds
            given.append(Given(number, "talk", trial, 1, talked[0].attempts[0].values, None, 0.0, now))
            number += 1
            continue
        act = player.act(step.kind, trial, number, attempt)
        if act.values is None:
            break
        now += act.seconds
        if step.kind == "consent" and not act.agree:
            state = "declined"
            break
        consented = True
        if step.kind == "question" and held is None:
            values_before = act.values
        if trial is not None:
            given.append(Given(number, step.kind, trial, attempt, act.values, act.seconds, 0.0, now))
            if step.kind == "quiz" and act.values != trial.key["right"]:
                if attempt >= design.study.tutorial.tries:
                    state = "failed"
                attempt += 1
                continue
        if step.kind == "debrief":
            state = "finished"
            break
        number, attempt = number + 1, 1
        if number == len(steps):
            held = places.claim(seed, values_before)
            if held is None:
                state = "full"
                break
            state = "taking"
            steps = (*steps, *design.own_steps(*held, seed))
    return participant(
        design,
        person=person,
        state=state,
        held=held,
        page=number,
        steps=steps,
        times=(_START, _START if consented else None, now if held else None, now),
        given=given,
        turns=turns,
    )


def _talk(
    design: Design, player: Player, person: str, arm: str, first: Trial, now: float
) -> tuple[list[Scored], float]:
    """A talk from the first turn to the end, the person's turns and the scripted model's; and the seconds it took."""
    kind = kind_of(design.study)
    (config,) = design.run.benchmarks
    benchmark = load(config.name)
    turns: list[Turn] = []
    trial: Trial | None = first
    heard, seconds = "", 0.0
    while trial is not None and isinstance(kind, Conversing):
        answer = Answer(design.run.id, trial.id, f"{PERSON}{person}", 0, 1, "", "ok", at=now + seconds)
        if kind.of_person(design.study, trial):
            values, text, took = player.talk(first, heard)
            seconds += took
            answer = structs.replace(answer, text=text, values=values, at=now + seconds)
        else:
            text = kind.scripted(design.study, arm, outgoing(trial))
            read = benchmark.read(trial, text, config.options)
            answer = structs.replace(
                answer, text=text, values=read.values, status=read.status, model="scripted", latency=0.0
            )
            heard = text
        turns.append(Turn(trial, answer))
        following = kind.next_turn(design.study, turns)
        trial = None if following is None else place_in_talk(following, turns)
    return [Scored(turn.trial, 0, (turn.answer,)) for turn in turns], seconds


@dataclass(frozen=True, slots=True)
class Simulation:
    """What is to be simulated."""

    people: int
    truth: Truth
    mix: Mapping[str, float]
    seed: int = 0
    at_once: int = 50
    think: float = 0.0


@dataclass(frozen=True, slots=True)
class SimulationOutcome:
    walked: tuple[Walked, ...]
    analysis: StudyAnalysis
    recovered: tuple[Recovered, ...]
    stored: int
    """Answers in the store."""
    acknowledged: int
    """Answers that simulated people saw acknowledged."""
    known: int
    """People in the store, those of this simulation only."""
    states: Mapping[str, int]
    """Their ends as the store has them."""

    @property
    def complaints(self) -> list[str]:
        """What must not be: an answer lost or doubled, a person uncounted, a leaver unseen."""
        said = []
        if self.stored != self.acknowledged:
            said.append(
                f"{many(self.acknowledged, 'answer was', 'answers were')} acknowledged, {self.stored} are stored."
            )
        if self.known != len(self.walked):
            said.append(f"{many(len(self.walked), 'person', 'people')} came, {self.known} are known.")
        seen = Counter(walked.end for walked in self.walked)
        said += [
            f"{many(seen[end], 'person has', 'people have')} {end}, the store says {self.states.get(end, 0)}."
            for end in sorted({*seen, *self.states})
            if seen[end] != self.states.get(end, 0)
        ]
        return said


def _end(state: str) -> str:
    return "left" if state in ("arrived", "taking") else "declined" if state == "declined" else "done"


def simulate(
    design: Design, file: str, wanted: Simulation, heard: Callable[[Walked], None], report: Path | None = None
) -> SimulationOutcome:
    """In a store of its own that is deleted afterwards, on a server of its own on loopback. People come as from a
    panel, so that they can change the device. Everybody is marked as simulated, and so is the result."""
    from eqlab.study.web.server import running
    from eqlab.study.web.settings import ServerSettings

    open_door = replace(design, study=replace(design.study, panel=Panel("simulated", person="PID")))
    with tempfile.TemporaryDirectory(prefix="eqlab-simulate-") as folder, scripted_models(design) as models:
        open_door = replace(open_door, study=at_once(open_door.study))
        with open_store(str(Path(folder) / "simulated.db")) as store:
            create_study(store, open_door, file, version("eqlab"), provenance({}))
            participation = Participation(store, open_door)
            settings = ServerSettings(secrets.token_bytes(32), arrival_burst=1e9, arrival_rate=1e9, rehearsal=True)
            with running([ServedStudy(participation, models)], settings) as base:
                address = Address(base, design.study.id, "PID", "simulated-")
                walked = walk(open_door, address, wanted, heard)
            outcome = conclude(participation, wanted, walked)
            if report is not None:
                write_report(participation, outcome.analysis, report)
    return outcome


def at_once(study: Study) -> Study:
    """Without what only spares people: scripted models wait for nobody, and simulated people write fast."""
    if study.talk is None:
        return study
    many = 10**9
    return replace(
        study,
        talk=replace(
            study.talk, least_wait=0.0, pace=0, per_minute=many, per_minute_all=many, max_calls=many,
            max_calls_person=many, max_cost=None, max_cost_person=None,
        ),
    )  # fmt: skip


def walk(design: Design, address: Address, wanted: Simulation, heard: Callable[[Walked], None]) -> list[Walked]:
    """Simulated people on the server at an address, whoever runs it."""
    everybody = cast(design, wanted, wanted.seed)
    return asyncio.run(walk_all(design, address, everybody, at_once=wanted.at_once, think=wanted.think, heard=heard))


def cast(design: Design, wanted: Simulation, seed: int) -> list[Player]:
    """Who comes, in this order."""
    return players(design, World(design, wanted.truth, seed), wanted.people, wanted.mix, seed)


@dataclass(frozen=True, slots=True)
class Before:
    """What a store held before the simulated people came."""

    answers: int = 0
    people: frozenset[str] = frozenset()


NOTHING = Before()


def before(participation: Participation) -> Before:
    return Before(
        count_answers(participation.store, participation.design.run.id),
        frozenset(person.person for person in read_participants(participation).people),
    )


def conclude(
    participation: Participation, wanted: Simulation, walked: Sequence[Walked], was: Before = NOTHING
) -> SimulationOutcome:
    """What the store and the analysis say of a walk."""
    analysis = analyse(participation)
    new = [person for person in read_participants(participation).people if person.person not in was.people]
    return SimulationOutcome(
        tuple(walked),
        analysis,
        recovered(participation.design, wanted.truth, analysis.sample),
        count_answers(participation.store, participation.design.run.id) - was.answers,
        sum(len(one.posted) for one in walked),
        len(new),
        Counter(_end(person.state) for person in new),
    )


def repeat(design: Design, wanted: Simulation, seed: int) -> tuple[Recovered, ...]:
    """Once more without a server: other people, other prompts, the same truth."""
    participants = rehearse(design, cast(design, wanted, seed))
    return recovered(design, wanted.truth, select_sample(participants, design.study.analysis.exclude))


def recovered(design: Design, truth: Truth, sample: AnalysisSample) -> tuple[Recovered, ...]:
    """The study's headline questions, with the answers that were put in, from who finished: a locked plan counts nobody
    else. Empty where nothing could be estimated."""
    finished = [person for person in sample.kept if person.state == "finished"]
    return tuple(kind_of(design.study).recovered(design, truth, people_result(design, finished)))


def coverage(repeats: Sequence[Sequence[Recovered]]) -> list[tuple[str, float, float, Estimate]]:
    """For each question: (name, put in, mean estimate, share of intervals that hold the truth with its own interval).
    Repetitions without an interval count as misses."""
    return [
        (
            name,
            own[0].put_in,
            fmean([one.found.value for one in own if one.found.value is not None] or [math.nan]),
            proportion_estimate(f"coverage, {name}", sum(recovery.inside is True for recovery in own), len(repeats)),
        )
        for name, own in _by_question(repeats).items()
    ]


def without_an_interval(repeats: Sequence[Sequence[Recovered]]) -> int:
    """In how many repetitions there was no estimate with an interval."""
    return sum(all(one.found.low is None for one in own) for own in repeats)


def power(repeats: Sequence[Sequence[Recovered]]) -> list[tuple[str, Estimate]]:
    """For each question with a null: (name, share of simulations that find it, by the plan's corrected test where the
    plan has one, with its own interval). A simulation without an interval has found nothing."""
    return [
        (name, proportion_estimate(f"power, {name}", sum(recovery.told is True for recovery in own), len(repeats)))
        for name, own in _by_question(repeats).items()
        if own[0].null is not None
    ]


def _by_question(repeats: Sequence[Sequence[Recovered]]) -> dict[str, list[Recovered]]:
    questions: dict[str, list[Recovered]] = {}
    for recovery in chain.from_iterable(repeats):
        questions.setdefault(recovery.name, []).append(recovery)
    return questions


# -- scripted models --------------------------------------------------------------------------------------------------


@contextmanager
def scripted_models(design: Design) -> Iterator[dict[str, ModelConfig] | None]:
    """A model on loopback for each arm, by arm, while the block lasts; None where a study has no talks. They speak the
    chat format that every server speaks, are asked as real ones are, and say what the study's kind has written down."""
    kind = kind_of(design.study)
    if not design.talks or not isinstance(kind, Conversing):
        yield None
        return
    arms = [name for name, _ in design.study.arms]
    real = kind.models(design.study)

    async def chat(request: web.Request) -> web.Response:
        body = json.loads(await request.read())
        messages = [Message(one["role"], str(one["content"])) for one in body["messages"]]
        text = kind.scripted(design.study, arms[int(str(body["model"]).rpartition("-")[2])], messages)
        choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
        usage = {"prompt_tokens": 100, "completion_tokens": 20}
        return web.json_response({"model": body["model"], "choices": [choice], "usage": usage})

    loop = asyncio.new_event_loop()
    ready = threading.Event()
    port: list[int] = []

    async def begin() -> web.AppRunner:
        app = web.Application()
        app.router.add_post("/v1/chat/completions", chat)
        runner = web.AppRunner(app, shutdown_timeout=0.5)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        port.append(int(runner.addresses[0][1]))
        return runner

    def work() -> None:
        asyncio.set_event_loop(loop)
        runner = loop.run_until_complete(begin())
        ready.set()
        loop.run_forever()
        loop.run_until_complete(runner.cleanup())
        loop.close()

    thread = threading.Thread(target=work, name="eqlab-scripted", daemon=True)
    thread.start()
    if not ready.wait(15):
        raise UsageError("The scripted models did not start.", "Try again.")
    base = f"http://127.0.0.1:{port[0]}/v1"
    try:
        yield {
            arm: ModelConfig(f"scripted-{number}", base, real[arm].structured, role=real[arm].role)
            for number, arm in enumerate(arms)
        }
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join(5)
