"""Several researchers: what each may do, what is kept of it, what is told to them, and what a study of a size finds."""

import json
import socket
import subprocess
import threading
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from types import SimpleNamespace

import pytest
from small_study import answer_for, small_design, take
from web_case import HASH, PASSWORD, PROLIFIC

from eqlab.core.errors import UsageError
from eqlab.core.results import Estimate
from eqlab.core.studied import Recovered
from eqlab.store.study.lock import lock_plan
from eqlab.store.study.researchers import keep_researcher, read_audit, remove_researcher
from eqlab.store.study.studies import read_status, set_status
from eqlab.study.overview import power_of
from eqlab.study.results.analysis import analysis_code, analysis_libraries
from eqlab.study.results.export import export_table
from eqlab.study.results.participants import read_participants
from eqlab.study.results.people import people_rows
from eqlab.study.results.status import study_status
from eqlab.study.simulation.simulate import power
from eqlab.study.web.log import Alert, AlertWatch, alerts, tellers
from eqlab.study.web.researcher import charts


@pytest.fixture
def site(make_site):
    made = make_site(small_design(panel=PROLIFIC), password_hash=HASH)
    for name, role in (("vera", "viewer"), ("max", "manager")):
        keep_researcher(made.store, name, role, HASH, 0.0, "setup")
    return made


def logged_in(site, name=""):
    client = site.browser()
    assert client.post("/researcher/login", data={"name": name, "password": PASSWORD}).status_code == 200
    return client


def test_a_viewer_sees_progress_and_takes_nothing_out_and_changes_nothing(site):
    person = site.participation.arrive("h", "en")
    viewer = logged_in(site, "vera")
    page = viewer.get("/researcher/small")
    assert page.status_code == 200
    assert "Close for good" not in page.text
    assert "Export" not in page.text
    told = viewer.get("/researcher/small/export/answers.csv")
    assert (told.status_code, "Managers see this page." in told.text) == (403, True)
    refused = viewer.get("/researcher/small/people")
    assert refused.status_code == 403
    assert "Your role does not reach this" in refused.text
    for what in ("pause", "close", "ban"):
        assert viewer.post("/researcher/small/act", data={"what": what, "person": person}).status_code == 403
    assert read_status(site.participation) == "open"
    assert site.participation.look(person).state == "arrived"


def test_a_viewers_own_password_opens_no_more_guesses_at_anothers(make_site):
    """Logging in between two guesses emptied the count of wrong ones: as many as one liked."""
    site = make_site(small_design(panel=PROLIFIC), password_hash=HASH, login_burst=3, login_rate=0.0)
    keep_researcher(site.store, "vera", "viewer", HASH, 0.0, "setup")
    client, statuses = site.browser(), []
    for number in range(6):
        guess = {"name": "", "password": f"guess {number}"}
        statuses.append(client.post("/researcher/login", data=guess).status_code)
        client.post("/researcher/login", data={"name": "vera", "password": PASSWORD})
    assert statuses == [401, 401, 401, 429, 429, 429]


def test_a_manager_acts_and_it_is_kept_who_did(site):
    person = site.participation.arrive("h", "en")
    take(site.participation, person, until="trial")
    manager = logged_in(site, "max")
    assert person in manager.get("/researcher/small/people").text
    manager.post("/researcher/small/act", data={"what": "pause"})
    assert read_status(site.participation) == "paused"
    manager.post("/researcher/small/act", data={"what": "resume"})
    manager.post("/researcher/small/act", data={"what": "release", "person": person})
    assert site.participation.look(person).state == "returned"
    for table in ("questions.csv", "codebook.md"):  # these hold no outcome, and are no look
        assert manager.get(f"/researcher/small/export/{table}").is_success
    assert not [one for one in read_audit(site.store, "small") if one.action == "exported"]
    manager.get("/researcher/small/export/answers.csv")
    done = [(one.who, one.action) for one in read_audit(site.store, "small")]
    for action in ("logged in", "paused", "resumed", "released", "exported"):
        assert ("max", action) in done
    assert "released" in manager.get("/researcher/small/people").text
    assert logged_in(site).get("/researcher/small/people").status_code == 200  # the server's own password


