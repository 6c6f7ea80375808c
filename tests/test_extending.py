"""docs/extending.md: every block of code in it is run, with a real store and a server on loopback."""

import csv
import json
import re
import sys
import tomllib
import types
from dataclasses import replace

import pytest
from conftest import ROOT

import eqlab as api
from eqlab.core.benchmark import Adaptive, Foreseen, Normed, Probed, Rated, Seated, Talks
from eqlab.core.errors import UsageError
from eqlab.core.studied import Studied
from eqlab.runs.request import Request, prepare

TEXT = (ROOT / "docs" / "extending.md").read_text(encoding="utf-8")
SECTIONS = dict(re.findall(r"^## ([^\n]+)\n(.*?)(?=^## |\Z)", TEXT, re.MULTILINE | re.DOTALL))


def blocks(section, language="python"):
    return re.findall(rf"```{language}\n(.*?)```", SECTIONS[section], re.DOTALL)


def run_blocks(section):
    """The names that a section's blocks leave behind."""
    names = {}
    for block in blocks(section):
        exec(compile(block, f"extending.md: {section}", "exec"), names)
    return names


@pytest.fixture
def registered(monkeypatch):
    """Benchmarks as an installed package would bring them."""
    from eqlab.benchmarks import registry

    class Point:
        def __init__(self, name, made):
            self.name, self.load = name, lambda: made

    known = {}
    monkeypatch.setattr(
        registry,
        "entry_points",
        lambda group, name=None: [Point(*one) for one in known.items() if name in (None, one[0])],
    )
    return known


def ten_points(registered):
    """The benchmark in one file, registered as the page says."""
    block = "".join(blocks("A benchmark in one file"))
    assert len(block.splitlines()) <= 200
    (line,) = tomllib.loads("".join(blocks("A benchmark in one file", "toml")))["project"]["entry-points"].values()
    names = run_blocks("A benchmark in one file")
    registered |= {name: names[target.partition(":")[2]] for name, target in line.items()}
    return names


def dealer(names):
    """A model that knows the norm, one that gives the same to each, and one that never adds up."""

    def reply(body, number):
        asked = body["messages"][-1]["content"]
        _, norm = next(story for story in names["STORIES"].values() if story[0] in asked)
        wrong = {"flat": 2.5, "sums": 9}.get(body["model"])
        return "\n".join(f"{word}: {points if wrong is None else wrong}" for word, points in norm.items())

    return reply


def test_a_benchmark_in_one_file(registered, server, tmp_path, eqlab):
    """Models, percentile, report, leaderboard, comparison and export without a line besides the file's."""
    names = ten_points(registered)
    server.reply = dealer(names)
    asked = ("-b", "points", "--profile", "full", "--base-url", server.url)
    done = eqlab("run", "near", "flat", "sums", *asked)
    assert done.code == 0, done.err
    assert "above people" in done.out
    assert "near would stand above 100 %" in done.out
    assert "the same to each 4.1, falling by place" in done.out
    assert "8 answers were scaled to the total: the sum was not as asked." in done.out
    near, flat, _ = json.loads(eqlab("run", "near", "flat", "sums", *asked, "--json").out)["results"]
    assert (near["headline"]["value"], near["better"], near["norms"]["source"]) == (0.0, "lower", "invented people")
    assert flat["headline"]["value"] == pytest.approx(near["baselines"][0]["value"])
    assert 10 < flat["percentile"]["value"] < 40
    assert flat["percentile"]["low"] < flat["percentile"]["value"] < flat["percentile"]["high"]
    shown = eqlab("show", "--limit", 1).out
    assert "near would stand above 100 %" in shown
    drawn = eqlab("plot", "--kind", "people", "-o", "among.svg")
    assert drawn.code == 0, drawn.err
    picture = (tmp_path / "among.svg").read_text()
    assert "people who do worse, %" in picture
    assert all(f">{name}<" in picture for name in ("near", "flat", "sums"))
    compared = eqlab("compare", "last").out
    assert compared.index("near") < compared.index("flat")
    assert "near is better than" in compared or "near is best" in compared
    assert eqlab("report", "last", "-o", "r.html").code == 0
    page = (tmp_path / "r.html").read_text()
    assert "above people" in page
    assert "invented people" in page
    assert eqlab("leaderboard", "build", "site").code == 0
    board = (tmp_path / "site" / "index.html").read_text()
    assert board.index("near") < board.index("flat")
    assert eqlab("export", "last", "-o", "x.csv").code == 0
    with (tmp_path / "x.csv").open(newline="") as file:
        assert len(list(csv.DictReader(file))) == 24
    refused = eqlab("run", "near", *asked, "--items", "published")
    assert (refused.code, "points has no published items" in refused.err) == (2, True)
    written = eqlab("run", "near", *asked, "-o", "order=written")
    assert "is undefined: people saw the words in a drawn order." in written.out


