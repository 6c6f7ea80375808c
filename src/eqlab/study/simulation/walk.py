"""Simulated people walk a study's real server: they open the link, read the form of each page and post it, as a browser
without scripts does. They know the study's questions from its design, and nothing of its store."""

import asyncio
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from html.parser import HTMLParser
from typing import Any

import aiohttp

from eqlab.core.design import Design
from eqlab.core.errors import EqlabError
from eqlab.core.trials import Trial
from eqlab.core.values import dataclass
from eqlab.study.simulation.personas import Act, Player

_TRIES = 40
"""How often a page is asked for when the server is away or busy: about twenty seconds."""
_PAUSE = 0.5
_RETRIES = 2
"""How often a model that does not answer is asked again, before a person goes on without it."""
_LOOK = 0.05
"""Seconds between two looks for a reply."""
_TURNS = 1000
"""Added to the number of a turn, to tell it from an attempt at a page."""


class WalkError(EqlabError):
    """The server did what a study's server must not do."""


@dataclass(frozen=True, slots=True)
class ReadPage:
    """A study's page as a program sees it: the form with its fields and choices, and the words around it."""

    fields: dict[str, str]
    """Fields that are filled in already, hidden ones included."""
    choices: dict[str, tuple[str, ...]]
    """Values to choose from, by field: radio buttons, options, named buttons."""
    words: str
    """All text of the page, letters and digits only, to find a stimulus in."""
    resume: str = ""
    """The code with which one goes on in another browser."""

    @property
    def number(self) -> int:
        return int(self.fields["step"])

    @property
    def attempt(self) -> int:
        return int(self.fields.get("attempt", "1"))

    @property
    def scales(self) -> frozenset[str]:
        return frozenset(name[2:] for name in (*self.choices, *self.fields) if name.startswith("v."))


@dataclass(slots=True)
class Walked:
    """What one simulated person saw: the other side of what the store says."""

    player: Player
    end: str = "walking"
    """`done` (an end page), `left`, or `declined` on the way there."""
    posted: set[tuple[int, int]] = field(default_factory=set)
    """(page, attempt) of every post with answers that the server acknowledged by going on."""
    requests: int = 0
    breaks: int = 0
    """Changes of device after which the same page came up again."""
    seen: dict[int, str] = field(default_factory=dict)
    """Kind of each page, by number."""


@dataclass(frozen=True, slots=True)
class Address:
    base: str
    study: str
    parameter: str
    """The panel's name for a person's id; empty: anybody may come, and nobody is known again on another device."""
    prefix: str
    """Sets the ids of one simulation apart from another's."""

    def entry(self, number: int) -> tuple[str, dict[str, str]]:
        return f"{self.base}/s/{self.study}", {self.parameter: f"{self.prefix}{number}"} if self.parameter else {}


class Questions:
    """From a page back to its trial: by the fields of its form, and the words of its stimulus and its answers."""

    def __init__(self, design: Design) -> None:
        self._by_keys: dict[frozenset[str], list[tuple[tuple[str, ...], Trial]]] = {}
        for trial in design.trials.values():
            self._by_keys.setdefault(frozenset(trial.form.keys), []).append((_pieces(trial), trial))
        for key in self._by_keys.values():
            key.sort(key=lambda one: -sum(map(len, one[0])))
        self._arms = {trial.id: batch.arm for batch in design.batches for trial in batch.trials}

    def find(self, page: ReadPage, arms: set[str]) -> Trial:
        """The trial on a page. Two arms may have said the same: then an arm that the person's other pages allow."""
        longest: list[Trial] = []
        size = 0
        for pieces, trial in self._by_keys.get(page.scales, ()):
            length = sum(map(len, pieces))
            if length < size:
                break
            if _in_order(pieces, page.words):
                longest.append(trial)
                size = length
        if not longest:
            raise WalkError(f"Page {page.number} shows none of the study's questions.", "Is it the same study file?")
        own = {self._arms[trial.id] for trial in longest if trial.id in self._arms}
        if own:
            arms.intersection_update((arms & own) or own)
        return next((trial for trial in longest if self._arms.get(trial.id, "") in arms), longest[0])


