"""Judges at work: collect replies from runs, from the published data and from files, and have a model rate them.
The run itself is an ordinary one: stored, continued, scored and reported like any other."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from pathlib import Path
from typing import Any

from msgspec import structs

from eqlab.benchmarks.empathy.items import OPEN_PATH, PATH, EmpathyItem, from_published, parse_open, parse_published
from eqlab.benchmarks.rating.benchmark import RUBRIC_FILE, Ratings, with_rubric
from eqlab.benchmarks.rating.imported import Prompts, bad_rows_text, read_replies
from eqlab.benchmarks.rating.panel import SUBJECT as PANEL
from eqlab.benchmarks.rating.rated import RatedReply, Reply, rated
from eqlab.benchmarks.rating.score import same_scale, scaled
from eqlab.benchmarks.rating.strengths import Anchors, anchors_of, as_anchors, fitted
from eqlab.benchmarks.rating.trials import (
    FILE,
    SCALES,
    RatingOptions,
    choose,
    designed,
    from_jsonl,
    in_all_arms,
    is_published,
    on_prompts,
    quoted_blocks,
    to_jsonl,
)
from eqlab.benchmarks.registry import find
from eqlab.core.benchmark import Rated, ReplyRow, Scored, Selection, Source
from eqlab.core.errors import DataError, UsageError
from eqlab.core.plural import many
from eqlab.core.rubric import Rubric, to_json
from eqlab.core.runs import PEOPLE, ModelConfig, RunConfig
from eqlab.core.trials import Trial
from eqlab.core.values import dataclass
from eqlab.data.items import PUBLISHED, find_rubric, read_sources
from eqlab.models.runner import Asked
from eqlab.runs.identity import configured
from eqlab.runs.kumar import PREFIX, asked_framework, expert_replies, rubric_name
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
    rubric: str = ""
    """A name of ours or a file; empty: what the benchmark that made the replies is rated by."""
    pairs: str = "all"
    adaptive: bool = False
    width: float | None = None
    """Of the rank ranges, on average: where an adaptive run stops."""
    anchor: str = ""
    """A run of the same judges with pairs, whose strengths stay as they are."""
    keep: Callable[[Sequence[ReplyRow]], list[ReplyRow]] | None = None
    """Chooses among the replies where there is no money for all."""


def prepare(request: JudgeRequest, store: Store, say: Say = lambda _: None) -> Prepared:
    """Collect the replies; raises before anything is asked or stored."""
    check_counts(limit=request.limit, repeats=request.repeats)
    given = _given(request)
    rubric = rubric_for(request, store)
    models = tuple(_judge(spec, request) for spec in dict.fromkeys(request.judges))
    anchored: Mapping[str, Any] = {}
    against: Mapping[str, Any] = {}
    framework = asked_framework(request.on[0]) if request.calibration and request.on else None
    if framework is not None:
        rows = expert_replies(framework, request.data)
    elif request.calibration and request.on != ("published",):
        rated_in = [store.find_run(name) for name in dict.fromkeys(request.on)]
        rows = list(dict.fromkeys(row for run in rated_in for row in study_replies(store, run, rubric)))
        against = {"against": [run.id for run in rated_in]}
    else:
        reply_rows = collect(request.on, store, request.data, say)
        if request.anchor:
            anchored, reply_rows = _anchored(store, store.find_run(request.anchor), models, rubric, reply_rows)
        rows = comparable(reply_rows, say)
    if request.keep is not None:
        rows = request.keep(rows)
    content = {FILE: to_jsonl(rows)}
    if not is_published(rubric):
        content[RUBRIC_FILE] = to_json(rubric).encode()
    benchmark = Ratings()
    options = with_rubric({**benchmark.options(_item_set(request), given), **anchored, **against}, rubric)
    config = RunConfig(
        models, (configured(benchmark, options, content),), "full", request.limit, request.repeats, request.seed
    )
    prepared = Prepared(config, {benchmark.name: Asked(benchmark, options)}, {benchmark.name: content})
    if request.pairwise:
        designed(rows, RatingOptions.of(options))  # what cannot be compared is said before anything is stored
    return prepared


class _AskedAgain(Ratings):
    """The ratings of a run once more: the very trials that it stored."""

    def __init__(self, trials: Sequence[tuple[Trial, int]]) -> None:
        self._trials = trials

    def plan(
        self, files: Mapping[str, bytes], options: Mapping[str, Any], selection: Selection
    ) -> Iterator[tuple[Trial, int]]:
        return iter(self._trials)

    def more(
        self, files: Mapping[str, bytes], options: Mapping[str, Any], selection: Selection, scored: Iterable[Scored]
    ) -> Sequence[tuple[Trial, int]]:
        return ()


def prepare_drift(request: JudgeRequest, store: Store) -> tuple[Prepared, StoredRun]:
    """(the same stored replies for another judge, the run that they were judged in)."""
    before = store.find_run(request.on[0])
    benchmark_config = next(
        (benchmark for benchmark in before.config.benchmarks if benchmark.name == Ratings.name), None
    )
    if benchmark_config is None or not before.config.models or benchmark_config.options["purpose"] == "calibration":
        raise UsageError(f"Run {before.id} is not a run in which a judge rated replies.", "Name one of 'eqlab judge'.")
    if len(before.config.models) != 1:
        known = ", ".join(model.spec for model in before.config.models)
        raise UsageError(
            f"Run {before.id} has several judges ({known}): a drift is of one.", "Have one of them judge alone first."
        )
    (old,) = before.config.models
    own = [(scored.trial, scored.repeat) for scored in store.scored(before.id, old.subject, Ratings.name)]
    if request.structured is None:
        request = replace(request, structured=old.structured)
    judge = _judge(request.judges[0], request)
    if judge == old:
        raise UsageError(
            f"{judge.spec} with these settings is the judge of run {before.id} itself.",
            "Name another judge, or what changed: --base-url, --set.",
        )
    if judge.structured != old.structured:
        raise UsageError("Both judges must answer in the same form.", "Use --structured as that run did.")
    config = replace(before.config, models=(judge,))
    return Prepared(
        config, {Ratings.name: Asked(_AskedAgain(own), benchmark_config.options)}, {Ratings.name: {}}
    ), before


def most_calls(prepared: Prepared) -> int:
    """Of a run with pairs that chooses among them: if it asked them all."""
    (asked,) = prepared.asked.values()
    rows = choose(from_jsonl(prepared.files[Ratings.name][FILE]), prepared.config.limit, prepared.config.seed)
    prompts = len(on_prompts(rows))
    pairs = 2 * prompts * len(designed(rows, RatingOptions.of(asked.options))) * (prepared.config.repeats or 1)
    return pairs * len(prepared.config.models)


def _item_set(request: JudgeRequest) -> str:
    return "published" if request.on == ("published",) else "replies"


def _given(request: JudgeRequest) -> dict[str, str]:
    given = {
        "pairwise": "yes" if request.pairwise else "no",
        "purpose": "calibration" if request.calibration else "judging",
    }
    if not request.pairwise:
        for wanted, flag in (
            (request.adaptive, "--adaptive"),
            (request.anchor, "--anchor"),
            (request.width, "--width"),
        ):
            if wanted:
                raise UsageError(f"{flag} works with pairs only.", "Add --pairwise.")
        return given
    if request.adaptive and request.width is None:
        raise UsageError("When should an adaptive run stop?", "Add --width 1.5: how many ranks a model may still have.")
    if request.width is not None and not request.adaptive:
        raise UsageError("--width is for an adaptive run.", "Add --adaptive.")
    if request.width is not None and not request.width >= 1:
        raise UsageError(f"A rank range cannot be {request.width:g} ranks wide.", "Give 1 or more.")
    given |= {"pairs": request.pairs}
    return given | ({"adaptive": "yes", "width": f"{request.width:g}"} if request.adaptive else {})


def rubric_for(request: JudgeRequest, store: Store) -> Rubric:
    """The one that was asked for; else the one that the benchmark of the replies names; else the published one."""
    framework = asked_framework(request.on[0]) if request.calibration and request.on else None
    if request.rubric:
        rubric = find_rubric(request.rubric)
    elif framework is not None:
        rubric = find_rubric(rubric_name(framework))
    else:
        rubric = find_rubric(PUBLISHED if request.calibration else _usual(request.on, store))
    if request.pairwise and not rubric.choose:
        raise UsageError(
            f"The rubric '{rubric.name}' does not say how to choose between two.", 'Add choose = "…" to it.'
        )
    return rubric


def _usual(sources: Sequence[str], store: Store) -> str:
    named = set[str]()
    for source in sources:
        if source in ("published", "author") or _is_file(source):
            named.add(PUBLISHED)
            continue
        stored = newest_with_replies(store) if source == "last" else store.find_run(source)
        for config in stored.config.benchmarks:
            benchmark = find(config.name)
            if isinstance(benchmark, Rated):
                named.add(getattr(benchmark, "rubric", PUBLISHED))
    if len(named) > 1:
        raise UsageError(
            f"These are rated by different rubrics ({', '.join(sorted(named))}).", "Name one with --rubric."
        )
    return named.pop() if named else PUBLISHED


def _is_file(source: str) -> bool:
    return source.lower().endswith(_ENDINGS) or "/" in source or Path(source).is_file()


def _judge(spec: str, request: JudgeRequest) -> ModelConfig:
    embedded = spec == "embedded"
    structured = embedded if request.structured is None else request.structured
    return ModelConfig(spec, "" if embedded else request.base_url, structured, dict(request.settings), "judge")


def collect(
    sources: Sequence[str], store: Store, data: Path | None, say: Say, until: float = math.inf
) -> list[ReplyRow]:
    """All replies that the sources hold, those of runs as they were at `until`; arms of the same name from two sources
    are told apart by their source."""
    if not sources:
        raise UsageError("There is nothing to judge.", "Name a run, a file or 'published' with --on.")
    reply_rows = {source: _source(source, store, data, say, until) for source in dict.fromkeys(sources)}
    owners: dict[str, list[str]] = {}
    for source, rows in reply_rows.items():
        for arm in {row.arm for row in rows}:
            owners.setdefault(arm, []).append(source)
    return [
        replace(row, arm=f"{row.arm}@{source}") if len(owners[row.arm]) > 1 else row
        for source, rows in reply_rows.items()
        for row in rows
    ]


def from_store(against: str, on: Sequence[str]) -> bool:
    """Whether replies come from runs, so that the store must be there."""
    named = (against,) if against else on
    return any(one not in ("published", "author") and not one.startswith(PREFIX) and not _is_file(one) for one in named)


def _source(source: str, store: Store, data: Path | None, say: Say, until: float) -> list[ReplyRow]:
    if source == "published":
        return published_replies(data)
    if source == "author":
        return [_row("author", item, item.reply) for item in open_prompts()]
    if _is_file(source):
        return file_replies(Path(source), data, say)
    return run_replies(store, _source_run(source, store, until), until)


def _source_run(source: str, store: Store, until: float) -> StoredRun:
    return newest_with_replies(store, until) if source == "last" else store.find_run(source)


def answer_times(source: str, store: Store, until: float) -> set[float]:
    """When the answers came that a run has by now; nothing for a source that is no run."""
    if not from_store("", (source,)):
        return set()
    stored = _source_run(source, store, until)
    return {
        answer.at
        for model in stored.config.models
        for config in stored.config.benchmarks
        for one in store.scored(stored.id, model.subject, config.name)
        for answer in one.attempts
    }


def newest_with_replies(store: Store, until: float = math.inf) -> StoredRun:
    """`last` means the newest run that has something to judge, whatever ran since."""
    for run in store.run_ids():
        stored = store.read_run(run)
        if stored.created_at > until:
            continue
        if stored.config.models and any(isinstance(find(config.name), Rated) for config in stored.config.benchmarks):
            return stored
    raise UsageError("No run in the store has replies.", "Make some with 'eqlab run -b empathy MODEL'.")


def study_replies(store: Store, stored: StoredRun, rubric: Rubric) -> list[ReplyRow]:
    """The replies that people rated in a study, or in a table of ratings."""
    if stored.config.models or not any(config.name == Ratings.name for config in stored.config.benchmarks):
        raise UsageError(
            f"Run {stored.id} holds no ratings of replies by people.",
            "'eqlab runs' lists runs; name one of a rating study. What people wrote themselves is sent to no judge.",
        )
    published = is_published(rubric)
    asked = {scale.key: scale for scale in rubric.scales}
    found: dict[Reply, ReplyRow] = {}
    other = set[str]()
    for reply in rated(store.scored(stored.id, PEOPLE, Ratings.name)):
        if reply.status != "ok" or reply.condition == "pairwise" or not reply.key.get("reply"):
            continue
        mine = any(scale.key in asked and same_scale(scale, asked[scale.key]) for _, scale, _ in scaled(reply))
        if reply.condition != ("absolute" if published else SCALES) or (not published and not mine):
            other.update(f"{scale.key} ({scale.low}–{scale.high})" for scale in reply.trial.form.scales)
            continue
        found.setdefault(reply.reply, _of_trial(reply))
    if not found:
        scales = ", ".join(f"{scale.key} ({scale.low}–{scale.high})" for scale in rubric.scales)
        raise UsageError(
            f"Run {stored.id} has no rating of a reply whose text is known, on the rubric '{rubric.name}' ({scales}).",
            f"People rated on {', '.join(sorted(other))}: name a rubric with these scales (--rubric)."
            if other
            else "Wait for answers, or name another study.",
        )
    return list(found.values())


def _of_trial(reply: RatedReply) -> ReplyRow:
    """The reply with all that people saw beside it; what happened stands on their page only."""
    (prompt, arm, repeat), key = reply.reply, reply.key
    emotion, valence, utterance = (str(key.get(name) or "") for name in ("emotion", "valence", "utterance"))
    quotes = quoted_blocks(reply.trial.stimulus)
    situation = quotes[0] if len(quotes) > 1 + bool(utterance) else ""
    return ReplyRow(arm, prompt, str(key["reply"]), emotion, valence, situation, utterance, repeat=repeat)


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


def run_replies(store: Store, stored: StoredRun, until: float = math.inf) -> list[ReplyRow]:
    """Every subject of a run with replies is an arm. Replies that came after `until` are left out."""
    replied: list[tuple[str, Rated]] = []
    for config in stored.config.benchmarks:
        benchmark = find(config.name)
        if isinstance(benchmark, Rated):
            replied.append((config.name, benchmark))
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
        for row in benchmark.replies(model.spec, _until(until, store.scored(stored.id, model.subject, name)))
    ]
    if not rows:
        raise UsageError(f"Run {stored.id} holds no reply yet.", "Continue it with the command that started it.")
    return rows


def _until(until: float, scored: Iterable[Scored]) -> Iterator[Scored]:
    for one in scored:
        yield structs.replace(one, attempts=tuple(answer for answer in one.attempts if answer.at <= until))


def file_replies(path: Path, data: Path | None, say: Say) -> list[ReplyRow]:
    rows, bad = read_replies(read_file(path), path.name, Prompts(known_prompts(data)), path.stem)
    if not rows:
        first = f"; {bad_rows_text(bad)[0]}" if bad else ""
        raise DataError(f"{path} has no usable reply ({many(len(bad), 'bad row')}{first}).", "Correct the rows.")
    for line in bad_rows_text(bad):
        say(f"{path.name}, {line}: left out.")
    if bad:
        say(f"{path.name}: {many(len(rows), 'reply', 'replies')} taken, {many(len(bad), 'row')} left out.")
    return rows


def read_file(path: Path) -> bytes:
    """A user's file; raises with its name."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise DataError(f"There is no file {path}.", "Check the name and the folder.") from None
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}.", "Change its permissions.") from error


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
        raise UsageError(f"No prompt has a reply by each of {arms}.", "Judge sources of the same items together.")
    if lost:
        say(
            f"{many(lost, 'prompt lacks', 'prompts lack')} somebody's reply and are left out, so that all "
            "are rated on the same prompts."
        )
    return kept


