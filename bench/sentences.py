"""docs/reference/sentences.md: every sentence that the product can say, by file, with an example of each that has a
gap, for those who read its English: python bench/sentences.py [FILE of what was heard …]

EQLAB_HEARD=FILE pytest -p sentences tests/… writes such files, FILE.1234: what each sentence said in a test run. An
example stays on the page as long as its sentence."""

import ast
import atexit
import importlib.abc
import importlib.machinery
import json
import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from types import CodeType, ModuleType

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "eqlab"
PAGE = ROOT / "docs" / "reference" / "sentences.md"
GAP = "…"
HEAD = """# Every sentence

What EQ Lab can say, by the file that says it, so that one reading covers its English: `…` stands for a name,
a number or words of another sentence. Below a sentence with gaps stands an example: what it said
in a test run or what the documentation shows; else {the names} of what fills the gaps. Made by
`python bench/sentences.py`.
"""
FEWEST = 4
"""Words of a sentence."""


def patterns(source: str, *, errors: bool = True) -> Iterator[str]:
    """Texts of a file that read as a sentence: with a capital or a gap at the beginning and a stop at the end; without
    `errors` none that is raised."""
    nodes = list(ast.walk(ast.parse(source)))
    inside: set[int] = set()
    for node in nodes:
        if isinstance(node, ast.JoinedStr):
            inside |= {id(part) for part in node.values}
        elif isinstance(node, ast.Expr):  # a docstring
            inside.add(id(node.value))
        elif isinstance(node, ast.Raise) and not errors:
            inside |= {id(part) for part in ast.walk(node)}
    for node in nodes:
        if id(node) not in inside and (text := _pattern(node)):
            yield text


def named_gaps(source: str) -> dict[str, str]:
    """The sentences of a file that have gaps, with the names of what fills them."""
    found: dict[str, str] = {}
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.JoinedStr) and (text := _pattern(node)):
            parts = [part.value if isinstance(part, ast.Constant) else _name(part) for part in node.values]
            found.setdefault(text, _blanks("".join(map(str, parts))))
    return found


def _pattern(node: ast.AST) -> str:
    """The sentence that a text of the source is; empty: none."""
    if isinstance(node, ast.JoinedStr):
        parts = [part.value if isinstance(part, ast.Constant) else _gap(part) for part in node.values]
    elif isinstance(node, ast.Constant) and isinstance(node.value, str):
        parts = [node.value]
    else:
        return ""
    text = _blanks("".join(map(str, parts)))
    whole = re.match(r"[A-Z…'!\-\"]", text) and text.rstrip("…'\") ").endswith((".", "?", ":"))
    return text if whole and len(text.split()) >= FEWEST else ""


def _blanks(text: str) -> str:
    return " ".join(text.split())


def _gap(part: ast.expr) -> str:
    """A gap; a count keeps its noun, in the plural."""
    count = part.value if isinstance(part, ast.FormattedValue) else part
    if isinstance(count, ast.Call) and isinstance(count.func, ast.Name) and count.func.id == "many":
        nouns = [str(noun.value) for noun in count.args[1:] if isinstance(noun, ast.Constant) and noun.value]
        return f"{GAP} {nouns[1] if len(nouns) > 1 else f'{nouns[0]}s'}" if nouns else GAP
    return GAP


def _name(part: ast.expr) -> str:
    """What fills a gap, in a word."""
    while not isinstance(part, ast.Name | ast.Attribute):
        inner = (
            getattr(part, key, None) for key in ("value", "args", "left", "body", "func", "elt", "operand", "values")
        )
        found = next((one[0] if isinstance(one, list) else one for one in inner if one), None)
        if not isinstance(found, ast.expr):
            return GAP
        part = found
    return f"{{{(part.id if isinstance(part, ast.Name) else part.attr).strip('_')}}}"


def example(pattern: str, shown: str) -> str:
    """The first place in the documentation, its blanks single, where the sentence stands; empty: nowhere."""
    parts = [part.strip() for part in pattern.split(GAP) if part.strip()]
    longest = max(parts, key=len, default="")
    start = shown.find(longest) if len(longest) >= FEWEST * 3 else -1
    if start < 0 or len(parts) == 1:
        return ""
    near = shown[max(0, start - 160) : start].rpartition(" | ")[2]
    near += shown[start : start + len(longest) + 160].partition(" |")[0]
    place = 0
    for part in parts:
        found = re.compile(re.escape(part) + (r"(?!\w)" if part[-1] in ".,;:" else "")).search(near, place)
        if found is None:
            return ""
        place = found.end()
    return near[near.find(parts[0]) : place]


