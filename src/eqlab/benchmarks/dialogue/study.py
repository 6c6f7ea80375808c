"""Talk: people in the seats of a dialogue. As speakers they chat with a blinded model and tell after each reply how
they feel; as listeners they reply to a model that plays a persona, which gives the human level of the benchmark."""

import json
import math
import random
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, replace
from typing import Any

from eqlab.benchmarks.common.people import contrast_table, first_step, instructed, template
from eqlab.benchmarks.common.selection import spread
from eqlab.benchmarks.dialogue.benchmark import Dialogue
from eqlab.benchmarks.dialogue.people_result import RATED, contrasts, people_result
from eqlab.benchmarks.dialogue.personas import Character
from eqlab.benchmarks.dialogue.trials import (
    HURT,
    LEAVES,
    NAME,
    PERSON,
    SATISFIED,
    STAYS,
    Speaker,
    first_trial,
    next_turn,
    person_first,
    person_next,
    read_speakers,
)
from eqlab.core.benchmark import Turn
from eqlab.core.design import Batch, Design
from eqlab.core.errors import UsageError
from eqlab.core.forms import Form, Scale, Writing
from eqlab.core.plural import many
from eqlab.core.results import Table
from eqlab.core.runs import ModelConfig
from eqlab.core.studied import (
    Analysed,
    Contrast,
    PeopleResult,
    PlannedContrasts,
    Recovered,
    StudyForm,
    StudyPages,
    Truth,
    recovered_contrast,
)
from eqlab.core.study import Study, TalkTerms
from eqlab.core.trials import Message, Trial
from eqlab.core.values import dataclass
from eqlab.tables.cells import p_text

# -- the words on the pages ------------------------------------------------------------------------------------------
# The words on the pages of a talk, in English; a language file has the same keys under [kinds.talk].

WORDS: Mapping[str, str] = {
    "own_title": "A talk of one's own",
    "opening": "Think of something that is on your mind: a worry, a quarrel, or something good that has happened. Talk "
    "about it as you would with somebody you have just met. Leave out names and whatever could tell who you are.",
    "persona": "Put yourself in this person's place, and talk as if it had happened to you, in your own words.",
    "listener": "Somebody has begun to talk to you. Reply as you would in a conversation, in your own words, in two to "
    "four sentences. They may end the talk at any time, and so may you.",
    "talk": "The talk",
    "you": "You",
    "other": "The other one",
    "message": "Your message",
    "reply": "Your reply",
    "feel": "How do you feel right now?",
    "worst": "as bad as can be",
    "best": "as good as can be",
    "why": "Why? One line, which the other one does not see",
    "leaves": "Whether you end the talk",
    "send": "Send",
    "end_satisfied": "End the talk: it was good",
    "end_hurt": "End the talk: it was not",
    "end": "End the talk",
    "last": "This was the last reply of this talk. Please say how you feel now.",
    "silence": "No reply has come. The talk is over; please say how you feel now.",
    "over": "The other one has ended the talk.",
    "over_turns": "The talk is over.",
    "go_on": "Continue",
    "writing": "The other one is writing …",
    "look": "Look for the reply",
    "down": "The other one does not answer at the moment. This is a fault on our side, and nothing that you have "
    "written is lost.",
    "retry": "Try again",
    "without": "Go on without the rest of the talk",
    "waits": "You may wait and try again, also later: your place is kept for a while. Or you may stop.",
    "spent": "This talk cannot go on: the study may ask no more of the other side. What you have written is kept.",
    "busy": "That was quick. Please wait a moment and send it again.",
    "dropped": "This was not sent: the talk had gone on in another tab or window.",
    "error_feel": "Please say how you feel.",
    "error_says": "Please write something.",
    "error_long": "Please write {most} characters at most.",
    "help": "Help",
    "count": "{left} characters left",
    "moved": "Please move the slider to where you are.",
    "rate": "Please think of the whole talk that you have just had.",
    "rate_speaker": "How well did the other one understand you?",
    "rate_listener": "How well could you put yourself in the other one's place?",
    "low": "not at all",
    "high": "completely",
}


