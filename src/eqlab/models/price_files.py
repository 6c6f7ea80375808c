"""Where prices are read: the user's table (EQLAB_PRICES), the one in the package, litellm's if it is installed."""

import datetime
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from eqlab.core.errors import DataError
from eqlab.core.runs import ModelConfig
from eqlab.models.open import is_local
from eqlab.models.prices import FREE, Price, find, litellm_price, read_prices

VARIABLE = "EQLAB_PRICES"
_LITELLM_FILE = "model_prices_and_context_window_backup.json"


@dataclass(frozen=True, slots=True)
class Prices:
    """Every price that is known here."""

    tables: Sequence[Price]
    today: str

    def of(self, model: ModelConfig) -> Price | None:
        if is_local(model):
            return FREE
        return find(self.tables, model.spec, self.today) or litellm_price(*_litellm(), model.spec)


def known_prices() -> Prices:
    """Raises DataError where the user's table cannot be read."""
    own = os.environ.get(VARIABLE, "")
    tables = [*(_own(own) if own else ()), *_shipped()]
    return Prices(tables, datetime.date.today().isoformat())


def _own(name: str) -> list[Price]:
    try:
        text = Path(name).expanduser().read_text(encoding="utf-8")
    except FileNotFoundError:
        raise DataError(f"There is no price table {name}.", f"Correct --prices or {VARIABLE}.") from None
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(
            f"The price table {name} cannot be read: {error}.", f"Correct --prices or {VARIABLE}."
        ) from error
    return read_prices(text, name)


@cache
def _shipped() -> tuple[Price, ...]:
    return tuple(read_prices(files("eqlab.data").joinpath("prices.toml").read_text(encoding="utf-8"), "prices.toml"))


@cache
def _litellm() -> tuple[Mapping[str, Any], str]:
    """litellm's table as it lies in its package: loading litellm itself takes seconds."""
    from importlib.metadata import PackageNotFoundError, version
    from importlib.util import find_spec

    import orjson

    spec = find_spec("litellm")
    if spec is None or not spec.submodule_search_locations:
        return {}, ""
    try:
        table = orjson.loads((Path(spec.submodule_search_locations[0]) / _LITELLM_FILE).read_bytes())
        return (table if isinstance(table, dict) else {}), version("litellm")
    except (OSError, ValueError, PackageNotFoundError):
        return {}, ""
