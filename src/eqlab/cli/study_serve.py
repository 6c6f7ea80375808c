"""`eqlab study serve`, `preview`, `status` and `password`: a study on the web, and how it stands."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from eqlab.cli.flags import DataFlag, JsonFlag, StoreFlag
from eqlab.cli.plain import harmless, print_text
from eqlab.cli.study_manage import File, begun_study
from eqlab.core.plural import many

if TYPE_CHECKING:
    from socket import socket

    from eqlab.core.design import Design
    from eqlab.core.study import Study
    from eqlab.store.store import Store
    from eqlab.study.results.status import StudyStatus
    from eqlab.study.talks import ModelCalls
    from eqlab.study.web.settings import ServerSettings

Files = Annotated[list[Path], typer.Argument(metavar="FILE…", help="Study files; one server serves them all.")]
HostFlag = Annotated[str, typer.Option("--host", help="Address to listen on; 0.0.0.0 for the whole network.")]
PortFlag = Annotated[int, typer.Option("--port", min=0, max=65535, help="Port to listen on; 0 for a free one.")]


def serve(
    files: Files,
    host: HostFlag = "127.0.0.1",
    port: PortFlag = 8000,
    public_url: Annotated[
        str,
        typer.Option("--public-url", metavar="URL", help="How participants reach the server, e.g. https://study.org."),
    ] = "",
    proxy: Annotated[
        str,
        typer.Option(
            "--proxy", metavar="ADDRESS", help="A reverse proxy whose X-Forwarded-For and -Proto are believed."
        ),
    ] = "",
    workers: Annotated[
        int, typer.Option("--workers", min=1, max=64, help="Processes; more than one on PostgreSQL.")
    ] = 1,
    per_address: Annotated[
        int, typer.Option("--per-address", min=1, help="New people from one address at once; one more each minute.")
    ] = 40,
    rehearsal: Annotated[
        bool, typer.Option("--rehearsal", help="Take simulated people, as long as no study is locked or has begun.")
    ] = False,
    alert_url: Annotated[
        str, typer.Option("--alert-url", metavar="URL", help="Post alerts there as JSON.", show_default="none")
    ] = "",
    alert_command: Annotated[
        str,
        typer.Option(
            "--alert-command",
            metavar="COMMAND",
            help="Give alerts to this command, e.g. mail; no shell reads it.",
            show_default="none",
        ),
    ] = "",
    store: StoreFlag = "",
    data: DataFlag = None,
) -> None:
    """Serve studies to participants, and their progress to the researcher. Ctrl-C stops when all saves are done."""
    _need_extra()
    import traceback
    from dataclasses import replace

    from eqlab.cli.output import errors
    from eqlab.core.environment import data_folder
    from eqlab.core.errors import EqlabError, UsageError
    from eqlab.core.study import PLACEHOLDER
    from eqlab.store.access import open_store
    from eqlab.store.study.lock import other_version
    from eqlab.store.study.participation import Participation
    from eqlab.study.build_design import open_study
    from eqlab.study.results.analysis import analysis_code, analysis_libraries
    from eqlab.study.web.credentials import credentials
    from eqlab.study.web.settings import is_local

    if public_url and not public_url.startswith(("https://", "http://")):
        raise UsageError(f"--public-url '{public_url}' is not a web address.", "Write https://… or http://…")
    if public_url and not proxy and is_local(host, "") and not is_local(host, public_url):
        raise UsageError(
            f"Others reach this server only through a proxy, since it listens on {host}; --proxy does not name it.",
            "Add --proxy 127.0.0.1: without it nobody's own address is known, and limits by address cannot work.",
        )
    found = credentials(data_folder(), host, public_url, proxy)
    settings = replace(found.settings, arrival_burst=float(per_address), rehearsal=rehearsal)
    tell = (alert_url, alert_command)
    out = errors()

    def work(number: int, listening: "socket | None" = None) -> None:
        with open_store(store) as opened:
            if workers > 1 and opened.engine.dialect.name != "postgresql":
                raise UsageError("Several processes need PostgreSQL.", "Name it with --store, or drop --workers.")

            def say(text: str) -> None:
                if number == 0:
                    out.print(text, markup=False)

            designs = [open_study(path, opened, data, say) for path in files]
            for path, (text, _) in zip(files, designs, strict=True):
                if PLACEHOLDER in text:
                    say(f"! {path.name} still says '{PLACEHOLDER}': people will read it.")
            for _, design in designs:
                if upgraded := other_version(Participation(opened, design), *analysis_code(), analysis_libraries()):
                    say(f"! {upgraded}")
            made_up = found.made_up if number == 0 else ""
            _serve(opened, designs, settings, host, port, made_up, tell, listening, quiet=number > 0)

    if workers == 1:
        work(0)
        return
    from eqlab.study.web.server import listen, share

    shared = listen(host, port)

    def told(number: int) -> None:
        """A process of its own has nobody who would say why it ends."""
        try:
            work(number, shared)
        except EqlabError as error:
            out.print(f"eqlab: {harmless(str(error))}", markup=False)
            raise
        except Exception:
            traceback.print_exc()
            raise

    code = share(workers, told)
    if code:
        raise typer.Exit(1)


def preview(file: File, port: PortFlag = 8001, store: StoreFlag = "", data: DataFlag = None) -> None:
    """Walk through a study as a participant. Nothing is kept: answers go to a folder that is deleted at the end."""
    _need_extra()
    import secrets
    import tempfile
    from dataclasses import replace

    from eqlab.store.access import open_store
    from eqlab.study.build_design import open_study
    from eqlab.study.web.credentials import make_hash
    from eqlab.study.web.settings import ServerSettings

    with open_store(store) as opened:
        text, design = open_study(file, opened, data)
    open_door = replace(design.study, panel=replace(design.study.panel, person=""))  # nobody comes from a panel here
    password = secrets.token_urlsafe(9)
    settings = ServerSettings(secrets.token_bytes(32), make_hash(password), preview=True)
    with (
        tempfile.TemporaryDirectory(prefix="eqlab-preview-") as folder,
        open_store(str(Path(folder) / "preview.db")) as scratch,
    ):
        _serve(scratch, [(text, replace(design, study=open_door))], settings, "127.0.0.1", port, password)


def status(file: File, store: StoreFlag = "", data: DataFlag = None, as_json: JsonFlag = False) -> None:
    """Show how a study stands: places per arm, times against pay, checks, where people leave."""
    from eqlab.cli.output import errors, print_json
    from eqlab.core.results import as_dict
    from eqlab.store.study.lock import other_version
    from eqlab.study.results.analysis import analysis_code, analysis_libraries
    from eqlab.study.results.status import study_status

    with begun_study(file, store, data) as participation:
        found = study_status(participation)
        upgraded = other_version(participation, *analysis_code(), analysis_libraries())
    if upgraded:
        errors().print(f"! {upgraded}", markup=False, style="yellow")
    if as_json:
        print_json(as_dict(found))
        return
    _print_status(found)
    if found.models:
        typer.echo(f"\n{_asked(found.models)}")


def password() -> None:
    """Choose the password of the researcher's page; its hash goes to a file that only you can read."""
    _need_extra()
    from eqlab.core.environment import data_folder
    from eqlab.study.web.credentials import keep_password

    chosen = typer.prompt("Password (at least 10 characters)", hide_input=True, confirmation_prompt=True)
    path = keep_password(data_folder(), chosen)
    print_text(f"The password's hash is in {path}; it takes effect when the server starts next.")


