"""Scenarios of EmoBench, ours or the published ones, as one shape: a story and one or two questions with options."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, cast

from eqlab.core.errors import DataError, UsageError
from eqlab.core.item_file import columns, instruction, read_items
from eqlab.core.toml_section import Section

OPEN = "emobench.toml"
UNDERSTANDING_FILE, APPLICATION_FILE = "emobench/data/EU.jsonl", "emobench/data/EA.jsonl"
Task = Literal["understanding", "application"]
TASKS: tuple[Task, ...] = ("understanding", "application")
_FETCH = "Get it again with 'eqlab data fetch emobench'."


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


def chosen_scenarios(files: Mapping[str, bytes], options: Mapping[str, Any]) -> list[Scenario]:
    """What the options leave of the files: one task or both, one language or both."""
    if options["item_set"] == "published":
        found = parse_published(files)
    else:
        ((path, content),) = files.items()
        found = parse_open(content, path)
    task, language = options["task"], options["language"]
    chosen = [one for one in found if task in ("both", one.task)]
    if options["item_set"] == "published":
        chosen = [one for one in chosen if language in ("both", one.language)]
    if not chosen:
        raise UsageError(f"There is no scenario of {task} in {language}.", "See 'eqlab benchmarks'.")
    return chosen


def parse_open(content: bytes, path: str = OPEN) -> list[Scenario]:
    """Our own scenarios, or a user's. Raises DataError with all that is wrong with the file."""
    return read_items(content, path, _KEYS, _own, columns(lists=_LISTS, flags=("quick",)), "scenario")


def _own(one: Section, top: Section) -> Scenario:
    task = cast(Task, one.choice("task", TASKS))
    kind = one.text("kind", NOT_SAID) if task == "understanding" else one.text("question_type", "Action")
    asked: tuple[AskedScenario, ...]
    if task == "understanding":
        asked = (_choices(one, "emotion", "emotion_choices", "emotion_label"),
                 _choices(one, "cause", "cause_choices", "cause_label"))  # fmt: skip
    else:
        asked = (_choices(one, "choice", "choices", "label"),)
    return Scenario(
        one.text("id"),
        top.choice("language", ("en", "zh"), "en"),
        task,
        one.text("category", NOT_SAID),
        kind,
        one.text("subject", "the person"),
        one.text("scenario"),
        asked,
        bool(one.flag("quick")),
        instruction(top, ("scenario", "questions")),
    )


def _choices(one: Section, key: str, choices: str, label: str) -> AskedScenario:
    options, right = one.texts(choices), one.text(label)
    if len(options) < 2 and isinstance(one.values.get(choices, []), list):
        one.wrong(choices, f'are too few (write {choices} = ["…", "…"])')
    elif right and right not in options:
        one.wrong(label, f"is not one of its choices (write one of {choices}, word for word)")
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
    asked = AskedScenario(key, tuple(dict.fromkeys(told)), str(right).strip())
    if asked.right not in asked.options or len(asked.options) < 2:
        raise DataError(
            f"{name}: the right {key} is not one of its choices.", "The label is one of them, word for word."
        )
    return asked


def _checked(found: list[Scenario], path: str) -> list[Scenario]:
    seen = {(scenario.id, scenario.language) for scenario in found}
    if not found or len(seen) < len(found):
        raise DataError(f"{path} has {'no scenario' if not found else 'an id twice'}.", "Each id once in a language.")
    return found
