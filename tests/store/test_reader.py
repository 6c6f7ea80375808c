"""How much is read of a store: what a report of 200,000 answers takes depends on it (bench/large.py measures)."""

from test_store import answer, config, plan, trial

from eqlab.store.reader import Reader


def test_a_trial_is_read_once_however_many_answered_it(store, monkeypatch):
    store.begin_run(config(), plan(20), {})
    subjects = ("model:openai/a", "model:b")
    store.add_answers(
        [answer(number, subject=who, repeat=one) for who in subjects for one in (0, 1) for number in range(20)]
    )
    bodies, queries = 0, 0
    rows = type(store).rows

    def counted(self, query, values):
        nonlocal bodies, queries
        queries += 1
        for row in rows(self, query, values):
            bodies += "FROM trials" in query
            yield row

    monkeypatch.setattr(type(store), "rows", counted)
    assert isinstance(store, Reader)
    found = [one for who in subjects for one in store.scored(config().id, who, "eqbench")]
    assert [one.trial for one in found] == 4 * [trial(number) for number in range(20)]
    assert all(len(one.attempts) == 1 for one in found)
    assert bodies == 20  # of 80 answers
    assert queries <= 4  # and not one for each