def test_people_take_a_benchmark_in_one_file(registered, tmp_path, eqlab):
    """A study by default: written, checked, walked through over HTTP by simulated people, its truth found again."""
    pytest.importorskip("uvicorn")
    ten_points(registered)
    assert eqlab("study", "init", "points", "-o", "points.toml").code == 0
    path = tmp_path / "points.toml"
    path.write_text(
        path.read_text().replace("people_per_batch = 10", "people_per_batch = 24").replace("CHANGE ME", "A")
    )
    assert eqlab("study", "check", "points.toml").code == 0
    done = eqlab("study", "simulate", "points.toml", "--people", 24, "--mix", "honest=1", "--json")
    assert done.code == 0, done.err
    found = json.loads(done.out)
    (recovered,) = found["recovered"]
    assert recovered["found"]["n"] == 24
    assert recovered["put_in"] == pytest.approx(recovered["found"]["value"], abs=4 * recovered["found"]["se"])


def test_a_benchmark(registered, server, tmp_path, monkeypatch, store):
    registered["stronger"] = run_blocks("A benchmark")["Stronger"]
    package = tmp_path / "my_package"
    package.mkdir()
    (package / "__init__.py").write_text("")
    words = [("annoyed", "furious"), ("glum", "heartbroken")]
    items = "".join(f'[[item]]\nid = "{a}"\nweak = "{a}"\nstrong = "{b}"\n' for a, b in words)
    (package / "stronger.toml").write_text(items)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "my_package", raising=False)
    server.reply = lambda body, number: "furious" if "furious" in body["messages"][-1]["content"] else "A, I guess"
    outcome = api.run(prepare(Request(("m",), ("stronger",), base_url=server.url)), store)
    (result,) = api.results(store, store.read_run(outcome.run))
    with pytest.raises(UsageError, match="stronger has no published items"):
        prepare(Request(("m",), ("stronger",), items="published", base_url=server.url))
    assert result.sentence.startswith("model:m is right in")
    assert result.headline.n >= 1
    assert result.counts["planned"] == sum(result.counts.values()) - result.counts["planned"] == 2


def test_what_a_benchmark_does_not_count_is_counted_for_it(registered, server, tmp_path, monkeypatch, eqlab):
    """Else nobody would see why there is no score, and the run would be called a success."""
    stronger = run_blocks("A benchmark")["Stronger"]

    class Careless(stronger):
        def score(self, *arguments, **named):
            made = super().score(*arguments, **named)
            return replace(made, counts={"planned": len(made.items), "ok": made.headline.n})

    registered["stronger"] = Careless
    package = tmp_path / "my_package"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "stronger.toml").write_text('[[item]]\nid = "a"\nweak = "glum"\nstrong = "heartbroken"\n')
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "my_package", raising=False)
    server.reply = lambda body, number: "I would rather talk about the weather."
    asked = ("run", "m", "-b", "stronger", "--base-url", server.url)
    done = eqlab(*asked)
    assert done.code == 1
    assert "m: none of 1 answer could be used" in done.err
    assert "unparseable" in done.out
    server.reply = lambda body, number: "A"
    assert eqlab(*asked, "--seed", 1).code == 0
    assert "read: answer 1" in eqlab("show").out  # the benchmark's own line does not say it


