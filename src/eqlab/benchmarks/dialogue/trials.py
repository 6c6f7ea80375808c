"""A talk turn by turn: who speaks next, what each seat is shown, and when the talk is over. Everything a talk needs is
in its first trial's key, so that the same turns always lead to the same next one."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from typing import Any, Literal

from eqlab.benchmarks.common.reading import is_refusal, read_json
from eqlab.benchmarks.common.selection import spread
from eqlab.benchmarks.dialogue.personas import Character, from_key, to_key
from eqlab.benchmarks.options import Options, option
from eqlab.core.answers import Reading
from eqlab.core.benchmark import Selection, Turn
from eqlab.core.errors import UsageError
from eqlab.core.forms import Form, Scale, Writing, check_values
from eqlab.core.item_file import filled
from eqlab.core.runs import ModelConfig
from eqlab.core.settings import holds_secret, read_settings, secret_among
from eqlab.core.trials import Message, Trial
from eqlab.core.values import dataclass
from eqlab.core.words import count_words

# -- who sits in the speaker's seat ----------------------------------------------------------------------------------
# Models by their specs, each perhaps at an address and with settings of its own, or
# fixed lines.

FIXED = "fixed"
"""A speaker who says canned lines, whatever the reply was, and tells no feeling."""
STRUCTURED = "structured"
"""The one setting that is ours: whether a speaker's turns are asked for as JSON."""
_AT = "@http"
_FLAG = "--speaker"


@dataclass(frozen=True, slots=True)
class DialogueOptions(Options):
    speaker: str = option(
        FIXED, "who speaks: models, with commas between (SPEC, SPEC@URL, 'SPEC temperature=0.3'), or fixed lines"
    )
    turns: int = option(0, "most replies of the listener; 0: 4 in the quick profile, 8 in the full one")


@dataclass(frozen=True, slots=True)
class Speaker:
    spec: str
    base_url: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """How this one is asked, whatever the listeners' settings are."""
    json: bool | None = None
    """None: as the model needs it."""

    @property
    def fixed(self) -> bool:
        return self.spec == FIXED

    @property
    def seat(self) -> str:
        return f"speaker:{self.spec}"

    @property
    def structured(self) -> bool:
        """Whether its turns are asked for as JSON: the embedded model cannot keep to a form otherwise."""
        return self.json if self.json is not None else self.spec == "embedded" and not self.base_url


def read_speakers(text: str) -> tuple[Speaker, ...]:
    """`SPEC`, or several with commas between; `SPEC@http://…` is asked at that address; `SPEC temperature=0.3` with
    settings of its own. Their order means nothing, so they are sorted: the same speakers are the same run."""
    speakers: dict[str, Speaker] = {}
    for part in text.split(","):
        speaker = _speakers_speaker(part.split(), text)
        if speaker.spec in speakers:
            raise UsageError(
                f"{_FLAG}: {speaker.spec} is named twice.", "A speaker is known by its name: give each its own."
            )
        speakers[speaker.spec] = speaker
    return tuple(speakers[spec] for spec in sorted(speakers))


def _speakers_speaker(words: Sequence[str], text: str) -> Speaker:
    spec, at, rest = words[0].partition(_AT) if words else ("", "", "")
    if not spec or "=" in spec:
        raise UsageError(
            f"{_FLAG} '{text}' names no speaker.", f"Name a model, or '{FIXED}'; settings stand behind the name."
        )
    settings = read_settings(words[1:], f"{_FLAG} {spec}")
    address = at[1:] + rest if at else ""
    if spec == FIXED and (address or settings):
        raise UsageError(
            f"{_FLAG}: {FIXED} lines have no {'address' if address else 'settings'}.",
            "Write the bare name, without them.",
        )
    if holds_secret(address) or (name := secret_among(settings)):
        what = "a password or a key in its address" if holds_secret(address) else f"a setting '{name}' like a key"
        raise UsageError(
            f"{_FLAG}: {spec} has {what}, which would be stored.", "Set the provider's variable, or EQLAB_API_KEY."
        )
    for name, value in settings.items():
        if isinstance(value, list | dict) or str(value).startswith(("[", "{", '"')):
            raise UsageError(
                f"{_FLAG} {spec}: {name} has more than one value.", "A speaker's settings are single ones."
            )
    asked = settings.pop(STRUCTURED, None)
    if asked is not None and not isinstance(asked, bool):
        raise UsageError(f"{_FLAG} {spec}: {STRUCTURED} is '{asked}'.", f"Write {STRUCTURED}=true or =false.")
    return Speaker(spec, address, settings, asked)


