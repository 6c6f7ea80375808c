"""Studies made ready: arms from runs, files and our own replies; three kinds of batches; runs that score as usual."""

from collections import Counter
from dataclasses import replace

import pytest
from filled_studies import template_text
from judge_case import replies
from made_studies import made, rehearsed
from small_study import small_design, take
from sqlalchemy import delete, func, select, update

import eqlab as api
from eqlab.core.errors import DataError, StoreError, UsageError
from eqlab.store.schema import answers, studies
from eqlab.store.study.moves import is_right
from eqlab.store.study.participation import Participation
from eqlab.store.study.studies import check_begun, create_study
from eqlab.study.build_design import arm_replies, design_of, open_study, split_source
from eqlab.study.file import read_study
from eqlab.study.init import study_text
from eqlab.study.kinds import kind_names
from eqlab.study.overview import overview, power_of


def study(store, kind, **more):
    text = template_text(kind, store) if kind == "pairwise" else study_text(kind, store)
    return replace(read_study(text.replace("CHANGE ME", "…") if kind == "talk" else text), **more)


def walk(design, store, people, answer=lambda scale: scale.low):
    """So many people, from arrival to the end."""
    create_study(store, design, "", "test", {})
    participation = Participation(store, design)
    for _ in range(people):
        person = participation.arrive(None, "en")
        participation.consent(person, agreed=True)
        while (view := participation.look(person)).step is not None:
            scales = view.trial.form.scales if view.trial else ()
            right = view.trial.key.get("right") if view.trial else None
            values = dict(right or {scale.key: answer(scale) for scale in scales})
            assert participation.save(person, view.number, view.attempt, values).outcome == "saved"
        assert view.state == "finished"


# -- arms ------------------------------------------------------------------------------------------------------------


def test_an_arm_has_the_replies_of_one_model_under_its_own_name(server, store):
    run = replies(server, store)
    rows = arm_replies("kind words", f"{run}:warm", store, None, print)
    assert {row.arm for row in rows} == {"kind words"}
    assert len(rows) == 8
    assert all("dearest" in row.reply for row in rows)
    assert arm_replies("x", "last:warm", store, None, print)[0].reply == rows[0].reply
    with pytest.raises(UsageError, match=rf"holds replies of 2: cold, warm.*{run}:cold"):
        arm_replies("x", run, store, None, print)
    with pytest.raises(UsageError, match=r"no replies of 'hot'. It has those of: cold, warm"):
        arm_replies("x", f"{run}:hot", store, None, print)


def test_a_model_may_be_named_without_its_provider(server, store):
    run = replies(server, store, models=("openai/warm",), settings={})
    assert len(arm_replies("x", f"{run}:warm", store, None, print)) == 8


def test_of_repeated_replies_the_first_is_shown(server, store):
    run = replies(server, store, models=("warm",), repeats=2)
    said = []
    assert len(arm_replies("x", run, store, None, said.append)) == 8
    assert "8 further replies" in said[0]


def test_files_are_found_beside_the_study(store, tmp_path):
    folder = tmp_path / "studies"
    folder.mkdir()
    (folder / "mine.csv").write_text("prompt,reply,arm\nafraid-1,Oh dear.,a\nafraid-1,Well.,b\nafraid-2,Hm.,a\n")
    assert split_source("mine.csv:a", folder) == (str(folder / "mine.csv"), "a")
    assert split_source("published:human", folder) == ("published", "human")
    assert split_source("last:ollama/llama3.2:1b") == ("last", "ollama/llama3.2:1b")
    text = study_text("rating", store, arms={"ours": "author"}).replace(
        '"ours" = "author"', '"ours" = "author"\n"mine" = "mine.csv:a"'
    )
    (folder / "s.toml").write_text(text)
    said = []
    read, design = open_study(folder / "s.toml", store, None, said.append)
    assert read == text
    assert [(batch.arm, len(batch.trials)) for batch in design.batches] == [("ours", 2), ("mine", 2)]
    assert any("94 prompts lack somebody" in line for line in said)


def test_a_study_file_that_is_no_text(store, tmp_path):
    (tmp_path / "s.toml").write_bytes(b"id = \xff")
    with pytest.raises(DataError, match="not text in UTF-8"):
        open_study(tmp_path / "s.toml", store)
    with pytest.raises(DataError, match="There is no file"):
        open_study(tmp_path / "t.toml", store)


# -- the first file --------------------------------------------------------------------------------------------------


