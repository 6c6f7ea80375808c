"""`eqlab compare` and `eqlab research correlate` as a user meets them."""

import json
import re
from pathlib import Path

import pytest
from aiohttp import web
from reading import reader
from test_cli import fails


@pytest.fixture
def run(eqlab, server, tmp_path):
    server.reply = reader
    flags = ["-b", "eqbench", "--base-url", server.url, "--limit", 30, "--repeats", 2, "--json"]
    ran = eqlab("run", "timid", "wild", *flags)
    assert ran.code == 0, ran.err
    return json.loads(ran.out)["run"]


def test_models_of_a_run(eqlab, run):
    said = eqlab("compare").out
    assert "timid" in said.splitlines()[0]
    for words in ("P(A is better)", "Where the spread comes from", "asked 5 times", "CV over repeats"):
        assert words in said
    (found,) = json.loads(eqlab("compare", run[:6], run, "--json").out)
    assert [one["repeats"] for one in found["subjects"]] == [2, 2]
    assert found["pairs"][0]["method"] == "paired"
    assert found["pairs"][0]["n"] == 30
    eqlab("report", run)
    assert "repeatability: variation of the score over repeats" in Path("eqlab-report.html").read_text()


def test_equivalence_is_asked_for_with_a_margin(eqlab, run):
    (found,) = json.loads(eqlab("compare", run, "--equivalent", 60, "--json").out)
    assert [one["outcome"] for one in found["equivalence"]] == ["equivalent"]
    said = eqlab("compare", run, "--equivalent", 0.1).out
    assert "are not shown to be equivalent within ±0.1 points (90 % interval" in said
    assert "0.1 points are " in said
    assert "SD of one model's repeats." in said
    fails(eqlab("compare", run, "--equivalent", 2, "--baseline", run), "--equivalent takes a margin", code=2)


def test_a_passage_for_a_paper(eqlab, run, tmp_path):
    done = eqlab("compare", run, "--paper", "paper.txt")
    assert done.code == 0, done.err
    assert "paper.txt and paper.bib" in done.out
    text = " ".join((tmp_path / "paper.txt").read_text().split())
    (found,) = json.loads(eqlab("compare", run, "--json").out)
    (pair,) = found["pairs"]
    for words in (
        "30 questions of EQ Lab open dialogues",
        "Items: those written for EQ Lab (sha256 ",
        "each asked 2 times, seed 0.",
        f"run {run}, 20",
        "free text",
        "Student's t test of the paired differences",
        f" = {pair['value']:.2f} points, 95 % CI {pair['low']:.2f} to {pair['high']:.2f}, n = 30, t(29) = ",
        "No-skill baselines: always 0",
        "[Computer software]",
        found["sentence"],
    ):
        assert words in text, words
    assert "EQ-Bench v2" not in text
    bib = (tmp_path / "paper.bib").read_text()
    assert bib.count("@") == 2
    assert re.search(r"@software\{eqlab,\n  title = .*\n  author = .*\n  year = \{20\d\d\},\n  version", bib)
    fails(eqlab("compare", run, "--paper", "x.bib"), "citations go", code=2)
    fails(eqlab("compare", run, "--paper", "x.txt", "--baseline", run), "--paper describes a comparison", code=2)


def test_models_by_name(eqlab, run, server):
    """A model stands for its newest run, RUN:MODEL for itself alone; a typing error is said."""
    both = eqlab("compare", "wild", "timid").out
    assert both.splitlines()[0] == eqlab("compare", run).out.splitlines()[0]
    assert re.search(r"\d+\.\d points \(95 % interval", both.splitlines()[0]), "how large it is comes first"
    asked = ("-b", "eqbench", "--base-url", server.url, "--limit", 30, "--repeats", 2)
    assert eqlab("run", "newer", *asked).code == 0
    (found,) = json.loads(eqlab("compare", "newer", f"{run[:6]}:timid", "--json").out)
    assert sorted(one["name"] for one in found["subjects"]) == ["newer", "timid"]
    assert eqlab("report", f"{run}:wild", "-o", "one.html").code == 0
    assert "timid" not in Path("one.html").read_text().partition("<h2")[0]
    for name in ("wilt", f"{run}:wilt"):
        fails(eqlab("compare", name, "timid"), "'wilt' names no run and no model", "Did you mean wild?", code=2)


def test_the_terminal_says_how_repeatable_a_score_is(eqlab, server, tmp_path):
    server.reply = reader
    said = eqlab("run", "wild", "-b", "eqbench", "--base-url", server.url, "--limit", 6, "--repeats", 2).out
    assert "Asked again: variation of the score over repeats" in said
    assert "ICC" in said


