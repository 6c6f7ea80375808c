"""EmotionBench as a benchmark: its options, its files, and the steps in their order."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from eqlab.benchmarks.common.reading import is_refusal, read_json
from eqlab.benchmarks.emotionbench.items import (
    CROWD,
    OPEN,
    SITUATIONS,
    TESTED,
    EmotionBenchOptions,
    Situation,
    chosen,
    is_chosen,
    lead_sentence,
    parse_open,
    parse_own,
    parse_published,
    read_people,
    read_results,
    situations_tested,
)
from eqlab.benchmarks.emotionbench.measures import CONTROLS
from eqlab.benchmarks.emotionbench.trials import Material, plan, read_form
from eqlab.benchmarks.emotionbench.views import norms as norms_of_people
from eqlab.core.answers import Reading
from eqlab.core.benchmark import NO_CONTEXT, Asking, Context, OptionHelp, Scored, Selection, Source
from eqlab.core.errors import UsageError
from eqlab.core.results import ItemScore, Norms, Result
from eqlab.core.runs import OWN, PEOPLE, PERSON
from eqlab.core.trials import Trial
from eqlab.instruments.catalogue import INSTRUMENTS, PANAS, Instrument
from eqlab.instruments.wording import Wording, own_wording, read_wording, wording_file

_TRIES, _TEMPERATURE_STEP = 3, 0.15
_PUBLISHED_TOKENS = 1024


class EmotionBench:
    name = "emotionbench"
    title = "EmotionBench"
    asks = (
        "A questionnaire on feelings, before and after a situation: does the situation move the subject as it should?"
    )
    open_title = "EQ Lab open situations"
    protocol = 1
    item_sets = ("published", "open", OWN)

    def option_help(self) -> Sequence[OptionHelp]:
        return EmotionBenchOptions.help()

    def options(self, item_set: str, given: Mapping[str, str]) -> Mapping[str, Any]:
        read = EmotionBenchOptions.read(self.name, item_set, given)
        panas, published = read.instrument == PANAS.key, item_set == "published"
        options = replace(
            read,
            controls=panas if read.controls == "auto" else read.controls == "yes",
            people=panas and published if read.people == "auto" else read.people == "yes",
            wording=read.wording if read.wording != "auto" else "published" if published else "own",
            defaults=_number("defaults", str(read.defaults), 2),
            repeats=_number("repeats", str(read.repeats), 1),
        )
        if options.people and not panas:
            raise UsageError("People filled in the PANAS only.", "Drop '-o people=yes' or the instrument.")
        if not published and "situations" in given:
            raise UsageError(
                "Only published items have a tested part.", "Add '--items published' or drop 'situations'."
            )
        return options.plain()

    def sources(self, item_set: str, options: Mapping[str, Any]) -> Sequence[Source]:
        typed, names = EmotionBenchOptions.of(options), []
        if item_set == "published" or typed.wording == "published":
            names.append(TESTED)
        if item_set == "published" and typed.situations == "all":
            names.append(SITUATIONS)
        if typed.wording == "published" or not INSTRUMENTS[typed.instrument].ships:
            names.append(wording_file(INSTRUMENTS[typed.instrument]))
        if typed.people:
            names.append(CROWD)
        shipped = [Source("open", OPEN)] if item_set == "open" or typed.controls else []
        return [*shipped, *(Source("published", name) for name in names)]

    def probe_options(self) -> Mapping[str, str]:
        return {"people": "no", "controls": "no", "wording": "own"}

    def texts(self, files: Mapping[str, bytes], options: Mapping[str, Any]) -> Mapping[str, str]:
        return {situation.id: situation.text for situation in situations(files, EmotionBenchOptions.of(options))}

    def plan(
        self, files: Mapping[str, bytes], options: Mapping[str, Any], selection: Selection
    ) -> Iterator[tuple[Trial, int]]:
        typed = EmotionBenchOptions.of(options)
        return plan(material(files, typed), typed, selection)

    def asking(self, trial: Trial, options: Mapping[str, Any]) -> Asking:
        """Temperature 0 as in the study: the fresh item order is what makes answers vary. Raised only after a reply
        that could not be read."""
        tokens = (
            _PUBLISHED_TOKENS
            if EmotionBenchOptions.of(options).wording == "published"
            else 64 + 16 * len(trial.form.scales)
        )
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

    def norms(self, options: Mapping[str, Any], context: Context) -> Norms | None:
        """The published people, of the emotions and factors that were asked; on other situations there are none."""
        typed = EmotionBenchOptions.of(options)
        if not typed.people or typed.item_set != "published":
            return None
        return context.once(f"norms {typed.emotion}, {typed.factor}", lambda: _published_norms(typed, context))

    def item(self, scored: Scored, options: Mapping[str, Any]) -> ItemScore:
        from eqlab.benchmarks.emotionbench.score import administration_shown, administrations

        return administration_shown(administrations([scored])[0])


def _published_norms(options: EmotionBenchOptions, context: Context) -> Norms | None:
    from eqlab.benchmarks.emotionbench.moods import NEGATIVE, norms_of_movement

    people = context.once("published people", lambda: read_people(context.files()[CROWD]))
    asked = [is_chosen(place, options.emotion, options.factor) for place in people.places]
    rises = zip(people.where, people.change(NEGATIVE), strict=True)
    return norms_of_movement([rise for where, rise in rises if asked[where] and rise == rise], "Huang et al. 2024")


def situations(files: Mapping[str, bytes], options: EmotionBenchOptions) -> list[Situation]:
    ours = parse_open(files[OPEN]) if OPEN in files else []
    controls = [situation for situation in ours if situation.emotion in CONTROLS] if options.controls else []
    if options.item_set == "own":
        name = next(name for name in files if name.startswith("own/"))
        theirs = parse_own(files[name], name)
        negative = [situation for situation in theirs if situation.emotion not in CONTROLS]
        controls = [situation for situation in theirs if situation.emotion in CONTROLS] or controls
    elif options.item_set == "open":
        negative = [situation for situation in ours if situation.emotion not in CONTROLS]
    elif options.situations == "all":
        negative = parse_published(files[SITUATIONS])
    else:
        negative = situations_tested(read_results(files[TESTED], "", PANAS, TESTED))
    return [*chosen(negative, options.emotion, options.factor), *controls]


def material(files: Mapping[str, bytes], options: EmotionBenchOptions) -> Material:
    instrument = INSTRUMENTS[options.instrument]
    published = options.wording == "published"
    wording = _wording(instrument, files)
    lead = ""
    if published and wording.instruction:
        lead = lead_sentence(read_results(files[TESTED], "", PANAS, TESTED))
    norms = norms_of_people(read_people(files[CROWD])) if options.people else None
    asked = situations(files, options)
    told = next(((situation.instruction, situation.before) for situation in asked if situation.instruction), ("", ""))
    return Material(instrument, wording, tuple(asked), lead, norms, *told)


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
