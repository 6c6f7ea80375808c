"""Pages from templates (autoescape is on and an unknown name is an error), and a trial as a person sees it: paragraphs,
quotations, and each scale laid out for reading."""

import gzip
import hashlib
import re
import secrets
import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from importlib.resources import files
from types import CodeType
from typing import Any, Literal

from jinja2 import BytecodeCache, Environment, PackageLoader, StrictUndefined
from jinja2.bccache import Bucket
from markupsafe import escape
from starlette.responses import HTMLResponse, Response

from eqlab.core.forms import Form, Number, Scale, Several, Writing
from eqlab.core.text import money, visible
from eqlab.core.values import dataclass
from eqlab.study.texts import Texts, load
from eqlab.study.web.settings import ServerSettings

Layout = Literal["numbers", "row", "brief row", "list", "table"]
Role = Literal["", "label", "asked", "story", "said", "rated"]
"""What a block is on the page: plain text, the words above a quotation, the question, and of quotations what happened,
what somebody says about it, and the thing to rate."""
_LONG = 24
"""Characters of a label beyond which options stand under each other."""
_BRIEF = 16
"""Characters of all labels together up to which three options fit beside each other on a phone."""
_TYPES = {"css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8", "svg": "image/svg+xml"}
_FOREVER = "public, max-age=31536000, immutable"
_MOST_KEPT = 1024
"""Pages kept as rendered; the oldest goes first."""


@dataclass(frozen=True, slots=True)
class File:
    """A style or script, in memory: no path of the disk is ever looked up for a request."""

    body: bytes
    packed: bytes
    type: str
    version: str

    @classmethod
    def of(cls, name: str, body: bytes) -> "File":
        ending = name.rsplit(".", 1)[-1]
        if ending == "css":  # comments are for us; a licence ("/*!") stays
            body = re.sub(rb"/\*(?!!).*?\*/\n?", b"", body, flags=re.DOTALL)
        return cls(body, gzip.compress(body, 9, mtime=0), _TYPES[ending], hashlib.sha256(body).hexdigest()[:12])

    def response(self, packed: bool) -> Response:
        headers = {"cache-control": _FOREVER, "vary": "accept-encoding"}
        if packed:
            headers["content-encoding"] = "gzip"
        return Response(self.packed if packed else self.body, headers=headers, media_type=self.type)


class _Compiled(BytecodeCache):
    """Templates are compiled once a process, however many applications it has."""

    def __init__(self) -> None:
        self._codes: dict[tuple[str, str], CodeType] = {}

    def load_bytecode(self, bucket: Bucket) -> None:
        bucket.code = self._codes.get((bucket.key, bucket.checksum))

    def dump_bytecode(self, bucket: Bucket) -> None:
        if bucket.code is not None:
            self._codes[bucket.key, bucket.checksum] = bucket.code


_compiled = _Compiled()


class Renderer:
    def __init__(self, settings: ServerSettings) -> None:
        self._settings = settings
        self.files = _read_files()
        self._texts: dict[str, Texts] = {}
        self._kept: dict[Hashable, list[str]] = {}
        self._gap = secrets.token_hex(16)
        self._environment = Environment(
            loader=PackageLoader("eqlab.study.web", "templates"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            auto_reload=False,
            bytecode_cache=_compiled,
        )
        self._environment.globals["asset"] = lambda name: f"/static/{name}?v={self.files[name].version}"
        self._environment.filters["clock"] = lambda at: time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(at))
        self._environment.filters["mail_parts"] = mail_parts
        self._environment.filters["speaker"] = speaker
        self._environment.filters["money"] = money
        self._environment.globals["preview"] = settings.preview

    def texts(self, language: str) -> Texts:
        """Read once: the words of a study do not change, nor go, while people take part."""
        found = self._texts.get(language)
        if found is None:
            found = self._texts[language] = self._settings.texts.get(language) or load(language)
        return found

    def page(self, name: str, language: str, status: int = 200, **values: Any) -> HTMLResponse:
        t = self.texts(language)
        return HTMLResponse(self._environment.get_template(f"{name}.html.j2").render(t=t, **values), status)

    def page_for_many(
        self, name: str, language: str, key: Hashable, own: Mapping[str, str], make: Callable[[], Mapping[str, Any]]
    ) -> HTMLResponse:
        """A page that is rendered once for all for whom `key` is the same: what `make` gives is the same for them, and
        their `own` values, which the template only prints, are put in afterwards."""
        parts = self._kept.get(key)
        if parts is None:
            gaps = {field: f"{self._gap}{field} " if value else "" for field, value in own.items()}
            text = bytes(self.page(name, language, 200, **{**make(), **gaps}).body).decode()
            parts = self._kept[key] = re.split(f"{self._gap}(\\w+) ", text)
            if len(self._kept) > _MOST_KEPT:
                del self._kept[next(iter(self._kept))]
        filled = parts[:]
        filled[1::2] = [escape(own[field]) for field in parts[1::2]]
        return HTMLResponse("".join(filled))

    def message(
        self,
        key: str,
        language: str,
        status: int,
        headers: Mapping[str, str] | None = None,
        study: Any = None,
        *,
        gone: bool = False,
    ) -> HTMLResponse:
        """A page that only says something: `<key>_title` and `<key>_text`. Of somebody who is `gone` the browser keeps
        nothing either."""
        reply = self.page("message", language, status, key=key, study=study, gone=gone)
        reply.headers.update(headers or {})
        return reply

    def file(self, name: str, packed: bool) -> Response | None:
        found = self.files.get(name)
        return found.response(packed) if found else None