def _pieces(trial: Trial) -> tuple[str, ...]:
    """The words of a trial in the order of its page."""
    labels = (label for scale in trial.form.scales for _, label in scale.anchors)
    return tuple(piece for text in (trial.stimulus, *labels) if (piece := bare(text)))


def _in_order(pieces: Sequence[str], words: str) -> bool:
    at = 0
    for piece in pieces:
        at = words.find(piece, at)
        if at < 0:
            return False
        at += len(piece)
    return True


async def walk_all(
    design: Design,
    address: Address,
    players: Sequence[Player],
    *,
    at_once: int = 50,
    think: float = 0.0,
    heard: Callable[[Walked], None] = lambda _: None,
) -> list[Walked]:
    """Everybody's way, `at_once` of them at a time; `heard` is called at each end."""
    questions = Questions(design)
    turn = asyncio.Semaphore(at_once)
    async with aiohttp.TCPConnector(limit=0) as connector:

        async def one(player: Player) -> Walked:
            async with turn:
                walked = await _Walk(design, questions, address, player, think, connector).go()
            heard(walked)
            return walked

        return list(await asyncio.gather(*(one(player) for player in players)))


class _Walk:
    """One person's way."""

    def __init__(
        self,
        design: Design,
        questions: Questions,
        address: Address,
        player: Player,
        think: float,
        connector: aiohttp.BaseConnector,
    ) -> None:
        self._questions, self._address, self._player, self._think = questions, address, player, think
        self._connector = connector
        self._quiz = {trial.id for trial in design.quizzes}
        self._talks = next((design.trials[talk] for talk in design.talks), next(iter(design.trials.values())))
        self._may_go_on = design.study.talk is not None and design.study.talk.if_down == "go_on"
        self._arms = set(design.arms)
        self._walked = Walked(player)
        self._session = self._device()

    def _device(self) -> aiohttp.ClientSession:
        """A browser of its own, with its own cookies. Loopback addresses may have cookies too."""
        return aiohttp.ClientSession(
            connector=self._connector,
            connector_owner=False,
            cookie_jar=aiohttp.CookieJar(unsafe=True),
            headers={"Origin": self._address.base, "X-Eqlab-Simulated": "1"},
        )

    async def go(self) -> Walked:
        try:
            page = await self._enter()
            while page is not None:
                page = await self._step(page)
        finally:
            await self._session.close()
        if self._walked.end == "walking":
            self._walked.end = "done"
        return self._walked

    async def _enter(self) -> ReadPage | None:
        address, parameters = self._address.entry(self._player.number)
        page = await self._get(address, parameters)
        if page is None and not self._address.parameter and not self._walked.seen:
            return await self._post(f"{address}/start", {})
        return page

    async def _step(self, page: ReadPage) -> ReadPage | None:
        if page.number == self._player.breaks_at and self._address.parameter and not self._walked.breaks:
            page = await self._change_device(page)
        if "turn" in page.fields:
            return await self._talk(page)
        kind, trial = self._look(page)
        self._walked.seen[page.number] = kind
        act = self._player.act(kind, trial, page.number, page.attempt)
        if act.values is None:
            self._walked.end = "left"
            return None
        if self._think:
            await asyncio.sleep(self._think)
        if self._player.persona == "impatient":
            again = await self._get(self._page, {})
            if again is None or (again.number, again.attempt) != (page.number, page.attempt):
                raise WalkError(f"Reloading page {page.number} brought another page.")
        following = await self._send(page, act)
        if following is not None and (following.number, following.attempt) <= (page.number, page.attempt):
            raise WalkError(f"Page {page.number} was acknowledged and came up again.")
        if trial is not None:
            self._walked.posted.add((page.number, page.attempt))
        if kind == "consent" and not act.agree:
            self._walked.end = "declined"
        return following

    async def _talk(self, page: ReadPage) -> ReadPage | None:
        """A talk from here to its end, turn by turn, as a browser without scripts posts it."""
        number = page.number
        self._walked.seen[number] = "talk"
        if number == self._player.leaves_at:
            self._walked.end = "left"
            return None
        here: ReadPage | None = page
        turn, down = -1, 0
        while here is not None and "turn" in here.fields and here.number == number:
            turn = int(here.fields["turn"])
            self._walked.posted |= {(number, _TURNS + before) for before in range(turn)}
            if "waiting" in here.fields:
                await asyncio.sleep(_LOOK)
                here = await self._get(self._page, {})
                continue
            if self._think:
                await asyncio.sleep(self._think)
            filled: dict[str, str | list[str]] = dict(here.fields)
            if filled.get("do") == "retry":
                down += 1
                if down > _RETRIES and not self._may_go_on:
                    self._walked.end = "left"
                    return None
                filled["do"] = "retry" if down <= _RETRIES else "without"
                await asyncio.sleep(_PAUSE)
            elif filled.get("do") not in ("next", "without"):
                filled |= self._turn(here)
                self._walked.posted.add((number, _TURNS + turn))
            following = await self._post(self._page.removesuffix("page") + "talk", filled)
            if self._player.persona == "impatient":
                await self._post(self._page.removesuffix("page") + "talk", filled)
                following = await self._get(self._page, {})
            here = following
        return here

    def _turn(self, page: ReadPage) -> dict[str, str]:
        """What the person says; the page's words are what they have heard."""
        values, text, _ = self._player.talk(self._talks, page.words)
        if "emotion" not in values:
            return {"v.says": text, "do": "send"}
        leaves = {1: "satisfied", 2: "hurt"}.get(values["leaves"], "send")
        do = leaves if leaves in page.choices.get("do", ()) else "send"
        found = {"v.emotion": str(values["emotion"]), "v.feeling": str(values["feeling"]), "do": do}
        return found | ({"v.says": str(values["says"])} if "v.says" in page.fields else {})

    def _look(self, page: ReadPage) -> tuple[str, Trial | None]:
        if "agree" in page.choices:
            return "consent", None
        if not page.scales:
            return "debrief", None
        trial = self._questions.find(page, self._arms)
        return ("quiz" if trial.id in self._quiz else trial.benchmark), trial

    async def _change_device(self, page: ReadPage) -> ReadPage:
        """To another browser: the link alone lets nobody in who has begun; the code on the page before does."""
        await self._session.close()
        self._session = self._device()
        address, parameters = self._address.entry(self._player.number)
        async with self._session.get(address, params=parameters) as reply:
            self._walked.requests += 1
            who = sealed_name(await reply.text())
        if who is None:
            found = await self._get(self._page, {})
        else:
            found = await self._post(f"{address}/resume", {"who": who, "code": page.resume})
        if found is None or (found.number, found.attempt) != (page.number, page.attempt):
            raise WalkError(f"Page {page.number} was lost on another device.")
        self._walked.breaks += 1
        return found

    async def _send(self, page: ReadPage, act: Act) -> ReadPage | None:
        """The form as a browser posts it. Reading takes no time here: the page is dated back instead, unless the
        simulation thinks for real."""
        filled: dict[str, str | list[str]] = dict(page.fields)
        for key, value in (act.values or {}).items():
            filled[f"v.{key}"] = [str(one) for one in value] if isinstance(value, list) else _posted(value)
            if value is None and f"d.{key}" in page.choices:
                filled[f"d.{key}"] = "1"
        if "agree" in page.choices:
            filled["agree"] = "yes" if act.agree else "no"
        if not self._think and "shown" in filled:
            filled["shown"] = f"{float(page.fields['shown']) - act.seconds:.3f}"
        if self._player.persona != "impatient":
            return await self._post(self._page, filled)
        first, _ = await asyncio.gather(self._post(self._page, filled), self._post(self._page, filled))
        return first

    @property
    def _page(self) -> str:
        return f"{self._address.base}/s/{self._address.study}/page"

    async def _get(self, address: str, parameters: Mapping[str, str]) -> ReadPage | None:
        return await self._ask("GET", address, params=parameters)

    async def _post(self, address: str, fields: Mapping[str, str | list[str]]) -> ReadPage | None:
        """Posted again until it is answered: a repeated post changes nothing."""
        pairs = [(name, one) for name, own in fields.items() for one in (own if isinstance(own, list) else [own])]
        return await self._ask("POST", address, data=pairs)

    async def _ask(self, method: str, address: str, **more: Any) -> ReadPage | None:
        for _ in range(_TRIES):
            try:
                async with self._session.request(method, address, **more) as reply:
                    self._walked.requests += 1
                    text = await reply.text()
                    if reply.status == 200:
                        return read_page(text)
                    if reply.status == 403:
                        raise WalkError(
                            f"{self._address.base} takes no simulated people.",
                            "Serve a study that is neither locked nor begun, with --rehearsal.",
                        )
                    if reply.status not in (429, 502, 503, 504):
                        raise WalkError(f"{method} {reply.url.path} was answered with {reply.status}.")
            except (aiohttp.ClientError, TimeoutError):
                pass  # the server is away for a moment, as servers are
            await asyncio.sleep(_PAUSE)
        raise WalkError(f"{self._address.base} does not answer.", "Is the study being served there?")