def test_published_models_and_own_runs_do_not_share_open_items(eqlab, run, published):
    said = eqlab("compare", run, "published:gpt-4-0613", "--data", published, "--json")
    assert said.code == 0, said.err
    own, published_one = json.loads(said.out)
    assert own["title"] != published_one["title"]
    assert "gpt-4" not in json.dumps(own["pairs"])
    assert published_one["pairs"] == []
    for found in (own, published_one):
        assert any("Asked other questions" in caveat for caveat in found["caveats"])


def test_two_published_models_by_name_or_file(eqlab, tmp_path, published):
    path = next((published / "eqbench" / "results").rglob("gpt-4-0314*.json"))
    said = eqlab("compare", "published:gpt-4-0613", path, EQLAB_DATA=published).out
    words = "gpt-4-0314 (85.73) and gpt-4-0613 (84.79) cannot be told apart: a difference of 0.9 points"
    assert " ".join(said.split()).startswith(words)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["compare"], ["eqlab run"]),
        (["compare", "none.json"], ["none.json"]),
        (["compare", "--missing", "guess"], ["guess", "drop or zero"]),
        (["correlate", "none.csv"], ["none.csv", "model"]),
        (["correlate"], ["file of scores", "--external"]),
    ],
)
def test_mistakes(eqlab, tmp_path, published, arguments, words):
    fails(eqlab(*arguments, EQLAB_DATA=published), *words)


def test_names_that_fit_no_model_or_several(eqlab, tmp_path, published):
    fails(eqlab("compare", "published:nobody", EQLAB_DATA=published), "nobody", "eqlab research reproduce eqbench")
    fails(eqlab("compare", "published:gpt-4", EQLAB_DATA=published), "2 published models", "gpt-4-0314")


def test_nothing_left(eqlab, run):
    fails(eqlab("compare", run, "-b", "empathy"), "Nothing", "timid on eqbench")


def test_replies_nobody_rated_have_nothing_to_compare(eqlab, server, tmp_path):
    server.reply = lambda body, n: "I hear you."
    eqlab("run", "m", "-b", "empathy", "--base-url", server.url, "--limit", 2)
    fails(eqlab("compare"), "scored by raters")


def test_correlate_with_published_results(eqlab, tmp_path, published):
    rows = {"gpt-4-0613": 9, "Qwen-72B-Chat": 8, "Qwen-14B-Chat": 6, "Qwen-7B-Chat": 5, "koala-7B-HF": 2, "alien": 1}
    (tmp_path / "s.csv").write_text("model,made_up\n" + "".join(f"{name},{value}\n" for name, value in rows.items()))
    names = [f"published:{name}" for name in rows if name != "alien"]
    flags = ["--reliability", "made_up=0.9", "-o", "plots/x.svg"]
    done = eqlab("correlate", "s.csv", *names, *flags, EQLAB_DATA=published)
    assert done.code == 0, done.err
    said = " ".join(done.out.split())
    assert "EQ-Bench v2 and made_up correlate with r = 0.9" in said
    assert "no score of ours for alien" in said
    assert (tmp_path / "plots" / "x.svg").read_text().count("<circle") == 5
    fails(eqlab("correlate", "s.csv", *names, "--reliability", "iq=1"), "iq", "made_up")
    fails(eqlab("correlate", "s.csv", *names, "--reliability", "made_up=2"), "made_up=2")


def test_a_report_takes_published_models_alone_and_beside_runs(eqlab, run, published):
    done = eqlab("report", "published:gpt-4-0613", "published:gpt-4-0314", "--data", published, "--store", "none.db")
    assert done.code == 0, done.err
    page = Path("eqlab-report.html").read_text()
    assert "gpt-4-0314 (85.73) and gpt-4-0613 (84.79) cannot be told apart" in page
    assert "at equal length" in page
    assert not Path("none.db").exists()
    assert eqlab("report", run, "published:gpt-4-0613", "--data", published, "-o", "both.html").code == 0
    both = Path("both.html").read_text()
    assert "gpt-4-0613" in both
    assert "timid" in both
    fails(eqlab("report", "published:no-such-model", "--data", published), "no-such-model")


def ran(eqlab, server, *arguments):
    done = eqlab("run", *arguments, "-b", "eqbench", "--base-url", server.url, "--json")
    assert done.code == 0, done.err
    return json.loads(done.out)


def fair(body, number=0):
    """Reads well, or after it was spoiled turns everything round."""
    text = body["messages"][-1]["content"]
    words = re.search(r"at the end\?\n((?:\w+\n){4})", text).group(1).split()
    turned = body["model"] == "spoiled"
    given = [(len(text) + 3 * k) % 7 for k in range(4)]
    return "\n".join(f"{word}: {10 - value if turned else value}" for word, value in zip(words, given, strict=True))


