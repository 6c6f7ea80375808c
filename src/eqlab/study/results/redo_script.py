"""The analysis of a study done again from its export, by other code: this file imports nothing of EQ Lab, reads the CSV
tables and the plan in study.json only, and is copied into every export as redo.py (`python redo.py`: numpy, scipy)."""

import csv
import json
import math
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from itertools import product
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import optimize, special

Found = dict[str, tuple[float, float]]
"""By name as in result.json: the value, and how far the exported one may lie from it."""
Rows = list[dict[str, str]]
Floats = npt.NDArray[np.float64]
HEADLINE = "headline"
"""The study's first number, which is called as the items are where they are somebody's own."""
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
EXACT, FITTED = 1e-6, 0.02
"""Fitted models may differ a little: two programs climb the same hill in different ways."""
ENDLESS = 10.0
"""Log-odds beyond which a climb has no top, as where one arm is always best: eqlab tells no number of such a model."""
WIDEST = 5.0
"""A standard deviation, in log-odds, beyond which a random effect has none."""
SPREADS = [-0.7, -3.0]
"""Logarithms of the standard deviations from which climbs begin."""
WIDE = [2.0, 3.0]
"""Others, for a number that eqlab does not tell: spreads without an end may explain few ratings better still."""
FEWEST = 5
"""Prompts, or situations, with fewer of which eqlab tells no difference, having no interval for it."""


def main(folder: Path) -> int:
    told = json.loads((folder / "result.json").read_text(encoding="utf-8"))
    first, exported = told["headline"]["name"], {"people analysed": float(told["analysed"])}
    for one in (*told["estimates"], told["headline"], *(each["estimate"] for each in told["contrasts"])):
        exported[one["name"]] = one["value"]
    found = {"people analysed": (float(len(analysed(folder))), EXACT), **redone(folder)}
    if untold := [name for name, (value, tolerance) in found.items()
                  if tolerance == FITTED and exported.get(name) is None and not math.isnan(value)]:  # fmt: skip
        SPREADS.extend(WIDE)
        again = redone(folder)
        del SPREADS[-len(WIDE) :]
        found |= {name: again[name] for name in untold}
    wrong = 0
    no_top = any(tolerance == FITTED and abs(value) > ENDLESS for value, tolerance in found.values())
    for name, (value, tolerance) in ((first if name == HEADLINE else name, one) for name, one in found.items()):
        there = exported.get(name)
        if there is None or math.isnan(value):  # undefined here and there
            same = there is None and (math.isnan(value) or (no_top and tolerance == FITTED))
        else:
            same = abs(there - value) <= tolerance * max(1.0, abs(value))
        wrong += not same
        sys.stdout.write(f"{'same' if same else 'DIFFERENT':9}  {name}: exported {there}, here {value:.6g}\n")
    sys.stdout.write(f"Numbers found again: {len(found) - wrong} of {len(found)}.\n")
    return 1 if wrong else 0


def analysed(folder: Path) -> set[str]:
    """Who answered a trial, or talked, and is left out by none of the plan's rules."""
    about = json.loads((folder / "study.json").read_text(encoding="utf-8"))
    standing, study = about["standing"], about["design"]["study"]
    rules = study["analysis"]["exclude"]
    timed: dict[str, int] = {}
    answers = table(folder, "answers")
    answered = {row["person"] for row in answers if row["kind"] in ("trial", "talk")}
    if study["kind"] == "talk":  # a listener's words are no answer, and in this table alone
        answered |= {row["person"] for row in table(folder, "talks") if row["by"] == "person"}
    for person in {(row["person"], row["page"]) for row in answers if _timed(row)}:
        timed[person[0]] = timed.get(person[0], 0) + 1
    against: Mapping[str, Callable[[dict[str, str]], bool]] = {
        "failed_attention": lambda row: int(row["attention_failed"]) > 0,
        "failed_gold": lambda row: int(row["gold_failed"]) > 0,
        "incomplete": lambda row: row["state"] not in ("finished", "extra"),
        "straight_lining": lambda row: row["straight_lining"] == "true",
        "too_fast": lambda row: 2 * int(row["too_fast"]) > timed.get(row["person"], 0),
        "inconsistent": lambda row: bool(row["repeat_apart"]) and float(row["repeat_apart"]) > 0.5,
    }
    return {
        row["person"]
        for row in table(folder, "participants")
        if row["person"] in answered
        and row["state"] != "banned"
        and not any(against[rule](row) for rule in rules)
        and _in_place(row, standing)
    }


