"""Batches against strict loopback servers: what comes back belongs to its question, what does not is asked again."""

import random

import pytest
from batch_case import KINDS, PACE, answered, keys, prepared, statuses
from batch_servers import KEY, housed
from strict_servers import Refused

from eqlab.core.answers import final
from eqlab.core.errors import ModelError
from eqlab.runs.ask import Listener, run


@pytest.fixture(params=KINDS)
def house(request, monkeypatch):
    with keys(monkeypatch), housed(request.param) as house:
        yield house


def test_asked_by_batch_what_is_asked_one_by_one(house, store):
    plan = prepared(house)
    said = []
    outcome = run(plan, store, batch=PACE, listener=Listener(say=said.append))
    assert not outcome.failures, outcome.failures
    assert statuses(store, plan) == [["ok"]] * 8
    assert house.direct - len(house.sent) <= 3  # one question, and what its first refusals taught
    assert len(house.sent) == len(set(house.sent)) == 7
    finals = [final(one.attempts) for one in answered(store, plan)]
    by_batch = [answer for answer in finals if "batch" in answer.sent]
    assert len(by_batch) == 7
    assert {answer.latency for answer in by_batch} == {None}
    assert all(answer.tokens_in and answer.model and answer.sent["room"] for answer in by_batch)
    if house.model.startswith(("openai", "anthropic")):  # neither takes a temperature
        assert {answer.temperature for answer in finals} == {None}
    assert any("7 questions sent as batch" in line for line in said), said
    assert any("taken in: 7 answers" in line for line in said)
    asked = len(house.sent), house.direct
    run(plan, store, batch=PACE)
    assert (len(house.sent), house.direct) == asked


def test_results_in_any_order_twice_and_of_somebody_else(house, store):
    def mischief(results, number):
        random.Random(3).shuffle(results)
        stranger = {**results[0], "custom_id": "somebody-1", "key": "somebody-1"}
        stranger = {name: value for name, value in stranger.items() if name in results[0]}
        return [*results, results[0], house.expired(results[1]), stranger]

    house.mischief = mischief
    plan = prepared(house)
    said = []
    outcome = run(plan, store, batch=PACE, listener=Listener(say=said.append))
    assert not outcome.failures
    assert statuses(store, plan) == [["ok"]] * 8
    assert len(house.sent) == 7
    assert any("1 results of somebody else" in line for line in said), said
    # Every answer stands with its own question.
    for one in answered(store, plan):
        assert set(final(one.attempts).values) == set(one.trial.form.keys)


def test_expired_failed_and_missing_items_are_asked_again_refusals_are_not(house, store):
    def mischief(results, number):
        if number > 1:
            return results
        expired, errored, refused, *rest, missing = results
        assert missing
        return [house.expired(expired), house.errored(errored), house.filtered(refused), *rest]

    house.mischief = mischief
    plan = prepared(house)
    outcome = run(plan, store, batch=PACE)
    assert not outcome.failures
    assert not outcome.lost
    found = statuses(store, plan)
    assert sorted(found) == sorted([["ok"]] * 4 + [["error", "ok"]] * 3 + [["refused"]])
    assert len(house.batches) == 2
    assert len(house.sent) == 7 + 3
    notes = [one.attempts[0].note for one in answered(store, plan) if one.attempts[0].status == "error"]
    assert len(set(notes)) == 3
    assert all(notes)


def test_what_never_gets_an_answer_is_given_up_for_now_and_said(house, store):
    house.mischief = lambda results, number: (
        [house.expired(results[0]), *results[1:]] if len(results) > 1 else [house.expired(results[0])]
    )
    plan = prepared(house, limit=4)
    outcome = run(plan, store, batch=PACE)
    (why,) = outcome.lost.values()
    assert why.startswith("1 trial got no answer")
    assert len(house.batches) == 3
    assert sorted(statuses(store, plan)) == [["error"] * 3, ["ok"], ["ok"], ["ok"]]


@pytest.mark.parametrize("kind", ["openai", "gemini"])
def test_a_batch_that_expires_whole_is_asked_again(kind, store, monkeypatch):
    with keys(monkeypatch), housed(kind) as house:
        house.ends = "expired"
        house.mischief = lambda results, number: [house.expired(one) for one in results]
        plan = prepared(house, limit=3)

        def say(line):
            if "without an answer" in line:
                house.ends = "completed"
                house.mischief = lambda results, number: results

        run(plan, store, batch=PACE, listener=Listener(say=say))
        assert sorted(statuses(store, plan)) == [["error", "ok"], ["error", "ok"], ["ok"]]


