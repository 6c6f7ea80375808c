"""A talk study on a real server, with a chat server on loopback in the other seat, for tests; and a person who walks
it."""

import asyncio
import html
import json
import re
from contextlib import contextmanager
from dataclasses import replace

import httpx
from web_case import CODES, SECRET, open_desks

from eqlab.core.study import Panel
from eqlab.store.store import Store
from eqlab.study.build_design import design_of
from eqlab.study.file import read_study
from eqlab.study.web.server import running
from eqlab.study.web.settings import ServerSettings

PANEL = Panel("none-such", "PID", codes=CODES)
HELP = "In distress? Call 0800 123, day and night."
MACHINE = "You will talk with a computer program."
TALK = """
id = "talk"
kind = "talk"
title = "A talk"
{top}
[arms]
{arms}
[talk]
help = "{help}"
machine = "{machine}"
told = "consent"
turns = 3
least_wait = 0
pace = 0
patience = {patience}
{talk}
[[scale]]
key = "understood"
text = "The other one understood me."
low = 1
high = 7
ends = ["not at all", "completely"]
[consent]
text = "We study talks."
contact = "Dr. Who"
keep_until = "the end"
[checks]
attention = 0
[analysis]
exclude = []
[places]
people_per_batch = 50
{tables}
[debrief]
text = "That was it, and this is what it was about."
"""
ARMS = {"kestrel": "good-model-x1", "heron": "bad-model-x2"}


def talk_text(
    base="http://127.0.0.1:9/v1", *, top="", talk="", tables="", arms=ARMS, help_line=HELP, machine=MACHINE, patience=3
):
    named = "\n".join(f'{name} = "{spec}@{base}"' if base else f'{name} = "{spec}"' for name, spec in arms.items())
    return TALK.format(
        top=top, arms=named, talk=talk, tables=tables, help=help_line, machine=machine, patience=patience
    )


def price_file(folder, monkeypatch, *, given=0.0, made=1000.0, specs=()):
    """What a million tokens of these models, or of all arms, cost, as EQLAB_PRICES names it."""
    priced = specs or ARMS.values()
    rows = "".join(f'[[price]]\nmodels = ["{spec}"]\ninput = {given}\noutput = {made}\n' for spec in priced)
    path = folder / "prices.toml"
    path.write_text(f'date = "2026-01-01"\ncurrency = "EUR"\nsource = "test"\n{rows}')
    monkeypatch.setenv("EQLAB_PRICES", str(path))


def talk_design(folder, base, **more):
    store = Store(str(folder / "made.db"))
    try:
        return design_of(read_study(talk_text(base, **more)), store)
    finally:
        store.close()


@contextmanager
def talking(folder, server, design=None, **more):
    """The study's address and its participation, while the block lasts."""
    design = design or talk_design(folder, f"http://127.0.0.1:{server.port}/v1", **more)
    design = replace(design, study=replace(design.study, panel=PANEL))
    store, studies = open_desks(folder, [design])
    with running(studies, ServerSettings(secret=SECRET, rehearsal=True)) as base:
        site = TalkSite(base, studies[0])
        try:
            yield site
        finally:
            for person in site.people:
                person.client.close()
    store.close()


class TalkSite:
    def __init__(self, base, served):
        self.base, self.served, self.participation = base, served, served.participation
        self.people = []

    def person(self, name="p-1"):
        self.people.append(Person(self.base, name))
        return self.people[-1]

    def turns(self, person=None):
        """(seat or listener, status, text) of every stored turn, in order."""
        from eqlab.study.results.participants import read_participants

        people = read_participants(self.participation).people
        return [
            (bool(one.trial.seat), answer.status, answer.text, dict(answer.values), answer.finish)
            for who in people
            for one in who.turns
            for answer in one.attempts
        ]


