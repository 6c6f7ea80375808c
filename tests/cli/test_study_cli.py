"""`eqlab study init` and `check` as a user meets them."""

import json


def test_a_study_of_two_models_from_the_first_commands(eqlab, server, tmp_path):
    server.reply = lambda body, number: f"I hear you. {body['model']}"
    assert eqlab("run", "-b", "empathy", "warm", "cold", "--base-url", server.url, "--limit", 12).code == 0
    done = eqlab("study", "init", "rating")
    assert done.code == 0, done.err
    assert "eqlab study serve rating.toml" in done.out
    checked = eqlab("study", "check", "rating.toml")
    assert checked.code == 0, checked.err
    assert "12 places." in checked.out  # 2 arms, 2 batches, 3 people
    assert "warm" in checked.out
    assert "! consent.contact still says 'CHANGE ME'" in checked.out
    body = json.loads(eqlab("study", "check", "rating.toml", "--json").out)
    assert [arm["places"] for arm in body["arms"]] == [6, 6]
    assert body["cost"] == body["rewards"] + body["fees"]
    assert body["warnings"]


def test_init_of_every_kind_and_with_arms(eqlab, tmp_path):
    for kind in ("evoked", "eqbench"):
        assert eqlab("study", "init", kind, "-o", f"x/{kind}.toml").code == 0
        assert eqlab("study", "check", f"x/{kind}.toml").code == 0
    (tmp_path / "mine.csv").write_text("prompt,reply\nafraid-1,Oh dear.\n")
    more = ("--arm", "a=author", "--arm", "b=mine.csv", "--panel", "prolific", "--id", "pilot", "-o", "x/p.toml")
    assert eqlab("study", "init", "rating", *more).code == 0
    text = (tmp_path / "x" / "p.toml").read_text()
    assert '"b" = "../mine.csv"' in text
    assert 'id = "pilot"' in text
    assert eqlab("study", "check", "x/p.toml").code == 0


def test_nothing_is_overwritten_and_problems_have_lines(eqlab, tmp_path):
    assert eqlab("study", "init", "eqbench").code == 0
    again = eqlab("study", "init", "eqbench")
    assert again.code == 2
    assert "exists and is not overwritten" in again.err
    path = tmp_path / "eqbench.toml"
    path.write_text(path.read_text().replace("seed = 1", "sead = 1").replace("alpha = 0.05", "alpha = 2"))
    broken = eqlab("study", "check", "eqbench.toml")
    assert broken.code == 1
    assert "eqbench.toml has 2 problems:" in broken.err
    assert "sead: is not known here (did you mean seed?)" in broken.err
    unknown = eqlab("study", "init", "poll")
    assert (unknown.code, "There are: rating, pairwise, reply, evoked, eqbench" in unknown.err) == (2, True)


def test_studies_that_are_not_there_are_told(eqlab, tmp_path):
    """`not_after` with a slip of the pen kept nobody out, and nothing said so."""
    assert eqlab("study", "init", "eqbench", "--panel", "prolific").code == 0
    path = tmp_path / "eqbench.toml"
    path.write_text(path.read_text().replace('# not_after = ["pilot"]', 'not_after = ["pilto"]'))
    said = eqlab("study", "check", "eqbench.toml")
    assert "no study 'pilto' has begun in this store yet" in said.out + said.err


def test_kinds_and_languages_are_listed_and_a_language_begun(eqlab, tmp_path, monkeypatch):
    kinds = eqlab("study", "kinds")
    assert "people choose between two replies" in kinds.out
    monkeypatch.setenv("EQLAB_LANGUAGES", str(tmp_path / "own"))
    done = eqlab("study", "language", "pt")
    assert (done.code, (tmp_path / "own" / "pt.toml").exists()) == (0, True)
    assert eqlab("study", "language", "pt").code == 2  # nothing is overwritten
    assert eqlab("study", "language", "../x").code == 2
    listed = eqlab("study", "language")
    assert "pt" in listed.out
    assert "complete" in listed.out
    path = tmp_path / "own" / "pt.toml"
    path.write_text(path.read_text().replace('okay = "Okay"\n', ""))
    assert "rating: okay" in eqlab("study", "language").out


def test_replies_need_people_and_are_not_overwritten(eqlab, tmp_path):
    assert eqlab("study", "init", "reply").code == 0
    early = eqlab("study", "replies", "reply.toml")
    assert (early.code, "has not begun" in early.err) == (1, True)
    (tmp_path / "replies.csv").write_text("mine")
    again = eqlab("study", "replies", "reply.toml", "-o", "replies.csv")
    assert (again.code, "is not overwritten" in again.err) == (2, True)
