"""`eqlab judge` and `eqlab study ratings` as a user meets them."""

import json

import pytest

import eqlab as api


def world(body, number):
    prompt = body["messages"][-1]["content"]
    if "Your reply:" in prompt:
        return "That must be hard. I am with you." if body["model"] == "warm" else "Hm."
    return "Good" if "with you" in prompt else "Okay"


def test_two_models_compared_in_two_commands(eqlab, server, tmp_path):
    server.reply = world
    ran = eqlab("run", "-b", "empathy", "warm", "cold", "--base-url", server.url, "--limit", 6)
    assert ran.code == 0, ran.err
    assert "Replies are scored by raters" in " ".join(ran.out.split())
    done = eqlab("judge", "gpt-x", "--on", "last", "--base-url", server.url)
    assert done.code == 0, done.err
    words = "Judge-only: gpt-x calls Good 100.0 % of the replies by warm, 0.0 % of the replies by cold. warm is better"
    assert " ".join(done.out.split()).startswith(words)
    assert "never calibrated" in done.out
    assert "Ratings (judge-only)" in (tmp_path / "eqlab-report.html").read_text()
    shown = eqlab("show", "last", "--limit", 1)
    assert "read: rating" in shown.out
    exported = eqlab("export", "last", "-o", "x.jsonl")
    assert "12 rows" in exported.out
    assert eqlab("report", "last", "-o", "again.html").code == 0
    refused = eqlab("compare", "last")
    assert refused.code == 2
    assert "never calibrated against people for the rubric 'published'" in " ".join(refused.err.split())
    assert eqlab("compare", "last", "--baseline", "last").code == 2
    compared = eqlab("compare", "last", "--uncalibrated")
    assert "warm is better" in " ".join(compared.out.split()), compared.err


def test_the_same_replies_by_another_judge(eqlab, server):
    """A judge that is stricter with one arm only moves that arm, and no reply is written again."""

    def answer(body, number):
        if body["model"] == "strict" and "with you" in body["messages"][-1]["content"]:
            return "Okay"
        return world(body, number)

    server.reply = answer
    assert eqlab("run", "-b", "empathy", "warm", "cold", "--base-url", server.url, "--limit", 6).code == 0
    judged = json.loads(eqlab("judge", "mild", "--on", "last", "--base-url", server.url, "--json").out)
    asked = len(server.requests)
    done = eqlab("judge", "drift", judged["run"], "strict", "--base-url", server.url, "--json")
    assert done.code == 0, done.err
    assert len(server.requests) == asked + 12
    found = json.loads(done.out)["drift"]
    assert found["sentence"].startswith("strict in place of mild on 6 prompts")
    (moved,) = (table for table in found["tables"] if table["title"] == "What another judge changes")
    shifts = {row[0]: row[3]["value"] for row in moved["rows"]}
    assert shifts == {"warm": -100.0, "cold": 0.0}
    again = eqlab("judge", "drift", judged["run"], "mild", "--base-url", server.url)
    assert "is the judge of run" in again.err
    assert "A drift compares the judge of one run" in eqlab("judge", "drift", "strict", "--base-url", server.url).err


def test_a_panel_of_three(eqlab, server, tmp_path):
    def answer(body, number):
        if body["model"] == "strict" and "Your reply:" not in body["messages"][-1]["content"]:
            return "Okay" if world(body, number) == "Good" else "Bad"
        return world(body, number)

    server.reply = answer
    assert eqlab("run", "-b", "empathy", "warm", "cold", "--base-url", server.url, "--limit", 6).code == 0
    command = ("judge", "strict", "mild", "other", "--on", "last", "--base-url", server.url)
    done = eqlab(*command)
    assert done.code == 0, done.err
    shown = " ".join(done.out.split())
    assert "a panel of 3 gives" in shown
    for title in (
        *("Pooled ratings", "What the panel is worth", "How mild each judge is"),
        *("Ranks if a judge were left out", "Most disputed replies", "Who answered"),
    ):
        assert title in shown
        assert title in (tmp_path / "eqlab-report.html").read_text()
    assert eqlab("report", "last", "-o", "again.html").code == 0
    assert "Pooled ratings" in (tmp_path / "again.html").read_text()
    panel = json.loads(eqlab(*command[:4], "--on", eqlab_run(eqlab), "--base-url", server.url, "--json").out)["panel"]
    mild = {
        row[0]: row[1] for table in panel["tables"] if table["title"].startswith("How mild") for row in table["rows"]
    }
    assert mild["strict"]["value"] < 0 < mild["mild"]["value"]


