"""Adding an arm to a ranking from pairs without moving anybody: the strengths of an earlier run stay as they are, its
replies are compared with the new ones only."""

from collections.abc import Mapping, Sequence
from typing import Any

from eqlab.benchmarks.rating.benchmark import Ratings
from eqlab.benchmarks.rating.panel import SUBJECT
from eqlab.benchmarks.rating.rated import RatedReply, rated
from eqlab.benchmarks.rating.strengths import Anchors, anchors_of, as_anchors, fitted
from eqlab.core.errors import UsageError
from eqlab.core.replies import ReplyRow
from eqlab.core.rubric import Rubric
from eqlab.core.runs import ModelConfig
from eqlab.store.store import Store, StoredRun


def anchored(
    store: Store, stored: StoredRun, judges: Sequence[ModelConfig], rubric: Rubric, rows: Sequence[ReplyRow]
) -> tuple[dict[str, Any], list[ReplyRow]]:
    """(what the new run's options say of the anchors, old and new replies). The numbers are in the options and not
    looked up later: if the earlier run goes on, this one stays what it is."""
    asked = next((one for one in stored.config.benchmarks if one.name == Ratings.name), None)
    if asked is None or not asked.options["pairwise"] or not stored.config.models:
        raise UsageError(
            f"Run {stored.id} is not a run in which judges compared pairs.", "Name one made with 'judge --pairwise'."
        )
    if asked.options.get("rubric_sha256", rubric.sha256) != rubric.sha256:
        raise UsageError(
            f"Run {stored.id} was judged by another rubric ({asked.options['rubric']}).",
            f"Write --rubric {asked.options['rubric']}, as it was then.",
        )
    for judge in judges:
        if judge not in stored.config.models:
            known = ", ".join(model.spec for model in stored.config.models)
            raise UsageError(
                f"The judge {judge.spec} has no verdicts in run {stored.id} with these settings.",
                f"Strengths belong to who judged: {known}. Use the same, with the same settings.",
            )
    given = {judge.subject: rated(store.scored(stored.id, judge.subject, asked.name)) for judge in judges}
    strengths = {
        subject: _strengths(stored, {subject.removeprefix("judge:"): own}, anchors_of(asked.options, subject))
        for subject, own in given.items()
    }
    if len(given) > 1:
        everybody = {subject.removeprefix("judge:"): own for subject, own in given.items()}
        strengths[SUBJECT] = _strengths(stored, everybody, anchors_of(asked.options, SUBJECT))
    arms = sorted({arm for own in strengths.values() for arm in own})
    if not any(row.arm not in arms for row in rows):
        raise UsageError(f"All of these have strengths in run {stored.id} already.", "Name a new run with --on.")
    fresh = [row for row in rows if row.arm not in arms]
    options = {"anchors": {"run": stored.id, "arms": arms, "strengths": strengths}}
    return options, [*fresh, *_old_replies(given, {row.prompt: row for row in fresh})]


def _strengths(
    stored: StoredRun, given: Mapping[str, Sequence[RatedReply]], before: Anchors | None
) -> dict[str, dict[str, Any]]:
    found, why = fitted(given, before)
    if found is None:
        raise UsageError(f"Run {stored.id} gives no strengths: {why}.", "Continue it, or leave --anchor out.")
    return as_anchors(found, before)


def _old_replies(given: Mapping[str, Sequence[RatedReply]], fresh: Mapping[str, ReplyRow]) -> list[ReplyRow]:
    """The earlier run's replies to prompts that the new ones reply to; what happened is told by the new ones."""
    found: dict[tuple[str, str], ReplyRow] = {}
    for own in given.values():
        for one in own:
            beside = fresh.get(one.prompt)
            if beside is None:
                continue
            for arm, reply in zip(one.key["arms"], one.key["replies"], strict=True):
                found[arm, one.prompt] = ReplyRow(
                    arm,
                    one.prompt,
                    reply,
                    str(one.key.get("emotion") or ""),
                    str(one.key.get("valence") or ""),
                    beside.situation,
                    str(one.key.get("utterance") or ""),
                )
    return list(found.values())
