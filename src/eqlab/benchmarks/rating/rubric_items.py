"""One rating on several scales: its overall points, and how a report shows it."""

from eqlab.benchmarks.rating.rated import RatedReply
from eqlab.core.forms import Scale
from eqlab.core.results import ItemScore


def share(value: float, scale: Scale) -> float:
    """Where a value stands on its scale, from 0 to 100, more being better."""
    placed = 100 * (value - scale.low) / (scale.high - scale.low)
    return 100 - placed if scale.reverse else placed


def overall(one: RatedReply) -> float | None:
    """The mean over the scales, each from 0 to 100; None unless all were read: a mean of some would compare replies on
    different things."""
    scales, values = one.trial.form.scales, one.values
    if any(scale.key not in values for scale in scales):
        return None
    return sum(share(values[scale.key], scale) for scale in scales) / len(scales)


def item_on_scales(one: RatedReply) -> ItemScore:
    scales = one.trial.form.scales
    people = {}
    for scale in scales:
        given = [int(value) for _, key, value in one.key.get("human_scales", ()) if key == scale.key]
        if given:
            people[scale.key] = sum(given) / len(given)
    points = overall(one)
    return ItemScore(
        item=one.prompt,
        trial=one.trial.id,
        repeat=one.repeat,
        status=one.status,
        score=points,
        title=f"Reply of {one.arm} to: {one.key.get('utterance') or one.prompt}",
        text=one.answer.text if one.answer else "",
        values=dict(one.values),
        reference=people,
        reasons={scales[0].key: str(one.key.get("reply", ""))},
        attempts=one.n_attempts,
        points=None if one.rater.startswith("person:") else points,
        group=one.arm,
        topics=tuple(name for by in ("emotion", "valence") if (name := str(one.key.get(by) or ""))),
    )
