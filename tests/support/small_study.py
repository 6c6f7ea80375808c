"""A small study for tests: two arms, a quiz, attention checks; and a person who walks through it."""

from eqlab.core.design import Batch, Design
from eqlab.core.forms import Form, Scale
from eqlab.core.runs import BenchmarkConfig, RunConfig
from eqlab.core.study import Checks, Consent, Places, QuizQuestion, Study, Tutorial
from eqlab.core.trials import Trial
from eqlab.store.study.lock import lock_plan
from eqlab.study.results.analysis import analysis_code, analysis_libraries

SECONDS = 5.0
"""What people take for a page, on the clock of the test."""
RATING = Scale("rating", "How empathetic is the reply?", 1, 3, ((1, "Bad"), (2, "Okay"), (3, "Good")))


def rating_trial(arm: str, prompt: str) -> Trial:
    key = {
        "prompt": prompt, "emotion": "sad", "valence": "negative", "utterance": f"says {prompt}", "arm": arm,
        "reply": f"{arm} to {prompt}", "words": 3, "batch": 0, "reply_repeat": 0, "human": [],
    }  # fmt: skip
    stimulus = f"The person says:\n> says {prompt}\nThe other replies:\n> {arm} to {prompt}"
    return Trial("rating", (prompt,), "absolute", stimulus, Form((RATING,)), stimulus, key=key)


def small_design(
    study_id="small",
    *,
    arms=("a", "b"),
    batches=2,
    size=2,
    people=1,
    attention=1,
    lease=60.0,
    quiz=True,
    seed=0,
    **more,
):
    questions = (QuizQuestion("What do you rate?", ("Replies", "Films"), 1),)
    study = Study(
        study_id,
        "rating",
        "A small study",
        "en",
        seed,
        Consent("1", "You rate replies.\n\nYou may stop at any time.", "lab@example.org", "2030-01-01"),
        "Some replies were written by machines.",
        tutorial=Tutorial("Read, then rate.", questions) if quiz else Tutorial(),
        checks=Checks(attention),
        places=Places(size, people, lease),
        **more,
    )
    made = tuple(
        Batch(arm, number, tuple(rating_trial(arm, f"p{number}-{index}") for index in range(size)))
        for arm in arms
        for number in range(batches)
    )
    scale = Scale("quiz1", questions[0].text, 1, 2, ((1, "Replies"), (2, "Films")))
    asked = Trial("quiz", ("quiz",), "quiz", "Read, then rate.", Form((scale,)), "", key={"right": {"quiz1": 1}})
    checks = tuple(
        Trial(
            "attention",
            (f"check{n}",),
            "attention",
            f"Please choose {n}.",
            Form((RATING,)),
            "",
            key={"right": {"rating": n}},
        )
        for n in (1, 2, 3)
    )
    config = BenchmarkConfig(
        "rating", 1, "study", study_id, {"purpose": "people", "pairwise": False, "study": study_id}
    )
    run = RunConfig((), (config,), "full", None, None, seed)
    return Design(study, run, made, (), asked if quiz else None, checks)


def answer_for(view):
    """Right answers wherever there is a right one, the middle elsewhere."""
    if view.trial is None:
        return {}
    right = view.trial.key.get("right")
    return dict(right) if right else {scale.key: (scale.low + scale.high) // 2 for scale in view.trial.form.scales}


def take(participation, person, until=None):
    """Walk a person to the end, or until the page of this kind."""
    while (view := participation.look(person)).step is not None:
        if until is not None and view.step.kind == until:
            return view
        if view.step.kind == "consent":
            participation.consent(person, agreed=True)
        else:
            if hasattr(participation.clock, "now"):
                participation.clock.now += SECONDS
            participation.save(
                person, view.number, view.attempt, answer_for(view), shown_at=participation.clock() - SECONDS
            )
    return view


def rate(participation, name, values):
    """Somebody who comes after the lock and rates with these values."""
    person = participation.arrive(name, "en")
    view = take(participation, person, until="trial")
    number = 0
    while (view := participation.look(person)).step is not None:
        participation.clock.now += SECONDS
        given = answer_for(view)
        if view.step.kind == "trial":
            given = {"rating": values[number % len(values)]}
            number += 1
        participation.save(person, view.number, view.attempt, given)
    return person


def locked_study(make_participation, clock):
    """A study whose plan has been locked as `eqlab study lock` does it, with two places."""
    participation = make_participation(arms=("a",), batches=2, size=4, lease=10.0)
    lock_plan(participation, *analysis_code(), "ada", analysis_libraries())
    clock.now += 1
    return participation