def _row(arm: str, item: EmpathyItem, reply: str) -> ReplyRow:
    return ReplyRow(arm, item.id, reply, item.emotion, item.valence, item.situation, item.utterance)


# -- a ranking that an arm is added to -----------------------------------------------------------------------------


def _anchored(
    store: Store, stored: StoredRun, judges: Sequence[ModelConfig], rubric: Rubric, rows: Sequence[ReplyRow]
) -> tuple[dict[str, Any], list[ReplyRow]]:
    """(what the new run's options say of the anchors, old and new replies): the strengths of an earlier run stay as
    they are, its replies are compared with the new ones only. The numbers are in the options and not looked up later:
    if the earlier run goes on, this one stays what it is."""
    config = next(
        (benchmark_config for benchmark_config in stored.config.benchmarks if benchmark_config.name == Ratings.name),
        None,
    )
    if config is None or not config.options["pairwise"] or not stored.config.models:
        raise UsageError(
            f"Run {stored.id} is not a run in which judges compared pairs.", "Name one made with 'judge --pairwise'."
        )
    if config.options.get("rubric_sha256", rubric.sha256) != rubric.sha256:
        raise UsageError(
            f"Run {stored.id} was judged by another rubric ({config.options['rubric']}).",
            f"Write --rubric {config.options['rubric']}, as it was then.",
        )
    for judge in judges:
        if judge not in stored.config.models:
            known = ", ".join(model.spec for model in stored.config.models)
            raise UsageError(
                f"The judge {judge.spec} has no verdicts in run {stored.id} with these settings.",
                f"Strengths belong to their judge: {known}. Name the same one, with the same settings.",
            )
    replies = {judge.subject: rated(store.scored(stored.id, judge.subject, config.name)) for judge in judges}
    typed = RatingOptions.of(config.options)
    strengths = {
        subject: _strengths(stored, {subject.removeprefix("judge:"): own}, anchors_of(typed, subject))
        for subject, own in replies.items()
    }
    if len(replies) > 1:
        everybody = {subject.removeprefix("judge:"): own for subject, own in replies.items()}
        strengths[PANEL] = _strengths(stored, everybody, anchors_of(typed, PANEL))
    arms = sorted({arm for strength in strengths.values() for arm in strength})
    if not any(row.arm not in arms for row in rows):
        raise UsageError(f"All of these have strengths in run {stored.id} already.", "Name a new run with --on.")
    fresh = [row for row in rows if row.arm not in arms]
    options = {"anchors": {"run": stored.id, "arms": arms, "strengths": strengths}}
    return options, [*fresh, *_old_replies(replies, {row.prompt: row for row in fresh})]


def _strengths(
    stored: StoredRun, given: Mapping[str, Sequence[RatedReply]], before: Anchors | None
) -> dict[str, dict[str, Any]]:
    found, why = fitted(given, before)
    if found is None:
        raise UsageError(f"Run {stored.id} gives no strengths: {why}.", "Continue it, or leave --anchor out.")
    return as_anchors(found, before)


def _old_replies(given: Mapping[str, Sequence[RatedReply]], fresh: Mapping[str, ReplyRow]) -> list[ReplyRow]:
    """The earlier run's replies to prompts that the new ones reply to; what happened is told by the new ones."""
    rows: dict[tuple[str, str], ReplyRow] = {}
    for own in given.values():
        for rated_reply in own:
            beside = fresh.get(rated_reply.prompt)
            if beside is None:
                continue
            for arm, reply in zip(rated_reply.key["arms"], rated_reply.key["replies"], strict=True):
                rows[arm, rated_reply.prompt] = ReplyRow(
                    arm,
                    rated_reply.prompt,
                    reply,
                    str(rated_reply.key.get("emotion") or ""),
                    str(rated_reply.key.get("valence") or ""),
                    beside.situation,
                    str(rated_reply.key.get("utterance") or ""),
                )
    return list(rows.values())
