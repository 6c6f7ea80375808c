"""EQ-Bench's headline (arXiv 2312.06281): r = 0.97 with MMLU. Which models and which figures of MMLU stand behind it
is not known, so this is r on every set that can be made of the shipped figures: by source, by range of models, with
models and with families drawn, in version 1 and in version 2."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path

import numpy as np

from eqlab.analysis.arrays import Floats, Ints, codes
from eqlab.analysis.bootstrap import Statistic, interval, shared_totals
from eqlab.analysis.correlation import r_of_totals, r_rows
from eqlab.core.results import Estimate, Table
from eqlab.core.values import dataclass
from eqlab.data.external import (
    ARENA,
    ARENA_EARLIER,
    ARENA_V1,
    ARENA_V2,
    FATHOM,
    HELM,
    HELM_MMLU,
    LEADERBOARD,
    NAMES,
    REPORTED,
    SNAPSHOTS,
    external_scores,
    families,
    first_version,
    values,
)
from eqlab.data.figures import published_figures
from eqlab.reproduce.claims import Report, Row, Study, table_of

DRAWS = 20_000
_SETS = 50_000
_SEED = 20231211
PRINTED = 0.97
_SIX = ("mmlu", "arc", "hellaswag", "winogrande", "truthfulqa", "gsm8k")
_CLOSED = ("gpt-", "text-", "anthropic")
_FLAGGED = "fblgit/una-xaberius-34b-v1beta"
_OASST, _VICUNA = "OpenAssistant/oasst-sft-1-pythia-12b", ("lmsys/vicuna-13b-v1.1", "lmsys/vicuna-7b-v1.1")
_BOTH_VERSIONS = {
    "gpt-3.5-0613": "gpt-3.5-turbo-0613",
    "migtissera/SynthIA-70B-v1.5": "TheBloke/SynthIA-70B-v1.5-GGUF",
    "01-ai/Yi-34B-Chat": "TheBloke/Yi-34B-Chat-GGUF",
    "meta-llama/Llama-2-7b-chat-hf": "NousResearch/Llama-2-7b-chat-hf",
    "nousresearch/nous-capybara-7b": "NousResearch/Nous-Capybara-7B-V1",
    "Qwen/Qwen-72B-Chat-Int4": "Qwen/Qwen-72B-Chat",
}
"""Models of version 1 that version 2's list calls by another name."""
_ALL_V1 = "all models of the chart of 2023-12-11"
_ALL_V2 = "of the 54 results in eqbench.csv, those with a value"


@dataclass(frozen=True, slots=True)
class Version:
    name: str
    scores: Mapping[str, float]
    family: Mapping[str, str]
    arena: str

    def mmlu(self, order: Sequence[str] = REPORTED) -> "Pairs":
        return self.pairs("MMLU", order)

    def pairs(self, benchmark: str, order: Sequence[str]) -> "Pairs":
        return self.of(
            {name: score.value for name, score in values(benchmark, list(self.scores), order, self.arena).items()}
        )

    def of(self, other: Mapping[str, float]) -> "Pairs":
        models = tuple(name for name in self.scores if name in other)
        x, y = (np.array([own[name] for name in models]) for own in (other, self.scores))
        return Pairs(models, x, y, codes([self.family[name] for name in models]))


@dataclass(frozen=True, slots=True, eq=False)
class Pairs:
    """Models with their other score and their EQ-Bench score."""

    models: tuple[str, ...]
    other: Floats
    eqbench: Floats
    family: Ints

    def only(self, keep: Callable[[str, float, float], bool]) -> "Pairs":
        triples = zip(self.models, self.other, self.eqbench, strict=True)
        kept = [place for place, triple in enumerate(triples) if keep(*triple)]
        names = tuple(self.models[place] for place in kept)
        return Pairs(names, self.other[kept], self.eqbench[kept], self.family[kept])

    def without_ends(self, count: int) -> "Pairs":
        """Without so many models at each end of EQ-Bench."""
        kept = np.sort(np.argsort(self.eqbench, kind="stable")[count : len(self.models) - count])
        return Pairs(tuple(self.models[i] for i in kept), self.other[kept], self.eqbench[kept], self.family[kept])


# -- correlations ----------------------------------------------------------------------------------------------------


