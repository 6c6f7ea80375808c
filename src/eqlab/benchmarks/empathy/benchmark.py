"""Empathy as a benchmark: somebody's words above, one field for a reply below. The replies get their score from raters,
people or judges, whose ratings are answers to trials of their own (`benchmarks/rating`)."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from eqlab.benchmarks.common.selection import balanced_batches, spread
from eqlab.benchmarks.empathy.items import OPEN_PATH, EmpathyItem, parse_open, parse_own
from eqlab.benchmarks.empathy.published import BATCH_SIZE, PATH, from_published, parse_published
from eqlab.benchmarks.empathy.replies import MEAN_WORDS, MOST_WORDS, read_reply
from eqlab.benchmarks.options import Options, option
from eqlab.core.answers import Reading
from eqlab.core.benchmark import NO_CONTEXT, Asking, Context, OptionHelp, ReplyRow, Scored, Selection, Source
from eqlab.core.forms import Form
from eqlab.core.item_file import filled
from eqlab.core.results import ItemScore, Result
from eqlab.core.runs import OWN
from eqlab.core.trials import Trial

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
    open_title = "EQ Lab open prompts"
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
        from eqlab.benchmarks.empathy.result import result

        return result(subject, scored, options)

    def replies(self, arm: str, scored: Iterable[Scored]) -> Iterator[ReplyRow]:
        from eqlab.benchmarks.empathy.result import given_replies

        for one in given_replies(scored):
            if one.text:
                key = one.trial.key
                about = (key["emotion"], key["valence"], key["situation"], key["utterance"], key["batch"])
                yield ReplyRow(arm, one.trial.items[0], one.text, *about, one.repeat)

    def probe_options(self) -> Mapping[str, str]:
        return {}

    def texts(self, files: Mapping[str, bytes], options: Mapping[str, Any]) -> Mapping[str, str]:
        return {item.id: f"{item.situation} {item.utterance}" for item in prompts(files, EmpathyOptions.of(options))}

    def item(self, scored: Scored, options: Mapping[str, Any]) -> ItemScore:
        from eqlab.benchmarks.empathy.result import reply_shown

        return reply_shown(scored)


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
