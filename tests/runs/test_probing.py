"""`eqlab research probe` against a server that knows some items by heart, and one that knows none."""

import json

import pytest
from typer.testing import CliRunner

from eqlab.analysis.memorisation import halves
from eqlab.cli.main import app
from eqlab.core.errors import UsageError
from eqlab.runs import probe as probing


def remembering(server, texts):
    """The server goes on with these texts, and says something else to all others."""
    second = dict(halves(text) for text in texts)

    def reply(body, number):
        first = body["messages"][-1]["content"].split("\n\n", 1)[1]
        return second.get(first, f"I am not sure how it goes on, number {number}.")

    server.reply = reply


@pytest.mark.parametrize(("known", "verdict"), [(12, "more than chance explains"), (0, "no more than chance explains")])
def test_a_server_that_knows_items_is_found_out(server, known, verdict):
    texts = probing.texts("eqbench", "open", None)
    remembering(server, list(texts.values())[:known])
    arguments = ["probe", "m", "--items", "open", "--base-url", server.url]
    told = CliRunner().invoke(app, arguments)
    assert told.exit_code == 0, told.output
    assert f"m goes on with {known} of {len(texts)} open texts" in told.output
    assert verdict in told.output
    (found,) = json.loads(CliRunner().invoke(app, [*arguments, "--json"]).stdout)
    assert sorted(found["found"]["known"]) == sorted(list(texts)[:known])


def test_published_items_can_be_probed(server, published):
    for benchmark, count in (("eqbench", 171), ("emotionbench", 175)):
        assert len(probing.texts(benchmark, "published", published)) == count
    texts = probing.texts("eqbench", "published", published)
    remembering(server, [texts["3"], texts["100"]])
    arguments = ["probe", "m", "--data", str(published), "--base-url", server.url, "--json"]
    (found,) = json.loads(CliRunner().invoke(app, arguments).stdout)
    assert {"3", "100"} <= set(found["found"]["known"])
    assert found["found"]["share"]["n"] == 171


def test_lost_requests_are_counted_and_names_checked(server):
    texts = probing.texts("empathy", "open", None)
    assert len(probing.chosen(texts, 12)) == 12
    with pytest.raises(UsageError):
        probing.texts("other", "open", None)
    assert CliRunner().invoke(app, ["probe", "m", "--items", "all"]).exit_code != 0