def pearson(x: Floats, y: Floats) -> float:
    return float(r_of_totals([r_rows(x, y).sum(axis=0)]))


def _by_family(rows: Floats, family: Ints) -> Floats:
    """Rows of one family added up: drawn together, they count together."""
    together = np.zeros((int(family.max()) + 1, rows.shape[1]))
    np.add.at(together, family, rows)
    return together[np.unique(family)]


def _interval(rows: Floats, statistic: Statistic = r_of_totals) -> tuple[float | None, float | None]:
    found = interval([rows], statistic, totals=shared_totals([rows], DRAWS, _SEED))
    return (found.low, found.high) if len(rows) >= 4 else _NO


def _row(quantity: str, n: int | None, value: float, ends: tuple[float | None, float | None], rule: str) -> Row:
    printed = PRINTED if quantity.startswith("claim") else None
    return {
        "quantity": quantity,
        "n": n,
        "value": value,
        "low": ends[0],
        "high": ends[1],
        "rule": rule,
        "printed": printed,
    }


_NO = (None, None)


def _models_drawn(name: str, pairs: Pairs, rule: str) -> Row:
    rows = r_rows(pairs.other, pairs.eqbench)
    return _row(f"{name}: Pearson", len(rows), float(r_of_totals([rows.sum(axis=0)])), _interval(rows), rule)


def _set(name: str, pairs: Pairs, about: str) -> Iterator[Row]:
    """One set with all its intervals."""
    from scipy.stats import rankdata

    rows = r_rows(pairs.other, pairs.eqbench)
    n, r = len(rows), pearson(pairs.other, pairs.eqbench)
    more = f"; {about}" if about else ""
    yield _models_drawn(name, pairs, f"models drawn with replacement{more}")
    together = _by_family(rows, pairs.family)
    rule = f"{len(together)} families (base weights) drawn with replacement{more}"
    yield _row(f"{name}: Pearson, families", n, r, _interval(together), rule)
    reach = 1.96 / np.sqrt(n - 3)
    ends = float(np.tanh(np.arctanh(r) - reach)), float(np.tanh(np.arctanh(r) + reach))
    rule = "tanh(atanh r ± 1.96/sqrt(n-3)): takes models for independent"
    yield _row(f"{name}: Pearson, Fisher", n, r, ends, rule)
    yield _row(f"{name}: Spearman", n, pearson(rankdata(pairs.other), rankdata(pairs.eqbench)), _NO, about)


# -- the sets --------------------------------------------------------------------------------------------------------


def versions() -> tuple[Version, Version]:
    one = first_version()
    first = Version("v1", {m.model: m.score for m in one}, {m.model: m.family for m in one}, ARENA_V1)
    found = published_figures().models
    scores = {m.model: float(m.facts["benchmark_score"]) for m in found}
    return first, Version("v2", scores, families({m.model: m.family for m in found}), ARENA_V2)


def reproduce(data: Path | None) -> Report:
    """Everything ships: no folder is read."""
    first, second = versions()
    rule = "abstract of arXiv 2312.06281; set of models and source of MMLU not known"
    rows = [_row("claim: EQ-Bench v1 with MMLU, printed", None, PRINTED, _NO, rule)]
    rows += [*_sources_v1(first), *_ranges_v1(first), *_which_set(first), *_others_v1(first), *_loosely(first)]
    rows += [*_version_2(second), *_against_winogrande(first, second), *_same_models(first, second)]
    by_name = {row["quantity"]: row for row in rows}
    shown = (
        "v1, MMLU as reported",
        "v1, as reported, MMLU 60 or more",
        "v2, MMLU as reported",
        "v2, as reported, MMLU 60 or more",
    )
    return {
        "rows": rows,
        "summary": {
            "rows": len(rows),
            "printed": PRINTED,
            "recovered": False,
            "refuted": not by_name["v1, MMLU as reported: Pearson"]["low"]
            <= PRINTED
            <= by_name["v1, MMLU as reported: Pearson"]["high"],
            "r": {name: by_name[f"{name}: Pearson"]["value"] for name in shown},
        },
    }


