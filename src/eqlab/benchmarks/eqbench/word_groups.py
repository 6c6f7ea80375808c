"""The questions' emotion words in twelve groups, and how far answers lie from the references in each.

The grouping is ours, for reading only: no score depends on it. A word without a group counts as "other"."""

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

from eqlab.analysis.intervals import mean_estimate
from eqlab.core.results import ByEmotion, Estimate, ItemScore

GROUPS = {
    "anger": "accusatory agitated anger angry annoyance annoyed bitter enraged exasperated exasperation frustrated "
    "frustration hostile impatient indignant indignation irritated irritation outraged provoked resentful resentment "
    "spiteful sulky vengeful vindictive",
    "contempt": "arrogant condescending condescension contempt contemptuous disdain disgusted dismissive gloating "
    "judgmental mocking sardonic smug superior unapologetic complacent",
    "fear": "afraid anxiety anxious apprehensive cautious concern concerned desperate desperation dreading fear "
    "fearful frightened helplessness insecure intimidated nervous overwhelmed panic panicked pressured scared shaken "
    "tense threatened timid torn trapped worried",
    "sadness": "alienated burdened defeated despair despairing despondent disappointed disappointment disheartened "
    "dismay exhausted forlorn fragile gloomy grieving heartbroken homesick hurt isolated lonely longing mournful "
    "nostalgic powerless rejected rejection reluctant resignation resigned sad sadness sentimental sorrowful weary "
    "wistful",
    "shame and guilt": "apologetic ashamed bashful contrite embarrassed embarrassment exposed flustered foolish guilt "
    "guilty humble humiliated inadequate inferior regret regretful remorse remorseful shame sheepish shy",
    "feeling wronged": "attacked belittled betrayal betrayed challenged cheated defensive defensiveness denial "
    "dismissed envious excluded ignored insulted jealous misunderstood offended patronised rebuked reprimanded "
    "reproached unappreciated victimized",
    "joy": "amused amusement anticipation carefree charmed cheerful delighted eager elated entertained euphoric "
    "excited exhilarated glad gleeful happiness hopeful inspired joy joyful liberated mischievous motivated optimistic "
    "playful pleased thrilled enlightenment",
    "pride and resolve": "confident defiance defiant determination determined emboldened empowered honoured justified "
    "pride proud rebellious resolute triumph triumphant validated victorious vindicated vindication",
    "relief and calm": "acceptance accepted calm comforted content contentment mollified pacified patient reassured "
    "relief relieved satisfaction satisfied secure understood agreement",
    "warmth": "admiration admiring affectionate attraction awed caring compassionate devoted empathetic empathy "
    "flattered fond forgiving grateful loving moved pity pitying protective respect respected smitten sympathetic "
    "tender touched understanding",
    "surprise and doubt": "astonished bewildered confused confusion curiosity curious disbelief distrust distrustful "
    "doubtful incredulous interested intrigue intrigued perplexed sceptical shocked skeptical surprise surprised "
    "suspicion suspicious uncertain unsure",
    "indifference": "apathetic apathy bored detached disinterest disinterested indifference indifferent neutral "
    "nonchalant unfazed uninterested unperturbed",
}
OTHER = "other"
_GROUP_OF = {word: group for group, words in GROUPS.items() for word in words.split()}


def group_of(word: str) -> str:
    return _GROUP_OF.get(word.casefold(), OTHER)


@lru_cache(maxsize=512)
def topics(words: tuple[str, ...]) -> tuple[str, ...]:
    """Kept: many subjects answer the same questions."""
    return tuple(dict.fromkeys(group_of(word) for word in words))


def deviations(items: Sequence[ItemScore]) -> ByEmotion | None:
    """Mean absolute distance between answer and reference, group by group. The question is the unit: words of one
    group in one question, and its repeats, are averaged first."""
    found: dict[str, dict[str, list[float]]] = {}
    for item in items:
        for word, level in item.reference.items():
            if word in item.values:
                own = found.setdefault(group_of(word), {}).setdefault(item.item, [])
                own.append(abs(float(item.values[word]) - float(level)))
    if not found:
        return None
    means = {group: [sum(own) / len(own) for own in questions.values()] for group, questions in found.items()}
    order = [group for group in (*GROUPS, OTHER) if group in means]
    return ByEmotion(
        "mean absolute deviation from the reference",
        tuple(_not_below_zero(mean_estimate(group, means[group])) for group in order),
        note="In points of the scale from 0 to 10; smaller is better. n counts questions with a word of the group. "
        "The groups are ours and no score depends on them.",
    )


def _not_below_zero(estimate: Estimate) -> Estimate:
    """A distance has no negative bound, which the t-interval of a few questions does not know."""
    return estimate if estimate.low is None else replace(estimate, low=max(0.0, estimate.low))
