"""Which arms a person sees, and on which prompts. One arm each (between people), all of them (within), or some (mixed):
over the people of a group every prompt meets every arm equally often, and no person meets a prompt twice."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations


@dataclass(frozen=True, slots=True)
class BatchShare:
    """One person's share: the arm for each prompt, and how many prompts each block of one arm has."""

    group: str
    """The arms, as one name; an arm's own name where it is one."""
    cells: tuple[tuple[str, str], ...]
    """(arm, prompt) in the order of showing, or of shuffling where there are no blocks."""
    blocks: tuple[int, ...] = ()


def shares(
    arms: Sequence[str], batches: Sequence[Sequence[str]], per_person: int, *, blocked: bool
) -> list[BatchShare]:
    """Every group of `per_person` arms with every batch of prompts, in a Latin square: in version v prompt i has the
    group's arm number i + v. In blocks, each version comes with each rotation of the arms' order."""
    found = []
    for group in combinations(arms, per_person):
        name = " + ".join(group)
        for prompts in batches:
            for version in range(per_person):
                cells = [(group[(index + version) % per_person], prompt) for index, prompt in enumerate(prompts)]
                if not blocked:
                    found.append(BatchShare(name, tuple(cells)))
                    continue
                for turn in range(per_person):
                    order = (*group[turn:], *group[:turn])
                    own = [[cell for cell in cells if cell[0] == arm] for arm in order]
                    shown = tuple(cell for block in own for cell in block)
                    found.append(BatchShare(name, shown, tuple(len(block) for block in own if block)))
    return found