def test_unreadable_replies_are_asked_again_warmer(store, monkeypatch):
    with keys(monkeypatch), housed("gemini") as house:

        def mischief(results, number):
            if number == 1:
                results[0]["response"]["candidates"][0]["content"]["parts"] = [{"text": "I would rather not say."}]
            return results

        house.mischief = mischief
        plan = prepared(house, limit=4)
        run(plan, store, batch=PACE)
        (twice,) = [one for one in answered(store, plan) if len(one.attempts) == 2]
        assert [answer.status for answer in twice.attempts] == ["unparseable", "ok"]
        assert twice.attempts[1].temperature > twice.attempts[0].temperature


def test_a_reply_cut_while_thinking_gets_more_room(store, monkeypatch):
    with keys(monkeypatch), housed("openai") as house:

        def mischief(results, number):
            if number == 1:
                body = results[0]["response"]["body"]
                body["choices"][0] |= {"finish_reason": "length", "message": {"role": "assistant", "content": ""}}
            return results

        house.mischief = mischief
        plan = prepared(house, limit=4)
        run(plan, store, batch=PACE)
        (twice,) = [one for one in answered(store, plan) if len(one.attempts) == 2]
        first, second = twice.attempts
        assert "cut off while it was thinking" in first.note
        assert second.sent["room"] > first.sent["room"]


def test_gemini_results_in_the_body_are_told_apart_by_their_names(store, monkeypatch):
    with keys(monkeypatch), housed("gemini") as house:
        house.inlined = True
        house.mischief = lambda results, number: list(reversed(results))
        plan = prepared(house)
        run(plan, store, batch=PACE)
        assert statuses(store, plan) == [["ok"]] * 8
        for one in answered(store, plan):
            assert set(final(one.attempts).values) == set(one.trial.form.keys)


def test_results_without_names_belong_to_nobody(store, monkeypatch):
    with keys(monkeypatch), housed("gemini") as house:
        house.inlined = True
        house.mischief = lambda results, number: [{**one, "key": ""} for one in results]
        plan = prepared(house, limit=3)
        outcome = run(plan, store, batch=PACE)
        assert sorted(statuses(store, plan)) == [["error"] * 3, ["error"] * 3, ["ok"]]
        assert outcome.lost


def test_a_refused_batch_ends_the_model_in_its_own_words(house, store):
    house.refuses_create = [
        Refused(400, {"error": {"message": "Billing hard limit has been reached.", "code": 400}}),
    ]
    plan = prepared(house, limit=3)
    outcome = run(plan, store, batch=PACE)
    (why,) = outcome.failures.values()
    assert isinstance(why, ModelError)
    assert "Billing hard limit" in str(why)
    assert KEY not in str(why)
    assert not house.sent
    run(plan, store, batch=PACE)
    assert statuses(store, plan) == [["ok"]] * 3
    assert len(house.sent) == 2


def test_a_batch_that_is_too_large_for_the_account_is_made_smaller(store, monkeypatch):
    with keys(monkeypatch), housed("openai") as house:
        words = "Enqueued token limit reached for gpt-5 in organization org-x. Limit: 90,000 enqueued tokens."
        real = house.shown

        def shown(name, status):
            if len(house.batches[name]["lines"]) > 3:
                error = {"code": "token_limit_exceeded", "message": words, "param": None, "line": None}
                house.batches[name]["errors"] = {"object": "list", "data": [error]}
                house.sent = [prompt for prompt in house.sent if prompt not in texts(house.batches[name])]
                return real(name, "failed")
            return real(name, status)

        house.shown = shown
        plan = prepared(house)
        said = []
        outcome = run(plan, store, batch=PACE, listener=Listener(say=said.append))
        assert not outcome.failures
        assert statuses(store, plan) == [["ok"]] * 8
        assert len(house.sent) == len(set(house.sent)) == 7
        assert any("Smaller ones follow" in line for line in said)


def texts(batch):
    return [line["body"]["messages"][-1]["content"] for line in batch["lines"]]
