"""EQ-Bench 3's scenarios (`scenario_prompts.txt`, MIT, fetched by the user): canned lines that a speaker says in turn.

`######## ID | KIND | TITLE` begins a scenario, `####### Prompt1` each of its lines."""

import re
from dataclasses import dataclass

from eqlab.core.errors import DataError

_SCENARIO = re.compile(r"########(?!#)\s*(\S.*)?")
_LINE = re.compile(r"#######(?!#)\s*(Prompt)?\s*(\d+)?")
_OPENING = re.compile(r"\A\ufeff?")


@dataclass(frozen=True, slots=True)
class Eqbench3Scenario:
    id: str
    kind: str
    title: str
    lines: tuple[str, ...]
    """What the speaker says, whatever the listener answers."""
    as_published: bool
    """Whether the published code reads these lines: it takes no heading that is not spelled "Prompt1" (no. 409)."""


def is_scenarios(content: bytes) -> bool:
    """Whether a file that is no TOML is of this kind: a line of it begins a scenario."""
    return any(_SCENARIO.match(line.strip()) for line in content.decode("utf-8", "replace").split("\n"))


def parse_scenarios(content: bytes, name: str) -> list[Eqbench3Scenario]:
    """Every scenario that has lines, those that the published code loses among them."""
    try:
        text = _OPENING.sub("", content.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise DataError(f"{name} is not UTF-8 text (byte {error.start}).", "Get the file again.") from error
    found: dict[str, Eqbench3Scenario] = {}
    heading, lines, spelled = "", list[list[str]](), True
    begun = 0

    def close() -> None:
        said = tuple(joined for part in lines if (joined := "\n".join(part).strip()))
        if not heading or not said:
            return
        id_, kind, title = ([part.strip() for part in heading.split("|", 2)] + ["", ""])[:3]
        id_ = id_.split()[0]
        if id_ in found:
            raise DataError(f"{name}, line {begun}: scenario {id_} is there twice.", "Get the file again.")
        found[id_] = Eqbench3Scenario(id_, kind, title, said, spelled)

    for number, raw in enumerate(text.split("\n"), 1):
        line = raw.strip()
        if scenario := _SCENARIO.match(line):
            close()
            heading, lines, spelled, begun = (scenario[1] or "").strip(), [], True, number
            if not heading or heading.startswith("|"):
                raise DataError(f"{name}, line {number}: a scenario without a number.", "Get the file again.")
        elif heading and (prompt := _LINE.match(line)):
            lines.append([])
            spelled = spelled and bool(prompt[1] and prompt[2])
        elif lines:
            lines[-1].append(raw.rstrip("\r"))
    close()
    if not found:
        raise DataError(f"{name} holds no scenarios.", "EQ-Bench 3's file is data/scenario_prompts.txt.")
    return list(found.values())
