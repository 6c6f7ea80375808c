"""The release for everybody: what is common one by one may be rare together."""

from collections import Counter
from dataclasses import replace

from small_study import small_design, take

from eqlab.core.forms import Form, Scale
from eqlab.core.trials import Trial
from eqlab.store.store import Store
from eqlab.store.study.participation import Participation
from eqlab.store.study.studies import create_study
from eqlab.study.results.participants import read_participants
from eqlab.study.results.public import coarse_answers


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