SD_PEOPLE = 20.0
"""Of people's final emotion around what the opening tells, for power: a guess that the first study should correct."""
_POINTS = 100
"""Between the worst and the best that anybody can feel."""
_FEWEST = 3
"""People in an arm of which the planned test knows anything."""


@dataclass(frozen=True, slots=True)
class TalkStudy:
    words: Mapping[str, str] = field(default_factory=lambda: WORDS)

    def in_words(self, words: Mapping[str, str]) -> "TalkStudy":
        return replace(self, words={**self.words, **words})

    def form(self) -> StudyForm:
        return StudyForm(
            "talk",
            NAME,
            "people talk with models",
            template("eqlab.benchmarks.dialogue"),
            10.0,
            "points of final emotion: every arm against the reference; of people as listeners, above 50",
            arms="models",
            batch_size=False,
            own_scales=True,
            talks=True,
            headline="final emotion, 0 to 100, of whoever speaks (the person, or the model where people listen), as "
            "each says with every message: the mean over people",
        )

    # -- what people are asked ---------------------------------------------------------------------------------

    def options(self, study: Study) -> Mapping[str, str]:
        """The benchmark's, of the run that the talks belong to."""
        terms = terms_of(study)
        speaker = PERSON if terms.person == "speaker" else ",".join(source for _, source in study.arms)
        return {"speaker": speaker, "turns": str(terms.turns)}

    def pages(self, study: Study, files: Mapping[str, bytes], options: Mapping[str, Any]) -> StudyPages:
        terms = terms_of(study)
        own = [Character("own", self.words["own_title"], "", "", "", 50, "", ())]
        known = own if terms.about == "own" and terms.person == "speaker" else Dialogue().characters(files, options)
        chosen = spread(known, study.limit or len(known)) if known is not own else own * terms.talks
        if len(chosen) < terms.talks:
            raise UsageError(
                f"Study '{study.id}': {many(terms.talks, 'talk')} a person need as many personas, and there "
                f"are {len(chosen)}.",
                "Raise limit, or lower talk.talks.",
            )
        dealt = [chosen[start : start + terms.talks] for start in range(0, len(chosen), terms.talks)]
        dealt = [one for one in dealt if len(one) == terms.talks]
        batches, talks = [], []
        for arm, model in self.models(study).items():
            for number, characters in enumerate(dealt):
                pages: list[Trial] = []
                for place, character in enumerate(characters):
                    first = self._first(study, terms, arm, model, character, place)
                    talks.append(first.id)
                    pages += [first, self._rated(study, terms, arm, first, place)]
                batches.append(Batch(arm, number, tuple(pages)))
        scale = self._scales(study, terms)[0]
        middle = (scale.low + scale.high) // 2
        checks = instructed(study.checks, scale, tuple(dict.fromkeys((middle, scale.low, scale.high))))
        return StudyPages(tuple(batches), checks, in_order=True, talks=tuple(dict.fromkeys(talks)))

    def _first(
        self, study: Study, terms: TalkTerms, arm: str, model: ModelConfig, character: Character, place: int
    ) -> Trial:
        more = {"arm": arm, "number": place}
        if terms.person == "listener":
            trial = first_trial(character, Speaker(model.spec, model.base_url), terms.turns)
            if trial.seat:
                raise UsageError(
                    f"Persona {character.id} has no opening, so nobody can reply to it.", 'Write items = "open".'
                )
            return replace(trial, key={**trial.key, **more}, id="")
        shown = terms.opening or self.words["opening"]
        if terms.about == "personas":
            shown = f"{self.words['persona']}\n\n" + "\n".join(f"> {line}" for line in character.sheet.splitlines())
            character = replace(character, opening="", lines=())
        more["listener"] = model.spec
        return person_first(character, shown, terms.turns, self._form(terms), more)

    def _form(self, terms: TalkTerms) -> Form:
        """What a person who speaks tells in a turn: the fields of a simulated speaker, in a person's words."""
        return Form(
            fields=(
                Writing("feeling", self.words["why"], most=500, long=False, optional=True),
                Scale("emotion", self.words["feel"], 0, 100, ((0, self.words["worst"]), (100, self.words["best"]))),
                Scale("leaves", self.words["leaves"], STAYS, HURT, tuple(enumerate(LEAVES))),
                Writing("says", self.words["message"], most=terms.characters, optional=True),
            )
        )

    def _rated(self, study: Study, terms: TalkTerms, arm: str, first: Trial, place: int) -> Trial:
        key = {"rates": first.id, "arm": arm, "number": place}
        return Trial(NAME, first.items, RATED, self.words["rate"], Form(self._scales(study, terms)), "", key=key)

    def _scales(self, study: Study, terms: TalkTerms) -> tuple[Scale, ...]:
        ends = ((1, self.words["low"]), (5, self.words["high"]))
        return study.scales or (Scale("overall", self.words[f"rate_{terms.person}"], 1, 5, ends),)

    # -- how a talk goes ---------------------------------------------------------------------------------------

    def models(self, study: Study) -> Mapping[str, ModelConfig]:
        seated = terms_of(study).person == "listener"
        configs = {}
        for arm, source in study.arms:
            named = read_speakers(source)
            if len(named) != 1 or named[0].fixed:
                raise UsageError(
                    f"Study '{study.id}': arm '{arm}' is '{source}', which is not a model.",
                    'Write one spec, such as "openai/gpt-4o-mini", "embedded" or "ollama/llama3.2@http://localhost:11434/v1".',
                )
            (one,) = named
            role: Any = "seat" if seated else "model"
            configs[arm] = ModelConfig(one.spec, one.base_url, one.structured and seated, dict(one.settings), role=role)
        return configs

    def next_turn(self, study: Study, turns: Sequence[Turn]) -> Trial | None:
        terms = terms_of(study)
        if terms.person == "speaker":
            return person_next(turns, turns[0].trial.form, "")
        return next_turn(turns)

    def of_person(self, study: Study, trial: Trial) -> bool:
        return bool(trial.seat) == (terms_of(study).person == "speaker")

    def scripted(self, study: Study, arm: str, messages: Sequence[Message]) -> str:
        return scripted_reply(study, arm, messages)

    # -- before and after --------------------------------------------------------------------------------------

    def warnings(self, design: Design) -> Iterable[str]:
        study, terms = design.study, terms_of(design.study)
        if terms.max_cost is None and any(model.spec != "embedded" for model in self.models(study).values()):
            yield f"talk.max_cost is not set: only talk.max_calls = {terms.max_calls} limits what the models may cost."
        if len(study.arms) == 1 and terms.person == "speaker":
            yield "There is one arm: nothing is compared. Name another model under [arms]."
        texts = {"consent": study.consent.text, "tutorial": study.tutorial.text, "note": study.analysis.note}
        left = [name for name, text in texts.items() if "how you feel" in text or "how people feel" in text]
        if terms.person == "listener" and left:
            yield f"People listen and are not asked how they feel, but this still speaks of it: {', '.join(left)}."
        personas = terms.person == "listener" or terms.about == "personas"
        if study.language != "en" and study.items == "open" and personas:
            yield f"The open personas are English; the pages around them are in '{study.language}'."
        if terms.stopped == "nothing" and study.pay.reward:
            yield 'talk.stopped = "nothing": who stops because a talk upsets them is not paid.'

    def power(self, design: Design) -> str:
        people = min(design.sizes.values())
        if terms_of(design.study).person == "listener":
            return "Nothing is compared where people listen: no power is said of it."
        if len(design.arms) < 2 or people < 2:
            return ""
        alpha, level = first_step(design.study.analysis.alpha, len(design.arms))
        gap, size = found_in_talks(people, alpha), f"With {many(people, 'person', 'people')} per arm, "
        if gap > _POINTS:
            return f"{size}no difference in final emotion can be detected with 80 % power."
        return (
            f"{size}you have about 80 % power to detect a {gap:.0f}-point difference in final emotion "
            f"(two-sided, {level}, if people differ by an SD of {SD_PEOPLE:g} given their emotion at the start)."
        )

    def simulated(self, design: Design, truth: Truth, seed: int) -> "Talkers":
        return Talkers(design, truth)

    def result(self, design: Design, people: Analysed) -> PeopleResult:
        (asked,) = design.run.benchmarks
        reference = design.study.analysis.reference or design.study.arms[0][0]
        found = people_result(people.scored, asked.options, reference)
        if terms_of(design.study).person == "listener":
            return PeopleResult(found)
        alpha = design.study.analysis.alpha
        others = [arm for arm, _ in design.study.arms if arm != reference]
        planned, why = contrasts(people.scored, reference, others, alpha) if others else ((), "There is one arm.")
        if planned:
            found = replace(found, sentence=f"{found.sentence} {planned_words(planned, alpha)}")
        if others and why and found.headline.value is not None:
            found = replace(found, caveats=(f"Not all of the plan can be compared. {why}", *found.caveats))
        return PeopleResult(found, planned, (planned_table(planned, why, alpha),))

    def recovered(self, design: Design, truth: Truth, found: PeopleResult) -> Sequence[Recovered]:
        headline = found.result.headline
        if found.contrasts:
            alpha = design.study.analysis.alpha
            return tuple(recovered_contrast(contrast, truth, alpha) for contrast in found.contrasts)
        if headline.value is None or (len(design.arms) > 1 and terms_of(design.study).person == "speaker"):
            return ()
        speaking = terms_of(design.study).person == "speaker"
        return (Recovered(headline.name, OPENING + GAIN if speaking else MIDDLE + truth.effect, headline, None),)

    def planned(self, design: Design) -> PlannedContrasts | None:
        arms = [name for name, _ in design.study.arms]
        reference = design.study.analysis.reference or arms[0]
        if len(arms) < 2 or terms_of(design.study).person == "listener":
            return None
        test = (
            "final emotion, one value a person, adjusted for how they felt at the opening (analysis of covariance, HC3 "
            "errors)"
        )
        return PlannedContrasts(tuple(arm for arm in arms if arm != reference), reference, test)


