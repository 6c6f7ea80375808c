"""`eqlab ci init`: the workflow is YAML, its commands work, and they do what its comments say."""

import json
import re
import shlex

import yaml
from reading import reader

NAMES = {"push": "github.event_name == 'push'", "pull_request": "github.event_name == 'pull_request'"}


def steps(text, event):
    """What the shell would run on this event, in order."""
    (job,) = yaml.safe_load(text)["jobs"].values()
    for step in job["steps"]:
        if step.get("if", "") in ("", "always()", NAMES[event]):
            yield step.get("name", step.get("uses", "")), step.get("run", "")


def commands(text, event):
    for _, script in steps(text, event):
        for line in script.replace("\\\n", " ").splitlines():
            if (word := line.strip()).startswith("eqlab "):
                yield word


def test_main_makes_the_baseline_and_a_pull_request_is_held_against_it(eqlab, server, tmp_path):
    server.reply = reader
    done = eqlab("ci", "init", "mine", "--base-url", server.url, "--profile", "quick", "--margin", 3)
    assert done.code == 0, done.err
    text = (tmp_path / ".github/workflows/eqlab.yml").read_text()
    assert (
        yaml.safe_load(text)["jobs"]["emotional-intelligence"]["env"]["EQLAB_API_KEY"] == "${{ secrets.EQLAB_API_KEY }}"
    )
    (ask,) = commands(text, "push")
    store = tmp_path / "eqlab.db"

    def run(line, label):
        words = shlex.split(line.partition(" > ")[0].replace('"$label"', label))[1:]
        answered = eqlab(*words, EQLAB_STORE=store)
        assert answered.code == 0, answered.err
        return json.loads(answered.out)["run"]

    baseline = run(ask, "main")
    again, compare = commands(text, "pull_request")
    assert again == ask
    candidate = run(again, "3f2a119")
    assert candidate != baseline
    shell = {'"$(jq -r .run eqlab-run.json)"': candidate, '"$(cat eqlab-baseline.txt)"': baseline}
    for words, value in shell.items():
        assert words in compare
        compare = compare.replace(words, value)
    judged = eqlab(*shlex.split(compare)[1:])
    assert judged.code in (0, 3)
    assert re.match(r"(FAIL|PASS|CANNOT SAY): .*mine \(3f2a119\).*mine \(main\)", judged.out)
    assert "mine (3f2a119)" in (tmp_path / "eqlab-summary.md").read_text()
    assert (tmp_path / "eqlab-junit.xml").read_text().startswith("<?xml")
    assert [name for name, _ in steps(text, "push")][-2:] == ["actions/upload-artifact@v4"] * 2


def test_what_cannot_be_written_is_said(eqlab, tmp_path):
    assert eqlab("ci", "init", "openai/gpt-4o-mini", "-b", "eqbench", "-b", "empathy").code == 0
    text = (tmp_path / ".github/workflows/eqlab.yml").read_text()
    assert "OPENAI_API_KEY: ${{ secrets.OPENAI_API_KEY }}" in text
    assert "eqlab run openai/gpt-4o-mini -b eqbench -b empathy --profile full" in text
    assert not re.search(r"<\w+>", text), "every place is filled"
    for words, said in (
        (("openai/gpt-4o-mini",), "--force"),
        (("opnai/gpt", "-o", "x.yml"), "Did you mean openai?"),
        (("embedded", "-b", "eqbnch", "-o", "x.yml"), "Did you mean eqbench?"),
        (("embedded", "--if-unsure", "maybe", "-o", "x.yml"), "Choose pass or fail"),
        (("embedded", "--branch", "a b", "-o", "x.yml"), "--branch"),
    ):
        done = eqlab("ci", "init", *words)
        assert (done.code, said in done.err) == (2, True), done.err
    assert not (tmp_path / "x.yml").exists()
    assert eqlab("ci", "init", "embedded", "--force").code == 0
