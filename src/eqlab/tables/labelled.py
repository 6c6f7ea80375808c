"""Tables whose every column is described: a data frame made of variables, its codebook, and files of SPSS and Stata, in
which the descriptions are labels.

In these files a closed set of words is numbered from 1 and labelled, yes/no is 1 and 0, times are UTC, and a name is
made of letters, digits and underscores."""

import re
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from eqlab.core.errors import UsageError
from eqlab.core.plural import many
from eqlab.core.values import dataclass
from eqlab.tables.data import csv_bytes

if TYPE_CHECKING:
    import polars as pl

Kind = Literal["text", "integer", "number", "yes/no", "time"]
LABELLED = ("sav", "dta")
_SPSS_TEXT = 32_767
"""Bytes of a text that SPSS holds."""
_LABEL = {"sav": 256, "dta": 80}
"""Bytes of a label in SPSS, and of one in Stata (which counts letters: bytes are the safe side)."""
_RESERVED = {"all", "and", "by", "eq", "ge", "gt", "in", "if", "le", "lt", "ne", "not", "or", "to", "using", "with"}


@dataclass(frozen=True, slots=True)
class Variable:
    """A column of an exported table."""

    name: str
    kind: Kind
    meaning: str
    unit: str = ""
    values: tuple[str, ...] = ()
    """All words that may stand in a text column, where they are a closed set."""


def variables_frame(variables: Sequence[Variable], rows: Iterable[Mapping[str, Any]]) -> "pl.DataFrame":
    import polars as pl

    types: dict[str, Any] = {
        "text": pl.String,
        "integer": pl.Int64,
        "number": pl.Float64,
        "yes/no": pl.Boolean,
        "time": pl.Datetime("ms", "UTC"),
    }
    return pl.DataFrame(list(rows), schema={variable.name: types[variable.kind] for variable in variables})


def variables_csv(variables: Sequence[Variable]) -> bytes:
    """The codebook of one table: a line a column."""
    lines = [
        {"name": one.name, "type": one.kind, "unit": one.unit, "values": "; ".join(one.values), "meaning": one.meaning}
        for one in variables
    ]
    return csv_bytes(list(lines[0]), lines)


def labelled_file(
    frame: "pl.DataFrame", variables: Sequence[Variable], ending: str, say: Callable[[str], None]
) -> bytes:
    """A file of SPSS (`sav`) or Stata (`dta`); says how many texts had to be cut because SPSS holds no longer ones."""
    import polars as pl

    try:
        import pyreadstat
    except ImportError as error:
        raise UsageError("Files of SPSS and Stata need an extra.", "pip install 'eqlab[spss]'") from error
    names = _names([variable.name for variable in variables])
    columns: list[pl.Series] = []
    value_labels: dict[str, dict[int, str]] = {}
    cut = 0
    for variable, name in zip(variables, names, strict=True):
        column = frame[variable.name].alias(name)
        if variable.values:
            codes = {word: code for code, word in enumerate(_words(variable, column), 1)}
            value_labels[name] = {code: _short(word, 80) for word, code in codes.items()}
            column = column.replace_strict(codes, default=None, return_dtype=pl.Int32)
        elif variable.kind == "yes/no":
            value_labels[name] = {0: "no", 1: "yes"}
            column = column.cast(pl.Int8)
        elif variable.kind == "time":
            column = column.dt.replace_time_zone(None)
        elif variable.kind == "text":  # these formats know no missing text, and end a text at a NUL
            column = column.fill_null("").str.replace_all("\0", "\ufffd", literal=True)
            if ending == "sav":
                long = column.str.len_bytes() > _SPSS_TEXT
                cut += int(long.sum())
                column = column.map_elements(lambda text: _short(text, _SPSS_TEXT), return_dtype=pl.String)
        columns.append(column)
    labels = {name: _short(_label(one), _LABEL[ending]) for name, one in zip(names, variables, strict=True)}
    told: dict[str, Any] = {"column_labels": labels, "variable_value_labels": value_labels}
    if cut:
        say(f"! {many(cut, 'text')} cut: SPSS holds {_SPSS_TEXT:,} bytes. Parquet, CSV and Stata have them whole.")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"table.{ending}"
        if ending == "sav":
            pyreadstat.write_sav(pl.DataFrame(columns), path, row_compress=True, **told)
        else:
            pyreadstat.write_dta(pl.DataFrame(columns), path, **told)
        return path.read_bytes()


def _words(variable: Variable, column: "pl.Series") -> list[str]:
    """The closed set, and after it whatever else stands in the column all the same: nothing is lost."""
    found = {word for word in column.unique().to_list() if word} - set(variable.values)
    return [*variable.values, *sorted(found)]


def _label(variable: Variable) -> str:
    return f"{variable.meaning} [{variable.unit}]" if variable.unit else variable.meaning


def _short(text: str, size: int) -> str:
    """As many whole letters as fit into so many bytes."""
    if len(text.encode()) <= size:
        return text
    return text.encode()[: size - 3].decode(errors="ignore") + "…"


def _names(names: Sequence[str]) -> list[str]:
    """Names that both programs take: at most 32 letters, digits and underscores, no word of their own languages."""
    made: list[str] = []
    for name in names:
        plain = re.sub(r"[^A-Za-z0-9]+", "_", name).strip("_") or "column"
        plain = f"{plain}_" if plain.lower() in _RESERVED else plain
        plain = plain if plain[0].isalpha() else f"v_{plain}"
        base, number = plain[:32], 2
        while base.lower() in {other.lower() for other in made}:
            base, number = f"{plain[:28]}_{number}", number + 1
        made.append(base)
    return made
