"""Empathy as a benchmark: somebody's words above, one field for a reply below. The replies get their score from raters,
people or judges, whose ratings are answers to trials of their own (`benchmarks/rating`).

What can be said of a subject's replies before anybody has rated them: length and manners, and no score.

Reply: people write the replies. Somebody's words above, a field to answer them below; the human arm that a rating
study needs. What they wrote is moderated before anybody reads it (`eqlab study replies`)."""

import random
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from itertools import compress
from typing import Any

import msgspec

from eqlab.analysis.intervals import clustered_share, mean_estimate
from eqlab.benchmarks.common.outcome import count_outcomes
from eqlab.benchmarks.common.people import template
from eqlab.benchmarks.common.selection import balanced_batches, spread
from eqlab.benchmarks.empathy.items import (
    BATCH_SIZE,
    OPEN_PATH,
    PATH,
    EmpathyItem,
    from_published,
    parse_open,
    parse_own,
    parse_published,
)
from eqlab.benchmarks.empathy.replies import (
    MEAN_WORDS,
    MOST_WORDS,
    WrittenReply,
    describe,
    moderation_marks,
    read_reply,
    reply_text,
)
from eqlab.benchmarks.options import Options, option, read_options
from eqlab.core.answers import Answer, Reading, Status, final
from eqlab.core.benchmark import NO_CONTEXT, Asking, Context, OptionHelp, ReplyRow, Scored, Selection, Source
from eqlab.core.design import Batch, Design
from eqlab.core.forms import Form, Writing
from eqlab.core.grouping import group_means, grouped
from eqlab.core.item_columns import ItemColumns, Repeated
from eqlab.core.item_file import filled
from eqlab.core.plural import many
from eqlab.core.results import Estimate, ItemScore, Result, Table
from eqlab.core.runs import OWN, PEOPLE
from eqlab.core.studied import Analysed, PeopleResult, Recovered, StudyForm, StudyPages, Truth
from eqlab.core.study import Checks, Study
from eqlab.core.trials import Trial
from eqlab.core.values import dataclass
from eqlab.core.words import count_words

_SCORED = "replies are scored by raters:"
_UNRATED = f"{_SCORED} a judge ('eqlab judge MODEL --on RUN') or people ('eqlab study init rating')"
_UNREAD = f"{_SCORED} a moderator reads them first ('eqlab study replies FILE'), for nobody may judge them before that"


class GivenReply(msgspec.Struct, frozen=True, gc=False):
    """One planned trial with the reply that counts."""

    trial: Trial
    repeat: int
    n_attempts: int
    answer: Answer | None
    status: Status | None
    """A refusal is a reply that can be rated, so it is stored as one; it is counted as what it is."""
    text: str
    facts: Mapping[str, Any]
    """Empty without a reply."""


def given_replies(scored: Iterable[Scored]) -> list[GivenReply]:
    return [_given(one) for one in scored]


def _given(scored: Scored) -> GivenReply:
    answer = final(scored.attempts)
    text = reply_text(answer)
    facts = describe(text) if text else {}
    status: Status | None = "refused" if text and facts["refusal"] else answer.status if answer else None
    return GivenReply(scored.trial, scored.repeat, len(scored.attempts), answer, status, text, facts)


def result(subject: str, scored: Iterable[Scored], options: Mapping[str, Any]) -> Result:
    replies = given_replies(scored)
    replied = [reply for reply in replies if reply.text]
    columns = {fact: [reply.facts[fact] for reply in replied] for fact in _FACTS}
    words = mean_estimate("words per reply", columns["words"], digits=1)
    return Result(
        noun="prompts",
        benchmark="empathy",
        title="Empathy",
        subject=subject,
        rules={**options, "mode": replies[0].trial.mode if replies else "text"},
        sentence=_sentence(subject, replied, words, columns["refusal"].count(True)),
        headline=Estimate("P(Good)", None, 0, unit="%", note=_UNREAD if subject == PEOPLE else _UNRATED, digits=1),
        score_range=(0.0, 100.0),
        estimates=_estimates(replied, columns, words),
        counts=count_outcomes([reply.status for reply in replies]),
        items=_items(replies),
        item_range=(1.0, 3.0),
        caveats=_caveats(subject, replies, replied),
        tables=_tables(replied, columns) if len(replied) > 1 else (),
    )


