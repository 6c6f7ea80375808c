"""The release for everybody: what is common one by one may be rare together."""

import csv
from collections import Counter
from contextlib import nullcontext
from dataclasses import replace

import pytest
from small_study import small_design, take

from eqlab.core.forms import Form, Scale
from eqlab.core.moves import Arrival
from eqlab.core.trials import Trial
from eqlab.store.store import Store
from eqlab.store.study.participation import Participation
from eqlab.store.study.studies import create_study
from eqlab.study.results.participants import read_participants
from eqlab.study.results.public import coarse_answers, coarse_people, publish


def test_rare_combinations_of_answers_about_oneself_are_left_empty(tmp_path):
    """Each answer is common; together they are of one person."""
    own = Form(
        (Scale("gender", "Gender", 1, 2, ((1, "w"), (2, "m"))), Scale("town", "Town", 1, 2, ((1, "a"), (2, "b"))))
    )
    page = Trial("question", ("before",), "before", "", own, "")
    store = Store(str(tmp_path / "s.db"))
    design = replace(small_design(batches=10), before=page)
    create_study(store, design, "", "test", {})
    participation = Participation(store, design)
    chosen = [(1, 1)] * 6 + [(2, 2)] * 6 + [(1, 2)]
    for number, (gender, town) in enumerate(chosen):
        person = participation.arrive(f"h{number}", "en")
        take(participation, person, until="question")
        view = participation.look(person)
        participation.save(person, view.number, 1, {"gender": gender, "town": town})
    people = list(read_participants(participation).people)
    rows = coarse_answers(people, {one.person: one.person for one in people}, 5)
    told = {}
    for row in rows:
        if row["kind"] == "question":
            told.setdefault(row["person"], []).append(row["value"])
    found = Counter(map(tuple, told.values()))
    assert sorted(found.values()) == [6, 7]
    assert found[None, None] == 7  # the one, and a common combination with them: nobody is told apart by a gap
    store.close()


@pytest.fixture
def participation(tmp_path):
    with Store(str(tmp_path / "s.db")) as store:
        design = small_design(batches=20)
        create_study(store, design, "", "test", {})
        yield Participation(store, design)


def finished(participation, devices):
    """Somebody who has finished, on each of these devices."""
    for number, device in enumerate(devices):
        person = participation.admit(Arrival(f"h{number}", "en", device=device))
        take(participation, person)


def devices_in(path):
    with path.open(encoding="utf-8", newline="") as file:
        return Counter(row["device"] for row in csv.DictReader(file))


@pytest.mark.parametrize(
    ("tablets", "told"),
    [(5, {"computer": 6, "tablet": 5}), (4, {"other": 10})],  # four would be the gap that tells who they are
)
def test_a_release_names_what_five_share_and_nothing_rarer(participation, tmp_path, tablets, told):
    finished(participation, ["computer"] * 6 + ["tablet"] * tablets)
    publish(participation, tmp_path / "public")
    assert devices_in(tmp_path / "public" / "people.csv") == told


def test_the_command_asks_for_five_too(participation, tmp_path, eqlab, monkeypatch):
    asked = []
    monkeypatch.setattr("eqlab.study.results.public.publish", lambda *given: asked.append(given[2]) or [])
    monkeypatch.setattr("eqlab.cli.study_data.begun_study", lambda *_: nullcontext(participation))
    assert eqlab("study", "publish", "study.toml").code == 0
    assert eqlab("study", "publish", "study.toml", "--smallest", 1).code == 2  # one person is no group
    assert asked == [5]


def test_a_release_caps_the_time_of_a_visit_and_of_a_page(participation):
    """A visit of three hours, or a page left open over lunch, would be as good as a name."""
    finished(participation, [None])
    (person,) = read_participants(participation).people
    for minutes, told in ((119.0, 119), (120.4, 120), (187.0, 120)):
        visit = replace(person, consented_at=0.0, ended_at=60 * minutes)
        (row,) = coarse_people([visit], {person.person: "p"}, 1)
        assert row["minutes"] == told
    for seconds, told in ((599.0, 599), (601.0, 600), (5000.0, 600)):
        slow = replace(person, given=tuple(replace(one, seconds=seconds) for one in person.given))
        assert {row["seconds"] for row in coarse_answers([slow], {person.person: "p"}, 1)} == {told}