def test_a_closed_study_says_that_it_cannot_be_resumed_and_the_way_out(site):
    """An old tab, or a second manager, still has the button."""
    manager = logged_in(site, "max")
    manager.post("/researcher/small/act", data={"what": "close"})
    for what in ("resume", "pause"):
        reply = manager.post("/researcher/small/act", data={"what": what})
        assert reply.status_code == 409
        assert "Study &#39;small&#39; is closed for good. To go on, give the study a new id." in reply.text
        assert "All studies" in reply.text
    assert read_status(site.participation) == "closed"
    assert manager.post("/researcher/small/act", data={"what": "ban", "person": "nobody"}).status_code == 404


def test_the_list_of_people_tells_no_arms_while_a_locked_study_is_under_way(site):
    """Arms beside flags would be a look at results of which nothing is kept."""
    participation = site.participation
    lock_plan(participation, *analysis_code(), "ada", analysis_libraries())
    person = participation.arrive("h", "en")
    take(participation, person)
    arm = read_participants(participation).people[0].arm
    manager = logged_in(site, "max")

    def table():
        return manager.get("/researcher/small/people").text.split("What researchers did")[0]

    assert "Arms are not shown while a locked study is under way." in table()
    assert f"<td>{arm}</td>" not in table()
    assert [row.arm for row in people_rows(participation)] == [""]
    set_status(participation, "closed", "ada")
    assert f"<td>{arm}</td>" in table()
    assert "Arms are not shown" not in table()
    assert [row.arm for row in people_rows(participation)] == [arm]


def test_names_and_passwords_are_checked_alike(site):
    client = site.browser()
    for name, password in (("nobody", PASSWORD), ("vera", "wrong"), ("researcher", "wrong")):
        assert client.post("/researcher/login", data={"name": name, "password": password}).status_code == 401


def test_somebody_removed_is_logged_out_at_once(site):
    viewer = logged_in(site, "vera")
    remove_researcher(site.store, "vera", 1.0, "setup")
    assert viewer.get("/researcher/small/status.json").status_code == 401


def test_a_post_from_elsewhere_acts_on_nothing(site):
    manager = logged_in(site, "max")
    reply = manager.post("/researcher/small/act", data={"what": "close"}, headers={"Sec-Fetch-Site": "cross-site"})
    assert reply.status_code == 403
    assert read_status(site.participation) == "open"


def test_a_link_on_somebody_elses_page_makes_no_look(site):
    """A look before the places are filled stays known: nobody may make one in a manager's name."""
    manager = logged_in(site, "max")
    address = "/researcher/small/export/answers.csv"
    for elsewhere in ("cross-site", "same-site"):
        assert manager.get(address, headers={"Sec-Fetch-Site": elsewhere}).status_code == 403
    del manager.headers["Sec-Fetch-Site"]  # as browsers do on plain http
    for page in ("http://evil.example/", "http://localhost.evil.example/", "http://evil.example/http://localhost", ""):
        assert manager.get(address, headers={"Referer": page} if page else {}).status_code == 403
    assert manager.get(address, headers={"Origin": "null", "Referer": "http://localhost/"}).status_code == 403
    assert manager.get(address, headers={"Referer": "http://["}).status_code == 403
    assert not [entry for entry in read_audit(site.store, "small") if entry.action == "exported"]
    ours = ({"Sec-Fetch-Site": "same-origin"}, {"Sec-Fetch-Site": "none"}, {"Origin": "http://localhost"})
    for headers in (*ours, {"Referer": "http://localhost/researcher/small"}):
        assert manager.get(address, headers=headers).status_code == 200


def test_a_look_is_of_the_moment_that_was_read(make_site, monkeypatch):
    """The last place is filled after the rows were read, and before the look is written down."""
    site = make_site(small_design(panel=PROLIFIC, arms=("a",), batches=2), password_hash=HASH)
    places = len(list(site.participation.design.places()))
    take(site.participation, site.participation.arrive("h0", "en"))

    def and_then_every_place_is_filled(*given):
        found = export_table(*given)
        for number in range(1, places):
            take(site.participation, site.participation.arrive(f"h{number}", "en"))
        return found

    monkeypatch.setattr("eqlab.study.web.researcher.export_table", and_then_every_place_is_filled)
    assert logged_in(site).get("/researcher/small/export/answers.csv").status_code == 200
    (look,) = [one for one in read_audit(site.store, "small") if one.action == "exported"]
    assert (look.detail["done"], look.detail["planned"]) == (1, places)
    assert places > 1


