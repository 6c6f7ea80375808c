"""A sweep file: what is understood, and what a mistake in it says."""

import pytest

from eqlab.core.errors import DataError, EqlabError, UsageError
from eqlab.sweep.file import parse_sweep, read_sweep
from eqlab.sweep.grid import make_runs

GOOD = """
benchmarks = ["eqbench"]
limit = 3
seeds = [0, 1]
[[models]]
spec = "a"
base_url = "http://h:1/v1/"
"""


def parse(text):
    return parse_sweep(text, "s.toml")


def test_cells_are_models_by_benchmarks_by_seeds_and_ordinary_runs():
    import eqlab as api

    sweep = parse(GOOD.replace('["eqbench"]', '["eqbench", "empathy"]') + '[[models]]\nspec = "b"\nendpoint = "e"\n'
                  '[endpoints.e]\nbase_url = "http://h:2/v1"')  # fmt: skip
    cells = make_runs(sweep)
    assert len(cells) == 2 * 2 * 2
    assert len({cell.run for cell in cells}) == 8
    same = api.prepare(api.Request(("a",), ("eqbench",), profile="full", limit=3, seed=1, base_url="http://h:1/v1"))
    assert same.config.id == cells[1].run  # `eqlab run` with the same words is the same run


def test_settings_of_a_model_go_into_its_configuration():
    sweep = parse(GOOD + 'temperature = 0.5\nstructured = true\nsettings = { top_k = 3 }\nkey = "MY_KEY"')
    (cell, _) = make_runs(sweep)
    assert cell.target.config.settings == {"temperature": 0.5, "top_k": 3}
    assert cell.target.config.structured is True
    assert cell.target.key == "MY_KEY"
    assert "MY_KEY" not in str(cell.prepared.config)


def test_the_embedded_model_alone_answers_in_a_structure_unless_the_file_says_otherwise():
    """As `eqlab run` does it: so a sweep's runs are the same runs."""
    import eqlab as api

    text = GOOD.replace("seeds = [0, 1]", "seeds = [0]") + "".join(
        f'[[models]]\nspec = "embedded"\nname = "{name}"\n{more}\n'
        for name, more in (("by default", ""), ("free text", "structured = false"))
    )
    other, default, free = make_runs(parse(text))
    assert [run.target.config.structured for run in (other, default, free)] == [False, True, False]
    same = api.prepare(api.Request("embedded", ("eqbench",), profile="full", limit=3))
    assert same.config.id == default.run


