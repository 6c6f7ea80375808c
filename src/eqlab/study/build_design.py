"""Studies made ready: what a study file names (replies, items, questionnaires) is looked up and becomes a design.
Nothing is written; `people.founding.found` does that when a study begins."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from eqlab.benchmarks.emotionbench.benchmark import EmotionBench
from eqlab.benchmarks.eqbench.benchmark import EqBench
from eqlab.benchmarks.rating.reply_rows import FILE, ReplyRow, to_jsonl
from eqlab.benchmarks.registry import load
from eqlab.core.benchmark import Source
from eqlab.core.design import Design
from eqlab.core.errors import DataError, UsageError
from eqlab.core.runs import RunConfig
from eqlab.core.study import Study
from eqlab.core.trials import Trial
from eqlab.data.items import read_sources
from eqlab.data.published import published_folder
from eqlab.instruments.catalogue import instrument as find_instrument
from eqlab.instruments.listing import wording_file
from eqlab.instruments.wording import QUESTIONNAIRES, Wording, own_wording, read_instrument_file, read_questionnaires
from eqlab.runs import judge as judging
from eqlab.runs.identity import configured
from eqlab.store.store import Store
from eqlab.study.file import read_study
from eqlab.study.kinds import common, eqbench, evoked, rating

Say = Callable[[str], None]
_PEOPLE = {"purpose": "people"}


def open_study(path: Path, store: Store, data: Path | None = None, say: Say = lambda _: None) -> tuple[str, Design]:
    """A study file's text and its design. Files that it names are looked for beside it."""
    try:
        text = judging.read_file(path).decode("utf-8")
    except UnicodeDecodeError as error:
        raise DataError(f"{path} is not text in UTF-8 (byte {error.start}).", "Save it as UTF-8.") from error
    study = read_study(text.removeprefix("\ufeff"), path.name)
    return text, design_of(study, store, data, say, folder=path.parent)


def design_of(
    study: Study,
    store: Store,
    data: Path | None = None,
    say: Say = lambda _: None,
    *,
    folder: Path | None = None,
) -> Design:
    """Everything the study asks. Raises where something it names is missing."""
    made = {"rating": _rating, "evoked": _evoked, "eqbench": _eqbench}[study.kind](study, store, data, say, folder)
    reference = study.analysis.reference
    if reference and reference not in made.arms:
        raise UsageError(
            f"Study '{study.id}': analysis.reference '{reference}' is none of its arms.",
            f"They are: {', '.join(made.arms)}.",
        )
    return made


# -- the three kinds -----------------------------------------------------------------------------------------------


def _rating(study: Study, store: Store, data: Path | None, say: Say, folder: Path | None) -> Design:
    rows = [row for name, source in study.arms for row in arm_replies(name, source, store, data, say, folder)]
    rows = judging.comparable(rows, say)
    content = {FILE: to_jsonl(rows)}
    benchmark = load("rating")
    published = all(source.partition(":")[0] == "published" for _, source in study.arms)
    options = benchmark.options("published" if published else "replies", _PEOPLE)
    run = _run(study, benchmark, content, options)
    return _design(study, run, rating.batches(study, rows), rating.checks(study), data)


def _evoked(study: Study, store: Store, data: Path | None, say: Say, folder: Path | None) -> Design:
    benchmark = EmotionBench()
    options = benchmark.options(study.items, dict(study.options))
    files = read_sources(benchmark.sources(study.items, options), data)
    material = benchmark.material(files, options)
    run = _run(study, benchmark, files, {**options, **_PEOPLE})
    batches = evoked.batches(study, material)
    served = evoked.one_person_a_batch(study)
    return replace(_design(served, run, batches, evoked.checks(study, material), data), shuffle=False)


def _eqbench(study: Study, store: Store, data: Path | None, say: Say, folder: Path | None) -> Design:
    benchmark = EqBench()
    options = benchmark.options(study.items, dict(study.options))
    files = read_sources(benchmark.sources(study.items, options), data)
    batches = eqbench.batches(study, benchmark.questions(files, options), options)
    run = _run(study, benchmark, files, {**options, **_PEOPLE})
    return _design(study, run, batches, eqbench.checks(study, batches), data)


def _run(study: Study, benchmark: Any, content: dict[str, bytes], options: Any) -> RunConfig:
    """The run of a study is its own: the study's id is part of it."""
    config = configured(benchmark, {**options, "study": study.id}, content)
    return RunConfig((), (config,), "full", study.limit, None, study.seed)


def _design(
    study: Study, run: RunConfig, batches: tuple[Any, ...], checks: tuple[Trial, ...], data: Path | None
) -> Design:
    pages = tuple(
        common.instrument_page(study, find_instrument(key), wording_of(key, data)) for key in study.instruments
    )
    return Design(study, run, batches, pages, common.quiz(study.tutorial), checks)


# -- what a study file names -----------------------------------------------------------------------------------------


def wording_of(key: str, data: Path | None) -> Wording:
    """The words of an instrument: ours where they ship, else from the published data."""
    instrument = find_instrument(key)
    own = own_wording(instrument)
    if own is not None:
        return own
    name = wording_file(instrument)
    try:
        content = read_sources([Source("published", name)], data)[name]
    except DataError as error:
        get = "get it with 'eqlab data fetch emotionbench', " if name == QUESTIONNAIRES else ""
        raise DataError(
            f"The wording of {key} is not shipped, and {name} is not in {published_folder(data)}.",
            f"Take {key} out of 'instruments', {get}or name a folder that has the file: --data DIR or EQLAB_DATA.",
        ) from error
    if name == QUESTIONNAIRES:
        return read_questionnaires(content, instrument)
    return read_instrument_file(content, instrument, name)


def arm_replies(
    arm: str, source: str, store: Store, data: Path | None, say: Say, folder: Path | None = None
) -> list[ReplyRow]:
    """The replies of one arm, one to a prompt, under the arm's name."""
    where, chosen = split_source(source, folder)
    rows = judging.collect((where,), store, data, say)
    rows = [replace(row, arm=arm) for row in _of_model(rows, source, where, chosen)]
    first: dict[str, ReplyRow] = {}
    for row in sorted(rows, key=lambda row: row.repeat):
        first.setdefault(row.prompt, row)
    if len(first) < len(rows):
        say(f"Arm '{arm}': {len(rows) - len(first)} further replies to the same prompts are left out.")
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
