"""What no skill earns: of every published table that is at hand, the strongest answer that reads nothing, and how many
of the published models it beats. One picture, and one line on what was done about it."""

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import fmean, median

from eqlab.analysis.intervals import mean_estimate, proportion_bounds
from eqlab.benchmarks.dialogue.published import START
from eqlab.benchmarks.dialogue.result import AS_FOUND
from eqlab.benchmarks.emobench.benchmark import EmoBench
from eqlab.benchmarks.emobench.items import TASKS, EmoBenchOptions, chosen_scenarios
from eqlab.benchmarks.eqbench.score import PRESETS, by_place, item_score
from eqlab.core.errors import DataError
from eqlab.core.results import Better, Estimate, Table, goodness
from eqlab.data import published
from eqlab.data.items import read_sources
from eqlab.reproduce import culemo, emotionbench, kumar, sage, seceu, tombench
from eqlab.reproduce.claims import Report, Row, Study, table_of
from eqlab.runs.judge import published_replies
from eqlab.runs.kumar import read_all
from eqlab.runs.published_results import PublishedReader
from eqlab.tables.forest import Forest, ForestLine, standalone

_DONE = {
    "SECEU": "headline is shape, words in drawn order; EQ never without these answers on the same line",
    "EQ-Bench": "the best constant answer and the best one by place stand beside every score",
    "CuLEmo": "headline is balanced accuracy, with majority and the American answer beside it",
    "Kumar": "a constant rater stands beside every kappa and agreement of a calibration",
    "EmoBench": "options in drawn order; a guess and the longest option stand beside every accuracy",
    "EmotionBench": "headline is the order of situations, which one change for all does not have",
    "SAGE": "the emotion at the opening stands beside every score",
    "Empathy": "a constant rater stands beside every kappa and agreement of a calibration",
    "ToMBench": "place, longest option and chance stand beside every accuracy",
}


def _row(
    benchmark: str, table: str, answer: str, trivial: Estimate, models: Sequence[float], better: Better, measure: str
) -> Row:
    """Models that the answer beats; the range is that of its own interval."""

    def beaten(value: float | None) -> int | None:
        if value is None:
            return None
        return sum(goodness(value, better) > goodness(model, better) for model in models)

    worst, best = (trivial.low, trivial.high) if better == "higher" else (trivial.high, trivial.low)
    return {
        "benchmark": benchmark,
        "table": table,
        "answer": answer,
        "measure": measure,
        "value": trivial.value,
        "low": trivial.low,
        "high": trivial.high,
        "n": trivial.n,
        "models": len(models),
        "beats": beaten(trivial.value),
        "beats_at_least": beaten(worst),
        "beats_at_most": beaten(best),
        "best_model": max(models, key=lambda model: goodness(model, better), default=None),
        "done": _DONE[benchmark],
    }


def _seceu(folder: Path | None) -> Iterator[Row]:
    data = seceu.read(folder)
    models = [model[0] for model in data.models.values()]
    shown = ("2.5 to each", "4, 3, 2, 1 by place", "best fixed answer by place", "random whole numbers")
    for one in seceu.no_skill(data):
        if one.name in shown:
            distances = [float(value) for value in seceu.distances(one.answers, data.norm)]
            yield _row("SECEU", "Table 1", one.name, mean_estimate("score", distances), models, "lower", "distance")


def _eqbench(folder: Path | None) -> Iterator[Row]:
    runs = list(PublishedReader(folder).runs())
    models = [float(score) for run in runs if (score := run.facts.get("benchmark_score")) is not None]
    references = list({scored.trial.items[0]: scored.trial.key["reference"] for scored in runs[0].scored}.values())
    rules = PRESETS["leaderboard"]

    def scores(values: Sequence[float]) -> list[float]:
        filled = [(dict(zip(reference, values, strict=True)), reference) for reference in references]
        found = (item_score(answer, one, "v2", rules) for answer, one in filled)
        return [10 * score for score in found if score is not None]

    best = max(range(11), key=lambda value: fmean(scores([value] * 4)))
    places, _ = by_place(references, "v2", rules)
    for name, values in ((f"always {best}", [best] * 4), (f"{', '.join(map(str, places))} by place", places)):
        estimate = mean_estimate("score", scores(values))
        yield _row("EQ-Bench", "v2, result files", name, estimate, models, "higher", "score")


