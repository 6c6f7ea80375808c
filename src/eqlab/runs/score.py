"""Every subject's result on every benchmark of some runs, scored again from the stored answers."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from msgspec import structs

from eqlab.analysis.norms import percentile
from eqlab.benchmarks.registry import load
from eqlab.core.answers import STATUSES, Answer, final, replaced
from eqlab.core.benchmark import NO_CONTEXT, Benchmark, Context, Normed, Scored, Seated
from eqlab.core.errors import DataError
from eqlab.core.item_columns import ItemColumns
from eqlab.core.results import ItemScore, Norms, Result, Results, field_of
from eqlab.core.runs import OWN, PEOPLE, TITLE, BenchmarkConfig, ModelConfig
from eqlab.core.text import people
from eqlab.models.prices import known_prices, usage_of
from eqlab.runs.context import Known, StoreContext
from eqlab.store.kept_scores import Kept, without_texts, without_words
from eqlab.store.reader import Reader, StoredRun

EMBEDDED_CAVEAT = (
    "The embedded model is a tiny one (135M parameters) that proves the pipeline works; its score carries no signal."
)
Job = tuple[StoredRun, str, BenchmarkConfig]


def results(store: Reader, stored: StoredRun | str, known: Known | None = None) -> Results:
    """Every subject's result on every benchmark of a run, which may be named by its id or `last`. Who makes several
    gives what is `known` from one to the next."""
    stored = store.find_run(stored) if isinstance(stored, str) else stored
    about = known or Known(store)
    return Results(result_of(about, (stored, subject, config)) for subject, config in stored.config.pairs())


def score(
    subject: str,
    config: BenchmarkConfig,
    scored: Iterable[Scored],
    context: Context = NO_CONTEXT,
    model: ModelConfig | None = None,
) -> Result:
    """One subject's result on one benchmark, from the answers; of a `model` with what they took."""
    return _in_full(_finished(_answered(subject, config, scored, context, model)[0], config, context))


def _answered(
    subject: str, config: BenchmarkConfig, scored: Iterable[Scored], context: Context, model: ModelConfig | None
) -> tuple[Result, list[Scored]]:
    """What depends on the answers; and these."""
    seen = list(scored)
    benchmark = load(config.name)
    result = benchmark.score(subject, seen, config.options, context)
    seats = benchmark.seats(config.options) if isinstance(benchmark, Seated) else {}
    attempts = [(one.trial.seat, answer) for one in seen for answer in one.attempts]
    names = names_of(attempts)
    found = replace(
        result,
        items=_with_shown(result.items, seen),
        answered_as={} if subject == PEOPLE else dict(names.get("", {})),
        caveats=(*_replaced(subject, seats, names), *result.caveats),
        usage=usage_of(attempts, model, config) if model else result.usage,
    )
    return found, seen


def _in_full(result: Result) -> Result:
    """With its items as objects, as everybody has them who looks at each."""
    return replace(result, items=tuple(result.items))


def _finished(result: Result, config: BenchmarkConfig, context: Context) -> Result:
    """With what may change while the answers stay: people's scores and names."""
    result = counted(titled(placed(result, load(config.name), config, context), config))
    if result.subject == "model:embedded":
        result = replace(result, caveats=(EMBEDDED_CAVEAT, *result.caveats))
    return result


def placed(result: Result, benchmark: Benchmark, config: BenchmarkConfig, context: Context = NO_CONTEXT) -> Result:
    """With the place among people, where there are norms. People themselves are their own."""
    if result.subject == PEOPLE:
        return result
    norms = result.norms
    if norms is None and isinstance(benchmark, Normed):
        try:
            norms = benchmark.norms(config.options, context)
        except DataError as error:
            norms = Norms((), "people", differs=f"their scores are not at hand ({error.message.rstrip('.')})")
    if norms is None:
        same = f"people's scores, {config.items_sha256}, {sorted(config.options.items(), key=str)}"
        norms = context.once(same, lambda: studied(benchmark, config, context))
    if norms is None:
        return result
    named = [estimate for estimate in (result.headline, *result.estimates) if estimate.name == norms.measure]
    measured = named[0] if named else result.headline
    if norms.measure and not named:
        norms = replace(norms, differs=norms.differs or f"there is no '{norms.measure}' of {result.subject}")
    return replace(result, norms=norms, percentile=percentile(measured, norms, norms.better or result.better))


