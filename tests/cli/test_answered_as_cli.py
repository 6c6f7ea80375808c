"""A model that another one answered for is seen wherever its score is: table, JSON, report, item by item."""

import json

from conftest import completion


def ask(eqlab, server, names, **more):
    server.reply = lambda body, number: completion("That sounds hard.", names[number % len(names)])
    arguments = ("run", "openai/gpt-4o", "-b", "empathy", "--limit", "4", "--base-url", server.url)
    return eqlab(*arguments, "--report", "r.html", *more.get("flags", ()), OPENAI_API_KEY="k")


def test_a_model_replaced_during_the_run(eqlab, server, tmp_path):
    done = ask(eqlab, server, ["gpt-4o-2024-08-06", "gpt-4o-mini"])
    assert done.code == 0, done.err
    said = "openai/gpt-4o was replaced during the run"
    assert said in done.out
    (heads,) = [line for line in done.out.splitlines() if line.startswith("model") and "score" in line]
    assert heads.rstrip().endswith("answered as")
    assert "openai/gpt-4o was asked, but gpt-4o-mini answered (2 replies)" in done.out
    assert said in (tmp_path / "r.html").read_text()
    shown = eqlab("show").out
    assert said in shown
    assert shown.count("answered as gpt-4o-mini\n") == 2
    (first, *_) = json.loads(eqlab("show", "--json").out)
    assert first["attempts"][0]["model"] in ("gpt-4o-2024-08-06", "gpt-4o-mini")
    again = json.loads(ask(eqlab, server, ["x"], flags=("--json",)).out)["results"][0]
    assert again["answered_as"] == {"gpt-4o-2024-08-06": 2, "gpt-4o-mini": 2}
    assert any(said in caveat for caveat in again["caveats"])


def test_a_dated_name_is_recorded_and_no_alarm(eqlab, server, tmp_path):
    done = ask(eqlab, server, ["gpt-4o-2024-08-06"])
    assert "answered as" not in done.out
    assert "was asked, but" not in done.out
    assert "gpt-4o-2024-08-06 (4 replies)" in (tmp_path / "r.html").read_text()
    shown = eqlab("show").out
    assert "answered as gpt-4o-2024-08-06" in shown
    assert "!" not in shown.splitlines()[0]


def test_a_comparison_says_so_too(eqlab, server):
    from server import answer_to

    def reply(body, number):
        return completion(answer_to(body["messages"][-1]["content"]), "somebody-else")

    server.reply = reply
    arguments = ("run", "a", "b", "-b", "eqbench", "--limit", "3", "--base-url", server.url)
    assert eqlab(*arguments).code == 0
    done = eqlab("compare", "last")
    assert "a was asked, but somebody-else answered (3 replies)" in done.out
    assert "b was asked, but somebody-else answered (3 replies)" in done.out
