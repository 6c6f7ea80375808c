"""A study file read whole: TOML in, a Study out, or every problem at once, each as FILE:LINE: key: what is wrong."""

import re

from eqlab.benchmarks.options import read_options
from eqlab.benchmarks.registry import load
from eqlab.core.errors import UsageError
from eqlab.core.runs import OWN
from eqlab.core.studied import StudyForm
from eqlab.core.study import Study
from eqlab.core.toml_file import Section, bad_text, read_toml
from eqlab.instruments.catalogue import INSTRUMENTS
from eqlab.study import file_own as own
from eqlab.study import file_tables as tables
from eqlab.study import file_talk
from eqlab.study.kinds.registry import find_kind, kind_names
from eqlab.study.texts import languages
from eqlab.study.texts import load as load_texts

_TABLES = (
    *("consent", "arms", "options", "tutorial", "checks", "places", "pay", "panel", "analysis", "debrief"),
    *("scale", "design", "quota", "before", "after", "talk"),
)
_TOP = (
    *("id", "kind", "title", "language", "seed", "items", "limit", "arms_by", "instruments", "instruments_text"),
    "not_after",
)
_SLUG = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_LONGEST_ID = 40
NO_CHOICE = "factor"
"""`arms_by` of kinds that leave nothing to choose."""


def read_study(text: str, name: str = "study.toml", words: str = "") -> Study:
    """The study that a file describes. Raises DataError with all that is wrong with it. `words`: the language of words
    inside its trials, where it is not the study's."""
    return read_toml(text, name, (*_TOP, *_TABLES), lambda top: _study(top, words))


ITEM_SETS = ("open", "published")


def _items(top: Section) -> str:
    """`open`, `published`, or a file of one's own, beside the study file."""
    said = top.text("items", "open")
    if said.lower().endswith((".toml", ".csv", ".jsonl")):
        return said
    return top.choice("items", ITEM_SETS, "open")


def _study(top: Section, words: str) -> Study:
    form = _form(top)
    language = top.choice("language", languages(), "en")
    said = load_texts(words or language)
    items = _items(top)
    arms = _arms(top, form)
    before = own.questions(top, "before")
    scales = own.scales(top, form.own_scales)
    return Study(
        id=_id(top),
        kind=form.kind,
        title=top.text("title"),
        language=language,
        seed=top.whole("seed", 0, 0, 2**31 - 1),
        consent=tables.consent(top.table("consent", ("version", "text", "contact", "keep_until"))),
        debrief=top.table("debrief", ("text",)).text("text"),
        arms=arms,
        items=items,
        options=_options(top, form, items if items in ITEM_SETS else OWN),
        limit=top.whole("limit", 1, 1, 100_000) if top.has("limit") else None,
        instruments=_instruments(top),
        instruments_text=top.text("instruments_text", said("instruments_text")),
        arms_by=_arms_by(top, form),
        tutorial=tables.tutorial(top.table("tutorial", ("text", "tries", "question"))),
        checks=tables.checks(top.table("checks", tables.CHECKS), said.words["instruction"]),
        places=tables.places(top, form),
        pay=tables.pay(top.table("pay", ("currency", "per_hour", "reward", "fee"))),
        panel=tables.panel(top.table("panel", tables.PANEL_KEYS)),
        analysis=tables.analysis(
            top.table("analysis", ("exclude", "reference", "alpha", "note")),
            arms,
            one_scale=form.one_scale and len(scales) < 2,
        ),
        not_after=_not_after(top),
        scales=scales,
        design=own.arrangement(top, form.several_arms, len(arms)),
        quota=own.quota(top, before),
        before=before,
        after=own.questions(top, "after"),
        talk=file_talk.talk(top, form.talks),
        words=words,
    )


def _form(top: Section) -> StudyForm:
    """What the file's kind may say; the first kind's where there is none of that name."""
    return find_kind(top.choice("kind", kind_names())).form()


def _id(top: Section) -> str:
    value = top.text("id")
    if value and (not _SLUG.fullmatch(value) or len(value) > _LONGEST_ID):
        top.wrong("id", "is part of the address (write lower-case letters, digits and single hyphens, 40 at most)")
    return value