def mail_parts(text: str) -> tuple[str, str, str] | None:
    """What stands before, in and after the first e-mail address of a text; None without one."""
    found = re.search(r"[A-Za-z0-9._%+-]+@[A-Za-z0-9.-]+\.[A-Za-z]{2,}", text)
    return (text[: found.start()], found.group(), text[found.end() :]) if found else None


@cache
def _read_files() -> Mapping[str, File]:
    found = {}
    for one in (files("eqlab.study.web") / "static").iterdir():
        ending = one.name.rsplit(".", 1)[-1]
        if ending in _TYPES:
            found[one.name] = File.of(one.name, one.read_bytes())
    return found


# -- a trial as a person sees it ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Block:
    """A paragraph or, in a quotation, several."""

    quoted: bool
    paragraphs: tuple[tuple[str, ...], ...]
    """Each a tuple of lines."""
    role: Role = ""
    dialogue: bool = False
    """Whether lines begin with who says them."""


@dataclass(frozen=True, slots=True)
class Option:
    value: int
    label: str
    """Empty where only the number is shown."""


@dataclass(frozen=True, slots=True)
class PageQuestion:
    """One field on the page. Its `kind` names the template's part that shows it."""

    number: int
    """From 1; names the field's element, since keys may hold any character."""
    key: str
    text: str
    kind: Literal["scale", "several", "number", "writing"]
    problem: str
    options: tuple[Option, ...] = ()
    layout: Layout = "list"
    low: Option | None = None
    """The labelled ends, where only they are labelled."""
    high: Option | None = None
    chosen: tuple[int, ...] = ()
    written: str = ""
    """What stands in a field for a number or a text."""
    declined: str = ""
    """What may be ticked instead; empty: nothing."""
    has_declined: bool = False
    required: bool = True
    range: tuple[str, str] = ("", "")
    least: int = 0
    most: int = 0
    long: bool = False

    @property
    def field(self) -> str:
        return f"v.{self.key}"


def blocks(text: str, rated: bool | None = None) -> list[Block]:
    """Paragraphs of a text; lines that begin with "> " are a quotation. `rated`: whether the last quotation is the
    thing to rate; where nobody says so, it is if there are several."""
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
    for raw in visible(text).split("\n"):
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
    return _labelled(_with_speakers(_marked(found, rated)))


def _labelled(found: list[Block]) -> list[Block]:
    """With the line above a quotation ("The person says:") a block of its own."""
    made: list[Block] = []
    for number, block in enumerate(found):
        *lines, last = block.paragraphs[-1]
        above = number + 1 < len(found) and found[number + 1].quoted and not block.quoted
        if not above or not last.endswith((":", "：")):
            made.append(block)
            continue
        if lines:
            made.append(replace(block, paragraphs=(tuple(lines),)))
        made.append(replace(block, paragraphs=((last,),), role="label"))
    return made


def _with_speakers(found: list[Block]) -> list[Block]:
    """With the speakers of a dialogue known: several lines that begin with who says them; what stands above a quotation
    is none. What is rated is shown as it was written, always alike: its looks must not tell who wrote it."""
    speakers = sum(
        speaker(line) is not None
        for block, after in zip(found, (*found[1:], None), strict=False)
        if (block.quoted or after is None or not after.quoted) and block.role != "rated"
        for lines in block.paragraphs
        for line in lines
    )
    return [replace(block, dialogue=speakers > 1 and block.role != "rated") for block in found]