def studied(benchmark: Benchmark, config: BenchmarkConfig, context: Context) -> Norms | None:
    """People of the newest study of the store who were asked the same; where all were asked otherwise, the newest with
    what was otherwise. Simulated people are not among them."""
    otherwise = None
    for study in context.studies():
        if study.asked.items_sha256 != config.items_sha256 or study.asked.protocol != config.protocol:
            continue
        answered = [scored for scored in study.scored(PEOPLE) if scored.attempts]
        if not answered:
            continue
        source = f"people of study '{study.asked.options.get('study', study.config.id)}'"
        names = [option.name for option in benchmark.option_help()]
        apart = _apart(config.options, study.asked.options, names)
        if not apart:
            together = benchmark.score(PEOPLE, answered, study.asked.options)
            if together.norms is not None:
                everybody = "everybody who answered, also whom the study's own rules leave out"
                said = [text for text in (together.norms.caution, everybody, _parts(answered, together.noun)) if text]
                return replace(together.norms, source=source, caution="; ".join(said))
            continue
        n = len({scored.attempts[-1].subject for scored in answered})
        otherwise = otherwise or Norms((), source, n, differs=f"they were asked with {apart}")
    return otherwise


def _apart(ours: Mapping[str, Any], theirs: Mapping[str, Any], names: Sequence[str]) -> str:
    """The options in which a study differs from a run, as it has them."""
    return ", ".join(f"{name}={theirs.get(name)}" for name in names if ours.get(name) != theirs.get(name))


def _parts(answered: Sequence[Scored], noun: str) -> str:
    """What is to be said where people had parts of the whole."""
    each = Counter(scored.attempts[-1].subject for scored in answered).values()
    whole, least, most = len({scored.trial.items for scored in answered}), min(each), max(each)
    if least == whole:
        return ""
    return f"each of them answered {least if least == most else f'{least} to {most}'} of {whole} {noun}"


def counted(result: Result) -> Result:
    """How many answers were unread, refused or lost, where a benchmark does not count them: nobody must miss it."""
    if any(name in result.counts for name in STATUSES if name != "ok"):
        return result
    return replace(result, counts={**Counter(filter(None, field_of(result.items, "status"))), **result.counts})


def titled(result: Result, config: BenchmarkConfig) -> Result:
    """A user's own questions and our open ones under their own names: the study's is for the study's questions."""
    title = _own_name(result, config)
    if not title:
        return result
    name = result.headline.name
    sentence = result.sentence.replace(name, title).replace(result.title, title)
    headline = structs.replace(result.headline, name=title if name.startswith(result.title) else name)
    return replace(result, title=title, sentence=sentence, headline=headline)


def _own_name(result: Result, config: BenchmarkConfig) -> str:
    if config.item_set == OWN:
        return str(config.options.get(TITLE, ""))
    benchmark = load(config.name)
    name = getattr(benchmark, "open_title", "") if config.item_set == "open" else ""
    _, instrument, which = result.title.partition(", ")
    return f"{name}{instrument}{which}" if name else ""


def names_of(attempts: Iterable[tuple[str, Answer]]) -> dict[str, dict[str, int]]:
    """Who answered, by seat; lost requests and replies without a name are passed over."""
    found: dict[str, dict[str, int]] = {}
    named = [(seat, answer.model) for seat, answer in attempts if answer.model and answer.status != "error"]
    for (seat, name), count in Counter(named).items():
        found.setdefault(seat, {})[name] = count
    return found


def _replaced(subject: str, seats: Mapping[str, ModelConfig], names: Mapping[str, Mapping[str, int]]) -> Iterator[str]:
    """Said first: it is about whose score this is. Others in its talks count too."""
    asked = {"": subject, **{seat: other.spec for seat, other in seats.items()}}
    for seat, seen in names.items():
        yield from replaced(asked.get(seat, ""), seen)