def test_the_models_of_the_newest_run_become_arms_that_later_runs_do_not_change(server, store):
    run = replies(server, store)
    text = study_text("rating", store)
    assert f'"warm" = "{run}:warm"\n"cold" = "{run}:cold"' in text
    before = design_of(read_study(text), store)
    replies(server, store, models=("third",), seed=5)
    assert design_of(read_study(text), store).sha256 == before.sha256
    settled = study_text("rating", store, arms={"a": "last:third", "b": "author"})
    assert f'"a" = "{store.find_run("last").id}:third"' in settled
    assert f'"warm" = "{run}:warm"\n"cold" = "{run}:cold"' in study_text("rating", store, source=run)  # not the newest


def dated(store, after):
    """The study's beginning, so many seconds after the last reply."""
    with store.engine.begin() as connection:
        latest = connection.execute(select(func.max(answers.c.at))).scalar()
        connection.execute(update(studies).values(created_at=latest + after))


@pytest.fixture
def from_unfinished(server, store, tmp_path):
    """A study that has begun with the replies of a run that lacks some; (its file, its design, the run, what was said).
    `source`: what its file names instead of the run and a colon."""
    said = []

    def make(source, lacks=lambda subject, number: number < 3, unnamed=False):
        run = replies(server, store)
        with store.engine.begin() as connection:
            for subject in connection.execute(select(answers.c.subject).distinct()).scalars().all():
                own = answers.c.subject == subject
                asked = connection.execute(select(answers.c.trial_id).where(own).order_by(answers.c.trial_id)).scalars()
                lost = [trial for number, trial in enumerate(asked.all()) if lacks(subject, number)]
                connection.execute(delete(answers).where(own, answers.c.trial_id.in_(lost)))
        path = tmp_path / "rating.toml"
        written = study_text("rating", store, say=said.append).replace(f"{run}:", source or f"{run}:")
        path.write_text(written.replace(f"{run}:warm", run) if unnamed else written)
        text, design = open_study(path, store)
        create_study(store, design, text, "test", {})
        return path, design, run, said

    return make


@pytest.mark.parametrize("source", ["", "last:"])
def test_a_study_that_has_begun_keeps_its_pages_when_its_run_gets_what_it_lacked(
    server, store, from_unfinished, source
):
    path, begun, run, _ = from_unfinished(source)
    assert {len(batch.trials) for batch in begun.batches} == {5}
    assert replies(server, store) == run  # the same command again
    if source:
        replies(server, store, models=("warm", "cold", "third"), seed=5)
    again = open_study(path, store)[1]
    check_begun(store, again)
    assert again.trials == begun.trials
    fresh = path.read_text().replace('id = "rating"', 'id = "later"')
    (path.parent / "later.toml").write_text(fresh)
    assert {len(batch.trials) for batch in open_study(path.parent / "later.toml", store)[1].batches} == {8}
    path.write_text(path.read_text().replace("batch_size = ", "batch_size = 1"))
    with pytest.raises(StoreError, match="other pages than its file has now"):
        check_begun(store, open_study(path, store)[1])


@pytest.mark.parametrize("unnamed", [False, True])
def test_replies_of_a_second_model_do_not_end_a_study_of_the_first(server, store, from_unfinished, unnamed):
    path, _, run, said = from_unfinished("", lambda subject, number: "cold" in subject, unnamed=unnamed)
    assert said[0] == f"cold is no arm: run {run} has no reply of it."
    replies(server, store)
    check_begun(store, open_study(path, store)[1])


def test_models_whose_names_end_alike_are_two_arms(server, store):
    alike = "m" * 61
    run = replies(server, store, models=(f"openai/a{alike}", f"openai/b{alike}"), settings={})
    arms = read_study(study_text("rating", store)).arms
    assert [source for _, source in arms] == [f"{run}:openai/{one}{alike}" for one in "ab"]
    assert len(dict(arms)) == 2


def test_replies_that_came_while_a_study_was_made_are_not_in_it(server, store, from_unfinished):
    path, begun, _, _ = from_unfinished("")
    replies(server, store)
    dated(store, 0.5)
    assert open_study(path, store)[1].sha256 == begun.sha256


@pytest.mark.parametrize("hours", [-24, 24])
def test_a_study_begins_on_a_machine_with_another_clock_than_its_run(from_unfinished, store, hours):
    path, begun, _, _ = from_unfinished("")
    dated(store, hours * 3600)
    assert open_study(path, store)[1].sha256 == begun.sha256