class Person:
    """Somebody in a browser without scripts."""

    def __init__(self, base, name):
        self.base = base
        self.client = httpx.Client(base_url=base, headers={"Origin": base}, follow_redirects=True, timeout=60)
        self.page = self.client.get("/s/talk", params={"PID": name})

    def begin(self):
        """Through the consent to the talk."""
        self.page = self.client.post("/s/talk/page", data={"step": "0", "agree": "yes"})
        assert self.page.status_code == 200, self.page.text
        return self

    @property
    def text(self):
        return html.unescape(self.page.text)

    @property
    def state(self):
        found = re.search(r'data-state="(\w+)"', self.page.text)
        return found.group(1) if found else None

    @property
    def lines(self):
        return [
            (who, html.unescape(said))
            for who, said in re.findall(
                r'<li class="line (you|other)"><b.*?</b><p>(.*?)</p>', self.page.text, re.DOTALL
            )
        ]

    @property
    def place(self):
        step, turn = (
            int(re.search(rf'name="{name}" value="(\d+)"', self.page.text).group(1)) for name in ("step", "turn")
        )
        return step, turn

    def look(self):
        self.page = self.client.get("/s/talk/page")
        return self

    def until_answered(self):
        import time

        deadline = time.monotonic() + 30
        while self.look().state == "wait" and time.monotonic() < deadline:
            time.sleep(0.05)
        return self

    def post(self, do="send", *, headers=None, **fields):
        step, turn = self.place
        data = {
            "step": str(step),
            "turn": str(turn),
            "do": do,
            **{name.replace("_", "."): str(v) for name, v in fields.items()},
        }
        return self.client.post("/s/talk/talk", data=data, headers=headers or {})

    def say(self, says="", emotion=None, do="send", **more):
        fields = {"v_says": says, **({} if emotion is None else {"v_emotion": emotion}), **more}
        self.page = self.post(do, **fields)
        return self

    def rate(self, value=5):
        step = re.search(r'name="step" value="(\d+)"', self.page.text).group(1)
        self.page = self.client.post("/s/talk/page", data={"step": step, "attempt": "1", "v.understood": str(value)})
        return self

    def finish(self):
        step = re.search(r'name="step" value="(\d+)"', self.page.text).group(1)
        self.page = self.client.post("/s/talk/page", data={"step": step, "attempt": "1"})
        return self


def taken_for_people(store):
    """Simulated people of a study get the pseudonyms of real ones."""
    from sqlalchemy import func, update

    from eqlab.store.schema import answers, metadata, planned

    with store.engine.begin() as connection:
        for table in metadata.tables.values():
            if "person" in table.c:
                connection.execute(update(table).values(person=func.replace(table.c.person, "sim", "51a")))
        for table in (answers, planned):
            connection.execute(update(table).values(subject=func.replace(table.c.subject, ":sim", ":51a")))


def talked(design, store, people):
    """So many people, from arrival to the end, each with a talk of two messages; the study's models are asked."""
    from eqlab.core.studied import Truth
    from eqlab.store.study.participation import Participation
    from eqlab.study.served_study import ServedStudy
    from eqlab.study.simulation.personas import World

    served = ServedStudy(Participation(store, design))
    world = World(design, Truth(0.0), 1)

    async def hold(person, number):
        while (view := await served.talks.look(person)) is not None:
            if view.state == "wait":
                await served.talks.wait(person, 10)
            elif view.state == "say":
                first = view.turn == 0
                feels = 20 + 7 * number % 40 if first else 40 + 11 * number % 30
                said = {"feeling": "", "emotion": feels, "leaves": int(not first)}
                values = {**said, "says": "My week was hard." if first else ""}
                assert await served.talks.say(person, view.turn, values, json.dumps(values)) == "kept"
            else:
                assert await served.talks.go_on(person, view.step) == "kept", view.state

    async def main():
        for number in range(people):
            person = served.participation.arrive(f"panel-{number}", "en")
            served.participation.consent(person, agreed=True)
            mind = world.mind(str(number))
            while (view := served.participation.look(person)).step is not None:
                if view.step.kind == "talk":
                    await hold(person, number)
                    continue
                values = dict(world.answer(mind, view.trial)) if view.trial else {}
                assert served.participation.save(person, view.number, view.attempt, values).outcome == "saved"
        await served.talks.close()

    asyncio.run(main())
    served.close()


def calls(site):
    """The calls to models that the store holds."""
    from sqlalchemy import select

    from eqlab.store.schema import talk_calls

    with site.participation.store.engine.connect() as connection:
        return connection.execute(select(talk_calls)).all()


def one(site):
    """The only person of a study."""
    from eqlab.study.results.participants import read_participants

    (person,) = read_participants(site.participation).people
    return person
