"""What a person sees of a talk: the lines so far and what is asked of them next. Nothing here knows a model's name.
Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from eqlab.core.answers import Answer, final, outcomes, stands
from eqlab.core.benchmark import Turn
from eqlab.core.studied import Conversing
from eqlab.core.study import Study
from eqlab.core.text import visible
from eqlab.core.trials import Trial
from eqlab.models.runner import place_in_talk
from eqlab.store.study.talks import TalkPosition

CLOSED = ("left", "down")
"""The finish of a turn with which a person closes a talk: because they want to, or because no reply comes."""
State = Literal["say", "wait", "down", "spent", "over"]


@dataclass(frozen=True, slots=True)
class TalkLine:
    who: Literal["you", "other"]
    text: str


@dataclass(frozen=True, slots=True)
class TalkView:
    step: int
    turn: int
    """Turns that are settled: what a post must name."""
    state: State
    lines: tuple[TalkLine, ...]
    shown: str = ""
    """What the person is asked to talk about; empty where they listen."""
    feels: bool = False
    """Whether they tell how they feel with their next turn."""
    speaks: bool = True
    """Whether there is anything left to say: not after the last reply, and not when none has come."""
    ends: bool = False
    """Whether they may end the talk with this turn and say how it was."""
    silence: bool = False
    left: bool = False
    """Over, because the other one has left."""
    emotion: int | None = None
    """What they told last."""


def settled(attempts: Sequence[Answer], tries: int, of_person: bool) -> Answer | None:
    """The answer that a talk goes on from; None while the turn is open. A person answers once. A model's reply stands
    when it can be read, when its provider refused, or when its tries are used up; a lost request settles nothing."""
    if not attempts:
        return None
    answer = final(attempts)
    if answer is None or of_person or answer.status == "ok":
        return answer
    closed = next((one for one in attempts if one.finish in CLOSED), None)
    if closed is not None:
        return closed
    if stands(outcomes(attempts)):
        return answer
    failed = [one for one in attempts if one.status in ("unparseable", "refused")]
    return failed[-1] if len(failed) >= tries else None


def chain(
    kind: Conversing, study: Study, first: Trial, found: Mapping[str, Sequence[Answer]], tries: Mapping[bool, int]
) -> tuple[list[Turn], Trial | None]:
    """The settled turns of a talk, and the one that comes next. The same answers lead to the same next turn."""
    turns: list[Turn] = []
    trial: Trial | None = first
    while trial is not None:
        of_person = kind.of_person(study, trial)
        answer = settled(found.get(trial.id, ()), tries[of_person], of_person)
        if answer is None:
            return turns, trial
        turns.append(Turn(trial, answer))
        following = kind.next_turn(study, turns)
        trial = None if following is None else place_in_talk(following, turns)
    return turns, None


def talk_view(here: TalkPosition, kind: Conversing, study: Study, state: State) -> TalkView:
    """`state` is what is known of the model's turn while it is open; else the turns say it."""
    speaking = kind.of_person(study, here.first) and bool(here.first.seat)
    lines = tuple(_lines(here.turns, speaking, here.first, kind, study))
    view = TalkView(here.step, len(here.turns), state, lines, here.first.stimulus if speaking else "")
    if here.pending is None:
        last = here.turns[-1].answer
        return replace(view, state="over", left=not speaking and bool(last.values.get("leaves")))
    if not kind.of_person(study, here.pending):
        return view
    if not speaking:
        return replace(view, state="say")
    replies = sum(not turn.trial.seat for turn in here.turns)
    silence = bool(here.turns) and here.turns[-1].answer.status != "ok"
    most = int(here.first.key["replies"])
    told = [turn.answer.values.get("emotion") for turn in here.turns if turn.trial.seat]
    return replace(
        view,
        state="say",
        feels=True,
        speaks=not silence and replies < most,
        ends=replies > 0 and not silence,
        silence=silence,
        emotion=told[-1] if told else None,
    )


def _lines(turns: Sequence[Turn], speaking: bool, first: Trial, kind: Conversing, study: Study) -> list[TalkLine]:
    found = [] if speaking else [TalkLine("other", first.prompt)]
    for turn in turns:
        if turn.answer.status != "ok":
            continue
        text = str(turn.answer.values.get("says") or "") if turn.trial.seat else turn.answer.text
        who: Literal["you", "other"] = "you" if kind.of_person(study, turn.trial) else "other"
        if text.strip():
            found.append(TalkLine(who, visible(text.strip())))
    return found


def other_seat(trial: Trial) -> Trial:
    """A turn of the other seat, as far as asking needs to know."""
    return replace(trial, seat="" if trial.seat else "other", id="")
