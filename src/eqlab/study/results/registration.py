"""The locked plan as a registry of preregistrations asks for it: eight questions that common short forms share, with
answers made of the study file and the lock; as text to paste and as JSON to upload."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from eqlab.benchmarks.registry import load
from eqlab.core.design import Design
from eqlab.core.forms import Field, Form, Scale
from eqlab.core.grouping import grouped
from eqlab.core.plural import many
from eqlab.core.studied import Planning
from eqlab.core.values import dataclass
from eqlab.data.files import write_whole
from eqlab.instruments.catalogue import instrument
from eqlab.store.study.lock import PlanStanding, moment
from eqlab.study.kinds import form_of, kind_of
from eqlab.study.overview import power_of
from eqlab.study.results.analysis import OUTSIDE, RULES

FORMAT = "eqlab study registration 1"


@dataclass(frozen=True, slots=True)
class Question:
    key: str
    question: str
    answer: str


def questions(design: Design, stands: PlanStanding) -> tuple[Question, ...]:
    """Of a study whose plan is locked."""
    return (
        Question("data", "Have any data been collected for this study already?", _data(stands)),
        Question("hypotheses", "What is the question, and what do you expect?", _hypotheses(design)),
        Question("measures", "What is measured, and how?", _measures(design)),
        Question("conditions", "Which conditions are there, and how do people get into them?", _conditions(design)),
        Question("analyses", "Which analyses answer the question?", _analyses(design, stands)),
        Question("exclusions", "Whose answers are left out, by which rules?", _exclusions(design, stands)),
        Question("sample", "How many people, and what ends the collection?", _sample(design)),
        Question("other", "Anything else?", _other(design, stands)),
    )


def write_registration(stem: Path, design: Design, stands: PlanStanding) -> list[Path]:
    """STEM.registration.txt and .json, beside the lock file."""
    asked, lock = questions(design, stands), stands.lock
    content: dict[str, Any] = {
        "format": FORMAT,
        "study": design.study.id,
        "title": design.study.title,
        "locked_at": lock and lock.at,
        "lock_sha256": lock and lock.sha256,
        "answers": {question.key: {"question": question.question, "answer": question.answer} for question in asked},
    }
    text = f"{design.study.title}\n\n" + "\n".join(
        f"{number}. {question.question}\n\n{question.answer}\n" for number, question in enumerate(asked, start=1)
    )
    paths = [stem.with_name(f"{stem.name}.registration.{ending}") for ending in ("txt", "json")]
    write_whole(paths[0], text)
    write_whole(paths[1], json.dumps(content, ensure_ascii=False, indent=1) + "\n")
    return paths


def _data(stands: PlanStanding) -> str:
    if stands.first_answer_at is None and stands.confirmatory:
        return "No. The plan was locked before anybody had answered a trial."
    if stands.first_answer_at is None:
        return f"Yes, although none are left: {stands.reason}."
    return f"The first trial was answered on {moment(stands.first_answer_at)}: {stands.reason}."


def _hypotheses(design: Design) -> str:
    return design.study.analysis.note.strip() or "(The study file has no note under [analysis]: write it here.)"


def _measures(design: Design) -> str:
    """Every question that the trials ask. Of items that word their own only the kind is told: a registry is public, and
    their words may not be ours to pass on."""
    title, headline, benchmark = form_of(design).title, form_of(design).headline, load(form_of(design).benchmark)
    lines, asks = [f"{title[:1].upper()}{title[1:]}."], getattr(benchmark, "asks", "")
    lines += [f"The headline is {headline}."] if headline else []
    trials = [trial for batch in design.batches for trial in batch.trials]
    used = [instrument(key) for key in sorted({str(trial.key.get("instrument", "")) for trial in trials} - {""})]
    lines += [f"Questionnaire: {one.name} ({one.key})." for one in used]
    for alike in grouped((_shape(trial.form), trial) for trial in trials).values():
        forms = grouped((_words(trial.form), trial.form) for trial in alike)
        items = {trial.items for trial in alike}
        same = 2 * len(forms) <= len(items) or (design.talks and len(forms) == 1)
        if same and all(one.ships for one in used):  # most questionnaires are their authors'
            lines += [f"- {_asked(field, own)}" for own in forms.values() for field in own[0].fields]
        else:
            lines += [asks] if asks and asks not in lines else []
            lines += [f"- {line}" for line in _in_general([trial.form for trial in alike])]
    if design.study.instruments:
        lines.append(f"Questionnaires before that: {', '.join(design.study.instruments)}.")
    return "\n".join(dict.fromkeys(lines))


def _shape(form: Form) -> tuple[object, ...]:
    return form.total, *((type(one), *((one.low, one.high) if isinstance(one, Scale) else ())) for one in form.fields)


def _words(form: Form) -> frozenset[tuple[object, ...]]:
    """What a form says, in whatever order."""
    return frozenset(
        (one.text, frozenset(dict(one.anchors).values()) if isinstance(one, Scale) else ()) for one in form.fields
    )


def _asked(field: Field, forms: Sequence[Form]) -> str:
    if not isinstance(field, Scale):
        return field.text
    same = {one.anchors for form in forms for one in form.scales if one.text == field.text}
    if len(same) > 1:
        return f"{field.text} (one of, in a drawn order: {', '.join(sorted(dict(field.anchors).values()))})"
    turned = "; reverse-keyed: turned round before it is analysed" if field.reverse else ""
    return f"{field.text} ({field.low} to {field.high}{_anchors(field)}{turned})"


def _in_general(forms: Sequence[Form]) -> Iterator[str]:
    """One line for all fields of a kind; with its key where that is the same on every form."""
    kinds: list[str] = []
    for place, field in enumerate(forms[0].fields):
        keys = {form.fields[place].key for form in forms}
        name = f"{field.key}: " if len(keys) == 1 and len(forms) > 1 else ""
        if not isinstance(field, Scale):
            kinds.append(f"{name}an answer in words")
        elif len(field.anchors) == field.high - field.low + 1:
            kinds.append(f"{name}one of {many(len(field.anchors), 'answer')}")
        else:
            kinds.append(f"{name}a number from {field.low} to {field.high}")
    points = "" if forms[0].total is None else f", {forms[0].total} in all"
    for kind, count in Counter(kinds).items():
        times = f"{count} times " if count > 1 else ""
        yield f"{times}{kind}{points}; the words are each item's own"


def _anchors(scale: Scale) -> str:
    return "".join(f"; {value} = {words}" for value, words in scale.anchors)


def _conditions(design: Design) -> str:
    sources, grouped = dict(design.study.arms), not {*design.arms}.issubset(dict(design.study.arms) or design.arms)
    lines = [f"- {arm}{_from(sources, arm)}: {many(design.sizes[arm], 'place')}" for arm in design.arms]
    if grouped:  # somebody sees several arms
        arms = [f"- {arm}{_from(sources, arm)}" for arm in sources]
        lines = [*arms, "Groups of people, by the arms that they see:", *lines]
    most = f"to the {'group' if grouped else 'arm'} with the largest share of open places"
    how = "in an order drawn before the study begins" if design.in_order else most
    return "\n".join([*lines, f"The server assigns people {how}; they do not know the arms."])


def _from(sources: Mapping[str, str], arm: str) -> str:
    """Without the address of a server of one's own: a registry is public."""
    return f" (from {sources[arm].partition('@http')[0]})" if arm in sources else ""


