"""The tables of a study file, each read and checked by itself: consent, tutorial, checks, places, pay, panel, plan."""

import re
from typing import Literal, cast

from eqlab.core.studied import StudyForm
from eqlab.core.study import (
    ENDINGS,
    EXCLUSIONS,
    AnalysisPlan,
    Checks,
    Consent,
    Exclusion,
    Panel,
    Pay,
    Places,
    QuizQuestion,
    Tutorial,
)
from eqlab.core.toml_file import Section
from eqlab.study.file_own import gold
from eqlab.study.panels import PANELS

CHECKS = ("attention", "least_seconds", "instruction", "repeat", "gold")


def consent(table: Section) -> Consent:
    return Consent(table.text("version", "1"), table.text("text"), table.text("contact"), table.text("keep_until"))


def tutorial(table: Section) -> Tutorial:
    questions = []
    for one in table.tables("question", ("text", "options", "answer")):
        text, options = one.text("text"), one.texts("options")
        if not one.has("options"):
            one.wrong("options", 'is missing (write options = ["…", "…"])')
        elif len(options) < 2 and isinstance(one.values["options"], list):
            one.wrong("options", "has too few answers (write two or more different ones)")
        if not one.has("answer"):
            one.wrong("answer", "is missing (write the number of the right option, from 1)")
        answer = one.whole("answer", 1, 1, max(len(options), 2))
        questions.append(QuizQuestion(text, options, answer))
    text = table.text("text", "", may_be_empty=True)
    if text and not questions and not table.has("question"):
        table.wrong("text", "would never be shown (add a [[tutorial.question]], or put the text into the consent)")
    return Tutorial(text, tuple(questions), table.whole("tries", 2, 1, 10))


def checks(table: Section, instruction: str) -> Checks:
    """`instruction`: what an instructed item says unless the file says it."""
    default = Checks()
    instruction = table.text("instruction", instruction)
    if "{answer}" not in instruction and isinstance(table.values.get("instruction"), str):
        table.wrong("instruction", "does not say what to choose (write {answer} where the answer goes)")
    return Checks(
        table.whole("attention", default.attention, 0, 20),
        table.number("least_seconds", default.least_seconds, 0, 600),
        instruction,
        table.whole("repeat", 0, 0, 20),
        gold(table),
    )


def places(top: Section, form: StudyForm) -> Places:
    table = top.table("places", ("batch_size", "people_per_batch", "lease_minutes", "order", "block"))
    default = Places()
    if not form.batch_size and table.has("batch_size"):
        table.wrong("batch_size", f"is not for {form.kind} studies (delete the line; the kind says what a person gets)")
    order = cast(Literal["even", "blocks"], table.choice("order", ("even", "blocks"), "even"))
    if order == "even" and table.has("block"):
        table.wrong("block", 'is for permuted blocks (write order = "blocks", or delete the line)')
    return Places(
        table.whole("batch_size", default.batch_size, 1, 200),
        table.whole("people_per_batch", default.people_per_batch, 1, 10_000),
        table.number("lease_minutes", default.lease_minutes, 1, 10_080),
        order,
        table.whole("block", 1, 1, 20),
    )


def pay(table: Section) -> Pay:
    default = Pay()
    return Pay(
        table.text("currency", default.currency),
        table.number("per_hour", default.per_hour, 0, 10_000),
        table.number("reward", default.reward, 0, 10_000),
        table.number("fee", default.fee, 0, 2),
    )


PANEL_KEYS = ("name", "person", "session", "study", "complete_url", "codes", "id_pattern", "signed")


def panel(table: Section) -> Panel:
    name = table.text("name", "none")
    known = PANELS.get(name.casefold(), Panel(name))
    codes = table.table("codes", ENDINGS)
    given = {ending: codes.text(ending) for ending in ENDINGS if codes.has(ending)}
    panel = Panel(
        name,
        table.text("person", known.person, may_be_empty=True),
        table.text("session", known.session, may_be_empty=True),
        table.text("study", known.study, may_be_empty=True),
        table.text("complete_url", known.complete_url, may_be_empty=True),
        tuple(given.items()),
        _pattern(table, known.id_pattern),
        bool(table.flag("signed")),
    )
    for key in ("person", "session", "study"):
        if not re.fullmatch(r"[A-Za-z0-9_.-]{0,60}", getattr(panel, key)):
            table.wrong(key, "is the name of a parameter in the address (write letters, digits, _ . -)")
    if panel.complete_url and (
        not re.match(r"https?://\S+$", panel.complete_url) or "{code}" not in panel.complete_url
    ):
        table.wrong("complete_url", "is not an address with a place for the code (write https://…{code})")
    if name.casefold() not in PANELS and not panel.person:
        table.wrong("person", f"is missing (panel '{name[:40]}' is not known: name the parameter with a person's id)")
    if panel.person and "complete" not in given:
        table.wrong("codes", 'lacks the code of those who complete (write complete = "…" under [panel.codes])')
    for ending, code in given.items():
        if code and not re.fullmatch(r"[A-Za-z0-9_-]{1,64}", code):
            codes.wrong(ending, "is not a completion code (write letters, digits, _ and - only)")
    return panel


def _pattern(table: Section, known: str) -> str:
    pattern = table.text("id_pattern", known, may_be_empty=True)
    try:
        re.compile(pattern)
    except re.error as error:
        table.wrong("id_pattern", f"is not a regular expression ({error})")
    return pattern


ONE_SCALE = (
    "is no rule for pages with one scale: whose replies are all good gets one value from a careful rater, so the rule "
    "leaves out people of the better arms (delete it, or give the study several [[scale]])"
)


def analysis(table: Section, arms: tuple[tuple[str, str], ...], *, one_scale: bool = False) -> AnalysisPlan:
    default = AnalysisPlan()
    exclude = table.texts("exclude", default.exclude)
    for one in exclude:
        if one not in EXCLUSIONS:
            table.wrong_element("exclude", one, f"is not a reason to exclude (there are: {', '.join(EXCLUSIONS)})")
        elif one == "straight_lining" and one_scale:
            table.wrong_element("exclude", one, ONE_SCALE)
    reference = table.text("reference", "", may_be_empty=True)
    names = [name for name, _ in arms]
    if reference and names and reference not in names:
        table.wrong("reference", f"'{reference[:40]}' is not one of the arms (there are: {', '.join(names)[:200]})")
    alpha = table.number("alpha", default.alpha, 0.0001, 0.5)
    return AnalysisPlan(
        cast(tuple[Exclusion, ...], exclude), reference, alpha, table.text("note", "", may_be_empty=True)
    )
