"""Writes a benchmark as a task folder for lm-evaluation-harness: YAML, documents, and a few lines that call our code.

What other ports of EQ-Bench do, this one must not: stop at a blank line, allow 80 tokens, count what could not be read
as 0, or pass a run in which too little could be read."""

import json
from importlib.metadata import version
from pathlib import Path

from eqlab.core.values import dataclass
from eqlab.data.files import write_whole
from eqlab.publish.tools.lm_eval_steps import DOCUMENTS, METRICS, TASK
from eqlab.publish.tools.tasks import Exported, TaskQuestion, asked_with

_YAML = """\
# Written by `eqlab data export-task lm-eval` (eqlab {version}). Needs eqlab to be installed where lm_eval runs.
task: {name}
custom_dataset: !function utils.load
test_split: test
output_type: generate_until
{system}doc_to_text: prompt
doc_to_target: ""
num_fewshot: 0
generation_kwargs:
  # No stop sequence: a preamble, or a blank line, must not end the answer.
  until: []
  max_gen_toks: {max_tokens}
  do_sample: {do_sample}
  temperature: {temperature}
process_results: !function utils.process_results
metric_list:
{metrics}
"""
_METRIC = """\
  - metric: {name}
    aggregation: !function utils.{name}
    higher_is_better: {higher}"""
_UTILS = '''\
"""Written by `eqlab data export-task lm-eval`: hands documents and replies to eqlab, which reads and scores them."""

from pathlib import Path

from eqlab.publish.tools import lm_eval_steps

FOLDER = Path(__file__).parent


def load(**_):
    from datasets import Dataset

    return {"test": Dataset.from_list(lm_eval_steps.documents(FOLDER))}


def process_results(document, results):
    return lm_eval_steps.process_results(document, results)
'''
_AGGREGATE = """

def {name}(given):
    return lm_eval_steps.aggregate(FOLDER, "{name}", given)
"""


@dataclass(frozen=True, slots=True)
class WrittenTask:
    name: str
    """What `--tasks` takes."""
    folder: Path
    questions: int
    published: bool
    """Whether the folder holds a study's own texts."""


def write_task(task: Exported, folder: Path) -> WrittenTask:
    """Write the folder; files of an earlier export in it are replaced."""
    folder.mkdir(parents=True, exist_ok=True)
    name = f"eqlab_{task.benchmark}"
    asked = asked_with(task.benchmark, task.options)
    about = {
        "benchmark": task.benchmark,
        "protocol": asked.benchmark.protocol,
        "items": task.item_set,
        "options": dict(task.options),
        "eqlab": version("eqlab"),
    }
    files = {
        TASK: json.dumps(about, indent=2, ensure_ascii=False) + "\n",
        DOCUMENTS: "".join(json.dumps(_document(question), ensure_ascii=False) + "\n" for question in task.questions),
        "utils.py": _UTILS + "".join(_AGGREGATE.format(name=metric) for metric in METRICS),
        f"{name}.yaml": _yaml(name, task),
    }
    for file, text in files.items():
        write_whole(folder / file, text)
    return WrittenTask(name, folder, len(task.questions), task.item_set == "published")


def _document(question: TaskQuestion) -> dict[str, object]:
    return {"prompt": question.trial.prompt, "system": question.trial.system, **question.as_record()}


def _yaml(name: str, task: Exported) -> str:
    asked = asked_with(task.benchmark, task.options)
    askings = [asked.benchmark.asking(question.trial, asked.options) for question in task.questions]
    temperature = askings[0].temperature
    has_system = any(question.trial.system for question in task.questions)
    return _YAML.format(
        version=version("eqlab"),
        name=name,
        system="description: system\n" if has_system else "",
        max_tokens=max(asking.max_tokens for asking in askings),
        do_sample=str(temperature > 0).lower(),
        temperature=temperature,
        metrics="\n".join(_METRIC.format(name=one, higher=str(one != "refused").lower()) for one in METRICS),
    )
