"""Submissions: what `eqlab leaderboard submit` writes is accepted; what does not hold is refused by name."""

import json
import stat

import pytest
from conftest import completion

import eqlab as api
from eqlab.core.errors import UsageError
from eqlab.publish.leaderboard import submission as keys
from eqlab.publish.leaderboard.build import Sources, build
from eqlab.publish.leaderboard.check import check_submission
from eqlab.publish.leaderboard.submission import (
    COLUMNS,
    Refused,
    answers_sha256,
    make_submission,
    read_submission,
    signed_part,
    write_submission,
)

pytest_plugins = ["loopback_runs"]
PLACE = {name: index for index, name in enumerate(COLUMNS)}


def seal(body):
    """Hash and sign again, as somebody would who has changed the file and owns a key."""
    body["answers_sha256"] = answers_sha256(body["answers"])
    key = keys.own_key()
    body["public_key"] = keys.sign(key, b"")[0]
    body["signature"] = keys.sign(key, signed_part(body))[1]
    return body


def test_an_honest_submission_is_scored_as_the_run(submission, store):
    (entry,) = check_submission(submission, None)
    (own,) = api.results(store, store.find_run("last"))
    assert entry.result.headline == own.headline
    assert entry.result.counts == own.counts
    assert entry.origin == "submission"
    assert keys.fingerprint(submission["public_key"]) in entry.source


@pytest.mark.parametrize(("finish", "status"), [("length", "unparseable"), ("content_filter", "refused")])
def test_what_was_cut_off_may_be_there_and_counts_for_nothing(submission, finish, status):
    """Its words may read well: they are not the whole of what was said."""
    (before,) = check_submission(submission, None)
    for name, value in (("finish", finish), ("status", status), ("values", {})):
        answer(submission)[PLACE[name]] = value
    with pytest.raises(Refused, match=r"score|counts"):  # what it claims is of the whole
        check_submission(seal(submission), None)
    answer(submission)[PLACE["status"]] = "unparseable" if status == "refused" else "refused"
    with pytest.raises(Refused, match=f"ended with {finish}, so it is {status}"):
        check_submission(seal(submission), None)
    assert before.result.counts["ok"] == len(submission["answers"])


def test_an_honest_run_with_cut_and_filtered_replies_is_accepted_with_its_own_score(server, store):
    pytest.importorskip("cryptography")
    from loopback_runs import scores_for

    seen = []

    def reply(body, number):
        asked = body["messages"][-1]["content"]
        if asked not in seen:
            seen.append(asked)
        finish = {0: "length", 1: "content_filter"}.get(seen.index(asked), "stop")
        return completion(scores_for(body, lambda index: 2 * index), finish=finish)

    server.reply = reply
    prepared = api.prepare(
        api.Request(benchmarks="eqbench", profile="full", models=("m",), base_url=server.url, limit=12)
    )
    stored = store.find_run(api.run(prepared, store, concurrency=1, timeout=60).run)
    (own,) = api.results(store, stored)
    assert (own.counts["ok"], own.counts["unparseable"], own.counts["refused"]) == (10, 1, 1)
    (entry,) = check_submission(json.loads(json.dumps(make_submission(store, stored))), None)
    assert entry.result.headline.value == pytest.approx(own.headline.value, abs=1e-9)
    assert entry.result.counts == own.counts


def test_the_key_is_kept_for_its_owner_only_and_used_again(submission, store):
    assert stat.S_IMODE(keys.key_file().stat().st_mode) == 0o600
    assert make_submission(store, store.find_run("last"))["public_key"] == submission["public_key"]
    assert keys.key_file().read_text().strip() not in json.dumps(submission)


def test_secrets_stay_at_home(run, store, monkeypatch):
    """A key is refused among settings; one in a store of an older version does not leave it."""
    pytest.importorskip("cryptography")
    with pytest.raises(UsageError, match="api_key"):
        run("alpha", settings={"api_key": "sk-secret", "top_p": 1})
    monkeypatch.setattr("eqlab.runs.request.secret_among", lambda settings: None)
    body = make_submission(store, run("alpha", settings={"api_key": "sk-secret", "top_p": 1}))
    assert "sk-secret" not in json.dumps(body)
    check_submission(seal(body), None)


def answer(body, row=0):
    return body["answers"][row]


def edit_text(body):
    answer(body)[PLACE["text"]] = answer(body)[PLACE["text"]].replace(":", ": 1", 1)


def edit_hash(body):
    edit_text(body)
    body["answers_sha256"] = answers_sha256(body["answers"])


def edit_claim(body):
    body["claims"][0]["score"] = 99.0


def other_key(body):
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    body["public_key"] = Ed25519PrivateKey.generate().public_key().public_bytes_raw().hex()


def no_signature(body):
    body["signature"] = ""


@pytest.mark.parametrize(
    ("tamper", "reason"),
    [
        (edit_text, "sha256"),
        (edit_hash, "signature"),
        (edit_claim, "signature"),
        (other_key, "signature"),
        (no_signature, "signature"),
    ],
)
def test_a_file_changed_after_signing_is_refused(submission, tamper, reason):
    tamper(submission)
    with pytest.raises(Refused, match=reason):
        check_submission(submission, None)


