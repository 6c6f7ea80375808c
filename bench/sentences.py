"""docs/reference/sentences.md: every sentence that the product can say, by file, with an example where the
documentation shows one, for those who read its English: python bench/sentences.py"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "eqlab"
PAGE = ROOT / "docs" / "reference" / "sentences.md"
GAP = "…"
HEAD = """# Every sentence

What EQ Lab can say, by the file that says it, so that one reading covers its English: `…` stands for a name,
a number or words of another sentence. The example is what the documentation shows. Made by `python bench/sentences.py`.
"""
FEWEST = 4
"""Words of a sentence."""


def patterns(source: str) -> Iterator[str]:
    """Texts of a file that read as a sentence: with a capital or a gap at the beginning and a stop at the end."""
    tree = ast.parse(source)
    inside = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr):  # a docstring
            inside.add(id(node.value))
    for node in ast.walk(tree):
        if id(node) in inside:
            continue
        if isinstance(node, ast.JoinedStr):
            parts = [part.value if isinstance(part, ast.Constant) else GAP for part in node.values]
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


def example(pattern: str, shown: str) -> str:
    """The first place in the documentation, its blanks single, where the sentence stands; empty: nowhere."""
    parts = [part.strip() for part in pattern.split(GAP) if part.strip()]
    longest = max(parts, key=len, default="")
    start = shown.find(longest) if len(longest) >= FEWEST * 3 else -1
    if start < 0 or len(parts) == 1:
        return ""
    near = shown[max(0, start - 160) : start + len(longest) + 160]
    place = 0
    for part in parts:
        place = near.find(part, place)
        if place < 0:
            return ""
        place += len(part)
    return near[near.find(parts[0]) : place]


def page() -> str:
    blocks = (
        block
        for path in sorted((ROOT / "docs").rglob("*.md"))
        if path != PAGE
        for block in re.findall(r"```console\n(.*?)```", path.read_text("utf-8"), flags=re.DOTALL)
    )
    shown = " ".join(" ".join(blocks).split())
    said = [HEAD]
    for path in sorted(SOURCE.rglob("*.py")):
        found = dict.fromkeys(patterns(path.read_text("utf-8")))
        if not found or "migrations" in path.parts:
            continue
        said.append(f"## `{path.relative_to(SOURCE).as_posix()}`\n")
        for pattern in found:
            seen = example(pattern, shown)
            said.append(f"- {_safe(pattern)}" + (f"  \n  *{_safe(seen)}*" if seen else ""))
        said.append("")
    return "\n".join(said)


def _safe(text: str) -> str:
    return re.sub(r"([\\`*_{}\[\]<>|#])", r"\\\1", text)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