def _marked(found: list[Block], rated: bool | None) -> list[Block]:
    """With the thing to rate and the question known."""
    last = len(found) - 1
    quoted = [number for number, block in enumerate(found) if block.quoted]
    roles: dict[int, Role] = dict.fromkeys(quoted, "story")
    ends: list[Role] = ["rated", "said"] if (len(quoted) > 1 if rated is None else rated) else ["said"]
    roles.update(zip(reversed(quoted), ends, strict=False))
    if found and not found[last].quoted and found[last].paragraphs[-1][-1].endswith(("?", "？")):
        roles[last] = "asked"
    return [replace(block, role=roles.get(number, block.role)) for number, block in enumerate(found)]


def speaker(line: str) -> tuple[str, str] | None:
    """(name, words) of a line like "Maria: Good morning"; None for another."""
    found = re.fullmatch(r"(\w[\w .'’-]{0,28}\w|\w): +(\S.*)", line)
    name = found.group(1) if found else ""
    return (name, found.group(2)) if found and name[0].isupper() and len(name.split()) <= 3 else None


COLUMN = "<|>"


def columns(text: str) -> tuple[str, tuple[str, ...]]:
    """(what stands above, what stands side by side below it): a line "<|>" begins a column."""
    parts: list[list[str]] = [[]]
    for line in text.splitlines():
        if line.strip() == COLUMN:
            parts.append([])
        else:
            parts[-1].append(line)
    above, *beside = ("\n".join(part) for part in parts)
    return above, tuple(beside)


def questions(
    form: Form, chosen: Mapping[str, Any], problems: Mapping[str, str], *, quiz: bool = False
) -> list[PageQuestion]:
    """The fields of a form, scales laid out alike where they are alike. `problems` are in words, by key. The numbers of
    options that mean nothing (a quiz's, a question's with one answer) are not shown."""
    scales = form.scales
    alike = len(scales) > 3 and len({(s.low, s.high, s.anchors) for s in scales}) == 1 and scales == form.fields
    shown = []
    for number, field in enumerate(form.fields, start=1):
        value, problem = chosen.get(field.key), problems.get(field.key, "")
        if isinstance(field, Scale):
            mixed = quiz or scales != form.fields
            shown.append(_scale(number, field, alike, mixed, value, problem))
        elif isinstance(field, Several):
            shown.append(_several(number, field, value, problem))
        else:
            shown.append(_written(number, field, field.key in chosen, value, problem))
    return shown


def _scale(number: int, scale: Scale, alike: bool, plain: bool, chosen: Any, problem: str) -> PageQuestion:
    labels = dict(scale.anchors)
    values = range(scale.low, scale.high + 1)
    full = all(value in labels for value in values)
    options = tuple(Option(value, labels[value] if full else "") for value in values)
    return PageQuestion(
        number,
        scale.key,
        scale.text,
        "scale",
        problem,
        options,
        "list" if plain and full else _layout(options, full, alike),
        Option(scale.low, labels[scale.low]) if not full and scale.low in labels else None,
        Option(scale.high, labels[scale.high]) if not full and scale.high in labels else None,
        (chosen,) if isinstance(chosen, int) else (),
    )


def _several(number: int, one: Several, chosen: Any, problem: str) -> PageQuestion:
    labels = (*one.options, *((one.alone,) if one.alone else ()))
    options = tuple(Option(value, label) for value, label in enumerate(labels, start=1))
    picked = tuple(value for value in chosen if isinstance(value, int)) if isinstance(chosen, list) else ()
    return PageQuestion(
        number, one.key, one.text, "several", problem, options, chosen=picked, required=not one.optional
    )


def _written(number: int, one: Number | Writing, given: bool, value: Any, problem: str) -> PageQuestion:
    both = isinstance(value, list) and None in value
    ticked, value = both or (value is None and not problem), value[0] if both else value
    common = PageQuestion(
        number,
        one.key,
        one.text,
        "number" if isinstance(one, Number) else "writing",
        problem,
        written="" if value is None else str(value),
        declined=one.declined,
        has_declined=bool(one.declined) and given and ticked,
        required=not one.optional,
    )
    if isinstance(one, Number):
        return replace(common, range=one.shown)
    return replace(common, least=one.least_words, most=one.most, long=one.long)


def _layout(options: Sequence[Option], full: bool, alike: bool) -> Layout:
    if not full:
        return "numbers"
    if alike and len(options) <= 7:
        return "table"
    longest = max(len(option.label) for option in options)
    if len(options) > 5 or longest > _LONG:
        return "list"
    return "brief row" if len(options) <= 3 and sum(len(option.label) for option in options) <= _BRIEF else "row"
