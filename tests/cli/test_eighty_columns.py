"""Piped at 80 columns, what every command prints fits, breaks no name inside a word, and has no column of zeros."""

import re

import pytest
from rich.cells import cell_len

LONG = ("meta-llama/Llama-3.3-70B-Instruct-Turbo", "careful-model-with-a-very-long-name:2026-11-15", "short")
SWEEP = """
benchmarks = ["eqbench"]
profile = "quick"
limit = 6
seeds = [0, 1]
"""


@pytest.fixture
def asked(eqlab, server, monkeypatch):
    """Three models with awkward names on loopback, asked two benchmarks."""
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("EQLAB_API_KEY", "x")
    server.reply = reply
    models = [f"openai/{LONG[0]}", LONG[1], LONG[2]]
    done = eqlab(
        "run", *models, "-b", "eqbench", "-b", "empathy", "--limit", "6", "--base-url", server.url, OPENAI_API_KEY="x"
    )
    assert done.code == 0, done.err
    return done


def reply(body, number):
    prompt = body["messages"][-1]["content"]
    words = re.search(r"at the end\?\n((?:\w+\n){4})", prompt)
    if words:
        near = (len(body["model"]) + len(prompt)) % 5
        return "\n".join(f"{word}: {(2 * place + near) % 11}" for place, word in enumerate(words.group(1).split()))
    if "First, Tie or Second" in prompt:
        return ("First", "Tie", "Second")[(len(prompt) + number) % 3]
    if "Okay" in prompt and "Good" in prompt:
        return ("Bad", "Okay", "Good")[(len(prompt) + number) % 3]
    return f"That sounds hard. I am here, and I am listening to you. {'Tell me more. ' * (len(body['model']) % 4)}"


def check(text, names=LONG, most=80):
    """No line is too long, unless it is one word (a path); no name goes on in the next line."""
    for line in text.splitlines():
        assert cell_len(line.rstrip()) <= most or len(line.split()) == 1, line
    for name in names:
        for cut in range(1, len(name)):
            broken = rf"{re.escape(name[:cut])}[ \t]*\n[ \t]*{re.escape(name[cut:])}(?![\w-])"
            assert not re.search(broken, text), f"{name} is broken after {name[:cut]}"


def test_run(asked):
    check(asked.out)
    assert "unparseable" not in asked.out, "nobody has one"
    assert "refused" not in asked.out
    assert asked.out.count("No-skill baselines") == 1, "said once, not under every row"
    assert asked.out.count("References are the author's") == 1
    assert "undefined" not in asked.out, "nobody has rated: that is said in words"


def test_show_compare_runs(asked, eqlab):
    for command in (("show", "--limit", "4"), ("compare", "last"), ("runs",), ("cite",)):
        done = eqlab(*command)
        assert done.code == 0, done.err
        check(done.out, most=119 if command[0] == "cite" else 80)  # BibTeX is a file's content


def test_judge(asked, eqlab, server):
    for more in ((), ("--pairwise",), (LONG[1],)):
        done = eqlab("judge", LONG[2], *more, "--on", "last", "--base-url", server.url)
        assert done.code == 0, done.err
        check(done.out)
        assert "nobody has rated" not in done.out.casefold()


def test_sweep(eqlab, server, tmp_path):
    text = SWEEP + "".join(f'[[models]]\nspec = "{name}"\nbase_url = "{server.url}"\n' for name in LONG[1:])
    (tmp_path / "sweep.toml").write_text(text)
    server.reply = reply
    done = eqlab("sweep", "sweep.toml", "-y", COLUMNS="80", EQLAB_API_KEY="x")
    assert done.code == 0, done.err
    check(done.out)
    assert "unparseable" not in done.out


@pytest.mark.parametrize(
    "command",
    [
        ("reproduce", "eqbench"),
        pytest.param(("reproduce", "short-forms"), marks=pytest.mark.claims),  # ten seconds
        ("items", "report", "published"),
        ("leaderboard", "build", "site", "--published", "--no-runs"),
        ("compare", "published:gpt-4-0314", "published:gpt-4-0613", "published:lmsys/vicuna-7b-v1.1"),
        ("benchmarks",),
        ("models",),
        ("instruments",),
        ("data", "list"),
    ],
    ids=lambda command: " ".join(command[:2]),
)
def test_without_a_run(eqlab, command):
    done = eqlab(*command, COLUMNS="80")
    assert done.code == 0, done.err
    check(done.out, ("gpt-4-0314", "gpt-4-0613", "TheBloke/Mistral-7B-Instruct-v0.2-GGUF", "lmsys/vicuna-7b-v1.1"))


@pytest.mark.parametrize("study", ["emotionbench", pytest.param("empathy", marks=pytest.mark.claims), "sage"])
def test_reproductions_from_published_data(eqlab, published, study):
    done = eqlab("reproduce", study, COLUMNS="80", EQLAB_DATA=published)
    assert done.code == 0, done.err
    check(done.out, ("gpt-4o-2024-0806", "deepseek-v3-2024-1227", "gpt-3.5-turbo"))


def test_study_analyze(eqlab, tmp_path):
    from small_study import take

    from eqlab.store.store import Store
    from eqlab.store.study.participation import Participation
    from eqlab.study.build_design import open_study

    eqlab("study", "init", "eqbench", "-o", "study.toml", COLUMNS="80", EQLAB_STORE=tmp_path / "s.db")
    path = tmp_path / "study.toml"
    path.write_text(path.read_text().replace("# limit = 20", "limit = 4").replace("batch_size = 10", "batch_size = 2"))
    store = Store(str(tmp_path / "s.db"))
    from eqlab.store.study.studies import create_study

    text, design = open_study(path, store)
    create_study(store, design, text, "0", {})
    participation = Participation(store, design)
    for one in range(6):
        take(participation, participation.arrive(f"{one:064x}", "en"))
    store.close()
    for command in (("study", "analyze"), ("study", "check"), ("study", "status")):
        done = eqlab(*command, "study.toml")
        assert done.code == 0, done.err
        check(done.out)
