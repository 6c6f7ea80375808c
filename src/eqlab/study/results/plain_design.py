"""A design as plain data and back: what an export carries so that the analysis can be done again where the study's
store, files and published items are not. Whatever a design gains later goes along by itself."""

import types
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from eqlab.core.design import Design
from eqlab.core.errors import DataError
from eqlab.core.runs import RunConfig, config_from_json, config_to_json
from eqlab.core.trials import Trial


def to_plain(value: Any) -> Any:
    """Trials by their id: their content stands once, elsewhere."""
    if isinstance(value, Trial):
        return value.id
    if isinstance(value, RunConfig):
        return config_to_json(value)
    if is_dataclass(value) and not isinstance(value, type):
        return {one.name: to_plain(getattr(value, one.name)) for one in fields(value) if one.init}
    if isinstance(value, tuple | list):
        return [to_plain(one) for one in value]
    if isinstance(value, Mapping):
        return {name: to_plain(one) for name, one in value.items()}
    return value


def from_plain(plain: Mapping[str, Any], trials: Mapping[str, Trial]) -> Design:
    try:
        found: Design = _revive(Design, plain, trials)
    except (KeyError, TypeError, ValueError) as error:
        raise DataError(f"The design cannot be read ({error}).", "Was it exported by a newer eqlab?") from error
    return found


def _revive(hint: Any, value: Any, trials: Mapping[str, Trial]) -> Any:
    if value is None or hint is Any:
        return value
    if hint is Trial:
        return trials[value]
    if hint is RunConfig:
        return config_from_json(value)
    if is_dataclass(hint) and isinstance(hint, type):
        hints = get_type_hints(hint)
        return hint(**{name: _revive(hints[name], one, trials) for name, one in value.items()})
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        (one,) = [argument for argument in arguments if argument is not types.NoneType][:1]
        return _revive(one, value, trials)
    if origin is tuple:
        return _tuple(arguments, value, trials)
    if origin is Literal or not isinstance(value, Mapping):
        return value
    return {name: _revive(arguments[1] if arguments else Any, one, trials) for name, one in value.items()}


def _tuple(arguments: tuple[Any, ...], value: Any, trials: Mapping[str, Trial]) -> tuple[Any, ...]:
    if arguments and arguments[-1] is ...:
        return tuple(_revive(arguments[0], one, trials) for one in value)
    return tuple(_revive(hint, one, trials) for hint, one in zip(arguments, value, strict=True))
