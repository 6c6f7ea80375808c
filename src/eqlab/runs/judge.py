"""Judges at work: collect replies from runs, from the published data and from files, and have a model rate them.
The run itself is an ordinary one: stored, continued, scored and reported like any other."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from eqlab.benchmarks.empathy.items import OPEN_PATH, EmpathyItem, from_published, parse_open
from eqlab.benchmarks.empathy.published import PATH, parse_published
from eqlab.benchmarks.rating.benchmark import Ratings
from eqlab.benchmarks.rating.imported import Prompts, bad_rows_text, read_replies
from eqlab.benchmarks.rating.rated import rated
from eqlab.benchmarks.rating.reply_rows import FILE, ReplyRow, in_all_arms, to_jsonl
from eqlab.benchmarks.registry import find
from eqlab.core.benchmark import Rated, Source
from eqlab.core.errors import DataError, UsageError
from eqlab.core.runs import PEOPLE, ModelConfig, RunConfig
from eqlab.data.items import read_sources
from eqlab.models.runner import Asked
from eqlab.runs.identity import configured
from eqlab.runs.request import Prepared, check_counts
from eqlab.store.store import Store, StoredRun

CALIBRATION_PROMPTS = 100
"""Published prompts a calibration asks about if nobody says how many: three replies each."""
_ENDINGS = (".csv", ".jsonl", ".ndjson")
Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class JudgeRequest:
    """What a user asks for, before names are looked up."""

    judges: tuple[str, ...]
    on: tuple[str, ...]
    """Run ids (or `last`), `published`, `author`, or files."""
    limit: int | None = None
    repeats: int | None = None
    seed: int = 0
    base_url: str = ""
    structured: bool | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    pairwise: bool = False
    calibration: bool = False
    data: Path | None = None


def prepare(request: JudgeRequest, store: Store, say: Say = lambda _: None) -> Prepared:
    """Collect the replies; raises before anything is asked or stored."""
    check_counts(limit=request.limit, repeats=request.repeats)
    if request.calibration and request.on != ("published",):
        rows = [row for name in request.on for row in study_replies(store, store.find_run(name))]
    else:
        rows = comparable(collect(request.on, store, request.data, say), say)
    content = {FILE: to_jsonl(rows)}
    benchmark = Ratings()
    given = {
        "pairwise": "yes" if request.pairwise else "no",
        "purpose": "calibration" if request.calibration else "judging",
    }
    options = benchmark.options("published" if request.on == ("published",) else "replies", given)
    models = tuple(_judge(spec, request) for spec in dict.fromkeys(request.judges))
    return Prepared(
        RunConfig(
            models, (configured(benchmark, options, content),), "full", request.limit, request.repeats, request.seed
        ),
        {benchmark.name: Asked(benchmark, options)},
        {benchmark.name: content},
    )


def _judge(spec: str, request: JudgeRequest) -> ModelConfig:
    embedded = spec == "embedded"
    structured = embedded if request.structured is None else request.structured
    return ModelConfig(spec, "" if embedded else request.base_url, structured, dict(request.settings), "judge")


def collect(sources: Sequence[str], store: Store, data: Path | None, say: Say) -> list[ReplyRow]:
    """All replies that the sources hold; arms of the same name from two sources are told apart by their source."""
    if not sources:
        raise UsageError("There is nothing to judge.", "Name a run, a file or 'published' with --on.")
    found = {source: _source(source, store, data, say) for source in dict.fromkeys(sources)}
    owners: dict[str, list[str]] = {}
    for source, rows in found.items():
        for arm in {row.arm for row in rows}:
            owners.setdefault(arm, []).append(source)
    return [
        replace(row, arm=f"{row.arm}@{source}") if len(owners[row.arm]) > 1 else row
        for source, rows in found.items()
        for row in rows
    ]


def _source(source: str, store: Store, data: Path | None, say: Say) -> list[ReplyRow]:
    if source == "published":
        return published_replies(data)
    if source == "author":
        return [_row("author", item, item.reply) for item in open_prompts()]
    if source.lower().endswith(_ENDINGS) or "/" in source or Path(source).is_file():
        return file_replies(Path(source), data, say)
    return run_replies(store, newest_with_replies(store) if source == "last" else store.find_run(source))


def newest_with_replies(store: Store) -> StoredRun:
    """`last` means the newest run that has something to judge, whatever ran since."""
    for run in store.run_ids():
        stored = store.read_run(run)
        if stored.config.models and any(isinstance(find(asked.name), Rated) for asked in stored.config.benchmarks):
            return stored
    raise UsageError("No run in the store has replies.", "Make some with 'eqlab run -b empathy MODEL'.")


def study_replies(store: Store, stored: StoredRun) -> list[ReplyRow]:
    """The replies that people rated in a study, or in a table of ratings, each with everybody's rating."""
    if stored.config.models or not any(asked.name == Ratings.name for asked in stored.config.benchmarks):
        raise UsageError(
            f"Run {stored.id} holds no ratings by people.", "'eqlab runs' lists runs; name the one of a rating study."
        )
    found: dict[tuple[str, str], ReplyRow] = {}
    for one in rated(store.scored(stored.id, PEOPLE, Ratings.name)):
        if one.value is None or one.trial.condition != "absolute" or not one.key.get("reply"):
            continue
        key = one.key
        place = (one.arm, one.prompt)
        row = found.get(place) or ReplyRow(
            one.arm,
            one.prompt,
            str(key["reply"]),
            str(key.get("emotion") or ""),
            str(key.get("valence") or ""),
            str(key.get("situation") or ""),
            str(key.get("utterance") or ""),
        )
        found[place] = replace(row, human=(*row.human, (one.rater, one.value)))
    if not found:
        raise UsageError(
            f"Run {stored.id} has no rating of a reply whose text is known, on the form Bad, Okay, Good.",
            "Wait for answers, or name another study.",
        )
    return list(found.values())


