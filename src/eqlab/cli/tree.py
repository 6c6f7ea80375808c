"""Every command in one place: where it stands, its line on the help screen, and the module that is loaded when it is
called. A command that has moved keeps its old name for a release and says the new one on standard error."""

from collections.abc import Callable, Iterator, MutableMapping
from importlib import import_module
from inspect import signature
from typing import Any

import typer
from typer._click.core import Command as AnyCommand
from typer._click.core import Context
from typer._click.formatting import HelpFormatter
from typer._click.shell_completion import CompletionItem
from typer.core import TyperCommand, TyperGroup
from typer.models import OptionInfo

from eqlab.core.values import dataclass

ADVANCED = "Advanced"
"""The part of a help screen for time-outs, wire formats and the like."""
ONE_BENCHMARK = "Options of one benchmark"

_MOVED = "eqlab.moved"


@dataclass(frozen=True)
class Door:
    """A command or a group. `where` is `module:function` below eqlab.cli; `doors` are a group's own; `now` is the
    new name of a command that has moved, or the other name of one that `stays`; `usual` is the command that a group
    without one means."""

    line: str = ""
    where: str = ""
    part: str = ""
    doors: "dict[str, Door] | None" = None
    now: str = ""
    usual: str = ""
    stays: bool = False


def _moved(now: str, where: str) -> Door:
    return Door(where=where, now=now)


_STORE = {
    "check": Door("Read every page, look up every reference; fail if one is wrong.", "runs:check"),
    "backup": Door("Write a sound copy, also while a run is going on.", "runs:backup"),
    "compact": Door("Give free space in the file back; no answer is touched.", "runs:compact"),
    "upgrade": Door("Bring a store with a locked study up to date.", "runs:upgrade"),
}
_RATINGS = {"import": Door("Import people's ratings from a file.", "judge:import_file")}

_IMPORT = {
    "inspect": Door("Read an Inspect log in as a run.", "import_logs:inspect"),
    "lm-eval": Door("Read samples of lm-evaluation-harness in as a run.", "import_logs:lm_eval"),
}

_RUNS = {
    "list": Door("List the runs in the store, newest first.", "runs:runs"),
    "show": Door("Show a run item by item: prompt, raw replies, values, score.", "runs:show"),
    "export": Door("Export every attempt as Parquet, CSV or JSONL.", "runs:export"),
    "import": Door("Read other tools' logs in as runs: Inspect, lm-eval.", doors=_IMPORT),
    "store": Door("Look after the store: check, back up, compact, upgrade.", doors=_STORE),
}

_PEOPLE = {
    "list": Door("List everybody who came, by pseudonym.", "study_manage:people"),
    "show": Door("Export everything that is stored about one person.", "study_data:person"),
    "signals": Door("Show how each person worked: flags, never verdicts.", "study_manage:signals"),
    "release": Door("Open the place of somebody who will not come back.", "study_manage:release"),
    "ban": Door("Shut somebody out, and leave their answers out of the analysis.", "study_manage:ban"),
    "erase": Door("Erase everything about one person, for good.", "study_data:erase"),
    "links": Door("Write a signed link for each id of a panel.", "study_manage:links"),
    "approve": Door("Say what became of each id on the panel's list.", "study_manage:approve"),
}

_RESEARCHERS = {
    "add": Door("Add a researcher, or change their role and password.", "study_manage:add_researcher"),
    "remove": Door("Remove a researcher; they are logged out at once.", "study_manage:drop_researcher"),
    "list": Door("List researchers and their roles.", "study_manage:list_researchers"),
}