def _analyses(design: Design, stands: PlanStanding) -> str:
    lock = stands.lock
    lines = [f"{_contrasts(design)} Everything else is exploratory."]
    if lock is not None:
        libraries = ", ".join(f"{name} {version}" for name, version in lock.plan.get("libraries", {}).items())
        lines.append(
            f"`eqlab study analyze` of eqlab {lock.version} ({libraries}) does it; sha256 of the analysing source: "
            f"{lock.plan.get('code_sha256', '')}."
        )
    return "\n".join(lines)


def _contrasts(design: Design) -> str:
    """As the kind itself says that it will make them."""
    alpha, kind = design.study.analysis.alpha, kind_of(design.study)
    headline = "The headline with its 95 % interval."
    if not isinstance(kind, Planning):
        several = f" Contrasts of arms as kind '{design.study.kind}' plans them, at alpha = {alpha:g}."
        return headline + (several if len(design.arms) > 1 else "")
    planned = kind.planned(design)
    if planned is None:
        return headline
    count = planned.scales * len(planned.arms)
    arms = ", ".join(f"'{arm}'" for arm in planned.arms)
    on = f" on each of {planned.scales} scales" if planned.scales > 1 else ""
    holm = f", after Holm's correction over all {count}" if count > 1 else ""
    each = ", each" if len(planned.arms) > 1 else ""
    test = f"{planned.test}; two-sided at alpha = {alpha:g}{holm}"
    return f"{arms}{each} against '{planned.reference}'{on}: {test}. {headline}"


def _exclusions(design: Design, stands: PlanStanding) -> str:
    rules = (*design.study.analysis.exclude, *((OUTSIDE,) if stands.in_places else ()))
    return "\n".join(f"- {rule}: {RULES[rule]}" for rule in rules) or "Nobody's."


def _sample(design: Design) -> str:
    places = sum(design.sizes.values())
    return (
        f"{many(places, 'place')}. The collection ends when they are filled; nobody looks at results before, "
        "and every look is "
        f"on record. {power_of(design)}"
    )


def _other(design: Design, stands: PlanStanding) -> str:
    lock, checks = stands.lock.sha256 if stands.lock else "", design.study.checks
    return (
        f"sha256 of the lock: {lock}; of all pages: {design.sha256}; seed {design.study.seed}.\n"
        f"Instructed checks for each person: {checks.attention}; pages under {checks.least_seconds:g} s count as fast."
    )
