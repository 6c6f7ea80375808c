"""What results are called and what they may be compared with."""

from eqlab.core.results import Result
from eqlab.core.runs import PEOPLE, RunConfig
from eqlab.core.text import short_name

MODES = {"text": "free-text answers", "json": "structured (JSON) answers", "form": "people on a form"}


def rules_name(result: Result) -> str:
    return str(result.rules.get("name", result.rules.get("rules", "")))


def mode_name(result: Result) -> str:
    mode = "form" if result.subject == PEOPLE else str(result.rules.get("mode", ""))
    return MODES.get(mode, f"answer mode {mode}" if mode else "answer mode not recorded")


def subject_name(subject: str) -> str:
    """A model by its bare name; people and judges keep their kind."""
    return short_name(subject.removeprefix("model:"), 160)


def comparable(result: Result) -> tuple[str, ...]:
    """Never compare across these. The page knows the run as well and separates more finely."""
    rules = result.rules
    return (result.benchmark, str(rules.get("mode", "")), rules_name(result), str(rules.get("item_set", "")))


def settings_of(config: RunConfig, subject: str) -> str:
    """A model's label and settings in a few words, which tell results of one name apart. Empty if it has none."""
    own = next((model for model in config.models if model.subject == subject), None)
    if own is None:
        return ""
    settings = [f"{name} {value}" for name, value in sorted(own.settings.items())]
    return ", ".join([*([own.label] if own.label else []), *settings])
