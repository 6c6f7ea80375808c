"""Reply: people write the replies. Somebody's words above, a field to answer them below; the human arm that a rating
study needs. What they wrote is moderated before anybody reads it (`eqlab study replies`)."""

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean
from typing import Any

from eqlab.analysis.intervals import mean_estimate, proportion_estimate
from eqlab.benchmarks.common.people import template
from eqlab.benchmarks.common.selection import balanced_batches, spread
from eqlab.benchmarks.empathy.benchmark import Empathy, EmpathyOptions, prompts
from eqlab.benchmarks.empathy.items import EmpathyItem
from eqlab.benchmarks.empathy.replies import WrittenReply, moderation_marks
from eqlab.benchmarks.empathy.result import given_replies
from eqlab.benchmarks.options import read_options
from eqlab.core.benchmark import OptionHelp
from eqlab.core.design import Batch, Design
from eqlab.core.forms import Form, Writing
from eqlab.core.results import Table
from eqlab.core.runs import PEOPLE
from eqlab.core.studied import Analysed, PeopleResult, Recovered, StudyForm, StudyPages, Truth
from eqlab.core.study import Checks, Study
from eqlab.core.trials import Trial

ARM = "writers"
KEY = "reply"
WORDS: Mapping[str, str] = {
    "happened": "What happened, in their words:",
    "says": "They say to you:",
    "write": "Your reply to them",
    "check_words": "apple river window garden",
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
        )

    def pages(self, study: Study, files: Mapping[str, bytes], options: Mapping[str, Any]) -> StudyPages:
        typed = EmpathyOptions.of(options)
        items = prompts(files, typed)
        chosen = spread(items, study.limit or len(items))
        dealt = balanced_batches(chosen, [item.emotion for item in chosen], study.places.batch_size, study.seed)
        asked = self._field(study)
        batches = tuple(
            Batch(ARM, number, tuple(self._trial(item, asked, number, typed) for item in own))
            for number, own in enumerate(dealt)
        )
        return StudyPages(batches, self._checks(study.checks, asked))

    def _field(self, study: Study) -> Writing:
        mine = {option.name for option in _OPTIONS}
        given = {name: value for name, value in study.options if name in mine}
        own = read_options("reply", _OPTIONS, given)
        return Writing(KEY, self.words["write"], own["least_words"], own["most_characters"])

    def _trial(self, item: EmpathyItem, asked: Writing, batch: int, options: EmpathyOptions) -> Trial:
        story = [(self.words["happened"], item.situation)] if options.situation else []
        shown = "\n".join(f"{told}\n{_quoted(text)}" for told, text in (*story, (self.words["says"], item.utterance)))
        form = Form(fields=(asked,))
        return Trial("empathy", (item.id,), options.style, shown, form, "", key={**item.about, "batch": batch})

    def _checks(self, checks: Checks, asked: Writing) -> tuple[Trial, ...]:
        """Pages that ask for one word instead of a reply."""
        words = self.words["check_words"].split()
        if not checks.attention:
            return ()
        form = Form(fields=(replace(asked, least_words=0),))
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
        by_person: dict[str, list[int]] = {}
        for one in written:
            by_person.setdefault(one.person, []).append(len(one.reply.split()))
        headline = mean_estimate("words per reply", [fmean(own) for own in by_person.values()], digits=1)
        least = self._field(design.study).least_words
        marks = moderation_marks(written, least)
        marked = sum(bool(one) for one in marks)
        sentence = f"{len(by_person)} people wrote {len(written)} replies; {marked} carry a mark for the moderator."
        found = replace(base, headline=headline, estimates=(headline,), sentence=sentence, title="Replies by people")
        return PeopleResult(found, planned=(_marks_table(marks),))

    def recovered(self, design: Design, truth: Truth, found: PeopleResult) -> Sequence[Recovered]:
        headline = found.result.headline
        return (Recovered(headline.name, truth.effect, headline),) if headline.value is not None else ()


def written_of(people: Analysed) -> list[WrittenReply]:
    """What people wrote, with the time that the page took."""
    return [
        WrittenReply(
            one.answer.subject if one.answer else "",
            one.trial.items[0],
            f"{one.trial.key['situation']} {one.trial.key['utterance']}",
            one.text,
            one.answer.latency if one.answer else None,
        )
        for one in given_replies(people.scored)
        if one.text
    ]


def _marks_table(marks: Sequence[Sequence[str]]) -> Table:
    names = sorted({name for own in marks for name in own})
    rows = [(name, proportion_estimate(name, sum(name in own for own in marks), len(marks))) for name in names]
    rows.append(("no mark", proportion_estimate("no mark", sum(not own for own in marks), len(marks))))
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
