"""Scenarios of EmoBench, ours or the published ones, as one shape: a story and one or two questions with options."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, cast

from eqlab.benchmarks.common.choices import choice, lettered, numbered, turned
from eqlab.benchmarks.common.selection import spread
from eqlab.benchmarks.options import Options, option
from eqlab.core.benchmark import Selection
from eqlab.core.errors import DataError, UsageError
from eqlab.core.forms import Form
from eqlab.core.item_file import columns, filled, instruction, read_items
from eqlab.core.toml_file import Section
from eqlab.core.trials import Trial
from eqlab.core.values import dataclass

OPEN = "emobench.toml"
UNDERSTANDING_FILE, APPLICATION_FILE = "emobench/data/EU.jsonl", "emobench/data/EA.jsonl"
Task = Literal["understanding", "application"]
TASKS: tuple[Task, ...] = ("understanding", "application")
_FETCH = "Get it again with 'eqlab data fetch emobench'."


@dataclass(frozen=True, slots=True)
class EmoBenchOptions(Options):
    task: str = option("both", "understanding (which emotion, and why), application (what to do)", ("both", *TASKS))
    language: str = option("en", "published scenarios: en, zh, or both for a paired difference", ("en", "zh", "both"))
    reasoning: bool = option(False, "ask for a few sentences of thought before the answer (free text)")


@dataclass(frozen=True, slots=True)
class AskedScenario:
    """One question of a scenario."""

    key: str
    """`emotion`, `cause` or `choice`."""
    options: tuple[str, ...]
    right: str


@dataclass(frozen=True, slots=True)
class Scenario:
    id: str
    """The same in every language."""
    language: str
    task: Task
    category: str
    kind: str
    """Understanding: the finer category. Application: Response or Action."""
    subject: str
    text: str
    questions: tuple[AskedScenario, ...]
    quick: bool = False
    instruction: str = ""
    """A user's own words to the model, with places for scenario and questions; empty: ours."""


_KEYS = (
    *("id", "task", "category", "kind", "question_type", "subject", "scenario", "quick", "reason"),
    *("emotion_choices", "emotion_label", "cause_choices", "cause_label", "choices", "label"),
)
_LISTS = ("emotion_choices", "cause_choices", "choices")
NOT_SAID = "not said"
"""The category of a user's own scenario that names none."""


def chosen_scenarios(files: Mapping[str, bytes], options: EmoBenchOptions) -> list[Scenario]:
    """What the options leave of the files: one task or both, one language or both."""
    if options.item_set == "published":
        scenarios = parse_published(files)
    else:
        ((path, content),) = files.items()
        scenarios = parse_open(content, path)
    task, language = options.task, options.language
    chosen = [scenario for scenario in scenarios if task in ("both", scenario.task)]
    if options.item_set == "published":
        chosen = [scenario for scenario in chosen if language in ("both", scenario.language)]
    if not chosen:
        raise UsageError(f"There is no scenario of {task} in {language}.", "See 'eqlab benchmarks'.")
    return chosen


def parse_open(content: bytes, path: str = OPEN) -> list[Scenario]:
    """Our own scenarios, or a user's. Raises DataError with all that is wrong with the file."""
    return read_items(content, path, _KEYS, _own, columns(lists=_LISTS, flags=("quick",)), "scenario")


def _own(section: Section, top: Section) -> Scenario:
    task = cast(Task, section.choice("task", TASKS))
    kind = section.text("kind", NOT_SAID) if task == "understanding" else section.text("question_type", "Action")
    scenarios: tuple[AskedScenario, ...]
    if task == "understanding":
        scenarios = (_choices(section, "emotion", "emotion_choices", "emotion_label"),
                 _choices(section, "cause", "cause_choices", "cause_label"))  # fmt: skip
    else:
        scenarios = (_choices(section, "choice", "choices", "label"),)
    return Scenario(
        section.text("id"),
        top.choice("language", ("en", "zh"), "en"),
        task,
        section.text("category", NOT_SAID),
        kind,
        section.text("subject", "the person"),
        section.text("scenario"),
        scenarios,
        bool(section.flag("quick")),
        instruction(top, ("scenario", "questions")),
    )


