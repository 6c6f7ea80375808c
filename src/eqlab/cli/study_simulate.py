"""`eqlab study simulate`: a study rehearsed with simulated people who walk its real server."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from eqlab.cli.flags import DataFlag, JsonFlag, StoreFlag, check_report
from eqlab.cli.plain import print_text
from eqlab.cli.study_manage import File
from eqlab.core.plural import many
from eqlab.core.settings import read_pairs

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from eqlab.core.design import Design
    from eqlab.core.studied import Recovered
    from eqlab.store.store import Store
    from eqlab.study.simulation.simulate import Simulation, SimulationOutcome
    from eqlab.study.simulation.walk import Walked


def simulate(
    file: File,
    people: Annotated[
        int | None, typer.Option("--people", min=1, help="How many come.", show_default="the places, 200 at most")
    ] = None,
    effect: Annotated[
        float | None,
        typer.Option(
            "--effect",
            help="The simulated effect. rating, pairwise: log-odds of every arm against the reference; evoked: points "
            "of Negative Affect; eqbench: SD of people's error; talk: points of final emotion; reply: words of a "
            "reply; emobench, seceu, culemo, tombench: share of items that the middle person knows.",
            show_default="the kind's own",
        ),
    ] = None,
    mix: Annotated[
        list[str] | None,
        typer.Option("--mix", metavar="PERSONA=SHARE", help="Who comes, e.g. honest=80; may be repeated."),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Seed of every draw.")] = 0,
    repeats: Annotated[
        int,
        typer.Option("--repeats", min=1, help="Simulations; the first walks the server, the others only the analysis."),
    ] = 1,
    think: Annotated[
        float, typer.Option("--think", min=0.0, metavar="SECONDS", help="Wait so long on every page, for load tests.")
    ] = 0.0,
    at_once: Annotated[int, typer.Option("--at-once", min=1, help="People on the server at a time.")] = 50,
    url: Annotated[
        str,
        typer.Option(
            "--url", metavar="URL", help="Walk this server, whose store is --store.", show_default="a server of its own"
        ),
    ] = "",
    yes: Annotated[bool, typer.Option("--yes", help="With --url: do not ask.")] = False,
    report: Annotated[
        Path | None, typer.Option("--report", metavar="FILE", help="Write the HTML report too.", show_default="none")
    ] = None,
    store: StoreFlag = "",
    data: DataFlag = None,
    as_json: JsonFlag = False,
) -> None:
    """Rehearse a study: simulated people walk its real server, and the analysis must recover the simulated effect.

    Without --url nothing is kept: server and store are the simulation's own. With --url the simulated people are
    stored in that study, each marked as simulated; its server must have been started with --rehearsal, and a study that
    is locked or has begun takes none. `eqlab study clear` deletes them."""
    from eqlab.core.studied import Truth
    from eqlab.store.access import open_store
    from eqlab.study.build_design import open_study
    from eqlab.study.kinds import form_of
    from eqlab.study.simulation.personas import read_mix
    from eqlab.study.simulation.simulate import Simulation, repeat
    from eqlab.study.simulation.simulate import simulate as walk_own

    check_report(report)
    with open_store(store) as opened:
        text, design = open_study(file, opened, data)
        truth = Truth(form_of(design).effect if effect is None else effect)
        count = people or min(200, sum(1 for _ in design.places()))
        wanted = Simulation(count, truth, read_mix(read_pairs("--mix", mix or [])), seed, at_once, think)
        say = _Progress(count)
        if url:
            outcome = _walk_theirs(opened, design, wanted, url.rstrip("/"), yes, say)
        else:
            outcome = walk_own(design, text, wanted, say, report)
    more = [outcome.recovered]
    for number in range(1, repeats):
        more.append(repeat(design, wanted, seed + number))
        say.repeated(number + 1, repeats)
    if as_json:
        from eqlab.cli.output import print_json

        print_json(_as_json(design, wanted, outcome, more))
    else:
        _show(design, wanted, outcome, more, url)
    if outcome.complaints:
        raise typer.Exit(1)


def _walk_theirs(
    opened: "Store", design: "Design", wanted: "Simulation", url: str, yes: bool, heard: "Callable[[Walked], None]"
) -> "SimulationOutcome":
    import secrets

    from eqlab.store.study.participation import Participation
    from eqlab.store.study.studies import check_begun
    from eqlab.study.simulation.simulate import before, conclude, walk
    from eqlab.study.simulation.walk import Address

    check_begun(opened, design)
    participation = Participation(opened, design)
    was = before(participation)
    if not yes:
        typer.confirm(
            f"{many(wanted.people, 'simulated person', 'simulated people')} will be stored in study "
            f"'{design.study.id}' at {url}, where "
            f"{many(len(was.people), 'person is', 'people are')} now. Go on?",
            abort=True,
        )
    address = Address(url, design.study.id, design.study.panel.person, f"simulated-{secrets.token_hex(4)}-")
    return conclude(participation, wanted, walk(design, address, wanted, heard), was)


class _Progress:
    """A line for every tenth of the people."""

    def __init__(self, people: int) -> None:
        from eqlab.cli.output import errors

        self._out, self._people, self._ended = errors(), people, 0
        self._step = max(1, people // 10)

    def __call__(self, walked: "Walked") -> None:
        self._ended += 1
        if self._ended % self._step == 0 or self._ended == self._people:
            self._out.print(
                f"{self._ended} of {many(self._people, 'simulated person', 'simulated people')} "
                f"{'is' if self._ended == 1 else 'are'} done"
            )

    def repeated(self, done: int, total: int) -> None:
        if done % max(1, total // 10) == 0 or done == total:
            self._out.print(f"{done} of {many(total, 'simulation')}")


def _show(
    design: "Design",
    wanted: "Simulation",
    outcome: "SimulationOutcome",
    more: "Sequence[Sequence[Recovered]]",
    url: str,
) -> None:
    from collections import Counter

    from eqlab.cli.output import interval, number, print_rows, print_table
    from eqlab.study.kinds import form_of
    from eqlab.study.simulation.personas import PERSONAS
    from eqlab.study.simulation.simulate import coverage, power, without_an_interval

    print_text(
        f"{many(wanted.people, 'simulated person', 'simulated people')} walked "
        f"{url or 'a server of their own on loopback'} over HTTP."
    )
    came: Counter[str] = Counter(walked.player.persona for walked in outcome.walked)
    ends: Counter[tuple[str, str]] = Counter((walked.player.persona, walked.end) for walked in outcome.walked)
    rows = [
        [name, str(came[name]), *(str(ends[name, end]) for end in ("done", "left", "declined")), words]
        for name, words in PERSONAS.items()
        if came[name]
    ]
    columns = ["persona", "came", "ended", "left", "declined", ""]
    print_rows("", columns, rows, right=columns[1:5])
    for table in outcome.analysis.people[:2]:
        typer.echo("")
        print_table(table)
    print_text(f"\nSimulated effect: {wanted.truth.effect:g} ({form_of(design).effect_words}).")
    found = [
        [one.name, f"{one.put_in:.2f}", number(one.found.value), interval(one.found), str(one.found.n), _word(one)]
        for one in outcome.recovered
    ]
    if found:
        columns = ["", "simulated effect", "estimate", "95 % interval", "n", "interval holds it"]
        print_rows("", columns, found, right=[columns[1], columns[2], columns[4]])
        if len(more) < 2 and any(one.inside is False for one in outcome.recovered):
            print_text("One 95 % interval in twenty misses the truth: --repeats 100 tells how often this plan's do.")
    else:
        print_text("The analysis could not estimate it: too few people, or a model that does not fit.")
    answers = f"{many(outcome.acknowledged, 'answer')} acknowledged, {outcome.stored} stored"
    people = f"{many(len(outcome.walked), 'person', 'people')} came, {outcome.known} counted"
    print_text(f"\n{answers}; {people}, {outcome.states.get('left', 0)} of them left on the way.")
    for complaint in outcome.complaints:
        typer.secho(f"! {complaint}", fg=typer.colors.RED)
    if len(more) > 1:
        print_text(
            f"\n{many(len(more), 'simulation')}: the first over HTTP, {len(more) - 1} with the same personas "
            "straight into the "
            "analysis."
        )
        shares = [
            [name, f"{put_in:.2f}", f"{mean:.2f}", number(share.value, 1), interval(share), str(share.n)]
            for name, put_in, mean, share in coverage(more)
        ]
        columns = ["", "simulated effect", "mean estimate", "coverage, %", "95 % interval", "simulations"]
        if shares:
            print_rows("", columns, shares, right=[name for name in columns if name != "95 % interval"])
        if untold := without_an_interval(more):
            print_text(
                f"In {untold} of {many(len(more), 'simulation')} the analysis had no interval (too few people, or a "
                "model that does not fit): they count as intervals that miss the truth, and as effects not found."
            )
        found_it = [[name, number(share.value, 1), interval(share), str(share.n)] for name, share in power(more)]
        if found_it:
            typer.echo("")
            print_rows(
                "", ["", "power, %", "95 % interval", "simulations"], found_it, right=["power, %", "simulations"]
            )
            print_text(
                "Power: how often the plan's test is significant at its alpha, after Holm; without a test, how often "
                "the 95 % interval excludes 0."
            )


def _word(one: "Recovered") -> str:
    return {True: "yes", False: "no", None: "undefined"}[one.inside]


def _as_json(
    design: "Design", wanted: "Simulation", outcome: "SimulationOutcome", more: "Sequence[Sequence[Recovered]]"
) -> dict[str, Any]:
    from eqlab.cli.study_data import analysis_json
    from eqlab.core.results import as_dict
    from eqlab.study.simulation.simulate import coverage, power, without_an_interval

    return {
        "people": wanted.people,
        "put_in": as_dict(wanted.truth),
        "mix": dict(wanted.mix),
        "acknowledged": outcome.acknowledged,
        "stored": outcome.stored,
        "known": outcome.known,
        "ends": dict(outcome.states),
        "complaints": outcome.complaints,
        "recovered": [{**as_dict(recovery), "inside": recovery.inside} for recovery in outcome.recovered],
        "simulations": len(more),
        "without_an_interval": without_an_interval(more),
        "coverage": [
            {"name": name, "put_in": put_in, "mean_found": mean, "coverage": as_dict(share)}
            for name, put_in, mean, share in coverage(more)
        ],
        "power": [{"name": name, "power": as_dict(share)} for name, share in power(more)],
        "analysis": analysis_json(outcome.analysis),
    }