def test_beside_one_model_stand_our_own_replies(server, store):
    assert study(store, "rating").arms == (("author", "author"),)
    run = replies(server, store, models=("warm",))
    assert study(store, "rating").arms == (("warm", run), ("author", "author"))


def test_what_init_refuses(store):
    for kind, more, part in (
        ("ratings", {}, "no kind of study 'ratings'"),
        ("evoked", {"arms": {"a": "author"}}, "takes its arms from the items"),
        ("evoked", {"source": "abc"}, "has no replies to rate"),
        ("rating", {"source": "abc", "arms": {"a": "author"}}, "both name the arms"),
        ("rating", {"source": "abc"}, "holds no run yet"),
        ("rating", {"panel": "cloud"}, "Panel 'cloud' is not known"),
        ("rating", {"arms": {"a": "last"}}, "No run in the store has replies"),
        ("rating", {"arms": {"a": "nothing.csv"}}, "There is no file"),
    ):
        with pytest.raises((UsageError, DataError), match=part):
            study_text(kind, store, **more)
    with pytest.raises(DataError, match="id: is part of the address"):
        study_text("rating", store, study_id="My Study")
    for taken in ("researcher", "login", "logout"):
        with pytest.raises(DataError, match=f"id: '{taken}' is a page of the researcher's"):
            study_text("rating", store, study_id=taken)


def test_the_way_out_of_items_that_a_kind_does_not_have_is_a_line_of_its_file(store, tmp_path):
    with pytest.raises(UsageError, match='Write items = "published"'):
        made(tmp_path, store, "culemo", arms=(), top='items = "open"')


def test_a_new_file_pays_enough_and_leaves_the_time_to_the_page(store):
    """The consent page works out the minutes itself: a text of its own said 7 beside its 5."""
    text = study_text("rating", store)
    assert "minute" not in read_study(text, "x.toml").consent.text
    assert "reward = 1.40" in text
    assert study_text("rating", store) != text, "codes are drawn anew"


# -- questionnaires --------------------------------------------------------------------------------------------------

TEQ = 'key = "teq"\nlow = 0\nhigh = 4\nanchors = ["a", "b", "c", "d", "e"]\n' + "".join(
    f'[[item]]\nnumber = {n}\ntext = "line {n}"\nreverse = {str(n in (2, 4, 7, 10, 11, 12, 14, 15)).lower()}\n'
    for n in range(1, 17)
)


def test_the_teq_is_asked_where_its_wording_is_found(store, tmp_path):
    without = study_text("rating", store)
    assert '# instruments = ["TEQ"]' in without
    assert "# instruments/teq.toml was not found." in without
    (tmp_path / "data" / "instruments").mkdir(parents=True)
    (tmp_path / "data" / "instruments" / "teq.toml").write_text(TEQ)
    text = study_text("rating", store, data=tmp_path / "data")
    assert '\ninstruments = ["TEQ"]' in text
    design = design_of(read_study(text), store, tmp_path / "data")
    (page,) = design.instruments
    assert (page.benchmark, page.key, len(page.form.scales)) == ("instrument", {"instrument": "TEQ"}, 16)
    assert page.form.scales[1].reverse
    assert page.form.scales[0].text == "line 1"
    assert [step.kind for step in design.first_steps()] == ["consent", "instrument", "quiz"]
    with pytest.raises(DataError, match=r"wording of TEQ is not shipped.*Take TEQ out.*--data DIR"):
        design_of(read_study(text), store)


def test_an_instrument_that_ships_needs_nothing(store):
    made = design_of(study(store, "rating", instruments=("PANAS",)), store)
    assert len(made.instruments[0].form.scales) == 20


# -- the kinds -------------------------------------------------------------------------------------------------------


OF_BENCHMARKS = ("culemo", "tombench", "seceu")
"""A benchmark's own questions, without a tutorial of their own."""
FETCHED = ("culemo", "tombench")


@pytest.fixture
def files(request, monkeypatch, kind):
    """The published items of a kind that has no others."""
    if kind in FETCHED:
        monkeypatch.setenv("EQLAB_DATA", str(request.getfixturevalue("published")))


