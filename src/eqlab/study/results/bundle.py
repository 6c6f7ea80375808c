"""What an export holds beside the tables so that it suffices by itself: the study file, every question in full, the
design, the rows as they were stored, the lock, what researchers did, and the result to hold a repetition against."""

import hashlib
import json
import types
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from functools import wraps
from importlib.resources import files
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Concatenate, Literal, ParamSpec, TypeVar, Union, get_args, get_origin, get_type_hints

from eqlab.core.design import Design
from eqlab.core.errors import DataError
from eqlab.core.plural import many
from eqlab.core.results import as_dict
from eqlab.core.runs import RunConfig, config_from_json, config_to_json, is_simulated
from eqlab.core.trials import Trial, from_json, is_unchanged, to_json
from eqlab.data.files import write_whole
from eqlab.store.study.chain import ENDS, Link, against_notes, against_tables, against_turns, broken, given_of
from eqlab.store.study.lock import Lock, PlanStanding, plan_of, plan_sha256, untold
from eqlab.store.study.participation import Participation
from eqlab.store.study.records import Event, Records
from eqlab.store.study.researchers import AuditEntry
from eqlab.store.study.studies import stored_file
from eqlab.study.results.analysis import StudyAnalysis, analyse_roll, analysis_code
from eqlab.study.results.lock_file import Given
from eqlab.study.results.participants import Participants, participants_of

STUDY, RECORDS, QUESTIONS, RESULT, FILE = "study.json", "records.jsonl", "questions.jsonl", "result.json", "study.toml"
SCRIPT = "redo.py"
"""Does the analysis again without eqlab."""
FORMAT = 1
_OF_TURNS = ("run_id", "subject", "text", "status", "note", "model", "finish")
"""What a turn of a talk has beside an answer to a page."""
P = ParamSpec("P")
T = TypeVar("T")


