"""How to cite a run: BibTeX of the product and of the studies, the items by hash, and a paragraph for the methods."""

import re
import textwrap
from collections.abc import Sequence

from eqlab.benchmarks.registry import bibtex
from eqlab.comparison.contender import subject_name
from eqlab.core.results import Result
from eqlab.core.runs import OWN, BenchmarkConfig
from eqlab.core.text import basis_of, is_number, utc, value_of
from eqlab.store.reader import StoredRun

SETS = {"open": "the open items of EQ Lab", "published": "the study's published items", OWN: "items of our own"}


def citation(stored: StoredRun, results: Sequence[Result], version: str) -> str:
    """A .bib file: the paragraph stands before the entries as a comment."""
    config = stored.config
    papers = list(dict.fromkeys(paper for one in config.benchmarks if (paper := bibtex(one.name))))
    product = f"""@software{{eqlab,
  title = {{{{EQ Lab}}}},
  author = {{{{EQ Lab contributors}}}},
  version = {{{version}}},
  note = {{Run {config.id}, {utc(stored.created_at)[:10]}}},
}}"""
    return "\n\n".join([methods(stored, results, version), product, *papers]) + "\n"


def methods(stored: StoredRun, results: Sequence[Result], version: str) -> str:
    config = stored.config
    who = ", ".join(subject_name(model.subject) for model in config.models) or "people"
    said = [f"We asked {who} with EQ Lab {version} \\cite{{eqlab}} (run {config.id}, {utc(stored.created_at)[:10]})."]
    said += [_benchmark(one, stored) for one in config.benchmarks]
    for result in results:
        head = result.headline
        if is_number(head.value):
            name = f"{subject_name(result.subject)} on {result.title}"
            said.append(f"{name}: {value_of(head)} ({basis_of(head)}).")
    return "\n".join(f"% {line}" for line in textwrap.wrap(" ".join(said), 116, break_on_hyphens=False))


def _benchmark(one: BenchmarkConfig, stored: StoredRun) -> str:
    config = stored.config
    paper = re.search(r"\{(\w+),", bibtex(one.name))
    cited = f" \\cite{{{paper.group(1)}}}" if paper else ""
    items = SETS.get(one.item_set, f"the item set {one.item_set}")
    asked = f"profile {config.profile}" + (f", at most {config.limit} items" if config.limit else "")
    times = f", each asked {config.repeats} times" if (config.repeats or 1) > 1 else ""
    return (
        f"{one.name}{cited}, protocol {one.protocol}: {items} (sha256 {one.items_sha256}), {asked}{times}, "
        f"seed {config.seed}."
    )
