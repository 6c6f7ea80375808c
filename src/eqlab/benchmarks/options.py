"""Reading a benchmark's own options ('-o name=value') against their declaration."""

from collections.abc import Mapping, Sequence
from typing import Any

from eqlab.core.benchmark import OptionHelp
from eqlab.core.errors import UsageError


def read_options(benchmark: str, declared: Sequence[OptionHelp], given: Mapping[str, str]) -> dict[str, Any]:
    """Every declared option with its value: a boolean for yes/no choices, a whole number where the default is one. An
    option that came late is left out while it has its default, so that runs of before keep their identity."""
    known = {option.name: option for option in declared}
    for name in given:
        if name not in known:
            raise UsageError(f"{benchmark} has no option '{name}'.", f"It has: {', '.join(known) or 'none'}.")
    read = {option.name: _value(benchmark, option, given.get(option.name, option.default)) for option in declared}
    late = {option.name: _value(benchmark, option, option.default) for option in declared if option.late}
    return {name: value for name, value in read.items() if name not in late or value != late[name]}


def _value(benchmark: str, option: OptionHelp, text: str) -> Any:
    if option.choices and text not in option.choices:
        raise UsageError(
            f"{benchmark}: '{text}' is not a value of option '{option.name}'.", f"Choose {' or '.join(option.choices)}."
        )
    if option.choices == ("yes", "no"):
        return text == "yes"
    if option.default.isdigit() and not option.choices:
        if not text.isdigit():
            raise UsageError(f"{benchmark}: option '{option.name}' needs a whole number, not '{text}'.")
        return int(text)
    return text
