"""A benchmark's own options ('-o name=value'): declared once, as the fields of a frozen dataclass, and read from text,
to and from the plain JSON that a run stores. Benchmarks of 0.2 declare `OptionHelp` and read with `read_options`."""

from collections.abc import Mapping, Sequence
from dataclasses import Field, field, fields
from typing import Any, Self, TypeVar, cast

from eqlab.core.benchmark import OptionHelp
from eqlab.core.errors import UsageError
from eqlab.core.values import dataclass

T = TypeVar("T", bool, int, str)
_YES_NO = ("yes", "no")
_LAST: "dict[type[Options], tuple[dict[str, Any], Options]]" = {}
"""What each class was read from last, and what it made of that."""


def option(default: T, about: str, choices: Sequence[str] = (), *, late: bool = False) -> T:
    """A field of an `Options` class. A boolean is asked for as yes or no. `late`: it came after the benchmark's first
    release, and at its default it is no part of a run's identity."""
    allowed = _YES_NO if isinstance(default, bool) else tuple(choices)
    text = ("yes" if default else "no") if isinstance(default, bool) else str(default)
    told = {"help": about, "choices": allowed, "late": late, "default": text}
    return field(default=default, metadata=told)


def listed(none: str, about: str, *, late: bool = False) -> tuple[str, ...]:
    """A field that is a list, for the benchmark to read: `none` is what a user writes for an empty one."""
    told = {"help": about, "choices": (), "late": late, "default": none}
    return cast(tuple[str, ...], field(default=(), metadata=told))


@dataclass(frozen=True, slots=True)
class Options:
    """The options of a benchmark without any; others derive from it and add fields made by `option`."""

    item_set: str = "open"

    @classmethod
    def help(cls) -> tuple[OptionHelp, ...]:
        return tuple(
            OptionHelp(one.name, told["default"], told["help"], told["choices"], told["late"])
            for one in _declared(cls)
            for told in (one.metadata,)
        )

    @classmethod
    def read(cls, benchmark: str, item_set: str, given: Mapping[str, str]) -> Self:
        """From text; raises UsageError on an unknown name or value."""
        return cls(item_set=item_set, **read_options(benchmark, cls.help(), given))

    @classmethod
    def of(cls, stored: Mapping[str, Any]) -> Self:
        """From a run's options. What only the host keeps there (title, study, purpose) is none of them."""
        last = _LAST.get(cls)  # a run's are the same from answer to answer
        if last is None or last[0] != stored:
            known = cls.__dataclass_fields__
            made = cls(**{name: _frozen(value) for name, value in stored.items() if name in known})
            last = _LAST[cls] = (dict(stored), made)
        return cast(Self, last[1])

    def plain(self) -> dict[str, Any]:
        """As a run stores them: the same JSON since the first release of each."""
        values = {one.name: getattr(self, one.name) for one in _declared(type(self)) if not self._left_out(one)}
        told = {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}
        return {**told, "item_set": self.item_set}

    def _left_out(self, one: "Field[Any]") -> bool:
        return bool(one.metadata["late"]) and getattr(self, one.name) == one.default


def _declared(kind: type[Options]) -> "list[Field[Any]]":
    return [one for one in fields(kind) if one.metadata]


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def read_options(benchmark: str, declared: Sequence[OptionHelp], given: Mapping[str, str]) -> dict[str, Any]:
    """Every declared option with its value: a boolean for yes/no choices, a whole number where the default is one. An
    option that came late is left out while it has its default, so that runs of before keep their identity."""
    helps = {option.name: option for option in declared}
    for name in given:
        if name not in helps:
            raise UsageError(f"{benchmark} has no option '{name}'.", f"It has: {', '.join(helps) or 'none'}.")
    read = {option.name: _value(benchmark, option, given.get(option.name, option.default)) for option in declared}
    late = {option.name: _value(benchmark, option, option.default) for option in declared if option.late}
    return {name: value for name, value in read.items() if name not in late or value != late[name]}


def _value(benchmark: str, option: OptionHelp, text: str) -> Any:
    if option.choices and text not in option.choices:
        raise UsageError(
            f"{benchmark}: '{text}' is not a value of option '{option.name}'.", f"Choose {' or '.join(option.choices)}."
        )
    if option.choices == _YES_NO:
        return text == "yes"
    if option.default.isdigit() and not option.choices:
        if not text.isdigit():
            raise UsageError(f"{benchmark}: option '{option.name}' needs a whole number, not '{text}'.")
        return int(text)
    return text