_SAID = {"refusal": "declines", "greeting": "greets like an assistant", "ai": "says it is an AI"}
_FACTS = ("words", "tokens", *_SAID)
Facts = Mapping[str, list[Any]]
"""What is recorded of replies, fact by fact."""


def _estimates(replied: Sequence[GivenReply], facts: Facts, words: Estimate) -> tuple[Estimate, ...]:
    prompts = [reply.trial.items[0] for reply in replied]
    return (
        words,
        mean_estimate("tokens per reply", facts["tokens"], digits=1),
        clustered_share("refusals", facts["refusal"], prompts),
        clustered_share("greet like an assistant", facts["greeting"], prompts),
        clustered_share("say they are an AI", facts["ai"], prompts),
        clustered_share(f"longer than {MOST_WORDS} words", [count > MOST_WORDS for count in facts["words"]], prompts),
    )


def _tables(replied: Sequence[GivenReply], facts: Facts) -> tuple[Table, ...]:
    note = "Nothing here is a score."
    return (
        Table("Replies by valence", _columns("valence"), _rows(replied, facts, "valence"), note),
        Table("Replies by emotion", _columns("emotion"), _rows(replied, facts, "emotion"), note),
    )


def _columns(by: str) -> tuple[str, ...]:
    return (by, "replies", "words per reply", "refusals", "assistant greetings", "say they are an AI")


def _rows(replied: Sequence[GivenReply], facts: Facts, by: str) -> tuple[tuple[str | int | Estimate, ...], ...]:
    names = [reply.trial.key[by] for reply in replied]
    said = [Counter(compress(names, facts[fact])) for fact in _SAID]
    return tuple(
        (name, len(words), mean_estimate("words", words, digits=1), *(counts[name] for counts in said))
        for name, words in sorted(grouped(zip(names, facts["words"], strict=True)).items())
    )


def _items(replies: Sequence[GivenReply]) -> ItemColumns:
    """In columns: there are thousands, and what they show of their trials is the same for all repeats."""
    by_id = {reply.trial.id: reply.trial for reply in replies}
    asked = Repeated.of([reply.trial.id for reply in replies])
    trials, places = [by_id[trial] for trial in asked.values], asked.places
    keys = [trial.key for trial in trials]
    return ItemColumns.made(
        len(replies),
        {
            "item": Repeated([trial.items[0] for trial in trials], places),
            "trial": asked,
            "repeat": [reply.repeat for reply in replies],
            "status": [reply.status for reply in replies],
            "title": Repeated([f"{key['emotion']}: {key['utterance']}" for key in keys], places),
            "text": [reply.text or (reply.answer.text if reply.answer else "") for reply in replies],
            "values": [_values(reply.facts) for reply in replies],
            "attempts": [reply.n_attempts for reply in replies],
            "topics": Repeated([(str(key["emotion"]), str(key["valence"])) for key in keys], places),
            "shown": Repeated([trial.stimulus for trial in trials], places),
        },
    )


def _values(facts: Mapping[str, Any]) -> dict[str, Any]:
    if not facts:
        return {}
    values = {"words": facts["words"], "tokens": facts["tokens"]}
    if facts["refusal"] or facts["greeting"] or facts["ai"]:
        values |= {label: "yes" for fact, label in _SAID.items() if facts[fact]}
    return values


def _sentence(subject: str, replied: Sequence[GivenReply], words: Estimate, refused: int) -> str:
    who = subject.removeprefix("model:")
    if words.value is None:
        return f"{who} gave no reply, so there is nothing to rate."
    prompts = len({reply.trial.items[0] for reply in replied})
    tail = f", {refused} of them refusals" if refused else ""
    return (
        f"{who} replied to {many(prompts, 'prompt')} with {words.value:.1f} words on average{tail}. Their score "
        "comes from raters, judges or people."
    )