def _choices(section: Section, key: str, choices: str, label: str) -> AskedScenario:
    options, right = section.texts(choices), section.text(label)
    if len(options) < 2 and isinstance(section.values.get(choices, []), list):
        section.wrong(choices, f'are too few (write {choices} = ["…", "…"])')
    elif right and right not in options:
        section.wrong(label, f"is not one of its choices (write one of {choices}, word for word)")
    return AskedScenario(key, options, right)


def parse_published(files: Mapping[str, bytes]) -> list[Scenario]:
    """All of the 200 scenarios of each task, in English and in Chinese."""
    found = []
    kinds: tuple[tuple[str, Task, tuple[str, str]], ...] = (
        (UNDERSTANDING_FILE, "understanding", ("coarse_category", "finegrained_category")),
        (APPLICATION_FILE, "application", ("category", "question type")),
    )
    for path, task, names in kinds:
        if path not in files:
            continue
        for number, line in enumerate(files[path].decode("utf-8", "replace").split("\n"), start=1):
            if not line.strip():
                continue
            try:
                entry = json.loads(line)
                item = f"e{'u' if task == 'understanding' else 'a'}-{int(entry['qid']):03d}"
                language = str(entry["language"])
            except (ValueError, KeyError, TypeError) as error:
                raise DataError(
                    f"{path}, line {number}, is not a scenario ({type(error).__name__}).", _FETCH
                ) from error
            found.append(_scenario(f"{path}, line {number}", entry, item, language, task, names))
    return _checked(found, ", ".join(files))


def _scenario(
    name: str, entry: Mapping[str, Any], item: str, language: str, task: Task, names: tuple[str, str]
) -> Scenario:
    try:
        questions: tuple[AskedScenario, ...]
        if task == "understanding":
            questions = (
                _question(name, "emotion", entry["emotion_choices"], entry["emotion_label"]),
                _question(name, "cause", entry["cause_choices"], entry["cause_label"]),
            )
        else:
            questions = (_question(name, "choice", entry["choices"], entry["label"]),)
        category, kind, subject = (str(entry[key]).strip() for key in (*names, "subject"))
        text = str(entry["scenario"]).strip()
    except KeyError as error:
        raise DataError(f"{name}: {error} is missing.") from error
    return Scenario(item, language, task, category, kind, subject, text, questions, bool(entry.get("quick")))


def _question(name: str, key: str, options: Iterable[Any], right: Any) -> AskedScenario:
    told = tuple(str(option).strip() for option in options)
    scenario = AskedScenario(key, tuple(dict.fromkeys(told)), str(right).strip())
    if scenario.right not in scenario.options or len(scenario.options) < 2:
        raise DataError(f"{name}: the right {key} is not one of its choices.", "Write it exactly as one of them.")
    return scenario


def _checked(found: list[Scenario], path: str) -> list[Scenario]:
    seen = {(scenario.id, scenario.language) for scenario in found}
    if not found or len(seen) < len(found):
        raise DataError(
            f"{path} has {'no scenario' if not found else 'an id twice'}.", "Give each id once per language."
        )
    return found


# -- scenarios become trials -----------------------------------------------------------------------------------------
# Scenarios become trials: each in several orders of its choices, so that the place of a choice can be told from what
# it says.

ORDERS = 2
"""Orders of choices that each scenario is asked in, if nobody says how many."""


def select(scenarios: Sequence[Scenario], selection: Selection) -> list[Scenario]:
    """By scenario, so that those of two languages stay together."""
    names = list(dict.fromkeys(scenario.id for scenario in scenarios))
    if selection.profile == "quick":
        quick = {scenario.id for scenario in scenarios if scenario.quick}
        names = [name for name in names if name in quick] or spread(names, 8)
    chosen = set(spread(names, selection.limit or len(names)))
    return [scenario for scenario in scenarios if scenario.id in chosen]


def plan(scenarios: Sequence[Scenario], options: EmoBenchOptions, selection: Selection) -> Iterator[tuple[Trial, int]]:
    for order in range(selection.repeats or ORDERS):
        for scenario in select(scenarios, selection):
            yield build_trial(scenario, options, selection.seed, order, structured=selection.structured), order


