"""A file that is not there is called so, with one exit code, whichever command is given it."""

import pytest

COMMANDS = [
    "run m --base-url http://localhost:1/v1 --items gone.csv",
    "run m --base-url http://localhost:1/v1 --prices gone.toml",
    "run gguf:gone.gguf",
    "sweep gone.toml",
    "compare gone.json",
    "compare --sweep gone.toml",
    "judge embedded --on gone.csv",
    "judge embedded --on author --rubric gone.toml",
    "study check gone.toml",
    "study serve gone.toml",
    "study simulate gone.toml",
    "study analyze gone.toml",
    "study lock gone.toml",
    "study verify gone.json",
    "study redo gone",
    "study ratings import gone.csv",
    "research correlate published --external gone.csv",
    "runs import inspect gone.eval",
    "runs import lm-eval gone.jsonl -b eqbench",
    "leaderboard check gone.json",
    "runs show --store gone.db",
    "data list --data gone",
]


@pytest.mark.parametrize("line", COMMANDS)
def test_a_missing_file_is_named_and_ends_with_one(eqlab, tmp_path, line):
    done = eqlab(*line.split())
    assert "gone" in done.err, done.err
    assert done.code == 1, done.err
    assert "Traceback" not in done.err
    assert not [path for path in tmp_path.iterdir() if path.name.startswith("gone")]
