"""The verbs behind the command line and the Python API: prepare a run, work on it, score it, report it."""

import asyncio
import platform
import shlex
import signal
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from eqlab.benchmarks.registry import load
from eqlab.core.answers import Answer
from eqlab.core.benchmark import Adaptive, Selection
from eqlab.core.errors import EqlabError, UsageError
from eqlab.core.runs import BenchmarkConfig, ModelConfig, RunConfig
from eqlab.core.secrets import holds_secret, secret_among, without_secrets
from eqlab.core.trials import Trial
from eqlab.data.items import items_sha256, read_sources
from eqlab.folders import default_store
from eqlab.models.chat import Chat
from eqlab.models.open import open_chats
from eqlab.models.runner import Asked, Session, run_model
from eqlab.reporting import write_report as write_report
from eqlab.scoring import results as results
from eqlab.store.lock import run_lock
from eqlab.store.store import Store
from eqlab.store.take_in import take_in
from eqlab.store.writer import Writer


def open_store(where: str = "") -> Store:
    """The store at a path or URL; the user's own without one. Answers that it could not take before are taken in."""
    store = Store(where or default_store())
    take_in(store)
    return store


@dataclass(frozen=True, slots=True)
class Request:
    """What a user asks for, before names are looked up."""

    models: tuple[str, ...] = ("embedded",)
    benchmarks: tuple[str, ...] = ("eqbench",)
    items: str = "open"
    profile: str = "full"
    limit: int | None = None
    repeats: int | None = None
    seed: int = 0
    base_url: str = ""
    structured: bool | None = None
    """None: structured for the embedded model, which cannot keep to a form otherwise; free text for all others."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    options: Mapping[str, str] = field(default_factory=dict)
    data: Path | None = None


@dataclass(frozen=True, slots=True)
class Prepared:
    """A run that is ready to start: its frozen configuration and what makes its plan."""

    config: RunConfig
    asked: Mapping[str, Asked]
    files: Mapping[str, Mapping[str, bytes]]

    def selection(self, model: ModelConfig) -> Selection:
        config = self.config
        return Selection(config.profile, config.limit, config.repeats, config.seed, model.structured)

    def plan(self) -> Iterator[tuple[str, str, Trial, int]]:
        """(subject, benchmark, trial, repeat) in the order of asking."""
        for model in self.config.models:
            selection = self.selection(model)
            for name, asked in self.asked.items():
                for trial, repeat in asked.benchmark.plan(self.files[name], asked.options, selection):
                    yield model.subject, name, trial, repeat


def prepare(request: Request) -> Prepared:
    """Look everything up and read the items; raises before anything is asked or stored."""
    for name, count in (("limit", request.limit), ("repeats", request.repeats)):
        if count is not None and count < 1:
            raise UsageError(f"--{name} {count} makes no sense.", "Give 1 or more.")
    _check_secrets(request)
    asked, files, configs = {}, {}, []
    for name in dict.fromkeys(request.benchmarks):
        benchmark = load(name)
        known = {option.name for option in benchmark.option_help()}
        options = benchmark.options(request.items, {k: v for k, v in request.options.items() if k in known})
        asked[name] = Asked(benchmark, options)
        files[name] = read_sources(benchmark.sources(request.items, options), request.data)
        configs.append(
            BenchmarkConfig(name, benchmark.protocol, request.items, items_sha256(files[name]), dict(options))
        )
    _check_options(request, asked)
    models = tuple(
        ModelConfig(
            spec,
            "" if spec == "embedded" else request.base_url,
            spec == "embedded" if request.structured is None else request.structured,
            dict(request.settings),
        )
        for spec in dict.fromkeys(request.models)
    )
    config = RunConfig(models, tuple(configs), request.profile, request.limit, request.repeats, request.seed)
    return Prepared(config, asked, files)


def _check_secrets(request: Request) -> None:
    """A run's configuration is stored and reported, and a command line is seen by everybody on the machine."""
    hint = "Set the provider's variable, or EQLAB_API_KEY with --base-url."
    if holds_secret(request.base_url):
        raise UsageError("The address holds a password or a key, which would be stored with the run.", hint)
    if name := secret_among(request.settings):
        raise UsageError(f"The setting '{name}' looks like a key, which would be stored with the run.", hint)


def _check_options(request: Request, asked: Mapping[str, Asked]) -> None:
    """An option must belong to at least one of the benchmarks."""
    known = {option.name for one in asked.values() for option in one.benchmark.option_help()}
    for name in request.options:
        if name not in known:
            raise UsageError(f"No benchmark of this run has an option '{name}'.", f"Known: {', '.join(sorted(known))}.")


@dataclass(frozen=True, slots=True)
class Outcome:
    run: str
    failures: Mapping[str, EqlabError]
    """Why models stopped early, by subject."""
    interrupted: bool


@dataclass(frozen=True, slots=True)
class Listener:
    """Who wants to hear how a run goes. `stored` is called in the writer's thread, after the commit."""

    say: Callable[[str], None] = lambda _: None
    stored: Callable[[Sequence[Answer]], None] = lambda _: None
    begun: Callable[[dict[str, tuple[int, int]]], None] = lambda _: None
    """(answered before, planned) by subject, once the plan is stored."""
    extended: Callable[[str, int], None] = lambda _, __: None
    """(subject, planned now) when an adaptive run has written down its next round."""