_STUDY = {
    "init": Door("Write a study file that works as it stands.", "study:init", "Prepare"),
    "check": Door("Check a study file: problems, places, minutes, cost, power.", "study:check", "Prepare"),
    "simulate": Door("Rehearse a study with made-up people on a real server.", "study_simulate:simulate", "Prepare"),
    "preview": Door("Look at a study as a participant; nothing is kept.", "study_serve:preview", "Prepare"),
    "lock": Door("Freeze the design and the analysis before anybody takes part.", "study_data:lock", "Prepare"),
    "serve": Door("Serve a study, and the researcher's screens.", "study_serve:serve", "Serve"),
    "status": Door("Show how far a study is.", "study_serve:status", "Serve"),
    "seal": Door("Hash the data so far, to put it on record.", "study_data:seal", "Serve"),
    "pause": Door("Let nobody new in for now.", "study_manage:pause", "Serve"),
    "resume": Door("Open the door of a paused study again.", "study_manage:resume", "Serve"),
    "close": Door("Close a study for good.", "study_manage:close", "Serve"),
    "people": Door("People of a study: list, show, signals, release, ban, erase, links …", part="Serve",
                   doors=_PEOPLE, usual="list"),
    "analyze": Door("Analyse a study: who came, who is left out, the result.", "study_data:analyze", "Analyse"),
    "export": Door("Export what the analysis needs: CSV, Parquet, codebook.", "study_data:export", "Analyse"),
    "replies": Door("Write the replies of a reply study as a table to decide on.", "study:replies", "Analyse"),
    "ratings": Door("People's ratings from elsewhere: import them from a file.", part="Analyse", doors=_RATINGS),
    "publish": Door("Write a release for everybody, without what names anybody.", "study_data:publish", "Analyse"),
    "verify": Door("Check a lock file or a seal, against an export, too.", "study_data:verify", "Analyse"),
    "redo": Door("Do the analysis again from an export alone.", "study_data:redo", "Analyse"),
    "audit": Door("Show what researchers did.", "study_manage:audit", "Manage"),
    "clear": Door("Delete the simulated people of a study.", "study_data:clear", "Manage"),
    "researcher": Door("Who may log in: add, remove, list.", part="Manage", doors=_RESEARCHERS),
    "password": Door("Choose the password of the researcher's page.", "study_serve:password", "Manage"),
    "kinds": Door("List the kinds of study.", "study:kinds", "Manage"),
    "language": Door("Write a language file to translate, or list the languages.", "study:language", "Manage"),
    "person": _moved("study people show", "study_data:person"),
    "release": _moved("study people release", "study_manage:release"),
    "ban": _moved("study people ban", "study_manage:ban"),
    "erase": _moved("study people erase", "study_data:erase"),
    "links": _moved("study people links", "study_manage:links"),
    "approve": _moved("study people approve", "study_manage:approve"),
}  # fmt: skip

_LEADERBOARD = {
    "build": Door("Build the site from runs, submissions and published results.", "leaderboard:build"),
    "submit": Door("Write a run as one signed file for a leaderboard.", "leaderboard:submit"),
    "check": Door("Check submissions as build does; write nothing.", "leaderboard:check"),
}

_CI = {"init": Door("Write a workflow: run, baseline, gate, summary.", "ci:init")}

_RESEARCH = {
    "items": Door("How good the items of a benchmark are.", "research:report"),
    "probe": Door("See whether models know the published items from memory.", "research:probe"),
    "power": Door("How many raters and prompts a study needs.", "research:power"),
    "correlate": Door("Correlate scores with external ones (MMLU, Arena, …).", "research:correlate"),
    "reproduce": Door("Recompute a study's published numbers and explain every difference.", "research:reproduce"),
}

_DATA = {
    "list": Door("List every published file, its origin and whether it is here.", "data:list_files"),
    "fetch": Door("Fetch what is missing from the pinned commits, and check it.", "data:fetch"),
    "verify": Door("Check every file against its pinned hash.", "data:verify"),
    "instruments": Door("List the questionnaires with source and licence.", "data:instruments"),
    "export-task": Door("Write a benchmark as a task for another evaluation tool.", "runs:export_task"),
}

