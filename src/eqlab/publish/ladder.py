"""Published models beside the user's own, on the same questions: the figures of published EQ-Bench results ship with
the package, so a run of some of the published questions has its place among them at once."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cache, lru_cache
from typing import Any

from eqlab.benchmarks.eqbench.published import AskedQuestions, PublishedRun, asked_of_figures, run_of_figures, score
from eqlab.comparison.sentences import listed
from eqlab.core.plural import many
from eqlab.core.results import Result, field_of
from eqlab.core.runs import BenchmarkConfig, ModelConfig
from eqlab.core.values import dataclass
from eqlab.data.figures import Figures, ModelFigures, published_figures
from eqlab.publish.groups import Group, Row, RunRecord, benchmark_config, group
from eqlab.store.reader import StoredRun

LANDSCAPE = (
    "gpt-4-0314",
    "gpt-4-0613",
    "TheBloke/MegaDolphin-120b-GGUF",
    "TheBloke/deepseek-llm-67b-chat-GGUF",
    "upstage/SOLAR-10.7B-Instruct-v1.0",
    "gpt-3.5-turbo-0613",
    "TheBloke/Mistral-7B-Instruct-v0.2-GGUF",
    "internlm/internlm2-chat-7b",
    "huggingfaceh4/zephyr-7b-beta",
    "Qwen/Qwen-7B-Chat",
    "NousResearch/Llama-2-7b-chat-hf",
    "lmsys/vicuna-7b-v1.1",
)
"""Published results from the best to near the bottom, all asked for a revision, so that they stand in one table."""


def ladder(own: Group) -> Group | None:
    """The table again with published models in it, each scored on the questions that were asked here; None where the
    questions are not the published ones whose figures ship."""
    models = [row for row in own.rows if not row.people]
    if not any((config := _config(row)) and config.item_set == "published" for row in models):
        return None  # known before the figures are read
    figures = published_figures(LANDSCAPE)
    if not all(asked_published(row.record, row.result, figures) for row in models):
        return None
    there = {model.spec for row in models for model in row.record.config.models}
    if there <= {model_figures.model for model_figures in figures.models}:  # published results, chosen by name
        return None
    questions = frozenset(item for row in models for item in field_of(row.result.items, "item"))
    asked = _config(models[0])
    rules = str(asked.options["rules"]) if asked else None
    records = [replace(row.record, results=(row.result,)) for row in own.rows]
    published = [_published(name, questions, rules) for name in LANDSCAPE if name not in there]
    found, *others = group([*records, *(_beside(models[0], *one) for one in published)])
    if others:  # what does not fit into one table is not compared
        return None
    anchors = {id(row.result): row.anchor for row in own.rows}
    rows = tuple(
        replace(row, anchor=anchors.get(id(row.result), ""), beside=id(row.result) not in anchors) for row in found.rows
    )
    return replace(found, rows=rows)


def ladder_sentence(own: Group, found: Group) -> str:
    """Where each of the user's models stands in the ladder, and what differs in how the others were asked."""
    mine = {id(row.result): row for row in own.rows if not row.people}
    placed = [row for row in found.rows if id(row.result) in mine and row.rank]
    count = sum(1 for row in found.rows if row.rank)
    beside = len(found.rows) - len(own.rows)
    asked = max((row.result.headline.n or 0 for row in mine.values()), default=0)
    if not placed:
        return ""
    places = listed([f"{row.name} {_rank(row.rank)}" for row in placed if row.rank])
    text = f"Among {many(beside, 'published model')} on the same {many(asked, 'question')} ({count} in all): {places}."
    revises = any(dict(config.options).get("revision") for row in mine.values() if (config := _config(row)))
    return text if revises else f"{text} Those were asked for a second, revised answer; yours were not."


@dataclass(frozen=True, slots=True)
class Conclusion:
    """One table in a sentence, with the same verdict as the report's, and with its place in the ladder."""

    sentence: str
    table: Group

    @property
    def data(self) -> dict[str, Any]:
        from eqlab.comparison.tables import verdict_data  # what compares any two, which a run does not

        verdicts = [verdict_data(verdict, self.table.things, rater) for rater, verdict in self.table.verdicts]
        return {"title": self.table.title, "sentence": self.sentence, "verdicts": verdicts}


def conclusions(scored: Iterable[tuple[StoredRun, Sequence[Result]]]) -> list[Conclusion]:
    """In the order of the report's tables."""
    records = [
        RunRecord(stored_run.config, stored_run.created_at, stored_run.provenance, tuple(own))
        for stored_run, own in scored
    ]
    found = []
    for one in group(records):
        among = ladder(one)
        place = ladder_sentence(one, among) if among else ""
        found.append(Conclusion(f"{one.sentence} {place}" if place else one.sentence, one))
    return found


def _rank(rank: tuple[int, int]) -> str:
    return f"ranks {rank[0]}" if rank[0] == rank[1] else f"ranks {rank[0]} to {rank[1]}"


@lru_cache(maxsize=4 * len(LANDSCAPE))
def _published(name: str, questions: frozenset[str], rules: str | None) -> tuple[PublishedRun, Result]:
    """A published model on these questions, by these rules; kept, since the report and the sentence under a run ask
    for the same."""
    run = run_of_figures(_figures_of()[name], _asked(questions))
    return run, score(replace(run, options=run.options if rules is None else {**run.options, "rules": rules}))


@lru_cache(maxsize=4)
def _asked(questions: frozenset[str]) -> AskedQuestions:
    return asked_of_figures(published_figures(LANDSCAPE), revision=True, only=questions)


@cache
def _figures_of() -> dict[str, ModelFigures]:
    return {model_figures.model: model_figures for model_figures in published_figures(LANDSCAPE).models}


def _beside(row: Row, run: PublishedRun, scored: Result) -> RunRecord:
    """A published result as a record that stands in the row's table."""
    config = replace(row.record.config, models=(ModelConfig(run.model),))
    result = replace(scored, title=row.result.title, rules=row.result.rules)
    return RunRecord(config, run.completed, {"published file": run.file, "sha256": run.sha256}, (result,))


def _config(row: Row) -> BenchmarkConfig | None:
    return benchmark_config(row.record, row.result)


def asked_published(record: RunRecord, result: Result, figures: Figures) -> bool:
    """Whether the questions are those of the figures that ship."""
    config = benchmark_config(record, result)
    return (
        config is not None
        and config.items_sha256 == figures.items_sha256
        and not any(config.options.get(name) for name in ("short", "width", "perturb"))
    )
