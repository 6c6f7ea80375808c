"""How to write about results: BibTeX of the product and of the studies, the items by hash, and a passage for methods
and results, of one run or of a comparison."""

import re
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from datetime import date

from eqlab.benchmarks.registry import bibtex, bibtex_entry, is_ours
from eqlab.comparison.compare import HOW_MANY, Comparison, caveats
from eqlab.comparison.contender import subject_name
from eqlab.comparison.entries import Entry
from eqlab.comparison.sentences import conclusion, listed
from eqlab.comparison.verdict import Pair
from eqlab.core.answers import in_words
from eqlab.core.environment import package_about
from eqlab.core.plural import many
from eqlab.core.results import Result
from eqlab.core.runs import OWN, BenchmarkConfig, ModelConfig
from eqlab.core.text import basis_of, is_number, number, utc, value_of
from eqlab.store.reader import StoredRun
from eqlab.tables.cells import p_text

SETS = {"published": "the study's published items", OWN: "items of our own"}
TITLE = "the emotional intelligence of language models and of people, measured with the same questions"
MOST_PAIRS = 10
"""Differences that a passage spells out."""


def software(version: str, note: str = "") -> str:
    """EQ Lab itself, as BibTeX; its address where the package knows one."""
    about = package_about("eqlab")
    rows = {
        "title": f"{{EQ Lab}}: {TITLE}",
        "author": "{EQ Lab contributors}",
        "year": str(date.today().year),
        "version": version,
        "url": about.get("address", ""),
        "howpublished": "" if about.get("address") else "Python package eqlab",
        "note": note,
    }
    return bibtex_entry("software", "eqlab", rows)


def citation(stored: StoredRun, results: Sequence[Result], version: str) -> str:
    """A .bib file: the paragraph stands before the entries as a comment."""
    config = stored.config
    papers = _papers(benchmark_config.name for benchmark_config in config.benchmarks)
    product = software(version, f"Run {config.id}, {utc(stored.created_at)[:10]}")
    return "\n\n".join([methods(stored, results, version), product, *papers]) + "\n"


def methods(stored: StoredRun, results: Sequence[Result], version: str) -> str:
    config = stored.config
    who = ", ".join(subject_name(model.subject) for model in config.models) or "people"
    said = [f"We asked {who} with EQ Lab {version} \\cite{{eqlab}} (run {config.id}, {utc(stored.created_at)[:10]})."]
    titles = {result.benchmark: result.title for result in results}
    said += [
        _benchmark(benchmark_config, stored, titles.get(benchmark_config.name, benchmark_config.name))
        for benchmark_config in config.benchmarks
    ]
    for result in results:
        head = result.headline
        if is_number(head.value):
            name = f"{subject_name(result.subject)} on {result.title}"
            said.append(f"{name}: {value_of(head)} ({basis_of(head)}).")
    return "\n".join(f"% {line}" for line in textwrap.wrap(" ".join(said), 116, break_on_hyphens=False))


def _benchmark(one: BenchmarkConfig, stored: StoredRun, title: str) -> str:
    config = stored.config
    written = "written for EQ Lab" if is_ours(one.name) else "its own items"
    items = SETS.get(one.item_set, written if one.item_set == "open" else f"the item set {one.item_set}")
    asked = f"profile {config.profile}" + (f", at most {config.limit} items" if config.limit else "")
    times = f", each asked {config.repeats} times" if (config.repeats or 1) > 1 else ""
    named = _cited(title, one.name, own=one.item_set != "published" and is_ours(one.name))
    return f"{named}, protocol {one.protocol}: {items} (sha256 {one.items_sha256}), {asked}{times}, seed {config.seed}."


def _cited(title: str, benchmark: str, *, own: bool) -> str:
    """A study's questions by its name; questions written elsewhere have a name of their own, and its form."""
    key = _key(bibtex(benchmark))
    if not key:
        return title
    return f"{title}, in the form of {benchmark} \\cite{{{key}}}" if own else f"{title} \\cite{{{key}}}"


def _key(paper: str) -> str:
    found = re.search(r"\{([\w-]+),", paper)
    return found.group(1) if found else ""


def _papers(benchmarks: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(paper for name in benchmarks if (paper := bibtex(name))))


# A comparison for a paper: plain text, and the BibTeX that stands beside it.
def paper(
    comparisons: Sequence[Comparison], runs: Mapping[str, StoredRun], version: str, missing: str = "drop"
) -> tuple[str, str]:
    """(text, BibTeX) of comparisons; `runs`: those of the store that are compared, by id."""
    passages = [
        passage
        for comparison in comparisons
        for passage in (_methods_of(comparison, runs, version), _results_of(comparison, missing))
    ]
    cited = (
        f"EQ Lab contributors ({date.today().year}). EQ Lab (version {version}) [Computer software]."
        f" {package_about('eqlab').get('address', 'Python package eqlab')}."
    )
    papers = _papers(comparison.benchmark for comparison in comparisons)
    keys = ", ".join(f"[{key}]" for key in ("eqlab", *map(_key, papers)))
    wrapped = [textwrap.fill(text, 100, break_on_hyphens=False) for text in (*passages, f"{cited} Cite {keys}.")]
    return "\n\n".join(wrapped) + "\n", "\n\n".join([software(version), *papers]) + "\n"