TREE = {
    "run": Door("Ask models the questions of one or more benchmarks.", "run:run", "Evaluate"),
    "judge": Door("Have models rate replies, or whole talks, by a rubric.", "judge:judge", "Evaluate"),
    "sweep": Door("Run a grid of models, benchmarks and seeds.", "sweep:sweep", "Evaluate"),
    "models": Door("List providers, or ask models one tiny question each.", "models:models", "Evaluate"),
    "benchmarks": Door("List the benchmarks and their options.", "data:benchmarks", "Evaluate"),
    "compare": Door("Say which model is better, by how much and how surely.", "compare:compare", "Look"),
    "report": Door("Write an HTML report.", "report:report", "Look"),
    "plot": Door("Draw a picture for a slide or a paper.", "report:plot", "Look"),
    "view": Door("Look at runs in the browser, while they go on, too.", "view:view", "Look"),
    "runs": Door("What is in the store: list, show, export, import.", part="Look", doors=_RUNS, usual="list"),
    "study": Door("Studies with people: prepare, serve, analyse, publish.", part="People", doors=_STUDY),
    "ci": Door("A gate for continuous integration: write the workflow.", part="Publish", doors=_CI),
    "leaderboard": Door("A static site that ranks models: build, submit, check.", part="Publish", doors=_LEADERBOARD),
    "cite": Door("Print what to cite for a run, as BibTeX.", "report:cite", "Publish"),
    "research": Door("Item quality, contamination, power, correlations, reproductions.", part="Research",
                     doors=_RESEARCH),
    "data": Door("The published studies' own data: list, fetch, verify.", part="Research", doors=_DATA),
    "show": _moved("runs show", "runs:show"),
    "export": _moved("runs export", "runs:export"),
    "store": Door(doors=_STORE, now="runs store"),
    "import": Door(doors=_IMPORT, now="runs import", stays=True),
    "submit": _moved("leaderboard submit", "leaderboard:submit"),
    "items": Door(doors={"report": _moved("research items", "research:report")}, now="research items"),
    "probe": _moved("research probe", "research:probe"),
    "power": _moved("research power", "research:power"),
    "correlate": _moved("research correlate", "research:correlate"),
    "reproduce": _moved("research reproduce", "research:reproduce"),
    "instruments": _moved("data instruments", "data:instruments"),
    "export-task": _moved("data export-task", "runs:export_task"),
    "ratings": Door(doors=_RATINGS, now="study ratings"),
}  # fmt: skip


class Leaf(TyperCommand):
    """A command whose help lists its options by part, the advanced ones last."""

    def format_options(self, ctx: Context, formatter: HelpFormatter) -> None:
        parts: dict[str, list[tuple[str, str]]] = {"Arguments": [], "Options": [], ONE_BENCHMARK: [], ADVANCED: []}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None:
                usual = "Arguments" if parameter.param_type_name == "argument" else "Options"
                parts[getattr(parameter, "rich_help_panel", None) or usual].append(record)
        _write(formatter, parts)


