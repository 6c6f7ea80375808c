"""Studies made ready: what a study file names (replies, items, questionnaires) is looked up and becomes a design.
Nothing is written before a study begins.

Pages that every kind of study may have besides its own trials: questionnaires, the comprehension check, questions of
the researcher's own, gold items."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from importlib.metadata import version
from itertools import chain
from pathlib import Path
from typing import Any

from eqlab.benchmarks.rating.trials import FILE, by_key, to_jsonl
from eqlab.benchmarks.registry import load
from eqlab.core.benchmark import Benchmark, ReplyRow, Source, check_item_set, file_sources
from eqlab.core.design import Batch, Design
from eqlab.core.errors import DataError, StoreError, UsageError
from eqlab.core.forms import Field, Form, Number, Scale, Several, Writing
from eqlab.core.item_file import own_title
from eqlab.core.plural import many
from eqlab.core.runs import OWN, TITLE, RunConfig
from eqlab.core.studied import Conversing, StudyForm
from eqlab.core.study import OwnQuestion, Study, Tutorial
from eqlab.core.toml_file import decoded
from eqlab.core.trials import Trial
from eqlab.data.items import read_sources
from eqlab.data.published import published_folder
from eqlab.instruments.catalogue import Instrument
from eqlab.instruments.catalogue import instrument as find_instrument
from eqlab.instruments.wording import PARTNER, QUESTIONNAIRES, Wording, own_wording, read_wording, scales, wording_file
from eqlab.runs import judge as judging
from eqlab.runs.identity import configured, provenance
from eqlab.store.store import Store
from eqlab.store.study.studies import begun_at, begun_with, create_study
from eqlab.study.file import ITEM_SETS, default_instruction, read_study
from eqlab.study.kinds import kind_of
from eqlab.study.talks import too_little
from eqlab.study.texts import Texts, own_folder, own_words
from eqlab.study.texts import load as load_texts


def instrument_page(study: Study, instrument: Instrument, wording: Wording) -> Trial:
    """A questionnaire in its own order."""
    told = f"{study.instruments_text} {PARTNER}" if instrument.key == "MJS" else study.instruments_text
    return Trial(
        "instrument",
        (instrument.key,),
        "instrument",
        told,
        Form(scales(instrument, wording)),
        "",
        key={"instrument": instrument.key},
    )


def quiz(tutorial: Tutorial) -> Trial | None:
    """The tutorial and its questions on one page; None where there are no questions."""
    if not tutorial.questions:
        return None
    asked = tuple(
        Scale(f"quiz{number}", question.text, 1, len(question.options), tuple(enumerate(question.options, start=1)))
        for number, question in enumerate(tutorial.questions, start=1)
    )
    right = {scale.key: question.answer for scale, question in zip(asked, tutorial.questions, strict=True)}
    return Trial("quiz", ("quiz",), "quiz", tutorial.text, Form(asked), "", key={"right": right})


def own_page(name: str, questions: Sequence[OwnQuestion], told: str, texts: Texts) -> Trial | None:
    """Questions of the researcher's own on one page; None where there are none."""
    if not questions:
        return None
    fields = tuple(_field(question, texts("prefer_not") if question.prefer_not else "") for question in questions)
    return Trial("question", (name,), name, told, Form(fields=fields), "")


def _field(question: OwnQuestion, declined: str) -> Field:
    if question.ask == "one":
        options = (*question.options, *((declined,) if declined else ()))
        return Scale(question.key, question.text, 1, len(options), tuple(enumerate(options, start=1)))
    if question.ask == "several":
        return Several(question.key, question.text, question.options, question.optional, declined)
    if question.ask == "number":
        return Number(question.key, question.text, question.low, question.high, question.optional, declined)
    return Writing(question.key, question.text, optional=question.optional, declined=declined)