def _arms(top: Section, form: StudyForm) -> tuple[tuple[str, str], ...]:
    table = top.table("arms", None)
    if form.arms == "items":
        if top.has("arms"):
            top.wrong("arms", f"are not named here (delete the table; {form.kind} takes them from the items)")
        return ()
    found: dict[str, str] = {}
    for name in table.values:
        source = table.text(name)
        why = bad_text(name) or ("is longer than 60 characters (shorten it)" if len(name) > 60 else "")
        if why:
            table.wrong(name, f"as the name of an arm {why}")
        elif name.strip() in found:
            table.wrong(name, "is there twice but for blanks (give the arm another name)")
        else:
            found[name.strip()] = source
    if not table.values and isinstance(top.values.get("arms", {}), dict):
        source = "a model's spec" if form.arms == "models" else "a run, a file, author"
        top.wrong("arms", f'is missing (write a line [arms] and below it NAME = "SOURCE": {source})')
    return tuple(found.items())


def _arms_by(top: Section, form: StudyForm) -> str:
    if not form.arms_by:
        if top.has("arms_by"):
            top.wrong("arms_by", f"is not for {form.kind} studies (delete the line)")
        return NO_CHOICE
    return top.choice("arms_by", form.arms_by, form.arms_by[0])


def _options(top: Section, form: StudyForm, items: str) -> tuple[tuple[str, str], ...]:
    """Options of the kind and of its benchmark, as text; each is tried by itself, so that each wrong one is named."""
    if form.arms == "replies" and top.has("items"):
        top.wrong("items", f"is not for {form.kind} studies (delete it; the arms' sources say which items)")
    if form.arms != "items" and not form.own_options:
        if top.has("options"):
            says = "[arms] and [talk] say it" if form.talks else "the arms' sources say which items"
            top.wrong("options", f"is not for {form.kind} studies (delete it; {says})")
        return ()
    table = top.table("options", None)
    mine = {option.name: option for option in form.own_options}
    found = {name: value for name in table.values if (value := _option(table, name, form)) is not None}
    for name, value in found.items():
        try:
            if name in mine:
                read_options(form.kind, form.own_options, {name: value})
            elif form.arms == "replies":
                raise UsageError(f"{form.kind} has no option '{name}'.", f"It has: {', '.join(mine)}.")
            else:
                load(form.benchmark).options("published" if items == "published" else "open", {name: value})
        except UsageError as error:
            table.wrong(name, f"{error.message} ({error.hint or 'see eqlab benchmarks'})")
            return ()
    if form.arms == "items":
        try:
            load(form.benchmark).options(items, {name: value for name, value in found.items() if name not in mine})
        except UsageError as error:
            top.wrong("options", f"{error.message} ({error.hint})")
    return tuple(sorted(found.items()))


def _option(table: Section, name: str, form: StudyForm) -> str | None:
    value = table.values[name]
    if isinstance(value, bool):
        value = "yes" if value else "no"
    if isinstance(value, int) and abs(value) < 10**9:
        value = str(value)
    if not isinstance(value, str):
        table.wrong(name, "is not a value that an option can have (write text, a whole number, true or false)")
        return None
    for option, wrong, why in form.not_for_people:
        if (name, value) == (option, wrong):
            table.wrong(name, why)
            return None
    return value


def _instruments(top: Section) -> tuple[str, ...]:
    found = []
    by_name = {key.casefold(): key for key in INSTRUMENTS}
    for key in top.texts("instruments"):
        if key.casefold() not in by_name:
            top.wrong_element("instruments", key, f"is not an instrument (there are: {', '.join(INSTRUMENTS)})")
        else:
            found.append(by_name[key.casefold()])
    return tuple(found)


def _not_after(top: Section) -> tuple[str, ...]:
    found = top.texts("not_after")
    for one in found:
        if not _SLUG.fullmatch(one):
            top.wrong_element("not_after", one, "is not a study's id (write the id as in its file)")
        elif one == top.values.get("id"):
            top.wrong_element("not_after", one, "is this study itself (delete it; nobody takes part twice anyway)")
    return found
