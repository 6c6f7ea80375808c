"""`eqlab ci init`: a workflow for GitHub Actions. Main makes the baseline and keeps it; a pull request is held against
it."""

import re
import shlex
from pathlib import Path
from typing import Annotated

import typer

from eqlab.cli.flags import BaseUrlFlag, check_writable

WORKFLOW = Path(".github/workflows/eqlab.yml")
_MARKS = re.compile(r"<(\w+)>")
_TEXT = """\
# Written by '<command>'. Yours to change.
# On main: asks the model, and keeps its answers as the baseline. On a pull request: asks the model as it is there, and
# compares. Pull requests from forks see no secrets, so the model must answer without a key there.
name: eqlab
on:
  push:
    branches: [<branch>]
  pull_request:
permissions:
  contents: read
  actions: read
concurrency:
  group: eqlab-${{ github.ref }}
  cancel-in-progress: true
jobs:
  emotional-intelligence:
    runs-on: ubuntu-latest
    timeout-minutes: 60
    env:
      EQLAB_STORE: eqlab.db
      <key>: ${{ secrets.<key> }}
    steps:
      - uses: actions/checkout@v4
      - uses: actions/setup-python@v5
        with: { python-version: "3.12" }
      - run: pip install <package>
      # Start or deploy the model of this commit here, where it is not a service that is there already.
      - name: Fetch the baseline that <branch> kept
        if: github.event_name == 'pull_request'
        env:
          GH_TOKEN: ${{ github.token }}
        run: |
          last=$(gh run list --workflow eqlab --branch <branch> --event push --status success --limit 1 \\
            --json databaseId --jq '.[0].databaseId // empty')
          [ -n "$last" ] && gh run download "$last" --name eqlab-baseline || echo "There is no baseline yet."
      - name: Ask the model
        env:
          COMMIT: ${{ github.event.pull_request.head.sha }}
        run: |
          label=<branch>
          if [ -n "$COMMIT" ]; then label=${COMMIT:0:7}; fi
          eqlab run <run> --label "$label" --json > eqlab-run.json
      - name: Compare with the baseline
        if: github.event_name == 'pull_request'
        run: |
          if [ ! -f eqlab-baseline.txt ]; then
            echo "No baseline yet: the next push to <branch> makes one." >> "$GITHUB_STEP_SUMMARY"
            exit 0
          fi
          eqlab compare "$(jq -r .run eqlab-run.json)" --baseline "$(cat eqlab-baseline.txt)" \\
            --fail-if-worse <gate> --junit eqlab-junit.xml --markdown eqlab-summary.md
      - name: Show the summary
        if: always()
        run: |
          if [ -f eqlab-summary.md ]; then cat eqlab-summary.md >> "$GITHUB_STEP_SUMMARY"; fi
      - name: Keep the run as the baseline
        if: github.event_name == 'push'
        run: jq -r .run eqlab-run.json > eqlab-baseline.txt
      - if: github.event_name == 'push'
        uses: actions/upload-artifact@v4
        with:
          name: eqlab-baseline
          path: |
            eqlab.db
            eqlab-baseline.txt
          retention-days: 90
      - if: always()
        uses: actions/upload-artifact@v4
        with:
          name: eqlab-results
          path: |
            eqlab-report.html
            eqlab-junit.xml
            eqlab-summary.md
"""


def init(
    model: Annotated[
        str, typer.Argument(metavar="MODEL", help="What is asked: `provider/name`, or a name at --base-url.")
    ],
    benchmark: Annotated[
        list[str] | None, typer.Option("-b", "--benchmark", help="Benchmark; may be repeated.")
    ] = None,
    profile: Annotated[str, typer.Option(help="`quick` (a few items) or `full` (all).")] = "full",
    base_url: BaseUrlFlag = "",
    key: Annotated[
        str,
        typer.Option(
            metavar="NAME", help="The secret that holds the key, and its variable.", show_default="the provider's"
        ),
    ] = "",
    branch: Annotated[str, typer.Option(help="The branch whose answers are the baseline.")] = "main",
    margin: Annotated[
        float | None,
        typer.Option(min=0, metavar="POINTS", help="A loss that is allowed.", show_default="2 % of the scale"),
    ] = None,
    if_unsure: Annotated[str, typer.Option(metavar="pass|fail", help="Whether 'cannot say' passes or fails.")] = "pass",
    package: Annotated[
        str, typer.Option(metavar="PACKAGE", help="What pip installs.", show_default="this version of eqlab")
    ] = "",
    output: Annotated[Path, typer.Option("-o", "--output", metavar="FILE", help="The workflow to write.")] = WORKFLOW,
    force: Annotated[bool, typer.Option("--force", help="Write over a file that is there.")] = False,
) -> None:
    """Write a workflow for GitHub Actions: ask the model, compare it with the baseline that main made, fail if it is
    worse, and show the result in the pull request. The JUnit file and the report are kept with the run."""
    from importlib.metadata import version

    from eqlab.benchmarks.registry import load
    from eqlab.cli.plain import own_command
    from eqlab.core.errors import UsageError
    from eqlab.data.files import write_whole
    from eqlab.models.providers import locate

    for name in benchmark or ():
        load(name)  # a name that is unknown is said
    for flag, value, known in (("--profile", profile, ("quick", "full")), ("--if-unsure", if_unsure, ("pass", "fail"))):
        if value not in known:
            raise UsageError(f"{flag} '{value}' is unknown.", f"Choose {known[0]} or {known[1]}.")
    if re.search(r"[^\w./-]", branch):
        raise UsageError(f"'{branch}' is no name of a branch.", "Name one with --branch.")
    if key and not re.fullmatch(r"[A-Za-z_]\w*", key, re.ASCII):
        raise UsageError(f"'{key}' cannot be the name of a secret.", "Use letters, digits and _, as in OPENAI_API_KEY.")
    check_writable(output)
    if output.exists() and not force:
        raise UsageError(f"{output} is there already.", "Add --force to write over it, or name another with -o.")
    here = model == "embedded" or model.startswith("gguf:")
    variable = "" if here else locate(model, base_url).key_variable.partition(",")[0]
    named = [part for one in benchmark or ["eqbench"] for part in ("-b", one)]
    where = ["--base-url", base_url] if base_url else []
    words = {
        "command": own_command(),
        "branch": branch,
        "key": key or variable or "EQLAB_API_KEY",
        "package": shlex.quote(package or f"eqlab=={version('eqlab')}"),
        "run": shlex.join([model, *named, "--profile", profile, *where]),
        "gate": shlex.join([*(["--margin", f"{margin:g}"] if margin is not None else []), "--if-unsure", if_unsure]),
    }
    output.parent.mkdir(parents=True, exist_ok=True)
    write_whole(output, _MARKS.sub(lambda found: words[found.group(1)], _TEXT))
    typer.echo(f"Workflow: {output.resolve()}")
    typer.echo(
        f"Next: add the secret {words['key']} to the repository if the model takes a key, commit, and push to {branch}."
    )