def run(
    prepared: Prepared, store: Store, *, concurrency: int = 16, timeout: float = 120.0, listener: Listener | None = None
) -> Outcome:
    """Start the run, or continue it where it stopped."""
    heard = listener or Listener()
    config = prepared.config
    with run_lock(store, config.id):
        return asyncio.run(_run(prepared, store, concurrency, timeout, heard))


async def _run(prepared: Prepared, store: Store, concurrency: int, timeout: float, heard: Listener) -> Outcome:
    chats = open_chats(prepared.config.models, concurrency=concurrency, timeout=timeout, say=heard.say)
    stop, tasks = asyncio.Event(), list[asyncio.Task[None]]()
    try:
        with on_interrupt(stop, tasks, heard.say):
            return await ask(prepared, store, chats, stop, tasks, heard)
    finally:
        for chat in chats.values():
            await chat.close()


async def ask(
    prepared: Prepared,
    store: Store,
    chats: Mapping[str, Chat],
    stop: asyncio.Event,
    tasks: list[asyncio.Task[None]],
    heard: Listener,
) -> Outcome:
    """Work on a run whose lock the caller holds, with models that are open; what can be dropped goes to `tasks`."""
    config = prepared.config
    identities = {subject: dict(chat.identity()) for subject, chat in chats.items()}
    store.begin_run(config, prepared.plan(), provenance(identities))
    heard.begun(store.progress(config.id))
    loop = asyncio.get_running_loop()
    writer = Writer(store, heard.stored, lambda: _set(stop, loop))
    sessions = [
        Session(config.id, model, config.seed, chats[model.subject], prepared.asked, store, writer.put, stop)
        for model in config.models
    ]
    own = [asyncio.create_task(_rounds(prepared, session, store, writer, heard)) for session in sessions]
    tasks += own
    ends = await asyncio.gather(*own, return_exceptions=True)
    await asyncio.to_thread(writer.close)
    failures = {}
    for session, end in zip(sessions, ends, strict=True):
        if isinstance(end, EqlabError):
            failures[session.model.subject] = end
        elif isinstance(end, BaseException) and not isinstance(end, asyncio.CancelledError):
            raise end
    return Outcome(config.id, failures, stop.is_set())


async def _rounds(prepared: Prepared, session: Session, store: Store, writer: Writer, heard: Listener) -> None:
    while True:
        await run_model(session)
        if session.stop.is_set():
            return
        await asyncio.to_thread(writer.flush)
        if session.stop.is_set():  # the store may have failed meanwhile
            return
        planned = next_round(prepared, store, session.model)
        if planned is None:
            return
        heard.extended(session.model.subject, planned)


def next_round(prepared: Prepared, store: Store, model: ModelConfig) -> int | None:
    """Where a benchmark decides from the answers what to ask next, plan that: how many trials are planned now, or
    None when there is nothing more to ask."""
    run, subject, selection = prepared.config.id, model.subject, prepared.selection(model)
    more: list[tuple[str, Trial, int]] = []
    for name, asked in prepared.asked.items():
        if isinstance(asked.benchmark, Adaptive):
            scored = store.scored(run, subject, name)
            found = asked.benchmark.more(prepared.files[name], asked.options, selection, scored)
            more += [(name, trial, repeat) for trial, repeat in found]
    return store.extend_plan(run, subject, more) if more else None


def _set(stop: asyncio.Event, loop: asyncio.AbstractEventLoop) -> None:
    """From another thread: nothing new is asked, what is under way is waited for."""
    loop.call_soon_threadsafe(stop.set)


class on_interrupt:
    """The first Ctrl-C lets requests under way finish, for they are paid for; the second drops them."""

    def __init__(self, stop: asyncio.Event, tasks: Sequence[asyncio.Task[None]], say: Callable[[str], None]) -> None:
        self._stop, self._tasks, self._say = stop, tasks, say
        self._loop = asyncio.get_running_loop()

    def __enter__(self) -> None:
        try:
            self._loop.add_signal_handler(signal.SIGINT, self._pressed)
        except (ValueError, RuntimeError):  # not in the main thread: the caller's own handling stays
            self._loop = None  # type: ignore[assignment]

    def __exit__(self, *_: object) -> None:
        if self._loop is not None:
            self._loop.remove_signal_handler(signal.SIGINT)

    def _pressed(self) -> None:
        if self._stop.is_set():
            for task in self._tasks:
                task.cancel()
        else:
            self._stop.set()
            self._say("Stopping: waiting for the answers under way (Ctrl-C again drops them).")


def provenance(identities: Mapping[str, Any]) -> dict[str, Any]:
    """What a reader needs to judge, or repeat, a run."""
    packages = ("eqlab", "aiohttp", "sqlalchemy", "numpy", "scipy", "xllamacpp")
    return {
        "versions": {name: found for name in packages if (found := _version(name))},
        "python": platform.python_version(),
        "platform": f"{platform.system()} {platform.machine()}",
        "command": without_secrets(shlex.join(["eqlab", *sys.argv[1:]])),
        "models": dict(identities),
    }


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""
