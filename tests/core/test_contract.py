"""The contract holds for outsiders only if nobody inside asks a benchmark for its name."""

import re

import pytest
from conftest import ROOT

from eqlab.benchmarks.registry import load, names, place, usual
from eqlab.core.benchmark import (
    Adaptive,
    Probed,
    Rated,
    Source,
    Talks,
    asks_of,
    check_item_set,
    file_sources,
    item_sets_of,
)
from eqlab.core.errors import UsageError

SOURCE = ROOT / "src" / "eqlab"
ASKS = re.compile(r"""(?:==|!=|\bin\b)\s*\(?["'](?:eqbench|emotionbench|empathy|rating|emobench|dialogue)["']""")
ROOMS = ("cli", "comparison", "models", "publish", "runs", "store", "sweep")


def test_no_code_outside_benchmarks_asks_for_a_name():
    found = [
        f"{path.relative_to(SOURCE)}:{number}: {line.strip()}"
        for room in ROOMS
        for path in sorted((SOURCE / room).rglob("*.py"))
        for number, line in enumerate(path.read_text().splitlines(), start=1)
        if ASKS.search(line)
    ]
    assert not found, "\n".join(found)


def test_what_each_of_ours_can_do():
    has = {
        protocol.__name__: {name for name in names() if isinstance(load(name), protocol)}
        for protocol in (Adaptive, Probed, Rated, Talks)
    }
    assert has["Adaptive"] == {"eqbench"}
    assert has["Rated"] == {"empathy", "dialogue"}
    assert has["Talks"] >= {"dialogue"}
    assert {"eqbench", "emotionbench", "empathy", "emobench", "dialogue"} <= has["Probed"]


OURS = ("eqbench", "emotionbench", "empathy", "emobench", "dialogue")


@pytest.mark.parametrize("name", OURS)
def test_the_item_sets_of_ours(name):
    benchmark = load(name)
    assert item_sets_of(benchmark) in (("published", "open", "own"), ("open", "published", "own"))
    first, *rest = file_sources(benchmark, "mine.toml", benchmark.options("own", {}))
    assert first == Source("file", "mine.toml")
    assert all(source.kind != "file" for source in rest)


class Undeclared:
    """A benchmark of 0.2."""

    name = "undeclared"

    def __init__(self, *, published):
        self.published = published

    def options(self, item_set, given):
        return {"item_set": item_set}

    def sources(self, item_set, options):
        other = self.published and item_set == "published"
        return (Source("package", "theirs.toml" if other else "items.toml", "theirs"),)


@pytest.mark.parametrize("name", [*names(), "rating"])
def test_ours_say_what_they_ask(name):
    asks = asks_of(load(name))
    assert asks.endswith(".") or asks.endswith("?")
    assert 40 < len(asks) < 140
    assert load(name).title not in asks  # for somebody who knows none of these names


def test_a_package_may_say_nothing_of_what_it_asks():
    assert asks_of(object()) == ""


def test_item_sets_of_a_package_that_declares_none():
    assert item_sets_of(Undeclared(published=True)) == ("open", "published")
    assert item_sets_of(Undeclared(published=False)) == ("open",)
    own = Undeclared(published=False)
    own.own_sources = lambda path, options: (Source("file", path), Source("open", "more.toml"))
    assert item_sets_of(own) == ("open", "own")
    assert len(file_sources(own, "mine.toml", {})) == 2


def test_items_that_a_benchmark_does_not_have_are_refused():
    check_item_set(Undeclared(published=True), "published")
    with pytest.raises(UsageError, match=r"undeclared has no published items\. Write --items open\."):
        check_item_set(Undeclared(published=False), "published")
    with pytest.raises(UsageError, match="takes no items of your own"):
        check_item_set(Undeclared(published=False), "own")


def test_order_and_what_a_plain_run_asks():
    assert usual() == ["eqbench", "emotionbench", "empathy"]
    assert place("eqbench") < place("emotionbench") < place("emobench") < place("rating") < place("not installed")


def test_where_a_users_file_lies_is_not_its_name():
    assert Source("file", "/home/somebody/mine.toml").name == "own/mine.toml"
    assert Source("package", "data/items.toml", "theirs").name == "data/items.toml"