def _methods_of(one: Comparison, runs: Mapping[str, StoredRun], version: str) -> str:
    """Who was asked what, when and how, and by which test differences are decided."""
    everybody = listed([entry.name for entry in one.entries], most=12)
    sizes = sorted({len(entry.items) for entry in one.entries if entry.items})
    count = "" if not sizes else f"{sizes[0]} " if sizes[0] == sizes[-1] else f"{sizes[0]} to {sizes[-1]} "
    key = _key(bibtex(one.benchmark))
    cited = f" [{key}]" if key else ""
    said = [f"Methods ({one.title}). We compared {everybody} on {count}{one.things} of {one.title}{cited} with EQ Lab "
            f"{version} [eqlab]."]  # fmt: skip
    stored_runs = {entry.name: run for entry in one.entries if (run := runs.get(entry.origin.removeprefix("run ")))}
    asked = {(run.id, config.name): (run, config) for run in stored_runs.values() for config in run.config.benchmarks
             if config.name == one.benchmark}  # fmt: skip
    said += dict.fromkeys(f"{_asked(run, config)}." for run, config in asked.values())
    models: dict[str, list[str]] = {}
    for entry in one.entries:
        models.setdefault("; ".join(_model(entry, stored_runs.get(entry.name))), []).append(entry.name)
    said += [f"{listed(names, most=12)}: {words}." for words, names in models.items()]
    if one.rater:
        said.append(f"Replies were rated by {one.rater}.")
    said.append(_test(one))
    return " ".join(said)


def _asked(run: StoredRun, config: BenchmarkConfig) -> str:
    written = "Items: those written for EQ Lab" if is_ours(config.name) else "Items: the benchmark's own"
    items = {"open": written, "published": "Items: the study's own"}.get(config.item_set, "Items: our own")
    times = run.config.repeats or 1
    options = ", ".join(f"{name} {value}" for name, value in sorted(config.options.items()))
    return (
        f"{items} (sha256 {config.items_sha256}), protocol {config.protocol}, profile {run.config.profile}"
        f"{f', {options}' if options else ''}, each asked {'once' if times == 1 else f'{times} times'}, seed "
        f"{run.config.seed}"
    )


def _model(entry: Entry, run: StoredRun | None) -> list[str]:
    if run is None:
        return [f"{entry.origin} answers"]
    config: ModelConfig | None = next(
        (model_config for model_config in run.config.models if model_config.subject == entry.result.subject), None
    )
    said = [f"run {run.id}, {utc(run.created_at)[:10]}"]
    if config is not None:
        settings = ", ".join(f"{name} {value}" for name, value in sorted(config.settings.items()))
        said.append(settings or "the benchmark's settings")
        said += [f"label {config.label}"] if config.label else []
        said.append("answers forced into the form" if config.structured else "free text")
    if entry.result.answered_as:
        said.append(f"answered as {in_words(entry.result.answered_as)}")
    if entry.unused:
        said.append(f"{many(entry.unused, 'answer')} could not be used")
    return said


def _test(comparison: Comparison) -> str:
    if not comparison.pairs:
        return "Intervals are 95 % confidence intervals."
    gaps = [pair.difference for pair in comparison.pairs]
    ways = [
        ("Student's t test of the paired differences", any(g.method == "paired" and g.differ is None for g in gaps)),
        ("the exact test of signs where fewer than eight items differ", any(g.differ is not None for g in gaps)),
        ("an unpaired test where items are not shared", any(g.method == "unpaired" for g in gaps)),
    ]
    tests = listed([name for name, used in ways if used])
    more = f", corrected for all {len(gaps)} pairs where stated" if len(gaps) > 1 else ""
    return (
        f"Differences are tested two-sided at 5 % by {tests}{more}; intervals are 95 % confidence intervals. A lead "
        "must hold with the leader's own refused, unreadable or failed answers counted as the worst possible."
    )


def _results_of(one: Comparison, missing: str) -> str:
    said = [f"Results ({one.title}). {conclusion(one.verdict, one.things, one.rater)}"]
    scores = [
        f"{entry.name} {value_of(entry.score)} ({basis_of(entry.score)})"
        for entry in one.entries
        if is_number(entry.score.value)
    ]
    said.append(f"Scores: {'; '.join(scores)}.")
    shown = one.pairs[:MOST_PAIRS]
    if shown:
        rest = (
            f"; the other {many(len(one.pairs) - len(shown), 'pair is', 'pairs are')} in the tables"
            if len(one.pairs) > len(shown)
            else ""
        )
        said.append(f"Differences: {'; '.join(_difference(pair) for pair in shown)}{rest}.")
    baselines = one.entries[0].result.baselines
    if baselines and not one.rater:
        said.append(f"No-skill baselines: {', '.join(f'{base.name} {number(base.value, 1)}' for base in baselines)}.")
    told = [text for text in caveats(one, missing) if not text.startswith(HOW_MANY)]  # of a plan, not of results
    said += [text if text.endswith(".") else f"{text}." for text in told]
    return " ".join(said)


def _difference(pair: Pair) -> str:
    gap = pair.difference
    names = f"{pair.a.name} − {pair.b.name}"
    if gap.value is None:
        return f"{names}: undefined ({pair.why})"
    interval = "" if gap.low is None or gap.high is None else f", 95 % CI {number(gap.low, 2)} to {number(gap.high, 2)}"
    t = f", t({gap.df:.0f}) = {number(gap.value / gap.se, 2)}" if gap.se and gap.df and gap.differ is None else ""
    p = "" if gap.p is None else f", {_p(gap.p)}"
    all_pairs = "" if pair.p_jointly is None or pair.p_jointly == gap.p else f", all pairs {_p(pair.p_jointly)}"
    return f"{names} = {number(gap.value, 2)} points{interval}, n = {gap.n}{t}{p}{all_pairs}"


def _p(value: float) -> str:
    text = p_text(value)
    return f"p {text}" if text.startswith("<") else f"p = {text}"