def test_a_gate_in_ci(eqlab, server, tmp_path):
    server.reply = lambda body, n: fair(body | {"model": "fair" if n <= 30 else "spoiled"})
    old = ran(eqlab, server, "m", "--limit", 30)["run"]
    new = ran(eqlab, server, "m", "--limit", 30, "--seed", 1)["run"]
    files = ["--junit", "out/junit.xml", "--markdown", "out/summary.md"]
    found = json.loads(eqlab("compare", new, "--baseline", old, "--json").out)
    (check,) = found["checks"]
    worse = check["outcome"] == "worse"
    flag = eqlab("compare", new, "--baseline", old, "--fail-if-worse", *files)
    turned = eqlab("compare", old, "--baseline", new, "--fail-if-worse")
    assert {flag.code, turned.code} == ({3, 0})
    assert flag.code == (3 if worse else 0)
    assert eqlab("compare", new, "--baseline", old).code == 0  # without the flag it only tells
    assert (tmp_path / "out" / "junit.xml").read_text().startswith("<?xml")
    assert (tmp_path / "out" / "summary.md").read_text().startswith("### ")
    assert eqlab("compare", new, "--baseline", old, "--fail-if-worse", "--margin", 200).code == 0
    pooled = json.loads(eqlab("compare", new, old, "--json").out)
    assert [(one["name"], one["repeats"]) for one in pooled[0]["subjects"]] == [("m", 2)]  # not two rivals
    apart = json.loads(eqlab("compare", new, old, "--each-run", "--json").out)
    assert {one["name"] for one in apart[0]["subjects"]} == {f"m (run {new})", f"m (run {old})"}


def test_gate_mistakes(eqlab, run):
    fails(eqlab("compare", run, "--fail-if-worse"), "--fail-if-worse", "--baseline")
    fails(eqlab("compare", run, run, "--baseline", run), "one candidate")
    fails(eqlab("compare", run, "--baseline", "nothing"), "nothing")


def test_a_run_without_one_usable_answer_fails(eqlab, server, tmp_path):
    server.reply = lambda body, n: "no idea"
    done = eqlab("run", "mute", "-b", "eqbench", "--base-url", server.url, "--limit", 6)
    assert done.code == 1
    assert "mute: none of 6 answers could be used; 'eqlab runs show --status unparseable'" in done.err
    server.reply = lambda body, n: web.Response(status=413)
    done = eqlab("run", "gone", "-b", "eqbench", "--base-url", server.url, "--limit", 6)
    assert done.code == 1
    assert "gone: no answer came; 'eqlab runs show --status error' says why." in done.err


def test_the_winner_is_said_first(eqlab, server, tmp_path):
    server.reply = lambda body, n: fair(body)
    both = ["fair", "spoiled", "-b", "eqbench", "--base-url", server.url, "--limit", 30]
    said = eqlab("run", *both).out
    (data,) = json.loads(eqlab("run", *both, "--json").out)["conclusions"]
    (verdict,) = data["verdicts"]
    first = " ".join(said.split()).startswith
    assert first(data["sentence"])
    (compared,) = json.loads(eqlab("compare", "--json").out)
    assert compared["sentence"] == data["sentence"] == verdict["sentence"]
    assert [one["rank"] for one in verdict["standings"]] == [one["rank"] for one in compared["subjects"]]
    page = Path("eqlab-report.html").read_text()
    assert data["sentence"].partition(" (")[0] in page


def test_a_whole_sweep_is_compared_by_its_file(eqlab, server, tmp_path):
    server.reply = lambda body, n: fair(body)
    (tmp_path / "sweep.toml").write_text(
        f"""seeds = [1, 2]

[benchmarks.eqbench]
limit = 12

[[models]]
spec = "fair"
base_url = "{server.url}"

[[models]]
spec = "spoiled"
base_url = "{server.url}"
"""
    )
    fails(eqlab("compare", "--sweep", "sweep.toml"), "No run of sweep.toml")
    done = eqlab("sweep", "sweep.toml", "--yes", "--json")
    assert done.code == 0, done.err
    (said,) = json.loads(done.out)["conclusions"]
    (found,) = json.loads(eqlab("compare", "--sweep", "sweep.toml", "--json").out)
    assert {one["name"]: one["repeats"] for one in found["subjects"]} == {"fair": 2, "spoiled": 2}
    assert found["sentence"] == said["sentence"]
    assert len(found["pairs"]) == 1
