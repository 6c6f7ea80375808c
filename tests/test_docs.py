"""Documentation is product: every command in it parses, every link leads somewhere, every setting is described."""

import json
import os
import re
import shlex
import subprocess
import sys

import pytest
from conftest import ROOT

sys.path.insert(0, str(ROOT / "bench"))
import docs_index
import docs_output
import notebook

PAGES = [ROOT / "CONTRIBUTING.md", *docs_output.pages()]
TEXT = {page.relative_to(ROOT).as_posix().removeprefix("docs/"): page.read_text(encoding="utf-8") for page in PAGES}

SOURCES = ("eqbench", "emotionbench", "empathy", "emobench", "sage")
"""What `eqlab data` takes by name."""


def commands():
    for name, text in TEXT.items():
        for block in re.findall(r"```(?:console|bash|sh)\n(.*?)```", text, flags=re.DOTALL):
            joined = block.replace("\\\n", " ")
            for line in joined.splitlines():
                command = re.match(r"(?:\$ )?((?:\w+=\S+ )*)(eqlab .*)", line)
                if command:
                    yield pytest.param(command.group(2), id=f"{name}: {command.group(2)[:60]}")


@pytest.mark.parametrize("line", list(commands()))
def test_every_documented_command_parses(line):
    from typer.main import get_command

    from eqlab.cli.main import app

    arguments = shlex.split(line, comments=True)[1:]
    for stop in ("|", ">", "&&"):
        if stop in arguments:
            arguments = arguments[: arguments.index(stop)]
    arguments = [argument for argument in arguments if argument not in ("--debug", "--help")]
    command = get_command(app)
    context = command.make_context("eqlab", list(arguments), resilient_parsing=not arguments)
    while hasattr(command, "commands") and arguments:
        rest = context._protected_args + context.args if hasattr(context, "_protected_args") else context.args
        name, command, rest = command.resolve_command(context, rest)
        context = command.make_context(name, list(rest), parent=context)


def named_in_the_product():
    """(command, option or nothing) for every command that a message, a help text or a template tells the user."""
    for path in sorted((ROOT / "src").rglob("*")):
        if path.suffix in (".py", ".toml", ".j2"):
            yield from re.findall(r"[`'](eqlab(?: [a-z][a-z-]*)+)(?: (--[a-z-]+))?", path.read_text("utf-8"))


@pytest.mark.parametrize(("words", "flag"), sorted(set(named_in_the_product())))
def test_every_command_that_the_product_names_exists(words, flag):
    from typer.main import get_command

    from eqlab.cli.main import app

    *first, last = words.split()
    shown = " ".join(first) if last in SOURCES else words
    assert shown in "\n".join(TEXT.values()), "no page shows it"
    command = get_command(app)
    for word in words.split()[1:]:
        if hasattr(command, "commands"):
            command = command.commands[word]
    assert not flag or any(flag in parameter.opts for parameter in command.params)


def test_there_are_commands_to_test():
    assert len(list(commands())) >= 12


