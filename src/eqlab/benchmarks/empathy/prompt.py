"""What a subject is told before it replies, in our own words. The study gave its models a definition of empathy with
three parts and a length (28 words on average, at most 97: mean and maximum of the people's replies, in tokens)."""

from eqlab.benchmarks.empathy.items import EmpathyItem
from eqlab.core.item_file import filled

MEAN_WORDS, MOST_WORDS = 28, 97

_TASK = "Somebody tells you about something in their life. Answer as the person they are talking to{manner}."
_EMPATHY = """\
Empathy has three parts, and a good reply has something of each.
Cognitive: see it from where they stand, and show that you grasp what they think and feel.
Affective: let their feeling reach you, and let them hear that it has.
Compassionate: want things to go well for them, and offer support or help where it fits."""
_LENGTH = f"Use about {MEAN_WORDS} words; never more than {MOST_WORDS}."
_AS_TEXT = "Write the reply and nothing else: no title, no quotation marks, no comment."


def instruction(style: str) -> str:
    """Everything before the story: the same for all prompts, so that a model evaluates it once."""
    empathy = style == "empathy"
    parts = [
        _TASK.format(manner=", and reply with empathy" if empathy else ""),
        _EMPATHY if empathy else "",
        _LENGTH,
        _AS_TEXT,
    ]
    return "\n".join(part for part in parts if part)


def stimulus(item: EmpathyItem, *, situation: bool) -> str:
    """What a person reads above the empty field."""
    background = f"What happened, in their words: {item.situation}\n\n" if situation else ""
    return f"{background}They say to you: {item.utterance}"


def build(item: EmpathyItem, *, style: str, situation: bool) -> str:
    if item.instruction:
        return filled(item.instruction, utterance=item.utterance, situation=item.situation)
    return f"{instruction(style)}\n\n{stimulus(item, situation=situation)}\n\nYour reply:"