def gold_pages(study: Study, batches: Sequence[Batch]) -> tuple[Trial, ...]:
    """Pages with the trials' own form, whose right answer is beyond doubt."""
    if not study.checks.gold:
        return ()
    forms = {trial.form for batch in batches for trial in batch.trials}
    if len(forms) > 1:
        raise UsageError(
            f"Study '{study.id}': its trials have different forms, so that a gold item would stand out.",
            "Delete checks.gold.",
        )
    (form,) = forms
    known = {scale.key: scale for scale in form.scales}
    made = []
    for number, gold in enumerate(study.checks.gold, start=1):
        scale = known.get(gold.scale or next(iter(known), ""))
        if scale is None or not all(scale.holds(value) for value in gold.accept):
            right = f"values from {scale.low} to {scale.high}" if scale else f"a scale of: {', '.join(known) or 'none'}"
            raise UsageError(
                f"Study '{study.id}': checks.gold[{number}] accepts an answer that its form does not have.",
                f"Write {right}.",
            )
        key = {"accept": {scale.key: list(gold.accept)}}
        made.append(Trial("gold", (f"gold{number}",), "gold", gold.text, form, "", key=key))
    return tuple(made)


Say = Callable[[str], None]
_PEOPLE = {"purpose": "people"}


_READING, _TRIES = 60.0, 20
"""Seconds that reading replies may take when a study begins, and how many that came meanwhile may be told apart."""


def open_study(path: Path, store: Store, data: Path | None = None, say: Say = lambda _: None) -> tuple[str, Design]:
    """A study file's text and its design. Files that it names are looked for beside it."""
    text = decoded(judging.read_file(path), str(path))
    study = read_study(text, path.name)
    design = _as_begun(study, text, store, data, path, say) or design_of(study, store, data, say, folder=path.parent)
    for line in too_little(design):
        say(line)
    for one in study.not_after:
        if begun_with(store, one) is None:
            say(f"not_after: no study '{one}' has begun in this store yet.")
    begun = begun_with(store, study.id)
    if begun not in (None, design.sha256):
        say(f"Study '{study.id}' has begun with other pages than its file has now.")
    elif begun and _other_words(store, design):
        say(f"Study '{study.id}' has begun with other words in '{study.language}' than its language file has now.")
    return text, design


def begin_study(store: Store, design: Design, file: str) -> None:
    """Write a study down, and whose words its pages have: harmless when repeated, refused once either has changed."""
    words = own_words(design.study.language)
    create_study(store, design, file, version("eqlab"), {**provenance({}), _WORDS: words})
    if _other_words(store, design):
        raise StoreError(
            f"Study '{design.study.id}' has begun with other words in '{design.study.language}' than are in "
            f"{own_folder()} now: people would be told something else.",
            "Restore the language file, or give the study a new id.",
        )


_WORDS = "words"
"""Notes, as a study begins, the digest of its language file."""


def _other_words(store: Store, design: Design) -> bool:
    """A study that began before this was noted has no other."""
    now = own_words(design.study.language)
    return bool(store.read_run(design.run.id).provenance.get(_WORDS, now) != now)


def _as_begun(study: Study, text: str, store: Store, data: Path | None, path: Path, say: Say) -> Design | None:
    """The design that a study has begun with: of the replies that its runs had then, whatever they have got since.
    None if it has not begun, or its file or what that names has changed."""
    begun, at = begun_with(store, study.id), begun_at(store, study.id)
    if begun is None or at is None:
        return None
    studies = [study]
    if study.language != "en":  # begun with 0.1, whose trials had English words in every language
        studies.append(read_study(text, path.name, words="en"))
    # begun when those who write were asked to choose, as everybody else
    for one in list(studies):
        texts = load_texts(one.words or one.language)
        then, now = texts.words["instruction"], default_instruction(one.kind, texts)
        if one.checks.instruction == now != then:
            studies.append(replace(one, checks=replace(one.checks, instruction=then)))
    # begun with 0.2, whose checks had the first item's choices
    studies += [replace(one, checks=replace(one.checks, question="", choices=())) for one in studies]
    for until in chain((at,), _other_times(study, store, path.parent, at)):
        for one in studies:
            said: list[str] = []
            with suppress(UsageError):  # as it was then, a run may lack what the study needs
                made = design_of(one, store, data, said.append, folder=path.parent, until=until)
                for design in (made, _by_key(made)):
                    if design.sha256 == begun:
                        for line in said:
                            say(line)
                        return design
    return None


