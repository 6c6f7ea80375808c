"""Perturbed questions: what changes, what stays, and that the score is made of plain trials only."""

import re

import pytest
from typer.testing import CliRunner

import eqlab as api
from eqlab.benchmarks.eqbench.trials import KINDS, PLAIN, TASKS, perturbed, read_kinds
from eqlab.cli.main import app
from eqlab.core.errors import UsageError


def words_of(prompt):
    return re.search(r"at the end\?\n((?:\w+\n){4})", prompt).group(1).split()


def run(store, server, **options):
    prepared = api.prepare(
        api.Request(benchmarks="eqbench", profile="full", models=("m",), base_url=server.url, limit=8, options=options)
    )
    stored = store.find_run(api.run(prepared, store, concurrency=4, timeout=60).run)
    return prepared, api.results(store, stored)[0]


def test_a_perturbed_run_scores_plain_trials_and_shows_the_others(server, store):
    def reply(body, number):
        prompt = body["messages"][-1]["content"]
        level = 5 if prompt.startswith(TASKS[0]) else 0 if prompt.startswith(TASKS[1]) else 3
        return "\n".join(f"{word}: {level + (i == 0)}" for i, word in enumerate(sorted(words_of(prompt))))

    server.reply = reply
    prepared, found = run(store, server, perturb="temperature,instruction,order")
    assert len(list(prepared.plan())) == 8 * 5
    _, plain = run(store, server)
    assert found.headline == plain.headline
    assert found.counts == plain.counts
    assert len(found.items) == 8
    (table,) = found.tables
    names = [row[0] for row in table.rows]
    assert names == [PLAIN, "instruction 2", "instruction 3", "order of the words", "temperature 0.7"]
    by_name = {row[0]: row for row in table.rows}
    assert by_name[PLAIN][1].value == pytest.approx(found.headline.value)
    assert by_name["instruction 2"][2].value != 0
    assert by_name["order of the words"][2].value == pytest.approx(0)
    assert by_name["temperature 0.7"][2].value == pytest.approx(0)
    assert "Variance of one answer (n = 40): question" in table.note
    asked = {body["temperature"] for body in server.requests}
    assert 0.7 in asked
    assert len(asked) == 2


def test_the_order_is_another_one_and_the_words_are_the_same():
    prepared = api.prepare(
        api.Request(benchmarks="eqbench", profile="full", limit=40, structured=False, options={"perturb": "order"})
    )
    trials = [trial for _, _, trial, _ in prepared.plan()]
    plain, other = trials[:40], trials[40:]
    for one, two in zip(plain, other, strict=True):
        assert one.items == two.items
        assert one.form.keys != two.form.keys
        assert sorted(one.form.keys) == sorted(two.form.keys)
        assert words_of(two.prompt) == list(two.form.keys)
        assert one.key["reference"] == two.key["reference"]


def test_a_run_without_perturbation_is_the_run_it_was():
    plain, no = (
        api.prepare(api.Request(benchmarks="eqbench", profile="full")),
        api.prepare(api.Request(benchmarks="eqbench", profile="full", options={"perturb": "no"})),
    )
    assert plain.config.id == no.config.id
    assert "perturb" not in plain.config.benchmarks[0].options
    assert list(perturbed(None, (), 0)) == []


def test_kinds_are_checked():
    assert read_kinds("temperature, order", "open") == ("order", "temperature")
    assert read_kinds(",".join(KINDS), "open") == KINDS
    assert read_kinds("temperature", "published") == ("temperature",)
    for text, items in (("wording", "open"), ("order", "published"), ("instruction", "published")):
        with pytest.raises(UsageError):
            read_kinds(text, items)


@pytest.mark.parametrize(
    "arguments",
    [
        ["-b", "empathy", "--perturb", "order"],
        ["--perturb", "temperature", "--set", "temperature=0"],
        ["--perturb", "temperature", "--short", "40", "--items", "published"],
    ],
)
def test_what_cannot_be_perturbed_is_refused(arguments):
    told = CliRunner().invoke(app, ["run", "m", "--base-url", "http://127.0.0.1:9/v1", *arguments])
    assert isinstance(told.exception, UsageError)
