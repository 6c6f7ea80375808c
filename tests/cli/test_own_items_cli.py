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
    assert "w.csv:2: item[1].emotions (a): there are 0 different words" in done.err
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


SCENARIOS = "id,task,scenario,choices,label\n" + "".join(
    f"e{n},application,Tom lost {n} keys.,Help. | Laugh. | Leave.,Help.\n" for n in range(1, 7)
)
PERSONAS = (
    "id,kind,name,age,who,happened,need,talks,helps,hurts,leaves_satisfied,leaves_hurt,emotion,opening,lines\n"
    + "".join(
        f"ann-{n},trouble,Ann,4{n},A nurse.,Nobody came.,To be asked.,Briefly.,Time.,Advice.,When asked.,When told.,30,"
        f"It was birthday {n}.,Well. | It's fine. | I should go.\n"
        for n in range(1, 4)
    )
)


def test_own_scenarios_and_personas_as_tables(eqlab, server, tmp_path):
    server.reply = lambda body, n: "Answer: A" if "Tom" in str(body["messages"]) else "Oh, tell me more."
    for benchmark, content, said in (
        ("emobench", SCENARIOS, "Tom lost 3 keys."),
        ("dialogue", PERSONAS, "It was birthday 2."),
    ):
        (tmp_path / f"my {benchmark}.csv").write_text(content)
        done = eqlab(
            "run", "m", "-b", benchmark, "--items", f"my {benchmark}.csv", "--profile", "full", "--base-url", server.url
        )
        assert done.code == 0, done.err
        assert f"my {benchmark}" in done.out
        assert any(said in str(body["messages"]) for body in server.requests)
        assert f"<h1>Report: my {benchmark}</h1>" in (tmp_path / "eqlab-report.html").read_text()


def test_own_items_on_a_leaderboard_in_a_study_and_in_a_citation(eqlab, server, tmp_path):
    server.reply = lambda body, n: "Calm: 3\nSad: 6\nProud: 1\nAngry: 2"
    (tmp_path / "ward.toml").write_text(
        'title = "Ward talks"\ninstruction = "Lies:\\n{dialogue}\\n{emotions}"\n'
        + "".join(
            f'[[item]]\nid = "w{n}"\ncharacter = "Ann"\ndialogue = "Ann: {n} is fine."\nemotions = ['
            + ",".join(f'{{ name = "{word}", reference = {n} }}' for word in ("Calm", "Sad", "Proud", "Angry"))
            + "]\n"
            for n in range(1, 7)
        )
    )
    for model in ("one", "two"):
        done = eqlab(
            "run", model, "-b", "eqbench", "--items", "ward.toml", "--profile", "full", "--base-url", server.url
        )
        assert done.code == 0, done.err
    assert server.requests[0]["messages"][-1]["content"] == "Lies:\nAnn: 1 is fine.\nCalm\nSad\nProud\nAngry"
    done = eqlab("leaderboard", "build", "site")
    assert done.code == 0, done.err
    assert "Ward talks" in done.out
    assert "EQ-Bench" not in done.out
    assert "Ward talks" in (tmp_path / "site" / "index.html").read_text()
    assert "Ward talks" in eqlab("compare", "last").out
    assert "items of our own (sha256 " in eqlab("cite").out.replace("\n% ", " ")

    eqlab("study", "init", "eqbench", "-o", "study.toml")
    text = (tmp_path / "study.toml").read_text()
    (tmp_path / "study.toml").write_text(text.replace('items = "open"', 'items = "ward.toml"'))
    assert 'items = "ward.toml"' in (tmp_path / "study.toml").read_text()
    checked = eqlab("study", "check", "study.toml")
    assert checked.code == 0, checked.err
    rehearsed = eqlab("study", "simulate", "study.toml", "--people", 6)
    assert rehearsed.code == 0, rehearsed.err
    assert "Ward talks" in rehearsed.out
    assert "EQ-Bench" not in rehearsed.out


def test_changed_published_data_are_named_by_run_and_kept_with_it(eqlab, server, published, tmp_path):
    import json
    import shutil

    name = "eqbench/data/eq_bench_v2_questions_171.json"
    folder = tmp_path / "data"
    (folder / name).parent.mkdir(parents=True)
    shutil.copyfile(published / name, folder / name)
    server.reply = lambda body, n: "x"
    given = ("run", "m", "-b", "eqbench", "--items", "published", "--limit", "1", "--base-url", server.url)
    assert "changed" not in eqlab(*given, "--data", folder).err
    body = json.loads((folder / name).read_text())
    body["1"]["reference_answer_fullscale"]["emotion1_score"] = "9"
    (folder / name).write_text(json.dumps(body))
    done = eqlab(*given, "--data", folder, "--label", "changed")
    assert f"changed: {name} is not as it was published" in done.err
    assert f"changed: {name}" in eqlab("data", "verify", "eqbench", "--data", folder).out
    assert name in eqlab("report", "-o", "r.html").out + (tmp_path / "r.html").read_text()
