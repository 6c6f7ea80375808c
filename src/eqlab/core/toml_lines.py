"""Where each key of a TOML file stands, for messages about mistakes. The standard reader gives values without lines,
and has accepted the text: it need not be checked again."""

import re
import tomllib
from collections.abc import Mapping

Path = tuple[str | int, ...]
"""Keys from the outside in; a number counts the elements of an array, from 0."""
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_BLANK = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_SPACE = re.compile(r"[ \t]*")
_STRING = re.compile(
    r'"""(?:[^"\\]|\\.|"{1,2}(?!"))*"{3,5}'
    + r"|'''(?:[^']|'{1,2}(?!'))*'{3,5}"
    + r'|"(?:[^"\\\n]|\\.)*"'
    + r"|'[^'\n]*'",
    re.DOTALL,
)
_SCALAR = re.compile(r"[^,\]}\n#]*")


def lines_of(text: str) -> Mapping[Path, int]:
    """The line, from 1, of every table, key and array element. A table that is written as part of a longer name
    stands where that name first does."""
    scanner = _Scanner(text)
    scanner.document()
    return scanner.lines


class _Scanner:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.lines: dict[Path, int] = {}
        self.counts: dict[Path, int] = {}
        """Elements so far of arrays of tables."""
        self._line, self._counted = 1, 0

    def document(self) -> None:
        table: Path = ()
        while self._skip(_BLANK) < len(self.text):
            start = self.at
            if self.text.startswith("[[", start):
                self.at += 2
                table = self._array_table(self._key(), self._line_of(start))
            elif self.text[start] == "[":
                self.at += 1
                table = self._inside(self._key())
                self._note(table, self._line_of(start))
            else:
                self._pair(table)
            self._rest_of_line()

    def _array_table(self, key: Path, line: int) -> Path:
        parent = self._inside(key[:-1])
        array = (*parent, key[-1])
        index = self.counts.get(array, 0)
        self.counts[array] = index + 1
        self._note((*array, index), line)
        return (*array, index)

    def _inside(self, key: Path) -> Path:
        """The path of a table's name: an array of tables stands for its newest element."""
        path: Path = ()
        for part in key:
            path = (*path, part)
            if path in self.counts:
                path = (*path, self.counts[path] - 1)
        return path

    def _pair(self, table: Path) -> None:
        line = self._line_of(self.at)
        path = (*table, *self._key())
        self._skip(_SPACE)
        self.at += 1  # =
        self._note(path, line)
        self._skip(_SPACE)
        self._value(path)

    def _value(self, path: Path) -> None:
        opening = self.text[self.at : self.at + 1]
        if opening == "[":
            self._elements(path)
        elif opening == "{":
            self._inline(path)
        elif match := _STRING.match(self.text, self.at):
            self.at = match.end()
        else:
            self._skip(_SCALAR)

    def _elements(self, path: Path) -> None:
        self.at += 1
        index = 0
        while self._skip(_BLANK) < len(self.text) and self.text[self.at] != "]":
            own = (*path, index)
            self._note(own, self._line_of(self.at))
            self._value(own)
            index += 1
            if self._skip(_BLANK) < len(self.text) and self.text[self.at] == ",":
                self.at += 1
        self.at += 1

    def _inline(self, path: Path) -> None:
        self.at += 1
        while self._skip(_BLANK) < len(self.text) and self.text[self.at] != "}":
            self._pair(path)
            if self._skip(_BLANK) < len(self.text) and self.text[self.at] == ",":
                self.at += 1
        self.at += 1

    def _key(self) -> Path:
        parts: list[str | int] = []
        while True:
            self._skip(_SPACE)
            if match := _STRING.match(self.text, self.at):
                parts.append(_unquoted(match.group()))
                self.at = match.end()
            elif match := _BARE.match(self.text, self.at):
                parts.append(match.group())
                self.at = match.end()
            self._skip(_SPACE)
            if self.text[self.at : self.at + 1] != ".":
                return tuple(parts)
            self.at += 1

    def _note(self, path: Path, line: int) -> None:
        for length in range(1, len(path) + 1):
            self.lines.setdefault(path[:length], line)

    def _skip(self, pattern: re.Pattern[str]) -> int:
        match = pattern.match(self.text, self.at)
        self.at = match.end() if match else self.at
        return self.at

    def _rest_of_line(self) -> None:
        end = self.text.find("\n", self.at)
        self.at = len(self.text) if end < 0 else end + 1

    def _line_of(self, position: int) -> int:
        """Positions only grow, so each line is counted once."""
        if position > self._counted:
            self._line += self.text.count("\n", self._counted, position)
            self._counted = position
        return self._line


def _unquoted(name: str) -> str:
    """A quoted key as the standard reader gives it."""
    return next(iter(tomllib.loads(f"{name} = 0")))
