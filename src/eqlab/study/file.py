"""A study file read whole: TOML in, a Study out, or every problem at once, each as FILE:LINE: key: what is wrong."""

import re
from collections.abc import Mapping
from importlib.resources import files
from typing import Any, cast

from eqlab.core.errors import UsageError
from eqlab.core.study import INSTRUMENTS_TEXT, KINDS, Kind, Study
from eqlab.core.toml_file import read_toml
from eqlab.core.toml_section import Section, bad_text
from eqlab.instruments.catalogue import INSTRUMENTS
from eqlab.study import file_tables as tables

_TABLES = ("consent", "arms", "options", "tutorial", "checks", "places", "pay", "panel", "analysis", "debrief")
_TOP = (
    *("id", "kind", "title", "language", "seed", "items", "limit", "arms_by", "instruments", "instruments_text"),
    "not_after",
)
_SLUG = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_LONGEST_ID = 40
BENCHMARK_OF: Mapping[Kind, str] = {"rating": "rating", "evoked": "emotionbench", "eqbench": "eqbench"}


def languages() -> tuple[str, ...]:
    """Languages that the pages have texts in."""
    folder = files("eqlab.study").joinpath("languages")
    found = {one.name.removesuffix(".toml") for one in folder.iterdir()} if folder.is_dir() else set()
    return tuple(sorted({"en", *(name for name in found if re.fullmatch(r"[a-z]{2,3}(-[A-Za-z]+)?", name))}))


def read_study(text: str, name: str = "study.toml") -> Study:
    """The study that a file describes. Raises DataError with all that is wrong with it."""
    return read_toml(text, name, (*_TOP, *_TABLES), _study)


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
        consent=tables.consent(top.table("consent", ("version", "text", "contact", "keep_until"))),
        debrief=top.table("debrief", ("text",)).text("text"),
        arms=arms,
        items=items,
        options=_options(top, kind, items),
        limit=top.whole("limit", 1, 1, 100_000) if top.has("limit") else None,
        instruments=_instruments(top),
        instruments_text=top.text("instruments_text", INSTRUMENTS_TEXT),
        arms_by=_arms_by(top, kind),
        tutorial=tables.tutorial(top.table("tutorial", ("text", "tries", "question"))),
        checks=tables.checks(top.table("checks", ("attention", "least_seconds", "instruction"))),
        places=tables.places(top, kind),
        pay=tables.pay(top.table("pay", ("currency", "per_hour", "reward", "fee"))),
        panel=tables.panel(top.table("panel", ("name", "person", "session", "study", "complete_url", "codes"))),
        analysis=tables.analysis(top.table("analysis", ("exclude", "reference", "alpha", "note")), kind, arms),
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


def _not_after(top: Section) -> tuple[str, ...]:
    found = top.texts("not_after")
    for one in found:
        if not _SLUG.fullmatch(one):
            top.wrong_element("not_after", one, "is no id of a study (write the id as in its file)")
        elif one == top.values.get("id"):
            top.wrong_element("not_after", one, "is this study itself (delete it; nobody takes part twice anyway)")
    return found
