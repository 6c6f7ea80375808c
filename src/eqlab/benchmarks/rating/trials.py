"""Replies become trials: the scene and a reply above, Bad, Okay, Good or a rubric's scales below; or two replies, once
in each order, and which arms meet at all. Who wrote a reply is in the trial's key, which no rater sees.

Replies on their way to raters: one row each, whoever wrote them; as JSON lines the items of a rating run.

What a judge is told, in our own words, and the hash of those words. A reply is quoted line by line: whatever it
says, it is material to rate and no instruction."""

import hashlib
import json
import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, field, replace
from itertools import combinations
from typing import Any

from eqlab.benchmarks.empathy.items import EMOTIONS
from eqlab.benchmarks.options import Options, option
from eqlab.core import rubric as rubrics
from eqlab.core.benchmark import ReplyRow, Selection
from eqlab.core.errors import DataError, UsageError
from eqlab.core.forms import Form, Scale
from eqlab.core.rubric import Rubric
from eqlab.core.trials import Trial
from eqlab.core.values import dataclass
from eqlab.core.words import count_words
from eqlab.data.items import PUBLISHED, shipped

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


__all__ = [
    "FILE",
    "REFERENCE_ARMS",
    "ReplyRow",
    "choose",
    "from_jsonl",
    "in_all_arms",
    "order_arms",
    "prompt_key",
    "to_jsonl",
]

FILE = "replies.jsonl"
REFERENCE_ARMS = ("human", "author")
"""Arms that others are compared with, if they are there."""


def order_arms(arms: Iterable[str]) -> tuple[str, ...]:
    """Each once: the reference first, the others by name."""
    names = set(arms)
    first = [name for name in REFERENCE_ARMS if name in names]
    return (*first, *sorted(names.difference(first)))


def to_jsonl(rows: Iterable[ReplyRow]) -> bytes:
    """In one order whatever the order given: the same replies are the same items."""
    ordered = sorted(rows, key=lambda row: (row.arm, row.prompt, row.repeat))
    return "".join(json.dumps(_plain(row), ensure_ascii=False, sort_keys=True) + "\n" for row in ordered).encode()


def _plain(row: ReplyRow) -> dict[str, Any]:
    """What came after 0.1 is told only where it is there, so that the same replies are the same items."""
    body = asdict(row)
    if not row.human_scales:
        del body["human_scales"]
    return body


def from_jsonl(content: bytes, path: str = FILE) -> list[ReplyRow]:
    rows = []
    for number, line in enumerate(content.decode("utf-8").split("\n"), start=1):
        if not line:
            continue
        try:
            body = json.loads(line)
            body["human"] = tuple((str(rater), int(value)) for rater, value in body["human"])
            scales = body.get("human_scales", ())
            body["human_scales"] = tuple((str(rater), str(scale), int(value)) for rater, scale, value in scales)
            rows.append(ReplyRow(**body))
        except (ValueError, TypeError, KeyError) as error:
            raise DataError(f"{path}: line {number} is not a reply ({type(error).__name__}: {error}).") from error
    if not rows:
        raise DataError(f"{path} holds no replies.", "Name a run or a file with replies: eqlab judge MODEL --on RUN.")
    return rows


def in_all_arms(rows: Sequence[ReplyRow]) -> tuple[list[ReplyRow], int]:
    """(rows of the prompts that every arm has replied to, prompts left out): arms are compared on the same prompts."""
    arms: dict[str, set[str]] = {}
    for row in rows:
        arms.setdefault(row.prompt, set()).add(row.arm)
    every = {row.arm for row in rows}
    common = {prompt for prompt, arm in arms.items() if arm == every}
    return [row for row in rows if row.prompt in common], len(arms) - len(common)