def _posted(value: Any) -> str:
    return "" if value is None else str(value)


# -- reading a page ---------------------------------------------------------------------------------------


def bare(text: str) -> str:
    """Letters and digits only: what markup and quotation marks cannot change."""
    return re.sub(r"[\W_]+", "", text).casefold()


def read_page(html: str) -> ReadPage | None:
    """The page's form; None where there is none of a study's page."""
    reader = _Reader()
    reader.feed(html)
    reader.close()
    found = next((form for form in reader.forms if "step" in form.fields), None)
    if found is None:
        return None
    choices = {name: tuple(values) for name, values in found.choices.items()}
    code = re.search(r'<code id="resume">([^<]+)</code>', html)
    return ReadPage(found.fields, choices, bare(" ".join(reader.words)), code.group(1) if code else "")


def sealed_name(html: str) -> str | None:
    """What the page that asks for a resume code wants back with it; None on another page."""
    found = re.search(r'name="who" value="([^"]+)"', html)
    return found.group(1) if found else None


@dataclass(slots=True)
class _Form:
    fields: dict[str, str] = field(default_factory=dict)
    choices: dict[str, list[str]] = field(default_factory=dict)


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.forms: list[_Form] = []
        self.words: list[str] = []
        self._inside: _Form | None = None
        self._select = ""
        self._silent = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        name, value = given.get("name", ""), given.get("value", "")
        if tag in ("script", "style"):
            self._silent = tag
        elif tag == "form":
            self._inside = _Form()
            self.forms.append(self._inside)
        elif self._inside is None:
            return
        elif tag == "select":
            self._select = name
        elif tag == "option" and self._select:
            self._inside.choices.setdefault(self._select, []).append(value)
        elif tag == "textarea" and name:
            self._inside.fields[name] = ""
        elif tag == "button" and name:
            self._inside.choices.setdefault(name, []).append(value)
        elif tag == "input" and name:
            if given.get("type") in ("radio", "checkbox"):
                self._inside.choices.setdefault(name, []).append(value)
            else:
                self._inside.fields[name] = value

    def handle_endtag(self, tag: str) -> None:
        if tag == "form":
            self._inside = None
        elif tag == "select":
            self._select = ""
        elif tag == self._silent:
            self._silent = ""

    def handle_data(self, data: str) -> None:
        if not self._silent:
            self.words.append(data)
