"""The instruments EQ Lab knows: how many items, which answers, how they are scored; no sentence of an item. Keys as
used by EmotionBench (its questionnaire file, commit 48f6e1b) and, for the TEQ, by Welivita & Pu; where the two
differ from an instrument's manual, what the studies did is kept and said so.

A score is factor · Σ item, where a reversed item counts low + high − answer. **Missing answers:** a score is
undefined (None, or NaN in arrays) as soon as one of its items has no answer; nothing is imputed and no score is
prorated, and the other subscales stand. An answer outside the instrument's range is an error, not a missing answer."""

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from eqlab.core.errors import DataError, UsageError
from eqlab.core.plural import many
from eqlab.core.values import dataclass

OVERALL = "Overall"
"""Name of the sum over all items, where an instrument defines one."""


@dataclass(frozen=True, slots=True)
class Subscale:
    name: str
    items: tuple[int, ...]
    """Item numbers, from 1."""


@dataclass(frozen=True, slots=True)
class Instrument:
    key: str
    name: str
    emotion: str
    """The emotion EmotionBench uses it for; "" for any (PANAS), or for none (TEQ)."""
    n_items: int
    low: int
    high: int
    subscales: tuple[Subscale, ...]
    reverse: tuple[int, ...] = ()
    """Numbers of the items that are keyed the other way round."""
    factor: int = 1
    """What the sum is multiplied by (DASS-21: 2, so that it can be read on the scale of the 42-item form)."""
    overall: bool = True
    """Whether the instrument has a score over all items."""
    summable: bool = True
    """Whether a sum over all items means anything. The two scales of PANAS are opposites and must never be added."""
    source: str = ""
    licence: str = ""
    ships: bool = False
    """Whether the package may carry the wording."""
    item_keys: tuple[str, ...] = ()
    """How a form names the items: q01, q02 … unless the items have names of their own."""

    def __post_init__(self) -> None:
        if not self.item_keys:
            object.__setattr__(self, "item_keys", tuple(f"q{number:02d}" for number in self.numbers))

    @property
    def numbers(self) -> range:
        return range(1, self.n_items + 1)

    @property
    def flip(self) -> int:
        """A reversed answer counts flip − answer."""
        return self.low + self.high

    @property
    def scores(self) -> tuple[Subscale, ...]:
        """Every score the instrument defines: its subscales and, where it has one, the overall score."""
        whole = (Subscale(OVERALL, tuple(self.numbers)),) if self.overall else ()
        return (*whole, *self.subscales)

    def scores_and_total(self, name: str) -> tuple[Subscale, ...]:
        """The same with the sum of all items, under this name, where the instrument is summable but defines none. The
        EmotionBench paper prints it for MJS and GASP: wherever it is shown for them it must be named as such."""
        if self.overall or not self.summable:
            return self.scores
        return Subscale(name, tuple(self.numbers)), *self.subscales

    def in_order(self, values: Mapping[str, float]) -> tuple[float | None, ...]:
        """A form's answers in the order of the instrument's items; None where there is no answer."""
        return tuple(map(values.get, self.item_keys))


_RESEARCH = "its authors' text: research use, not shipped"

_PANAS_KEYS = (
    "interested", "distressed", "excited", "upset", "strong", "guilty", "scared",
    "hostile", "enthusiastic", "proud", "irritable", "alert", "ashamed", "inspired",
    "nervous", "determined", "attentive", "jittery", "active", "afraid",
)  # fmt: skip

PANAS = Instrument(
    "PANAS", "Positive and Negative Affect Schedule", "", 20, 1, 5,
    (
        Subscale("Positive Affect", (1, 3, 5, 9, 10, 12, 14, 16, 17, 19)),
        Subscale("Negative Affect", (2, 4, 6, 7, 8, 11, 13, 15, 18, 20)),
    ),
    overall=False,
    summable=False,
    source="Watson, Clark & Tellegen 1988",
    licence="twenty single words, anchors in our own words: shipped",
    ships=True,
    item_keys=_PANAS_KEYS,
)  # fmt: skip

AGQ = Instrument(
    "AGQ", "Aggression Questionnaire", "Anger", 29, 1, 7,
    (
        Subscale("Physical Aggression Scale", tuple(range(1, 10))),
        Subscale("Verbal Aggression Scale", tuple(range(10, 15))),
        Subscale("Anger Scale", tuple(range(15, 22))),
        Subscale("Hostility Scale", tuple(range(22, 30))),
    ),
    reverse=(7, 18),
    source="Buss & Perry 1992",
    licence=_RESEARCH,
)  # fmt: skip

DASS_21 = Instrument(
    "DASS-21", "Depression Anxiety Stress Scales, short form", "Anxiety", 21, 0, 3,
    (
        Subscale("Anxiety score", (2, 4, 7, 9, 15, 19, 20)),
        Subscale("Depression score", (3, 5, 10, 13, 16, 17, 21)),
        Subscale("Stress score", (1, 6, 8, 11, 12, 14, 18)),
    ),
    factor=2,
    source="Lovibond & Lovibond 1995; Henry & Crawford 2005",
    licence="public domain according to its authors; wording loaded, not shipped",
)  # fmt: skip

BDI = Instrument(
    "BDI", "Beck Depression Inventory (the items are those of an edition before BDI-II)", "Depression", 21, 0, 3, (),
    source="Beck et al. 1961, 1979",
    licence="commercial (Pearson): never shipped",
)  # fmt: skip