def test_benchmarks_as_tables_override_the_defaults():
    sweep = parse(
        "limit = 3\n[benchmarks.eqbench]\nlimit = 5\noptions = { revision = true }\n[benchmarks.empathy]\n"
        '[[models]]\nspec = "a"\nbase_url = "http://h/v1"'
    )
    assert [(one.name, one.limit) for one in sweep.benchmarks] == [("eqbench", 5), ("empathy", 3)]
    assert sweep.benchmarks[0].options == {"revision": "yes"}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("seeds = [0]", "benchmarks"),
        ('benchmarks = ["eqbench"]', "names no model"),
        (GOOD + "temprature = 0", "models[1].temprature: is not known here (did you mean temperature?)"),
        (GOOD + 'temperature = "hot"', "s.toml:8: models[1].temperature: is text, not a number"),
        (GOOD + "structured = 1", "structured: is a whole number (write true or false)"),
        (GOOD + "max_concurrency = 0", "max_concurrency: 0 is out of range"),
        (GOOD + "max_concurrency = true", "max_concurrency: is true or false, not a whole number"),
        (GOOD + 'key = "sk-abc123"', "never the key itself"),
        (GOOD + 'start = "serve {port}"', "has its own"),
        (GOOD + "settings = { messages = 1 }", "change the protocol"),
        (GOOD + '[[models]]\nspec = "a"\nbase_url = "http://h:2/v1"', "two models are called 'a'"),
        (GOOD + '[[models]]\nspec = "b"\nendpoint = "x"', "endpoint 'x', which the file does not define"),
        (GOOD + '[[models]]\nspec = "b"\nstart = "serve"', "where the port goes"),
        (GOOD + '[[models]]\nspec = "b"\nstart = "serve {port} --api-key x"', "holds a key"),
        (GOOD + '[[models]]\nspec = "b"\nstart = "env VLLM_API_KEY=x serve {port}"', "holds a key"),
        (GOOD + '[[models]]\nspec = "b"\nstart = "serve {port} --hf-token x"', "holds a key"),
        (GOOD + '[[models]]\nspec = "b"\nstart = "serve {port} \'x"', "cannot be cut into words"),
        (GOOD + 'settings = { api_key = "x" }', "holds 'api_key', which looks like a key"),
        (GOOD + 'settings = { extra_headers = { Authorization = "x" } }', "holds 'extra_headers.Authorization'"),
        (GOOD + 'settings = { user = "sk-0123456789abcdef0123" }', "holds 'user'"),
        (
            GOOD + '[[models]]\nspec = "b"\nbase_url = "http://h/sk-0123456789abcdef0123/v1"',
            "holds more than an address",
        ),
        (GOOD + '[[models]]\nspec = "b"\nbase_url = "http://h:99999/v1"', "is not a web address"),
        (GOOD + '[[models]]\nspec = "b"\nbase_url = "http://u:p@h/v1"', "holds more than an address"),
        (GOOD + '[[models]]\nspec = "b"\nbase_url = "h:1"', "is not a web address"),
        (GOOD + "[[models]]\nname = 'b'", "models[2].spec: is missing"),
        (GOOD.replace("[0, 1]", "[0, 0]"), "different whole numbers"),
        (GOOD.replace("limit = 3", "profile = 'fast'"), "'fast' is not one of the values (there are: quick, full)"),
        ("models = [1]\n" + 'benchmarks = ["eqbench"]', "[[models]]"),
    ],
)
def test_a_mistake_is_named_with_its_key(text, said):
    with pytest.raises(EqlabError) as error:
        parse(text)
    assert said in str(error.value)
    assert "s.toml" in str(error.value)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ('[[models]]\nspec = "b"\n', "'b' is not a model"),
        ('[[models]]\nspec = "a"\nname = "c"\nbase_url = "http://h:1/v1"', "are the same run"),
        ('max_concurrency = 2\n[[models]]\nspec = "b"\nbase_url = "http://h:1/v1"\nmax_concurrency = 3', "set it once"),
        ("[endpoints.nowhere]\nmax_concurrency = 2", "is no provider"),
        ('[endpoints.openai]\n[[models]]\nspec = "groq/x"\nendpoint = "openai"', "is not a model of openai"),
    ],
)
def test_what_only_shows_between_tables(more, said):
    with pytest.raises(UsageError) as error:
        make_runs(parse(GOOD + more))
    assert said in str(error.value)


def test_an_unknown_benchmark_or_option_is_named():
    with pytest.raises(UsageError, match="no benchmark 'eqbanch'"):
        make_runs(parse(GOOD.replace("eqbench", "eqbanch")))
    with pytest.raises(UsageError, match="option 'x'"):
        make_runs(parse(GOOD.replace('benchmarks = ["eqbench"]', "[benchmarks.eqbench]\noptions = {x = 1}\n")
                         .replace("limit = 3\nseeds = [0, 1]\n", "")))  # fmt: skip


def test_one_limit_for_an_address_whoever_states_it():
    text = (
        GOOD
        + '[endpoints.one]\nbase_url = "http://h:1/v1"\nmax_concurrency = 5\n[[models]]\nspec = "b"\nendpoint = "one"'
    )
    cells = make_runs(parse(text))
    assert {cell.target.limit for cell in cells} == {5}
    assert len({cell.target.endpoint for cell in cells}) == 1


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(DataError, match="There is no file"):
        read_sweep(tmp_path / "no.toml")
    (tmp_path / "bad.toml").write_text("a = ")
    with pytest.raises(DataError, match=r"bad\.toml:1: this is not TOML"):
        read_sweep(tmp_path / "bad.toml")
    (tmp_path / "latin.toml").write_bytes(b"a = '\xe9'")
    with pytest.raises(DataError, match="not text in UTF-8"):
        read_sweep(tmp_path / "latin.toml")


def test_all_mistakes_are_told_at_once_each_with_its_line():
    with pytest.raises(DataError) as error:
        parse(GOOD.replace("limit = 3", "limit = 0") + 'start = "serve"\nkey = "sk-abc 1"\nmodle = 1\n')
    said = error.value.message.splitlines()
    assert said[0] == "s.toml has 5 problems:"
    assert [line.split(": ")[0] + ": " + line.split(": ")[1] for line in said[1:6]] == [
        "s.toml:3: limit", "s.toml:8: models[1].start", "s.toml:8: models[1].start", "s.toml:9: models[1].key",
        "s.toml:10: models[1].modle",
    ]  # fmt: skip
    assert "sk-abc" not in str(error.value)
