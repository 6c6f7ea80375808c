"""A speaker and listeners that follow a script, for a server on loopback. How the speaker feels depends on the
listener's word alone, so every end of a talk is known beforehand."""

import re
from importlib.resources import files

import eqlab as api
from eqlab.benchmarks.dialogue.personas import parse_open
from eqlab.benchmarks.dialogue.talked import talks_of

PERSONAS = {one.id: one for one in parse_open(files("eqlab.data").joinpath("open/dialogue.toml").read_bytes())}
STEPS = {"good": 12, "plain": 1, "bad": -9}


def is_speaker(body):
    return "You play a person" in body["messages"][0]["content"]


def speak(body, step=None, lean=0):
    """The next turn of a speaker: a step up or down from what it felt last, by the listener's last word."""
    messages = body["messages"]
    felt = [
        int(n) for m in messages if m["role"] == "assistant" for n in re.findall(r"^Emotion: (\d+)", m["content"], re.M)
    ]
    start = int(re.search(r"As the talk begins it is (\d+)", messages[0]["content"])[1])
    now = felt[-1] if felt else start
    heard = messages[-1]["content"]
    change = step if step is not None else next((value for word, value in STEPS.items() if word in heard), -20)
    now = max(0, min(100, now + change + lean))
    return f"Feeling: I heard {len(heard)} characters.\nEmotion: {now}\nLeaves: no\nSays: Line after {now}."


def talk(body, number):
    """A listener is as good as its name."""
    return speak(body) if is_speaker(body) else f"A {body['model']} reply, no. {len(body['messages'])}."


def prepared(server, *models, speaker="s", **more):
    named = [one.partition(" ") for one in speaker.split(",")]
    there = ",".join(f"{name}@{server.url}{blank}{settings}" for name, blank, settings in named)
    options = {"speaker": there, **more.pop("options", {})}
    return api.prepare(
        api.Request(
            models or ("good",),
            ("dialogue",),
            base_url=server.url,
            options=options,
            **{"limit": 3, "profile": "full"} | more,
        )
    )


def hold(server, folder, *models, reply=talk, **more):
    """Runs talks and returns (run, talks of the first listener, results)."""
    server.reply = reply
    store = api.open_store(str(folder / "s.db"))
    made = prepared(server, *models, **more)
    api.run(made, store, concurrency=8)
    subject = made.config.models[0].subject
    talks = talks_of(store.scored(made.config.id, subject, "dialogue"))
    results = api.results(store, store.find_run(made.config.id))
    store.close()
    return made, talks, results
