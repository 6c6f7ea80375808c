"""The bad days of bench/faults.py: what misbehaves, and with which flags `eqlab run` meets it."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import _support  # noqa: F401
import hostile_gateway as gateway
import hostile_server as hostile
import hostile_wire as low
from fault_net import AGAIN, HERE, NAME, UNKNOWN, behind_proxy, certificate, deaf, dies_for, names, then_says
from fault_server import (
    Fault,
    another_model,
    bucket,
    cut,
    drip,
    elsewhere,
    empty,
    failed_within,
    fails_on_schema,
    filtered,
    html,
    huge,
    limited,
    nan_usage,
    no_choices,
    none,
    outage,
    rate,
    refusal,
    refusing,
    repeats_the_key,
    reset_in_body,
    revoked,
    saying,
    silence,
    slowly,
    stream_twice,
    text_plain,
    truncated,
    wants_other_names,
)
from fault_world import (
    CLOCK,
    World,
    asleep,
    away,
    file_limit,
    filled,
    killed,
    links_of_a_stranger,
    locked,
    overwritten,
    planned_beside,
    restarted,
    told_to_end,
    told_to_end_soon,
    two_at_once,
)

TRIALS = 12


@dataclass(frozen=True, slots=True)
class Case:
    name: str
    fault: Fault = none
    prelude: str = ""
    """Python that runs in eqlab's process first: limits, clocks."""
    prelude_then: str = ""
    """… and when the command is given again."""
    name_of_host: str = ""
    """A name for the server instead of its number."""
    tls: bool = False
    around: Callable[[World], Iterator[None]] | None = None
    """What happens in the world while it runs."""
    wire: low.Behaviour | None = None
    """A server below JSON instead of one with a fault."""
    database: bool = False
    """Whether the store is a PostgreSQL of its own."""
    trials: int = TRIALS
    timeout: int = 1
    at_once: int = 4
    flags: tuple[str, ...] = ()
    then: tuple[str, ...] | None = None
    """The flags of the command given again; None: the same."""
    stays: bool = False
    """Whether the server goes on like this when the command is given again."""
    environment: Mapping[str, str] = field(default_factory=dict)
    store: str = "s.db"
    disk: int = 0
    """Megabytes of a file system of its own for everything; 0: none."""
    look: Callable[[Path], str] | None = None
    """What else to say of the folder at the end."""
    long: bool = False
    """Minutes: only with --long."""


def key_kept(folder: Path) -> str:
    files = [path for path in folder.rglob("*") if path.is_file()]
    return f"the key is in {sum(KEY.encode() in path.read_bytes() for path in files)} of {len(files)} files"


KEY = "sk-bench/secret-0123456789"