def _culemo(folder: Path | None) -> Iterator[Row]:
    report = culemo.reproduce(folder)
    rows = report["rows"]
    for language in report["summary"]["languages"]:
        own = [row for row in rows if row["language"] == language["language"]]
        models = [100 * row["accuracy_exact"] for row in own if row["setting"] != "baseline"]
        share, n = language["always_neutral"], max((row.get("n") or 0 for row in own), default=0)
        if models and n:
            low, high = proportion_bounds(share, n)
            trivial = Estimate("accuracy", 100 * share, n, None, 100 * low, 100 * high, "%")
            yield _row("CuLEmo", language["language"], "always neutral", trivial, models, "higher", "accuracy, %")


def _tombench(folder: Path | None) -> Iterator[Row]:
    report = tombench.reproduce(folder)
    printed = [row for row in report["rows"] if row["quantity"] == "accuracy, emotion" and row["name"] != "people"]
    for best in report["summary"]["strongest_without_reading"]:
        models = [float(row["printed"]) for row in printed if row["language"] == best["language"]]
        trivial = Estimate("accuracy", 100 * best["share"], 0, None, 100 * best["low"], 100 * best["high"], "%")
        yield _row("ToMBench", f"emotion, {best['language']}", best["answer"], trivial, models, "higher", "accuracy, %")


def _kumar(folder: Path | None) -> Iterator[Row]:
    """How often a rater gives the experts' median; a constant one has kappa 0 all the same."""
    for ratings in read_all(published.published_folder(folder))[0]:
        same = kumar.same_as_experts(ratings)
        constant = [100 * float(hit) for hit in same.pop("constant").mean(axis=0)]  # a talk counts once
        raters = [100 * float(hits.mean()) for hits in same.values()]
        trivial = mean_estimate("agreement", constant)
        name = ratings.framework.name
        yield _row("Kumar", name, "each scale's commonest", trivial, raters, "higher", "same as experts, %")


def _emobench(folder: Path | None) -> Iterator[Row]:
    """By place in the order of the file, and the longest option. The scores of models were printed only."""
    benchmark = EmoBench()
    options = benchmark.options("published", {})
    files = read_sources(benchmark.sources("published", options), folder)
    for task in TASKS:
        asked = [one.questions for one in chosen_scenarios(files, EmoBenchOptions.of({**options, "task": task}))]
        answers: dict[str, list[float]] = {}
        for questions in asked:
            for place in range(min(len(question.options) for question in questions)):
                right = all(question.options[place] == question.right for question in questions)
                answers.setdefault(f"always {'ABCDEFGH'[place]}", []).append(100.0 * right)
            longest = all(max(question.options, key=len) == question.right for question in questions)
            answers.setdefault("always the longest option", []).append(100.0 * longest)
        whole = {name: answer for name, answer in answers.items() if len(answer) == len(asked)}
        best = max(whole, key=lambda name: fmean(whole[name]))
        yield _row("EmoBench", task, best, mean_estimate("right", whole[best]), [], "higher", "accuracy, %")


def _emotionbench(_: Path | None) -> Iterator[Row]:
    """How far the printed changes of mood lie from people's, over factors of situations; what is printed ships."""
    changes: dict[str, dict[tuple[str, ...], float]] = {}
    for (who, questionnaire, subscale, level, *factor), (value, _arrow) in emotionbench.printed_values().items():
        if (questionnaire, level) == ("PANAS", "factor"):
            changes.setdefault(who, {})[subscale, *factor] = float(value)
    people = changes.pop("human")
    models = [fmean(abs(change[place] - people[place]) for place in people) for change in changes.values()]
    middle = {one: median(value for (scale, *_), value in people.items() if scale == one) for one, *_ in people}
    same = f"{', '.join(f'{change:+.1f}' for change in middle.values())} in every situation"
    for answer, fixed in ((same, middle), ("never moved", dict.fromkeys(middle, 0.0))):
        estimate = mean_estimate("distance", [abs(fixed[place[0]] - value) for place, value in people.items()])
        yield _row("EmotionBench", "PANAS", answer, estimate, models, "lower", "distance from people")


