"""Published models beside the user's own, on the same questions: the figures of published EQ-Bench results ship with
the package, so a run of some of the published questions has its place among them at once."""

from dataclasses import replace

from eqlab.benchmarks.eqbench.published import AskedQuestions, PublishedRun, asked_of_figures, run_of_figures, score
from eqlab.comparison.sentences import listed
from eqlab.core.plural import many
from eqlab.core.results import Result
from eqlab.core.runs import BenchmarkConfig, ModelConfig
from eqlab.data.figures import Figures, published_figures
from eqlab.publish.groups import Group, Row, RunRecord, benchmark_config, group

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
    figures = published_figures()
    models = [row for row in own.rows if not row.people]
    if not models or not all(asked_published(row.record, row.result, figures) for row in models):
        return None
    there = {model.spec for row in models for model in row.record.config.models}
    if there <= {model_figures.model for model_figures in figures.models}:  # published results, chosen by name
        return None
    questions = {item.item for row in models for item in row.result.items}
    asked_questions = asked_of_figures(figures, revision=True)
    records = [replace(row.record, results=(row.result,)) for row in own.rows]
    published = _published(figures, asked_questions, questions, there)
    found, *others = group([*records, *(_beside(models[0], run) for run in published)])
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


def _rank(rank: tuple[int, int]) -> str:
    return f"ranks {rank[0]}" if rank[0] == rank[1] else f"ranks {rank[0]} to {rank[1]}"


def _published(
    figures: Figures, asked_questions: AskedQuestions, questions: set[str], there: set[str]
) -> list[PublishedRun]:
    by_name = {model_figures.model: model_figures for model_figures in figures.models}
    return [run_of_figures(by_name[name], asked_questions, questions) for name in LANDSCAPE if name not in there]


def _beside(row: Row, run: PublishedRun) -> RunRecord:
    """A published result as a record that stands in the row's table."""
    config = replace(row.record.config, models=(ModelConfig(run.model),))
    asked = _config(row)
    rules = {"rules": asked.options["rules"]} if asked else {}
    result = replace(
        score(replace(run, options={**run.options, **rules})), title=row.result.title, rules=row.result.rules
    )
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
