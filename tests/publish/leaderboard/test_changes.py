"""What has changed on a leaderboard since it was built last."""

from eqlab.publish.leaderboard.site import changes


def table(*rows, key="eqbench"):
    named = [
        {"id": name, "name": name, "score": score, "digits": 2, "rank": list(rank) if rank else None}
        for name, score, rank in rows
    ]
    return {"key": key, "title": key, "rows": named}


def told(before, now):
    return [(one.name, one.what, one.before, one.after) for one in changes(before, now)]


def test_a_score_that_looks_the_same_has_not_changed():
    assert told([table(("a", 61.2301, (1, 1)))], [table(("a", 61.2349, (1, 1)))]) == []
    assert told([table(("a", 61.2301, (1, 1)))], [table(("a", 61.2351, (1, 1)))]) == [("a", "score", "61.23", "61.24")]


def test_ranks_newcomers_and_those_who_left_are_told():
    before = [table(("a", 61.0, (1, 2)), ("b", 60.0, (1, 2))), table(("c", 1.0, (1, 1)), key="gone")]
    now = [table(("a", 61.0, (1, 1)), ("d", 50.0, (2, 2)))]
    assert told(before, now) == [
        ("a", "rank", "1–2", "1"),
        ("d", "new", "", "50.00"),
        ("b", "gone", "60.00", ""),
        ("c", "gone", "1.00", ""),
    ]


def test_a_score_that_is_undefined_now_has_changed():
    assert told([table(("a", 61.0, (1, 1)))], [table(("a", None, None))])[0][:2] == ("a", "score")
