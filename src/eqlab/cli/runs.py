"""`eqlab runs`: what the store holds."""

from datetime import UTC, datetime
from typing import Any

from eqlab.cli.flags import JsonFlag, StoreFlag


def runs(store: StoreFlag = "", as_json: JsonFlag = False) -> None:
    """List the runs in the store, newest first."""
    from eqlab.cli.output import print_json, print_rows
    from eqlab.store.looking import open_reader

    rows: list[dict[str, Any]] = []
    with open_reader(store) as opened:
        for run in opened.run_ids():
            stored = opened.read_run(run)
            config = stored.config
            progress = opened.progress(run)
            rows.append(
                {
                    "run": run,
                    "started": datetime.fromtimestamp(stored.created_at, UTC).strftime("%Y-%m-%d %H:%M UTC"),
                    "models": [model.spec for model in config.models],
                    "benchmarks": [f"{benchmark.name} ({benchmark.item_set})" for benchmark in config.benchmarks],
                    "profile": config.profile,
                    "answered": sum(done for done, _ in progress.values()),
                    "planned": sum(total for _, total in progress.values()),
                }
            )
    if as_json:
        print_json(rows)
        return
    if not rows:
        print_rows("", [f"No runs in {opened.shown} yet; start one with 'eqlab run'."], [])
        return
    print_rows(
        "",
        ["run", "started", "models", "benchmarks", "profile", "answered"],
        [
            [
                row["run"],
                row["started"],
                ", ".join(row["models"]) or "people",
                ", ".join(row["benchmarks"]),
                row["profile"],
                f"{row['answered']} of {row['planned']}",
            ]
            for row in rows
        ],
    )
