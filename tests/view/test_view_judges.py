"""Judges: their agreement with intervals, how mild each is, calibrated or not, replies in dispute."""

import re

import pytest

pytest.importorskip("starlette")

from judge_case import replies, world
from view_case import View, words

import eqlab as api
from eqlab.runs import judge as judging


def test_two_judges(server, tmp_path):
    with api.open_store(str(tmp_path / "s.db")) as store:
        run = replies(server, store)

        def reply(body, number):
            said = world(body)
            return "Bad" if said == "Okay" and body["model"] == "strict" else said

        server.reply = reply
        request = judging.JudgeRequest(judges=("strict", "mild"), on=(run,), base_url=server.url)
        api.run(judging.prepare(request, store, lambda _: None), store, concurrency=4)
    said = words(View(tmp_path / "s.db").get("/judges"))
    for part in (
        "How far judges agree", "n = 16", "How mild each judge is", "Most disputed replies", "judge:strict",
        "Not calibrated: nobody's ratings", "Judge-only",
    ):  # fmt: skip
        assert part in said, part
    rows = View(tmp_path / "s.db").get("/").partition("rated by a judge")[2]
    names = [words(name) for name in re.findall(r'<th scope="row"[^>]*>(.*?)</th>', rows)][:2]
    shown = "P(Good), warm − cold"  # which difference
    assert names == [f"judge:strict {shown}", f"judge:mild {shown}"]


def test_a_judge_beside_the_one_before_it(server, tmp_path):
    with api.open_store(str(tmp_path / "s.db")) as store:
        on = replies(server, store)
        runs = []
        for judge in ("old", "new"):
            server.reply = lambda body, _, judge=judge: "Bad" if judge == "new" else world(body)
            request = judging.JudgeRequest(judges=(judge,), on=(on,), base_url=server.url)
            prepared = judging.prepare(request, store, lambda _: None)
            api.run(prepared, store, concurrency=4)
            runs.append(prepared.config.id)
    view = View(tmp_path / "s.db")
    page = view.get("/judges", run=runs[1])
    assert f"before={runs[0]}#drift" in page
    said = words(view.get("/judges", run=runs[1], before=runs[0]))
    assert "The same replies, judged again" in said
    assert "new" in said.split("judged again")[1]
    assert "Nothing can be held together" not in said


def test_no_judge(skilled_view):
    assert "No judge has rated anything" in words(skilled_view.get("/judges"))
