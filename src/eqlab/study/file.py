"""A study file read whole: TOML in, a Study out, or every problem at once, each as FILE:LINE: key: what is wrong."""

import re
from typing import Any, Literal, cast

from eqlab.benchmarks.options import read_options
from eqlab.benchmarks.registry import load
from eqlab.core.errors import UsageError
from eqlab.core.forms import Scale
from eqlab.core.runs import OWN
from eqlab.core.studied import StudyForm, Worded
from eqlab.core.study import (
    ASKS,
    ENDINGS,
    EXCLUSIONS,
    PLACEHOLDER,
    AnalysisPlan,
    Arrangement,
    Ask,
    Checks,
    Consent,
    Exclusion,
    Gold,
    OwnQuestion,
    Panel,
    Pay,
    Places,
    QuizQuestion,
    Quota,
    Study,
    TalkTerms,
    Tutorial,
)
from eqlab.core.toml_file import Section, bad_text, check_different, read_key, read_scales, read_toml
from eqlab.instruments.catalogue import INSTRUMENTS
from eqlab.study.kinds import find_kind, kind_names
from eqlab.study.panels import PANELS
from eqlab.study.texts import Texts, languages, own_folder
from eqlab.study.texts import load as load_texts

_TABLES = (
    *("consent", "arms", "options", "tutorial", "checks", "places", "pay", "panel", "analysis", "debrief"),
    *("scale", "design", "quota", "before", "after", "talk"),
)
_TOP = (
    *("id", "kind", "title", "language", "seed", "items", "limit", "arms_by", "instruments", "instruments_text"),
    "not_after",
)
ITEM_SETS = ("open", "published")
_SLUG = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_TAKEN = ("researcher", "login", "logout")
"""A study of this name would share a cookie or an address with the researcher's pages."""
_LONGEST_ID = 40
NO_CHOICE = "factor"
"""`arms_by` of kinds that leave nothing to choose."""


def read_study(text: str, name: str = "study.toml", words: str = "") -> Study:
    """The study that a file describes. Raises DataError with all that is wrong with it. `words`: the language of words
    inside its trials, where it is not the study's."""
    return read_toml(text, name, (*_TOP, *_TABLES), lambda top: _study(top, words))


def _study(top: Section, words: str) -> Study:
    form = _form(top)
    language = top.choice("language", languages(), "en")
    if str(top.values.get("language", "en")) not in languages():
        top.wrong("language", f"has no file of words (files of your own are looked for in {own_folder()})")
    texts = load_texts(words or language)
    items = _items(top)
    arms = _arms(top, form)
    before = _questions(top, "before")
    scales = _scales(top, form.own_scales)
    return Study(
        id=_id(top),
        kind=form.kind,
        title=top.text("title"),
        language=language,
        seed=top.whole("seed", 0, 0, 2**31 - 1),
        consent=_consent(top.table("consent", ("version", "text", "contact", "keep_until"))),
        debrief=top.table("debrief", ("text",)).text("text"),
        arms=arms,
        items=items,
        options=_options(top, form, items if items in ITEM_SETS else OWN),
        limit=top.whole("limit", 1, 1, 100_000) if top.has("limit") else None,
        instruments=_instruments(top),
        instruments_text=top.text("instruments_text", texts("instruments_text")),
        arms_by=_arms_by(top, form),
        tutorial=_tutorial(top.table("tutorial", ("text", "tries", "question"))),
        checks=_checks(
            top.table("checks", ("attention", "least_seconds", "instruction", "repeat", "gold")),
            texts,
            default_instruction(form.kind, texts),
        ),
        places=_places(top, form),
        pay=_pay(top.table("pay", ("currency", "per_hour", "reward", "fee"))),
        panel=_panel(
            top.table("panel", ("name", "person", "session", "study", "complete_url", "codes", "id_pattern", "signed"))
        ),
        analysis=_analysis(
            top.table("analysis", ("exclude", "reference", "alpha", "note")),
            arms,
            one_scale=form.one_scale and len(scales) < 2,
        ),
        not_after=_not_after(top),
        scales=scales,
        design=_arrangement(top, form.several_arms, len(arms)),
        quota=_quota(top, before),
        before=before,
        after=_questions(top, "after"),
        talk=_talk(top, form.talks),
        words=words,
    )