def anchors(text):
    """What a link can lead to on a page: its headings as the site names them."""
    outside_code = re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
    titles = re.findall(r"^#+ (.*)$", outside_code, flags=re.MULTILINE)
    return {re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", title).strip().lower()) for title in titles}


@pytest.mark.parametrize("page", [*PAGES, ROOT / "SECURITY.md"], ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_between_pages_lead_somewhere(page):
    for target, anchor in re.findall(r"\]\(([^)#\s]*)(?:#([^)\s]*))?\)", page.read_text(encoding="utf-8")):
        if not re.match(r"[a-z]+:", target):
            there = page.parent / target if target else page
            assert there.exists(), f"{page.name} links to {target}"
            assert not anchor or anchor in anchors(there.read_text(encoding="utf-8")), f"{page.name}: {target}#{anchor}"


def pages_below(part):
    """The pages of a part of the navigation, in its order."""
    if isinstance(part, str):
        return [part]
    return [page for one in (part.values() if isinstance(part, dict) else part) for page in pages_below(one)]


def test_there_is_one_navigation():
    """mkdocs.yml names every page once; README, and the site's first page made of it, list them in the same order."""
    import yaml

    (first, *doors) = yaml.load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"), Loader=yaml.BaseLoader)["nav"]
    assert sorted(pages_below([first, *doors])) == sorted(set(TEXT) - {"README.md", "CONTRIBUTING.md"})
    listed = re.findall(
        r"^\*\*([^*]+):\*\*(.*?)(?=\n\n)", TEXT["README.md"].partition("## Where to go next")[2], re.M | re.S
    )
    links = {door: re.findall(r"\]\(docs/([^)#]+)\)", text) for door, text in listed}
    assert links == {name: pages_below(part) for door in doors for name, part in door.items()}
    assert list(links)[:4] == ["Run", "Compare", "Ask people", "Trust"]


def test_the_sites_first_page_is_the_readme():
    assert TEXT["index.md"] == docs_index.index(TEXT["README.md"]), "run bench/docs_index.py"


def every_command(group, path=""):
    for name, command in group.commands.items():
        yield f"{path}{name}", command
        if hasattr(command, "commands"):
            yield from every_command(command, f"{path}{name} ")


def test_every_command_and_option_is_documented():
    from typer.main import get_command

    from eqlab.benchmarks.registry import load, names
    from eqlab.cli.main import app

    everything = "\n".join(TEXT.values())
    for name, command in every_command(get_command(app)):
        assert f"eqlab {name}" in everything, name
        for parameter in command.params:
            for flag in parameter.opts:
                if flag.startswith("--") and flag != "--help":
                    assert f"`{flag}" in everything or f" {flag}" in everything, f"eqlab {name} {flag}"
    for name in names():
        for option in load(name).option_help():
            assert f"`{option.name}`" in everything, f"{name} -o {option.name}"


def test_every_message_that_is_explained_is_one_of_the_products():
    """What stands between names, paths and numbers is found in the source as it is."""
    source = "\n".join(path.read_text("utf-8") for path in (ROOT / "src").rglob("*.py"))
    source = re.sub(r'"\s*\n\s*f?"', "", source)  # a sentence over two lines
    messages = re.findall(r"^\| `([^`]+)` \|", TEXT["reference/messages.md"], flags=re.MULTILINE)
    assert len(messages) >= 40
    for message in messages:
        for part in message.split("…"):
            assert part.strip() in source, message


def test_every_dependency_has_its_reason():
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    groups = [project["project"]["dependencies"], *project["project"]["optional-dependencies"].values()]
    groups += project["dependency-groups"].values()
    reasons = TEXT["reference/dependencies.md"]
    for dependency in (one for group in groups for one in group if isinstance(one, str)):
        name = re.match(r"[A-Za-z0-9_-]+", dependency).group(0)
        assert f"`{name}`" in reasons, name


def test_environment_variables_are_documented():
    source = "\n".join(path.read_text() for path in (ROOT / "src").rglob("*.py"))
    for variable in set(re.findall(r"EQLAB_[A-Z]+", source)):
        assert variable in "\n".join(TEXT.values()), variable


def test_python_examples_run(server, tmp_path, monkeypatch, capsys):
    """The code on the Python page, run as it stands, against a server on loopback."""
    server.reply = lambda body, n: "\n".join(
        f"{word}: {index + 1}"
        for index, word in enumerate(
            re.search(r"at the end\?\n((?:\w+\n){4})", body["messages"][-1]["content"]).group(1).split()
        )
    )
    monkeypatch.chdir(tmp_path)
    names = {"BASE_URL": server.url}
    for block in re.findall(r"```python\n(.*?)```", TEXT["python.md"].partition(notebook.STEPS)[0], flags=re.DOTALL):
        exec(compile(block, "python.md", "exec"), names)
    said = capsys.readouterr().out
    assert "my-model scores" in said
    assert (tmp_path / "report.html").exists()


@pytest.fixture
def two_models(server, tmp_path, monkeypatch):
    """Two models on loopback: one near the references, one flat."""
    from eqlab.publish.tools.tasks import exported

    references = {one.trial.prompt: one.trial.key["reference"] for one in exported("eqbench", profile="full").questions}

    def reply(body, n):
        prompt = body["messages"][-1]["content"]
        near = body["model"] == "careful"
        return "\n".join(
            f"{name}: {min(10, value + (len(prompt) + body['seed']) % 2) if near else 3}"
            for name, value in references[prompt].items()
        )

    server.reply = reply
    monkeypatch.chdir(tmp_path)
    return server


def check_tutorial(server, said, folder):
    assert "careful is better than careless" in said
    assert "always three scores" in said
    assert "20 rows" in said
    assert len(server.requests) == 20 + 60 + 40
    assert (folder / "tutorial.html").exists()


def test_the_tutorial_runs(two_models, tmp_path, capsys):
    """Every block of the tutorial, in its order."""
    names = {"BASE_URL": two_models.url}
    for block in re.findall(r"```python\n(.*?)```", notebook.tutorial(TEXT["python.md"]), flags=re.DOTALL):
        exec(compile(block, "python.md", "exec"), names)
    check_tutorial(two_models, capsys.readouterr().out, tmp_path)


def test_the_notebook_runs_as_a_kernel_runs_it(two_models, tmp_path, monkeypatch, capsys):
    """Its cells, one after the other inside an event loop that runs."""
    import ast
    import asyncio
    import inspect

    cells = json.loads((ROOT / "docs" / "tutorial.ipynb").read_text(encoding="utf-8"))["cells"]
    monkeypatch.setenv("EQLAB_BASE_URL", two_models.url)
    names = {}

    async def kernel():
        for cell in cells:
            if cell["cell_type"] == "code":
                code = compile("".join(cell["source"]), "cell", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
                made = eval(code, names)
                if inspect.isawaitable(made):
                    await made

    asyncio.run(kernel())
    check_tutorial(two_models, capsys.readouterr().out, tmp_path)


def test_the_notebook_is_the_tutorial():
    made = notebook.notebook(TEXT["python.md"])
    kept = json.loads((ROOT / "docs" / "tutorial.ipynb").read_text(encoding="utf-8"))
    assert kept == made, "run bench/notebook.py"


SHOWN = {
    f"{name}:{number}": part
    for name, text in TEXT.items()
    for number, part in enumerate(text.split(docs_output.FRESH), 1)
    if docs_output.marked(part)
}
"""The parts of pages that show output; each has a folder and a store of its own."""


@pytest.mark.parametrize("name", SHOWN)
def test_what_the_documentation_shows_is_what_commands_print(name, published, monkeypatch):
    """Every marked block that is quick. `make docs-output` writes them anew."""
    monkeypatch.setenv("EQLAB_DATA", str(published))
    monkeypatch.setenv("EQLAB_ITEMS", "open")
    monkeypatch.setenv("EQLAB_API_KEY", "none")
    monkeypatch.setenv("COLUMNS", "110")
    with docs_output.stand_ins() as url:
        made = docs_output.part(SHOWN[name], url, slow=False)
    for now, then in zip(docs_output.marked(made), docs_output.marked(SHOWN[name]), strict=True):
        assert now[1].splitlines() == then[1].splitlines(), f"{name} is stale: make docs-output"


def test_several_pages_show_output():
    assert len(SHOWN) >= 6


def test_run_ids_are_known_whatever_they_are_made_of():
    """One in a hundred has digits only."""
    said = "run 1840530273; show abcdef0123\n1840530273  EQ-Bench  0.1234567890  1,234567890  defacedbad"
    assert docs_output._RUN.findall(said) == ["1840530273", "abcdef0123", "1840530273"]


def test_every_output_that_is_shown_is_made_by_its_command():
    """A block with `$ ` commands and lines of output is marked for docs_output.py, or held by a test of its own."""
    held = TEXT["benchmarks/dialogue.md"]  # tests/runs/test_dialogue_docs.py
    for name, text in TEXT.items():
        for mark, body in re.findall(r"(<!-- [^\n]* -->\n)?^```\w*\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE):
            commands = re.findall(r"^\$ (?:.*\\\n)*.*$", body, flags=re.MULTILINE)
            shown = re.sub(r"^\$ (?:.*\\\n)*.*$", "", body, flags=re.MULTILINE).strip()
            if commands and shown and text is not held:
                assert mark.startswith("<!-- output"), f"{name}: {commands[0]}"


def test_what_the_readme_says_a_run_costs_is_what_a_dry_run_says(eqlab):
    rows = re.findall(r"^\| `([^|]*)`[^|]*\| ([\d,]+) \| ([\d,]+) \| ([\d,]+) to ([\d,]+) \|$", TEXT["README.md"], re.M)
    assert len(rows) == 4
    for flags, *numbers in rows:
        done = eqlab("run", "openai/x", *flags.split(), "--dry-run", "--json", OPENAI_API_KEY="none")
        (one,) = json.loads(done.out)["models"]
        said = [int(number.replace(",", "")) for number in numbers]
        assert said == [one["calls"], one["tokens_in"][0], *one["tokens_out"]], flags


def test_every_sentence_that_decides_something_has_its_simulation():
    """In the files where verdicts are made: a new sentence is a claim with a row of evidence, or is said to be none."""
    import tomllib

    import sentences

    known = tomllib.loads((ROOT / "bench" / "claims.toml").read_text("utf-8"))
    rows = TEXT["evidence/coverage.md"]
    claimed = {text for own in known["claims"].values() for text in own} | set(known["no_row"])
    assert [name for name in known["claims"] if f"`{name}`" not in rows and f"| {name} |" not in rows] == []
    files = {path.relative_to(sentences.SOURCE).as_posix() for path in (sentences.SOURCE / "comparison").glob("*.py")}
    said = {}
    for name in files | set(known["no_claim"]):
        source = (sentences.SOURCE / name).read_text("utf-8")
        said[name] = dict.fromkeys(sentences.patterns(source, errors=False))
    new = [
        text for name, own in said.items() for text in own if text not in {*claimed, *known["no_claim"].get(name, ())}
    ]
    assert new == [], "put each into bench/claims.toml: under a simulation, or under no_claim"
    gone = {*claimed, *(text for own in known["no_claim"].values() for text in own)}
    assert gone - {text for own in said.values() for text in own} == set(), "no file says these any more"


def test_no_sentence_is_wrong_more_often_than_it_claims():
    """In the worlds of the page: where .05 is claimed no rate is above .07, where .025 is none above .05."""
    table = TEXT["evidence/coverage.md"].partition("## What is said")[2].partition("\n## ")[0]
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines() if line.startswith("|")
    ]
    most = {".05": 0.07, ".025": 0.05, ".01": 0.02}
    judged = [
        (row[0], max(map(float, re.findall(r"(?<!± )\.\d+", row[3]))), most[row[4]]) for row in rows if row[4] in most
    ]
    assert len(judged) >= 25
    assert [(said, rate) for said, rate, limit in judged if rate > limit] == []


def test_sentences_are_found_in_code_and_docstrings_are_none():
    import sentences

    source = (
        '"""A file that says things."""\nraise E(f"There is no file {path}.", "Name another one, please.", "not one")\n'
    )
    assert list(sentences.patterns(source)) == ["There is no file ….", "Name another one, please."]
    assert sentences.example("There is no file ….", "eqlab: There is no file items. Name") == "There is no file items."
    counted = """say(f"Nobody used {many(n, 'reply', 'replies')}.")"""
    assert list(sentences.patterns(counted)) == ["Nobody used … replies."]


def test_every_sentence_with_gaps_has_an_example():
    """What it said somewhere, for most; else the names of what fills the gaps."""
    import sentences

    files = [sentences.named_gaps((sentences.SOURCE / name).read_text("utf-8")) for name in sentences.every_pattern()]
    gapped = {sentences.listed(text) for own in files for text in own if sentences.GAP in text}
    lines = sentences.PAGE.read_text("utf-8").splitlines()
    gaps = [place for place, line in enumerate(lines) if line.rstrip() in gapped]
    assert len(gaps) > 900
    assert [lines[place] for place in gaps if not lines[place + 1].startswith("  *")] == []
    real = sum("\\{" not in lines[place + 1] for place in gaps)
    assert real > 0.7 * len(gaps)
    assert not [line for line in lines if re.search(r"/(tmp|root|work)/", line)], "folders of a machine"
    named = sentences.named_gaps('say(f\'There is no file {one.path}, and {many(n, "reply", "replies")}.\')')
    assert named == {"There is no file …, and … replies.": "There is no file {path}, and {n}."}


def test_what_a_sentence_says_is_heard_while_it_is_said(tmp_path):
    said = "import sentences; from eqlab.core.errors import did_you_mean; print(did_you_mean('ful', ['full']))"
    folders = os.pathsep.join((str(ROOT / "src"), str(ROOT / "bench")))
    environment = {**os.environ, "EQLAB_HEARD": str(tmp_path / "heard"), "PYTHONPATH": folders}
    done = subprocess.run([sys.executable, "-c", said], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == "Did you mean full?\n"
    (heard,) = tmp_path.iterdir()
    assert json.loads(heard.read_text("utf-8"))["Did you mean …? …"] == "Did you mean full?"


def test_an_example_is_whole_and_shows_no_folder_of_this_machine(monkeypatch):
    import sentences

    monkeypatch.setattr(sentences, "_heard", {})
    for text in (
        "No file  x.",
        "There is no file /tmp/pytest-of-me/x/a.toml.",
        "There is no file /tmp/b/longer-name.toml.",
    ):
        assert sentences.hear(text, "There is no file ….") == text
    assert sentences._heard == {"There is no file ….": "There is no file /home/you/a.toml."}


def test_the_page_of_sentences_has_every_sentence():
    import sentences

    lines = set(sentences.PAGE.read_text("utf-8").splitlines())
    lines = {line.rstrip() for line in lines if line.startswith("- ")}
    said = {sentences.listed(pattern).rstrip() for found in sentences.every_pattern().values() for pattern in found}
    assert (said - lines, lines - said) == (set(), set()), "python bench/sentences.py writes the page anew"
