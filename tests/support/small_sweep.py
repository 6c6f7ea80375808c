"""A small sweep against the loopback server, for the tests of this folder."""

import re

from eqlab.sweep.file import parse_sweep
from eqlab.sweep.grid import make_runs


def good(body, number=0):
    words = re.search(r"at the end\?\n((?:\w+\n){4})", body["messages"][-1]["content"]).group(1).split()
    return "\n".join(f"{word}: {index + 1}" for index, word in enumerate(words))


def sweep_text(url, models=("a", "b"), *, seeds=(0, 1), limit=6, at_once=4, more=""):
    tables = "".join(f'[[models]]\nspec = "{model}"\nendpoint = "lab"\n' for model in models)
    return f"""
benchmarks = ["eqbench"]
limit = {limit}
seeds = {list(seeds)}
timeout = 5
[endpoints.lab]
base_url = "{url}"
max_concurrency = {at_once}
{tables}{more}"""


def small_cells(url, *models, **changes):
    return make_runs(parse_sweep(sweep_text(url, models or ("a", "b"), **changes)))


def stored_answers(store, cells):
    """(trial, repeat, attempt, status) of every stored answer, by run."""
    return {
        cell.run: [
            (one.trial.id, one.repeat, answer.attempt, answer.status)
            for one in store.scored(cell.run, cell.subject, cell.benchmark)
            for answer in one.attempts
        ]
        for cell in cells
    }