def _form(top: Section) -> StudyForm:
    """What the file's kind may say; the first kind's where there is none of that name."""
    return find_kind(top.choice("kind", kind_names())).form()


def _id(top: Section) -> str:
    value = top.text("id")
    if value and (not _SLUG.fullmatch(value) or len(value) > _LONGEST_ID):
        top.wrong("id", "is part of the address (write lower-case letters, digits and single hyphens, 40 at most)")
    if value in _TAKEN:
        top.wrong("id", f"'{value}' is a page of the researcher's: choose another")
    return value


def _items(top: Section) -> str:
    """`open`, `published`, or a file of one's own, beside the study file."""
    items = top.text("items", "open")
    if items.lower().endswith((".toml", ".csv", ".jsonl")):
        return items
    return top.choice("items", ITEM_SETS, "open")


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


# -- tables that every kind has --------------------------------------------------------------------------------------


def _consent(table: Section) -> Consent:
    return Consent(table.text("version", "1"), table.text("text"), table.text("contact"), table.text("keep_until"))


def _tutorial(table: Section) -> Tutorial:
    questions = []
    for section in table.tables("question", ("text", "options", "answer")):
        text, options = section.text("text"), section.texts("options")
        if not section.has("options"):
            section.wrong("options", 'is missing (write options = ["…", "…"])')
        elif len(options) < 2 and isinstance(section.values["options"], list):
            section.wrong("options", "has too few answers (write two or more different ones)")
        if not section.has("answer"):
            section.wrong("answer", "is missing (write the number of the right option, from 1)")
        answer = section.whole("answer", 1, 1, max(len(options), 2))
        questions.append(QuizQuestion(text, options, answer))
    text = table.text("text", "", may_be_empty=True)
    if text and not questions and not table.has("question"):
        table.wrong("text", "would never be shown (add a [[tutorial.question]], or put the text into the consent)")
    return Tutorial(text, tuple(questions), table.whole("tries", 2, 1, 10))


def default_instruction(kind: str, texts: Texts) -> str:
    """What an instructed item says unless the file says it: people choose an answer, if the kind has no other words."""
    found = find_kind(kind)
    own = {**found.words, **texts.kind(kind)} if isinstance(found, Worded) else {}
    return own.get("instruction", texts.words["instruction"])


def _checks(table: Section, texts: Texts, said: str) -> Checks:
    """`said`: what an instructed item says unless the file says it."""
    default = Checks()
    instruction = table.text("instruction", said)
    if "{answer}" not in instruction and isinstance(table.values.get("instruction"), str):
        table.wrong("instruction", "does not say what to choose (write {answer} where the answer goes)")
    return Checks(
        table.whole("attention", default.attention, 0, 20),
        table.number("least_seconds", default.least_seconds, 0, 600),
        instruction,
        table.whole("repeat", 0, 0, 20),
        _gold(table),
        texts("check_question"),
        tuple(word.strip() for word in texts("check_choices").split(",")),
    )


def _places(top: Section, form: StudyForm) -> Places:
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


def _pay(table: Section) -> Pay:
    default = Pay()
    return Pay(
        table.text("currency", default.currency),
        table.number("per_hour", default.per_hour, 0, 10_000),
        table.number("reward", default.reward, 0, 10_000),
        table.number("fee", default.fee, 0, 2),
    )


def _panel(table: Section) -> Panel:
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


_ONE_SCALE = (
    "is no rule for pages with one scale: whose replies are all good gets one value from a careful rater, so the rule "
    "leaves out people of the better arms (delete it, or give the study several [[scale]])"
)


def _analysis(table: Section, arms: tuple[tuple[str, str], ...], *, one_scale: bool = False) -> AnalysisPlan:
    default = AnalysisPlan()
    exclude = table.texts("exclude", default.exclude)
    for one in exclude:
        if one not in EXCLUSIONS:
            table.wrong_element("exclude", one, f"is not a reason to exclude (there are: {', '.join(EXCLUSIONS)})")
        elif one == "straight_lining" and one_scale:
            table.wrong_element("exclude", one, _ONE_SCALE)
    reference = table.text("reference", "", may_be_empty=True)
    names = [name for name, _ in arms]
    if reference and names and reference not in names:
        table.wrong("reference", f"'{reference[:40]}' is not one of the arms (there are: {', '.join(names)[:200]})")
    alpha = table.number("alpha", default.alpha, 0.0001, 0.5)
    return AnalysisPlan(
        cast(tuple[Exclusion, ...], exclude), reference, alpha, table.text("note", "", may_be_empty=True)
    )


