"""Panels by name: the parameters of their addresses, and where people go at the end. Study files may name others."""

from collections.abc import Mapping

from eqlab.core.study import Panel

PANELS: Mapping[str, Panel] = {
    "none": Panel(),
    "prolific": Panel(
        "prolific",
        person="PROLIFIC_PID",
        session="SESSION_ID",
        study="STUDY_ID",
        complete_url="https://app.prolific.com/submissions/complete?cc={code}",
        id_pattern="[0-9a-f]{24}",
    ),
    "cloudresearch": Panel(
        "cloudresearch", person="participantId", session="assignmentId", study="projectId", id_pattern="[0-9a-z]{10,64}"
    ),
    "sona": Panel("sona", person="survey_code", id_pattern="[0-9]{1,12}"),
}
"""CloudResearch gives every project an address of return of its own: the study file names it. Sona's wants the person's
id, which we do not keep: people are shown the code, and credit is granted by hand. Patterns
are held against ids in small letters."""