def _whole_export(read: Callable[Concatenate[Path, P], T]) -> Callable[Concatenate[Path, P], T]:
    """An export that does not fit together, as one changed by hand, is named with what failed."""

    @wraps(read)
    def made(folder: Path, /, *args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return read(folder, *args, **kwargs)
        except (LookupError, TypeError, ValueError, AttributeError) as error:
            raise DataError(
                f"The export in {folder} does not fit together ({type(error).__name__}: {error}).",
                "Take the whole export again. If that one says the same, it is a fault of eqlab: please tell us.",
            ) from error

    return made


def write_bundle(
    participation: Participation, analysis: StudyAnalysis, records: Records, folder: Path, file: str = ""
) -> list[Path]:
    """The files that repeat the analysis; the tables for reading are written elsewhere. `file`: the study file's text,
    whose plan and pay may have changed since the study began."""
    design = participation.design
    contents = {
        FILE: file or stored_file(participation.store, participation.study.id),
        QUESTIONS: "".join(f"{_question(trial)}\n" for trial in design.trials.values()),
        RECORDS: "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in _rows(design, records)),
        RESULT: json.dumps(summary(analysis), ensure_ascii=False, indent=1) + "\n",
        SCRIPT: (files("eqlab.study.results") / "redo_script.py").read_text(encoding="utf-8"),
    }
    version, code = analysis_code()
    about = {
        "format": FORMAT,
        "study": design.study.id,
        "title": design.study.title,
        "eqlab": version,
        "code_sha256": code,
        "design_sha256": design.sha256,
        "seed": design.study.seed,
        "standing": standing_to_plain(analysis.standing),
        "simulated": analysis.standing.simulated,
        "design": to_plain(design),
        "chain": [as_dict(link) for link in records.links],
        "audit": [as_dict(entry) for entry in records.audit],
        "sha256": {name: hashlib.sha256(text.encode()).hexdigest() for name, text in contents.items()},
    }
    contents[STUDY] = json.dumps(about, ensure_ascii=False, indent=1) + "\n"
    written = []
    for name, text in contents.items():
        path = folder / name
        write_whole(path, text)
        written.append(path)
    return written


@_whole_export
def redo(folder: Path) -> tuple[StudyAnalysis, list[str]]:
    """The analysis once more, from an export alone; where it differs from what the export says came of it, and what its
    chain of events says against a plan that was kept."""
    about = json.loads(_read(folder, STUDY))
    if about.get("format") != FORMAT:
        raise DataError(f"{folder / STUDY} has a format that is not known.", "Use a newer eqlab.")
    for name, wanted in about["sha256"].items():
        if hashlib.sha256(_read(folder, name).encode()).hexdigest() != wanted:
            raise DataError(f"{folder / name} is not the file that was exported.", "Take the whole export again.")
    design, participants = exported_people(folder)
    stands = standing_from_plain(about["standing"])
    analysis = analyse_roll(design, participants, stands)
    then, now = json.loads(_read(folder, RESULT)), json.loads(json.dumps(summary(analysis)))
    if about["eqlab"] != analysis_code()[0]:  # another version may say the same numbers in other words
        now["sentence"] = then["sentence"]
    against = (
        exported_breaks(folder, stands.lock.at) if stands.confirmatory and stands.lock and stands.in_places else []
    )
    return analysis, [*differences(then, now), *against]


@_whole_export
def exported_people(folder: Path) -> tuple[Design, Participants]:
    """The design of an export, and everybody in its stored rows."""
    design = _design(folder, json.loads(_read(folder, STUDY)))
    return design, participants_of(design, _records(folder))


@_whole_export
def exported_data(folder: Path) -> tuple[list[Link], Given]:
    """The chain of events and everybody's answers, as `stored_data` has them of a store."""
    about = json.loads(_read(folder, STUDY))
    given: dict[str, list[tuple[Any, ...]]] = {}
    for row in _lines(folder, RECORDS):
        if row["table"] == "answers" and not row["simulated"]:
            given.setdefault(row["person"], []).append(given_of(SimpleNamespace(**row)))
    return [Link(**one) for one in about.get("chain", ())], given


@_whole_export
def exported_breaks(folder: Path, since: float) -> list[str]:
    """What the chain of events says against the people of an export, as `stored_breaks` does of a store."""
    about, records = json.loads(_read(folder, STUDY)), _records(folder)
    design = _design(folder, about)
    links = [Link(**one) for one in about.get("chain", ())]
    there = {row.person: row for row in records.people if row.assigned_at is not None or row.state in ENDS}
    given = {person: [given_of(row) for row in own] for person, own in records.answers.items()}
    told = [(event.person, event.kind, event.detail) for event in records.events]
    entries = [AuditEntry(**one) for one in about.get("audit", ()) if one["study"]]
    notes = [(one.at, one.who, one.action, one.detail) for one in entries]
    stands = standing_from_plain(about["standing"])
    turns = {row["id"]: row["trial"] for row in _lines(folder, RECORDS) if row["table"] == "turns"}
    against = against_tables(design, links, there, given, since, told)
    before = {step.trial for step in design.first_steps()}
    firsts = {
        person: min(times)
        for person, own in records.answers.items()
        if (times := [row.at for row in own if row.trial_id not in before])
    }
    plan = plan_of(
        design, about["eqlab"], about["code_sha256"], stands.lock.plan.get("libraries") if stands.lock else None
    )
    finished = [
        (row.person, row.ended_at) for row in there.values() if row.state == "finished" and row.ended_at is not None
    ]
    against += untold(
        design, stands, links, entries, [(kind, detail) for _, kind, detail in told], firsts, plan, finished
    )
    asked = {line["id"]: line["trial"] for line in _lines(folder, QUESTIONS)}
    changed = sum(not is_unchanged(name, trial) for name, trial in asked.items())
    if changed:
        against.append(f"{QUESTIONS} has {many(changed, 'question')} with another text than was asked")
    return [*broken(links), *against, *against_turns(turns), *against_notes(links, notes)]


def _design(folder: Path, about: Mapping[str, Any]) -> Design:
    trials = {line["id"]: from_json(line["trial"], line["id"]) for line in _lines(folder, QUESTIONS)}
    design = from_plain(about["design"], trials)
    if design.sha256 != about["design_sha256"]:
        raise DataError(f"The design in {folder / STUDY} is not the one it names.", "Take the whole export again.")
    return design


def summary(analysis: StudyAnalysis) -> dict[str, Any]:
    """What a repetition must find again."""
    result = analysis.result
    return {
        "label": analysis.standing.label,
        "sentence": result.sentence,
        "analysed": len(analysis.sample.kept),
        "excluded": {person: list(why) for person, why in analysis.sample.excluded.items()},
        "headline": as_dict(result.headline),
        "estimates": [as_dict(estimate) for estimate in result.estimates],
        "contrasts": [as_dict(contrast) for contrast in analysis.planned],
    }


def differences(there: Any, here: Any, where: str = "") -> list[str]:
    """Where two summaries differ; numbers may differ by the last digits, since machines add in different orders."""
    if isinstance(there, dict) and isinstance(here, dict):
        return [
            difference
            for name in sorted({*there, *here})
            for difference in differences(there.get(name), here.get(name), f"{where}.{name}".lstrip("."))
        ]
    if isinstance(there, list) and isinstance(here, list) and len(there) == len(here):
        return [
            difference
            for number, (one, two) in enumerate(zip(there, here, strict=True))
            for difference in differences(one, two, f"{where}[{number}]")
        ]
    if isinstance(there, float) and isinstance(here, float) and abs(there - here) <= 1e-6 * max(1.0, abs(there)):
        return []
    return [] if there == here else [f"{where}: exported {there!r}, now {here!r}"]


def standing_to_plain(standing: PlanStanding) -> dict[str, Any]:
    return {**as_dict(standing), "label": standing.label}


def standing_from_plain(plain: dict[str, Any]) -> PlanStanding:
    lock = Lock(**plain["lock"]) if plain["lock"] else None
    if lock is not None and plan_sha256(lock.plan) != lock.sha256:
        raise DataError("The plan in this export is not the one that was locked.", "Take the whole export again.")
    looks = tuple(AuditEntry(**one) for one in plain["looks"])
    rest = {name: value for name, value in plain.items() if name not in ("lock", "looks", "label")}
    standing = PlanStanding(**{**rest, "lock": lock, "looks": looks})
    ruled = lock is None or "sample" in lock.plan  # before 0.3 a study was never interim
    if ruled and standing.label != plain["label"]:
        raise DataError(
            f"This export calls its results {plain['label']}, and tells that they are {standing.label}.",
            "Take the whole export again.",
        )
    return standing


def _question(trial: Trial) -> str:
    """Stimulus, scales, positions of the items and what scoring knows (references, replies, subscales)."""
    return json.dumps({"id": trial.id, "stimulus": trial.stimulus, "trial": to_json(trial)}, ensure_ascii=False)


def _rows(design: Design, records: Records) -> Iterator[dict[str, Any]]:
    for row in records.people:
        own = dict(row._mapping)
        yield {"table": "participants", "simulated": is_simulated(row.person), **own}
    for person, answer in records.answers.items():
        for row in answer:
            turn = row.trial_id in records.trials or row.trial_id in design.talks
            names = ("trial_id", "attempt", "values", "latency", "at", *(_OF_TURNS if turn else ()))
            kept = {name: row._mapping[name] for name in names}
            yield {"table": "answers", "simulated": is_simulated(person), "person": person, **kept}
    for trial in records.trials.values():
        yield {"table": "turns", "simulated": False, "id": trial.id, "trial": to_json(trial)}
    for event in records.events:
        yield {"table": "events", "simulated": is_simulated(event.person or ""), **as_dict(event)}


def _records(folder: Path) -> Records:
    people: list[Any] = []
    answers: dict[str, list[Any]] = {}
    events = []
    turns = {}
    for row in _lines(folder, RECORDS):
        table, person = row.pop("table"), str(row.get("person"))
        row.pop("simulated")
        if table == "participants":
            people.append(SimpleNamespace(**row))
        elif table == "answers":
            answers.setdefault(person, []).append(SimpleNamespace(**row))
        elif table == "turns":
            turns[row["id"]] = from_json(row["trial"], row["id"])
        else:
            events.append(Event(**row))
    return Records(tuple(people), answers, tuple(events), turns)


def _lines(folder: Path, name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in _read(folder, name).split("\n") if line]


def _read(folder: Path, name: str) -> str:
    try:
        return (folder / name).read_bytes().decode("utf-8")
    except OSError as error:
        raise DataError(
            f"{folder / name} cannot be read: {error.strerror}.", "Name a folder that 'eqlab study export' wrote."
        ) from error


# -- a design as plain data and back; whatever a design gains later goes along by itself -------------------------------


def to_plain(value: Any) -> Any:
    """Trials by their id: their content stands once, elsewhere."""
    if isinstance(value, Trial):
        return value.id
    if isinstance(value, RunConfig):
        return config_to_json(value)
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: to_plain(getattr(value, field.name)) for field in fields(value) if field.init}
    if isinstance(value, tuple | list):
        return [to_plain(one) for one in value]
    if isinstance(value, Mapping):
        return {name: to_plain(one) for name, one in value.items()}
    return value