# -- steps of the above ----------------------------------------------------------------------------------------


def _need_extra() -> None:
    from importlib.util import find_spec

    from eqlab.core.errors import UsageError

    if any(find_spec(name) is None for name in ("fastapi", "uvicorn", "argon2")):
        raise UsageError("Serving studies needs an extra.", "Install it with: pip install 'eqlab[study]'")


def _serve(
    store: "Store",
    designs: "Sequence[tuple[str, Design]]",
    settings: "ServerSettings",
    host: str,
    port: int,
    made_up: str,
    tell: tuple[str, str] = ("", ""),
    listening: "socket | None" = None,
    quiet: bool = False,
) -> None:
    from eqlab.store.study.participation import Participation
    from eqlab.study.build_design import begin_study
    from eqlab.study.served_study import Cleaner, ServedStudy
    from eqlab.study.web.log import AlertWatch, tellers
    from eqlab.study.web.server import serve as run_server

    ways = tellers(*tell)
    for text, design in designs:
        begin_study(store, design, text)
    cleaner = Cleaner(store)
    studies = [ServedStudy(Participation(store, design), cleaner=cleaner) for _, design in designs]
    watch = AlertWatch(studies, *ways) if ways and not quiet else None

    def ready(actual: int) -> None:
        if watch is not None:
            watch.start()
        if quiet:
            return
        base = settings.public_url or f"http://{_shown(host)}:{actual}"
        for served in studies:
            print_text(f"{served.study.title}")
            print_text(f"  participants  {_way_in(base, served.study)}")
            print_text(f"  researcher    {base}/researcher/{served.study.id}")
        if made_up:
            print_text(f"Password of the researcher's page, for this start: {made_up}")
        kept = "nothing is kept" if settings.preview else "everything acknowledged is stored"
        print_text(f"Ctrl-C stops; {kept}.")

    run_server(studies, settings, host, port, ready, listening)
    if watch is not None:
        watch.stop()
    if not quiet:
        print_text("Stopped.")


