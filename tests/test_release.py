"""What a release and its hosts rely on: files that no program here reads, held against what they speak of."""

import json
import re
import tomllib
from pathlib import Path

import pytest
from typer.main import get_command

from eqlab.cli.main import app

yaml = pytest.importorskip("yaml")
ROOT = Path(__file__).parent.parent
MAKEFILE = (ROOT / "Makefile").read_text("utf-8")


def read(path):
    return yaml.safe_load((ROOT / path).read_text("utf-8"))


def test_workflows_call_targets_that_exist():
    for path in sorted((ROOT / ".github/workflows").glob("*.yml")):
        steps = [step for job in read(path)["jobs"].values() for step in job["steps"]]
        targets = [name for step in steps for name in re.findall(r"make ([a-z-]+)", step.get("run", ""))]
        assert targets
        for name in targets:
            assert f"\n{name}:" in MAKEFILE, f"{path.name}: make {name}"


def test_pre_commit_runs_what_make_lint_runs():
    lint = re.search(r"^lint:.*\n((?:\t.*\n)+)", MAKEFILE, flags=re.MULTILINE).group(1)
    hooks = [
        hook["entry"].removeprefix(".venv/bin/")
        for repo in read(".pre-commit-config.yaml")["repos"]
        for hook in repo["hooks"]
    ]
    assert hooks == [line.strip().removeprefix("$(BIN)/") for line in lint.splitlines()]


def test_the_compose_file_serves_with_flags_that_serve_has():
    services = read("deploy/compose.yaml")["services"]
    known = {flag for one in get_command(app).commands["study"].commands["serve"].params for flag in one.opts}
    used = {part.split("=")[0] for part in services["study"]["command"] if part.startswith("--")}
    assert used <= known
    assert f"--proxy={services['proxy']['networks']['inside']['ipv4_address']}" in services["study"]["command"]
    assert {"EQLAB_STUDY_SECRET", "EQLAB_STUDY_PASSWORD"} <= services["study"]["environment"].keys()
    container = (ROOT / "deploy/Containerfile").read_text("utf-8")
    assert "USER 10001" in container
    assert "HEALTHCHECK" in container


def test_no_proxy_logs_the_address_of_who_comes_while_the_server_is_restarted():
    """It holds a panel's id; a proxy that finds nobody writes it into its log of errors unless told not to."""
    pages = (ROOT / "docs/study-serve.md").read_text("utf-8")
    printed = re.search(r"```caddy\n(.*?)```", pages, re.S).group(1)
    for caddy in ((ROOT / "deploy/Caddyfile").read_text("utf-8"), printed):
        assert re.match(r"\{\s+log \{\s+exclude http\.log\.error http\.handlers\.reverse_proxy\s+\}\s+\}", caddy)
    nginx = re.search(r"```nginx\n(.*?)```", pages, re.S).group(1)
    assert re.search(r"access_log off;", nginx)
    assert re.search(r"error_log \S+ emerg;", nginx)


def test_one_version_everywhere():
    version = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["version"]
    assert read("CITATION.cff")["version"] == version
    assert f"\n## {version}" in (ROOT / "CHANGELOG.md").read_text("utf-8")


def test_forms_and_the_container_for_development_can_be_read():
    for path in (ROOT / ".github/ISSUE_TEMPLATE").glob("*.yml"):
        assert read(path)
    assert (
        "make setup" in json.loads((ROOT / ".devcontainer/devcontainer.json").read_text("utf-8"))["postCreateCommand"]
    )


def test_versions_name_code_and_data(eqlab):
    lines = eqlab("--version").out.splitlines()
    assert re.fullmatch(r"eqlab \d+\.\d+\.\d+", lines[0])
    assert [line.split("  ")[0] for line in lines[1:]] == ["build", "Python", "open items", "published", "prices"]
