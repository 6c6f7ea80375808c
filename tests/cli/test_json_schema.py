"""What `--json` prints is what docs/reference/json/eqlab.schema.json promises, for real outputs of each command."""

import json

from conftest import ROOT
from jsonschema import Draft202012Validator
from small_study import take

SCHEMA = json.loads((ROOT / "docs/reference/json/eqlab.schema.json").read_text(encoding="utf-8"))


def check(command, done):
    """The output, held against the definition of its command."""
    assert done.code == 0, done.err
    said = json.loads(done.out)
    validator = Draft202012Validator({**SCHEMA, "$ref": f"#/$defs/{command}"})
    assert [f"{error.json_path}: {error.message[:200]}" for error in validator.iter_errors(said)] == []
    return said


def test_the_schema_is_one():
    Draft202012Validator.check_schema(SCHEMA)
    page = (ROOT / "docs/reference/json.md").read_text(encoding="utf-8")
    for command in ("run", "judge", "compare", "gate", "show", "study_analyze", "reproduce"):
        assert f"`{command}`" in page


def test_what_is_missing_is_found():
    validator = Draft202012Validator({**SCHEMA, "$ref": "#/$defs/estimate"})
    right = dict.fromkeys(("value", "n", "se", "low", "high", "digits"), 1)
    right |= dict.fromkeys(("name", "unit", "note", "of"), "")
    assert validator.is_valid(right)
    for name in right:
        assert not validator.is_valid({key: value for key, value in right.items() if key != name}), name
    assert not validator.is_valid({**right, "value": "85.7"})


def world(body, number):
    """Replies of two models, and a judge of them."""
    prompt = body["messages"][-1]["content"]
    if "Your reply:" in prompt:
        return "That must be hard. I am with you." if body["model"] == "warm" else "Hm."
    return "Good" if "with you" in prompt else "Okay"


def test_run_judge_and_show(eqlab, server):
    server.reply = world
    where = ("--base-url", server.url, "--json")
    asked = check("run", eqlab("run", "-b", "empathy", "warm", "cold", "--limit", 6, *where))
    assert [result["subject"] for result in asked["results"]] == ["model:warm", "model:cold"]
    judged = check("judge", eqlab("judge", "strict", "mild", "--on", asked["run"], *where))
    assert judged["panel"]["headline"]["n"] > 0
    shown = check("show", eqlab("show", asked["run"], "--json"))
    assert len(shown) == 12


def test_compare_and_its_gate(eqlab):
    (found,) = check("compare", eqlab("compare", "published:gpt-4-0314", "published:gpt-4-0613", "--json"))
    assert found["subjects"][0]["rank"] == [1, 2]
    gate = check("gate", eqlab("compare", "published:gpt-4-0613", "--baseline", "published:gpt-4-0314", "--json"))
    assert gate["worse"] is False


def test_study_analyze(eqlab, tmp_path, monkeypatch):
    from eqlab.store.store import Store
    from eqlab.store.study.participation import Participation
    from eqlab.study.build_design import open_study

    monkeypatch.setenv("EQLAB_STORE", str(tmp_path / "store.db"))
    eqlab("study", "init", "eqbench", "-o", "study.toml")
    path = tmp_path / "study.toml"
    path.write_text(path.read_text().replace("# limit = 20", "limit = 4").replace("batch_size = 10", "batch_size = 2"))
    assert eqlab("study", "lock", "study.toml").code == 0
    store = Store(str(tmp_path / "store.db"))
    participation = Participation(store, open_study(path, store)[1])
    for name in ("a" * 64, "b" * 64):
        take(participation, participation.arrive(name, "en"))
    store.close()
    found = check("study_analyze", eqlab("study", "analyze", "study.toml", "--json"))
    assert (found["standing"]["label"], len(found["analysed"])) == ("interim", 2)


def test_reproduce(eqlab):
    assert len(check("reproduce", eqlab("reproduce", "eqbench", "--json"))["rows"]) >= 54