def build_trial(
    scenario: Scenario, options: EmoBenchOptions, seed: int, order: int, *, structured: bool = False
) -> Trial:
    """Order k is one drawn order turned by k places, so over as many orders as choices each stands everywhere once.
    The draw is the scenario's: both languages have the same order."""
    scales = []
    right: dict[str, int] = {}
    for asked_scenario in scenario.questions:
        places = turned(len(asked_scenario.options), f"{seed} {scenario.id} {asked_scenario.key}", order)
        told = [asked_scenario.options[place - 1] for place in places]
        scales.append(choice(asked_scenario.key, question(scenario, asked_scenario.key), told))
        right[asked_scenario.key] = told.index(asked_scenario.right) + 1
    form = Form(tuple(scales))
    return Trial(
        "emobench",
        (scenario.id,),
        scenario.task,
        scenario.text,
        form,
        prompt(scenario, form, structured=structured, reasoning=options.reasoning and not structured),
        mode="json" if structured else "text",
        order_seed=order,
        key={
            "correct": right,
            "category": scenario.category,
            "kind": scenario.kind,
            "language": scenario.language,
        },
    )


# -- what is told ----------------------------------------------------------------------------------------------------
# What EmoBench asks, in English and in Chinese. The words are ours; the study's own prompt is quoted nowhere.

QUESTIONS: Mapping[str, Mapping[str, str]] = {
    "en": {
        "emotion": "What does {subject} feel in the end?",
        "cause": "Why does {subject} feel so?",
        "Response": "What is the most effective thing for {subject} to say?",
        "Action": "What is the most effective thing for {subject} to do?",
    },
    "zh": {
        "emotion": "{subject}最后的感受是什么？",
        "cause": "{subject}为什么会有这样的感受？",
        "Response": "{subject}怎样回应最有效？",
        "Action": "{subject}怎样做最有效？",
    },
}
_TELL = {
    ("en", "letters"): "Answer with the letter of one choice",
    ("en", "each"): "Answer each question with the letter of one choice, a line each:\n{lines}",
    ("en", "json"): "Answer with a JSON object and nothing else, with the number of one choice for each key: {keys}",
    ("en", "reason"): "Think about it in a few sentences first. Then, on the last lines:",
    ("zh", "letters"): "请只回答一个选项的字母",
    ("zh", "each"): "请用一个选项的字母回答每个问题，每行一个：\n{lines}",
    ("zh", "json"): "请只回答一个 JSON 对象，每个键对应一个选项的编号：{keys}",
    ("zh", "reason"): "请先用几句话思考，然后在最后写出答案：",
}


def question(scenario: Scenario, key: str, words: Mapping[str, str] | None = None) -> str:
    """In the scenario's language, or in these words."""
    asked = "Response" if key == "choice" and scenario.kind.casefold() == "response" else key
    asked = "Action" if asked == "choice" else asked
    return (words or QUESTIONS[scenario.language])[asked].format(subject=scenario.subject)


def prompt(scenario: Scenario, form: Form, *, structured: bool, reasoning: bool) -> str:
    """Story, questions with their choices, and how to answer."""
    shown = numbered if structured else lettered
    asked = []
    for number, scale in enumerate(form.scales, start=1):
        name = f"{number}. " if len(form.scales) > 1 else ""
        asked.append(f"{name}{scale.text}\n{shown(scale)}")
    if scenario.instruction:
        told = filled(scenario.instruction, scenario=scenario.text, questions="\n\n".join(asked))
        return f"{told}\n\n{_tell(scenario.language, form, structured=True, reasoning=False)}" if structured else told
    how = _tell(scenario.language, form, structured=structured, reasoning=reasoning)
    return "\n\n".join([scenario.text, *asked, how])


def _tell(language: str, form: Form, *, structured: bool, reasoning: bool) -> str:
    if structured:
        return _TELL[language, "json"].format(keys=", ".join(f'"{key}"' for key in form.keys))
    if len(form.scales) == 1:
        told = _TELL[language, "letters"] + (" (as in “Answer: A”)." if language == "en" else "（例如“答案：A”）。")
    else:
        told = _TELL[language, "each"].format(lines="\n".join(f"{key}: A" for key in form.keys))
    return f"{_TELL[language, 'reason']} {told}" if reasoning else told
