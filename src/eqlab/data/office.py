"""What is written in the office files that studies publish: the paragraphs of a .docx, the rows of an .xlsx. Both are
zip archives of XML."""

import re
import zipfile
from collections.abc import Callable
from io import BytesIO
from typing import TypeVar
from xml.etree import ElementTree

from eqlab.core.errors import DataError

T = TypeVar("T")
_WORD = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_SHEET = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"


def paragraphs(content: bytes, path: str) -> list[str]:
    """The paragraphs of a .docx in order, tabs as tabs."""

    def read(archive: zipfile.ZipFile) -> list[str]:
        root = ElementTree.fromstring(archive.read("word/document.xml"))
        return ["".join(map(_piece, one.iter())) for one in root.iter(f"{_WORD}p")]

    return _opened(content, path, read)


def _piece(node: ElementTree.Element) -> str:
    if node.tag == f"{_WORD}t":
        return node.text or ""
    return "\t" if node.tag == f"{_WORD}tab" else ""


def rows(content: bytes, path: str) -> list[dict[str, str]]:
    """The rows of the first sheet of an .xlsx: text by the letter of its column, numbers as they are stored."""

    def read(archive: zipfile.ZipFile) -> list[dict[str, str]]:
        shared = ElementTree.fromstring(archive.read("xl/sharedStrings.xml"))
        texts = ["".join(node.text or "" for node in one.iter(f"{_SHEET}t")) for one in shared]
        sheet = ElementTree.fromstring(archive.read("xl/worksheets/sheet1.xml"))
        return [dict(_cell(cell, texts) for cell in row if cell.find(f"{_SHEET}v") is not None)
                for row in sheet.iter(f"{_SHEET}row")]  # fmt: skip

    return _opened(content, path, read)


def _cell(cell: ElementTree.Element, texts: list[str]) -> tuple[str, str]:
    value = cell.findtext(f"{_SHEET}v") or ""
    return re.sub(r"\d", "", cell.get("r", "")), texts[int(value)] if cell.get("t") == "s" else value


def _opened(content: bytes, path: str, read: Callable[[zipfile.ZipFile], T]) -> T:
    try:
        with zipfile.ZipFile(BytesIO(content)) as archive:
            return read(archive)
    except (zipfile.BadZipFile, KeyError, IndexError, ValueError, ElementTree.ParseError) as error:
        raise DataError(
            f"{path} is not the office file that it should be ({type(error).__name__}).",
            "Run 'eqlab data verify', then 'eqlab data fetch'.",
        ) from error
