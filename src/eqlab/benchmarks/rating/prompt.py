"""What a judge is told, in our own words, and the hash of those words. A reply is quoted line by line: whatever it
says, it is material to rate and no instruction."""

import hashlib
from collections.abc import Mapping, Sequence

from eqlab.benchmarks.empathy.items import EMOTIONS
from eqlab.core import rubric as rubrics
from eqlab.core.benchmark import ReplyRow
from eqlab.core.forms import Scale
from eqlab.core.rubric import Rubric

_MATERIAL = ("feels", "happened", "says", "replies", "first_reply", "second_reply")
WORDS: Mapping[str, str] = {
    **{key: rubrics.WORDS[key] for key in _MATERIAL},
    "rate": "How empathetic is the reply, compared with what you would have said?",
    "bad": "Bad",
    "okay": "Okay",
    "good": "Good",
    "better": "Which reply is more empathetic?",
    "first": "First",
    "tie": "Tie",
    "second": "Second",
}
"""What people read around the material; a judge reads the same in English."""
EMOTION_WORDS: Mapping[str, str] = {f"emotion_{name}": name for name in EMOTIONS}
"""The names of emotions, which a language file translates once for all kinds."""
SCENE_WORDS = ("feels", "happened", "says")
RATING_WORDS: Mapping[str, str] = {
    **{key: WORDS[key] for key in (*SCENE_WORDS, "replies", "rate", "bad", "okay", "good")},
    **EMOTION_WORDS,
}
PAIR_WORDS: Mapping[str, str] = {
    **{key: WORDS[key] for key in (*SCENE_WORDS, "first_reply", "second_reply", "better", "first", "tie", "second")},
    **EMOTION_WORDS,
}


def rating_scale(words: Mapping[str, str]) -> Scale:
    labels = tuple((value, words[key]) for value, key in enumerate(("bad", "okay", "good"), start=1))
    return Scale("rating", words["rate"], 1, 3, labels)


def better_scale(words: Mapping[str, str], *, ties: bool = True) -> Scale:
    keys = ("first", "tie", "second") if ties else ("first", "second")
    return Scale("better", words["better"], 1, len(keys), tuple(enumerate((words[key] for key in keys), start=1)))


RATING = rating_scale(WORDS)
BETTER = better_scale(WORDS)

_CHOOSE_TEXT = "Answer with one word and nothing else: First, Tie or Second."
_CHOOSE_JSON = (
    'Answer with a JSON object and nothing else: the key "better" with 1 if the first reply is better, 2 for a tie '
    "or 3 if the second is better as its value."
)


def instruction(rubric: Rubric, *, pairwise: bool, structured: bool) -> str:
    """What a judge is told before the material, and how to answer."""
    if pairwise:
        return f"{rubric.choose}\n{_CHOOSE_JSON if structured else _CHOOSE_TEXT}"
    if rubric.one_word:
        return f"{rubric.instruction}\n{_one_word(rubric.scales[0], structured=structured)}"
    words = rubric.said
    scales = "\n".join(_told(scale) for scale in rubric.scales)
    asked = "\n".join(f"{scale.key}: {scale.low}–{scale.high}" for scale in rubric.scales)
    answer = words["answer_json"] if structured else words["answer_lines"]
    return f"{rubric.instruction}\n\n{words['scales']}\n{scales}\n\n{answer}\n{asked}"


def _one_word(scale: Scale, *, structured: bool) -> str:
    labels = [label for _, label in scale.anchors]
    if not structured:
        return f"Answer with one word and nothing else: {_or(labels)}."
    values = _or([f"{value} for {label}" for value, label in scale.anchors])
    return f'Answer with a JSON object and nothing else: the key "{scale.key}" with {values} as its value.'


def _or(parts: Sequence[str]) -> str:
    return f"{', '.join(parts[:-1])} or {parts[-1]}"


def _told(scale: Scale) -> str:
    """A scale as a judge reads it: name, question, and what the values mean."""
    anchors = "\n".join(f"  {value}: {label}" for value, label in scale.anchors)
    return f"{scale.key} ({scale.low}–{scale.high}): {scale.text}\n{anchors}"


def prompt_sha256(rubric: Rubric, *, pairwise: bool) -> str:
    """Of everything that is ours in a judge's prompt, both answer modes; the first 12 hex digits."""
    texts = [build(rubric, "", quoted(""), pairwise=pairwise, structured=structured) for structured in (False, True)]
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()[:12]


def build(rubric: Rubric, scene: str, replies: str, *, pairwise: bool, structured: bool) -> str:
    told = instruction(rubric, pairwise=pairwise, structured=structured)
    ask = rubric.said["your_choice" if pairwise else "your_rating"]
    return f"{told}\n\n{scene}{replies}\n\n{ask}"


def shown_one(row: ReplyRow, rubric: Rubric) -> tuple[str, str]:
    """(scene, what is rated). A talk is its own scene."""
    words = rubric.said
    if rubric.of == "talk":
        return "", f"{words['talk']}\n{quoted(row.reply)}"
    return scene(row.emotion, row.situation, row.utterance, words), one_reply(row.reply, words)


def shown_two(first: ReplyRow, second: ReplyRow, rubric: Rubric) -> tuple[str, str]:
    words = rubric.said
    kind = rubric.of
    both = f"{words[f'first_{kind}']}\n{quoted(first.reply)}\n{words[f'second_{kind}']}\n{quoted(second.reply)}"
    told = "" if kind == "talk" else scene(first.emotion, first.situation, first.utterance, words)
    return told, both


def scene(emotion: str, situation: str, utterance: str, words: Mapping[str, str] = WORDS) -> str:
    """As the study's raters saw it: emotion, situation, what the speaker said; what is not known is left out."""
    parts = [
        f"{words['feels'].format(emotion=words.get(f'emotion_{emotion}', emotion))}\n" if emotion else "",
        f"{words['happened']}\n{quoted(situation)}\n" if situation else "",
        f"{words['says']}\n{quoted(utterance)}\n" if utterance else "",
    ]
    return "".join(parts)


def one_reply(reply: str, words: Mapping[str, str] = WORDS) -> str:
    return f"{words['replies']}\n{quoted(reply)}"


COLUMN = "<|>"
"""A line that begins a column: what follows stands beside what follows the next. For people's pages alone."""


def side_by_side(first: str, second: str, words: Mapping[str, str]) -> str:
    """Two replies beside each other, on a narrow screen under each other."""
    parts = ((words["first_reply"], first), (words["second_reply"], second))
    return "".join(f"{COLUMN}\n{name}\n{quoted(reply)}\n" for name, reply in parts)


def quoted(text: str) -> str:
    return "\n".join(f"> {line}" for line in text.splitlines() or [""])


def quoted_blocks(text: str) -> list[str]:
    """What `quoted` has quoted, part by part."""
    found: list[list[str]] = []
    inside = False
    for line in text.splitlines():
        if line.startswith("> "):
            if not inside:
                found.append([])
            found[-1].append(line[2:])
        inside = line.startswith("> ")
    return ["\n".join(lines) for lines in found]
