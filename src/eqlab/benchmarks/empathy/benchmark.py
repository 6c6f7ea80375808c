"""Empathy as a benchmark: a subject replies to somebody's story. The replies get their score from raters, people or
judges, whose ratings are answers to trials of their own (`rating.py`)."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from eqlab.benchmarks.empathy.items import OPEN_PATH, EmpathyItem, from_published, parse_open, parse_own
from eqlab.benchmarks.empathy.published import PATH, parse_published
from eqlab.benchmarks.empathy.replies import read_reply
from eqlab.benchmarks.empathy.trials import plan
from eqlab.benchmarks.options import read_options
from eqlab.core.answers import Reading
from eqlab.core.benchmark import NO_CONTEXT, Asking, Context, OptionHelp, Scored, Selection, Source
from eqlab.core.replies import ReplyRow
from eqlab.core.results import ItemScore, Result
from eqlab.core.runs import OWN
from eqlab.core.trials import Trial

_OPTIONS = (
    OptionHelp("style", "empathy", "empathy: say what empathy is; plain: do not", ("empathy", "plain")),
    OptionHelp("situation", "no", "show the story behind the words too (the study seems not to have)", ("yes", "no")),
    OptionHelp("batches", "published", "tens in the order of the file, or balanced by seed", ("published", "balanced")),
)
_TRIES, _TEMPERATURE, _TOKENS = 3, 0.7, 256


class Empathy:
    name = "empathy"
    title = "Empathy"
    protocol = 1
    item_sets = ("open", "published", OWN)

    def option_help(self) -> Sequence[OptionHelp]:
        return _OPTIONS

    def options(self, item_set: str, given: Mapping[str, str]) -> Mapping[str, Any]:
        return {**read_options(self.name, _OPTIONS, given), "item_set": item_set}

    def sources(self, item_set: str, options: Mapping[str, Any]) -> Sequence[Source]:
        shipped = {"open": (Source("open", OPEN_PATH),), "published": (Source("published", PATH),)}
        return shipped.get(item_set, ())

    def prompts(self, files: Mapping[str, bytes], options: Mapping[str, Any]) -> list[EmpathyItem]:
        ((path, content),) = files.items()
        if options["item_set"] == "published":
            return from_published(parse_published(content, path).prompts)
        return parse_own(content, path) if path.startswith("own/") else parse_open(content, path)

    def plan(
        self, files: Mapping[str, bytes], options: Mapping[str, Any], selection: Selection
    ) -> Iterator[tuple[Trial, int]]:
        return plan(self.prompts(files, options), options, selection)

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
        return {item.id: f"{item.situation} {item.utterance}" for item in self.prompts(files, options)}

    def item(self, scored: Scored, options: Mapping[str, Any]) -> ItemScore:
        from eqlab.benchmarks.empathy.result import reply_shown

        return reply_shown(scored)
