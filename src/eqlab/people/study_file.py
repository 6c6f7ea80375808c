"""A study file read whole: TOML in, a Study out, or every problem at once, each as FILE:LINE: key: what is wrong."""

import re
import tomllib
from collections.abc import Mapping
from importlib.resources import files
from typing import Any, cast

from eqlab.core.errors import DataError, UsageError
from eqlab.instruments.catalogue import INSTRUMENTS
from eqlab.people.panels import PANELS
from eqlab.people.study import (
    ENDINGS,
    EXCLUSIONS,
    INSTRUMENTS_TEXT,
    KINDS,
    AnalysisPlan,
    Checks,
    Consent,
    Kind,
    Panel,
    Pay,
    Places,
    Question,
    Study,
    Tutorial,
)
from eqlab.people.toml_lines import lines_of
from eqlab.people.toml_section import Notes, Section, bad_text

_TABLES = ("consent", "arms", "options", "tutorial", "checks", "places", "pay", "panel", "analysis", "debrief")
_TOP = (
    *("id", "kind", "title", "language", "seed", "items", "limit", "arms_by", "instruments", "instruments_text"),
    "not_after",
)
_SLUG = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_LONGEST_ID = 40
_AT = re.compile(r"\(at line (\d+), column \d+\)|\(at end of document\)")
BENCHMARK_OF: Mapping[Kind, str] = {"rating": "rating", "evoked": "emotionbench", "eqbench": "eqbench"}


def languages() -> tuple[str, ...]:
    """Languages that the pages have texts in."""
    folder = files("eqlab.people").joinpath("texts")
    found = {one.name.removesuffix(".toml") for one in folder.iterdir()} if folder.is_dir() else set()
    return tuple(sorted({"en", *(name for name in found if re.fullmatch(r"[a-z]{2,3}(-[A-Za-z]+)?", name))}))


def read_study(text: str, name: str = "study.toml") -> Study:
    """The study that a file describes. Raises DataError with all that is wrong with it."""
    try:
        data = tomllib.loads(text)
        notes = Notes(lines_of(text.replace("\r\n", "\n")))
    except tomllib.TOMLDecodeError as error:
        at = _AT.search(str(error))
        line = at.group(1) if at and at.group(1) else str(text.count("\n") + 1)
        what = _AT.sub("", str(error)).strip()
        raise DataError(f"{name}:{line}: this is not TOML: {what}.", "Mend the line, or the one before it.") from error
    except (ValueError, RecursionError) as error:
        raise DataError(f"{name}:1: this cannot be read as TOML ({type(error).__name__}).", "Begin anew.") from error
    study = _study(Section(data, (), notes, (*_TOP, *_TABLES)))
    if notes.problems:
        raise DataError(problems_text(notes, name))
    return study


def problems_text(notes: Notes, name: str) -> str:
    found = sorted(set(notes.problems))
    count = "1 problem" if len(found) == 1 else f"{len(found)} problems"
    return "\n".join([f"{name} has {count}:", *(f"{name}:{one.line}: {one.key}: {one.what}" for one in found)])


def _study(top: Section) -> Study:
    kind = cast(Kind, top.choice("kind", KINDS))
    items = top.choice("items", ("open", "published"), "open")
    arms = _arms(top, kind)
    return Study(
        id=_id(top),
        kind=kind,
        title=top.text("title"),
        language=top.choice("language", languages(), "en"),
        seed=top.whole("seed", 0, 0, 2**31 - 1),
        consent=_consent(top.table("consent", ("version", "text", "contact", "keep_until"))),
        debrief=top.table("debrief", ("text",)).text("text"),
        arms=arms,
        items=items,
        options=_options(top, kind, items),
        limit=top.whole("limit", 1, 1, 100_000) if top.has("limit") else None,
        instruments=_instruments(top),
        instruments_text=top.text("instruments_text", INSTRUMENTS_TEXT),
        arms_by=_arms_by(top, kind),
        tutorial=_tutorial(top.table("tutorial", ("text", "tries", "question"))),
        checks=_checks(top.table("checks", ("attention", "least_seconds", "instruction"))),
        places=_places(top, kind),
        pay=_pay(top.table("pay", ("currency", "per_hour", "reward", "fee"))),
        panel=_panel(top.table("panel", ("name", "person", "session", "study", "complete_url", "codes"))),
        analysis=_analysis(top.table("analysis", ("exclude", "reference", "alpha", "note")), kind, arms),
        not_after=_not_after(top),
    )


def _id(top: Section) -> str:
    value = top.text("id")
    if value and (not _SLUG.fullmatch(value) or len(value) > _LONGEST_ID):
        top.wrong("id", "is part of the address (write lower-case letters, digits and single hyphens, 40 at most)")
    return value


def _arms(top: Section, kind: Kind) -> tuple[tuple[str, str], ...]:
    table = top.table("arms", None)
    if kind != "rating":
        if top.has("arms"):
            top.wrong(
                "arms", f"only a rating study names its arms (delete the table; {kind} takes them from the items)"
            )
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
        top.wrong("arms", 'is missing (write a line [arms] and below it NAME = "SOURCE": a run, a file, author)')
    return tuple(found.items())


def _arms_by(top: Section, kind: Kind) -> Any:
    if kind != "evoked" and top.has("arms_by"):
        top.wrong("arms_by", "is for evoked studies (delete the line)")
    return top.choice("arms_by", ("factor", "emotion"), "factor")