def _by_key(design: Design) -> Design:
    """With the conditions that its trials had before 0.3 came out."""
    batches = (replace(batch, trials=tuple(map(by_key, batch.trials))) for batch in design.batches)
    return replace(design, batches=tuple(batches))


def _other_times(study: Study, store: Store, folder: Path, at: float) -> Iterator[float]:
    """Until when a study may have read its replies, if not until it began: some may have come meanwhile, or from a
    machine whose clock runs ahead."""
    if kind_of(study).form().arms != "replies":
        return
    times: set[float] = set()
    for _, source in study.arms:
        with suppress(UsageError):
            times |= judging.answer_times(split_source(source, folder)[0], store, at)
    if max(times, default=0.0) > at - _READING:
        yield from reversed(sorted(one for one in times if one <= at)[-_TRIES:-1])
        yield math.inf


def design_of(
    study: Study,
    store: Store,
    data: Path | None = None,
    say: Say = lambda _: None,
    *,
    folder: Path | None = None,
    until: float = math.inf,
) -> Design:
    """Everything the study asks, of replies those that runs had at `until`. Raises where something it names is
    missing."""
    kind = kind_of(study)
    form = kind.form()
    benchmark = load(form.benchmark)
    if form.arms == "replies":
        files, options = _replies(study, form, benchmark, store, data, say, folder, until)
    else:
        own = {option.name for option in form.own_options}
        given = {**dict(form.options), **{name: value for name, value in study.options if name not in own}}
        if isinstance(kind, Conversing):
            given |= kind.options(study)
        files, options = _items(study, benchmark, given, data, folder)
        options = {**options, **_PEOPLE}
    pages = kind.pages(study, files, options)
    if pages.people_per_batch is not None:
        study = replace(study, places=replace(study.places, people_per_batch=pages.people_per_batch))
    instruments = tuple(
        instrument_page(study, find_instrument(key), wording_of(key, data)) for key in study.instruments
    )
    texts = load_texts(study.language)
    design = Design(
        study,
        _run(study, benchmark, files, options),
        pages.batches,
        instruments,
        quiz(study.tutorial),
        pages.checks,
        shuffle=not pages.in_order,
        before=own_page("before", study.before, texts("own_before"), texts),
        after=own_page("after", study.after, texts("own_after"), texts),
        gold=gold_pages(study, pages.batches),
        talks=pages.talks,
    )
    _check_reference(design)
    return design


def _check_reference(design: Design) -> None:
    named = [name for name, _ in design.study.arms] or list(design.arms)
    reference = design.study.analysis.reference
    if reference and reference not in named:
        raise UsageError(
            f"Study '{design.study.id}': analysis.reference '{reference}' is not one of its arms.",
            f"They are: {', '.join(named)}.",
        )


def _replies(
    study: Study,
    form: StudyForm,
    benchmark: Benchmark,
    store: Store,
    data: Path | None,
    say: Say,
    folder: Path | None,
    until: float,
) -> tuple[dict[str, bytes], Mapping[str, Any]]:
    """The arms' replies to the prompts that all arms have replied to."""
    rows = [row for name, source in study.arms for row in arm_replies(name, source, store, data, say, folder, until)]
    rows = judging.comparable(rows, say)
    published = all(source.partition(":")[0] == "published" for _, source in study.arms)
    options = benchmark.options("published" if published else "replies", dict(form.options))
    return {FILE: to_jsonl(rows)}, options


