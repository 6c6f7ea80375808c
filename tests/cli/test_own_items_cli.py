"""Own questions from a file to the report, for every benchmark that takes some, under the file's own title."""

import re

DIALOGUES = "id,character,dialogue," + ",".join(f"emotion{k},reference{k}" for k in range(1, 5)) + "\n"
DIALOGUES += "".join(f"w{n},Ann,Ann: {n} is fine.,Calm,{n},Sad,7,Proud,0,Angry,3\n" for n in range(1, 7))
SITUATIONS = "id,text,emotion\n" + "".join(f"s{n},Your train is {n} hours late.,Anger\n" for n in range(1, 7))
PROMPTS = "id,utterance\n" + "".join(f"p{n},I lost my keys {n} times.\n" for n in range(1, 7))


def reply(body, n):
    prompt = body["messages"][-1]["content"]
    if "Ann:" in prompt:
        return "Calm: 3\nSad: 6\nProud: 1\nAngry: 2"
    statements = re.findall(r"^(\d+)[.:)] ", prompt, flags=re.MULTILINE)
    return "\n".join(f"{number}: 2" for number in statements) or "That sounds hard."


def test_own_files_are_asked_scored_and_reported_under_their_own_name(eqlab, server, tmp_path):
    server.reply = reply
    for benchmark, content, shown in (
        ("eqbench", DIALOGUES, "3 is fine."),
        ("emotionbench", SITUATIONS, "Your train is 3 hours late."),
        ("empathy", PROMPTS, "I lost my keys 3 times."),
    ):
        (tmp_path / f"ward {benchmark}.csv").write_text(content)
        done = eqlab(
            "run", "m", "-b", benchmark, "--items", f"ward {benchmark}.csv", "--profile", "full",
            "--base-url", server.url, "--report", "r.html", "--max-concurrency", "4",
        )  # fmt: skip
        assert done.code == 0, done.err
        assert f"ward {benchmark}" in done.out, benchmark
        assert "EQ-Bench v2" not in done.out
        html = (tmp_path / "r.html").read_text()
        assert f"<h1>Report: ward {benchmark}</h1>" in html
        assert shown in html
        assert any(shown in body["messages"][-1]["content"] for body in server.requests), benchmark


def test_a_broken_file_is_refused_before_anything_is_asked(eqlab, server, tmp_path):
    (tmp_path / "w.csv").write_text("id,character,dialogue\na,Ann,Hm.\n")
    done = eqlab("run", "m", "-b", "eqbench", "--items", "w.csv", "--base-url", server.url)
    assert done.code != 0
    assert "w.csv:2: item[1].emotions: there are 0 different words" in done.err
    assert not server.requests


def test_a_run_that_exists_says_so_and_a_label_makes_another(eqlab, server):
    server.reply = lambda body, n: "Calm: 3"
    given = ("run", "m", "-b", "empathy", "--limit", "2", "--base-url", server.url)
    assert "0 requests were sent" not in eqlab(*given).out
    assert len(server.requests) == 2
    again = eqlab(*given)
    assert "0 requests were sent" in again.out
    assert len(server.requests) == 2
    eqlab(*given, "--label", "epoch 2")
    assert len(server.requests) == 4
    fresh = eqlab(*given, "--fresh")
    assert len(server.requests) == 6
    assert "--label '" in fresh.err
    assert eqlab(*given, "--fresh", "--label", "x").code == 2