def _sources_v1(first: Version) -> Iterator[Row]:
    sets = (
        ("as reported", REPORTED, _ALL_V1),
        ("one protocol for OpenAI", (FATHOM, *REPORTED), _ALL_V1),
        ("arena table before leaderboard", (ARENA, *REPORTED), _ALL_V1),
        ("HELM Classic for OpenAI", (HELM, HELM_MMLU, FATHOM, *REPORTED), _ALL_V1),
        ("leaderboard only", (LEADERBOARD,), "open models, one evaluator"),
        (f"arena table of {ARENA_V1} only", (ARENA,), ""),
    )
    for name, order, about in sets:
        yield from _set(f"v1, MMLU {name}", first.mmlu(order), about)


def _spread(pairs: Pairs) -> str:
    return f"sd of MMLU {np.std(pairs.other, ddof=1):.2f}"


def _ranges_v1(first: Version) -> Iterator[Row]:
    whole = first.mmlu()
    parts = {
        "without the lowest and the highest": whole.without_ends(1),
        "without three at each end": whole.without_ends(3),
        "without models at chance on MMLU (< 30)": whole.only(lambda _, mmlu, eq: mmlu >= 30),
        "EQ-Bench 30 or more": whole.only(lambda _, mmlu, eq: eq >= 30),
        "MMLU 60 or more": whole.only(lambda _, mmlu, eq: mmlu >= 60),
        "open models": whole.only(lambda name, mmlu, eq: not _closed(name)),
        "closed models": whole.only(lambda name, mmlu, eq: _closed(name)),
        "without the one flagged for contamination": whole.only(lambda name, mmlu, eq: name != _FLAGGED),
        "one run per snapshot": whole.only(lambda name, mmlu, eq: name not in SNAPSHOTS),
    }
    for name, pairs in parts.items():
        yield _models_drawn(
            f"v1, as reported, {name}", pairs, f"{_spread(pairs)} (all: {np.std(whole.other, ddof=1):.2f})"
        )
    for name, pairs in (("all", whole), ("MMLU 60 or more", parts["MMLU 60 or more"])):
        slope, level = np.polyfit(pairs.other, pairs.eqbench, 1)
        rest = pairs.eqbench - slope * pairs.other - level
        n, rule = len(rest), "EQ-Bench points per point of MMLU, least squares"
        yield _row(f"v1, as reported, {name}: slope", n, float(slope), _NO, rule)
        sd = float(np.sqrt((rest**2).sum() / (n - 2)))
        yield _row(f"v1, as reported, {name}: residual sd", n, sd, _NO, "EQ-Bench points")


def _closed(name: str) -> bool:
    return name.casefold().startswith(_CLOSED)


def _which_set(first: Version) -> Iterator[Row]:
    """What it takes to have 0.97."""
    whole = first.mmlu()
    n, r = len(whole.models), pearson(whole.other, whole.eqbench)
    left = {name: _without(whole, [name]) for name in whole.models}
    low, high = min(left, key=left.__getitem__), max(left, key=left.__getitem__)
    rule = f"lowest without {low}, highest without {high}"
    yield _row("v1, as reported, one model left out: range of r", n - 1, r, (left[low], left[high]), rule)
    dropped: list[str] = []
    while _without(whole, dropped) < PRINTED:
        rest = [name for name in whole.models if name not in dropped]
        dropped.append(max(rest, key=lambda name: _without(whole, [*dropped, name])))
    rule = f"greedy; r {_without(whole, dropped):.4f} without {', '.join(dropped)}"
    yield _row("v1, as reported, fewest models to drop for 0.97", n - len(dropped), float(len(dropped)), _NO, rule)
    draw = np.random.default_rng(_SEED)
    rows = r_rows(whole.other, whole.eqbench)
    for size in (10, 15, 20, 25):
        chosen = draw.random((_SETS, n)).argsort(axis=1)[:, :size]
        found = r_of_totals([rows[chosen].sum(axis=1)])
        ends = np.quantile(found, [0.025, 0.975])
        name = f"v1, as reported, share of random sets of {size} with r of 0.965 or more"
        yield _row(name, size, float((found >= 0.965).mean()), _NO, f"middle 95 % of r: {ends[0]:.3f} to {ends[1]:.3f}")


def _without(pairs: Pairs, names: Sequence[str]) -> float:
    rest = pairs.only(lambda name, other, eq: name not in names)
    return pearson(rest.other, rest.eqbench)


