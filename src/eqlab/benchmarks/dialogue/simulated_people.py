"""Simulated people who talk, and scripted models who answer them: every end of a talk follows from the truth that was
put in, whether it is walked over HTTP or in memory."""

import json
import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from eqlab.benchmarks.dialogue.people_result import RATED
from eqlab.benchmarks.dialogue.prompt import SATISFIED, STAYS
from eqlab.core.design import Design
from eqlab.core.messages import Message
from eqlab.core.studied import Truth
from eqlab.core.study import Study
from eqlab.core.trials import Trial

OPENING, GAIN, MIDDLE = 40.0, 10.0, 50.0
"""How simulated speakers feel on average at the opening, and what the reference arm gives them; where a simulated
listener leaves somebody at an effect of 0."""
_START_SD, _PERSON, _NOISE = 10.0, 8.0, 6.0
_LEAVES = 0.2
_KIND = re.compile(r"of\W*kind\W*(\d+)", re.IGNORECASE)
_TOWARDS = re.compile(r"towards (\d+)")


@dataclass(slots=True)
class Talker:
    start: float
    lean: float
    replies: int = 0


class Talkers:
    """A speaker's feeling after each reply is start + gain of the arm + own lean + noise; a listener leaves the one who
    speaks at 50 + effect + own skill + noise."""

    def __init__(self, design: Design, truth: Truth) -> None:
        study = design.study
        named = [name for name, _ in study.arms]
        self._reference = named.index(study.analysis.reference) if study.analysis.reference in named else 0
        self._speaks = study.talk is None or study.talk.person == "speaker"
        self._truth = truth

    def person(self, draw: random.Random) -> Talker:
        return Talker(draw.gauss(OPENING, _START_SD), draw.gauss(0.0, _PERSON * self._truth.person_sd))

    def turn(self, person: Any, trial: Trial, heard: str, draw: random.Random) -> Mapping[str, Any]:
        if not self._speaks:
            target = _within(MIDDLE + self._truth.effect + person.lean + draw.gauss(0.0, _NOISE))
            return {"says": f"I am with you, and I go towards {target} from here."}
        found = _KIND.findall(heard)
        if not found:
            says = "There is something I want to tell you."
            return {"emotion": _within(person.start), "feeling": "", "leaves": STAYS, "says": says}
        person.replies += 1
        gain = GAIN + (0.0 if int(found[-1]) == self._reference else self._truth.effect)
        now = _within(person.start + person.lean + gain + draw.gauss(0.0, _NOISE))
        leaves = SATISFIED if person.replies > 1 and draw.random() < _LEAVES else STAYS
        return {
            "emotion": now,
            "feeling": "It did something.",
            "leaves": leaves,
            "says": f"And then, no. {person.replies}.",
        }

    def answer(self, person: Any, trial: Trial, draw: random.Random) -> Mapping[str, Any]:
        """The page on which the whole is rated; the first turn of a talk where nobody asks for more."""
        if trial.condition != RATED:
            return self.turn(person, trial, "", draw)
        return {scale.key: draw.randint(scale.low, scale.high) for scale in trial.form.scales}


def scripted_reply(study: Study, arm: str, messages: Sequence[Message]) -> str:
    """What a scripted model says: as listener its arm's number, as speaker a feeling that follows the last words."""
    spoken = sum(message.role == "assistant" for message in messages)
    if study.talk is None or study.talk.person == "speaker":
        number = [name for name, _ in study.arms].index(arm)
        return f"I hear you. This is reply {spoken + 1} of kind {number} that I can give."
    towards = _TOWARDS.search(messages[-1].text)
    emotion = int(towards[1]) if towards else int(MIDDLE)
    values = {"feeling": "I was heard.", "emotion": emotion, "leaves": STAYS, "says": f"Line {spoken} of mine."}
    if "JSON object" in messages[0].text:
        return json.dumps(values)
    return f"Feeling: {values['feeling']}\nEmotion: {emotion}\nLeaves: no\nSays: {values['says']}"


def _within(value: float) -> int:
    return max(0, min(100, round(value)))