def test_a_plugin():
    (block,) = blocks("A plugin", "toml")
    shown = tomllib.loads(block)["project"]
    real = tomllib.loads((ROOT / "tests" / "plugin" / "pyproject.toml").read_text())["project"]
    assert shown["name"] == real["name"]
    for group, points in shown["entry-points"].items():
        assert points.items() <= real["entry-points"][group].items()


def test_talks_of_several_turns(registered, server, store):
    from eqlab.core.answers import Reading
    from eqlab.core.benchmark import Asking
    from eqlab.core.forms import Form
    from eqlab.core.results import Estimate, Result
    from eqlab.core.trials import Trial

    shown = run_blocks("Talks of several turns")

    class Sister:
        name, title, protocol = "sister", "Sister", 1
        next_turn, option_help = shown["next_turn"], lambda self: ()
        options = staticmethod(lambda item_set, given: {"item_set": item_set})
        sources = staticmethod(lambda item_set, options: ())
        asking = staticmethod(lambda trial, options: Asking(1, 0.0, 0.0, 50))
        read = staticmethod(lambda trial, text, options: Reading("ok"))

        def plan(self, files, options, selection):
            line = shown["LINES"][0]
            yield Trial("sister", ("one",), "talk", line, Form(), line), 0

        def score(self, subject, scored, options, context=None):
            n = len(list(scored))
            return Result("sister", "Sister", subject, {}, "", Estimate("turns", float(n), n), (0, 9))

    registered["sister"] = Sister
    assert isinstance(Sister(), Talks)
    server.reply = lambda body, number: f"reply {number}"
    outcome = api.run(prepare(Request(("m",), ("sister",), base_url=server.url)), store)
    (result,) = api.results(store, store.read_run(outcome.run))
    assert result.headline.value == 3
    assert [message["content"] for message in server.requests[-1]["messages"]] == [
        shown["LINES"][0],
        "reply 1",
        shown["LINES"][1],
        "reply 2",
        shown["LINES"][2],
    ]
    assert shown["seats"](None, {"speaker": "openai/x"})["speaker"].spec == "openai/x"


def test_items_of_your_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    made = run_blocks("Items of your own")
    assert made["prepared"].config.benchmarks[0].item_set == "own"
    assert len(made["asked"]) == 2
    assert "close to tears" in made["asked"][0][2].prompt


def test_the_table_of_protocols_is_true():
    """Each optional protocol is named with its methods, and has no others."""
    for protocol in (Adaptive, Talks, Seated, Foreseen, Normed, Probed, Rated, Studied):
        methods = [
            name for name, what in vars(protocol).items() if isinstance(what, types.FunctionType) and name[0] != "_"
        ]
        row = next(line for line in TEXT.splitlines() if line.startswith("| `") and f"`{protocol.__name__}`" in line)
        assert all(f"`{name}`" in row for name in methods), (protocol, methods)


def test_a_kind_of_study(registered, tmp_path, monkeypatch, store):
    """Found through its benchmark, checked, translated, simulated over HTTP, and its truth found again."""
    pytest.importorskip("uvicorn")
    from eqlab.core.studied import StudyKind, Truth
    from eqlab.study import kinds
    from eqlab.study.build_design import open_study
    from eqlab.study.init import study_text
    from eqlab.study.simulation.simulate import Simulation, simulate

    names = run_blocks("A benchmark")
    for block in blocks("A kind of study"):
        exec(compile(block, "extending.md: A kind of study", "exec"), names)
    registered["stronger"] = names["StrongerWithPeople"]
    package = tmp_path / "my_package"
    package.mkdir()
    (package / "__init__.py").write_text("")
    items = "".join(f'[[item]]\nid = "{n}"\nweak = "weak{n}"\nstrong = "strong{n}"\n' for n in range(12))
    (package / "stronger.toml").write_text(items)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "my_package", raising=False)
    kind: StudyKind = kinds.find_kind("stronger")
    assert "stronger" in kinds.kind_names()
    assert kind.in_words({"ask": "x"}).words == {"ask": "x"}
    path = tmp_path / "stronger.toml"
    path.write_text(study_text("stronger", store).replace("[pay]", "[places]\npeople_per_batch = 30\n[pay]"))
    text, design = open_study(path, store)
    outcome = simulate(design, text, Simulation(30, Truth(0.6), {"honest": 1.0}, 2), lambda _: None)
    assert outcome.complaints == []
    (one,) = outcome.recovered
    assert (one.put_in, one.found.n) == (80.0, 360)
    assert abs(one.found.value - one.put_in) < 10  # five standard errors: people are drawn anew each time