def from_plain(plain: Mapping[str, Any], trials: Mapping[str, Trial]) -> Design:
    try:
        design: Design = _revive(Design, plain, trials)
    except (KeyError, TypeError, ValueError) as error:
        raise DataError(f"The design cannot be read ({error}).", "Was it exported by a newer eqlab?") from error
    return design


def _revive(hint: Any, value: Any, trials: Mapping[str, Trial]) -> Any:
    if value is None or hint is Any:
        return value
    if hint is Trial:
        return trials[value]
    if hint is RunConfig:
        return config_from_json(value)
    if is_dataclass(hint) and isinstance(hint, type):
        hints = get_type_hints(hint)
        return hint(**{name: _revive(hints[name], one, trials) for name, one in value.items()})
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        (one,) = [argument for argument in arguments if argument is not types.NoneType][:1]
        return _revive(one, value, trials)
    if origin is tuple:
        return _tuple(arguments, value, trials)
    if origin is Literal or not isinstance(value, Mapping):
        return value
    return {name: _revive(arguments[1] if arguments else Any, one, trials) for name, one in value.items()}


def _tuple(arguments: tuple[Any, ...], value: Any, trials: Mapping[str, Trial]) -> tuple[Any, ...]:
    if arguments and arguments[-1] is ...:
        return tuple(_revive(arguments[0], one, trials) for one in value)
    return tuple(_revive(hint, one, trials) for hint, one in zip(arguments, value, strict=True))