ANTHROPIC = {
    "anthropic-ratelimit-requests-remaining": "0",
    "anthropic-ratelimit-requests-reset": "2030-01-01T00:00:02Z",
}
ANTHROPIC |= {"Date": "Tue, 01 Jan 2030 00:00:00 GMT"}
TOKENS = {"x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "2s"}
DAY = {"Retry-After": "86400"}
NOFILE = "import resource\nresource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))"


def links_left(folder: Path) -> str:
    """Of the two that lead to files of ours, and the files themselves."""
    precious = (folder / "precious.jsonl").read_text() == "mine\n"
    return f"the file behind the links is {'untouched' if precious else 'GONE'}"


GOOD = ("127.0.0.1",)
ALONE = "import eqlab.models.connections\neqlab.models.connections._KEPT = 0.0"
"""A connection for each question."""


def _named(case: str, fault: Fault, prelude: str, **more: Any) -> Case:
    return Case(case, fault, prelude, prelude_then=HERE, name_of_host=NAME, **more)


CASES = (
    Case("time-out", silence),
    Case("connection reset in the middle of a reply", reset_in_body),
    Case("429 with Retry-After: 1", refusing(429, {"Retry-After": "1"}, 4)),
    Case("429 without Retry-After", refusing(429, {}, 4)),
    Case("storm of 500s", refusing(500, {}, 20)),
    Case("truncated JSON", saying(truncated)),
    Case("no choices in the reply", saying(no_choices)),
    Case("an HTML page instead of JSON", saying(html)),
    Case("good JSON, called text/plain", saying(text_plain)),
    Case("many prompts refused", refusal, stays=True),
    Case("a last 10 cut to 1 by the token limit", saying(cut)),
    Case("`finish_reason: error` after some words", saying(failed_within)),
    Case("a filter takes every third reply", filtered, stays=True),
    Case("another model answers from the middle on", another_model),
    Case("20 requests in 5 s allowed, no Retry-After, 16 at once", rate(20, 5.0), trials=40, at_once=16),
    Case("one a second, no Retry-After, 16 at once", bucket(60, 60.0), trials=60, at_once=16, long=True),
    Case("15 a minute, no Retry-After, 16 at once", rate(15, 60.0), trials=60, at_once=16, long=True),
    Case("429 with Gemini's retryDelay of 2 s", limited({}, [{"retryDelay": "2s"}])),
    Case("429 with anthropic-ratelimit-requests-reset", limited(ANTHROPIC)),
    Case("429 with x-ratelimit-reset-tokens of 2 s", limited(TOKENS)),
    Case("429 with Retry-After: 86400, SIGTERM meanwhile", limited(DAY, times=99), around=told_to_end_soon),
    Case("429: the month's quota is used up", hostile.month_over(6)),
    Case("a reset header of 1e400 seconds", hostile.always(hostile.DISGUISED["absurd limits"])),
    Case("a gateway without a server for 8 s", outage(4, 8.0)),
    Case("connections refused for 30 s", slowly, around=away(30.0)),
    Case("connections refused, `--patience 15`", slowly, around=away(180.0), flags=("--patience", "15"), then=()),
    Case("connections refused for 180 s", slowly, around=away(180.0), long=True),
    Case("nothing but empty replies", empty),
    Case("500 to every schema", fails_on_schema, flags=("--structured",), then=()),
    Case("all of hostile_server.py, 64 at once", hostile.mixed(), trials=60, timeout=20, at_once=64),
    Case("a circle of redirects", hostile.always(hostile.CIRCLES["a circle of redirects"])),
    Case("SIGTERM in the middle", slowly, around=told_to_end, trials=60),
    Case(
        "kill -9 in the middle, 64 at once",
        slowly,
        around=killed,
        trials=60,
        at_once=64,
        timeout=20,
        flags=("--repeats", "3"),
    ),
    Case("60,000 trials planned beside it", slowly, around=planned_beside, trials=24),
    Case("a store that is none", none, around=overwritten),
    Case("replies of 10 MB", huge(10_000_000), trials=3, timeout=60),
    Case("replies of 20 MB", huge(20_000_000), trials=3, timeout=60),
    Case("slow drip, byte by byte", drip),
    Case("a stream nobody asked for, events twice", saying(stream_twice)),
    Case("NaN and Infinity as token counts", nan_usage),
    Case("key revoked after 6 answers", revoked(6)),
    Case("a limit of 300 kB a file", none, file_limit(300_000), trials=60),
    Case("a file system of 12 MB that fills up", slowly, around=filled, trials=60, disk=12),
    Case("wall clock jumps by days and years", refusing(429, {"Retry-After": "1"}, 2), CLOCK),
    Case("store locked for 3 s by another program", none, around=locked),
    Case("PostgreSQL restarted in the middle", slowly, around=restarted, database=True, trials=60),
    Case("a stranger's links in TMPDIR and beside the store", around=links_of_a_stranger, look=links_left),
    Case("the key inside an escaped error", repeats_the_key, look=key_kept),
    Case("a redirect to another origin", elsewhere),
    Case("a key of one letter, `m`", wants_other_names, environment={"EQLAB_API_KEY": "m"}),
    Case("a key with a line end", environment={"EQLAB_API_KEY": KEY + "\n"}),
    # what no list foresaw: the server below JSON
    Case("all of hostile_wire.py, 16 at once", wire=low.mixed(), trials=60, at_once=16, timeout=20),
    Case("every reply twice, the second when nobody asked", wire=low.every_reply_twice, trials=40, timeout=20),
    Case("408 to idle connections", wire=low.idle_408, trials=40, timeout=20),
    Case("connections closed without a word", wire=low.hangs_up_unsaid, trials=40, timeout=20),
    Case("a server for four connections, 16 at once", wire=low.four_sockets, trials=40, at_once=16, timeout=20),
    Case("taken and never answered, four times", wire=low.never_reads),
    Case("kept connections that lead nowhere, `--silence 1`", wire=low.forgotten, timeout=20, flags=("--silence", "1")),
    Case(
        "every reply twice, 50 ms later, other words, 16 at once",
        wire=low.twice(0.05, low.another, 0.1),
        trials=60,
        at_once=16,
        timeout=20,
    ),
    Case("every reply twice, 1 s later", wire=low.twice(1.0, thinks=0.3), trials=60, timeout=20),
    Case(
        "each third body longer than it says, the rest before the next reply",
        wire=low.says_less(60, None, every=3),
        trials=60,
        timeout=20,
    ),
    Case("bodies longer than they say at first, the rest 20 ms later", wire=low.once(low.says_less(60, 0.02))),
    # … the way there
    _named("the name cannot be looked up for 5 s", slowly, names((0.0, GOOD), (1.0, AGAIN), (6.0, GOOD)), trials=60),
    _named("the name is unknown for 5 s", slowly, names((0.0, GOOD), (1.0, UNKNOWN), (6.0, GOOD)), trials=60),
    _named("the name cannot be looked up at first", slowly, names((0.0, AGAIN), (0.5, GOOD))),
    _named("the name cannot be looked up at all", none, names((0.0, AGAIN))),
    _named("the name is unknown", none, names((0.0, UNKNOWN))),
    _named("two addresses, the first refuses", none, names((0.0, ("127.0.0.2", "127.0.0.1")))),
    _named("two addresses, the first is IPv6 and refuses", none, names((0.0, ("::1", "127.0.0.1")))),
    _named(
        "two addresses, the first takes no connection",
        none,
        names((0.0, ("127.0.0.2", "127.0.0.1"))),
        around=deaf("127.0.0.2"),
    ),
    _named("two addresses, the first is IPv6 and deaf", none, names((0.0, ("::1", "127.0.0.1"))), around=deaf("::1")),
    Case("the certificate ends in the middle", slowly, ALONE, tls=True, trials=40, around=certificate("old")),
    Case(
        "an untrusted certificate from the middle on",
        slowly,
        ALONE,
        tls=True,
        trials=40,
        around=certificate("stranger"),
    ),
    Case("the proxy dies for 8 s", slowly, tls=True, trials=40, around=behind_proxy(dies_for(8.0)), timeout=20),
    Case(
        "the proxy asks for a password from the middle on",
        slowly,
        tls=True,
        trials=40,
        around=behind_proxy(then_says("407 Proxy Authentication Required")),
    ),
    Case("all of hostile_gateway.py, 16 at once", gateway.mixed(), trials=60, at_once=16, timeout=20),
    Case("a firewall's page for a while", gateway.in_the_middle(gateway.PAGES["a firewall's page"], 4, 12)),
    Case(
        "a router without a backend for a while",
        gateway.in_the_middle(gateway.PAGES["a router without a backend"], 4, 12),
    ),
    Case("Cloudflare's 522 as a page, six times", hostile.page(522, 6)),
    Case("another provider's dialect", hostile.always(hostile.STRANGE["Anthropic's reply"])),
    Case('200 with {"detail": …}', hostile.once(hostile.STRANGE["a detail"])),
    Case("two contents in one message", hostile.once(gateway.FAILED["two contents"])),
    Case("a tool call instead of words", hostile.always(hostile.STRANGE["a tool call"])),
    Case("the model's name in changing capitals", hostile.always(hostile.STRANGE["capitals"])),
    # … and the machine
    Case("64 open files, 256 at once", slowly, NOFILE, trials=60, at_once=256, timeout=20, flags=("--repeats", "2")),
    Case("asleep for 6 s (SIGSTOP)", slowly, around=asleep, trials=24, timeout=20),
    Case(
        "two of us on one store and one rate, 20 trials each", rate(6, 3.0), around=two_at_once, trials=20, timeout=20
    ),
    Case("a terminal without Unicode", environment={"PYTHONIOENCODING": "ascii"}),
    Case("no HOME, no TMPDIR", environment={"HOME": "/nonexistent", "TMPDIR": "/nonexistent"}),
    Case("a store called `a b?mode=ro#%20.db`", store="a b?mode=ro#%20.db"),
)
