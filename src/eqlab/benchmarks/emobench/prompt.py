"""What EmoBench asks, in English and in Chinese. The words are ours; the study's own prompt is quoted nowhere."""

from collections.abc import Mapping

from eqlab.benchmarks.choices import lettered, numbered
from eqlab.benchmarks.emobench.items import Scenario
from eqlab.core.forms import Form
from eqlab.core.item_file import filled

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
LANGUAGES = tuple(QUESTIONS)


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