def published_replies(data: Path | None) -> list[ReplyRow]:
    """The three public arms with the rating that one person gave each reply. A rater is named by arm and batch, which
    is the same partition as the panel ids."""
    study = parse_published(read_sources([Source("published", PATH)], data)[PATH], PATH)
    prompts = {prompt.id: prompt for prompt in study.prompts}
    human: dict[tuple[str, str], list[tuple[str, int]]] = {}
    for rating in study.ratings:
        human.setdefault((rating.arm, rating.prompt), []).append((f"{rating.arm} {rating.batch}", rating.value))
    return [
        ReplyRow(
            reply.arm,
            reply.prompt,
            reply.text.strip(),
            prompts[reply.prompt].emotion,
            prompts[reply.prompt].valence,
            prompts[reply.prompt].situation.strip(),
            prompts[reply.prompt].utterance.strip(),
            prompts[reply.prompt].batch,
            human=tuple(human[reply.arm, reply.prompt]),
        )
        for reply in study.replies
    ]


def run_replies(store: Store, stored: StoredRun) -> list[ReplyRow]:
    """Every subject of a run with replies is an arm."""
    replied: list[tuple[str, Rated]] = []
    for asked in stored.config.benchmarks:
        benchmark = find(asked.name)
        if isinstance(benchmark, Rated):
            replied.append((asked.name, benchmark))
    if not replied:
        raise UsageError(f"Run {stored.id} has no replies.", "Make some with 'eqlab run -b empathy MODEL'.")
    if not stored.config.models:
        raise UsageError(
            f"The replies of run {stored.id} were written by people and nobody has moderated them.",
            "Write them to a table with 'eqlab study replies FILE', decide there, and name the table.",
        )
    rows = [
        row
        for model in stored.config.models
        for name, benchmark in replied
        for row in benchmark.replies(model.spec, store.scored(stored.id, model.subject, name))
    ]
    if not rows:
        raise UsageError(f"Run {stored.id} holds no reply yet.", "Continue it with the command that started it.")
    return rows


def file_replies(path: Path, data: Path | None, say: Say) -> list[ReplyRow]:
    rows, bad = read_replies(read_file(path), path.name, Prompts(known_prompts(data)), path.stem)
    for line in bad_rows_text(bad):
        say(f"{path.name}, {line}: left out.")
    if not rows:
        raise DataError(f"{path} has no usable reply ({len(bad)} bad rows).", "Mend the rows named above.")
    if bad:
        say(f"{path.name}: {len(rows)} replies taken, {len(bad)} rows left out.")
    return rows


def read_file(path: Path) -> bytes:
    """A user's file; raises with its name."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise DataError(f"There is no file {path}.", "Check the name; runs are named without an ending.") from None
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}.", "Mend its permissions.") from error


def open_prompts() -> list[EmpathyItem]:
    return parse_open(read_sources([Source("open", OPEN_PATH)], None)[OPEN_PATH])


def known_prompts(data: Path | None) -> list[EmpathyItem]:
    """Ours, and the published ones where their file is here."""
    try:
        content = read_sources([Source("published", PATH)], data)[PATH]
    except DataError:
        return open_prompts()
    return [*open_prompts(), *from_published(parse_published(content, PATH).prompts)]


def comparable(rows: Sequence[ReplyRow], say: Say) -> list[ReplyRow]:
    """Arms are compared on prompts that all of them have replied to."""
    kept, lost = in_all_arms(rows)
    if not kept:
        arms = ", ".join(sorted({row.arm for row in rows}))
        raise UsageError(f"No prompt has a reply of every arm ({arms}).", "Judge sources of the same items together.")
    if lost:
        say(f"{lost} prompts lack a reply of some arm and are left out, so that all arms are rated on the same.")
    return kept


def _row(arm: str, item: EmpathyItem, reply: str) -> ReplyRow:
    return ReplyRow(arm, item.id, reply, item.emotion, item.valence, item.situation, item.utterance)
