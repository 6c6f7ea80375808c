"""Studies of every kind for tests: arms whose replies differ, a study file around them, people who never were."""

from eqlab.core.studied import Truth
from eqlab.runs.judge import open_prompts
from eqlab.study.build_design import open_study
from eqlab.study.simulation.personas import World, players
from eqlab.study.simulation.simulate import rehearse

COMMON = """
title = "A study"
language = "{language}"
seed = 5
[consent]
text = "What it is about."
contact = "lab@example.org"
keep_until = "2030-01-01"
[debrief]
text = "Thank you."
"""


def write_replies(folder, arms=("a", "b", "c"), prompts=24):
    """A table with a reply of every arm to some of the open prompts; no two are alike."""
    lines = ["arm,prompt,reply"]
    for arm in arms:
        lines += [
            f"{arm},{item.id},Reply {arm}{number} to you here" for number, item in enumerate(open_prompts()[:prompts])
        ]
    (folder / "replies.csv").write_text("\n".join(lines) + "\n")


def study_text(kind, *, top="", tables="", arms=("a", "b"), language="en", study_id=""):
    named = "[arms]\n" + "\n".join(f'{arm} = "replies.csv:{arm}"' for arm in arms) if arms else ""
    return f'id = "{study_id or kind}"\nkind = "{kind}"\n{top}\n{COMMON.format(language=language)}\n{named}\n{tables}\n'


def made(folder, store, kind, **more):
    """The design of a study file in a folder."""
    path = folder / "study.toml"
    path.write_text(study_text(kind, **more))
    return open_study(path, store)[1]


def rehearsed(design, people, effect, seed=1, mix=None):
    world = World(design, Truth(effect), seed)
    return rehearse(design, players(design, world, people, mix or {"honest": 1}, seed))