def _in_place(row: dict[str, str], standing: Mapping[str, Any]) -> bool:
    """Plans since 0.3: only who finished in a planned place, until the last was filled or the study closed."""
    if "sample" not in (standing["lock"] or {"plan": {}})["plan"]:
        return True
    if row["state"] != "finished" or standing.get("late") is not None:
        return row["state"] == "finished" and row["person"] not in standing["late"]
    settled = standing["settled_at"]
    return settled is None or _seconds(row["ended_at"]) <= settled + 0.001


def _seconds(moment: str) -> float:
    return datetime.fromisoformat(moment.replace("Z", "+00:00")).timestamp()


def _timed(row: dict[str, str]) -> bool:
    return row["kind"] in ("trial", "instrument") and row["seconds"] != ""


def redone(folder: Path) -> Found:
    """The numbers of the study's kind."""
    study = json.loads((folder / "study.json").read_text(encoding="utf-8"))["design"]["study"]
    kept = analysed(folder)
    questions = {row["trial"]: json.loads(row["key"]) for row in table(folder, "questions")}
    kinds = {"rating": _rating, "pairwise": _pairwise, "reply": _reply, "talk": _talk, "evoked": _evoked,
             "eqbench": _eqbench, "seceu": _seceu, "emobench": _choices, "culemo": _choices,
             "tombench": _choices}  # fmt: skip
    if study["kind"] not in kinds:
        raise SystemExit(f"This script does not know studies of the kind '{study['kind']}'.")
    if study["kind"] == "talk":
        rows = table(folder, "talks")
    else:
        rows = [row for row in table(folder, "answers") if row["kind"] == "trial" and row["counts"] == "true"]
    rows = [row for row in rows if row["person"] in kept]
    return kinds[study["kind"]](rows, questions, study) if rows else {}