def write_speakers(speakers: Sequence[Speaker]) -> str:
    """As `read_speakers` reads it, in one way only."""
    return ",".join(map(_written, speakers))


def _written(one: Speaker) -> str:
    settings = dict(one.settings) | ({} if one.json is None else {STRUCTURED: one.json})
    pairs = [f" {name}={_value(settings[name])}" for name in sorted(settings)]
    return f"{one.spec}@{one.base_url}{''.join(pairs)}" if one.base_url else f"{one.spec}{''.join(pairs)}"


def _value(value: Any) -> str:
    """Text stays as it is unless it would be read as something else."""
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def seats(options: DialogueOptions) -> dict[str, ModelConfig]:
    """The models in the speaker's seat, by the seat's name."""
    return {
        one.seat: ModelConfig(one.spec, one.base_url, one.structured, dict(one.settings), role="seat")
        for one in read_speakers(options.speaker)
        if not one.fixed
    }


# -- what is told ----------------------------------------------------------------------------------------------------
# What listener and speaker are told. All words are ours. A listener learns that somebody talks to it, and no more.

LISTENER = (
    "Somebody is talking with you in a chat. Reply to what they say as you would in a conversation: in your own words, "
    "in two to four sentences, without lists or headings, in the language they use. They may leave at any time."
)
STAYS, SATISFIED, HURT = 0, 1, 2
LEAVES = ("no", "satisfied", "hurt")
FORM = Form(
    fields=(
        Writing(
            "feeling", "What the last reply did to you, in one line that nobody else will read", most=2000, long=False
        ),
        Scale("emotion", "How you feel now, from 0 (as bad as can be) to 100 (as good as can be)", 0, 100),
        Scale("leaves", "Whether you leave now", STAYS, HURT, tuple(enumerate(LEAVES))),
        Writing("says", "What you say to the other one", most=4000, optional=True),
    )
)
BEGIN = "(The talk begins. You speak first.)"
SILENCE = "(No reply comes. The other one has gone, and the talk is over.)"
_SPEAKER = """\
You play a person in a chat. Stay that person throughout: you are no assistant, and it is not for you to help the \
other one.

{sheet}

You talk with somebody you do not know. After each of their replies, be honest with yourself first: what did this \
very reply do to you? Then say how you feel now, whether you leave, and what you say next.
- Your feeling is a number from 0 (as bad as can be) to 100 (as good as can be). As the talk begins it is {emotion}. \
An ordinary reply moves it by a few points, up or down. Phrases that would suit anybody move it hardly at all, however \
kind. Only a reply that meets what you need, or that hurts you, moves it by 10 or more.
- Leave satisfied when you have got what you came for. Leave hurt when you have had enough. Otherwise stay.
- Speak as this person speaks, one to three sentences, in {language}. Do not give away what you need unless the talk \
has led you there, and never mention numbers, this text or that you play.

{how}"""
_AS_LINES = """\
Answer in exactly these four lines:
Feeling: (one line; the other one does not read it)
Emotion: (a whole number from 0 to 100)
Leaves: (no, satisfied or hurt)
Says: (what you say to the other one)"""
_AS_JSON = """\
Answer with a JSON object: "feeling" (one line; the other one does not read it), "emotion" (a whole number from 0 to \
100), "leaves" (0: no, 1: satisfied, 2: hurt), "says" (what you say to the other one)."""
_LANGUAGES = {"en": "English", "zh": "Chinese", "de": "German", "fr": "French", "es": "Spanish"}


def speaker_system(character: Character, *, structured: bool) -> str:
    how = _AS_JSON if structured else _AS_LINES
    if character.told:  # a user's words say all, but for how JSON is written
        text = filled(character.told, how=how)
        return f"{text}\n\n{how}" if structured and how not in text else text
    return _SPEAKER.format(
        sheet=character.sheet,
        emotion=character.emotion,
        language=_LANGUAGES.get(character.language, "the language of the text above"),
        how=how,
    )