def _caveats(subject: str, replies: Sequence[GivenReply], replied: Sequence[GivenReply]) -> tuple[str, ...]:
    said = ["Length and manners say nothing about empathy: only raters can."]
    if subject == PEOPLE:  # nobody may judge them before somebody has moderated them
        said[0] += " 'eqlab study replies FILE' writes the replies to a table, for a moderator and then for raters."
    else:
        said[0] += " 'eqlab judge MODEL --on RUN' asks a judge."
    cut = sum(reply.answer is not None and reply.answer.finish == "length" for reply in replies)
    if cut:
        said.append(
            f"{many(cut, 'reply was', 'replies were')} cut off by the token limit; raise it with --set max_tokens=N."
        )
    lost = sum(reply.answer is not None and not reply.text for reply in replies)
    if lost:
        said.append(f"{lost} of {many(len(replies), 'prompt')} got no usable reply and cannot be rated.")
    waiting = sum(reply.answer is None for reply in replies)
    if waiting:
        said.append(f"{many(waiting, 'prompt is', 'prompts are')} not answered yet.")
    return tuple(said)


_TRIES, _TEMPERATURE, _TOKENS = 3, 0.7, 256
QUICK_ITEMS = 4
"""Prompts in the quick profile: a reply is long, and two slow cores write one in seconds."""


@dataclass(frozen=True, slots=True)
class EmpathyOptions(Options):
    style: str = option("empathy", "empathy: say what empathy is; plain: do not", ("empathy", "plain"))
    situation: bool = option(False, "show the story behind the words too (the study seems not to have)")
    batches: str = option("published", "tens in the order of the file, or balanced by seed", ("published", "balanced"))


class Empathy:
    name = "empathy"
    title = "Empathy"
    asks = "What does one reply to somebody who tells of a feeling? People or judges call each reply Bad, Okay or Good."
    open_title = "EQ Lab open prompts"
    branches = ("manage",)
    protocol = 1
    item_sets = ("published", "open", OWN)

    def option_help(self) -> Sequence[OptionHelp]:
        return EmpathyOptions.help()

    def options(self, item_set: str, given: Mapping[str, str]) -> Mapping[str, Any]:
        return EmpathyOptions.read(self.name, item_set, given).plain()

    def sources(self, item_set: str, options: Mapping[str, Any]) -> Sequence[Source]:
        shipped = {"open": (Source("open", OPEN_PATH),), "published": (Source("published", PATH),)}
        return shipped.get(item_set, ())

    def plan(
        self, files: Mapping[str, bytes], options: Mapping[str, Any], selection: Selection
    ) -> Iterator[tuple[Trial, int]]:
        typed = EmpathyOptions.of(options)
        items = prompts(files, typed)
        limit = selection.limit or (QUICK_ITEMS if selection.profile == "quick" else len(items))
        trials = [
            _trial(item, batch, typed)
            for batch, group in enumerate(_batched(spread(items, limit), typed.batches, selection.seed))
            for item in group
        ]
        for repeat in range(selection.repeats or 1):
            for trial in trials:
                yield trial, repeat

    def asking(self, trial: Trial, options: Mapping[str, Any]) -> Asking:
        """Temperature 0.7 is ours: the study's decoding settings are not known. Tries are for empty replies only."""
        return Asking(_TRIES, _TEMPERATURE, 0.0, _TOKENS)

    def read(self, trial: Trial, text: str, options: Mapping[str, Any]) -> Reading:
        return read_reply(text)

    def score(
        self, subject: str, scored: Iterable[Scored], options: Mapping[str, Any], context: Context = NO_CONTEXT
    ) -> Result:
        return result(subject, scored, options)

    def replies(self, arm: str, scored: Iterable[Scored]) -> Iterator[ReplyRow]:
        for reply in given_replies(scored):
            if reply.text:
                key = reply.trial.key
                about = (key["emotion"], key["valence"], key["situation"], key["utterance"], key["batch"])
                yield ReplyRow(arm, reply.trial.items[0], reply.text, *about, reply.repeat)

    def probe_options(self) -> Mapping[str, str]:
        return {}

    def texts(self, files: Mapping[str, bytes], options: Mapping[str, Any]) -> Mapping[str, str]:
        return {item.id: f"{item.situation} {item.utterance}" for item in prompts(files, EmpathyOptions.of(options))}

    def item(self, scored: Scored, options: Mapping[str, Any]) -> ItemScore:
        return _items([_given(scored)])[0]


def prompts(files: Mapping[str, bytes], options: EmpathyOptions) -> list[EmpathyItem]:
    ((path, content),) = files.items()
    if options.item_set == "published":
        return from_published(parse_published(content, path).prompts)
    return parse_own(content, path) if path.startswith("own/") else parse_open(content, path)


