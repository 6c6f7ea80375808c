"""How a reproduction is shown. Its JSON is JSON's own: nothing written as Python shows it, no NaN."""

import math
import re

import pytest
from conftest import ROOT

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
    elif isinstance(value, list | tuple):
        for index, part in enumerate(value):
            yield from python_in(part, f"{place}[{index}]")
    elif type(value) is str:
        if _REPR.search(value):
            yield place, value
    elif isinstance(value, float):  # numpy's is one, and JSON writes it as such
        if not math.isfinite(value):
            yield place, value
    elif value is not None and type(value) not in (int, bool):
        yield place, value


def presented(study, report, capsys):
    """Everything a study is shown as: JSON without Python in it, sentences, flat rows, Markdown, the terminal's text,
    of which docs/evidence/reproduce.md shows lines."""
    from eqlab.cli.research import show
    from eqlab.reproduce import load
    from eqlab.reproduce.claims import as_csv, as_markdown

    found = load(study)
    assert list(python_in(report)) == []
    sentences, rows = found.findings(report), found.rows_of(report)
    assert sentences
    assert all(sentence.endswith(".") for sentence in sentences)
    assert rows
    assert not any(isinstance(value, dict) for row in rows for value in row.values())
    assert as_csv(rows).count(b"\r\n") == len(rows) + 1
    assert list(python_in(as_csv(rows).decode().split("\r\n"))) == []
    text = as_markdown("Study", sentences, found.tables(report))
    assert text.startswith(f"# Study\n\n- {sentences[0][:10]}")
    columns, lines = _documented(study)
    capsys.readouterr()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLUMNS", columns)
        show(found, report)
    printed = {" ".join(line.split()) for line in capsys.readouterr().out.splitlines()}
    assert [line for line in lines if line not in printed] == []
    return sentences


def _documented(study):
    """The terminal's width and the lines that docs/evidence/reproduce.md shows, if it shows any."""
    text = (ROOT / "docs" / "evidence" / "reproduce.md").read_text(encoding="utf-8")
    block = rf"columns=(\d+)[^>]* -->\n```console\n\$ eqlab research reproduce {study}\n(?!\$)(.*?)```"
    found = re.search(block, text, flags=re.DOTALL)
    assert found or study == "short-forms"  # a page of its own
    columns, shown = found.groups() if found else ("120", "")
    return columns, [" ".join(line.split()) for line in shown.splitlines() if line.strip() not in ("", "…")]