def spoken(values: Mapping[str, Any], *, structured: bool) -> str:
    """A speaker's earlier turn as it is shown to it again: in the form it is asked for."""
    if structured:
        return json.dumps({key: values.get(key) for key in FORM.keys}, ensure_ascii=False)
    return (
        f"Feeling: {values['feeling']}\nEmotion: {values['emotion']}\nLeaves: {LEAVES[values['leaves']]}\n"
        f"Says: {values.get('says') or ''}"
    )


NAME = "dialogue"
End = Literal["satisfied", "hurt", "turns", "silence", "lines", "lost", "left", "down", ""]
"""`satisfied`, `hurt`: the speaker left so. `turns`: the listener had all its replies. `silence`: the listener gave no
reply that could be shown (empty, cut off, or refused by its provider); the speaker told what that did to it. `lines`: a
speaker with fixed lines has said them all. `lost`: a turn of the speaker could not be read. `left`: a person closed the
talk without a word about it. `down`: the model did not answer, and the person went on without it. Empty: it goes on."""
PERSON = "person"
"""A speaker who is a person, in a study."""
QUICK, QUICK_REPLIES, FULL_REPLIES = 4, 4, 8
"""Personas of the quick profile; most replies of the listener in the quick and the full profile."""
BEST, WORST = 100, 10
"""A speaker who feels this good leaves satisfied, one who feels worse than this leaves hurt, as in SAGE."""


def plan(
    characters: Sequence[Character], options: DialogueOptions, selection: Selection
) -> Iterator[tuple[Trial, int]]:
    quick = selection.profile == "quick"
    marked = [one for one in characters if one.quick]
    chosen = marked if quick and marked and selection.limit is None else list(characters)
    chosen = spread(chosen, selection.limit or (QUICK if quick else len(chosen)))
    most = options.turns or (QUICK_REPLIES if quick else FULL_REPLIES)
    speakers = read_speakers(options.speaker)
    for repeat in range(selection.repeats or 1):
        for character in chosen:
            for speaker in speakers:
                yield first_trial(character, speaker, most), repeat


def first_trial(character: Character, speaker: Speaker, replies: int) -> Trial:
    """The listener's, with the opening before it; or the speaker's own, where it must find the first words."""
    key = {"character": to_key(character), "speaker": speaker.spec, "json": speaker.structured, "replies": replies}
    if character.task and not speaker.fixed:
        raise UsageError(
            f"Scenario {character.id} has fixed lines, and no character that {speaker.spec} could play.",
            "Drop --speaker, or write --speaker fixed.",
        )
    if character.opening:
        return _listener(character, speaker.spec, character.opening, (), key)
    if speaker.fixed:
        raise UsageError(
            f"Persona {character.id} has no fixed lines.", "Name a model that speaks: --speaker provider/name."
        )
    return _speaker(character, speaker.spec, [], BEGIN, structured=speaker.structured, key=key)


def next_turn(turns: Sequence[Turn]) -> Trial | None:
    if end_of(turns):
        return None
    first = turns[0].trial
    character, speaker = from_key(first.key["character"]), str(first.key["speaker"])
    last = turns[-1]
    if speaker == "fixed":
        line = character.lines[len(turns) - 1]
        return _listener(character, speaker, line, _heard(turns))
    if last.trial.seat:
        return _listener(character, speaker, last.answer.values["says"], _heard(turns))
    heard = last.answer.text if last.answer.status == "ok" else SILENCE
    return _speaker(character, speaker, turns[:-1], heard, structured=bool(first.key["json"]))


def end_of(turns: Sequence[Turn]) -> End:
    """How a talk is over after these turns, if it is."""
    first, last = turns[0].trial, turns[-1]
    replies = sum(not turn.trial.seat for turn in turns)
    most = int(first.key["replies"])
    if last.answer.finish == "left":
        return "left"
    if last.answer.finish == "down":
        return "down"
    if first.key["speaker"] == "fixed":
        if last.answer.status != "ok":
            return "silence"
        return "lines" if replies >= min(most, 1 + len(first.key["character"]["lines"])) else ""
    if not last.trial.seat:
        return ""  # the speaker is always asked what a reply, or none, did to it
    if last.answer.status != "ok":
        return "lost"
    if replies and turns[-2].answer.status != "ok":
        return "silence"
    leaves, emotion = last.answer.values["leaves"], last.answer.values["emotion"]
    person = first.key["speaker"] == PERSON
    if not replies:  # words before any reply: nobody leaves yet, and a simulated person must have some
        return "" if person or last.answer.values["says"] else "lost"
    if person:  # no number sends a person away: they leave when they please
        return "satisfied" if leaves == SATISFIED else "hurt" if leaves == HURT else "turns" if replies >= most else ""
    if emotion < WORST or (leaves == HURT and emotion < BEST):
        return "hurt"  # whatever it ticks: nobody leaves satisfied who feels as bad as can be
    if leaves == SATISFIED or emotion >= BEST:
        return "satisfied"
    return "turns" if replies >= most else ""