# -- the researcher's own: scales, questions, gold items, how arms are given to people, quotas -----------------------

_QUESTION = ("key", "ask", "text", "options", "low", "high", "optional", "prefer_not_to_say")


def _scales(top: Section, allowed: bool) -> tuple[Scale, ...]:
    if top.has("scale") and not allowed:
        top.wrong("scale", "is not for this kind of study (delete it; the kind has its own form)")
        return ()
    return read_scales(top)


def _questions(top: Section, name: Literal["before", "after"]) -> tuple[OwnQuestion, ...]:
    found = []
    for section in top.tables(name, _QUESTION):
        ask = cast(Ask, section.choice("ask", ASKS))
        options = section.texts("options")
        closed = ask in ("one", "several")
        if closed and len(options) < 2:
            section.wrong("options", 'are too few (write options = ["…", "…"], two or more)')
        if not closed and section.has("options"):
            section.wrong("options", f"are not for ask = {ask!r} (delete the line)".replace("'", '"'))
        if ask != "number" and (section.has("low") or section.has("high")):
            section.wrong("low" if section.has("low") else "high", "is for numbers (delete the line)")
        if ask == "number" and not (section.has("low") and section.has("high")):
            section.wrong("high", "and low are missing (write the range, such as low = 18 and high = 110)")
        if ask == "one" and section.has("optional"):
            section.wrong("optional", "is not for one answer of several (write prefer_not_to_say = true)")
        elif section.flag("optional") and section.flag("prefer_not_to_say"):
            section.wrong(
                "optional", "stands beside prefer_not_to_say (write one of the two: the data could not tell them)"
            )
        low = section.number("low", 0, -1e9, 1e9)
        high = section.number("high", max(low, 0.0), low, 1e9)
        found.append(
            OwnQuestion(
                read_key(section),
                ask,
                section.text("text"),
                options,
                low if ask == "number" else 0.0,
                high if ask == "number" else 0.0,
                bool(section.flag("optional")),
                bool(section.flag("prefer_not_to_say")),
            )
        )
    check_different(top, name, [question.key for question in found])
    return tuple(found)


def _gold(table: Section) -> tuple[Gold, ...]:
    found = []
    for section in table.tables("gold", ("text", "accept", "scale")):
        if not section.has("accept"):
            section.wrong("accept", "is missing (write the values that are right, such as accept = [1])")
        found.append(Gold(section.text("text"), section.wholes("accept", (1,), -100, 100), section.text("scale", "")))
    return tuple(found)


def _arrangement(top: Section, allowed: bool, arms: int) -> Arrangement:
    if top.has("design") and not allowed:
        top.wrong("design", "is not for this kind of study (delete it; a person gets one arm)")
        return Arrangement()
    table = top.table("design", ("arms_per_person", "blocked"))
    each = arms if table.values.get("arms_per_person") == "all" else table.whole("arms_per_person", 1, 1, max(arms, 1))
    blocked = bool(table.flag("blocked"))
    if blocked and each < 2:
        table.wrong("blocked", "makes sense with several arms a person only (set arms_per_person)")
    return Arrangement(max(each, 1), blocked)


def _quota(top: Section, before: tuple[OwnQuestion, ...]) -> Quota:
    if not top.has("quota"):
        return Quota()
    table = top.table("quota", ("question", "places"))
    single = {own_question.key: own_question for own_question in before if own_question.ask == "one"}
    name = table.text("question")
    question = single.get(name)
    if name and question is None:
        known = ", ".join(single) or "none"
        table.wrong("question", f"'{name[:40]}' is not a question of [[before]] with one answer (there are: {known})")
    places = table.table("places", None)
    found = []
    for option in places.values:
        if question is not None and option not in question.options:
            places.wrong(option, f"is not an answer to it (there are: {', '.join(question.options)[:200]})")
        found.append((option, places.whole(option, 1, 1, 100_000)))
    if not found:
        table.wrong("places", 'are missing (write places = { "Woman" = 30, "Man" = 30 })')
    return Quota(name, tuple(found))


