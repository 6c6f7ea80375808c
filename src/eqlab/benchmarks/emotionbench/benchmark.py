"""EmotionBench as a benchmark: its options, its files, and the steps in their order."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from eqlab.benchmarks.common.reading import is_refusal, read_json
from eqlab.benchmarks.emotionbench.items import (
    OPEN,
    SITUATIONS,
    TESTED,
    Situation,
    chosen,
    lead_sentence,
    parse_open,
    parse_own,
    parse_published,
    situations_tested,
)
from eqlab.benchmarks.emotionbench.measures import CONTROLS, EMOTIONS
from eqlab.benchmarks.emotionbench.parse import read_form
from eqlab.benchmarks.emotionbench.published import CROWD, read_people, read_results
from eqlab.benchmarks.emotionbench.trials import Material, plan
from eqlab.benchmarks.emotionbench.views import norms as norms_of_people
from eqlab.benchmarks.options import read_options
from eqlab.core.answers import Reading
from eqlab.core.benchmark import NO_CONTEXT, Asking, Context, OptionHelp, Scored, Selection, Source
from eqlab.core.errors import UsageError
from eqlab.core.results import ItemScore, Result
from eqlab.core.runs import OWN, PEOPLE, PERSON
from eqlab.core.trials import Trial
from eqlab.instruments.catalogue import INSTRUMENTS, PANAS, Instrument
from eqlab.instruments.wording import Wording, own_wording, read_wording, wording_file

_AUTO = ("auto", "yes", "no")
_OPTIONS = (
    OptionHelp("instrument", "PANAS", "the questionnaire", tuple(INSTRUMENTS)),
    OptionHelp("emotion", "all", "only situations of one emotion", ("all", *(name.lower() for name in EMOTIONS))),
    OptionHelp("factor", "all", "only situations of one factor, by name or number (Anger-2)"),
    OptionHelp("situations", "tested", "published items: the 175 that were tested, or all 428", ("tested", "all")),
    OptionHelp("controls", "auto", "add positive and neutral controls (auto: with PANAS)", _AUTO),
    OptionHelp("people", "auto", "compare with people; needs published data (auto: with published items)", _AUTO),
    OptionHelp("wording", "auto", "prompt: ours or the study's (auto: as the items)", ("auto", "own", "published")),
    OptionHelp("defaults", "profile", "number of default runs (full 50, quick 3)"),
    OptionHelp("repeats", "profile", "repeats per situation, each in a fresh order (full 10, quick 1)"),
)
_TRIES, _TEMPERATURE_STEP = 3, 0.15
_PUBLISHED_TOKENS = 1024


class EmotionBench:
    name = "emotionbench"
    title = "EmotionBench"
    protocol = 1
    item_sets = ("open", "published", OWN)

    def option_help(self) -> Sequence[OptionHelp]:
        return _OPTIONS

    def options(self, item_set: str, given: Mapping[str, str]) -> Mapping[str, Any]:
        options = read_options(self.name, _OPTIONS, given)
        panas = options["instrument"] == PANAS.key
        for name, automatic in (("controls", panas), ("people", panas and item_set == "published")):
            options[name] = automatic if options[name] == "auto" else options[name] == "yes"
        if options["wording"] == "auto":
            options["wording"] = "published" if item_set == "published" else "own"
        for name, least in (("defaults", 2), ("repeats", 1)):
            options[name] = _number(name, options[name], least)
        if options["people"] and not panas:
            raise UsageError("People filled in the PANAS only.", "Drop '-o people=yes' or the instrument.")
        if item_set != "published" and "situations" in given:
            raise UsageError(
                "Only published items have a tested part.", "Add '--items published' or drop 'situations'."
            )
        return {**options, "item_set": item_set}

    def sources(self, item_set: str, options: Mapping[str, Any]) -> Sequence[Source]:
        names = []
        if item_set == "published" or options["wording"] == "published":
            names.append(TESTED)
        if item_set == "published" and options["situations"] == "all":
            names.append(SITUATIONS)
        if options["wording"] == "published" or not INSTRUMENTS[options["instrument"]].ships:
            names.append(wording_file(INSTRUMENTS[options["instrument"]]))
        if options["people"]:
            names.append(CROWD)
        shipped = [Source("open", OPEN)] if item_set == "open" or options["controls"] else []
        return [*shipped, *(Source("published", name) for name in names)]

    def probe_options(self) -> Mapping[str, str]:
        return {"people": "no", "controls": "no", "wording": "own"}

    def texts(self, files: Mapping[str, bytes], options: Mapping[str, Any]) -> Mapping[str, str]:
        return {situation.id: situation.text for situation in self.situations(files, options)}

    def situations(self, files: Mapping[str, bytes], options: Mapping[str, Any]) -> list[Situation]:
        ours = parse_open(files[OPEN]) if OPEN in files else []
        controls = [situation for situation in ours if situation.emotion in CONTROLS] if options["controls"] else []
        if options["item_set"] == "own":
            name = next(name for name in files if name.startswith("own/"))
            own = parse_own(files[name], name)
            negative = [situation for situation in own if situation.emotion not in CONTROLS]
            controls = [situation for situation in own if situation.emotion in CONTROLS] or controls
        elif options["item_set"] == "open":
            negative = [situation for situation in ours if situation.emotion not in CONTROLS]
        elif options["situations"] == "all":
            negative = parse_published(files[SITUATIONS])
        else:
            negative = situations_tested(read_results(files[TESTED], "", PANAS, TESTED))
        return [*chosen(negative, options["emotion"], options["factor"]), *controls]

    def material(self, files: Mapping[str, bytes], options: Mapping[str, Any]) -> Material:
        instrument = INSTRUMENTS[options["instrument"]]
        published = options["wording"] == "published"
        wording = _wording(instrument, files)
        lead = ""
        if published and wording.instruction:
            lead = lead_sentence(read_results(files[TESTED], "", PANAS, TESTED))
        norms = norms_of_people(read_people(files[CROWD])) if options["people"] else None
        situations = self.situations(files, options)
        told = next(((one.instruction, one.before) for one in situations if one.instruction), ("", ""))
        return Material(instrument, wording, tuple(situations), lead, norms, *told)

    def plan(
        self, files: Mapping[str, bytes], options: Mapping[str, Any], selection: Selection
    ) -> Iterator[tuple[Trial, int]]:
        return plan(self.material(files, options), options, selection)

    def asking(self, trial: Trial, options: Mapping[str, Any]) -> Asking:
        """Temperature 0 as in the study: the fresh item order is what makes answers vary. Raised only after a reply
        that could not be read."""
        tokens = _PUBLISHED_TOKENS if options["wording"] == "published" else 64 + 16 * len(trial.form.scales)
        return Asking(_TRIES, 0.0, _TEMPERATURE_STEP, tokens)

    def read(self, trial: Trial, text: str, options: Mapping[str, Any]) -> Reading:
        if trial.mode == "json":
            reading = read_json(text, trial.form)
            if any(value != int(value) for value in reading.values.values()):
                return Reading("unparseable", note="an answer is not a whole number")
            return reading
        filled = read_form(text, trial.form)
        if filled.values is not None:
            return Reading("ok", filled.values)
        return Reading("refused" if is_refusal(text) else "unparseable", note=filled.why)

    def score(
        self, subject: str, scored: Iterable[Scored], options: Mapping[str, Any], context: Context = NO_CONTEXT
    ) -> Result:
        if subject == PEOPLE or subject.startswith(PERSON):
            from eqlab.benchmarks.emotionbench.people import people_result

            return people_result(scored, options)
        from eqlab.benchmarks.emotionbench.result import result

        return result(subject, scored, options)

    def item(self, scored: Scored, options: Mapping[str, Any]) -> ItemScore:
        from eqlab.benchmarks.emotionbench.score import administration_shown, administrations

        return administration_shown(administrations([scored])[0])


def _wording(instrument: Instrument, files: Mapping[str, bytes]) -> Wording:
    """The published words where the file is there, else ours."""
    name = wording_file(instrument)
    if name in files:
        return read_wording(files[name], instrument)
    wording = own_wording(instrument)
    if wording is None:
        raise UsageError(f"The wording of {instrument.key} is not shipped.", f"Name a folder with {name}: --data DIR.")
    return wording


def _number(name: str, text: str, least: int) -> str | int:
    if text == "profile":
        return text
    if not text.isdecimal() or int(text) < least:
        raise UsageError(
            f"emotionbench: option '{name}' needs a whole number from {least} on, or 'profile', not '{text}'."
        )
    return int(text)
