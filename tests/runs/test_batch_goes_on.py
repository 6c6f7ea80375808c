"""Batches that are stopped, not confirmed or refused: nothing is lost, and nothing is sent twice."""

import pytest
from batch_case import KINDS, PACE, answered, keys, prepared, statuses, stop_at
from batch_servers import housed
from strict_openai import openai_error
from strict_servers import Refused

import eqlab as api
from eqlab.core.errors import UsageError
from eqlab.runs.ask import Listener, run
from eqlab.runs.budget import Limits
from eqlab.store.batches import Batches


@pytest.fixture(params=KINDS)
def house(request, monkeypatch):
    with keys(monkeypatch), housed(request.param) as house:
        yield house


def test_a_creation_that_is_not_confirmed_is_looked_for_and_not_repeated(house, store, monkeypatch):
    """The server has made the batch and answers 500: whoever sends again pays twice."""
    real = house.create

    async def create(request):
        await real(request)
        house.create = real
        raise Refused(500, {"error": {"message": "upstream", "type": "server_error"}})

    house.create = create
    plan = prepared(house)
    said = []
    outcome = run(plan, store, batch=PACE, listener=Listener(say=said.append))
    assert not outcome.failures
    assert statuses(store, plan) == [["ok"]] * 8
    assert len(house.batches) == 1
    assert len(house.sent) == 7
    assert any("was sent before" in line for line in said), said


@pytest.mark.parametrize("what", ["look", "find"])
@pytest.mark.parametrize("answer", [{}, [], {"data": [7], "operations": [7]}, "no", b"<html>"])
def test_an_answer_of_another_shape_ends_the_session_and_loses_nothing(house, store, what, answer):
    if what == "find" and answer == {} and house.model.startswith("google"):
        pytest.skip("that is how Google says that there is none")
    plan = prepared(house, limit=4)
    house.looks_needed = 10**9
    stop_at(house, store, plan, 3)
    real = house.route
    if what == "find":
        forget_remote(store)

    async def route(request):
        return answer if request.method == "GET" else await real(request)

    house.route = route
    outcome = run(plan, store, batch=PACE)
    (why,) = outcome.failures.values()
    assert "cannot be read" in str(why) or "not JSON" in str(why), why
    house.route = real
    house.looks_needed = 1
    run(plan, store, batch=PACE)
    assert statuses(store, plan) == [["ok"]] * 4
    assert len(house.sent) == 3


def forget_remote(store):
    """As if the process had died before it stored the provider's name for a batch."""
    from sqlalchemy import update

    from eqlab.store.engine import writing
    from eqlab.store.schema import batches

    with writing(store.engine) as connection:
        connection.execute(update(batches).values(state="made", remote=""))


def test_anthropic_waits_for_a_batch_that_may_be_its_own(store, monkeypatch):
    """Another program's batch of the same size must not be taken for ours, nor ours be sent twice."""
    with keys(monkeypatch), housed("anthropic") as house:
        other = api.open_store(str(store.where) + ".other")
        run(prepared(house, seed=5), other, batch=PACE)
        other.close()
        assert len(house.batches) == 1
        real = house.create

        async def create(request):
            house.create = real
            raise Refused(500, {"error": {"message": "upstream", "type": "server_error"}})

        house.create = create
        plan = prepared(house)
        run(plan, store, batch=PACE)
        assert statuses(store, plan) == [["ok"]] * 8
        assert len(house.batches) == 2


def test_without_batch_nothing_is_paid_twice(house, store):
    house.looks_needed = 10**9
    plan = prepared(house)
    stop_at(house, store, plan)
    outcome = run(plan, store)
    (why,) = outcome.failures.values()
    assert "still with the provider" in str(why)
    assert "--batch" in str(why)


def test_ctrl_c_leaves_it_running_and_says_so(house, store):
    house.looks_needed = 10**9
    plan = prepared(house)
    said = stop_at(house, store, plan)
    assert any("goes on at the provider" in line for line in said)
    (batch,) = Batches(store, plan.config.id, plan.config.models[0].subject).under_way()
    assert batch.state == "sent"
    house.looks_needed = 1
    run(plan, store, batch=PACE)
    assert statuses(store, plan) == [["ok"]] * 8
    assert len(house.sent) == 7


def test_another_key_does_not_make_it_be_asked_again(store, monkeypatch):
    with keys(monkeypatch), housed("openai") as house:
        house.looks_needed = 10**9
        plan = prepared(house)
        stop_at(house, store, plan)
        kept = dict(house.batches)
        house.batches.clear()  # as another project sees it
        outcome = run(plan, store, batch=PACE)
        assert "Use the key and the address" in str(next(iter(outcome.failures.values())))
        house.batches.update(kept)
        house.looks_needed = 1
        run(plan, store, batch=PACE)
        assert len(house.sent) == 7


def test_a_limit_of_tokens_holds_for_batches(house, store):
    plan = prepared(house)
    run(plan, store, batch=PACE, limits=Limits(tokens=100))
    assert house.direct == 0
    assert not house.sent
    first = run(plan, store, batch=PACE, limits=Limits(tokens=45_000))
    taken = sum(
        (answer.tokens_in or 0) + (answer.tokens_out or 0) for one in answered(store, plan) for answer in one.attempts
    )
    assert taken <= 45_000
    if first.limit:
        run(plan, store, batch=PACE, limits=Limits(tokens=10**7))
    assert statuses(store, plan) == [["ok"]] * 8
    assert len(house.sent) == len(set(house.sent))


def test_models_without_batches_are_refused_before_anything_is_asked(store, server):
    for models in (("embedded",), ("mistral/x",), ("litellm/bedrock/y",)):
        plan = api.prepare(api.Request(benchmarks="eqbench", profile="full", models=models, limit=2))
        with pytest.raises(UsageError, match="--batch does not work"):
            run(plan, store, batch=PACE)


def test_an_account_error_is_not_repeated_for_a_day(store, monkeypatch):
    with keys(monkeypatch), housed("openai") as house:

        def mischief(results, number):
            body = openai_error("You exceeded your current quota.", None, "insufficient_quota", "insufficient_quota")
            return [{**one, "response": {"status_code": 429, "request_id": "r", "body": body}} for one in results]

        house.mischief = mischief
        plan = prepared(house, limit=4)
        outcome = run(plan, store, batch=PACE)
        assert "no credit left" in str(next(iter(outcome.failures.values())))
        assert len(house.batches) == 1