def eqlab_run(eqlab):
    """The run that has the replies: the oldest."""
    return json.loads(eqlab("runs", "--json").out)[-1]["run"]


def test_judging_as_json_and_in_pairs(eqlab, server):
    server.reply = world
    run = json.loads(
        eqlab("run", "-b", "empathy", "warm", "cold", "--base-url", server.url, "--limit", 4, "--json").out
    )["run"]
    server.reply = lambda body, n: "Tie"
    done = eqlab("judge", "j", "--on", run, "--pairwise", "--base-url", server.url, "--json")
    (result,) = json.loads(done.out)["results"]
    assert result["headline"]["value"] == 50.0
    assert result["counts"]["planned"] == 8


def test_calibrating_from_the_command_line(eqlab, server, published):
    server.reply = lambda body, n: "Okay"
    done = eqlab("judge", "calibrate", "j", "--limit", 4, "--base-url", server.url, "--data", published)
    assert done.code == 0, done.err
    assert "Calibration: agreement with people" in done.out
    assert len(server.requests) == 12


def test_ratings_from_a_file(eqlab, tmp_path):
    (tmp_path / "r.csv").write_text(
        "rater,arm,prompt,rating\nanna,a,afraid-1,good\nanna,b,afraid-1,bad\nbert,a,afraid-2,3\nbert,b,afraid-2,x\n"
    )
    done = eqlab("ratings", "import", "r.csv", "--name", "pilot", "--report", "people.html")
    assert done.code == 0, done.err
    assert "3 ratings of 2 people (3 new, 1 row left out)" in done.out
    assert "r.csv, line 5: 'x' is not a rating" in " ".join(done.err.split())
    assert (tmp_path / "people.html").stat().st_size > 5000
    again = json.loads(eqlab("ratings", "import", "r.csv", "--name", "pilot", "--json").out)
    assert (again["taken"], again["new"]) == (3, 0)
    assert again["bad"][0]["line"] == 5
    assert "anna" not in json.dumps(again)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["judge"], ["MODEL"]),
        (["judge", "calibrate"], ["needs a model"]),
        (["judge", "j"], ["--on RUN"]),
        (["judge", "j", "--on", "last"], ["eqlab run"]),
        (["judge", "calibrate", "j", "--on", "last"], ["takes no --on"]),
        (["judge", "calibrate", "j", "--pairwise"], ["takes no --pairwise"]),
        (["judge", "j", "--on", "no/file.csv"], ["no/file.csv"]),
        (["judge", "j", "--on", "author", "--limit", "0"], ["--limit"]),
        (["judge", "nobody/x", "--on", "author"], ["nobody/x", "provider/name"]),
        (["judge", "j", "--on", "author", "--pairwise", "--base-url", "http://127.0.0.1:9"], ["two models"]),
        (["ratings", "import", "nothing.csv"], ["nothing.csv"]),
        (["ratings", "export"], ["export"]),
        (["run", "-b", "rating", "m", "--base-url", "http://127.0.0.1:9"], ["eqlab judge"]),
    ],
)
def test_mistakes_get_one_clear_line(eqlab, arguments, words):
    done = eqlab(*arguments)
    assert done.code not in (0, None)
    assert "Traceback" not in done.err
    said = " ".join((done.err + done.out).split())
    for word in words:
        assert word in said, said