# -- [talk] ----------------------------------------------------------------------------------------------------------

_TALK = (
    *("person", "about", "opening", "talks", "turns", "characters", "why", "help", "machine", "told", "stopped"),
    *("if_down", "least_wait", "pace", "patience", "max_cost", "max_cost_person", "max_calls", "max_calls_person"),
    *("per_minute", "per_minute_all"),
)
_HELP = "where somebody in distress finds help in the participants' country, such as a crisis line with its hours"
_LONGEST = 5000
"""Characters of a message: even as emoji in a form they stay below what the server takes as one body."""


def _talk(top: Section, allowed: bool) -> TalkTerms | None:
    """What protects people (a line of help, being told that it is a machine) is no option: a file without it is
    refused."""
    if not allowed:
        if top.has("talk"):
            top.wrong("talk", "is not for this kind of study (delete it)")
        return None
    if not top.has("talk"):
        top.wrong("talk", "is missing (write a line [talk]; 'eqlab study init talk' shows what belongs there)")
        return TalkTerms()
    table, default = top.table("talk", _TALK), TalkTerms()
    person = cast(Literal["speaker", "listener"], table.choice("person", ("speaker", "listener"), default.person))
    about = cast(Literal["own", "personas"], table.choice("about", ("own", "personas"), default.about))
    if person == "listener" and table.has("about"):
        table.wrong("about", "is for people who speak (delete the line; a model speaks here, as a persona)")
    if table.has("opening") and (person == "listener" or about == "personas"):
        table.wrong("opening", "is for people who speak of something of their own (delete the line)")
    return TalkTerms(
        person=person,
        about=about,
        opening=table.text("opening", ""),
        talks=table.whole("talks", default.talks, 1, 10),
        turns=table.whole("turns", default.turns, 1, 50),
        characters=table.whole("characters", default.characters, 100, _LONGEST),
        why=bool(table.flag("why", default.why)),
        help=_written(table, "help", f"is missing (write {_HELP})", f"is not written yet (write {_HELP})"),
        machine=_machine(table),
        told=cast(Literal["consent", "debrief"], table.choice("told", ("consent", "debrief"))),
        stopped=cast(Literal["code", "nothing"], table.choice("stopped", ("code", "nothing"), default.stopped)),
        if_down=cast(Literal["go_on", "wait"], table.choice("if_down", ("go_on", "wait"), default.if_down)),
        least_wait=table.number("least_wait", default.least_wait, 0, 60),
        **_limits(table, default),
    )


def _limits(table: Section, default: TalkTerms) -> dict[str, Any]:
    cost = table.number("max_cost", 0.0, 0.0, 1e6) if table.has("max_cost") else None
    each = table.number("max_cost_person", 0.0, 0.0, 1e6) if table.has("max_cost_person") else None
    calls = table.whole("max_calls", default.max_calls, 1, 10_000_000)
    return {
        "pace": table.whole("pace", default.pace, 0, 10_000),
        "patience": table.number("patience", default.patience, 1, 600),
        "max_cost": cost,
        "max_cost_person": each,
        "max_calls": calls,
        "max_calls_person": table.whole("max_calls_person", min(default.max_calls_person, calls), 1, calls),
        "per_minute": table.whole("per_minute", default.per_minute, 1, 600),
        "per_minute_all": table.whole("per_minute_all", default.per_minute_all, 1, 1_000_000),
    }


def _machine(table: Section) -> str:
    missing = (
        "is missing (write the sentence that says that the other one is a machine; told = "
        '"consent" shows it before people agree, told = "debrief" withholds it until the end)'
    )
    return _written(table, "machine", missing, missing.replace("is missing", "is not written yet"))


def _written(table: Section, key: str, missing: str, unchanged: str) -> str:
    """A text that only the researcher can write, and that must be there."""
    said = table.text(key, "")
    if not said:
        table.wrong(key, missing)
    elif PLACEHOLDER in said:
        table.wrong(key, unchanged)
    return said
