"""How much is read of a store: what a report of 200,000 answers takes depends on it (bench/large.py measures)."""

import pytest
from test_store import answer, config, plan, trial

from eqlab.store import reader
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


@pytest.mark.parametrize("page", [1, 2, 3, 500])
def test_every_trial_has_its_own_attempts_wherever_a_page_ends(store, monkeypatch, page):
    monkeypatch.setattr(reader, "_PAGE", page)
    store.begin_run(config(), plan(6), {})
    tries = {0: 1, 1: 3, 3: 2, 4: 1}  # nobody has answered the others
    store.add_answers(
        [
            answer(number, subject="model:openai/a", attempt=1 + one)
            for number, count in tries.items()
            for one in range(count)
        ]
    )
    found = [one for one in store.scored(config().id, "model:openai/a", "eqbench") if one.repeat == 0]
    assert [one.trial for one in found] == [trial(number) for number in range(6)]
    assert [[own.attempt for own in one.attempts] for one in found] == [[1], [1, 2, 3], [], [1, 2], [1], []]