@pytest.mark.parametrize("kind", [kind for kind in kind_names() if kind not in OF_BENCHMARKS])
def test_every_kind_has_a_quiz_and_enough_checks(store, kind):
    made = design_of(study(store, kind), store)
    assert is_right(made.quiz, dict(made.quiz.key["right"]))
    assert made.quiz.stimulus == made.study.tutorial.text
    assert len({trial.id for trial in made.attention}) == len(made.attention) >= made.study.checks.attention
    for trial in made.attention:
        ((key, value),) = trial.key["right"].items()
        (field,) = trial.form.fields
        assert field.key == key
        assert f"“{dict(getattr(field, 'anchors', ())).get(value, value)}”" in trial.stimulus
    many = replace(made.study, checks=replace(made.study.checks, attention=9))
    assert len({trial.id for trial in design_of(many, store).attention}) >= 9
    none = replace(made.study, checks=replace(made.study.checks, attention=0))
    assert design_of(none, store).attention == ()


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize("kind", kind_names())
def test_the_same_study_is_the_same_design_and_another_id_another_run(store, kind):
    one = study(store, kind)
    assert design_of(one, store).sha256 == design_of(one, store).sha256
    assert design_of(replace(one, id="other"), store).run.id != design_of(one, store).run.id


def test_rating_batches_hold_the_same_prompts_in_every_arm(server, store):
    run = replies(server, store, limit=23)
    made = design_of(study(store, "rating"), store)
    prompts = {arm: [[t.items[0] for t in b.trials] for b in made.batches if b.arm == arm] for arm in made.arms}
    assert prompts["warm"] == prompts["cold"]
    assert sorted(map(len, prompts["warm"])) == [7, 8, 8]
    assert len({one for batch in prompts["warm"] for one in batch}) == 23
    config = made.run.benchmarks[0]
    assert (config.name, config.options["purpose"], config.options["study"]) == ("rating", "people", "rating")
    assert made.run.models == ()
    assert run in dict(made.study.arms)["warm"]
    few = replace(made.study, limit=4)
    assert [len(batch.trials) for batch in design_of(few, store).batches] == [4, 4]


def test_a_rating_study_scores_and_reports_like_any_run(server, store, tmp_path):
    replies(server, store)
    made = design_of(study(store, "rating"), store)
    walk(made, store, 4)
    stored = store.find_run(made.run.id)
    (result,) = api.results(store, stored)
    assert result.rules["raters"] == 4
    assert result.counts["ok"] == 32
    assert "Ratings (4 people)" in api.write_report(store, [stored], tmp_path / "r.html").read_text()


def test_evoked_asks_before_and_in_a_situation_in_an_order_of_each_ones_own(store):
    one = study(store, "evoked", limit=8)
    made = design_of(one, store)
    assert len(made.batches) == 24
    assert not made.shuffle
    orders = set()
    for batch in made.batches:
        before, then = batch.trials
        assert (before.condition, then.condition) == ("default", "evoked")
        assert before.stimulus.startswith("How strongly do you feel")
        assert "in this situation?" in then.stimulus
        assert then.key["emotion"] == batch.arm
        orders.update((before.form.keys, then.form.keys))
    assert len(orders) == 48
    first = [place for place in made.places() if place.number < 8]
    shown = {made.batch(place.arm, place.batch).trials[1].items for place in first}
    assert len(shown) == 8, "every situation has its first person before any has its second"
    assert len(list(made.places())) == 24
    factors = design_of(replace(one, arms_by="factor"), store)
    assert {"Neutral", "Positive"} < set(factors.arms)
    assert any(arm.startswith("Anger: ") for arm in factors.arms)


def test_a_planned_contrast_that_can_never_be_tested_is_said_before_anybody_is_asked(store):
    """It promised the power of another test."""
    one = study(store, "evoked")
    planned = replace(one.analysis, reference="Neutral")
    few = design_of(replace(one, limit=8, analysis=planned), store)
    assert power_of(few).startswith("The planned contrast cannot be tested: ")
    assert any("5 of each are needed" in line for line in overview(few).warnings)
    enough = design_of(replace(one, limit=None, analysis=planned), store)
    assert "80 % power" in power_of(enough)
    assert not any("cannot be tested" in line for line in overview(enough).warnings)


def test_an_instrument_without_negative_affect_promises_no_power_for_it(published, store):
    one = study(store, "evoked", options=(("instrument", "AGQ"),))
    other = design_of(replace(one, analysis=replace(one.analysis, reference="Anger")), store, published)
    assert power_of(other) == "The planned contrast cannot be tested: the instrument has no Negative Affect."
    assert power_of(other) in overview(other).warnings