# -- what is told --


def test_alerts_are_told_once_and_name_nobody(make_participation):
    participation = make_participation(arms=("a",), batches=1)
    person = participation.arrive("h", "en")
    assert list(alerts(study_status(participation))) == []
    take(participation, person)
    told = []
    watch = AlertWatch([type("Served", (), {"participation": participation})()], told.append)
    watch.look()
    watch.look()
    assert [one.about for one in told] == ["done"]
    assert person not in told[0].text
    crowded = replace(study_status(participation), impossible=4)
    assert {one.about for one in alerts(crowded)} == {"done", "times"}


class Quiet(BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass


@contextmanager
def listening(handler):
    """The address of a receiver of alerts."""
    server = HTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        server.server_close()


def test_alerts_reach_a_web_hook_and_a_command(tmp_path):
    heard = []

    class Hook(Quiet):
        def do_POST(self):
            heard.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
            self.send_response(204)
            self.end_headers()

    with listening(Hook) as url:
        for tell in tellers(url, f"tee '{tmp_path / 'mail'}'"):
            tell(Alert("small", "done", "Every place is done (2)."))
    assert heard == [{"study": "small", "about": "done", "text": "small: Every place is done (2)."}]
    assert (tmp_path / "mail").read_text() == "small: Every place is done (2).\n"


def test_who_hears_and_says_otherwise_is_not_told_every_minute_for_ever(make_participation):
    site, told = make_participation(arms=("a",), batches=1), []
    take(site, site.arrive("h", "en"))
    watch = AlertWatch([SimpleNamespace(participation=site)], lambda alert: bool(told.append(alert.text)))
    for _ in range(240):
        watch.look()
    assert 10 <= len(told) <= 15
    assert told[-1].endswith(f"failed attempts: {len(told) - 1}.)")


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_an_address_that_has_moved_has_heard_nothing(status):
    """A client that follows comes with a GET and without the words; any web page says 200 to that."""
    came = []

    class Moved(Quiet):
        def do_POST(self):
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(status)
            self.send_header("Location", f"http://127.0.0.1:{self.server.server_port}/new")
            self.end_headers()

        def do_GET(self):
            came.append(self.path)
            self.send_response(200)
            self.end_headers()

    with listening(Moved) as url:
        (tell,) = tellers(url, "")
        assert tell(Alert("small", "done", "Every place is done.")) is False
    assert came == []


def test_an_alert_that_could_not_be_sent_is_sent_later_with_a_count(make_participation):
    participation = make_participation(arms=("a",), batches=1)
    take(participation, participation.arrive("h", "en"))
    told, works = [], False

    def tell(alert):
        told.append(alert.text)
        return works

    watch = AlertWatch([type("Served", (), {"participation": participation})()], tell)
    watch.look()
    watch.look()
    works = True
    watch.look()
    watch.look()
    assert told == [
        "Every place is done (1).",
        "Every place is done (1). (Sent late; failed attempts: 1.)",
        "Every place is done (1). (Sent late; failed attempts: 2.)",
    ]


def test_a_broken_way_repeats_nothing_on_the_other(make_participation):
    """With an address that works and a command that is not there, the address heard the same every minute for ever."""
    participation = make_participation(arms=("a",), batches=1)
    take(participation, participation.arrive("h", "en"))
    heard, asked = [], []
    broken = lambda alert: asked.append(alert.text) or False  # noqa: E731
    watch = AlertWatch([type("Served", (), {"participation": participation})()], heard.append, broken)
    for _ in range(3):
        watch.look()
    assert [alert.text for alert in heard] == ["Every place is done (1)."]
    assert len(asked) == 3


def test_an_alert_that_cannot_be_delivered_stops_nothing(make_participation, monkeypatch):
    """One reply that was no HTTP ended all alerts for good."""
    with socket.create_server(("127.0.0.1", 0)) as gateway:

        def garbage():
            connection, _ = gateway.accept()
            connection.recv(65536)
            connection.sendall(b"what?\r\n\r\n")
            connection.close()

        threading.Thread(target=garbage, daemon=True).start()
        (way,) = tellers(f"http://127.0.0.1:{gateway.getsockname()[1]}/", "")
        assert way(Alert("small", "done", "x")) is False
    assert [way(Alert("small", "done", "x")) for way in tellers("http://127.0.0.1:9/", "exit 3")] == [False, False]
    with pytest.raises(UsageError, match="No closing quotation"):
        tellers("", "mail -s 'study")

    participation = make_participation(arms=("a",), batches=1)
    take(participation, participation.arrive("h", "en"))
    told, again = [], threading.Event()

    def tell(alert):
        told.append(alert.text)
        if len(told) == 1:
            raise RuntimeError("whatever another program does")
        again.set()

    monkeypatch.setattr("eqlab.study.web.log._EVERY", 0.01)
    watch = AlertWatch([type("Served", (), {"participation": participation})()], tell)
    watch.start()
    assert again.wait(30)
    watch.stop()
    assert told[1].endswith("(Sent late; failed attempts: 1.)")
    assert subprocess.run("exit 3", shell=True, check=False).returncode == 3


def test_charts_say_in_words_what_they_show(make_participation):
    participation = make_participation(arms=("a",), batches=2)
    assert [chart.says for chart in charts(study_status(participation))][2] == "Nobody has finished yet."
    take(participation, participation.arrive("1", "en"))
    participation.arrive("2", "en")
    finished, reached, minutes = charts(study_status(participation))
    assert finished.says == "Finished: 1 of 2 places."
    assert finished.line
    assert next(bar.title.split(":")[1] for bar in reached.bars).startswith(" 2 reached")
    assert len(minutes.bars) == 1


def test_who_was_there_while_the_clock_was_set_back_took_no_time_below_nothing(make_participation, clock):
    """The machine was started anew, 20 minutes earlier by its clock: the researcher's page was an error for good, and
    the median time of honest people negative."""
    participation = make_participation(arms=("a",), batches=2)
    steady, back = (participation.arrive(name, "en") for name in "sb")
    clock.now += 600
    take(participation, steady)
    view = take(participation, back, until="trial")
    clock.now += 90
    participation.save(back, view.number, view.attempt, answer_for(view))
    clock.now -= 1200
    take(participation, back)
    now = study_status(participation)
    assert now.minutes == pytest.approx((10.4,), abs=0.1)
    assert (now.times.minutes.value, now.times.minutes.n) == (now.minutes[0], 1)
    assert charts(now)[2].says == "From 10 to 10 minutes."
    told = {one.person: one for one in read_participants(participation).people}
    assert told[back].duration is None
    assert [one.impossible for one in told.values()] == [0, 0]


# -- power --


def test_check_says_what_a_rating_study_finds():
    """30 raters a group with 10 ratings: (1.960 + 0.842)·√(2·0.493·0.507·1.57/300) = 0.143; a hundred replies an arm
    add little to that."""
    design = small_design(arms=("a", "b"), batches=10, size=10, people=3)
    assert power_of(design) == (
        "With 30 raters per arm and 10 ratings each on 100 prompts, you have about 80 % power to detect a 14-point "
        "difference in P(Good) (two-sided, alpha 0.05, if raters differ by 0.642 log-odds and prompts by 0.325, as in "
        "the published ratings, and replies by 0.4)."
    )


def test_other_studies_say_it_in_standard_deviations():
    """One group of 60: t(59) = 2.001, and 2.001/√60 = 0.258."""
    assert "within ±0.26 SD" in power_of(small_design(arms=("a",), batches=20, people=3))


def test_power_is_the_share_of_simulations_that_leave_the_null_out():
    def found(low, high, null=0.0):
        return Recovered("x", 1.0, Estimate("x", (low + high) / 2, 10, None, low, high), null)

    ((name, share),) = power([[found(0.1, 2)], [found(-0.1, 2)], [found(0.2, 3)], []])
    assert (name, share.value, share.n) == ("x", 50.0, 4)
    assert power([[found(60, 80, None)]]) == []
