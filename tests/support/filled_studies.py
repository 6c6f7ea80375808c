"""A study of every kind, filled in by simulated minds straight through the store: real rows without a server."""

import itertools

from eqlab.core.studied import Truth
from eqlab.store.study.participation import Participation
from eqlab.store.study.studies import create_study
from eqlab.study.build_design import open_study
from eqlab.study.init import study_text
from eqlab.study.kinds import find_kind
from eqlab.study.simulation.personas import World


def template_text(kind, store, **more):
    """What `eqlab study init` writes; kinds with arms get two."""
    arms = {"arms": {"ours": "author", "again": "author"}} if find_kind(kind).form().arms == "replies" else {}
    return study_text(kind, store, **{**arms, **more})


def filled(design, store, people, effect=None, seed=4, careless=0, source="", instead=None, since=1_700_000_000):
    """So many people, from arrival to the end; the first `careless` ones give every check the wrong answer. `instead`:
    what a person gives to one of their trials, by both numbers."""
    create_study(store, design, source, "test", {})
    clock = itertools.count(since, 17)
    participation = Participation(store, design, clock=lambda: float(next(clock)))
    truth = Truth(find_kind(design.study.kind).form().effect if effect is None else effect)
    world = World(design, truth, seed)
    for number in range(people):
        mind = world.mind(f"{seed} {number}")
        person = participation.arrive(f"panel-{number}", "en")
        participation.consent(person, agreed=True)
        trials = 0
        while (view := participation.look(person)).step is not None:
            values = dict(world.answer(mind, view.trial)) if view.trial else {}
            trials += view.step.kind == "trial"
            values = (instead or {}).get((number, trials), values) if view.step.kind == "trial" else values
            if view.step.kind == "attention" and number < careless:
                values = {key: _other(view.trial, key, value) for key, value in values.items()}
            saved = participation.save(person, view.number, view.attempt, values)
            if saved.outcome != "saved":
                raise AssertionError((view.step, values, saved))
    return participation


def _other(trial, key, value):
    scale = next((one for one in trial.form.scales if one.key == key), None)
    if scale is None:
        return "something else that is long enough to be taken for a reply"
    return scale.low if value != scale.low else scale.high


def opened(path, text, store):
    path.write_text(text)
    return open_study(path, store)[1]