def _items(
    study: Study, benchmark: Benchmark, given: Mapping[str, str], data: Path | None, folder: Path | None
) -> tuple[dict[str, bytes], Mapping[str, Any]]:
    """The items asked: ours, the published study's, or those of a file beside the study file, under its own title."""
    check_item_set(benchmark, study.items if study.items in ITEM_SETS else OWN, "items =")
    if study.items in ITEM_SETS:
        options = benchmark.options(study.items, given)
        return read_sources(benchmark.sources(study.items, options), data), options
    options = benchmark.options(OWN, given)
    files = read_sources(file_sources(benchmark, str((folder or Path()) / study.items), options), data)
    return files, {**options, TITLE: own_title(next(iter(files.values())), study.items)}


def _run(study: Study, benchmark: Benchmark, content: Mapping[str, bytes], options: Mapping[str, Any]) -> RunConfig:
    """The run of a study is its own: the study's id is part of it."""
    config = configured(benchmark, {**options, "study": study.id}, content)
    return RunConfig((), (config,), "full", study.limit, None, study.seed)


# -- what a study file names -----------------------------------------------------------------------------------------


def wording_of(key: str, data: Path | None) -> Wording:
    """The words of an instrument: ours where they ship, else from the published data."""
    instrument = find_instrument(key)
    wording = own_wording(instrument)
    if wording is not None:
        return wording
    name = wording_file(instrument)
    try:
        content = read_sources([Source("published", name)], data)[name]
    except DataError as error:
        get = "get it with 'eqlab data fetch emotionbench', " if name == QUESTIONNAIRES else ""
        raise DataError(
            f"The wording of {key} is not shipped, and {name} is not in {published_folder(data)}.",
            f"Take {key} out of 'instruments', {get}or name a folder that has the file: --data DIR or EQLAB_DATA.",
        ) from error
    return read_wording(content, instrument)


def arm_replies(
    arm: str,
    source: str,
    store: Store,
    data: Path | None,
    say: Say,
    folder: Path | None = None,
    until: float = math.inf,
) -> list[ReplyRow]:
    """The replies of one arm, one to a prompt, under the arm's name."""
    where, chosen = split_source(source, folder)
    rows = judging.collect((where,), store, data, say, until)
    rows = [replace(row, arm=arm) for row in _of_model(rows, source, where, chosen)]
    first: dict[str, ReplyRow] = {}
    for row in sorted(rows, key=lambda row: row.repeat):
        first.setdefault(row.prompt, row)
    if len(first) < len(rows):
        say(
            f"Arm '{arm}': {many(len(rows) - len(first), 'further reply', 'further replies')} to the same "
            "prompts are left out."
        )
    return list(first.values())


def split_source(source: str, folder: Path | None = None) -> tuple[str, str]:
    """(where the replies are, which model's) of `RUN:MODEL`, `published:ARM`, `FILE:ARM` or one without the second
    part. A file's name may stand for one beside the study file."""
    beside = folder or Path()
    for where, chosen in ((source, ""), source.partition(":")[::2], source.rpartition(":")[::2]):
        if where and (beside / where).is_file():
            return str(beside / where), chosen
    where, _, chosen = source.partition(":")
    return where, chosen


def _of_model(rows: Sequence[ReplyRow], source: str, where: str, chosen: str) -> list[ReplyRow]:
    there = sorted({row.arm for row in rows})
    if not chosen:
        if len(there) > 1:
            raise UsageError(
                f"'{source}' holds replies of {len(there)}: {', '.join(there)}.",
                f'An arm has the replies of one: write "{source}:{there[0]}".',
            )
        return list(rows)
    named = [name for name in there if name == chosen] or [name for name in there if name.endswith(f"/{chosen}")]
    if len(named) != 1:
        raise UsageError(f"'{where}' has no replies of '{chosen}'.", f"It has those of: {', '.join(there)}.")
    return [row for row in rows if row.arm == named[0]]
