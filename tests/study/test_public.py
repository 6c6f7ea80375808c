"""The release for everybody: what is common one by one may be rare together."""

import csv
import json
from collections import Counter
from contextlib import nullcontext
from dataclasses import replace
from io import StringIO
from random import Random

import pytest
from filled_studies import filled
from hypothesis import assume, given
from hypothesis import strategies as st
from made_studies import made, write_replies
from small_study import small_design, take

from eqlab.core.errors import DataError, UsageError
from eqlab.core.forms import Form, Scale
from eqlab.core.moves import Arrival
from eqlab.core.trials import Trial
from eqlab.store.store import Store
from eqlab.store.study.participation import Participation
from eqlab.store.study.records import clear_simulated
from eqlab.store.study.researchers import read_audit
from eqlab.store.study.studies import create_study
from eqlab.study.results.export import export_all
from eqlab.study.results.participants import read_participants
from eqlab.study.results.public import (
    HIDDEN,
    Trait,
    check_groups,
    coarsen,
    public_answers,
    public_codebook,
    publish,
    traits_of,
)


def groups(path, traits=None):
    """How many people share all that could tell who they are, by that."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    columns = traits or [name for name in rows[0] if name not in ("person", "arm", "simulated")]
    return Counter(tuple(row[name] for name in columns) for row in rows)


def test_rare_combinations_of_answers_about_oneself_are_left_empty(tmp_path):
    """Each answer is common; together they are of one person."""
    own = Form(
        (Scale("gender", "Gender", 1, 2, ((1, "w"), (2, "m"))), Scale("town", "Town", 1, 2, ((1, "a"), (2, "b"))))
    )
    page = Trial("question", ("before",), "before", "", own, "")
    design = replace(small_design(batches=10), before=page)
    with Store(str(tmp_path / "s.db")) as store:
        create_study(store, design, "", "test", {})
        participation = Participation(store, design)
        for number, (gender, town) in enumerate([(1, 1)] * 6 + [(2, 2)] * 8 + [(1, 2)]):
            person = participation.arrive(f"h{number}", "en")
            take(participation, person, until="question")
            view = participation.look(person)
            participation.save(person, view.number, 1, {"gender": gender, "town": town})
        publish(participation, tmp_path / "public")
    found = groups(tmp_path / "public" / "people.csv", ["about_gender", "about_town"])
    assert sorted(found.values()) == [7, 8]
    assert found["*", "*"] == 7  # the one, and a common combination with them: nobody is told apart by a gap
    answers = (tmp_path / "public" / "answers.csv").read_text()
    assert "gender" not in answers
    assert answers.startswith("person,position,kind,trial,scale,value\n")  # nobody has answered a trial


TRAITS = st.integers(1, 60).flatmap(
    lambda people: st.lists(
        st.lists(st.lists(st.sampled_from("abcd"), min_size=people, max_size=people), min_size=1, max_size=3),
        min_size=0,
        max_size=6,
    )
)


@given(TRAITS, st.integers(2, 7), st.integers(1, 3))
def test_whatever_people_are_like_nobody_stands_alone(values, smallest, parts):
    """Also among those of whom the same is known anyway."""
    traits = [Trait(f"t{number}", tuple(map(tuple, ladder))) for number, ladder in enumerate(values)]
    people = len(values[0][0]) if values else 0
    assume(people >= smallest * parts)
    known = [number % parts for number in range(people)]
    found = coarsen(traits, smallest, known)
    sizes = Counter(zip(known, *found.values(), strict=True))
    assert all(size >= smallest for size in sizes.values())
    for trait in traits:  # what is told is true
        told = found.get(trait.name, ())
        assert not told or any(
            all(value in ("*", step[number]) for number, value in enumerate(told)) for step in trait.ladder
        )


def test_simulated_people_are_nobodys_company(participation, tmp_path):
    """The release says who is simulated: a person among four of them stood alone."""
    for number in range(5):
        take(participation, participation.admit(Arrival(f"s{number}", "en", simulated=True)))
    publish(participation, tmp_path / "rehearsal")
    take(participation, participation.arrive("real", "en"))
    with pytest.raises(UsageError, match="holds 5 simulated people beside 1 real person"):
        publish(participation, tmp_path / "public")
    clear_simulated(participation)
    with pytest.raises(UsageError, match="has 1 person; a release needs at least 5"):
        publish(participation, tmp_path / "public")
    assert not (tmp_path / "public").exists()


@pytest.mark.parametrize("careless", [2, 6])
def test_nobody_finds_out_who_is_excluded_by_leaving_people_out_until_the_numbers_fit(tmp_path, careless):
    with Store(str(tmp_path / "s.db")) as store:
        write_replies(tmp_path)
        design = made(tmp_path, store, "rating", tables="[places]\nbatch_size = 8\npeople_per_batch = 12\n")
        participation = filled(design, store, 24, careless=careless)
        publish(participation, tmp_path / "public")
    told = json.loads((tmp_path / "public" / "release.json").read_text())
    rows = list(csv.DictReader(StringIO((tmp_path / "public" / "people.csv").read_text(encoding="utf-8"))))
    analysed = Counter(row["analysed"] for row in rows)
    assert analysed == {"yes": 24 - careless} | ({"no": 6} if careless == 6 else {})
    assert told["analysed"] == 24 - careless
    assert told["people left out"].endswith(f": {2 if careless == 2 else 0}")
    traits = [name for name in rows[0] if name not in ("person", "arm", "simulated")]
    assert min(Counter(tuple(row[name] for name in traits) for row in rows).values()) >= 5


@pytest.mark.parametrize(("nothing", "phones", "released"), [(4, 1, 24), (1, 0, 24), (6, 0, 30)])
def test_who_answered_no_trial_is_no_company_of_the_analysed(tmp_path, nothing, phones, released):
    with Store(str(tmp_path / "s.db")) as store:
        write_replies(tmp_path)
        text = "[places]\nbatch_size = 8\npeople_per_batch = 20\n[checks]\nattention = 0\n[analysis]\nexclude = []\n"
        design = made(tmp_path, store, "rating", tables=text)
        create_study(store, design, "", "test", {})
        participation = Participation(store, design)
        for number in range(24 + nothing):
            arrival = Arrival(f"h{number}", "en", device="phone" if number < phones else "computer")
            take(participation, participation.admit(arrival), until="trial" if number >= 24 else None)
        publish(participation, tmp_path / "public")
    rows = list(csv.DictReader(StringIO((tmp_path / "public" / "people.csv").read_text(encoding="utf-8"))))
    told = json.loads((tmp_path / "public" / "release.json").read_text())
    traits = [name for name in rows[0] if name not in ("person", "arm", "simulated")]
    assert min(Counter(tuple(row[name] for name in traits) for row in rows).values()) >= 5
    assert len(rows) == released
    assert told["people left out"].endswith(f"among each other: {24 + nothing - released}")


QUOTA = """
[[before]]
key = "gender"
ask = "one"
text = "What is your gender?"
options = ["Woman", "Man"]
[quota]
question = "gender"
places = {{ "Woman" = 18, "Man" = {men} }}
[places]
batch_size = 2
people_per_batch = 1
[checks]
attention = 0
[analysis]
exclude = []
"""


@pytest.mark.parametrize("men", [4, 6])
def test_what_the_pages_of_a_quota_tell_is_counted_as_told(tmp_path, monkeypatch, men):
    """Each answer has places of its own: the batch told the gender that the release left out."""
    held = []
    monkeypatch.setattr("eqlab.study.results.public.check_groups", lambda *given: held.append(given))
    with Store(str(tmp_path / "s.db")) as store:
        write_replies(tmp_path)
        design = made(tmp_path, store, "rating", tables=QUOTA.format(men=men + 2))
        create_study(store, design, "", "test", {})
        participation = Participation(store, design)
        for number in range(18 + men):
            device = "phone" if number < 12 else "computer"
            person = participation.admit(Arrival(f"h{number}", "en", device=device))
            view = take(participation, person, until="question")
            participation.save(person, view.number, 1, {"gender": 1 if number >= men else 2})
            take(participation, person)
        for number in range(2):  # who got no place, since their answer has none left, keep nobody from a release
            person = participation.admit(Arrival(f"late{number}", "en", device="computer"))
            view = take(participation, person, until="question")
            participation.save(person, view.number, 1, {"gender": 1})
        if men < 5:
            with pytest.raises(UsageError, match="has Man 4 people in its analysis, gender as the pages"):
                publish(participation, tmp_path / "public")
            return
        publish(participation, tmp_path / "public")
    ((people_csv, traits, smallest, known),) = held
    rows = csv.DictReader(StringIO(people_csv.decode()))
    sizes = Counter((told.stratum, *(row[name] for name in traits)) for told, row in zip(known, rows, strict=True))
    assert {told.stratum for told in known} == {"Woman", "Man"}
    assert min(sizes.values()) >= smallest == 5


@given(st.integers(0, 10**6))
def test_most_people_are_shown_or_nothing_is(seed):
    """The company of a few who are hidden was at times everybody: every trait stood there, and all showed a star."""
    draw = Random(seed)
    people = draw.randint(8, 60)
    traits = [
        Trait(f"t{number}", (tuple(draw.choice("abc"[: 2 + number % 2]) for _ in range(people)),))
        for number in range(5)
    ]
    for values in coarsen(traits, 5).values():
        assert values.count("*") <= people / 2


def test_what_everybody_shares_is_told():
    alike = [Trait("a", (("x",) * 9,)), Trait("b", (("y",) * 4 + ("z",) * 5,))]
    assert coarsen(alike, 4) == {"a": ("x",) * 9, "b": ("y",) * 4 + ("z",) * 5}


def test_a_release_and_an_export_do_not_share_a_folder(participation, tmp_path):
    """Who gives the folder away would give names, times and texts with it."""
    finished(participation, ["computer"] * 6)
    export_all(participation, tmp_path / "out")
    with pytest.raises(UsageError, match="holds an export"):
        publish(participation, tmp_path / "out")
    assert not (tmp_path / "out" / "people.csv").exists()
    publish(participation, tmp_path / "public")
    with pytest.raises(UsageError, match="holds a release"):
        export_all(participation, tmp_path / "public")
    assert not (tmp_path / "public" / "records.jsonl").exists()


def test_the_codebook_says_how_coarse_a_column_is(participation, tmp_path):
    finished(participation, ["computer"] * 6 + ["phone"] * 3)
    people = read_participants(participation).people
    tries = [
        replace(page, attempts=number)
        for page, number in zip([people[0].pages[0]] * 9, [1] * 4 + [2, 3, 2, 3, 2], strict=True)
    ]
    people = [replace(one, pages=(page,)) for one, page in zip(people, tries, strict=True)]
    candidates = traits_of(people)
    coarse = coarsen(candidates, 4)
    told = {row["column"]: row["meaning"] for row in public_codebook({"people": [coarse]}, candidates, coarse)}
    assert set(coarse["quiz_attempts"]) == {"True", "False"}
    assert told["quiz_attempts"].endswith("; made coarser: whether it was 2 or more")
    assert told["state"].startswith("how far the person came")
    assert "coarser" not in told["state"]
    assert told["device"].startswith("left out, since too few people share it: ")

    publish(participation, tmp_path / "public")
    tables = {
        path.stem: list(csv.DictReader(StringIO(path.read_text(encoding="utf-8"))))
        for path in (tmp_path / "public").glob("*.csv")
    }
    told = {(row["table"], row["column"]) for row in tables.pop("codebook") if row["meaning"]}
    assert {(table, name) for table, rows in tables.items() for name in rows[0]} <= told


def test_the_finished_table_is_held_against_the_promise():
    table = b"person,device\np1,phone\np2,phone\np3,tablet\n"
    check_groups(table, ["device"], 1)
    with pytest.raises(DataError, match="1 person would share a combination of device, and 2 must"):
        check_groups(table, ["device"], 2)


def test_the_answers_do_not_tell_what_the_traits_hide(tmp_path):
    """Who failed a check, or needed two tries at the quiz, is one of few: their answers there would say so."""
    with Store(str(tmp_path / "s.db")) as store:
        design = small_design(batches=20)
        create_study(store, design, "", "test", {})
        participation = Participation(store, design)
        finished(participation, ["computer"] * 8)
        clumsy = participation.arrive("clumsy", "en")
        view = take(participation, clumsy, until="quiz")
        participation.save(clumsy, view.number, 1, {"quiz1": 2})
        view = take(participation, clumsy, until="attention")
        wrong = {"rating": view.trial.key["right"]["rating"] % 3 + 1}
        participation.save(clumsy, view.number, view.attempt, wrong)
        take(participation, clumsy)
        publish(participation, tmp_path / "public")
    with (tmp_path / "public" / "answers.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert {row["kind"] for row in rows} == {"trial"}
    assert len({row["person"] for row in rows}) == 8  # who is not analysed stands alone
    assert min(groups(tmp_path / "public" / "people.csv").values()) >= 5
    assert (
        "answers to the quiz and to checks"
        in json.loads((tmp_path / "public" / "release.json").read_text())["left out"]
    )


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
        return Counter(row["device"] for row in csv.DictReader(file) if "device" in row)


@pytest.mark.parametrize(
    ("tablets", "told"),
    [(5, {"computer": 6, "tablet": 5}), (4, {})],  # four would be the gap that tells who they are
)
def test_a_release_names_what_five_share_and_nothing_rarer(participation, tmp_path, tablets, told):
    finished(participation, ["computer"] * 6 + ["tablet"] * tablets)
    publish(participation, tmp_path / "public")
    assert devices_in(tmp_path / "public" / "people.csv") == told


def test_the_command_asks_for_five_too(participation, tmp_path, eqlab, monkeypatch):
    asked = []
    monkeypatch.setattr("eqlab.study.results.public.publish", lambda *given, **_: asked.append(given[2]) or [])
    monkeypatch.setattr("eqlab.cli.study_data.begun_study", lambda *_: nullcontext(participation))
    assert eqlab("study", "publish", "study.toml").code == 0
    assert eqlab("study", "publish", "study.toml", "--smallest", 1).code == 2  # one person is no group
    assert asked == [5]


def test_nobody_is_found_by_how_they_got_on(participation, tmp_path):
    """Tries at the quiz, failed checks, haste and devices are rare together where each is common."""
    for number in range(40):
        person = participation.admit(Arrival(f"h{number}", "en", device=("phone", "computer", None)[number % 3]))
        take(participation, person, until="quiz")
        if number % 4 == 0:
            view = participation.look(person)
            participation.save(person, view.number, 1, {"quiz1": 2})
        if number % 5:
            take(participation, person)
    publish(participation, tmp_path / "public")
    assert min(groups(tmp_path / "public" / "people.csv").values()) >= 5
    told = json.loads((tmp_path / "public" / "release.json").read_text())
    assert "nobody differs from at least 4 others" in told["protected"]
    assert "whoever knows how somebody answered" in told["unprotected"]


def test_too_few_people_are_not_released(participation, tmp_path):
    finished(participation, [None] * 4)
    with pytest.raises(UsageError, match="has 4 people; a release needs at least 5"):
        publish(participation, tmp_path / "public")
    assert not (tmp_path / "public").exists()


def test_nobody_is_released_where_nobody_could_hide(tmp_path):
    with Store(str(tmp_path / "s.db")) as store:
        write_replies(tmp_path)
        design = made(tmp_path, store, "rating", tables="[places]\nbatch_size = 8\npeople_per_batch = 20\n")
        participation = filled(design, store, 3, careless=3)
        for number in range(3):
            take(participation, participation.arrive(f"h{number}", "en"), until="trial")
        with pytest.raises(UsageError, match="has fewer than 5 people of each kind"):
            publish(participation, tmp_path / "public")
    assert not (tmp_path / "public").exists()


def test_times_are_told_only_where_asked_for_and_in_steps(participation, tmp_path):
    """A visit of three hours, or a page left open over lunch, would be as good as a name."""
    finished(participation, [None])
    (person,) = read_participants(participation).people
    for minutes, told in ((0, "0 to 5"), (4.9, "0 to 5"), (5, "5 to 10"), (39.9, "20 to 40"), (187, "40 or more")):
        visit = replace(person, consented_at=0.0, ended_at=60.0 * minutes)
        (found,) = [one for one in traits_of([visit]) if one.name == "minutes"]
        assert found.ladder == ((told,),)
    names = {person.person: "p"}
    for seconds, told in ((4.0, 0), (14.0, 10), (599.0, 600), (5000.0, 600)):
        slow = replace(person, given=tuple(replace(one, seconds=seconds) for one in person.given))
        assert {row["seconds"] for row in public_answers([slow], names, times=True)} == {told}
        assert not any("seconds" in row for row in public_answers([slow], names, times=False))


def test_a_release_that_breaks_the_promise_is_not_written(participation, tmp_path, monkeypatch):
    """Whatever is wrong with making traits coarser: the finished table is looked at first."""
    finished(participation, ["computer"] * 5)
    monkeypatch.setattr(
        "eqlab.study.results.public.coarsen", lambda traits, smallest, known: {"device": ("a", "b", "c", "d", "e")}
    )
    with pytest.raises(DataError, match="was not written"):
        publish(participation, tmp_path / "public")
    assert not (tmp_path / "public").exists()
    monkeypatch.undo()
    with pytest.raises(UsageError, match="has 5 people; a release needs at least 6"):
        publish(participation, tmp_path / "public", 6)
    publish(participation, tmp_path / "public")
    kept = [(entry.action, entry.detail["done"]) for entry in read_audit(participation.store, participation.study.id)]
    assert kept == [("analysed", 5), ("analysed", 5), ("published", 5)]  # a look each, and one release


def test_items_that_others_published_are_named_and_not_passed_on(participation, tmp_path):
    finished(participation, ["computer"] * 5)
    run = participation.design.run
    texts = {trial.stimulus for trial in participation.design.trials.values()}
    for folder, item_set in (("ours", "open"), ("theirs", "published")):
        theirs = replace(run, benchmarks=tuple(replace(one, item_set=item_set) for one in run.benchmarks))
        participation.design = replace(participation.design, run=theirs)
        publish(participation, tmp_path / folder)
        rows = list(csv.DictReader(StringIO((tmp_path / folder / "questions.csv").read_text())))
        own = [row for row in rows if row["benchmark"] in {one.name for one in run.benchmarks}]
        assert own
        assert all(row["item"] for row in own)
        shown = item_set == "open"
        assert {bool(row["stimulus"]) for row in own} == {shown}
        kept = {name for row in own for name in json.loads(row["key"] or "{}")}
        assert {"prompt", "arm"} <= kept  # whose reply a page showed is the study's own
        assert ("reply" in kept) == shown
        assert any(text in row["stimulus"] for row in own for text in texts if text) == shown
        assert ("not ours to pass on" in (tmp_path / folder / "release.json").read_text()) == (not shown)


@pytest.mark.parametrize("prompt", ["hit:9554_conv:19108", "ours-1"])
def test_replies_to_published_prompts_are_released_without_the_prompts_whoever_replied(participation, tmp_path, prompt):
    """A run on the published prompts has replies of its own, and their situations went along with them."""
    finished(participation, ["computer"] * 5)
    design = participation.design
    first = next(trial for trial in design.trials.values() if "arm" in trial.key)
    participation.design = replace(
        design,
        batches=tuple(
            replace(batch, trials=tuple(replace(one, items=(prompt,)) if one == first else one for one in batch.trials))
            for batch in design.batches
        ),
    )
    again = Trial("repeat", ("r",), "repeat", f"Once more: {first.stimulus}", first.form, "", key={"of": first.id})
    participation.design = replace(participation.design, attention=(*participation.design.attention, again))
    publish(participation, tmp_path / "public")
    rows = list(csv.DictReader(StringIO((tmp_path / "public" / "questions.csv").read_text())))
    shown = [bool(row["stimulus"]) for row in rows if row["item"] in (prompt, "r")]
    assert shown == [prompt == "ours-1"] * 2
    told = (tmp_path / "public" / "codebook.csv").read_text()
    assert ("empty of published items" in told) == (prompt != "ours-1")
    others = [row for row in rows if row["benchmark"] == first.benchmark and row["item"] not in (prompt, "r")]
    assert others
    assert all(row["stimulus"] for row in others)


@pytest.mark.parametrize(("source", "shown"), [("replies.csv", False), ("replies.csv:people", False), ("author", True)])
def test_replies_from_a_table_are_for_raters_unless_their_writers_agreed(participation, tmp_path, source, shown):
    """What people of a reply study had written went to everybody, word for word."""
    finished(participation, ["computer"] * 5)
    design = participation.design
    participation.design = replace(design, study=replace(design.study, arms=(("a", source), ("b", "author"))))
    for folder, replies in (("closed", False), ("open", True)):
        publish(participation, tmp_path / folder, replies=replies)
        rows = list(csv.DictReader(StringIO((tmp_path / folder / "questions.csv").read_text())))
        own = {
            arm: {bool(row["stimulus"]) for row in rows if json.loads(row["key"] or "{}").get("arm") == arm}
            for arm in "ab"
        }
        assert own == {"a": {shown or replies}, "b": {True}}
        told = json.loads((tmp_path / folder / "release.json").read_text())["left out"]
        assert ("replies that came in a table" in told) == (not shown and not replies)


def test_a_check_that_names_an_option_of_a_published_item_is_not_passed_on(participation, tmp_path):
    finished(participation, ["computer"] * 5)
    design = participation.design
    first = next(trial for trial in design.trials.values() if "arm" in trial.key)
    options = ((1, "She goes over and asks whether they need help."), (2, "Good"))
    own = tuple(replace(scale, anchors=options) for scale in first.form.scales)
    asked = replace(first, items=("hit:9554_conv:19108",), form=Form(own))
    checks = tuple(
        Trial(
            f"check {n}",
            (f"c{n}",),
            "attention",
            f"To show that you are reading, choose “{text}” here.",
            asked.form,
            "",
        )
        for n, text in options
    )
    participation.design = replace(
        design,
        batches=tuple(
            replace(batch, trials=tuple(asked if one == first else one for one in batch.trials))
            for batch in design.batches
        ),
        attention=(*design.attention, *checks),
    )
    publish(participation, tmp_path / "public")
    rows = csv.DictReader(StringIO((tmp_path / "public" / "questions.csv").read_text()))
    shown = {row["item"]: bool(row["stimulus"]) for row in rows if row["item"] in ("c1", "c2")}
    assert shown == {"c1": False, "c2": True}  # "Good" is nobody's


def test_a_release_has_no_times_of_pages_unless_asked_for(participation, tmp_path):
    finished(participation, ["computer"] * 5)
    for folder, times in (("plain", False), ("timed", True)):
        publish(participation, tmp_path / folder, times=times)
        head, *_ = (tmp_path / folder / "answers.csv").read_text(encoding="utf-8").splitlines()
        assert ("seconds" in head) is times


def test_the_few_who_are_hidden_are_joined_by_the_next_smallest_group():
    values = ("a",) * 30 + ("b",) * 4 + ("c",) * 40
    (found,) = coarsen([Trait("device", (values,))], 5).values()
    assert Counter(found) == {HIDDEN: 34, "c": 40}
