"""Arms of a real judge run, compared by prompt."""

from filled_studies import filled, opened
from judge_case import judge, replies
from made_studies import study_text, write_replies

import eqlab as api
from eqlab.comparison.compare import caveats, compare
from eqlab.comparison.entries import entries
from eqlab.comparison.sources import read_sources
from eqlab.comparison.tables import sentence


def test_the_arms_of_a_judge(server, tmp_path):
    store = api.open_store(str(tmp_path / "s.db"))
    run = replies(server, store)
    outcome, _, _ = judge(server, store, [run])
    store.close()
    sources = read_sources([run, outcome.run, outcome.run], str(tmp_path / "s.db"))
    own, undefined = entries(sources)
    assert {name: ":".join(why.split(":")[:2]) for name, why in undefined} == dict.fromkeys(
        ("warm", "cold"), "EQ Lab open prompts: replies are scored by raters"
    )
    (found,) = compare(own, undefined)
    assert [(entry.name, entry.score.value) for entry in found.entries] == [("warm", 100.0), ("cold", 0.0)]
    assert sentence(found).startswith(
        "Judge-only: gpt-judge calls Good 100.0 % of the replies by warm, 0.0 % of the replies by cold. "
        "warm is better than cold by 100.0 points"
    )
    assert [standing.rank for standing in found.verdict.standings] == [(1, 1), (2, 2)]


def test_what_people_rated_was_not_refused_or_lost(tmp_path):
    """A rating has no points of its own, and all were called refused, unreadable or failed."""
    write_replies(tmp_path)
    store = api.open_store(str(tmp_path / "s.db"))
    text = study_text("rating", arms=("a", "b"), tables="[places]\nbatch_size = 4\npeople_per_batch = 3\n")
    participation = filled(opened(tmp_path / "study.toml", text, store), store, 12, source=text)
    run = participation.design.run.id
    store.close()
    own, undefined = entries(read_sources([run], str(tmp_path / "s.db")))
    found = compare(own, undefined)
    assert found
    assert not [said for one in found for said in caveats(one, "drop") if "could not be used" in said]