def _way_in(base: str, study: "Study") -> str:
    if study.panel.person and study.panel.signed:
        return f"signed links only: 'eqlab study people links FILE IDS --url {base}'"
    return f"{base}/s/{study.id}" + (f"?{study.panel.person}=…" if study.panel.person else "")


def _shown(host: str) -> str:
    """A name under which others on the network find a server that listens everywhere."""
    import socket

    if host not in ("0.0.0.0", "::"):
        return f"[{host}]" if ":" in host else host
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:  # sends nothing; asks which address would be used
        try:
            probe.connect(("192.0.2.1", 9))
            return str(probe.getsockname()[0])
        except OSError:
            return "localhost"


def _print_status(now: "StudyStatus") -> None:
    from eqlab.cli.output import interval, number, print_rows

    door = "" if now.door == "open" else f", {now.door}"
    print_text(f"{now.title} (study '{now.study}'): {now.done} of {many(now.places, 'place')} done{door}\n")
    arms = [[arm.arm, *(str(n) for n in (arm.open, arm.held, arm.done, arm.extra))] for arm in now.arms]
    print_rows("", ["arm", "open", "held", "done", "extra"], arms, right=["open", "held", "done", "extra"])
    typer.echo("")
    rows = [["people", now.people_said + (f", {now.erased} erased" if now.erased else "")]]
    times = now.times
    if times.minutes.value is not None:
        rows.append(
            ["median time", f"{times.minutes.value:.1f} min ({interval(times.minutes)}, n = {times.minutes.n})"]
        )
        rows.append(["fastest 5 %", f"under {number(times.fast, 1)} min"])
    if times.per_hour is not None and now.budget:
        aim = "below the aim" if times.too_low else "the aim is met"
        rows.append(["pay per hour", f"{now.budget.currency} {times.per_hour:.2f} at the median; {aim}"])
    for name, share in (
        ("attention checks failed", now.attention),
        ("straight-lining", now.straight_lining),
        ("pages too fast", now.too_fast),
    ):
        if share.value is not None:
            rows.append([name, f"{share.value:.1f} % ({interval(share)}, n = {share.n})"])
    if now.budget:
        money = now.budget
        rows.append(["cost", f"{money.currency} {money.spent:.2f} of {money.expected:.2f} expected"])
    print_rows("", ["", ""], rows)
    typer.echo("")
    columns = ["page", "kind", "reached", "there now", "left here", "median s"]
    pages = [
        [str(page.number), page.kind, str(page.reached), str(page.here), str(page.left), _seconds(page.seconds)]
        for page in now.pages
    ]
    print_rows("", columns, pages, right=[name for name in columns if name != "kind"])


def _asked(models: "ModelCalls") -> str:
    from eqlab.core.text import money

    totals = models.totals
    limit = "" if models.max_cost is None else f" of {models.max_cost:g} at most"
    cost = f"cost {money(models.cost, models.currency)}{limit}"
    if models.cost is not None and models.unpriced:
        cost += f" without {', '.join(models.unpriced)}, whose price is not known"
    if len(models.currencies) > 1:
        cost += f", for the prices are in {' and '.join(models.currencies)}"
    left = f", {totals.left} left by a crash" if totals.left else ""
    return (
        f"Models were asked {totals.calls:,} times of {models.max_calls:,} at most ({totals.under_way} under way"
        f"{left}, {totals.failed} failed): {totals.tokens:,} tokens, {cost}."
    )


def _seconds(value: float | None) -> str:
    return "" if value is None else f"{value:.0f}"
