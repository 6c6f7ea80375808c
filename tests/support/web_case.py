"""A study on a web server for tests: a client that walks through it as a browser would."""

import html
import re
from contextlib import ExitStack
from dataclasses import replace

from argon2 import PasswordHasher
from small_study import small_design
from sqlalchemy import select
from starlette.testclient import TestClient

from eqlab.core.study import Panel
from eqlab.store.store import Store
from eqlab.store.study.participation import Participation
from eqlab.store.study.studies import create_study
from eqlab.study.served_study import ServedStudy
from eqlab.study.web.app import create_app
from eqlab.study.web.settings import ServerSettings

BASE = "http://study.test"
CODES = (("complete", "C-COMPLETE"), ("declined", "C-DECLINED"), ("failed", "C-FAILED"), ("full", "C-FULL"))
PROLIFIC = Panel(
    "prolific", "PROLIFIC_PID", "SESSION_ID", "STUDY_ID", "https://app.prolific.com/submissions/complete?cc={code}",
    CODES,
)  # fmt: skip
SECRET = b"0123456789abcdef0123456789abcdef"
PASSWORD = "correct horse battery"
HASH = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1).hash(PASSWORD)  # cheap: tests check often


def rows(site, table):
    with site.store.engine.connect() as connection:
        return list(connection.execute(select(table)))


def with_language(design, language):
    return replace(design, study=replace(design.study, language=language))


def open_desks(folder, designs, clock=None):
    with ExitStack() as closing:
        store = Store(str(folder / "store.db"))
        closing.callback(store.close)
        studies = []
        for design in designs:
            create_study(store, design, "", "test", {})
            studies.append(ServedStudy(Participation(store, design, clock) if clock else Participation(store, design)))
        closing.pop_all()
    return store, studies


class Site:
    """An application, and as many browsers as wanted."""

    def __init__(self, folder, *designs, clock=None, **settings):
        self.folder = folder
        self.store, self.studies = open_desks(folder, designs or (small_design(panel=PROLIFIC),), clock)
        with ExitStack() as closing:
            closing.callback(self.store.close)
            self.settings = ServerSettings(**{"secret": SECRET, **settings})
            self.app = create_app(self.studies, self.settings)
            closing.pop_all()

    @classmethod
    def over(cls, store, participations):
        """Of studies that have begun in a store; the store stays open."""
        site = cls.__new__(cls)
        site.store, site.studies = store, [ServedStudy(one) for one in participations]
        site.settings = ServerSettings(secret=SECRET)
        site.app = create_app(site.studies, site.settings)
        return site

    def browser(self, **more):
        headers = {"Sec-Fetch-Site": "same-origin", **more.pop("headers", {})}
        base = BASE if self.settings.public_url else "http://localhost"
        return TestClient(self.app, base_url=base, headers=headers, **more)

    @property
    def participation(self):
        return self.studies[0].participation

    def close_studies(self):
        for served in self.studies:
            served.close()

    def close(self):
        self.close_studies()
        self.store.close()


def enter(client, study="small", panel_id="p-1"):
    return client.get(f"/s/{study}", params={"PROLIFIC_PID": panel_id, "STUDY_ID": "st", "SESSION_ID": "se"})


def resume(client, asked, page, code=None):
    """Go on in another browser, with the code that stands on a page of the first."""
    right = re.search(r'<code id="resume">([^<]+)</code>', page.text).group(1)
    who = re.search(r'name="who" value="([^"]+)"', asked.text).group(1)
    return client.post(f"/s/{asked.url.path.split('/')[2]}/resume", data={"who": who, "code": code or right})


def fields_of(text):
    """The form of a page as a browser would send it, nothing chosen yet."""
    form = re.search(r'<form[^>]*id="page".*?</form>', text, flags=re.DOTALL)
    if form is None:
        return None
    hidden = re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)"', form.group(0))
    return {name: html.unescape(value) for name, value in hidden}


def choices_of(text):
    """Every radio group of a page: name → values."""
    found = {}
    for name, value in re.findall(r'<input type="radio" name="([^"]+)" value="([^"]+)"', text):
        found.setdefault(html.unescape(name), []).append(value)
    return found


def fill(text, choose=lambda name, values: values[0]):
    """The post that answers a page."""
    sent = fields_of(text)
    if "I agree" in text or 'name="agree"' in text:
        sent["agree"] = "yes"
    for name, values in choices_of(text).items():
        sent[name] = choose(name, values)
    asked = re.search(r"Please choose (\d)\.", text)
    if asked:
        sent["v.rating"] = asked.group(1)
    return sent


def walk(client, reply, choose=lambda name, values: values[0], until=None):
    """Answer page after page; the last reply, and the pages seen on the way."""
    seen = [reply]
    study = reply.url.path.split("/")[2]
    while fields_of(reply.text) is not None and not (until and until(reply)):
        reply = client.post(f"/s/{study}/page", data=fill(reply.text, choose))
        seen.append(reply)
        if len(seen) > 60:
            raise AssertionError("this does not end")
    return reply, seen
