"""Arms of a real judge run, compared by prompt."""

from test_judging import judge, replies

import eqlab as api
from eqlab.comparison.compare import compare
from eqlab.comparison.entries import entries
from eqlab.comparison.sentences import sentence
from eqlab.comparison.sources import read_sources


def test_the_arms_of_a_judge(server, tmp_path):
    store = api.open_store(str(tmp_path / "s.db"))
    run = replies(server, store)
    outcome, _, _ = judge(server, store, [run])
    store.close()
    sources = read_sources([run, outcome.run, outcome.run], str(tmp_path / "s.db"))
    own, undefined = entries(sources)
    assert {name: why.split(":")[0] for name, why in undefined} == dict.fromkeys(
        ("warm", "cold"), "nobody has rated these replies yet"
    )
    (found,) = compare(own, undefined)
    assert [standing.entry.score.value for standing in found.standings] == [100.0, 0.0]
    assert sentence(found).startswith(
        "warm (rated by gpt-judge) is better than cold (rated by gpt-judge): +100.0 points"
    )
    assert [standing.rank for standing in found.standings] == [(1, 1), (2, 2)]