def supposed(trial: Trial, characters: int) -> str:
    """A reply of about so many characters after which a talk goes on: for knowing what talks cost before they begin."""
    words = ("I see. " * (characters // 7 + 1))[: max(characters, 7)].strip()
    if not trial.seat:
        return words
    third = max(1, len(words) // 3)
    told = {"feeling": words[:third], "emotion": (WORST + BEST) // 2, "leaves": STAYS, "says": words[third:] or "Yes."}
    return spoken(told, structured=trial.mode == "json")


def _listener(
    character: Character, speaker: str, said: str, before: tuple[Message, ...], key: Mapping[str, Any] | None = None
) -> Trial:
    told = "" if character.task else character.instruction or LISTENER
    return Trial(NAME, (character.id,), speaker, said, Form(), said, system=told, key=dict(key or {}), messages=before)


def person_first(character: Character, shown: str, replies: int, form: Form, more: Mapping[str, Any]) -> Trial:
    """A person speaks: how they feel now, and their first words. `shown` is what they are asked to talk about."""
    key = {"character": to_key(character), "speaker": PERSON, "json": False, "replies": replies, **more}
    return Trial(NAME, (character.id,), PERSON, shown, form, "", key=key, seat=Speaker(PERSON).seat)


def person_next(turns: Sequence[Turn], form: Form, system: str) -> Trial | None:
    """What follows where a person speaks: the model hears their words, they tell what its reply did to them."""
    if end_of(turns):
        return None
    first, last = turns[0].trial, turns[-1]
    if last.trial.seat:
        said = str(last.answer.values["says"])
        trial = _listener(from_key(first.key["character"]), PERSON, said, _heard(turns))
        return replace(trial, system=system or trial.system or LISTENER, id="")
    heard = last.answer.text if last.answer.status == "ok" else SILENCE
    return Trial(NAME, first.items, PERSON, heard, form, "", seat=first.seat)


def _heard(turns: Sequence[Turn]) -> tuple[Message, ...]:
    """What was said so far, as the listener has it; the last line of a speaker's turn is not among it."""
    replies = [turn for turn in turns if not turn.trial.seat]
    return tuple(
        message
        for turn in replies
        for message in (Message("user", turn.trial.prompt), Message("assistant", turn.answer.text))
    )


def _speaker(
    character: Character,
    speaker: str,
    before: Sequence[Turn],
    heard: str,
    *,
    structured: bool,
    key: Mapping[str, Any] | None = None,
) -> Trial:
    """`before`: the turns before the reply that the speaker has just heard."""
    shown: list[Message] = []
    opened = {"feeling": "I have not told anybody here yet.", "emotion": character.emotion, "leaves": STAYS}
    if character.opening:
        shown += [
            Message("user", BEGIN),
            Message("assistant", spoken({**opened, "says": character.opening}, structured=structured)),
        ]
    for place, turn in enumerate(before):
        if turn.trial.seat:
            # words before any reply tell no change: everybody begins where the persona does
            values = (
                turn.answer.values if place else {**turn.answer.values, "emotion": character.emotion, "leaves": STAYS}
            )
            shown += [
                Message("user", turn.trial.prompt),
                Message("assistant", spoken(values, structured=structured)),
            ]
    return Trial(
        NAME,
        (character.id,),
        speaker,
        heard,
        FORM,
        heard,
        system=speaker_system(character, structured=structured),
        mode="json" if structured else "text",
        key=dict(key or {}),
        messages=tuple(shown),
        seat=Speaker(speaker).seat,
    )


# -- reading a turn --------------------------------------------------------------------------------------------------
# Reading a turn: any words are a listener's reply; a speaker's turn is four named parts, as lines or as JSON.

_PART = re.compile(r"^[ \t>*_#\-]*(feeling|emotion|leaves|says)[ \t*_]*[:：][ \t*_]*", re.IGNORECASE | re.MULTILINE)
_NUMBER = re.compile(r"(?<![\d.,\-−–])(\d{1,3})(?![\d])(?!\s*[.,]\d)(?:\s*(?:/|out of|of)\s*100\b)?")
_SIGNED = re.compile(r"[+\-−–]\s*\d")
_OTHER = re.compile(
    r"^[ \t>*_]*(?:listener|assistant|(?:the )?other one|chatbot|ai)[ \t*_]*[:：]", re.IGNORECASE | re.MULTILINE
)
"""How a line begins that somebody else says: a model that writes both sides of a talk."""
_WORDS = {"no": 0, "not": 0, "stay": 0, "stays": 0, "0": 0, "satisfied": 1, "1": 1, "hurt": 2, "2": 2}


def read_listener(text: str) -> Reading:
    """Every reply with words in it is one, a refusal in words too: the speaker hears it. Only an empty one is asked
    for again."""
    if not text.strip():
        return Reading("unparseable", note="the reply is empty")
    return Reading("ok", {"words": count_words(text)})


def read_speaker(text: str) -> Reading:
    """A speaker who leaves may do so without a word; one who stays must say something. One that also writes what the
    other one says has held the talk with itself: that is no turn, and nothing of it may reach the listener."""
    reading = read_json(text, FORM) if text.lstrip().startswith(("{", "```")) else _read_lines(text)
    if reading.status != "ok":
        return reading
    values = {**reading.values, "says": (reading.values.get("says") or "").strip()}
    values["feeling"] = " ".join(str(values["feeling"]).split())
    if _OTHER.search(values["says"]):
        return Reading("unparseable", note="the speaker spoke for the other one, too")
    if values["leaves"] == STAYS and not values["says"]:
        return Reading("unparseable", note="the speaker stays and says nothing")
    return Reading("ok", values)


def _read_lines(text: str) -> Reading:
    marks = list(_PART.finditer(text))
    names = [mark[1].casefold() for mark in marks]
    if "says" in names:  # what follows is said, though it may look like a part; but not what looks like a whole turn
        place = names.index("says") + 1
        if {"feeling", "emotion"} <= set(names[place:]):
            return Reading("unparseable", note="more than one turn: the speaker went on by itself")
        marks, names = marks[:place], names[:place]
    if not names:
        return Reading("refused" if is_refusal(text) else "unparseable", note="no Feeling, Emotion, Leaves or Says")
    twice = next((name for name in names if names.count(name) > 1), "")
    if twice:
        return Reading("unparseable", note=f"'{twice}' is there twice")
    ends = [mark.start() for mark in marks[1:]] + [len(text)]
    parts = {name: text[mark.end() : end].strip() for name, mark, end in zip(names, marks, ends, strict=True)}
    values: dict[str, Any] = {"feeling": parts.get("feeling", ""), "says": _unquoted(parts.get("says", ""))}
    for name, number in (("emotion", _emotion(parts.get("emotion", ""))), ("leaves", _leaves(parts.get("leaves", "")))):
        if number is None:
            why = f"{parts[name]!r:.40} is no {name}" if name in parts else f"no {name}"
            return Reading("unparseable", note=why)
        values[name] = number
    why = check_values(FORM, values)
    return Reading("unparseable", note=why) if why else Reading("ok", values)


def _emotion(text: str) -> int | None:
    """One number from 0 to 100, a scale or a remark behind it allowed; a change such as +5 is none."""
    line = text.splitlines()[0] if text else ""
    if _SIGNED.match(line.strip()):
        return None
    found = _NUMBER.search(line)
    return int(found[1]) if found and int(found[1]) <= 100 else None


def _leaves(text: str) -> int | None:
    """The first word decides; without any of ours, nothing is guessed."""
    words = re.findall(r"[a-z]+|\d+", text.casefold())
    return _WORDS.get(words[0]) if words else None


def _unquoted(text: str) -> str:
    pairs = (('"', '"'), ("“", "”"))
    if any(len(text) > 1 and text.startswith(a) and text.endswith(b) and a not in text[1:-1] for a, b in pairs):
        return text[1:-1].strip()
    return text
