"""What `--json` prints must be JSON's own: no object written as Python shows it, no number that JSON has not."""

import math
import re

_REPR = re.compile(
    r"\b[A-Za-z_]\w*\(\w+=|<[\w.]+ object at|\bdtype=|\b(np|numpy)\.|^[\[({].*'.*[\])}]$|^(None|True|False|nan|inf)$"
)


def python_in(value, place="report"):
    """(place, what) of everything in a report that JSON would not write by itself, or that is a Python repr."""
    if isinstance(value, dict):
        for name, part in value.items():
            if type(name) is not str:
                yield place, name
            yield from python_in(part, f"{place}.{name}")
    elif type(value) is list:
        for index, part in enumerate(value):
            yield from python_in(part, f"{place}[{index}]")
    elif type(value) is str:
        if _REPR.search(value):
            yield place, value
    elif type(value) is float:
        if not math.isfinite(value):
            yield place, value
    elif value is not None and type(value) not in (int, bool):
        yield place, value


def presented(module, report):
    """Everything a study is shown as: JSON without Python in it, sentences, flat rows, Markdown."""
    from eqlab.reproduce.present import as_csv, as_markdown

    assert list(python_in(report)) == []
    sentences, rows = module.findings(report), module.rows_of(report)
    assert sentences
    assert all(sentence.endswith(".") for sentence in sentences)
    assert rows
    assert not any(isinstance(value, dict) for row in rows for value in row.values())
    assert as_csv(rows).count(b"\r\n") == len(rows) + 1
    assert list(python_in(as_csv(rows).decode().split("\r\n"))) == []
    text = as_markdown("Study", sentences, module.tables(report))
    assert text.startswith(f"# Study\n\n- {sentences[0][:10]}")
    return sentences