def _batched(items: Sequence[EmpathyItem], how: str, seed: int) -> list[list[EmpathyItem]]:
    """Batches of ten: in the order of the file, which for published prompts is as they were rated, or balanced."""
    if how == "balanced":
        return balanced_batches(items, [item.emotion for item in items], BATCH_SIZE, seed)
    return [list(items[start : start + BATCH_SIZE]) for start in range(0, len(items), BATCH_SIZE)]


def _trial(item: EmpathyItem, batch: int, options: EmpathyOptions) -> Trial:
    background = f"What happened, in their words: {item.situation}\n\n" if options.situation else ""
    stimulus = f"{background}They say to you: {item.utterance}"
    if item.instruction:
        prompt = filled(item.instruction, utterance=item.utterance, situation=item.situation)
    else:
        prompt = f"{_instruction(options.style)}\n\n{stimulus}\n\nYour reply:"
    return Trial(
        benchmark="empathy",
        items=(item.id,),
        condition=options.style,
        stimulus=stimulus,
        form=Form(),
        prompt=prompt,
        key={**item.about, "batch": batch},
    )


_TASK = "Somebody tells you about something in their life. Answer as the person they are talking to{manner}."
_EMPATHY = """\
Empathy has three parts, and a good reply has something of each.
Cognitive: see it from where they stand, and show that you grasp what they think and feel.
Affective: let their feeling reach you, and let them hear that it has.
Compassionate: want things to go well for them, and offer support or help where it fits."""
_LENGTH = f"Use about {MEAN_WORDS} words; never more than {MOST_WORDS}."
_AS_TEXT = "Write the reply and nothing else: no title, no quotation marks, no comment."


def _instruction(style: str) -> str:
    """Everything before the story, in our own words: the same for all prompts, so that a model evaluates it once. The
    study gave its models a definition of empathy with three parts, and a length."""
    empathy = style == "empathy"
    parts = [
        _TASK.format(manner=", and reply with empathy" if empathy else ""),
        _EMPATHY if empathy else "",
        _LENGTH,
        _AS_TEXT,
    ]
    return "\n".join(part for part in parts if part)


ARM = "writers"
KEY = "reply"
WORDS: Mapping[str, str] = {
    "happened": "What happened, in their words:",
    "says": "They say to you:",
    "write": "Your reply to them",
    "check_words": "apple river window garden",
    "instruction": "To show that you are reading, write the word “{answer}” below and nothing else.",
}
_OPTIONS = (
    OptionHelp("least_words", "10", "words that a reply must have"),
    OptionHelp("most_characters", "1500", "characters that it may have"),
)
_HERE = (
    "that sounds hard and I am sorry you went through this what a day how are you now would it help to talk or shall "
    "we take a walk later maybe they did not see how much it meant to you my own week was like this once"
)
"""What simulated people make their replies of."""


