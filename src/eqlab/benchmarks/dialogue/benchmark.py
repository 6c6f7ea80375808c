"""Dialogue as a benchmark: a listener, who is measured, talks with a speaker, who tells after each reply how it
feels."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from eqlab.benchmarks.dialogue.personas import (
    OPEN,
    Character,
    from_persona,
    from_sage,
    from_scenario,
    is_scenarios,
    parse_open,
    parse_scenarios,
)
from eqlab.benchmarks.dialogue.published import PERSONAS, parse_personas
from eqlab.benchmarks.dialogue.trials import (
    NAME,
    DialogueOptions,
    next_turn,
    plan,
    read_listener,
    read_speaker,
    read_speakers,
    seats,
    supposed,
    write_speakers,
)
from eqlab.core.answers import Reading
from eqlab.core.benchmark import NO_CONTEXT, Asking, Context, OptionHelp, ReplyRow, Scored, Selection, Source, Turn
from eqlab.core.errors import UsageError
from eqlab.core.results import ItemScore, Result
from eqlab.core.runs import OWN, PEOPLE, ModelConfig
from eqlab.core.trials import Trial

_SPEAKER_TRIES, _LISTENER_TRIES, _TEMPERATURE = 3, 2, 0.7
_LISTENER_TOKENS, _SPEAKER_TOKENS = 300, 400
_TASK_TOKENS = 4000
"""EQ-Bench 3 asks for about a thousand words in three parts."""
_MOST = 50


class Dialogue:
    name = NAME
    title = "Dialogue"
    asks = "A talk with somebody in distress; the score is how that person feels at its end."
    branches = ("manage",)
    protocol = 1
    item_sets = ("open", "published", OWN)
    rubric = "dialogue"

    def option_help(self) -> Sequence[OptionHelp]:
        return DialogueOptions.help()

    def options(self, item_set: str, given: Mapping[str, str]) -> Mapping[str, Any]:
        read = DialogueOptions.read(self.name, item_set, given)
        if read.turns > _MOST:
            raise UsageError(f"{self.name}: {read.turns} turns are too many.", f"Ask for {_MOST} at most.")
        return replace(read, speaker=write_speakers(read_speakers(read.speaker))).plain()

    def sources(self, item_set: str, options: Mapping[str, Any]) -> Sequence[Source]:
        shipped = {"open": (Source("open", OPEN),), "published": (Source("published", PERSONAS),)}
        return shipped.get(item_set, ())

    def characters(self, files: Mapping[str, bytes], options: Mapping[str, Any]) -> list[Character]:
        ((path, content),) = files.items()
        if options["item_set"] == "published":
            return [from_sage(persona) for persona in parse_personas(content, path)]
        if options["item_set"] == OWN and not path.endswith(".toml") and is_scenarios(content):
            return [from_scenario(scenario) for scenario in parse_scenarios(content, path)]
        return [from_persona(persona) for persona in parse_open(content, path)]

    def plan(
        self, files: Mapping[str, bytes], options: Mapping[str, Any], selection: Selection
    ) -> Iterator[tuple[Trial, int]]:
        return plan(self.characters(files, options), DialogueOptions.of(options), selection)

    def next_turn(self, turns: Sequence[Turn], options: Mapping[str, Any]) -> Trial | None:
        return next_turn(turns)

    def seats(self, options: Mapping[str, Any]) -> Mapping[str, ModelConfig]:
        return seats(DialogueOptions.of(options))

    def asking(self, trial: Trial, options: Mapping[str, Any]) -> Asking:
        if trial.seat:
            return Asking(_SPEAKER_TRIES, _TEMPERATURE, 0.0, _SPEAKER_TOKENS)
        return Asking(_LISTENER_TRIES, _TEMPERATURE, 0.0, _LISTENER_TOKENS if trial.system else _TASK_TOKENS)

    def read(self, trial: Trial, text: str, options: Mapping[str, Any]) -> Reading:
        return read_speaker(text) if trial.seat else read_listener(text)

    def supposed(self, trial: Trial, options: Mapping[str, Any], characters: int) -> str:
        return supposed(trial, characters)

    def score(
        self, subject: str, scored: Iterable[Scored], options: Mapping[str, Any], context: Context = NO_CONTEXT
    ) -> Result:
        if subject == PEOPLE:
            from eqlab.benchmarks.dialogue.people_result import people_result

            return people_result(list(scored), options)
        from eqlab.benchmarks.dialogue.result import result

        return result(subject, scored, options, context)

    def item(self, scored: Scored, options: Mapping[str, Any]) -> ItemScore:
        from eqlab.benchmarks.dialogue.result import turn_shown

        return turn_shown(scored)

    def replies(self, arm: str, scored: Iterable[Scored]) -> Iterator[ReplyRow]:
        """Whole talks, for raters: nothing of what the speaker felt, and nothing of its sheet."""
        from eqlab.benchmarks.dialogue.talked import rated_talks

        return rated_talks(arm, scored)

    def probe_options(self) -> Mapping[str, str]:
        return {}

    def texts(self, files: Mapping[str, bytes], options: Mapping[str, Any]) -> Mapping[str, str]:
        return {character.id: character.sheet or character.opening for character in self.characters(files, options)}