def _others_v1(first: Version) -> Iterator[Row]:
    yield from _six(first, "same open models for all six")
    for name, title in (("elo", "Arena Elo"), ("mt-bench", "MT-bench")):
        yield _models_drawn(f"v1, {title} of {ARENA_V1}", first.pairs(NAMES[name], (ARENA,)), "")


def _six(version: Version, rule: str) -> Iterator[Row]:
    """The leaderboard's six benchmarks, on the models that have all of them."""
    for name, pairs in _six_pairs(version).items():
        yield _models_drawn(f"{version.name}, six benchmarks of the leaderboard, {name}", pairs, rule)


def _six_pairs(version: Version) -> dict[str, Pairs]:
    found = {NAMES[name]: version.pairs(NAMES[name], (LEADERBOARD,)) for name in _SIX}
    shared = set.intersection(*(set(pairs.models) for pairs in found.values()))
    return {name: pairs.only(lambda model, other, eq: model in shared) for name, pairs in found.items()}


def _loosely(first: Version) -> Iterator[Row]:
    """The arena's table of 16 November 2023, its names matched more or less strictly."""
    printed = {
        "MMLU": "printed 0.97",
        "Arena Elo": "printed 0.94 (by a reader's notes)",
        "MT-bench": "printed 0.91 (by a reader's notes)",
    }
    ways = {
        "same versions": ("gpt-4-0314",),
        "same versions, and oasst": ("gpt-4-0314", _OASST),
        "GPT-4 as 0613, and oasst": ("gpt-4-0613", _OASST),
        "GPT-4 as 0613, without oasst": ("gpt-4-0613",),
    }
    for way, others in ways.items():
        for benchmark, rule in printed.items():
            pairs = first.of(_arena(benchmark, [*others, "gpt-3.5-turbo-0301"]))
            yield _models_drawn(
                f"v1, arena table of {ARENA_EARLIER}, {way}, {benchmark}", pairs, f"{rule}; chosen after the fact"
            )
    four, three = ("gpt-4-0314", "gpt-4-0613"), ("gpt-3.5-turbo-0301", "gpt-3.5-0613")
    found = []
    for gpt4, gpt3, vicuna, oasst in product(_some(four), _some(three), ((), _VICUNA), ((), (_OASST,))):
        pairs = first.of(_arena("MMLU", [*gpt4, *gpt3, *vicuna, *oasst]))
        found.append(pearson(pairs.other, pairs.eqbench))
    rule = (
        "which GPT-4, which GPT-3.5, Vicuna 1.5 for 1.1 or not, oasst sft-4 for sft-1 or not; "
        f"r from {min(found):.3f} to {max(found):.3f}"
    )
    name = f"v1, arena table of {ARENA_EARLIER}, ways of matching names that round to 0.97"
    yield _row(name, len(found), float(sum(round(r, 2) == PRINTED for r in found)), _NO, rule)


def _some(names: tuple[str, str]) -> tuple[tuple[str, ...], ...]:
    return names[:1], names[1:], names


def _arena(benchmark: str, chosen: Sequence[str]) -> dict[str, float]:
    """The table's figures: of models whose name fits no version exactly, those chosen."""
    open_to_choice = {"gpt-4-0314", "gpt-4-0613", "gpt-3.5-turbo-0301", "gpt-3.5-0613", *_VICUNA, _OASST}
    return {
        score.model: score.value
        for score in external_scores()
        if score.benchmark == benchmark
        and score.kind == ARENA
        and score.date == ARENA_EARLIER
        and (score.model in chosen or (score.same and score.model not in open_to_choice))
    }


def _version_2(second: Version) -> Iterator[Row]:
    whole = second.mmlu()
    yield from _set("v2, MMLU as reported", whole, _ALL_V2)
    yield from _set("v2, MMLU leaderboard only", second.mmlu((LEADERBOARD,)), "open models, one evaluator")
    parts = {
        "without the lowest and the highest": whole.without_ends(1),
        "without three at each end": whole.without_ends(3),
        "without models at chance on MMLU (< 30)": whole.only(lambda _, mmlu, eq: mmlu >= 30),
        "MMLU 60 or more": whole.only(lambda _, mmlu, eq: mmlu >= 60),
        "without phi-2": whole.only(lambda name, mmlu, eq: name != "microsoft/phi-2"),
        "one run per snapshot": whole.only(lambda name, mmlu, eq: name not in SNAPSHOTS),
    }
    for name, pairs in parts.items():
        yield _models_drawn(f"v2, as reported, {name}", pairs, _spread(pairs))
    yield from _six(second, "same open models for all six (Falcon has four of them)")
    for benchmark in ("MMLU", "Arena Elo", "MT-bench"):
        yield _models_drawn(f"v2, {benchmark} of the arena table of {ARENA_V2}", second.pairs(benchmark, (ARENA,)), "")


