"""Adaptive runs and short forms can be submitted: the builder asks its own code what would have been asked next."""

import json

import pytest
from published_references import answer
from test_submission import resign_run, seal

import eqlab as api
from eqlab.publish.leaderboard.build import Sources, build
from eqlab.publish.leaderboard.check import check_submission
from eqlab.publish.leaderboard.submission import COLUMNS, Refused, make_submission
from eqlab.publish.leaderboard.tables import boards

pytest_plugins = ["loopback_runs"]
pytest.importorskip("cryptography")


@pytest.fixture
def submitted(server, store, published, references):
    def go(off=3, model="m", **options):
        server.reply = answer(references, off)
        request = api.Request(
            benchmarks="eqbench",
            profile="full",
            models=(model,),
            base_url=server.url,
            items="published",
            data=published,
            options=options,
        )
        outcome = api.run(api.prepare(request), store, concurrency=8, timeout=60)
        return json.loads(json.dumps(make_submission(store, store.find_run(outcome.run))))

    return go


def test_an_adaptive_run_is_accepted_with_its_caveat_and_ranked_by_its_interval(submitted, published, tmp_path):
    weak, strong = submitted(off=6, width="9"), submitted(off=1, model="better", width="9")
    entries = [one for body in (weak, strong) for one in check_submission(body, published)]
    asked = [[item.item for item in entry.result.items] for entry in entries]
    assert set(asked[0]) != set(asked[1])  # other answers, other questions
    assert all(len(own) < 171 for own in asked)
    (board,) = boards(entries)
    assert board.items == ()
    assert board.length.why == "the score is not a mean over items"
    assert [line.name for line in board.lines if line.kind == "model"] == ["better", "m"]
    assert all(line.rank for line in board.lines if line.kind == "model")
    assert any("Estimated by an adaptive run" in caveat for caveat in entries[0].result.caveats)
    (tmp_path / "one.json").write_text(json.dumps(weak))
    built = build(tmp_path / "site", Sources(folders=[tmp_path / "one.json"], data=published))
    assert built.refused == []


def test_a_short_form_is_accepted(submitted, published):
    (entry,) = check_submission(submitted(short="20"), published)
    assert len(entry.result.items) == 20


def left_out(body):
    body["answers"] = body["answers"][:-8]


def full_form_of_another(body):
    """One question more than the answers lead to."""
    row = list(body["answers"][0])
    row[COLUMNS.index("trial")] = "0" * 24
    body["answers"].append(row)


def other_width(body):
    body["config"]["benchmarks"][0]["options"]["width"] = 6
    resign_run(body)


def no_width(body):
    body["config"]["benchmarks"][0]["options"]["width"] = "narrow"
    resign_run(body)


def with_revision(body):
    body["config"]["benchmarks"][0]["options"]["revision"] = True
    resign_run(body)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (left_out, "fewer than its configuration asks for"),
        (full_form_of_another, "not in its plan"),
        (other_width, "fewer than its configuration asks for"),
        (no_width, "options of eqbench do not hold"),
        (with_revision, "options of eqbench do not hold"),
    ],
)
def test_questions_that_do_not_follow_from_the_answers_are_refused(submitted, published, change, reason):
    body = submitted(width="14")
    change(body)
    with pytest.raises(Refused, match=reason):
        check_submission(seal(body), published)
