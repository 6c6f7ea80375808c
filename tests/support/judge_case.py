"""A judge and the replies that it is shown, on a chat server on loopback."""

import hashlib

import eqlab as api
from eqlab.runs import judge as judging


def said_reply(body):
    """The reply that a judge is shown, unquoted."""
    prompt = body["messages"][-1]["content"]
    quoted = prompt.split("The other replies:\n")[1].split("\n\nYour rating:")[0]
    return "\n".join(line[2:] for line in quoted.split("\n"))


def said_story(body):
    quoted = body["messages"][-1]["content"].split("The person says:\n")[1].split("\nThe other replies:")[0]
    return "\n".join(line[2:] for line in quoted.split("\n"))


def world(body, number=0):
    """Models that reply and a judge that likes the warm one's replies."""
    prompt = body["messages"][-1]["content"]
    if "Your reply:" in prompt:
        said = hashlib.sha256(prompt.encode()).hexdigest()[:6]
        return f"I feel with you, dearest {said}." if body["model"] == "warm" else f"Noted {said}."
    if "Your choice:" in prompt:
        return "First" if "dearest" in prompt.split("Second reply:")[0] else "Second"
    return "Good" if "dearest" in said_reply(body) else "Okay"


def replies(server, store, models=("warm", "cold"), **request):
    server.reply = world
    wanted = api.Request(**{"models": models, "benchmarks": ("empathy",), "base_url": server.url, "limit": 8} | request)
    outcome = api.run(api.prepare(wanted), store, concurrency=4, timeout=60)
    server.requests.clear()
    return outcome.run


def judge(server, store, on, listener=None, model="gpt-judge", **request):
    said = []
    wanted = judging.JudgeRequest(judges=(model,), on=tuple(on), base_url=server.url, **request)
    prepared = judging.prepare(wanted, store, said.append)
    outcome = api.run(prepared, store, concurrency=4, timeout=60, listener=listener)
    (result,) = api.results(store, store.find_run(outcome.run))
    return outcome, result, said
