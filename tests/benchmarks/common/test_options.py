"""Options as a frozen dataclass: what a run stores of them is the same JSON as ever."""

from dataclasses import dataclass

import pytest

from eqlab.benchmarks.eqbench.benchmark import EqBench
from eqlab.benchmarks.eqbench.score import EqBenchOptions
from eqlab.benchmarks.options import Options, listed, option, read_options
from eqlab.core.errors import UsageError


@dataclass(frozen=True, slots=True)
class Some(Options):
    tone: str = option("plain", "how it is put", ("plain", "kind"))
    again: bool = option(False, "ask again")
    most: int = option(4, "at most")
    parts: tuple[str, ...] = listed("none", "some of a list", late=True)
    width: int = option(0, "a late one", late=True)


def test_read_stored_and_read_again():
    made = Some.read("some", "open", {"again": "yes", "most": "7"})
    assert (made.tone, made.again, made.most, made.width) == ("plain", True, 7, 0)
    assert made.plain() == {"tone": "plain", "again": True, "most": 7, "item_set": "open"}
    assert Some.of(made.plain()) == made
    late = Some(width=3, parts=("a", "b"))
    assert late.plain() == {
        "tone": "plain", "again": False, "most": 4, "parts": ["a", "b"], "width": 3, "item_set": "open",
    }  # fmt: skip
    assert Some.of({**late.plain(), "study": "s", "purpose": "people", "title": "t"}) == late


def test_the_help_is_that_of_the_fields():
    assert [(one.name, one.default, one.choices, one.late) for one in Some.help()] == [
        ("tone", "plain", ("plain", "kind"), False),
        ("again", "no", ("yes", "no"), False),
        ("most", "4", (), False),
        ("parts", "none", (), True),
        ("width", "0", (), True),
    ]


@pytest.mark.parametrize("given", [{"tone": "rude"}, {"again": "maybe"}, {"most": "many"}, {"other": "x"}])
def test_what_is_no_option_is_refused(given):
    with pytest.raises(UsageError):
        Some.read("some", "open", given)


def test_the_same_as_options_of_0_2():
    given = {"again": "yes", "width": "5"}
    assert Some.read("some", "open", given).plain() == {**read_options("some", Some.help(), given), "item_set": "open"}


def test_stored_options_of_eq_bench_are_as_they_were():
    assert EqBench().options("open", {}) == {
        "version": "v2", "language": "en", "revision": False, "rules": "leaderboard", "item_set": "open",
    }  # fmt: skip
    assert EqBench().options("open", {"perturb": "temperature,order"})["perturb"] == ["order", "temperature"]
    assert "perturb" not in EqBench().options("open", {"perturb": "no"})
    assert EqBench().options("published", {"short": "40"})["short"] == 40
    assert EqBenchOptions.of({"version": "v2", "perturb": ["order"]}).perturb == ("order",)