def _with_shown(items: Sequence[ItemScore], scored: Sequence[Scored]) -> Sequence[ItemScore]:
    """Items with what their trials showed, so that each can be read beside its answer, where the benchmark left it to
    us."""
    if all(field_of(items, "shown")):
        return items
    shown = {one.trial.id: one.trial.stimulus for one in scored}
    return tuple(item if item.shown else structs.replace(item, shown=shown.get(item.trial, "")) for item in items)


Chosen = Callable[[Result], Collection[int] | None]
"""The places of the items whose words are needed; None: of all, or more than items."""


def result_of(known: Known, job: Job, revision: str = "", in_full: Chosen | None = None) -> Result:
    """One result of a run. `revision`: what its answers are known by, where figures without texts will do; they are
    kept then, and taken from what was kept. `in_full`: the items that come with their words all the same."""
    stored, subject, asked = job
    context = _context(known, job)
    kept = _kept(known, job, context, revision) if revision else None
    result = _of_kept(known, job, kept, in_full) if kept else None
    if result is None:
        answers = known.store.scored(stored.id, subject, asked.name)
        result, scored = _answered(subject, asked, answers, context, context.model)
        if revision or in_full:
            again = kept is not None and in_full is not None and in_full(kept.result) is None
            result = _without_texts(known, job, context, "" if again else revision, result, scored, in_full)
        else:
            result = _in_full(result)
    return _with_study(known, job, _finished(result, asked, context))


def kept_result(known: Known, job: Job, revision: str, in_full: Chosen | None) -> Result | None:
    """The same from what was kept alone; None where answers must be scored for it."""
    context = _context(known, job)
    kept = _kept(known, job, context, revision) if revision else None
    result = _of_kept(known, job, kept, in_full) if kept else None
    return None if result is None else _with_study(known, job, _finished(result, job[2], context))


def _context(known: Known, job: Job) -> StoreContext:
    stored, subject, asked = job
    return StoreContext(known, asked, next((one for one in stored.config.models if one.subject == subject), None))


def _of_kept(known: Known, job: Job, kept: Kept, in_full: Chosen | None) -> Result | None:
    return _with_texts(known, job, kept, in_full) if in_full else kept.result


def _with_study(known: Known, job: Job, result: Result) -> Result:
    """With what is to be said of people who are not counted."""
    stored, subject, asked = job
    if subject == PEOPLE:
        result = replace(result, caveats=(*_of_study(known, stored.id), *result.caveats))
    passed_over = (f"What people said in {study}, is not used here before it is complete or closed."
                   for study in known.withheld.get(asked.name, ()))  # fmt: skip
    return replace(result, caveats=(*result.caveats, *passed_over)) if known.withheld else result


def _of_study(known: Known, run: str) -> Iterator[str]:
    """Who of a study is counted outside its own analysis."""
    for study in known.once("", "study rows", known.store.studies):
        if study.run != run:
            continue
        simulated, shut_out = known.store.not_counted(run)
        if simulated:
            yield f"Not counted: {people(simulated, 'simulated')}."
        if shut_out:
            yield f"Not counted: {people(shut_out)} whom a researcher has shut out."
        everybody = "Everybody else" if simulated or shut_out else "Everybody"
        rules = "study file" if study.locked_at is None else "plan"
        yield (
            f"{everybody} who answered is counted here, also whom the {rules} leaves out; the result of study "
            f"'{study.id}' itself, and what it may be called: 'eqlab study analyze'."
        )


def _kept(known: Known, job: Job, context: StoreContext, revision: str) -> Kept | None:
    if known.kept is None or not (stamp := _stamp(known, job, context.model, revision)):
        return None
    for whole in ("", known.total):
        found = known.kept.get(key_of(job), f"{stamp} {whole}")
        if found and (not found.looked or not known.studies()):
            if found.looked:
                known.looked.add(job[2].name)
            return found
    return None


def _with_texts(known: Known, job: Job, kept: Kept, in_full: Chosen) -> Result | None:
    """A kept result with the words of some items, from the store; None where these cannot be had without scoring."""
    stored, subject, asked = job
    places = in_full(kept.result)
    if places is None or not kept.texts.keys() >= set(places):
        return None
    items = kept.result.items
    named = [(items[place].trial, items[place].repeat) for place in places]
    answered = known.store.scored(stored.id, subject, asked.name, named=named)
    scored = {(one.trial.id, one.repeat): one for one in answered}
    if not scored.keys() >= set(named):
        return None
    whole = {
        place: _told(item, scored[item.trial, item.repeat], asked, by_item=kept.texts[place])
        for place in places
        if (item := items[place])
    }
    return replace(kept.result, items=ItemColumns.of(kept.result.items).instead(whole))