def _options(top: Section, kind: Kind, items: str) -> tuple[tuple[str, str], ...]:
    """Options of the benchmark, as text; each is tried by itself, so that each wrong one is named."""
    from eqlab.benchmarks.registry import load

    if kind == "rating":
        for key in ("items", "options"):
            if top.has(key):
                top.wrong(key, "is not for rating studies (delete it; the arms' sources say which items)")
        return ()
    table = top.table("options", None)
    found: dict[str, str] = {}
    for name in table.values:
        value = table.values[name]
        if isinstance(value, bool):
            value = "yes" if value else "no"
        if isinstance(value, int) and abs(value) < 10**9:
            value = str(value)
        if not isinstance(value, str):
            table.wrong(name, "is no value of an option (write text, a whole number, true or false)")
        elif (kind, name, value) == ("eqbench", "revision", "yes"):
            table.wrong(name, "people are asked once (delete the line)")
        else:
            found[name] = value
    benchmark = load(BENCHMARK_OF[kind])
    for name, value in found.items():
        try:
            benchmark.options("published" if items == "published" else "open", {name: value})
        except UsageError as error:
            table.wrong(name, f"{error.message} ({error.hint or 'see eqlab benchmarks'})")
            return ()
    try:
        benchmark.options(items, found)
    except UsageError as error:
        top.wrong("options", f"{error.message} ({error.hint})")
    return tuple(sorted(found.items()))


def _instruments(top: Section) -> tuple[str, ...]:
    found = []
    by_name = {key.casefold(): key for key in INSTRUMENTS}
    for key in top.texts("instruments"):
        if key.casefold() not in by_name:
            top.wrong_element("instruments", key, f"is no instrument (there are: {', '.join(INSTRUMENTS)})")
        else:
            found.append(by_name[key.casefold()])
    return tuple(found)


def _consent(table: Section) -> Consent:
    return Consent(table.text("version", "1"), table.text("text"), table.text("contact"), table.text("keep_until"))


def _tutorial(table: Section) -> Tutorial:
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
        questions.append(Question(text, options, answer))
    text = table.text("text", "", may_be_empty=True)
    if text and not questions and not table.has("question"):
        table.wrong("text", "would never be shown (add a [[tutorial.question]], or put the text into the consent)")
    return Tutorial(text, tuple(questions), table.whole("tries", 2, 1, 10))


def _checks(table: Section) -> Checks:
    default = Checks()
    instruction = table.text("instruction", default.instruction)
    if "{answer}" not in instruction and isinstance(table.values.get("instruction"), str):
        table.wrong("instruction", "does not say what to choose (write {answer} where the answer shall stand)")
    return Checks(
        table.whole("attention", default.attention, 0, 20),
        table.number("least_seconds", default.least_seconds, 0, 600),
        instruction,
    )


def _places(top: Section, kind: Kind) -> Places:
    table = top.table("places", ("batch_size", "people_per_batch", "lease_minutes"))
    default = Places()
    if kind == "evoked" and table.has("batch_size"):
        table.wrong("batch_size", "is not for evoked studies (delete the line; a person gets one situation)")
    return Places(
        table.whole("batch_size", default.batch_size, 1, 200),
        table.whole("people_per_batch", default.people_per_batch, 1, 10_000),
        table.number("lease_minutes", default.lease_minutes, 1, 10_080),
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
    )
    for key in ("person", "session", "study"):
        if not re.fullmatch(r"[A-Za-z0-9_.-]{0,60}", getattr(panel, key)):
            table.wrong(key, "is the name of a parameter in the address (write letters, digits, _ . -)")
    if panel.complete_url and (
        not re.match(r"https?://\S+$", panel.complete_url) or "{code}" not in panel.complete_url
    ):
        table.wrong("complete_url", "is no address with a place for the code (write https://…{code})")
    if name.casefold() not in PANELS and not panel.person:
        table.wrong("person", f"is missing (panel '{name[:40]}' is not known: name the parameter with a person's id)")
    if panel.person and "complete" not in given:
        table.wrong("codes", 'lacks the code of those who complete (write complete = "…" under [panel.codes])')
    for ending, code in given.items():
        if code and not re.fullmatch(r"[A-Za-z0-9_-]{1,64}", code):
            codes.wrong(ending, "is no completion code (write letters, digits, _ and - only)")
    return panel


def _analysis(table: Section, kind: Kind, arms: tuple[tuple[str, str], ...]) -> AnalysisPlan:
    default = AnalysisPlan()
    exclude = table.texts("exclude", default.exclude)
    for one in exclude:
        if one not in EXCLUSIONS:
            table.wrong_element("exclude", one, f"is no reason to exclude (there are: {', '.join(EXCLUSIONS)})")
    reference = table.text("reference", "", may_be_empty=True)
    names = [name for name, _ in arms]
    if reference and kind == "rating" and reference not in names:
        table.wrong("reference", f"'{reference[:40]}' is none of the arms (there are: {', '.join(names)[:200]})")
    alpha = table.number("alpha", default.alpha, 0.0001, 0.5)
    return AnalysisPlan(cast(Any, exclude), reference, alpha, table.text("note", "", may_be_empty=True))


def _not_after(top: Section) -> tuple[str, ...]:
    found = top.texts("not_after")
    for one in found:
        if not _SLUG.fullmatch(one):
            top.wrong_element("not_after", one, "is no id of a study (write the id as in its file)")
        elif one == top.values.get("id"):
            top.wrong_element("not_after", one, "is this study itself (delete it; nobody takes part twice anyway)")
    return found
