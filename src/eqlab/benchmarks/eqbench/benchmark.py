"""EQ-Bench as a benchmark: its options, its files, and the steps in their order.

EQ-Bench with people: dialogues, each with four emotions to rate from 0 to 10, asked once."""

import math
import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import lru_cache
from statistics import fmean
from typing import TYPE_CHECKING, Any

from eqlab.benchmarks.common.people import instructed, template
from eqlab.benchmarks.common.reading import is_refusal
from eqlab.benchmarks.common.selection import balanced_batches, spread
from eqlab.benchmarks.eqbench import short
from eqlab.benchmarks.eqbench.items import Question, parse_open, parse_own, parse_published
from eqlab.benchmarks.eqbench.result import item, result
from eqlab.benchmarks.eqbench.score import PRESETS, EqBenchOptions, item_score
from eqlab.benchmarks.eqbench.trials import build_trial, is_complete, plan, read_kinds, read_reply, trials_of
from eqlab.core.answers import Reading
from eqlab.core.benchmark import NO_CONTEXT, Asking, Context, OptionHelp, Scored, Selection, Source
from eqlab.core.errors import UsageError
from eqlab.core.forms import Form
from eqlab.core.plural import many
from eqlab.core.results import ItemScore, Result
from eqlab.core.runs import OWN, PEOPLE, PERSON
from eqlab.core.trials import Trial
from eqlab.core.values import dataclass

if TYPE_CHECKING:  # what studies are made of is loaded where there is one: every command would wait for it
    from eqlab.core.design import Design
    from eqlab.core.studied import Analysed, PeopleResult, Recovered, StudyForm, StudyPages, Truth
    from eqlab.core.study import Study

_FILES = {
    ("v1", "en"): "eqbench/data/eq_bench_v1_questions_60.json",
    ("v2", "en"): "eqbench/data/eq_bench_v2_questions_171.json",
    ("v2", "de"): "eqbench/data/eq_bench_v2_questions_171_de.json",
}