def test_a_kind_of_study_from_another_package(monkeypatch):
    from eqlab.study import kinds

    (block,) = blocks("A kind of study", "toml")
    ((group, points),) = tomllib.loads(block)["project"]["entry-points"].items()
    assert group == kinds.GROUP

    class Point:
        name = "stronger"

        @staticmethod
        def load():
            from eqlab.benchmarks.eqbench.benchmark import EqBenchStudy

            return EqBenchStudy

    monkeypatch.setattr(kinds, "entry_points", lambda group, name=None: [Point] if name in (None, *points) else [])
    assert "stronger" in kinds.kind_names()
    assert kinds.find_kind("stronger").form().benchmark == "eqbench"


def test_a_language(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("EQLAB_LANGUAGES", "")  # set again by the block, and taken back at the end
    names = run_blocks("A language")
    assert "pt" in names["languages"]()
    assert names["load"]("pt")("continue") == "Continuar"
    assert names["missing_words"]("pt") == {}


def test_a_wire_format(monkeypatch):
    from eqlab.core.trials import Message
    from eqlab.models.chat import LENGTH, ChatReply, ChatRequest
    from eqlab.models.wire import contract
    from eqlab.models.wire.contract import Adapt, Endpoint, Hopeless, Incoming, RequestProfile, TryAgain

    made = run_blocks("A wire format")["Generate"]
    (declared,) = [tomllib.loads(block) for block in blocks("A wire format", "toml")]
    assert declared["project"]["entry-points"]["eqlab.wires"] == {"generate": "my_package.wire:Generate"}
    point = types.SimpleNamespace(name="generate", load=lambda: made)
    monkeypatch.setattr(
        contract, "entry_points", lambda group, name=None: [point] if name in (None, "generate") else []
    )
    contract.wire.cache_clear()
    assert contract.named_wire("generate") == "generate"
    found = contract.wire("generate")
    contract.wire.cache_clear()
    request = ChatRequest((Message("system", "Be brief."), Message("user", "How is she?")), temperature=0.5)
    out = found.build(Endpoint("http://h", "m", "k"), request, RequestProfile("generate"))
    assert (out.path, out.body["inputs"], out.sent["temperature"]) == ("/generate", "Be brief.\n\nHow is she?", 0.5)
    without = found.build(
        Endpoint("http://h", "m", "k"), request, RequestProfile("generate", dropped=frozenset({"temperature"}))
    )
    assert "temperature" not in without.body

    def read(status, raw):
        return found.read(out, Incoming(status, {}, raw))

    reply = read(200, b'{"generated_text": "Sad.", "cut": true}')
    assert isinstance(reply, ChatReply)
    assert (reply.text, reply.finish) == ("Sad.", LENGTH)
    assert isinstance(read(429, b""), TryAgain)
    assert isinstance(read(400, b"temperature is not allowed"), Adapt)
    assert isinstance(read(401, b""), Hopeless)


def test_a_published_study_is_a_list_of_claims():
    study = run_blocks("A published study")["STUDY"]
    report = study.reproduce(None)
    assert [row["verdict"] for row in report["rows"]] == ["match", "not recomputable", "differs", "not recomputable"]
    assert report["summary"]["differences"] == {"the printed score is rounded": 1}
    assert study.tables(report)
