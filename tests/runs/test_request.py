"""A request is checked in one place, for the command line and for Python, before anything is looked up or asked."""

import pytest

from eqlab.benchmarks.eqbench.benchmark import EqBench
from eqlab.core.errors import DataError, UsageError
from eqlab.runs.request import Request, prepare


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"items": "opne"}, ["'opne'", "Did you mean open?"]),
        ({"items": "publishd"}, ["Did you mean published?"]),
        ({"items": "nowhere"}, ["no file has that name"]),
        ({"profile": "quik"}, ["'quik'", "quick or full"]),
        ({"limit": 0}, ["--limit 0"]),
        ({"repeats": -1}, ["--repeats -1"]),
        ({"limit": True}, ["--limit True"]),
        ({"benchmarks": ()}, ["nothing to ask"]),
        ({"benchmarks": ("eqbnch",)}, ["eqbnch", "eqbench"]),
        ({"options": {"nonsense": "1"}}, ["nonsense"]),
    ],
)
def test_what_makes_no_sense_is_refused(wrong, words):
    with pytest.raises(UsageError) as error:
        prepare(Request(**({"models": ("m",), "base_url": "http://127.0.0.1:9/v1"} | wrong)))
    assert all(word in str(error.value) for word in words), str(error.value)


def test_a_file_that_is_none_of_items_is_named(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text("nothing = 1")
    with pytest.raises(DataError, match=r"mine\.toml"):
        list(prepare(Request(("m",), ("emotionbench",), items=str(path))).plan())


def test_what_to_fetch_is_said_only_where_it_is_not_there(tmp_path):
    asked = {"benchmarks": ("eqbench", "dialogue"), "items": "open", "options": {"speaker": "embedded"}}
    there = tmp_path / "there"
    request = Request(("m",), base_url="http://127.0.0.1:9/v1", data=there, **asked)
    there.mkdir()
    assert prepare(request).missing == ("eqbench",)  # the dialogue's open personas stand in for nothing
    for source in EqBench().sources("published", EqBench().options("published", {})):
        (there / source.path).parent.mkdir(parents=True, exist_ok=True)
        (there / source.path).write_text("{}")
    assert prepare(request).missing == ()


def test_own_items_take_the_place_of_ours(tmp_path):
    from importlib.resources import files

    for name, count in (("eqbench", 2), ("empathy", 2), ("emotionbench", 2)):
        text = files("eqlab.data").joinpath("open", f"{name}.toml").read_text()
        head, *items = text.split("[[item]]")
        path = tmp_path / f"{name}.toml"
        path.write_text("[[item]]".join([head, *items[:count]]))
        request = Request(
            ("m",), (name,), items=str(path), options={"controls": "no"} if name == "emotionbench" else {}
        )
        prepared = prepare(request)
        asked = {trial.items for _, _, trial, _ in prepared.plan() if trial.condition != "default"}
        assert len(asked) == count, name
        assert prepared.config.benchmarks[0].item_set == "own"
        assert prepared.config.id != prepare(Request(("m",), (name,), options=request.options)).config.id


def test_items_are_read_once_for_all_who_are_asked_the_same(monkeypatch):
    """A sweep of many models read a benchmark's files anew for each: the most that its driver did."""
    from dataclasses import replace

    import eqlab.runs.request as request

    base = prepare(Request(models=("a", "b"), benchmarks=("eqbench",), items="open", limit=3))
    asked, plan = [], type(base.asked["eqbench"].benchmark).plan

    def counted(self, files, options, selection):
        asked.append(selection.seed)
        return plan(self, files, options, selection)

    monkeypatch.setattr(type(base.asked["eqbench"].benchmark), "plan", counted)
    first = list(base.plan())
    assert [subject for subject, *_ in first] == ["model:a"] * 3 + ["model:b"] * 3
    assert first[:3] == [("model:a", *rest) for _, *rest in first[3:]]
    other = replace(base, config=replace(base.config, models=base.config.models[1:]))
    assert list(other.plan()) == first[3:]
    assert asked == [0]
    assert len(list(replace(other, config=replace(other.config, seed=1)).plan())) == 3
    assert asked == [0, 1]
    monkeypatch.setattr(request, "_KEPT", 2)
    long = prepare(Request(models=("a", "b"), benchmarks=("eqbench",), items="open", limit=3))
    assert list(long.plan()) == first
    assert asked == [0, 1, 0, 0]
    assert not long.plans
