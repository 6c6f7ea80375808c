"""A study's page as a program sees it: the form with its fields and choices, and the words around it."""

import re
from dataclasses import dataclass, field
from html.parser import HTMLParser


@dataclass(frozen=True, slots=True)
class ReadPage:
    fields: dict[str, str]
    """Fields that are filled in already, hidden ones included."""
    choices: dict[str, tuple[str, ...]]
    """Values to choose from, by field: radio buttons, options, named buttons."""
    words: str
    """All text of the page, letters and digits only, to find a stimulus in."""
    resume: str = ""
    """The code with which one goes on in another browser."""

    @property
    def number(self) -> int:
        return int(self.fields["step"])

    @property
    def attempt(self) -> int:
        return int(self.fields.get("attempt", "1"))

    @property
    def scales(self) -> frozenset[str]:
        return frozenset(name[2:] for name in (*self.choices, *self.fields) if name.startswith("v."))


def bare(text: str) -> str:
    """Letters and digits only: what markup and quotation marks cannot change."""
    return re.sub(r"[\W_]+", "", text).casefold()


def read_page(html: str) -> ReadPage | None:
    """The page's form; None where there is none of a study's page."""
    reader = _Reader()
    reader.feed(html)
    reader.close()
    found = next((form for form in reader.forms if "step" in form.fields), None)
    if found is None:
        return None
    choices = {name: tuple(values) for name, values in found.choices.items()}
    code = re.search(r'<code id="resume">([^<]+)</code>', html)
    return ReadPage(found.fields, choices, bare(" ".join(reader.words)), code.group(1) if code else "")


def sealed_name(html: str) -> str | None:
    """What the page that asks for a resume code wants back with it; None on another page."""
    found = re.search(r'name="who" value="([^"]+)"', html)
    return found.group(1) if found else None


@dataclass(slots=True)
class _Form:
    fields: dict[str, str] = field(default_factory=dict)
    choices: dict[str, list[str]] = field(default_factory=dict)


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.forms: list[_Form] = []
        self.words: list[str] = []
        self._inside: _Form | None = None
        self._select = ""
        self._silent = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        name, value = given.get("name", ""), given.get("value", "")
        if tag in ("script", "style"):
            self._silent = tag
        elif tag == "form":
            self._inside = _Form()
            self.forms.append(self._inside)
        elif self._inside is None:
            return
        elif tag == "select":
            self._select = name
        elif tag == "option" and self._select:
            self._inside.choices.setdefault(self._select, []).append(value)
        elif tag == "textarea" and name:
            self._inside.fields[name] = ""
        elif tag == "button" and name:
            self._inside.choices.setdefault(name, []).append(value)
        elif tag == "input" and name:
            if given.get("type") in ("radio", "checkbox"):
                self._inside.choices.setdefault(name, []).append(value)
            else:
                self._inside.fields[name] = value

    def handle_endtag(self, tag: str) -> None:
        if tag == "form":
            self._inside = None
        elif tag == "select":
            self._select = ""
        elif tag == self._silent:
            self._silent = ""

    def handle_data(self, data: str) -> None:
        if not self._silent:
            self.words.append(data)
