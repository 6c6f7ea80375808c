"""The researcher's login and sessions, and the secret and the password that a server starts with."""

import re
import time
from dataclasses import replace

import pytest
from argon2 import PasswordHasher
from small_study import small_design
from web_case import HASH, PASSWORD, PROLIFIC, SECRET, enter, rows, walk

from eqlab.core.errors import UsageError
from eqlab.store.schema import places
from eqlab.study.web import credentials as credentials_module
from eqlab.study.web.credentials import credentials, keep_password, make_hash
from eqlab.study.web.settings import check_secret, is_local


@pytest.fixture(autouse=True)
def _cheap_hashes(monkeypatch):
    cheap = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)
    assert credentials_module._hasher.memory_cost >= 2**16, "the product's own are dear"
    monkeypatch.setattr(credentials_module, "_hasher", cheap)


# -- the researcher ------------------------------------------------------------------------------------------------


def login(client, password=PASSWORD):
    return client.post("/researcher/login", data={"password": password})


def test_login_opens_the_page_and_its_exports(make_site):
    site = make_site(password_hash=HASH)
    person, researcher = site.browser(), site.browser()
    walk(person, enter(person, panel_id="raw-panel-id"))
    assert login(researcher).url.path == "/researcher/"
    page = researcher.get("/researcher/small")
    assert "1 of 4" in page.text
    assert "raw-panel-id" not in page.text
    (name,) = [row.person for row in rows(site, places) if row.person]
    assert name not in page.text
    status = researcher.get("/researcher/small/status.json")
    assert status.json()["people"] == {"finished": 1}
    assert name not in status.text
    for what in ("answers.csv", "participants.parquet", "events.csv", "codebook.csv", "codebook.md"):
        reply = researcher.get(f"/researcher/small/export/{what}")
        assert reply.status_code == 200
        assert f'filename="small-{what}"' in reply.headers["content-disposition"]
    for what in ("answers.exe", "secrets.csv", "answers", "answers.md", "talks.csv"):
        assert researcher.get(f"/researcher/small/export/{what}").status_code == 404
    assert researcher.get("/researcher/nope").status_code == 404
    researcher.post("/researcher/logout")
    asked = researcher.get("/researcher/small")
    assert asked.url.path == "/researcher/login"
    assert researcher.get("/researcher/login?study=%22%3E%2F%2Felsewhere").text.count("//elsewhere") == 1  # as a value
    wanted = re.search(r'name="study" value="([^"]*)"', asked.text)[1]
    again = researcher.post("/researcher/login", data={"password": PASSWORD, "study": wanted})
    assert again.url.path == "/researcher/small"  # the page that was asked for
    assert 'href="/researcher/login"' in site.browser().get("/researcher/small/people").text
    elsewhere = researcher.post("/researcher/login", data={"password": PASSWORD, "study": "//elsewhere"})
    assert elsewhere.url.path == "/researcher/"


def test_wrong_passwords_wait(make_site):
    site = make_site(password_hash=HASH, login_burst=3, login_rate=0.0)
    client = site.browser()
    assert [login(client, f"wrong {n}").status_code for n in range(4)] == [401, 401, 401, 429]
    assert login(client).status_code == 429
    fresh = {"secret": b"f" * 16 + SECRET, "password_hash": HASH, "login_burst": 3, "login_rate": 0.0}
    other = make_site(small_design("two"), **fresh).browser()
    for _ in range(4):
        assert login(other).status_code == 200  # a right one uses nothing up


def test_without_a_password_nobody_logs_in(make_site):
    client = make_site().browser()
    assert login(client, "").status_code == 401
    assert login(client, "nobody has this password").status_code == 401


def test_sessions_end_with_time_and_with_the_password(make_site):
    site = make_site(password_hash=HASH)
    client = site.browser()
    login(client)
    here = site.app.state.site
    assert client.get("/researcher/small").status_code == 200
    here.clock = lambda: time.time() + 13 * 3600
    assert client.get("/researcher/small", follow_redirects=False).status_code == 303
    here.clock = time.time
    changed = make_site(small_design(panel=PROLIFIC), password_hash=make_hash("another good password")).browser()
    changed.cookies = client.cookies
    assert client.get("/researcher/small").url.path == "/researcher/small"
    assert changed.get("/researcher/small").url.path == "/researcher/login"