def terms_of(study: Study) -> TalkTerms:
    if study.talk is None:
        raise UsageError(f"Study '{study.id}' says nothing about its talks.", "Add a table [talk].")
    return study.talk


def found_in_talks(people: int, alpha: float) -> float:
    """The gap that the planned test finds with about 80 % power: (c·t_α/2 + t_power)·SE. c is by how much HC3 takes its
    error for larger than it is, at the leverage of one of so few; the start is spread unevenly over two small arms."""
    from eqlab.analysis.special import stdtrit

    if people < _FEWEST:
        return math.inf
    df = (2 * people - 3) * (1 - 1.5 / people)
    se = SD_PEOPLE * math.sqrt(2 / people * (1 + 1 / (2 * people - 4)))
    return float(stdtrit(df, 1 - alpha / 2) / math.sqrt(1 - 2 / people) + stdtrit(df, 0.8)) * se


def planned_words(found: Sequence[Contrast], alpha: float) -> str:
    said = []
    for one in found:
        value = one.estimate.value or 0.0
        p = p_text(one.p_holm)
        p = p if p.startswith("<") else f"= {p}"
        numbers = (
            f"({value:+.1f} points, {100 * (1 - alpha):g} % interval {one.low:.1f} to {one.high:.1f}; p {p} after Holm)"
        )
        if one.p_holm >= alpha:
            said.append(f"feelings with {one.arm} and with {one.reference} cannot be told apart {numbers}")
        else:
            said.append(
                f"people felt {'better' if value > 0 else 'worse'} with {one.arm} than with {one.reference} {numbers}"
            )
    text = "; ".join(said)
    return f"{text[:1].upper()}{text[1:]}."


def planned_table(found: Sequence[Contrast], why: str, alpha: float) -> Table:
    note = (
        "One value a person, adjusted for how they felt at the opening (analysis of covariance, HC3 errors, Student's "
        f"t). {why}"
    )
    return contrast_table(found, "arm", "difference of final emotion", alpha, note.strip())


# -- simulated people, and scripted models who answer them -----------------------------------------------------------
# Simulated people who talk, and scripted models who answer them: every end of a talk follows from the truth that was
# put in, whether it is walked over HTTP or in memory.

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
