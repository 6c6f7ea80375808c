"""docs/tutorial.ipynb from the steps of docs/python.md, so that there is one tutorial: python bench/notebook.py"""

import json
import re
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parent.parent / "docs"
FIRST = """import os

BASE_URL = os.environ.get("EQLAB_BASE_URL", "http://127.0.0.1:11434/v1")  # your server"""
STEPS = "## Step by step\n"


def cells(page: str) -> list[tuple[str, str]]:
    """(kind, text) of each: words and Python in turn."""
    found = [("code", FIRST)]
    for part in re.split(r"(```python\n.*?```)", page, flags=re.DOTALL):
        code = re.fullmatch(r"```python\n(.*?)```", part, flags=re.DOTALL)
        text = (code.group(1) if code else part).strip("\n")
        if text.strip():
            found.append(("code" if code else "markdown", text))
    found[0], found[1] = found[1], found[0]  # the title first
    return found


def tutorial(page: str) -> str:
    return page[page.index(STEPS) :]


def notebook(page: str) -> dict[str, Any]:
    made = []
    for number, (kind, text) in enumerate(cells(tutorial(page))):
        cell: dict[str, Any] = {"cell_type": kind, "id": f"cell-{number}", "metadata": {}}
        cell["source"] = text.splitlines(keepends=True)
        made.append(cell | ({"execution_count": None, "outputs": []} if kind == "code" else {}))
    kernel = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    return {"cells": made, "metadata": kernel, "nbformat": 4, "nbformat_minor": 5}


def main() -> None:
    made = notebook((DOCS / "python.md").read_text(encoding="utf-8"))
    (DOCS / "tutorial.ipynb").write_text(json.dumps(made, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