def _against_winogrande(*both: Version) -> Iterator[Row]:
    for version in both:
        six = _six_pairs(version)
        one, other = six["MMLU"], six["Winogrande"]
        rows = np.hstack([r_rows(one.other, one.eqbench), r_rows(other.other, other.eqbench)])
        for unit, drawn in (("models", rows), ("families", _by_family(rows, one.family))):
            value = float(_r_difference([rows.sum(axis=0)]))
            rule = f"{unit} drawn with replacement, the same for both"
            name = f"{version.name}, MMLU minus Winogrande: difference of Pearson, {unit}"
            yield _row(name, len(rows), value, _interval(drawn, _r_difference), rule)


def _r_difference(totals: Sequence[Floats]) -> Floats:
    first, second = np.split(np.asarray(totals[0]), 2, axis=-1)
    return np.asarray(r_of_totals([first]) - r_of_totals([second]))


def _same_models(first: Version, second: Version) -> Iterator[Row]:
    """Models with a score in both versions, so that a difference is not one of lists."""
    names = {score: _BOTH_VERSIONS.get(score, score) for score in first.scores}
    shared = {one: other for one, other in names.items() if other in second.scores}
    mmlu = {name: score.value for name, score in values("MMLU", list(shared), REPORTED, ARENA_V1).items()}
    pairs = first.of({name: value for name, value in mmlu.items() if name in shared})
    later = Pairs(
        pairs.models, pairs.other, np.array([second.scores[shared[name]] for name in pairs.models]), pairs.family
    )
    rule = "models with both scores; MMLU as reported"
    yield _models_drawn("same models, v1 with MMLU", pairs, rule)
    yield _models_drawn("same models, v2 with MMLU", later, rule)
    yield _row("same models, v1 with v2: Pearson", len(pairs.models), pearson(pairs.eqbench, later.eqbench), _NO, "")


# -- what is shown ---------------------------------------------------------------------------------------------------


def findings(report: Report) -> list[str]:
    by = {row["quantity"]: row for row in report["rows"]}

    def said(name: str) -> str:
        row = by[name]
        return f"{row['value']:.2f} ({row['low']:.2f} to {row['high']:.2f}, {row['n']} models)"

    drawn = by["v1, MMLU as reported: Pearson, families"]
    return [
        f"Printed: r = {PRINTED:.2f}, of models and figures that are not known. All models of the chart give "
        f"r = {said('v1, MMLU as reported: Pearson')}; with families drawn together {drawn['low']:.2f} to "
        f"{drawn['high']:.2f}. The printed value is neither recovered nor refuted.",
        "The range of models makes most of it: among models with MMLU of 60 or more, r = "
        f"{said('v1, as reported, MMLU 60 or more: Pearson')}.",
        f"Version 2: r = {said('v2, MMLU as reported: Pearson')}, and with MMLU of 60 or more "
        f"{said('v2, as reported, MMLU 60 or more: Pearson')}.",
        "In version 2 MMLU is not the closest benchmark: on the same models r with MMLU minus r with Winogrande is "
        f"{said('v2, MMLU minus Winogrande: difference of Pearson, models')}. Winogrande was chosen after seeing six.",
    ]


def tables(report: Report) -> list[Table]:
    shown = [
        {**row, "r": Estimate("", row["value"], row["n"] or 0, None, row["low"], row["high"], digits=3)}
        for row in report["rows"]
    ]
    note = "95 % intervals: percentiles of 20,000 draws, of models unless the row says families or Fisher."
    return [table_of("EQ-Bench and MMLU", "quantity | r: value | rule", shown, note)]


STUDY = Study("EQ-Bench's r = .97 with MMLU", reproduce, findings, tables)