def _sage(_: Path | None) -> Iterator[Row]:
    """The emotion with which every talk begins: what is left where nothing that is said matters."""
    for simulator, score in sage.printed_scores().items():
        fixed = Estimate("score", float(START), sage.PERSONAS, None, float(START), float(START))
        yield _row("SAGE", f"{simulator} simulates", AS_FOUND, fixed, score, "higher", "score")


def _empathy(folder: Path | None) -> Iterator[Row]:
    """A rater that always says the same, against one person a reply. No model's ratings were published."""
    given = [value for row in published_replies(folder) for _, value in row.human]
    words = dict(enumerate(("Bad", "Okay", "Good"), start=1))
    commonest = max(words, key=given.count)
    same = mean_estimate("agreement", [100.0 * (value == commonest) for value in given])
    yield _row(
        "Empathy", "ratings", f"always {words[commonest]}, as a rater", same, [], "higher", "same as a person, %"
    )


_TABLES = {
    "seceu": _seceu,
    "eqbench": _eqbench,
    "culemo": _culemo,
    "tombench": _tombench,
    "kumar": _kumar,
    "emobench": _emobench,
    "emotionbench": _emotionbench,
    "sage": _sage,
    "empathy": _empathy,
}


def reproduce(folder: Path | None) -> Report:
    rows: list[Row] = []
    missing = []
    for name, read in _TABLES.items():
        try:
            rows += read(folder)
        except DataError as error:
            missing.append(f"{name}: {error.message}")
    return {"rows": rows, "summary": {"tables": len({(row["benchmark"], row["table"]) for row in rows}),
                                      "beats_all": sum(row["beats"] == row["models"] > 0 for row in rows),
                                      "missing": missing}}  # fmt: skip


def picture(report: Report) -> str:
    """Share of the published models that each answer beats, as an SVG file."""
    rows = [row for row in report["rows"] if row["models"]]
    ordered = sorted(rows, key=lambda row: -row["beats"] / max(row["models"], 1))
    lines = tuple(ForestLine(f"{row['benchmark']} {row['table']}: {row['answer']}", _share(row)) for row in ordered)
    return standalone(Forest("Published models that an answer beats which reads nothing", "%", lines, (0.0, 100.0)))


def _share(row: Row) -> Estimate:
    def share(count: int | None) -> float | None:
        return None if count is None else 100 * count / row["models"] if row["models"] else math.nan

    return Estimate(
        "models beaten", share(row["beats"]), row["models"], None,
        share(row["beats_at_least"]), share(row["beats_at_most"]), "%", digits=0, of="models",
    )  # fmt: skip


def findings(report: Report) -> list[str]:
    rows = report["rows"]
    whole = [row for row in rows if row["models"] and row["beats"] == row["models"]]
    sentences = [
        f"{len(whole)} of {len(rows)} answers that read nothing beat every published model of their table."
        if rows
        else "No published table is at hand: 'eqlab data fetch' gets them."
    ]
    sentences += [
        f"{row['benchmark']}, {row['table']}: '{row['answer']}' gets {row['value']:.1f}, the best of {row['models']} "
        f"models {row['best_model']:.1f}."
        for row in whole
    ]
    return [*sentences, *(f"Not at hand: {one}" for one in report["summary"]["missing"])]


def tables(report: Report) -> list[Table]:
    shown = [
        row | {"beaten": f"{row['beats']} of {row['models']}",
               "range": "" if row["beats_at_least"] is None else f"{row['beats_at_least']} to {row['beats_at_most']}"}
        for row in report["rows"]
    ]  # fmt: skip
    columns = (
        "benchmark | table | answer | measure | value | low | high | best_model: best model | "
        "beaten: models beaten | range | done: what was done"
    )
    note = (
        "Range: models beaten at the ends of the answer's own 95 % interval over items; models' errors are not in it."
    )
    return [table_of("What no skill earns", columns, shown, note)]


STUDY = Study("What no skill earns", reproduce, findings, tables, picture=picture)