def test_the_owners_session_outlives_a_restart_and_ends_with_the_password(make_site, tmp_path):
    def started(password):
        given = {"EQLAB_STUDY_SECRET": GOOD, "EQLAB_STUDY_PASSWORD": password}
        return credentials(tmp_path, "localhost", "", "", given).settings

    first, again, other = started(PASSWORD), started(PASSWORD), started("another good password")
    assert first.password_hash != again.password_hash  # a hash has a salt of its own
    assert first.session_key == again.session_key != other.session_key
    site = make_site(password_hash=HASH, session_key=first.session_key)
    client = site.browser()
    login(client)
    here = site.app.state.site
    here.settings = replace(here.settings, password_hash=again.password_hash, session_key=again.session_key)
    assert client.get("/researcher/small/status.json").status_code == 200
    here.settings = replace(here.settings, session_key=other.session_key)
    assert client.get("/researcher/small/status.json").status_code == 401


def test_logging_out_ends_the_session_wherever_its_cookie_was_copied(make_site):
    site = make_site(password_hash=HASH)
    client, thief = site.browser(), site.browser()
    login(client)
    thief.cookies.set("eqlab_researcher", client.cookies["eqlab_researcher"])
    assert thief.get("/researcher/small/status.json").status_code == 200
    client.post("/researcher/logout")
    assert thief.get("/researcher/small/status.json").status_code == 401


# -- secret and password -------------------------------------------------------------------------------------------

GOOD = "5e1f0c9a7b3d2846f0e1d2c3b4a59687"


def test_outside_localhost_nothing_is_made_up(tmp_path):
    for host, url in (("0.0.0.0", ""), ("127.0.0.1", "https://study.example.org"), ("192.168.1.4", "")):
        with pytest.raises(UsageError, match="needs a secret"):
            credentials(tmp_path, host, url, "", {})
        with pytest.raises(UsageError, match="needs a password"):
            credentials(tmp_path, host, url, "", {"EQLAB_STUDY_SECRET": GOOD})
        full = {"EQLAB_STUDY_SECRET": GOOD, "EQLAB_STUDY_PASSWORD": PASSWORD, "EQLAB_STUDY_HOOK": "h"}
        found = credentials(tmp_path, host, url, "", full)
        assert (found.settings.secret, found.made_up, found.settings.hook_secret) == (GOOD.encode(), "", b"h")
    assert list(tmp_path.iterdir()) == []


def test_on_localhost_a_secret_is_made_once_and_a_password_for_each_start(tmp_path):
    first = credentials(tmp_path, "127.0.0.1", "", "", {})
    second = credentials(tmp_path, "localhost", "http://localhost:8000", "", {})
    assert first.settings.secret == second.settings.secret
    assert first.made_up != second.made_up
    assert (tmp_path / "study-secret").stat().st_mode & 0o777 == 0o600


def test_a_kept_password_counts_everywhere(tmp_path):
    path = keep_password(tmp_path, PASSWORD)
    assert PASSWORD not in path.read_text()
    assert path.stat().st_mode & 0o777 == 0o600
    found = credentials(tmp_path, "0.0.0.0", "", "", {})
    assert found.made_up == ""
    assert found.settings.password_hash.startswith("$argon2id$")
    with pytest.raises(UsageError, match="fewer than"):
        keep_password(tmp_path, "short")


@pytest.mark.parametrize("weak", ["short", "a" * 40, "changeme-changeme-changeme-changeme", "x" * 31])
def test_weak_secrets_are_refused(weak):
    with pytest.raises(UsageError, match="random"):
        check_secret(weak)


def test_what_is_local():
    assert is_local("127.0.0.1", "")
    assert is_local("::1", "http://localhost:8000")
    assert not is_local("0.0.0.0", "")
    assert not is_local("example.org", "")
    assert not is_local("127.0.0.1", "https://study.example.org")
