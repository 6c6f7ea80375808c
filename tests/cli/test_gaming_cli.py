"""Two attacks on the verdict, through the command line: wreck seven answers, refuse the worst questions."""

import hashlib
import json
import tomllib
from pathlib import Path

import pytest
from conftest import ROOT

OPEN = tomllib.loads((ROOT / "src/eqlab/data/open/eqbench.toml").read_text(encoding="utf-8"))["item"]


def draw(text):
    return hashlib.sha256(text.encode()).digest()


def item_of(body):
    prompt = body["messages"][-1]["content"]
    return next(item for item in OPEN if item["dialogue"].strip() in prompt)


def near(body):
    """Near the references, the same words to the same question always; which questions it is good at, its name says."""
    item, seen = item_of(body), draw(body["model"] + item_of(body)["id"])
    reach = 1 + seen[9] % 5
    said = [
        max(0, min(10, one["reference"] + seen[k] % (2 * reach + 1) - reach)) for k, one in enumerate(item["emotions"])
    ]
    return "\n".join(f"{one['name']}: {value}" for one, value in zip(item["emotions"], said, strict=True))


def far(body):
    return "\n".join(f"{one['name']}: {10 if one['reference'] < 5 else 0}" for one in item_of(body)["emotions"])


def ran(eqlab, server, reply, *arguments):
    """Asks all sixty open questions; the run, and each question's points."""
    server.reply = lambda body, number: reply(body)
    done = eqlab(
        "run", *arguments, "-b", "eqbench", "--profile", "full", "--items", "open", "--base-url", server.url, "--json"
    )
    assert done.code == 0, done.err
    said = json.loads(done.out)
    return said["run"], said["results"][0]


@pytest.fixture
def old(eqlab, server):
    return ran(eqlab, server, near, "m", "--label", "old")[0]


WRECKED = {item["id"] for item in OPEN[:7]}


def wreck_seven(body):
    return far(body) if item_of(body)["id"] in WRECKED else near(body)


def test_seven_wrecked_answers_of_sixty_fail_the_gate(eqlab, server, old):
    new, _ = ran(eqlab, server, wreck_seven, "m", "--label", "new")
    done = eqlab("compare", new, "--baseline", old, "--fail-if-worse", "--junit", "j.xml")
    assert done.code == 3, done.out
    said = " ".join(done.out.split())
    assert said.startswith("FAIL: ")
    assert "exact test of the 7 on which they differ, p = 0.0156, 60 shared questions" in said
    assert 'failures="1"' in Path("j.xml").read_text()
    (check,) = json.loads(eqlab("compare", new, "--baseline", old, "--json").out)["checks"]
    assert (check["outcome"], check["pair"]["differ"]) == ("worse", 7)


def test_four_wrecked_answers_cannot_be_called_no_worse(eqlab, server, old):
    some = set(sorted(WRECKED)[:4])
    new, _ = ran(
        eqlab, server, lambda body: far(body) if item_of(body)["id"] in some else near(body), "m", "--label", "n"
    )
    gate = ("compare", new, "--baseline", old, "--fail-if-worse")
    passed = eqlab(*gate)
    assert passed.code == 0
    said = " ".join(passed.out.split())
    assert said.startswith("CANNOT SAY: ")
    assert "CANNOT SAY, AND PASSES" in said
    assert "a true loss of 5 points would be missed in " in said
    failed = eqlab(*gate, "--if-unsure", "fail")
    assert failed.code == 5
    assert "AND PASSES" not in failed.out
    assert json.loads(eqlab(*gate, "--if-unsure", "fail", "--json").out)["exit_code"] == 5


def test_the_same_answers_pass_and_claim_no_more(eqlab, server, old):
    new, _ = ran(eqlab, server, near, "m", "--label", "new")
    done = eqlab("compare", new, "--baseline", old, "--fail-if-worse", "--if-unsure", "fail")
    assert done.code == 0
    assert done.out.startswith("PASS: ")


def test_new_refusals_count_as_changes(eqlab, server, old):
    """Seven questions are refused: what is left is the same, and the gate must not call that the same."""
    refuse = lambda body: "I am sorry, but I cannot help with that." if item_of(body)["id"] in WRECKED else near(body)  # noqa: E731
    new, _ = ran(eqlab, server, refuse, "m", "--label", "new")
    done = eqlab("compare", new, "--baseline", old, "--fail-if-worse")
    assert done.code == 3, done.out
    assert "7 of the questions that the baseline answers, the candidate refuses or answers unreadably" in " ".join(
        done.out.split()
    )