FDS = Instrument(
    "FDS", "Frustration Discomfort Scale", "Frustration", 28, 1, 5,
    (
        Subscale("Discomfort intolerance", tuple(range(1, 29, 4))),
        Subscale("Entitlement", tuple(range(2, 29, 4))),
        Subscale("Emotional intolerance", tuple(range(3, 29, 4))),
        Subscale("Achievement", tuple(range(4, 29, 4))),
    ),
    source="Harrington 2005",
    licence=_RESEARCH,
)  # fmt: skip

MJS = Instrument(
    "MJS", "Multidimensional Jealousy Scale", "Jealousy", 24, 1, 7,
    (
        Subscale("Cognitive Jealousy", tuple(range(1, 9))),
        Subscale("Emotional Jealousy", tuple(range(9, 17))),
        Subscale("Behavioral Jealousy", tuple(range(17, 25))),
    ),
    overall=False,
    source="Pfeiffer & Wong 1989",
    licence=_RESEARCH,
)  # fmt: skip

GASP = Instrument(
    "GASP", "Guilt and Shame Proneness scale", "Guilt", 16, 1, 7,
    (
        Subscale("Guilt Negative Behavior Evaluation (NBE)", (1, 9, 14, 16)),
        Subscale("Guilt Repair", (2, 5, 11, 15)),
        Subscale("Shame Negative Self Evaluation (NSE)", (3, 6, 10, 13)),
        Subscale("Shame Withdraw", (4, 7, 8, 12)),
    ),
    overall=False,
    source="Cohen, Wolf, Panter & Insko 2011",
    licence=_RESEARCH,
)  # fmt: skip

FSS = Instrument(
    "FSS", "Fear Survey Schedule III", "Fear", 52, 1, 5,
    (
        Subscale("Social Fears (SOC)", (5, 8, 9, 10, 15, 20, 27, 33, 41, 44, 47, 51, 52)),
        Subscale("Agoraphobia Fears (AGO)", (2, 3, 6, 7, 11, 17, 18, 19, 23, 24, 35, 40, 42)),
        Subscale("Injury Fears (INJ)", (1, 4, 12, 14, 22, 32, 36, 38, 39, 43, 46, 50)),
        Subscale("Sex Aggression Fears (SEX)", (25, 26, 28, 30, 31, 34, 48, 49)),
        Subscale("Fear of Harmless Animals (ANI)", (13, 16, 21, 29, 37, 45)),
    ),
    source="Wolpe & Lang 1964; Arrindell, Emmelkamp & van der Ende 1984",
    licence=_RESEARCH,
)  # fmt: skip

BFNE = Instrument(
    "BFNE", "Brief Fear of Negative Evaluation scale", "Embarrassment", 12, 1, 5, (),
    reverse=(2, 4, 7, 10),
    source="Leary 1983",
    licence=_RESEARCH,
)  # fmt: skip

TEQ = Instrument(
    "TEQ", "Toronto Empathy Questionnaire", "", 16, 0, 4, (),
    reverse=(2, 4, 7, 10, 11, 12, 14, 15),
    source="Spreng, McKinnon, Mar & Levine 2009",
    licence=_RESEARCH,
)  # fmt: skip

INSTRUMENTS: dict[str, Instrument] = {
    instrument.key: instrument for instrument in (PANAS, AGQ, DASS_21, BDI, FDS, MJS, GASP, FSS, BFNE, TEQ)
}


def instrument(key: str) -> Instrument:
    """The instrument of that key, in any case."""
    for known in INSTRUMENTS.values():
        if known.key.casefold() == key.casefold():
            return known
    raise UsageError(f"There is no instrument '{key}'.", f"There are: {', '.join(INSTRUMENTS)}.")


FloatArray = npt.NDArray[np.float64]


def score(instrument: Instrument, values: Sequence[float | None], *, keyed: bool = True) -> dict[str, float | None]:
    """Each score the instrument defines, by name; no overall score where it defines none.

    `values` are the answers in the order of the items, None for a missing one. `keyed=False` gives raw sums, without
    reversing or doubling: what the EmotionBench paper printed for its challenging scales."""
    if len(values) != instrument.n_items:
        raise DataError(
            f"{instrument.key} has {many(instrument.n_items, 'item')}, but {many(len(values), 'answer')} came."
        )
    answers = np.array([values], dtype=float)
    check(instrument, answers)
    return {
        part.name: defined(score_columns(instrument, answers.T, part, keyed=keyed)[0]) for part in instrument.scores
    }


def defined(score: float) -> float | None:
    return float(score) if score == score else None  # NaN is the only value that differs from itself


def score_columns(instrument: Instrument, answers: FloatArray, part: Subscale, *, keyed: bool = True) -> FloatArray:
    """One score for many administrations at once: `answers` is items × administrations, NaN where none."""
    rows = np.asarray(part.items) - 1
    chosen: FloatArray = answers[rows]
    if not keyed:
        return np.asarray(chosen.sum(axis=0))
    if any(flipped := [number in instrument.reverse for number in part.items]):
        chosen = np.where(np.array(flipped)[:, None], instrument.flip - chosen, chosen)
    return np.asarray(instrument.factor * chosen.sum(axis=0))


def check(instrument: Instrument, answers: FloatArray) -> None:
    """Of many administrations at once (administrations × items): raises if one holds an answer out of range."""
    for row, item in np.argwhere((answers < instrument.low) | (answers > instrument.high)):
        raise DataError(
            f"{instrument.key} item {item + 1}: {answers[row, item]:g} is not an answer from {instrument.low} to "
            f"{instrument.high}."
        )


def score_range(instrument: Instrument, part: Subscale, *, keyed: bool = True) -> tuple[int, int]:
    """Lowest and highest possible score."""
    factor = instrument.factor if keyed else 1
    return factor * instrument.low * len(part.items), factor * instrument.high * len(part.items)