def test_arms_of_different_size_fill_at_the_same_pace(store):
    made = design_of(study(store, "evoked", limit=8), store)
    assert len(set(made.sizes.values())) > 1
    walk(made, store, 12)
    from eqlab.store.study import places

    with store.engine.connect() as connection:
        left = {row.arm: row.n for row in places._OPEN_BY_ARM.find(connection, study="evoked")}
    for arm, size in made.sizes.items():
        assert abs(left.get(arm, 0) - size / 2) <= 1, arm


def test_and_they_do_in_a_rehearsal(store):
    """Repetitions of a simulation filled the largest arms first, and told the power of another study."""
    made = design_of(study(store, "evoked", limit=8), store)
    assert set(made.sizes.values()) == {3, 6}
    people = rehearsed(made, sum(made.sizes.values()) // 3, 0.5).people
    assert Counter(person.arm for person in people) == {arm: size // 3 for arm, size in made.sizes.items()}


def test_eqbench_deals_the_dialogues_once(store):
    one = study(store, "eqbench")
    made = design_of(one, store)
    items = [trial.items for batch in made.batches for trial in batch.trials]
    assert len(items) == len(set(items)) == 60
    assert {trial.condition for batch in made.batches for trial in batch.trials} == {"plain"}
    assert made.arms == ("dialogues",)
    assert made.run.benchmarks[0].options["purpose"] == "people"
    assert len(design_of(replace(one, limit=7), store).batches) == 1


def test_a_board_counts_the_people_who_answered_its_questions(store):
    """Who came to the quiz, and no further, was one of "People (19) … n = 8 people"."""
    from eqlab.publish.leaderboard.entries import run_entries

    made = small_design(attention=0)
    walk(made, store, 2)
    participation = Participation(store, made)
    take(participation, participation.arrive(None, "en"), until="trial")  # the quiz is behind them
    found = list(run_entries(store, store.read_run(made.run.id), {}))
    assert {entry.participants for entry in found} == {2}
    assert {entry.result.rules["rater"] for entry in found} == {"people (2)"}


@pytest.mark.parametrize("kind", ["evoked", "eqbench"])
def test_answers_of_the_other_kinds_are_answers_of_their_benchmark(store, kind):
    made = design_of(study(store, kind, limit=4), store)
    walk(made, store, 2, answer=lambda scale: scale.low + 1)
    benchmark = made.run.benchmarks[0].name
    scored = list(store.scored(made.run.id, "people", benchmark))
    assert len(scored) == (4 if kind == "evoked" else 8)
    assert all(one.attempts[0].status == "ok" for one in scored)


def test_a_reference_that_is_no_arm_is_refused(store):
    one = study(store, "evoked")
    with pytest.raises(UsageError, match=r"'Joy' is not one of its arms. They are: Anger"):
        design_of(replace(one, analysis=replace(one.analysis, reference="Joy")), store)


def test_published_items_of_every_kind(published, store):
    one = replace(study(store, "eqbench"), items="published", options=(("language", "de"),))
    assert sum(len(batch.trials) for batch in design_of(one, store, published).batches) == 171
    one = replace(study(store, "evoked"), items="published", limit=20)
    assert len(design_of(one, store, published).batches) == 60
    one = replace(study(store, "rating"), arms=(("people", "published:human"), ("gpt", "published:chatgpt")))
    one = replace(one, analysis=replace(one.analysis, reference="people"))
    made = design_of(one, store, published)
    assert len(made.batches) == 400
    assert made.run.benchmarks[0].item_set == "published"


def test_a_file_of_ones_own_beside_the_study_file(store, tmp_path):
    rows = "".join(f"w{n},Ann,Ann: {n} is fine.,Calm,{n},Sad,7,Proud,0,Angry,3\n" for n in range(1, 7))
    head = "id,character,dialogue," + ",".join(f"emotion{k},reference{k}" for k in range(1, 5)) + "\n"
    (tmp_path / "ward.csv").write_text(head + rows)
    text = study_text("eqbench", store)
    assert 'items = "open"' in text
    path = tmp_path / "study.toml"
    path.write_text(text.replace('items = "open"', 'items = "ward.csv"'))
    _, design = open_study(path, store)
    (asked,) = design.run.benchmarks
    assert (asked.item_set, asked.options["title"]) == ("own", "ward")
    assert any("6 is fine." in trial.stimulus for batch in design.batches for trial in batch.trials)
    path.write_text(text.replace('items = "open"', 'items = "nowhere.csv"'))
    with pytest.raises(DataError, match=r"nowhere\.csv"):
        open_study(path, store)