class Group(TyperGroup):
    """Commands that are loaded when they are called; the help screen needs none of them."""

    def __init__(self, *, doors: dict[str, Door] = TREE, usual: str = "", **attributes: Any) -> None:
        super().__init__(**attributes)
        self.doors, self.usual = doors, usual
        self.commands = _Loaded(doors)

    def list_commands(self, ctx: Context) -> list[str]:
        return [name for name, door in self.doors.items() if not door.now]

    def format_commands(self, ctx: Context, formatter: HelpFormatter) -> None:
        parts: dict[str, list[tuple[str, str]]] = {}
        for name in self.list_commands(ctx):
            parts.setdefault(self.doors[name].part or "Commands", []).append((name, self.doors[name].line))
        _write(formatter, parts)

    def shell_complete(self, ctx: Context, incomplete: str) -> list[CompletionItem]:
        names = [name for name in self.list_commands(ctx) if name.startswith(incomplete)]
        found = [CompletionItem(name, help=self.doors[name].line) for name in names]
        return [*found, *AnyCommand.shell_complete(self, ctx, incomplete)]

    def parse_args(self, ctx: Context, args: list[str]) -> list[str]:
        asked = args[:1] and (args[0] in self.doors or args[0] in ctx.help_option_names)
        if self.usual and not asked and not ctx.resilient_parsing:
            args = ["", *args]
        return super().parse_args(ctx, args)

    def resolve_command(self, ctx: Context, args: list[str]) -> tuple[str | None, AnyCommand | None, list[str]]:
        if args[0] == "":  # the group's usual command, which was not named
            return "", self.commands[self.usual], args[1:]
        name, command, rest = super().resolve_command(ctx, args)
        door = self.doors.get(name or "")
        moved = door and door.now and not door.stays and not any(one.now for one in (door.doors or {}).values())
        if door and moved and not ctx.resilient_parsing:
            path = ctx.command_path.removeprefix(ctx.find_root().command_path)
            ctx.meta[_MOVED] = f"'eqlab{path} {name}' is now 'eqlab {door.now}'; the old name goes with 0.4."
        return name, command, rest

    def invoke(self, ctx: Context) -> Any:
        """What has moved is said when all went well: an error stays one line."""
        result = super().invoke(ctx)
        if moved := ctx.meta.pop(_MOVED, ""):
            typer.echo(moved, err=True)
        return result


def _write(formatter: HelpFormatter, parts: dict[str, list[tuple[str, str]]]) -> None:
    for title, rows in parts.items():
        if rows:
            with formatter.section(title):
                formatter.write_dl(rows)


class _Loaded(MutableMapping[str, AnyCommand]):
    """Commands by name, each made of its function when it is first looked up."""

    def __init__(self, doors: dict[str, Door]) -> None:
        self.doors = doors
        self.made: dict[str, AnyCommand] = {}

    def __getitem__(self, name: str) -> AnyCommand:
        if name not in self.made:
            self.made[name] = made(name, self.doors[name])
        return self.made[name]

    def __setitem__(self, name: str, command: AnyCommand) -> None:
        self.made[name] = command

    def __delitem__(self, name: str) -> None:
        del self.made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.doors)

    def __len__(self) -> int:
        return len(self.doors)


def made(name: str, door: Door) -> AnyCommand:
    """The command behind a door."""
    if door.doors is not None:
        return Group(
            name=name, help=door.line, doors=door.doors, usual=door.usual, no_args_is_help=not door.usual,
            rich_markup_mode=None, hidden=bool(door.now),
        )  # fmt: skip
    alone = typer.Typer(add_completion=False, rich_markup_mode=None)
    alone.command(name, cls=Leaf, hidden=bool(door.now))(_function(door))
    return typer.main.get_command(alone)


def _function(door: Door) -> Callable[..., Any]:
    module, _, attribute = door.where.partition(":")
    found: Callable[..., Any] = getattr(import_module(f"eqlab.cli.{module}"), attribute)
    return found


def takes(words: list[str]) -> tuple[list[str], set[str]]:
    """The command that these words begin with, and the options it takes; nothing where they name none."""
    doors, path, leaf = TREE, list[str](), None
    for name in words:
        door = doors.get(name)
        if door is None:
            break
        path.append(name)
        leaf, doors = door, door.doors or {}
    if leaf is not None and leaf.doors is not None:
        leaf = leaf.doors.get(leaf.usual)
    if leaf is None:
        return path, set()
    return path, set(_flags(_function(leaf)))


def _flags(function: Callable[..., Any]) -> Iterator[str]:
    """The options of a command, as its signature names them: making the command takes several times as long."""
    for name, parameter in signature(function).parameters.items():
        for option in getattr(parameter.annotation, "__metadata__", ()):
            if isinstance(option, OptionInfo):
                yield from option.param_decls or (f"--{name.replace('_', '-')}",)