def set_(column, value, row=0):
    def change(body):
        answer(body, row)[PLACE[column]] = value

    return change


def better_values(body):
    values = answer(body)[PLACE["values"]]
    values[next(iter(values))] += 1


def twice(body):
    body["answers"].append(list(answer(body)))


def dropped(body):
    del body["answers"][3]


def dropped_for_another(body):
    """As many rows as trials, but one trial lacks its answer."""
    extra = list(answer(body))
    extra[PLACE["attempt"]] = 2
    body["answers"][3] = extra


def retried(body):
    extra = list(answer(body))
    extra[PLACE["attempt"]] = 2
    body["answers"].append(extra)


def counts(body):
    body["claims"][0]["counts"]["refused"] = 3


def other_items(body):
    body["config"]["benchmarks"][0]["items_sha256"] = "0" * 64
    resign_run(body)


def resign_run(body):
    from eqlab.core.runs import config_from_json

    body["run"] = config_from_json(json.dumps(body["config"])).id


def more_limit(body):
    body["config"]["limit"] = 40
    resign_run(body)


def endless(body):
    body["config"]["repeats"] = 10**9
    resign_run(body)


def protocol(body):
    body["config"]["benchmarks"][0]["protocol"] = 99
    resign_run(body)


def options(body):
    body["config"]["benchmarks"][0]["options"]["rules"] = "mine"
    resign_run(body)


def no_benchmark(body):
    body["config"]["benchmarks"][0]["name"] = "nothing"
    resign_run(body)


IMPOSSIBLE = [
    (better_values, "values do not follow"),
    (set_("values", {"Calm": 11}), "values do not follow"),
    (set_("status", "refused"), "reads as ok"),
    (set_("status", "great"), "status"),
    (set_("trial", "0" * 24), "not in its plan"),
    (set_("subject", "model:other"), "not in its plan"),
    (set_("repeat", 7), "not in its plan"),
    (set_("attempt", 2), "without a gap"),
    (set_("attempt", True), "attempt is"),
    (set_("text", 5), "text is"),
    (twice, "twice"),
    (retried, "after a readable answer"),
    (dropped, "fewer"),
    (dropped_for_another, "has no answer|after a readable"),
    (edit_claim, "score"),
    (counts, "counts"),
    (lambda body: body.update(run="0123456789"), "its configuration is run"),
    (lambda body: body.update(config={}), "configuration is broken"),
    (lambda body: body.update(claims=[]), "claims"),
    (lambda body: body.update(created_at=-1), "date"),
    (lambda body: answer(body).pop(), "columns"),
    (other_items, "item set"),
    (more_limit, "fewer"),
    (endless, "fewer"),
    (protocol, "protocol"),
    (options, "do not hold: .*mine"),
    (no_benchmark, "nothing"),
]


@pytest.mark.parametrize(("change", "reason"), IMPOSSIBLE)
def test_an_impossible_file_is_refused_even_if_it_is_signed(submission, change, reason):
    change(submission)
    with pytest.raises(Refused, match=reason):
        check_submission(seal(submission), None)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("", "not JSON"),
        ("{", "not JSON"),
        ("[" * 100_000, "not JSON"),
        ('{"a": NaN}', "not JSON"),
        ("[]", "eqlab leaderboard submit"),
        ("{}", "eqlab leaderboard submit"),
        ('{"format": "eqlab-submission", "version": 2}', "version 2"),
        ('{"format": "eqlab-submission", "version": 1}', "lacks"),
    ],
)
def test_a_broken_file_is_refused(tmp_path, content, reason):
    path = tmp_path / "x.json"
    path.write_text(content)
    with pytest.raises(Refused, match=reason):
        read_submission(path)


def test_a_build_names_what_it_refuses_and_goes_on(submission, tmp_path):
    folder = tmp_path / "in"
    write_submission(submission, folder / "good.json")
    write_submission(submission, folder / "same.json")
    (folder / "broken.json").write_text("{")
    edit_text(submission)
    write_submission(submission, folder / "tampered.json")
    built = build(tmp_path / "site", Sources(folders=(folder,)))
    reasons = dict(built.refused)
    assert set(reasons) == {"same.json", "broken.json", "tampered.json"}
    assert "good.json" in reasons["same.json"]
    assert [len(board.entered) for board in built.boards] == [1]
    front = (tmp_path / "site" / "index.html").read_text()
    assert "tampered.json" in front
    assert "sha256" in front


def test_an_unfinished_run_is_not_submitted(server, store):
    pytest.importorskip("cryptography")
    from aiohttp import web

    server.reply = lambda body, number: web.Response(status=404, text="no such model")
    prepared = api.prepare(
        api.Request(benchmarks="eqbench", profile="full", models=("m",), base_url=server.url, limit=3)
    )
    stored = store.find_run(api.run(prepared, store, concurrency=1, timeout=60).run)
    with pytest.raises(UsageError, match="not complete"):
        make_submission(store, stored)