class EqBench:
    name = "eqbench"
    title = "EQ-Bench"
    asks = "How strongly does somebody in a dialogue feel each of four emotions? Answers are held against a reference."
    open_title = "EQ Lab open dialogues"
    branches = ("understand",)
    protocol = 1
    item_sets = ("published", "open", OWN)

    def option_help(self) -> Sequence[OptionHelp]:
        return EqBenchOptions.help()

    def options(self, item_set: str, given: Mapping[str, str]) -> Mapping[str, Any]:
        read = EqBenchOptions.read(self.name, item_set, given)
        if item_set != "published" and (read.version, read.language) != ("v2", "en"):
            raise UsageError(
                "Open items, and your own, are English and scored as v2.",
                "Add '--items published' for v1 or German questions.",
            )
        if (read.version, read.language) == ("v1", "de"):
            raise UsageError("There are no German questions for v1.", "Use '-o version=v2' with German.")
        options = replace(read, perturb=read_kinds(given.get("perturb", ""), item_set))
        if options.perturb and short.is_short(options):
            raise UsageError("A short form is asked in its own words only.", "Drop -o perturb or the short form.")
        if short.is_short(options):
            short.check(item_set, options)
        return options.plain()

    def sources(self, item_set: str, options: Mapping[str, Any]) -> Sequence[Source]:
        typed = EqBenchOptions.of(options)
        if item_set == "published":
            return (Source("published", _FILES[typed.version, typed.language]),)
        return (Source("open", "eqbench.toml"),) if item_set == "open" else ()

    def probe_options(self) -> Mapping[str, str]:
        return {}

    def texts(self, files: Mapping[str, bytes], options: Mapping[str, Any]) -> Mapping[str, str]:
        return {question.id: question.dialogue for question in self.questions(files, options)}

    def questions(self, files: Mapping[str, bytes], options: Mapping[str, Any]) -> list[Question]:
        return questions_of(files, EqBenchOptions.of(options))

    def plan(
        self, files: Mapping[str, bytes], options: Mapping[str, Any], selection: Selection
    ) -> Iterator[tuple[Trial, int]]:
        typed = EqBenchOptions.of(options)
        if selection.structured and typed.revision:
            raise UsageError(
                "A structured answer has no room for a critique.", "Drop --structured or '-o revision=yes'."
            )
        return plan(questions_of(files, typed), typed, selection)

    def more(
        self,
        files: Mapping[str, bytes],
        options: Mapping[str, Any],
        selection: Selection,
        scored: Iterable[Scored],
    ) -> Sequence[tuple[Trial, int]]:
        typed = EqBenchOptions.of(options)
        if not typed.width:
            return ()
        answered = list(scored)
        asked = [one.trial.items[0] for one in answered]
        known = {found.item: found.score for one in answered if (found := item(one, typed)).score is not None}
        wanted = short.next_questions(asked, known, typed)
        return [(trial, 0) for trial in trials_of(questions_of(files, typed), wanted, typed, selection)]

    def asking(self, trial: Trial, options: Mapping[str, Any]) -> Asking:
        rules = PRESETS[EqBenchOptions.of(options).rules]
        tokens = rules.tokens_revision if trial.condition == "revision" else rules.tokens_plain
        temperature = float(trial.key.get("temperature", rules.temperature))
        return Asking(rules.tries, temperature, rules.temperature_step, tokens)

    def read(self, trial: Trial, text: str, options: Mapping[str, Any]) -> Reading:
        rules = PRESETS[EqBenchOptions.of(options).rules]
        scores = read_reply(trial, text, rules)
        revision = trial.condition == "revision"
        values: dict[str, Any] = dict(scores.first or {})
        if revision:
            values = {"first_pass": values, "revised": dict(scores.revised or {})}
        if is_complete(scores, revision, rules):
            return Reading("ok", values)
        if scores.first is None and scores.revised is None:
            zeros = rules.zero_gate and read_reply(trial, text, replace(rules, zero_gate=False)).first
            note = f"no four scores for {', '.join(trial.form.keys)}"
            note = "all four scores are 0, which the rules take for no answer" if zeros else note
            return Reading("refused" if is_refusal(text) else "unparseable", note=note)
        return Reading("unparseable", values, "only one of the two passes could be read")

    def score(
        self, subject: str, scored: Iterable[Scored], options: Mapping[str, Any], context: Context = NO_CONTEXT
    ) -> Result:
        if subject == PEOPLE or subject.startswith(PERSON):
            from eqlab.benchmarks.eqbench.people_result import people_result

            return people_result(scored, options)
        return result(subject, scored, options)

    def item(self, scored: Scored, options: Mapping[str, Any]) -> ItemScore:
        return item(scored, EqBenchOptions.of(options))


def questions_of(files: Mapping[str, bytes], options: EqBenchOptions) -> list[Question]:
    ((path, content),) = files.items()
    return list(_read(content, path, options.item_set, options.version, options.language))


@lru_cache(maxsize=2)
def _read(content: bytes, path: str, item_set: str, version: str, language: str) -> tuple[Question, ...]:
    """Kept, since a run plans its questions more than once."""
    if item_set == "published":
        return tuple(parse_published(content, path, version, language))
    return tuple(parse_own(content, path) if path.startswith("own/") else parse_open(content, path))


ARM = "dialogues"
_DRAWS = 300
"""Simulated readings of each dialogue, to know the score that a noise is worth."""


WORDS: Mapping[str, str] = {
    "asks": "How strongly does {character} feel each of these at the end?",
    "not_at_all": "not at all",
    "most": "as strongly as anyone can",
}
"""Around our own items; published questions ask in their own words."""


SD_DIALOGUES = 15.4
"""In points: the part of the published scores' variance that is the dialogues' own (54 models, `research items`)."""


