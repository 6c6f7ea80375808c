"""The models of the documentation: a server on loopback that answers by rule, the same words to the same question
always. `careful` is near the references, `careless` far; `warm` writes kind replies, `cold` short ones, `plain` some of
both; `by-place` deals out 4, 3, 2, 1; `strict`, `mild` and `other` are judges; a published model's name says what that
model said."""

import contextlib
import random
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import _support  # noqa: F401

KIND = "I am so glad you told me"
SHORT = ("Okay.", "These things happen.", "I see. Good luck with that.")
NEAR = {"careful": 0.85, "steady": 0.7, "checkpoint-1000": 0.35, "checkpoint-2000": 0.75}
"""How often a model says the reference; `m07` does so more often than `m06`."""


@dataclass
class Known:
    """What the stand-ins know of the questions."""

    references: dict[str, Mapping[str, float]] = field(default_factory=dict)
    """By dialogue, so that other words and another order of the same question have the same ones."""
    dealt: dict[str, Mapping[str, float]] = field(default_factory=dict)
    """Ten points over four words, by story."""
    said: dict[tuple[str, str], str] = field(default_factory=dict)
    """What a published model said to a prompt."""
    rubrics: tuple[tuple[str, ...], ...] = ()


def reply(body: dict[str, Any], known: Known) -> str:
    model, prompt = str(body["model"]), str(body["messages"][-1]["content"])
    draw = random.Random(f"{model} {prompt} {body.get('seed', 0)}")
    if (model, prompt) in known.said:
        return known.said[model, prompt]
    if (asked := dialogue_in(prompt)) in known.references:
        return _near(model, known.references[asked], draw)
    if (story := prompt.partition("\n\nDeal out ")[0]) in known.dealt:
        return _deals(model, known.dealt[story], prompt, draw)
    if any("You play a person in a chat" in str(one["content"]) for one in body["messages"][:1]):
        return _speaks(model, body["messages"], draw)
    if "First, Tie or Second" in prompt:
        first, _, second = prompt.partition("Second reply:")
        kinder = (KIND in first) - (KIND in second)
        return draw.choice(("First", "Tie") if kinder > 0 else ("Second", "Tie") if kinder < 0 else ("Tie", "First"))
    if "Bad, Okay or Good" in prompt:
        level = (2 if KIND in prompt else 1) + draw.choice((0, 0, 1)) - (model == "strict") * draw.choice((0, 1))
        return ("Bad", "Okay", "Good")[max(0, min(2, level))]
    for keys in known.rubrics:
        if "one line for each scale" in prompt and all(f"{key}:" in prompt or f"{key} " in prompt for key in keys):
            level = 2 + min(2, prompt.count(KIND)) - (model == "strict")
            return "\n".join(f"{key}: {max(1, min(5, level + draw.choice((-1, 0, 0, 1))))}" for key in keys)
    if model == "cold" or (model == "plain" and draw.random() < 0.6):
        return draw.choice(SHORT)
    return draw.choice((f"{KIND}. That must hurt.", f"Oh, {KIND}! What a day."))


def dialogue_in(prompt: str) -> str:
    """What tells one question from another."""
    found = re.search(r"Dialogue:\n(.*?)\n\(End of the dialogue\)", prompt, re.DOTALL)
    return found[1] if found else prompt


def _near(model: str, reference: Mapping[str, float], draw: random.Random) -> str:
    near = 0.2 + 0.05 * int(model[1:]) if re.fullmatch(r"m\d\d", model) else NEAR.get(model, 0.2)
    if model == "flat":
        return "\n".join(f"{word}: 3" for word in reference)
    return "\n".join(
        f"{word}: {value if draw.random() < near else draw.randint(0, 10)}" for word, value in reference.items()
    )