def page(heard: Mapping[str, str] | None = None) -> str:
    blocks = (
        block
        for path in sorted((ROOT / "docs").rglob("*.md"))
        if path != PAGE
        for block in re.findall(r"```console\n(.*?)```", path.read_text("utf-8"), flags=re.DOTALL)
    )
    held = (text for path in sorted((ROOT / "tests").rglob("*.py")) for text in _texts(path.read_text("utf-8")))
    shown = _blanks(" ".join([*blocks, *held]))
    every = every_pattern()
    named = {name: named_gaps((SOURCE / name).read_text("utf-8")) for name in every}
    names = {text for own in named.values() for text in own.values()}
    kept = {one: seen for one, seen in examples(PAGE.read_text("utf-8")).items() if fits(one, seen)}
    said = [HEAD]
    for name, found in every.items():
        said.append(f"## `{name}`\n")
        for pattern in found:
            seen = kept.get(pattern, "")
            if GAP in pattern and seen in names | {""}:
                seen = (heard or {}).get(pattern) or example(pattern, shown) or named[name].get(pattern, "")
            said.append(f"{listed(pattern)}" + (f"  \n  *{_safe(seen)}*" if seen else ""))
        said.append("")
    return "\n".join(said)


def examples(text: str) -> dict[str, str]:
    """Those of a page, by sentence."""
    found = re.findall(r"^- (.*?) *\n  \*(.*)\*$", text, flags=re.MULTILINE)
    return {_unsafe(pattern): _unsafe(seen) for pattern, seen in found}


def fits(pattern: str, text: str) -> bool:
    """Whether the sentence, its gaps filled, is this text."""
    parts = (re.escape(part.strip()) for part in pattern.split(GAP))
    return re.fullmatch(".*?".join(parts), text) is not None


@cache
def every_pattern() -> dict[str, list[str]]:
    """By file."""
    found = {
        path.relative_to(SOURCE).as_posix(): list(dict.fromkeys(patterns(path.read_text("utf-8"))))
        for path in sorted(SOURCE.rglob("*.py"))
        if "migrations" not in path.parts
    }
    return {name: said for name, said in found.items() if said}


def _texts(source: str) -> Iterator[str]:
    """The plain texts of a test, in which a sentence may stand as it is said."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and len(node.value.split()) >= FEWEST:
            yield f"{node.value} |"


def listed(pattern: str) -> str:
    """Its line on the page."""
    return f"- {_safe(pattern)}"


def _safe(text: str) -> str:
    return re.sub(r"([\\`*_{}\[\]<>|#])", r"\\\1", text)


def _unsafe(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text)


# What sentences said: while tests run, each text with gaps of the source passes through `hear` on its way.
_heard: dict[str, str] = {}
_MOST = 400
"""Characters of an example."""


def hear(text: str, pattern: str) -> str:
    """Keeps the shortest example with all gaps filled; folders of this machine are nobody's."""
    said = re.sub(r"(?<![\w./])/(?:tmp|root|home|work)/(?:[^\s'\"]*/)?", "/home/you/", _blanks(text))
    before = _heard.get(pattern)
    if len(said) <= _MOST and said.isprintable() and fits(pattern, said):
        _heard[pattern] = min(filter(None, (before, said)), key=lambda one: (_empty(pattern, one), len(one), one))
    return text


def _empty(pattern: str, text: str) -> bool:
    """Whether a gap holds nothing."""
    return len(text) < len(pattern) + pattern.count(GAP)


class _Wrap(ast.NodeTransformer):
    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.expr:
        pattern = _pattern(node)
        self.generic_visit(node)
        if GAP not in pattern:
            return node
        return ast.Call(ast.Name("__hear__", ast.Load()), [node, ast.Constant(pattern)], [])


class _Loader(importlib.machinery.SourceFileLoader):
    def get_code(self, fullname: str) -> CodeType:
        tree = _Wrap().visit(ast.parse(self.get_data(self.path)))
        code: CodeType = compile(ast.fix_missing_locations(tree), self.path, "exec")
        return code

    def exec_module(self, module: ModuleType) -> None:
        module.__dict__["__hear__"] = hear
        super().exec_module(module)


class _Finder(importlib.abc.MetaPathFinder):
    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname.partition(".")[0] != SOURCE.name:
            return None
        spec = importlib.machinery.PathFinder.find_spec(fullname, path, target)
        if spec is not None and isinstance(spec.loader, importlib.machinery.SourceFileLoader):
            spec.loader = _Loader(spec.loader.name, spec.loader.path)
        return spec


def _listen(where: str) -> None:
    sys.meta_path.insert(0, _Finder())
    path = Path(f"{where}.{os.getpid()}")
    atexit.register(lambda: path.write_text(json.dumps(_heard, ensure_ascii=False, indent=0), encoding="utf-8"))


if __name__ == "__main__":
    told: dict[str, str] = {}
    for name in sys.argv[1:]:
        told |= json.loads(Path(name).read_text("utf-8"))
    PAGE.write_text(page(told), encoding="utf-8")
elif "EQLAB_HEARD" in os.environ:
    _listen(os.environ["EQLAB_HEARD"])
