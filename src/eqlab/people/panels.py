"""Panels by name: the parameters of their addresses, and where people go at the end. Study files may name others."""

from collections.abc import Mapping

from eqlab.people.study import Panel

PANELS: Mapping[str, Panel] = {
    "none": Panel(),
    "prolific": Panel(
        "prolific",
        person="PROLIFIC_PID",
        session="SESSION_ID",
        study="STUDY_ID",
        complete_url="https://app.prolific.com/submissions/complete?cc={code}",
    ),
}