def test_calibrating_against_a_study_of_ones_own(eqlab, server, tmp_path):
    """People's ratings of replies whose text is known, imported as a table: the judge is held against them."""
    rows = ["rater,arm,prompt,rating,reply"]
    for rater in range(6):
        for number in range(1, 5):
            rows.append(
                f"r{rater},warm,afraid-{number},{'good' if (rater + number) % 3 else 'okay'},I am with you {number}"
            )
            rows.append(f"r{rater},cold,afraid-{number},{'bad' if (rater + number) % 2 else 'okay'},Hm {number}")
    (tmp_path / "r.csv").write_text("\n".join(rows))
    assert eqlab("ratings", "import", "r.csv", "--name", "mine").code == 0
    server.reply = lambda body, n: "Good" if "with you" in body["messages"][-1]["content"] else "Bad"
    run = eqlab_run(eqlab)
    done = eqlab("judge", "calibrate", "j", "--against", run, "--base-url", server.url)
    assert done.code == 0, done.err
    shown = " ".join(done.out.split())
    assert len(server.requests) == 8
    assert "Calibration: bias, slope, and what is missing" in shown
    assert "human ratings still missing" in shown or "still missing" in shown
    assert "48" in shown  # pairs of a judge's and a person's rating, each person once
    refused = eqlab("judge", "j", "--against", run, "--on", "author")
    assert "--against is for a calibration" in refused.err
    nobody = eqlab("judge", "calibrate", "j", "--against", "last", "--base-url", server.url)
    assert "holds no ratings of replies by people" in nobody.err


def table(path, raters, good):
    """Three replies by each of two arms; these raters find those of one of them good."""
    rows = [
        f"{rater},{arm},afraid-{number},{'good' if arm == good else 'bad'},{arm} words {number}"
        for rater in raters
        for number in range(1, 4)
        for arm in ("warm", "cold")
    ]
    path.write_text("\n".join(["rater,arm,prompt,rating,reply", *rows]))


def test_a_calibration_is_of_the_people_it_is_held_against_alone(eqlab, server, tmp_path):
    """Another panel's ratings of the same replies came into it, and into one that had been made before."""
    server.reply = lambda body, n: "Good" if "warm words" in body["messages"][-1]["content"] else "Bad"
    table(tmp_path / "uk.csv", ("a", "b", "c"), "warm")
    table(tmp_path / "de.csv", ("d", "e", "f"), "cold")
    found = []
    for name in ("uk", "de"):
        run = json.loads(eqlab("ratings", "import", f"{name}.csv", "--json").out)["run"]
        eqlab("judge", "calibrate", "j", "--against", run, "--base-url", server.url)
        found.append(json.loads(eqlab("runs", "--json").out)[0]["run"])
    with api.open_store() as store:
        for run, agreement in zip(found, (1.0, -1.0), strict=True):
            (result,) = api.results(store, run)
            kappa = next(one for one in result.estimates if one.name == "quadratic kappa")
            assert (round(kappa.value, 6), kappa.n) == (agreement, 18)


def test_a_corrected_table_takes_the_place_of_the_one_of_its_name(eqlab, server, tmp_path):
    """Coded the wrong way round, then imported again: both counted, in every judge's result."""
    server.reply = lambda body, n: "Good" if "warm words" in body["messages"][-1]["content"] else "Bad"
    for good in ("cold", "warm"):
        table(tmp_path / "r.csv", ("a", "b", "c"), good)
        done = eqlab("ratings", "import", "r.csv", "--name", "pilot")
    assert "It takes the place of run" in " ".join(done.out.split())
    (tmp_path / "replies.csv").write_text(
        "arm,prompt,reply\n"
        + "\n".join(f"{arm},afraid-{number},{arm} words {number}" for number in range(1, 4) for arm in ("warm", "cold"))
    )
    eqlab("judge", "j", "--on", "replies.csv", "--base-url", server.url)
    with api.open_store() as store:
        (result,) = api.results(store, "last")
    assert result.rules["calibration_pairs"] == 18
    table(tmp_path / "r.csv", ("a", "b", "c"), "cold")
    refused = eqlab("ratings", "import", "r.csv", "--name", "pilot")
    assert (refused.code, "Give these another --name" in " ".join(refused.err.split())) == (1, True)
