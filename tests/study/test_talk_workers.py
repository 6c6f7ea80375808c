"""Talks at a server of several processes: a turn asked by one is seen at another, no question is asked twice, and what
one process has learnt of a model that is down holds at all."""

import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace

import httpx
import pytest
from talk_case import PANEL, Person, TalkSite, calls, talk_design, talk_text
from web_case import SECRET

from eqlab.store.store import Store
from eqlab.store.study import talks
from eqlab.store.study.participation import Participation
from eqlab.store.study.records import erase_person
from eqlab.store.study.studies import create_study
from eqlab.store.study.talks import CallLimits
from eqlab.study.results.participants import read_participants

pytest.importorskip("fastapi")


class Held:
    """Replies that wait until they are let go."""

    def __init__(self, server):
        self.gate = threading.Event()
        server.before, server.reply = self.wait, lambda body, number: f"Reply to {body['messages'][-1]['content']}"

    async def wait(self, body):
        import asyncio

        await asyncio.get_running_loop().run_in_executor(None, self.gate.wait, 30)


@pytest.fixture
def two(tmp_path, store_url, server):
    """Two servers on one store, each with connections of its own, as two processes have them."""
    from eqlab.study.served_study import ServedStudy
    from eqlab.study.web.server import running
    from eqlab.study.web.settings import ServerSettings

    design = talk_design(tmp_path, server.url, patience=25)  # a busy machine is not a model that is down
    design = replace(design, study=replace(design.study, panel=PANEL))
    with ExitStack() as open_:
        sites = []
        for _ in range(2):
            store = Store(store_url)
            open_.callback(store.close)
            create_study(store, design, "", "test", {})
            served = ServedStudy(Participation(store, design))
            base = open_.enter_context(running([served], ServerSettings(secret=SECRET, rehearsal=True)))
            sites.append(TalkSite(base, served))
        yield sites
        for person in (one for site in sites for one in site.people):
            person.client.close()


def elsewhere(person, site):
    """The same browser at the other process."""
    other = object.__new__(Person)
    other.base, other.page = site.base, person.page
    other.client = httpx.Client(
        base_url=site.base,
        headers={"Origin": site.base},
        cookies=dict(person.client.cookies),
        follow_redirects=True,
        timeout=60,
    )
    site.people.append(other)
    return other


def send(person, says, emotion):
    """Without waiting for the reply."""
    told = person.look().post(v_says=says, v_emotion=emotion, headers={"Accept": "application/json"})
    assert told.json()["outcome"] == "kept", told.text


def test_asked_by_one_and_seen_at_the_other(two, server):
    held = Held(server)
    here = two[0].person().begin()
    there = elsewhere(here, two[1])
    send(here, "One.", 40)
    with ThreadPoolExecutor(8) as pool:
        looks = list(pool.map(lambda one: elsewhere(one, site_of(one, two)).look().state, [here, there] * 4))
    assert set(looks) == {"wait"}
    held.gate.set()
    assert there.until_answered().lines == [("you", "One."), ("other", "Reply to One.")]
    send(there, "Two.", 50)
    assert here.until_answered().lines[-1] == ("other", "Reply to Two.")
    assert [body["messages"][-1]["content"] for body in server.requests] == ["One.", "Two."]
    assert [row.state for row in calls(two[0])] == ["done", "done"]


def test_a_reply_that_is_stored_while_somebody_looks_is_not_a_model_that_is_down(two, server, monkeypatch):
    """Between the two things that a look reads: what was answered, and who is being asked."""
    held, asked = Held(server), threading.Event()
    wait = server.before

    async def say_so_and_wait(body):
        asked.set()
        await wait(body)

    server.before = say_so_and_wait
    here = two[0].person().begin()
    there = elsewhere(here, two[1])
    send(here, "One.", 40)
    assert asked.wait(60)
    read, looked = talks._answers, []

    def read_and_be_overtaken(*where):
        found = read(*where)
        if not looked:
            looked.append(found)
            held.gate.set()
            while calls(two[0])[0].state == "asked":
                time.sleep(0.01)
        return found

    monkeypatch.setattr(talks, "_answers", read_and_be_overtaken)
    assert there.look().state == "wait"
    assert looked
    assert there.until_answered().lines == [("you", "One."), ("other", "Reply to One.")]


def site_of(person, two):
    return next(site for site in two if site.base == person.base)


def test_a_model_that_is_down_is_down_everywhere_and_is_asked_again_once(two, server):
    from aiohttp import web

    server.reply = lambda body, number: web.Response(status=500)
    here = two[0].person().begin()
    there = elsewhere(here, two[1])
    assert here.say("One.", 40).state == "down"
    asked = len(server.requests)
    for _ in range(3):
        assert (there.look().state, here.look().state) == ("down", "down")
    assert len(server.requests) == asked, "nobody is asked because somebody looks"
    server.reply = lambda body, number: f"Reply to {body['messages'][-1]['content']}"
    there.page = there.post("retry")
    assert there.until_answered().lines[-1] == ("other", "Reply to One.")
    assert here.look().state == "say"
    assert len(server.requests) == asked + 1
    here.say("Two.", 50)
    assert here.lines[-1] == ("other", "Reply to Two."), "what was wrong with the first reply is over"
    assert [row.state for row in calls(two[0])] == ["retried"] * asked + ["done", "done"]