def choose(rows: Sequence[ReplyRow], limit: int | None, seed: int) -> list[ReplyRow]:
    """All replies to at most `limit` prompts, drawn by seed."""
    prompts = sorted({row.prompt for row in rows})
    if limit is None or limit >= len(prompts):
        return list(rows)
    kept = set(random.Random(seed).sample(prompts, limit))
    return [row for row in rows if row.prompt in kept]


def prompt_key(row: ReplyRow) -> dict[str, Any]:
    return {"prompt": row.prompt, "emotion": row.emotion, "valence": row.valence, "utterance": row.utterance}


ABSOLUTE, SCALES, PAIRWISE = "absolute", "scales", "pairwise"
"""Conditions of trials: the published form, scales of a rubric or a study, two replies."""
ALL, RING = "all", "ring"
Design = Sequence[tuple[str, str]]
"""Which two arms meet."""
PURPOSES = ("judging", "calibration", "people")


@dataclass(frozen=True, slots=True)
class RatingOptions(Options):
    """What a user may ask for, and below it what a run of ratings keeps beside."""

    pairwise: bool = option(False, "two replies at a time, in both orders")
    purpose: str = option("judging", "what the ratings are for", PURPOSES)
    pairs: str = option(
        ALL,
        "which are compared: all, ring (each with the next), or the name of one that all are compared with",
        late=True,
    )
    adaptive: bool = option(False, "ask the pairs that narrow the ranks most, in rounds", late=True)
    width: str = option("", "adaptive: mean width of the rank ranges at which to stop", late=True)
    rubric: str = ""
    """Its name; empty: the published form."""
    rubric_title: str = "Empathy"
    rubric_sha256: str = ""
    prompt_sha256: str = ""
    reference: str = ""
    """The arm that others are compared with, where a study's plan names it."""
    anchors: Mapping[str, Any] = field(default_factory=dict)
    """Where this run was added to an earlier one: that `run`, its `arms`, and the `strengths` that its judges gave."""
    against: tuple[str, ...] = ()
    """Runs of the store with whose people a judge is calibrated. What these said is looked up, and never copied: people
    may delete it, and more may come."""


def judged(row: ReplyRow, rubric: Rubric, selection: Selection) -> Trial:
    """One reply, or one talk, for a judge."""
    shown, replies = shown_one(row, rubric)
    told = build(rubric, shown, replies, pairwise=False, structured=selection.structured)
    published = is_published(rubric)
    return Trial(
        benchmark="rating",
        items=(row.prompt,),
        condition=ABSOLUTE if published else SCALES,
        stimulus=shown + replies,
        form=Form(rubric.scales),
        prompt=told,
        mode="json" if selection.structured else "text",
        order_seed=selection.seed,
        key=_reply_key(row) | ({} if published else {"human_scales": [list(scale) for scale in row.human_scales]}),
    )


def is_published(rubric: Rubric) -> bool:
    """By what it says, whatever it is called: whose results have P(Good)."""
    return rubric.sha256 == shipped(PUBLISHED).sha256


def single(
    row: ReplyRow,
    *,
    scales: tuple[Scale, ...] = (RATING,),
    words: Mapping[str, str] = WORDS,
) -> Trial:
    """One reply for people: no prompt, but a page."""
    shown = scene(row.emotion, row.situation, row.utterance, words)
    replies = one_reply(row.reply, words)
    ours = scales == (RATING,)
    return Trial(
        benchmark="rating",
        items=(row.prompt,),
        condition=ABSOLUTE if scales == (rating_scale(words),) else SCALES,
        stimulus=shown + replies,
        form=Form(scales),
        prompt=build(shipped(PUBLISHED), shown, replies, pairwise=False, structured=False) if ours else "",
        mode="text",
        key=_reply_key(row),
    )


