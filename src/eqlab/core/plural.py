"""A count with its noun, so that nobody reads "1 people"."""


def many(count: int, one: str, several: str = "") -> str:
    """A count with its noun, and its verb where that changes too: "1 answer is", "1,204 answers are"."""
    return f"{count:,} {one if count == 1 else several or f'{one}s'}"


def one_of(several: str) -> str:
    """The singular of a benchmark's own word for its items: "story" of "stories"."""
    return f"{several[:-3]}y" if several.endswith("ies") else several.removesuffix("s")