def test_asking_again_at_both_is_one_question(two, server):
    from aiohttp import web

    server.reply = lambda body, number: web.Response(status=500)
    here = two[0].person().begin()
    there = elsewhere(here, two[1])
    assert here.say("One.", 40).state == "down"
    there.look()
    asked, held = len(server.requests), Held(server)
    with ThreadPoolExecutor(2) as pool:
        waiting = [pool.submit(one.post, "retry", headers={"Accept": "application/json"}) for one in (here, there)]
        told = [one.result().json()["outcome"] for one in waiting]
    assert set(told) <= {"kept", "again"}
    held.gate.set()
    assert there.until_answered().lines[-1] == here.until_answered().lines[-1] == ("other", "Reply to One.")
    assert len(server.requests) == asked + 1


def test_a_limit_that_one_process_has_found_holds_at_the_other(two, server, monkeypatch):
    """ "Go on without a reply" was refused without a word, and taken at the second press."""
    server.reply = lambda body, number: "Mhm."
    person = two[0].person("p-1").begin().say("One.", 40).until_answered()
    monkeypatch.setattr("eqlab.study.conversations.limits_of", lambda _: CallLimits(None, None, 1, 1))
    assert person.say("Two.", 40).until_answered().state == "spent"
    told = elsewhere(person, two[1]).post("without", headers={"Accept": "application/json"}).json()
    assert told["outcome"] == "kept"


@pytest.mark.parametrize("store_url", ["postgresql"], indirect=True)
def test_the_real_server_with_two_processes(tmp_path, store_url, server):
    """Every request on a new connection, to whichever process takes it."""
    server.reply = lambda body, number: f"Reply to {body['messages'][-1]['content']}"
    (tmp_path / "talk.toml").write_text(talk_text(server.url, patience=20))
    environment = {**os.environ, "EQLAB_HOME": str(tmp_path / "home"), "PYTHONPATH": os.pathsep.join(sys.path)}
    process = subprocess.Popen(
        [sys.executable, "-c", "from eqlab.cli.main import main; main()", "study", "serve", "talk.toml", "--port", "0",
         "--workers", "2", "--store", store_url],
        cwd=tmp_path, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    try:
        found = next(one for line in process.stdout if (one := re.search(r"participants\s+(http://[^/]+)/s/", line)))
        people = [Person(found.group(1), f"p-{number}") for number in range(3)]

        def talk(number):
            person = people[number]
            person.client.headers["Connection"] = "close"
            person.page = person.client.post("/s/talk/start")
            person.begin()
            for turn in range(3):
                person.say(f"{number} {turn}", 50)
                person.until_answered()
                assert person.lines[-1] == ("other", f"Reply to {number} {turn}")
            person.client.close()

        with ThreadPoolExecutor(3) as pool:
            list(pool.map(talk, range(3)))
    finally:
        process.send_signal(signal.SIGTERM)
        assert process.wait(40) in (0, -signal.SIGTERM)
        process.stdout.close()
    asked = Counter(body["messages"][-1]["content"] for body in server.requests)
    assert asked == {f"{number} {turn}": 1 for number in range(3) for turn in range(3)}


def test_a_process_among_several_says_why_it_ends(tmp_path, server):
    """It ended with status 1 and not one word, whatever was wrong."""
    (tmp_path / "talk.toml").write_text(talk_text(server.url))
    environment = {**os.environ, "EQLAB_HOME": str(tmp_path / "home"), "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", "from eqlab.cli.main import main; main()", "study", "serve", "talk.toml", "--port", "0",
         "--workers", "2", "--store", "s.db"],
        cwd=tmp_path, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 1
    assert "Several processes need PostgreSQL." in done.stderr


def test_who_is_erased_while_a_question_is_written_down_is_named_nowhere(two, server, monkeypatch):
    """The deletion comes between looking for the person and the row of the call, from another process."""
    server.reply = lambda body, number: "Reply."
    here = two[0].person().begin()
    (person,) = [one.person for one in read_participants(two[0].participation).people]
    erasing = []
    spent = talks._spent

    def meanwhile(connection, where):
        if not erasing:
            erasing.append(threading.Thread(target=erase_person, args=(two[1].participation, person, "person")))
            erasing[0].start()
            erasing[0].join(1)  # it waits for this very row
        return spent(connection, where)

    monkeypatch.setattr(talks, "_spent", meanwhile)
    here.post(v_says="One.", v_emotion=40)
    erasing[0].join(30)
    assert not erasing[0].is_alive()
    assert person not in {row.person for row in calls(two[0])}
