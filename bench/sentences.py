"""docs/reference/sentences.md: every sentence that the product can say, by file, with an example where the
documentation, a test or a text that is given shows one, for those who read its English:
python bench/sentences.py [FILE of what was said, a line each; what it shows stays on the page]"""

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "eqlab"
PAGE = ROOT / "docs" / "reference" / "sentences.md"
GAP = "…"
HEAD = """# Every sentence

What EQ Lab can say, by the file that says it, so that one reading covers its English: `…` stands for a name,
a number or words of another sentence. The example is what the documentation shows, a test
holds or a test run said. Made by `python bench/sentences.py`.
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
        if id(node) in inside:
            continue
        if isinstance(node, ast.JoinedStr):
            parts = [part.value if isinstance(part, ast.Constant) else _gap(part) for part in node.values]
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            parts = [node.value]
        else:
            continue
        text = " ".join("".join(map(str, parts)).split())
        if (
            len(text.split()) >= FEWEST
            and re.match(r"[A-Z…'!\-\"]", text)
            and text.rstrip("…'\") ").endswith((".", "?", ":"))
        ):
            yield text


def _gap(part: ast.expr) -> str:
    """A gap; a count keeps its noun, in the plural."""
    count = part.value if isinstance(part, ast.FormattedValue) else part
    if isinstance(count, ast.Call) and isinstance(count.func, ast.Name) and count.func.id == "many":
        nouns = [str(noun.value) for noun in count.args[1:] if isinstance(noun, ast.Constant) and noun.value]
        return f"{GAP} {nouns[1] if len(nouns) > 1 else f'{nouns[0]}s'}" if nouns else GAP
    return GAP


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


def page(heard: str = "") -> str:
    blocks = (
        block
        for path in sorted((ROOT / "docs").rglob("*.md"))
        if path != PAGE
        for block in re.findall(r"```console\n(.*?)```", path.read_text("utf-8"), flags=re.DOTALL)
    )
    held = (text for path in sorted((ROOT / "tests").rglob("*.py")) for text in _texts(path.read_text("utf-8")))
    kept = re.findall(r"^  \*(.*)\*$", PAGE.read_text("utf-8"), flags=re.MULTILINE)
    before = [re.sub(r"\\(.)", r"\1", text) for text in (*kept, *heard.splitlines())]
    shown = " ".join(" ".join([*blocks, *held, "|", *(f"{text} |" for text in before)]).split())
    said = [HEAD]
    for name, found in every_pattern().items():
        said.append(f"## `{name}`\n")
        for pattern in found:
            seen = example(pattern, shown)
            said.append(f"{listed(pattern)}" + (f"  \n  *{_safe(seen)}*" if seen else ""))
        said.append("")
    return "\n".join(said)


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


if __name__ == "__main__":
    PAGE.write_text(page("".join(Path(name).read_text("utf-8") for name in sys.argv[1:])), encoding="utf-8")
