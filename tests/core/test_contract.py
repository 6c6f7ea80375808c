"""The contract holds for outsiders only if nobody inside asks a benchmark for its name."""

import re

from conftest import ROOT

from eqlab.benchmarks.registry import load, names, place, usual
from eqlab.core.benchmark import Adaptive, OwnItems, Probed, Rated, Source, Talks

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
        for protocol in (Adaptive, OwnItems, Probed, Rated, Talks)
    }
    assert has["Adaptive"] == {"eqbench"}
    assert has["Rated"] == {"empathy", "dialogue"}
    assert has["Talks"] >= {"dialogue"}
    assert {"eqbench", "emotionbench", "empathy", "emobench", "dialogue"} <= has["OwnItems"] & has["Probed"]


def test_order_and_what_a_plain_run_asks():
    assert usual() == ["eqbench", "emotionbench", "empathy"]
    assert place("eqbench") < place("emotionbench") < place("emobench") < place("rating") < place("not installed")


def test_where_a_users_file_lies_is_not_its_name():
    assert Source("file", "/home/somebody/mine.toml").name == "own/mine.toml"
    assert Source("package", "data/items.toml", "theirs").name == "data/items.toml"
