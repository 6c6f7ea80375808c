"""Office files: what is read of them, and what is said of a broken one."""

import zipfile
from io import BytesIO

import pytest

from eqlab.core.errors import DataError
from eqlab.data.office import paragraphs, rows

WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
SHEET = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"


def archive(**members):
    made = BytesIO()
    with zipfile.ZipFile(made, "w") as file:
        for name, text in members.items():
            file.writestr(name.replace("__", "/") + ".xml", text)
    return made.getvalue()


def test_paragraphs_in_order_with_tabs():
    body = f"<w:d xmlns:w='{WORD}'><w:p><w:r><w:t>one</w:t><w:tab/><w:t>two</w:t></w:r></w:p><w:p/></w:d>"
    assert paragraphs(archive(word__document=body), "a.docx") == ["one\ttwo", ""]


def test_rows_by_column():
    texts = f"<sst xmlns='{SHEET}'><si><t>Model</t></si><si><r><t>G</t></r><r><t>PT</t></r></si></sst>"
    sheet = (
        f"<worksheet xmlns='{SHEET}'><sheetData><row><c r='A1' t='s'><v>0</v></c><c r='B1'/></row>"
        "<row><c r='A2' t='s'><v>1</v></c><c r='AC2'><v>0.29</v></c></row></sheetData></worksheet>"
    )
    content = archive(xl__sharedStrings=texts, xl__worksheets__sheet1=sheet)
    assert rows(content, "a.xlsx") == [{"A": "Model"}, {"A": "GPT", "AC": "0.29"}]


@pytest.mark.parametrize("content", [b"no zip", archive(other="<a/>"), archive(word__document="<w:d")])
def test_a_broken_file_is_named(content):
    with pytest.raises(DataError, match=r"a\.docx is not the office file"):
        paragraphs(content, "a.docx")
