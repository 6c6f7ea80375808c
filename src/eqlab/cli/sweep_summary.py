"""Before and after a sweep: what it will ask, what came of it, and what failed and why."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eqlab.cli.ending import end

if TYPE_CHECKING:
    from eqlab.store.store import Store
    from eqlab.sweep.grid import SweepOutcome, SweepRun, SweepRunPlan


def show_plan(plans: "Sequence[SweepRunPlan]", *, as_json: bool, quiet: bool) -> None:
    """One row per model and benchmark, seeds together; the last line adds up."""
    from eqlab.cli.output import print_json, print_rows, say

    if as_json:
        print_json([_plan_json(plan) for plan in plans])
        return
    if quiet:
        return
    groups: dict[tuple[str, str], list[SweepRunPlan]] = {}
    for plan in plans:
        groups.setdefault((plan.cell.target.model.name, plan.cell.benchmark), []).append(plan)
    rows = [[*names, *_sums(own)] for names, own in groups.items()]
    if len(rows) > 1:
        rows.append(["all", "", *_sums(plans)])
    columns = ["model", "benchmark", "runs", "trials", "answered", "calls", "tokens in, about", "tokens out, at most"]
    print_rows("", columns, rows, right=columns[2:])
    say("Calls are at least these: a reply that cannot be read is asked for again. Tokens in: characters / 4.")


def _sums(plans: "Sequence[SweepRunPlan]") -> list[str]:
    return [
        str(len(plans)),
        *(
            f"{sum(getattr(plan, name) for plan in plans):,}"
            for name in ("trials", "answered", "calls", "tokens_in", "tokens_out")
        ),
    ]


def _plan_json(plan: "SweepRunPlan") -> dict[str, Any]:
    return {
        **_cell_json(plan.cell),
        "trials": plan.trials,
        "answered": plan.answered,
        "calls_at_least": plan.calls,
        "tokens_in_about": plan.tokens_in,
        "tokens_out_at_most": plan.tokens_out,
    }


def _cell_json(cell: "SweepRun") -> dict[str, Any]:
    return {"run": cell.run, "model": cell.target.model.name, "benchmark": cell.benchmark, "seed": cell.seed}


def finish(
    file: Path, cells: "Sequence[SweepRun]", store: "Store", outcome: "SweepOutcome", *, report: Path, as_json: bool
) -> None:
    """Results of all cells that were begun, the report, the failures; then the exit code."""
    from eqlab.cli.conclusions import conclusions, print_conclusions, without_answers
    from eqlab.cli.output import errors, harmless, print_json, say
    from eqlab.cli.results import result_json
    from eqlab.publish.report.write import write_results
    from eqlab.runs.parallel import cores, results_of
    from eqlab.runs.pool import pooled

    known = set(store.run_ids())
    begun = [cell for cell in cells if cell.run in known]
    stored = [store.read_run(cell.run) for cell in begun]
    scored = results_of(store, stored, processes=cores())
    found = {one.id: results[0] for one, results in scored}
    together = pooled(store, scored)
    path = write_results(together, report) if stored else None
    said = conclusions(together)
    lost = [
        _lost(cell, store) for cell in begun if found[cell.run].counts.get("error") and cell.run not in outcome.failures
    ]
    if as_json:
        print_json(
            {
                "report": str(path) if path else None,
                "conclusions": [one.data for one in said],
                "cells": [
                    {
                        **_cell_json(cell),
                        "failure": str(outcome.failures[cell.run]) if cell.run in outcome.failures else None,
                        "result": result_json(found[cell.run]) if cell.run in found else None,
                    }
                    for cell in cells
                ],
            }
        )
    else:
        print_conclusions(said)
        _print_cells(cells, found)
        if path:
            say(f"\nReport: {path.resolve()}")
            say(f"Next, every pair with its interval: eqlab compare --sweep {file}; item by item: eqlab show RUN")
    _failures(cells, outcome)
    unusable = without_answers([result for _, results in together for result in results])
    for text in (*lost, *unusable):
        errors().print(harmless(text), markup=False, style="red")
    end(interrupted=outcome.interrupted, failed=bool(outcome.failures or lost), unusable=bool(unusable))


def _lost(cell: "SweepRun", store: "Store") -> str:
    """What of a cell got no answer, and why the last of it did not; whichever engine asked."""
    from eqlab.core.answers import final

    every = [final(one.attempts) for one in store.scored(cell.run, cell.subject, cell.benchmark, status="error")]
    notes = [last.note for last in every if last is not None and last.status == "error"]
    trials = "1 trial" if len(notes) == 1 else f"{len(notes)} trials"
    return f"{cell.name}: {trials} got no answer (last: {notes[-1] if notes else 'not said'})."


def _print_cells(cells: "Sequence[SweepRun]", found: dict[str, Any]) -> None:
    from eqlab.cli.output import interval, number, print_rows, say
    from eqlab.core.answered_as import replaced
    from eqlab.core.answers import OUTCOMES

    statuses = [name for name in OUTCOMES if name == "ok" or any(result.counts.get(name) for result in found.values())]
    rows = []
    for cell in cells:
        head = [cell.target.model.name, cell.benchmark, str(cell.seed), cell.run]
        result = found.get(cell.run)
        if result is None:
            rows.append([*head, "not begun", *[""] * (2 + len(statuses))])
            continue
        score, counts = result.headline, result.counts
        rows.append(
            [
                *head,
                number(score.value, score.digits) if score.value is not None else "none yet",
                interval(score) if score.value is not None else "",
                str(score.n),
                *(str(counts.get(name, 0)) for name in statuses),
            ]
        )
    columns = ["model", "benchmark", "seed", "run", "score", "95 % interval", "n", *statuses]
    print_rows("", columns, rows, right=["seed", "score", "n", *statuses])
    for text in dict.fromkeys(text for one in found.values() for text in replaced(one.subject, one.answered_as)):
        say(f"! {text}", style="yellow")


def _failures(cells: "Sequence[SweepRun]", outcome: "SweepOutcome") -> None:
    """Cells of a model that stopped for the same reason stand together."""
    from eqlab.cli.output import errors, harmless
    from eqlab.sweep.grid import by_model

    own_cells = by_model(cells)
    reasons: dict[tuple[str, str], list[SweepRun]] = {}
    for cell in cells:
        if cell.run in outcome.failures:
            reasons.setdefault((cell.target.model.name, str(outcome.failures[cell.run])), []).append(cell)
    if not reasons:
        return
    out = errors()
    out.print(f"\n{len(outcome.failures)} of {len(cells)} cells stopped early:", style="red")
    for (model, why), own in reasons.items():
        every = len(own) == len(own_cells[model])
        names = f"{model} (all its {len(own)} cells)" if every else ", ".join(cell.name for cell in own)
        out.print(harmless(f"  {names}: {why}"), markup=False, soft_wrap=True)