def table(folder: Path, name: str) -> Rows:
    """As it was before text that a spreadsheet would take for a formula got a leading apostrophe."""
    with (folder / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return [{column: _unguarded(cell) for column, cell in row.items()} for row in csv.DictReader(file)]


def _unguarded(cell: str) -> str:
    return cell[1:] if cell.startswith("'") and cell[1:2] in FORMULA else cell


# -- the kinds -------------------------------------------------------------------------------------------------------


def _rating(rows: Rows, questions: Mapping[str, Any], study: Mapping[str, Any]) -> Found:
    """Shares of Good, or differences of means; and every arm against the reference in a mixed cumulative logit."""
    found: Found = {}
    reference = study["analysis"]["reference"] or study["arms"][0][0]
    for scale in dict.fromkeys(row["scale"] for row in rows):
        own = [row for row in rows if row["scale"] == scale]
        arms = [row["reply_of"] for row in own]
        values = np.array([int(row["value"]) for row in own])
        if own[0]["reverse"] == "true":
            values = -values
        prompts = [str(questions[row["trial"]]["prompt"]) for row in own]
        turned = " (turned round)" if own[0]["reverse"] == "true" else ""
        prefix = f"{scale}{turned}: " if study["scales"] else ""
        others = sorted(set(arms) - {reference})
        if not study["scales"]:
            good = {arm: 100 * np.mean([v == 3 for v, a in zip(values, arms, strict=True) if a == arm]) for arm in arms}
            found |= {f"P(Good), {arm}": (float(share), EXACT) for arm, share in good.items()}
            if len(others) == 1 and reference in good:
                name = f"P(Good), {others[0]} − {reference}"
                found[name] = (float(good[others[0]] - good[reference]), EXACT)
        if reference not in arms:
            continue
        if study["scales"]:
            mean = {arm: np.mean([v for v, a in zip(values, arms, strict=True) if a == arm]) for arm in set(arms)}
            gaps = {f"{prefix}{other} − {reference}": float(mean[other] - mean[reference]) for other in others}
            found |= {name: (gap, EXACT) for name, gap in gaps.items()}
        people = [row["person"] for row in own]
        tastes = list(zip(people, arms, strict=True))
        effects: list[Sequence[Any]] = [people, prompts, list(zip(prompts, arms, strict=True))]
        if len(set(tastes)) > len(set(people)):  # somebody saw several arms
            effects.append(tastes)
        fixed = np.array([[arm == other for other in others] for arm in arms], dtype=float)
        for other, value in zip(others, mixed_logit(values, fixed, effects), strict=True):
            found[f"log-odds, {prefix}{other} − {reference}"] = (float(value), FITTED)
    return found


def _pairwise(rows: Rows, questions: Mapping[str, Any], study: Mapping[str, Any]) -> Found:
    """Bradley and Terry's strengths with Davidson's ties and a first place that may be worth something."""
    shown = {arm for row in rows for arm in questions[row["trial"]]["arms"]}
    names = [name for name, _ in study["arms"]]
    reference = study["analysis"]["reference"] or names[0]
    others = [name for name in names if name != reference and name in shown]
    if reference not in shown:
        return {}
    place = {name: index for index, name in enumerate(others)}
    highest = max(int(row["value"]) for row in rows)
    ties = highest == 3 or study["options"] == [] or dict(study["options"]).get("ties", "yes") not in ("no", "false")
    outcomes = np.array([{1: 0, 2: 1 if ties else 2, 3: 2}[int(row["value"])] for row in rows])
    logits = np.zeros((len(rows), 3, len(others) + 2))  # the last two are the place and ties
    for own, row in zip(logits, rows, strict=True):
        for arm, sign in zip(questions[row["trial"]]["arms"], (1, -1), strict=True):
            if arm in place:
                own[:, place[arm]] = sign * HALVES
    logits[:, :, -2], logits[:, 1, -1] = HALVES, 1.0
    if 1 not in outcomes:  # nobody tied: no tie can be expected
        logits, outcomes = logits[:, ::2, :-1], outcomes // 2
    told = [*(f"log-odds, {name} − {reference}" for name in others), "first place"]
    if not has_top(logits, outcomes):
        return dict.fromkeys(told, (math.nan, FITTED))

    def loss(at: Floats) -> float:
        heights = logits @ at
        return float(np.sum(np.logaddexp.reduce(heights, axis=1) - heights[np.arange(len(rows)), outcomes]))

    fit = optimize.minimize(loss, np.zeros(logits.shape[2]), method="BFGS").x
    untold = len({questions[row["trial"]]["prompt"] for row in rows}) < FEWEST
    values = [*(math.nan if untold else float(fit[place[name]]) for name in others), float(fit[len(others)])]
    return {name: (value, FITTED) for name, value in zip(told, values, strict=True)}


HALVES = np.array([0.5, 0.0, -0.5])
"""What a difference of strengths adds to the log-odds that the first wins, of a tie, and that the second wins."""


def has_top(logits: Floats, chosen: npt.NDArray[np.int64]) -> bool:
    """Whether one set of parameters makes what was chosen likeliest: in no direction does it become likelier for ever,
    or stay as likely, choice by choice (Albert & Anderson 1984). A linear programme looks for such a direction."""
    ahead = logits[np.arange(len(chosen)), chosen][:, None, :] - logits
    ahead = np.unique(ahead.reshape(-1, logits.shape[2]), axis=0)
    endless = -optimize.linprog(-ahead.sum(axis=0), -ahead, np.zeros(len(ahead)), bounds=(-1, 1)).fun > 1e-3
    return not endless and np.linalg.matrix_rank(ahead) == ahead.shape[1]


UNSPACED = (
    (re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"), 2),
    (re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]"), 4),
)
"""Scripts without blanks between words (Chinese, Japanese; Thai, Lao, Burmese, Khmer), and characters of a word."""


def _words(text: str) -> int:
    count, spaced = 0, text
    for script, characters in UNSPACED:
        spaced, found = script.subn(" ", spaced)
        count += -(-found // characters)
    return count + sum(any(map(str.isalnum, part)) for part in spaced.split()) if count else len(text.split())


def _reply(rows: Rows, questions: Mapping[str, Any], study: Mapping[str, Any]) -> Found:
    return {"words per reply": (_of_people(rows, lambda row: _words(row["text"])), EXACT)}


NEGATIVE = {
    "distressed",
    "upset",
    "guilty",
    "scared",
    "hostile",
    "irritable",
    "ashamed",
    "nervous",
    "jittery",
    "afraid",
}
"""Watson, Clark & Tellegen (1988)."""


DOUBLED = ("DASS-21",)
"""Sums that are told on the scale of a form twice as long."""


def _evoked(rows: Rows, questions: Mapping[str, Any], study: Mapping[str, Any]) -> Found:
    """How often the mood is higher after the better of two situations, and the planned contrast; without situations of
    all kinds, and of other questionnaires than the PANAS, the change in negative situations."""
    panas = all(questions[row["trial"]]["instrument"] == "PANAS" for row in rows)
    sums: dict[tuple[str, str], list[float]] = {}
    where: dict[str, tuple[str, str, str]] = {}
    for row in rows:
        both, asked = sums.setdefault((row["person"], row["condition"]), [0.0, 0.0]), questions[row["trial"]]
        times = (2 if asked["instrument"] in DOUBLED else 1) * (-1 if row["reverse"] == "true" else 1)
        both[row["scale"] in NEGATIVE or not panas] += times * int(row["value"])
        if row["condition"] == "evoked":
            where[row["person"]] = (row["item"], asked["emotion"], row["arm"])
    changes: dict[tuple[str, str, str], list[tuple[float, float]]] = {}
    for person, situation in where.items():
        before, after = sums.get((person, "default")), sums[person, "evoked"]
        if before:
            good, bad = after[0] - before[0], after[1] - before[1]
            changes.setdefault(situation, []).append((good - bad, bad))
    moods: dict[str, list[float]] = {"bad": [], "neutral": [], "good": []}
    ours, theirs, rises = [], [], []
    for (_, emotion, arm), own in changes.items():
        kind = {"Neutral": "neutral", "Positive": "good"}.get(emotion, "bad")
        moods[kind].append(fmean(one for one, _ in own))
        rises += [bad for _, bad in own] if kind == "bad" else []
        if arm == study["analysis"]["reference"]:
            theirs.append(fmean(one for _, one in own))
        elif kind == "bad":
            ours.append(fmean(one for _, one in own))
    found: Found = {}
    if panas and all(moods.values()):
        pairs = (("neutral", "bad"), ("good", "neutral"), ("good", "bad"))
        shares = {f"{high} above {low}": 100 * _above(moods[high], moods[low]) for high, low in pairs}
        found = {name: (share, EXACT) for name, share in shares.items()}
        found["Concordance"] = (fmean(shares.values()), EXACT)
    elif rises:
        found[HEADLINE] = (fmean(rises), EXACT)
    if panas and min(len(ours), len(theirs)) >= FEWEST and len({*ours}) + len({*theirs}) > 2:
        name = f"change in Negative Affect, negative − {study['analysis']['reference']}"
        found[name] = (fmean(ours) - fmean(theirs), EXACT)
    return found


def _eqbench(rows: Rows, questions: Mapping[str, Any], study: Mapping[str, Any]) -> Found:
    """Ten times the mean of a person's dialogues. v2: 10 − 0.7477 Σ f(|answer − reference|) a dialogue; v1: 10 − Σ |its
    share of ten − reference|. Four zeros are no answer."""
    given: dict[tuple[str, str], dict[str, int]] = {}
    for row in rows:
        given.setdefault((row["person"], row["trial"]), {})[row["scale"]] = int(row["value"])
    shares = dict(study["options"]).get("version") == "v1"
    scores: dict[str, list[float]] = {}
    for (person, trial), own in given.items():
        if any(own.values()):
            tenth = sum(own.values()) / 10 if shares else 1.0
            away = [abs(value / tenth - questions[trial]["reference"][name]) for name, value in own.items()]
            lost = sum(away) if shares else 0.7477 * sum(map(_cost, away))
            scores.setdefault(person, []).append(10 * (10 - lost))
    return {HEADLINE: (fmean(map(fmean, scores.values())), 1e-3)} if scores else {}


def _cost(away: float) -> float:
    return 0.0 if away == 0 else 6.5 / (1 + math.exp(-1.2 * (away - 4))) if away < 5 else away


def _choices(rows: Rows, questions: Mapping[str, Any], study: Mapping[str, Any]) -> Found:
    """A question is right if every part of it is."""
    right: dict[tuple[str, str], bool] = {}
    for row in rows:
        good = int(row["value"]) == questions[row["trial"]]["correct"][row["scale"]]
        right[row["person"], row["trial"]] = right.get((row["person"], row["trial"]), True) and good
    people: dict[str, list[bool]] = {}
    for (person, _), good in right.items():
        people.setdefault(person, []).append(good)
    return {HEADLINE: (100 * fmean(fmean(own) for own in people.values()), EXACT)}


def _seceu(rows: Rows, questions: Mapping[str, Any], study: Mapping[str, Any]) -> Found:
    """A person's shape: over all stories the cosine of the points they dealt out and people's mean points, both less
    their mean in the story; 0 where every word got the same. Words in drawn order count where there are some."""
    drawn = [row for row in rows if row["condition"] == "shuffled"] or rows
    given: dict[str, dict[str, dict[str, float]]] = {}
    for row in drawn:
        given.setdefault(row["person"], {}).setdefault(row["trial"], {})[row["scale"]] = float(row["value"])
    shapes = []
    for stories in given.values():
        dealt = np.concatenate([_centred(list(own.values())) for own in stories.values()])
        norm = np.concatenate(
            [_centred([questions[trial]["reference"][word] for word in own]) for trial, own in stories.items()]
        )
        shapes.append(float(dealt @ norm / np.sqrt(dealt @ dealt * (norm @ norm))) if dealt.any() else 0.0)
    return {HEADLINE: (fmean(shapes), EXACT)}


def _centred(points: Sequence[float]) -> Floats:
    return np.asarray(points, dtype=float) - fmean(points)


def _talk(rows: Rows, questions: Mapping[str, Any], study: Mapping[str, Any]) -> Found:
    """Final emotion, one value a person; how talks ended; and every arm against the reference, adjusted for how people
    felt at the opening (least squares)."""
    speaking = study["talk"]["person"] == "speaker"
    talks: dict[tuple[str, str], Rows] = {}
    for row in sorted(rows, key=lambda row: int(row["turn"])):
        talks.setdefault((row["person"], row["talk"]), []).append(row)
    people: dict[str, list[tuple[str, float, float]]] = {}
    ends: list[str] = []
    replies: dict[str, list[int]] = {}
    words: dict[str, list[int]] = {}
    for (person, first), turns in talks.items():
        start, end = float(questions[first]["character"]["emotion"]), _end(turns, questions[first], speaking)
        if speaking and turns[0]["emotion"]:
            start = float(turns[0]["emotion"])
        said = [_words(row["text"]) for row in turns if row["seat"] == "listener" and row["status"] == "ok"]
        felt = [float(row["emotion"]) for row in turns[1:] if row["seat"] == "speaker" and row["status"] == "ok"]
        words.setdefault(person, []).extend(said)
        replies.setdefault(person, []).extend([len(said)] if end else [])
        ends += [end] if end in OVER else []
        if end in OVER and felt:
            people.setdefault(person, []).append((str(questions[first]["arm"]), start, felt[-1]))
    found: Found = {}
    if people:
        found["final emotion"] = (fmean(fmean(end for *_, end in own) for own in people.values()), EXACT)
        found["change of emotion"] = (
            fmean(fmean(end - start for _, start, end in own) for own in people.values()),
            EXACT,
        )
    for arm in sorted({arm for own in people.values() for arm, *_ in own}):
        means = [fmean(end for its, _, end in own if its == arm) for own in people.values() if own[0][0] == arm]
        found[f"final emotion, {arm}"] = (fmean(means), EXACT)
    for name, which in (("success", ("satisfied",)), ("failure", ("hurt", "silence"))):
        if ends:
            found[name] = (100 * fmean(end in which for end in ends), EXACT)
    for name, by in (("replies per talk", replies), ("words per reply", words)):  # one value a person
        if any(by.values()):
            found[name] = (fmean(fmean(own) for own in by.values() if own), EXACT)
    reference = study["analysis"]["reference"] or study["arms"][0][0]
    return {**found, **(_adjusted(list(people.values()), reference) if speaking else {})}


OVER = ("satisfied", "hurt", "silence", "turns", "left")
"""Ends of talks that have a score."""


def _end(turns: Rows, first: Mapping[str, Any], speaking: bool) -> str:
    """How a talk is over, if it is. A number sends only a simulated speaker away."""
    last, replies = turns[-1], sum(row["seat"] == "listener" for row in turns)
    if any(row["status"] == "error" for row in turns):
        return ""
    if last["finish"] in ("left", "down"):
        return last["finish"]
    if last["seat"] == "listener" or not replies:
        return ""
    if last["status"] != "ok":
        return "lost"
    if turns[-2]["status"] != "ok":
        return "silence"
    leaves, emotion = int(last["leaves"]), int(last["emotion"])
    if not speaking and (emotion < 10 or emotion >= 100):
        return "hurt" if emotion < 10 else "satisfied"
    return {1: "satisfied", 2: "hurt"}.get(leaves, "turns" if replies >= int(first["replies"]) else "")


def _adjusted(people: Sequence[Sequence[tuple[str, float, float]]], reference: str) -> Found:
    arms = [own[0][0] for own in people]
    people = [own for own in people if own[0][0] == reference or arms.count(own[0][0]) > 1]
    arms = [own[0][0] for own in people]
    others = sorted(set(arms) - {reference})
    if not others or arms.count(reference) < 2:
        return {}
    start = np.array([fmean(before for _, before, _ in own) for own in people])
    final = np.array([fmean(after for *_, after in own) for own in people])
    columns = [np.ones(len(arms)), *(np.array([arm == other for arm in arms], dtype=float) for other in others)]
    design = np.column_stack([*columns, start - start.mean()] if np.ptp(start) > 0 else columns)
    fit, _, rank, _ = np.linalg.lstsq(design, final)
    leverage = (np.linalg.qr(design)[0] ** 2).sum(axis=1)
    if rank < design.shape[1] or len(arms) <= rank or leverage.max() > 1 - 1e-9:
        return {}  # somebody alone decides a difference
    errors = np.linalg.norm(np.linalg.pinv(design) * ((final - design @ fit) / (1 - leverage)), axis=1)
    told = errors > 1e-9 * max(1.0, np.abs(final).max())  # else all is explained, and no error can be told
    named = enumerate(others, start=1)
    return {f"final emotion, {arm} − {reference}": (float(fit[at]), EXACT) for at, arm in named if told[at]}


def _of_people(rows: Rows, value: Callable[[dict[str, str]], float]) -> float:
    """The mean of people's means."""
    people: dict[str, list[float]] = {}
    for row in rows:
        people.setdefault(row["person"], []).append(value(row))
    return fmean(fmean(own) for own in people.values())


def _above(high: Sequence[float], low: Sequence[float]) -> float:
    return fmean((one > two) + 0.5 * (one == two) for one, two in product(high, low)) if high and low else math.nan


# -- a mixed cumulative logit ----------------------------------------------------------------------------------------


def mixed_logit(values: npt.NDArray[np.int64], fixed: Floats, effects: Sequence[Sequence[Any]]) -> Floats:
    """Coefficients of `fixed` in P(y ≤ k) = F(θ_k − xβ − Σ u), u normal by level of each effect; maximum likelihood
    with Laplace's approximation (Tutz & Hennevogl 1996). An effect whose every level has one rating is left out. NaN
    where some effect's spread has no end, as with few ratings."""
    codes = np.unique(values, return_inverse=True)[1]
    used = [one for one in effects if len(set(one)) < len(one)]
    columns, group = [], []
    for number, one in enumerate(used):
        for level in dict.fromkeys(one):
            columns.append([value == level for value in one])
            group.append(number)
    z, where = np.array(columns, dtype=float).reshape(-1, len(codes)).T, np.array(group, dtype=int)
    cuts, slopes = int(codes.max()), fixed.shape[1]
    mode = np.zeros(z.shape[1])

    def loss(at: Floats) -> float:
        nonlocal mode
        steps = np.concatenate([at[:1], np.exp(np.clip(at[1:cuts], -12, 12))])
        theta = np.concatenate([[-np.inf], np.cumsum(steps), [np.inf]])
        sd = np.exp(np.clip(at[cuts + slopes :], -7, 5))[where]
        base = fixed @ at[cuts : cuts + slopes]

        def parts(u: Floats) -> tuple[float, Floats, Floats]:
            eta = base + z @ (sd * u)
            upper, lower = special.expit(theta[codes + 1] - eta), special.expit(theta[codes] - eta)
            height = float(-np.log(np.maximum(upper - lower, 1e-300)).sum() + 0.5 * u @ u)
            bend = upper * (1 - upper) + lower * (1 - lower)
            return height, sd * (z.T @ (1 - upper - lower)) + u, bend

        u = mode
        height, slope, bend = parts(u)
        for _ in range(60):
            curve = (sd[:, None] * (z.T * bend)) @ (z * sd) + np.eye(len(u))
            move = np.linalg.solve(curve, slope)
            share = 1.0
            while True:
                new = parts(u - share * move)
                if new[0] <= height + 1e-12 or share < 1e-6:
                    break
                share /= 2
            u, (height, slope, bend) = u - share * move, new
            if np.abs(move).max(initial=0.0) < 1e-9:
                break
        mode = u
        curve = (sd[:, None] * (z.T * bend)) @ (z * sd) + np.eye(len(u))
        return float(height + 0.5 * np.linalg.slogdet(curve)[1])

    shares = np.cumsum(np.bincount(codes) / len(codes))[:-1]
    cut = np.log(shares / (1 - shares))

    def lowest(spread: float) -> Any:
        """From one guess of the random effects' spread; begun again where it stopped, for slopes are estimated."""
        wide = cut * max(1.0, np.exp(spread))
        at = np.concatenate(
            [wide[:1], np.log(np.maximum(np.diff(wide), 1e-3)), np.zeros(slopes), np.full(len(used), spread)]
        )
        best = np.inf
        for _ in range(4):
            fit = optimize.minimize(loss, at, method="L-BFGS-B", options={"maxiter": 300, "ftol": 1e-12, "gtol": 1e-6})
            at, gained, best = fit.x, best - fit.fun, fit.fun
            if gained < 1e-8:
                break
        return fit

    fit = min(map(lowest, SPREADS), key=lambda one: float(one.fun))
    if np.exp(fit.x[cuts + slopes :]).max(initial=0.0) > WIDEST:  # ever wider, it explains the ratings ever better
        return np.full(slopes, math.nan)
    return np.asarray(fit.x[cuts : cuts + slopes])


if __name__ == "__main__":
    raise SystemExit(main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent))