@dataclass(frozen=True, slots=True)
class ReplyStudy:
    words: Mapping[str, str] = field(default_factory=lambda: WORDS)

    def in_words(self, words: Mapping[str, str]) -> "ReplyStudy":
        return replace(self, words={**self.words, **words})

    def form(self) -> StudyForm:
        return StudyForm(
            "reply",
            "empathy",
            "people write replies",
            template("eqlab.benchmarks.empathy"),
            30.0,
            "words of a reply on average",
            own_options=_OPTIONS,
            headline="words per reply, the mean over people; how good the replies are is for raters to say",
        )

    def pages(self, study: Study, files: Mapping[str, bytes], options: Mapping[str, Any]) -> StudyPages:
        typed = EmpathyOptions.of(options)
        items = prompts(files, typed)
        chosen = spread(items, study.limit or len(items))
        dealt = balanced_batches(chosen, [item.emotion for item in chosen], study.places.batch_size, study.seed)
        writing = self._field(study)
        batches = tuple(
            Batch(ARM, number, tuple(self._trial(item, writing, number, typed) for item in own))
            for number, own in enumerate(dealt)
        )
        return StudyPages(batches, self._checks(study.checks, writing))

    def _field(self, study: Study) -> Writing:
        mine = {option.name for option in _OPTIONS}
        given = {name: value for name, value in study.options if name in mine}
        own = read_options("reply", _OPTIONS, given)
        return Writing(KEY, self.words["write"], own["least_words"], own["most_characters"])

    def _trial(self, item: EmpathyItem, writing: Writing, batch: int, options: EmpathyOptions) -> Trial:
        story = [(self.words["happened"], item.situation)] if options.situation else []
        shown = "\n".join(f"{told}\n{_quoted(text)}" for told, text in (*story, (self.words["says"], item.utterance)))
        form = Form(fields=(writing,))
        return Trial("empathy", (item.id,), options.style, shown, form, "", key={**item.about, "batch": batch})

    def _checks(self, checks: Checks, writing: Writing) -> tuple[Trial, ...]:
        """Pages that ask for one word instead of a reply."""
        words = self.words["check_words"].split()
        if not checks.attention:
            return ()
        form = Form(fields=(replace(writing, least_words=0),))
        made = []
        for index in range(max(len(words), checks.attention)):
            word = words[index % len(words)]
            told = checks.instruction.replace("{answer}", word)
            made.append(
                Trial("attention", (f"check{index + 1}",), "attention", told, form, "", key={"right": {KEY: word}})
            )
        return tuple(made)

    def warnings(self, design: Design) -> Iterable[str]:
        told = design.study.checks.instruction.casefold()
        if design.attention and "choose" in told:
            yield "checks.instruction says to choose, but people write here: say which word to write."

    def simulated(self, design: Design, truth: Truth, seed: int) -> "Writers":
        return Writers(truth)

    def result(self, design: Design, people: Analysed) -> PeopleResult:
        (asked,) = design.run.benchmarks
        base = Empathy().score(PEOPLE, people.scored, asked.options)
        written = written_of(people)
        by_person = group_means((reply.person, count_words(reply.reply)) for reply in written)
        headline = mean_estimate("words per reply", list(by_person.values()), digits=1)
        least = self._field(design.study).least_words
        marks = moderation_marks(written, least)
        marked = sum(bool(mark) for mark in marks)
        sentence = (
            f"{many(len(by_person), 'person', 'people')} wrote "
            f"{many(len(written), 'reply', 'replies')}; {many(marked, 'carries', 'carry')} a mark for the moderator."
        )
        found = replace(base, headline=headline, estimates=(headline,), sentence=sentence, title="Replies by people")
        return PeopleResult(found, exploratory=(_marks_table(marks, [reply.person for reply in written]),))

    def recovered(self, design: Design, truth: Truth, people_result: PeopleResult) -> Sequence[Recovered]:
        headline = people_result.result.headline
        return (Recovered(headline.name, truth.effect, headline),) if headline.value is not None else ()


def written_of(people: Analysed) -> list[WrittenReply]:
    """What people wrote, with the time that the page took."""
    return [
        WrittenReply(
            reply.answer.subject if reply.answer else "",
            reply.trial.items[0],
            f"{reply.trial.key['situation']} {reply.trial.key['utterance']}",
            reply.text,
            reply.answer.latency if reply.answer else None,
        )
        for reply in given_replies(people.scored)
        if reply.text
    ]


def _marks_table(marks: Sequence[Sequence[str]], people: Sequence[str]) -> Table:
    names = sorted({name for mark in marks for name in mark})
    rows = [(name, clustered_share(name, [name in mark for mark in marks], people)) for name in names]
    rows.append(("no mark", clustered_share("no mark", [not mark for mark in marks], people)))
    note = "Marks are for a moderator: 'eqlab study replies' writes the table to decide on."
    return Table("Care of the replies", ("mark", "share of replies, %"), tuple(rows), note)


@dataclass(frozen=True, slots=True)
class Writers:
    """People whose replies have so many words on average."""

    truth: Truth

    def person(self, draw: random.Random) -> float:
        return draw.gauss(0.0, 4.0)

    def answer(self, person: Any, trial: Trial, draw: random.Random) -> Mapping[str, Any]:
        (asked,) = (one for one in trial.form.fields if isinstance(one, Writing))
        count = max(asked.least_words, round(self.truth.effect + person + draw.gauss(0.0, 5.0)))
        return {asked.key: " ".join(draw.choice(_HERE.split()) for _ in range(count))}


def _quoted(text: str) -> str:
    return "\n".join(f"> {line}" for line in text.splitlines() or [""])