def test_flags_of_the_gate_that_do_not_fit(eqlab, old):
    assert eqlab("compare", old, "--baseline", old, "--if-unsure", "fail").code == 2
    assert eqlab("compare", old, "--baseline", old, "--fail-if-worse", "--if-unsure", "maybe").code == 2


def refusing(worst):
    """The same model that refuses these questions."""
    return lambda body: "I am sorry, but I cannot help with that." if item_of(body)["id"] in worst else near(body)


def test_refusing_the_worst_questions_is_no_gain(eqlab, server):
    """Ten of sixty refused: the published score rises by five points and more, and nothing else does."""
    honest, whole = ran(eqlab, server, near, "m", "--label", "honest")
    by_points = sorted(whole["items"], key=lambda item: item["points"])
    gamed, less = ran(eqlab, server, refusing({item["item"] for item in by_points[:10]}), "m", "--label", "gamed")
    assert less["headline"]["value"] > whole["headline"]["value"] + 5
    (found,) = json.loads(eqlab("compare", honest, gamed, "--each-run", "--json").out)
    first, second = found["subjects"]
    assert "honest" in first["name"]  # sorted by what refusing cannot raise
    assert (second["lost"]["counts"]["refused"], first["lost"]) == (10, None)
    assert second["lost"]["score_at_worst"] < whole["headline"]["value"] < second["lost"]["score_at_best"]
    assert second["lost"]["rank_at_worst"] == [2, 2]
    # another model that the honest one cannot be told apart from: whom ten refusals made look better
    other, _ = ran(eqlab, server, near, "rival")
    (fair,) = json.loads(eqlab("compare", honest, other, "--json").out)
    assert fair["pairs"][0]["better"] is None
    said = eqlab("compare", gamed, other).out
    assert "is better than rival on what it answered" not in said or "counted as the worst answers" in said


def test_a_lead_by_refusals_is_called_so(eqlab, server):
    rival, whole = ran(eqlab, server, near, "rival")
    by_points = sorted(whole["items"], key=lambda item: item["points"])
    worst = {item["item"] for item in by_points[:9]}
    shifted = lambda body: near(body | {"model": "rival"})  # noqa: E731
    refuse = lambda body: "I am sorry, but I cannot help with that." if item_of(body)["id"] in worst else better(body)  # noqa: E731

    def better(body):
        """As the rival, and right where the rival is a little off."""
        lines = shifted(body).splitlines()
        first = item_of(body)["emotions"][0]
        return "\n".join([f"{first['name']}: {first['reference']}", *lines[1:]])

    gamed, _ = ran(eqlab, server, refuse, "gamer")
    said = " ".join(eqlab("compare", gamed, rival).out.split())
    assert said.startswith("gamer is better than rival on what it answered, by ")
    assert "with 9 refused counted as the worst answers rival is better." in said
    assert "at worst" in said
    (pair,) = json.loads(eqlab("compare", gamed, rival, "--json").out)[0]["pairs"]
    assert (pair["separated"], pair["better"], pair["leads"]) == (False, None, "gamer")
    done = eqlab("leaderboard", "build", "site")
    assert done.code == 0, done.err
    rows = json.loads(next(Path("site/data").glob("board-*.json")).read_text())
    models = [row for row in rows if row["kind"] == "model"]
    assert [row["name"] for row in models] == ["rival", "gamer"]
    assert models[1]["score"] > models[0]["score"]  # the published score stays beside it
    assert models[1]["score_at_worst"] < models[0]["score_at_worst"] == pytest.approx(models[0]["score"])
    assert models[1]["score_at_worst"] < models[1]["score_errors_as_wrong"] < models[1]["score"]
    assert models[1]["rank_at_worst_best"] == 2


def test_a_run_of_refusals_alone_has_failed_and_says_so_with_its_exit_code(eqlab, server):
    refusal = {"role": "assistant", "content": None, "refusal": "I'm sorry, but I can't help with that."}
    server.reply = lambda body, n: {"choices": [{"index": 0, "message": refusal, "finish_reason": "stop"}]}
    done = eqlab("run", "m", "-b", "eqbench", "--limit", "3", "--base-url", server.url)
    assert done.code == 1
    assert "none of 3 answers could be used, 3 were refused" in " ".join(done.err.split())