def _told(item: ItemScore, scored: Scored, asked: BenchmarkConfig, *, by_item: bool) -> ItemScore:
    """A kept item with its words: as the benchmark shows the trial by itself, or from the answer that counts."""
    if by_item:
        alone = load(asked.name).item(scored, asked.options)
        words = {name: getattr(alone, name) for name in ("text", "shown", *_DROPPED)}
        return structs.replace(item, **words | {"shown": alone.shown or scored.trial.stimulus})
    answer = final(scored.attempts)
    text = answer.text if answer else ""
    return structs.replace(item, text=text, shown=scored.trial.stimulus, words_absent=None)


_DROPPED = ("values", "reference", "reasons", "words_absent")


def _without_texts(
    known: Known,
    job: Job,
    context: StoreContext,
    revision: str,
    result: Result,
    scored: Sequence[Scored],
    in_full: Chosen | None,
) -> Result:
    """A result as it is kept and, where some items need their words, as it is needed."""
    lean = without_texts(result)
    chosen = in_full(result) if in_full else ()
    if revision:
        texts, kept = _put_back(job[2], result, lean, scored, chosen or ())
        _keep(known, job, context, revision, kept, texts)
    if chosen is None:
        return result
    whole = {place: result.items[place] for place in chosen}
    return replace(lean, items=ItemColumns.of(lean.items).instead(whole))


def _put_back(
    asked: BenchmarkConfig, result: Result, lean: Result, scored: Sequence[Scored], places: Collection[int]
) -> tuple[dict[int, bool], Result]:
    """The items whose words would come back from the store to the letter, tried on each of them; and the result as it
    is kept, with the numbers of those that cannot be had from their trial alone."""
    answered = {(one.trial.id, one.repeat): one for one in scored} if places else {}
    texts, otherwise = {}, {}
    for place in places:
        item = result.items[place]
        bare = without_words(item, numbers=bool(result.beside_people))
        one = answered.get((item.trial, item.repeat))
        if one is None:
            continue
        if _told(bare, one, asked, by_item=True) == item:
            texts[place] = True
            continue
        numbers = all(isinstance(value, int | float) for value in (*item.values.values(), *item.reference.values()))
        bare = structs.replace(bare, values=item.values, reference=item.reference) if numbers else bare
        if _told(bare, one, asked, by_item=False) == item:
            texts[place], otherwise[place] = False, bare
    return texts, replace(lean, items=ItemColumns.of(lean.items).instead(otherwise))


def _keep(
    known: Known, job: Job, context: StoreContext, revision: str, result: Result, texts: Mapping[int, bool]
) -> None:
    """Where other runs counted, their answers are part of the stamp; where people might have, nothing is kept."""
    looked = job[2].name in known.looked
    if known.kept is None or (looked and (not known.total or known.studies())):
        return
    if stamp := _stamp(known, job, context.model, revision):
        whole = known.total if looked else ""
        known.kept.put(key_of(job), f"{stamp} {whole}", result, looked=looked, texts=texts)


def key_of(job: Job) -> tuple[str, str, str, str]:
    stored, subject, asked = job
    return stored.id, subject, asked.name, asked.item_set


def _stamp(known: Known, job: Job, model: ModelConfig | None, revision: str) -> str:
    """Everything that a model's result depends on besides the code: answers, and prices; empty where nobody knows: of
    people nothing is kept, nor of another package's benchmark, whose code is not looked at."""
    stored, _, asked = job
    benchmark = load(asked.name)
    if model is None or not type(benchmark).__module__.startswith("eqlab."):
        return ""
    seats = benchmark.seats(asked.options) if isinstance(benchmark, Seated) else {}
    asked_models = (model, *seats.values())
    prices = known.once("", f"prices of {asked_models}", lambda: [known_prices().of(one) for one in asked_models])
    return f"{stored.created_at} {revision} {prices}"
