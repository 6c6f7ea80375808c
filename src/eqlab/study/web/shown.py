"""A trial as a person sees it: paragraphs and quotations, and each scale laid out for reading. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from eqlab.core.forms import Form, Scale

Layout = Literal["numbers", "row", "list", "table"]
_LONG = 24
"""Characters of a label beyond which options stand under each other."""


@dataclass(frozen=True, slots=True)
class Block:
    """A paragraph or, in a quotation, several."""

    quoted: bool
    paragraphs: tuple[tuple[str, ...], ...]
    """Each a tuple of lines."""


@dataclass(frozen=True, slots=True)
class Option:
    value: int
    label: str
    """Empty where only the number is shown."""


@dataclass(frozen=True, slots=True)
class Question:
    """One scale on the page."""

    number: int
    """From 1; names the field's element, since keys may hold any character."""
    key: str
    text: str
    options: tuple[Option, ...]
    layout: Layout
    low: Option | None
    """The labelled ends, where only they are labelled."""
    high: Option | None
    chosen: int | None
    problem: str

    @property
    def field(self) -> str:
        return f"v.{self.key}"


def blocks(text: str) -> list[Block]:
    """Paragraphs of a text; lines that begin with "> " are a quotation."""
    found: list[Block] = []
    lines: list[str] = []
    quoted = False

    def close() -> None:
        if not lines:
            return
        paragraph = tuple(lines)
        lines.clear()
        if quoted and found and found[-1].quoted and not broken:
            found[-1] = Block(True, (*found[-1].paragraphs, paragraph))
        else:
            found.append(Block(quoted, (paragraph,)))

    broken = True
    for raw in text.splitlines():
        line = raw.rstrip()
        is_quote = line.startswith(">")
        if is_quote != quoted or (not line and not quoted):
            close()
            broken = True
        quoted = is_quote
        content = line[1:].strip() if is_quote else line.strip()
        if not content:
            close()
            broken = not is_quote
            continue
        lines.append(content)
    close()
    return found


def questions(
    form: Form, chosen: Mapping[str, int], problems: Mapping[str, str], *, quiz: bool = False
) -> list[Question]:
    """The scales of a form, laid out alike where they are alike. `problems` are in words, by key. The numbers of a
    quiz's options mean nothing and are not shown."""
    alike = len(form.scales) > 3 and len({(s.low, s.high, s.anchors) for s in form.scales}) == 1
    return [
        _question(number, scale, alike, quiz, chosen.get(scale.key), problems.get(scale.key, ""))
        for number, scale in enumerate(form.scales, start=1)
    ]


def _question(number: int, scale: Scale, alike: bool, quiz: bool, chosen: int | None, problem: str) -> Question:
    labels = dict(scale.anchors)
    values = range(scale.low, scale.high + 1)
    full = all(value in labels for value in values)
    options = tuple(Option(value, labels[value] if full else "") for value in values)
    low = Option(scale.low, labels[scale.low]) if not full and scale.low in labels else None
    high = Option(scale.high, labels[scale.high]) if not full and scale.high in labels else None
    layout = "list" if quiz and full else _layout(options, full, alike)
    return Question(number, scale.key, scale.text, options, layout, low, high, chosen, problem)


def _layout(options: Sequence[Option], full: bool, alike: bool) -> Layout:
    if not full:
        return "numbers"
    if alike and len(options) <= 7:
        return "table"
    return "list" if len(options) > 5 or max(len(option.label) for option in options) > _LONG else "row"