def condition_of(trial: Trial) -> str:
    """The condition of a stored trial. Before 0.3 came out every single scale with the key `rating` had that of Bad,
    Okay, Good. A study's own is told from these by its values, or by a question and labels that are not ours on a page
    whose other words are."""
    if trial.condition != ABSOLUTE:
        return trial.condition
    scale = trial.form.scales[0]
    if (scale.low, scale.high, scale.reverse, len(scale.anchors)) != (RATING.low, RATING.high, False, 3):
        return SCALES
    other = scale.text != RATING.text and scale.anchors != RATING.anchors
    return SCALES if other and f"{WORDS['replies']}\n" in trial.stimulus else ABSOLUTE


def by_key(trial: Trial) -> Trial:
    """As it was made before 0.3 came out; see `condition_of`."""
    if trial.condition != SCALES or trial.form.keys != (RATING.key,):
        return trial
    return replace(trial, condition=ABSOLUTE, id="")


def designed(rows: Sequence[ReplyRow], options: RatingOptions) -> Design:
    """All pairs of arms; or every arm with its next in a ring; or every arm with one. Arms whose strength is known are
    not compared again."""
    arms = order_arms(row.arm for row in rows)
    if len(arms) < 2:
        raise UsageError("A pairwise comparison needs replies of two models.", "Name a second run or file with --on.")
    wanted, known = options.pairs, options.anchors.get("arms", ())
    if wanted == RING and len(arms) > 2:
        met = [(arm, arms[(place + 1) % len(arms)]) for place, arm in enumerate(arms)]
    elif wanted in (ALL, RING):
        met = list(combinations(arms, 2))
    elif wanted in arms:
        met = [(wanted, other) for other in arms if other != wanted]
    else:
        raise UsageError(
            f"--pairs '{wanted}' is not one of those compared.", f"Write {ALL}, {RING}, or one of: {', '.join(arms)}."
        )
    met = [(one, other) for one, other in met if one not in known or other not in known]
    if not met:
        raise UsageError("All have strengths already: there is nothing to compare.", "Name a new run with --on.")
    return met


def pairs(rows: Sequence[ReplyRow], rubric: Rubric, selection: Selection, met: Design) -> list[Trial]:
    """These pairs on every prompt, in both orders: what the first place is worth can then be seen and removed."""
    by_prompt = on_prompts(rows)
    return [
        pair(own[first], own[second], rubric, selection)
        for own in by_prompt.values()
        for one, other in met
        if one in own and other in own
        for first, second in ((one, other), (other, one))
    ]


def on_prompts(rows: Sequence[ReplyRow]) -> dict[str, dict[str, ReplyRow]]:
    """The first reply of each arm to each prompt."""
    found: dict[str, dict[str, ReplyRow]] = {}
    for row in rows:
        if row.repeat == 0:
            found.setdefault(row.prompt, {})[row.arm] = row
    return found


def pair(first: ReplyRow, second: ReplyRow, rubric: Rubric, selection: Selection) -> Trial:
    shown, replies = shown_two(first, second, rubric)
    return Trial(
        benchmark="rating",
        items=(first.prompt,),
        condition=PAIRWISE,
        stimulus=shown + replies,
        form=Form((BETTER,)),
        prompt=build(rubric, shown, replies, pairwise=True, structured=selection.structured),
        mode="json" if selection.structured else "text",
        order_seed=selection.seed,
        key=pair_key(first, second),
    )


def pair_key(first: ReplyRow, second: ReplyRow) -> dict[str, Any]:
    return {
        **prompt_key(first),
        "arms": [first.arm, second.arm],
        "replies": [first.reply, second.reply],
        "words": [len(first.reply.split()), len(second.reply.split())],
    }


def words_of(key: Mapping[str, Any]) -> int:
    """The length of the reply that is rated. What the key says are words between blanks, as its trial's id has it."""
    return count_words(key["reply"]) if key.get("reply") else int(key["words"])


def _reply_key(row: ReplyRow) -> dict[str, Any]:
    return {
        **prompt_key(row),
        "arm": row.arm,
        "reply": row.reply,
        "words": len(row.reply.split()),
        "batch": row.batch,
        "reply_repeat": row.repeat,
        "human": [list(one) for one in row.human],
    }
