"""What other packages bring: entry points, read once. Python reads the metadata of every installed package each time
it is asked for a group, which takes a tenth of a second in a full environment."""

import sys
from functools import cache
from importlib.metadata import EntryPoint
from importlib.metadata import entry_points as read_all


def entry_points(group: str, name: str | None = None) -> tuple[EntryPoint, ...]:
    """The entry points of a group, or those of one name."""
    found = _of_group(group, tuple(sys.path))
    return found if name is None else tuple(point for point in found if point.name == name)


@cache
def _of_group(group: str, path: tuple[str, ...]) -> tuple[EntryPoint, ...]:  # another path has other packages
    return tuple(read_all(group=group))