def _deals(model: str, reference: Mapping[str, float], prompt: str, draw: random.Random) -> str:
    """`careful` within a point or so of the reference, `careless` anyhow."""
    words = [line for line in prompt.splitlines() if line in reference]
    if model in ("flat", "by-place"):
        points = [2.5] * 4 if model == "flat" else [4.0, 3.0, 2.0, 1.0]
    else:
        spread = 1.0 if NEAR.get(model, 0) > 0.5 else 4.0
        points = [max(0.0, reference[word] + draw.gauss(0, spread)) for word in words]
        points = [10 * value / (sum(points) or 1) for value in points]
    return "\n".join(f"{word}: {value:.1f}" for word, value in zip(words, points, strict=True))


def _speaks(model: str, messages: list[dict[str, Any]], draw: random.Random) -> str:
    """A speaker whom kind words help."""
    before = [found for one in messages[1:-1] for found in re.findall(r"Emotion: (\d+)", str(one["content"]))]
    started = re.search(r"As the talk begins it is (\d+)", str(messages[0]["content"]))
    emotion = int(before[-1]) if before else int(started[1]) if started else 40
    moved = draw.randint(4, 14) if KIND in str(messages[-1]["content"]) else -draw.randint(2, 12)
    emotion = max(0, min(100, emotion + moved))
    leaves = "satisfied" if emotion > 90 else "hurt" if emotion < 12 else "no"
    return f"Feeling: it moved me by {moved}\nEmotion: {emotion}\nLeaves: {leaves}\nSays: And then there is more to it."


def load_known() -> Known:
    import tomllib
    from importlib.resources import files

    from eqlab.publish.tools.tasks import exported

    open_items = exported("eqbench", profile="full").questions
    told = [
        tomllib.loads(one.read_text(encoding="utf-8"))
        for one in Path(str(files("eqlab.data") / "rubrics")).glob("*.toml")
    ]
    rubrics = [tuple(scale["key"] for scale in one["scale"]) for one in told]
    known = Known(
        {dialogue_in(one.trial.prompt): one.trial.key["reference"] for one in open_items},
        rubrics=tuple(sorted(rubrics, key=len, reverse=True)),
    )
    _add_dealt(known, "open")
    from eqlab.core.errors import DataError

    with contextlib.suppress(DataError):  # without the published data the blocks that need them cannot be made
        _add_published(known)
        _add_dealt(known, "published")
    return known


def _add_dealt(known: Known, items: str) -> None:
    from eqlab.publish.tools.tasks import exported

    for one in exported("seceu", items=items, profile="full").questions:
        known.dealt[one.trial.stimulus] = one.trial.key["reference"]


def _add_published(known: Known) -> None:
    from eqlab.data.figures import published_figures
    from eqlab.publish.tools.tasks import exported

    told = published_figures()
    prompts = {
        one.trial.items[0]: one.trial.prompt for one in exported("eqbench", items="published", profile="full").questions
    }
    for question in told.questions:
        known.references[dialogue_in(prompts[question.id])] = {
            word: round(value) for word, value in zip(question.emotions, question.reference, strict=True)
        }
    for model in told.models:
        for question, answer in zip(told.questions, model.iterations[0], strict=True):
            if answer.first:
                lines = [f"{word}: {value}" for word, value in zip(question.emotions, answer.first, strict=True)]
                known.said[model.model.rpartition("/")[2], prompts[question.id]] = "\n".join(lines)


@contextlib.contextmanager
def stand_ins() -> Iterator[str]:
    """The address of a server on loopback."""
    from aiohttp import web
    from in_thread import served

    known = load_known()

    async def chat(request: web.Request) -> web.Response:
        body = await request.json()
        text = reply(body, known)
        usage = {"prompt_tokens": len(str(body["messages"])) // 4, "completion_tokens": len(text) // 4 + 1}
        message = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
        return web.json_response({"model": body["model"], "choices": [message], "usage": usage})

    with served(web.post("/v1/chat/completions", chat)) as port:
        yield f"http://127.0.0.1:{port}/v1"