@dataclass(frozen=True, slots=True)
class EqBenchStudy:
    words: Mapping[str, str] = field(default_factory=lambda: WORDS)

    def in_words(self, words: Mapping[str, str]) -> "EqBenchStudy":
        return replace(self, words={**self.words, **words})

    def form(self) -> "StudyForm":
        from eqlab.core.studied import StudyForm

        return StudyForm(
            "eqbench",
            "eqbench",
            "people take EQ-Bench",
            template("eqlab.benchmarks.eqbench"),
            1.5,
            "SD of people's error around the references, in points of the scale",
            headline="the mean over people of their EQ-Bench score",
            not_for_people=(("revision", "yes", "people are asked once (delete the line)"),),
        )

    def pages(self, study: "Study", files: Mapping[str, bytes], options: Mapping[str, Any]) -> "StudyPages":
        """Dialogues dealt by seed into batches whose sizes differ by one at most."""
        from eqlab.core.design import Batch
        from eqlab.core.studied import StudyPages

        typed = EqBenchOptions.of(options)
        questions = questions_of(files, typed)
        chosen = spread(questions, study.limit or len(questions))
        trials = [self._page(question, typed) for question in chosen]
        dealt = balanced_batches(trials, [""] * len(trials), study.places.batch_size, study.seed)
        batches = tuple(Batch(ARM, number, tuple(own)) for number, own in enumerate(dealt))
        return StudyPages(batches, instructed(study.checks, batches[0].trials[0].form.scales[0], (3, 7, 1, 9)))

    def _page(self, question: Question, options: EqBenchOptions) -> Trial:
        trial = build_trial(question, options, structured=False)
        if self.words == WORDS:
            return trial
        ends = ((0, self.words["not_at_all"]), (10, self.words["most"]))
        asks = question.asks or self.words["asks"].format(character=question.character)
        form = Form(tuple(replace(scale, anchors=ends) for scale in trial.form.scales))
        return replace(trial, stimulus=f"{question.dialogue}\n\n{asks}", form=form, id="")

    def warnings(self, design: "Design") -> Iterable[str]:
        return ()

    def power(self, design: "Design") -> str:
        """Its interval is for other people and other dialogues: more of the first alone do not narrow it for ever."""
        from eqlab.analysis.special import stdtrit

        people = sum(design.sizes.values())
        dialogues = len({trial.items for batch in design.batches for trial in batch.trials})
        if min(people, dialogues) < 2:
            return "One person, or one dialogue, cannot tell how others differ."
        level = 1 - design.study.analysis.alpha / 2
        own = float(stdtrit(people - 1, level)) / math.sqrt(people)
        least = float(stdtrit(dialogues - 1, level)) * SD_DIALOGUES / math.sqrt(dialogues)
        who = many(people, "person", "people")
        return (
            f"With {who}, the mean on these {dialogues} dialogues is known to within ±{own:.2f} SD of people. "
            f"The result's {200 * level - 100:g} % interval is for other dialogues too: ±{least:.1f} points at best, "
            f"however many people, if they differ by an SD of {SD_DIALOGUES:g} points, as the published ones do for "
            "models."
        )

    def simulated(self, design: "Design", truth: "Truth", seed: int) -> "Readers":
        return Readers(truth)

    def result(self, design: "Design", people: "Analysed") -> "PeopleResult":
        from eqlab.core.studied import PeopleResult

        (asked,) = design.run.benchmarks
        return PeopleResult(EqBench().score(PEOPLE, people.scored, asked.options))

    def recovered(self, design: "Design", truth: "Truth", found: "PeopleResult") -> "Sequence[Recovered]":
        from eqlab.core.studied import Recovered

        headline = found.result.headline
        if headline.value is None:
            return ()
        (asked,) = design.run.benchmarks
        typed = EqBenchOptions.of(asked.options)
        expected = expected_score(design, truth, typed.version, typed.rules)
        return (Recovered(headline.name, expected, headline, null=None),)


@dataclass(frozen=True, slots=True)
class Readers:
    """People who read each emotion with a normal error around its reference."""

    truth: "Truth"

    def person(self, draw: random.Random) -> None:
        return None

    def answer(self, person: Any, trial: Trial, draw: random.Random) -> Mapping[str, Any]:
        reference = trial.key["reference"]
        return {
            scale.key: min(max(round(reference[scale.key] + draw.gauss(0.0, self.truth.effect)), scale.low), scale.high)
            for scale in trial.form.scales
        }


def expected_score(design: "Design", truth: "Truth", version: str, rules: str) -> float:
    """The score that readers with this noise get on average on these dialogues, by simulation."""
    readers, draw = Readers(truth), random.Random("expected score")
    means = []
    for batch in design.batches:
        own = []
        for trial in batch.trials:
            draws = (
                item_score(readers.answer(None, trial, draw), trial.key["reference"], version, PRESETS[rules])
                for _ in range(_DRAWS)
            )
            own += [value for value in draws if value is not None]
        means.append(10 * fmean(own))
    return fmean(means)
