"""docs/index.md, the site's first page, is the README: python bench/docs_index.py"""

from pathlib import Path

ROOT = Path(__file__).parent.parent
LAST = "[Security](SECURITY.md)"
"""What the README says from here on is of the repository, not of the site."""


def index(readme: str) -> str:
    return readme[: readme.index(LAST)].replace("](docs/", "](").rstrip("\n") + "\n"


def main() -> None:
    made = index((ROOT / "README.md").read_text(encoding="utf-8"))
    (ROOT / "docs" / "index.md").write_text(made, encoding="utf-8")


if __name__ == "__main__":
    main()
