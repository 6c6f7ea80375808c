"""Whose reply it is, without a socket: any schedule of replies that come once, twice, at once, in the rest, or late."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eqlab.models.reply_identity import ConnectionReplies, Ids, Order, ServerReplies, reply_id

NAMES = {"distinct": "r-{}".format, "alike": "r-0".format, "none": lambda _: ""}


Kept = tuple[ConnectionReplies, list[bytes], list[tuple[int, bytes]]]
"""What came over a connection, what is on its way, and who took what."""


@dataclass(frozen=True)
class Step:
    """One question."""

    line: int
    """Which of the connections that are kept it goes over; none: a new one."""
    second: Literal["", "same", "another"]
    """What the server sends after its reply."""
    comes: Literal["at once", "in the rest", "late"]
    """When whatever else is on the way over this connection arrives; late: before the next question's own."""
    slow: bool
    """Whether its reply comes only after others have asked and were answered."""


@dataclass
class World:
    """A pool of connections and a careless server."""

    names: str = "distinct"
    one_word: bool = False
    """Whether all questions get the same words."""
    known: ServerReplies = field(default_factory=ServerReplies)
    kept: list[Kept] = field(default_factory=list)
    answers: dict[int, bytes] = field(default_factory=dict)
    refused: Counter[int] = field(default_factory=Counter)

    def reply(self, number: int, second: str = "") -> bytes:
        said = 0 if self.one_word else number
        more = "-b" if second == "another" else ""
        name = NAMES[self.names](str(number) + more)
        return f'{{"id": "{name}", "text": "{said}{more}"}}'.encode()

    def take(self, step: Step) -> Kept:
        kept = self.known.order is Order.KEPT and self.known.ids is not Ids.PUZZLING
        return self.kept.pop(step.line) if kept and step.line < len(self.kept) else (ConnectionReplies(), [], [])

    def ask(self, number: int, step: Step, line: Kept) -> None:
        self._over(line, number, step)
        while number not in self.answers:
            assert self.refused[number] < 3, "asked in a circle"
            self._over(self.take(step), number, step)

    def _over(self, line: Kept, number: int, step: Step) -> None:
        heard, coming, taken = line
        coming += [self.reply(number)] + [self.reply(number, step.second)] * bool(step.second)
        got = coming.pop(0)
        before = self.known.order
        beyond = coming.pop(0) if coming and step.comes == "at once" else None
        if not self.known.own(heard, number, got, beyond):
            self.refused[number] += 1
            return
        if before is not Order.KEPT:
            assert got == self.reply(number), "out of order, only what is sure is taken"
        if self.known.ids is Ids.DISTINCT:
            assert got not in [other for _, other in taken], "another question's, word for word"
        self.answers[number] = got
        taken.append((number, got))
        if self.known.order is not Order.KEPT or (step.comes == "in the rest" and self.rest(line)):
            return
        self.kept.append(line)

    def rest(self, line: Kept) -> bool:
        """Whether anything came meanwhile."""
        for raw in line[1]:
            self.known.unasked(line[0], raw)
        return bool(line[1])

    def run(self, steps: list[Step]) -> int:
        """How many answers are another question's, when all that was on its way has come."""
        under_way = []
        for number, step in enumerate(steps):
            under_way.append((number, step, self.take(step)))
            if step.slow:
                continue
            while under_way:
                self.ask(*under_way.pop())
        while under_way:
            self.ask(*under_way.pop())
        for line in self.kept:
            self.rest(line)
        return sum(raw != self.reply(number) for number, raw in self.answers.items())


def schedules(*seconds, slow=True):
    comes = st.sampled_from(["at once", "in the rest", "late"])
    late = st.booleans() if slow else st.just(False)
    return st.lists(st.builds(Step, st.integers(0, 3), st.sampled_from(["", *seconds]), comes, late), max_size=30)


@given(schedules("same"))
def test_the_same_reply_twice_is_nobodys_answer_whenever_it_comes_and_no_false_alarm(steps):
    world = World()
    assert world.run(steps) == 0
    assert world.known.suspects == 0
    assert max(world.refused.values(), default=0) <= 1  # then it has a connection of its own


@given(schedules("another"), st.sampled_from(list(NAMES)))
def test_whoever_got_another_reply_is_among_the_suspects(steps, names):
    world = World(names)
    assert world.run(steps) <= world.known.suspects
    assert world.known.order is not Order.BROKEN  # nothing says that it was harmless


@given(schedules("same", "another"), st.sampled_from(list(NAMES)))
def test_out_of_order_only_a_first_reply_is_taken(steps, names):
    """And no reply that is word for word another question's, where names differ: both are asserted on the way."""
    world = World(names)
    world.run(steps)
    assert len(world.answers) == len(steps)


@given(schedules(), st.sampled_from(list(NAMES)), st.booleans())
def test_no_harm_comes_to_whom_replies_once(steps, names, one_word):
    world = World(names, one_word)
    assert world.run(steps) == 0
    assert world.known.order is Order.KEPT
    assert not world.refused or (names == "alike" and one_word)


@given(schedules(slow=False))
def test_replies_that_are_all_the_same_cost_one_question_more(steps):
    world = World("alike", one_word=True)
    world.run(steps)
    assert sum(world.refused.values()) <= 1  # the next new connection tells


def test_what_comes_with_a_reply_breaks_the_order_and_only_a_first_reply_is_then_its_own():
    world = World()
    known, line, other = world.known, ConnectionReplies(), ConnectionReplies()
    assert known.own(line, 1, world.reply(1))
    assert known.own(other, 2, world.reply(2))
    assert not known.own(line, 3, world.reply(1, "another"), beyond=world.reply(3))
    assert known.order is Order.DOUBTED
    assert not known.own(other, 4, world.reply(4))
    assert known.own(
        ConnectionReplies(), 4, world.reply(4), beyond=world.reply(4)
    )  # the first is sure, whatever follows
    assert known.order is Order.DOUBTED  # a doubt does not go away


def test_answers_are_suspects_only_where_nothing_explains_what_came():
    for again, suspects in ((2, 0), (3, 1)):
        world = World()
        known, line = world.known, ConnectionReplies()
        assert known.own(line, 1, world.reply(1))
        assert known.own(line, 2, world.reply(2))
        known.unasked(line, world.reply(again))
        assert known.suspects == suspects
        known.unasked(line, world.reply(1))
        assert known.suspects == suspects


def test_a_puzzle_is_solved_by_the_next_new_connection():
    for names, then in (("distinct", Ids.DISTINCT), ("alike", Ids.ALIKE)):
        world = World(names, one_word=True)
        known, line = world.known, ConnectionReplies()
        assert known.own(line, 1, world.reply(1))
        assert not known.own(line, 2, world.reply(1))
        assert (known.ids, known.order) == (Ids.PUZZLING, Order.KEPT)
        assert known.own(ConnectionReplies(), 2, world.reply(2))
        assert known.ids is then
        assert known.order is (Order.BROKEN if then is Ids.DISTINCT else Order.KEPT)
        assert known.suspects == 0


def test_the_same_reply_to_the_same_question_is_a_cache():
    known, line = ServerReplies(), ConnectionReplies()
    for question, raw in ((1, b'{"id": "a"}'), (2, b'{"id": "b"}'), (2, b'{"id": "b"}'), (1, b'{"id": "a"}')):
        assert known.own(line, question, raw)
    assert known.order is Order.KEPT
    assert not known.own(line, 3, b'{"id": "a"}')
    assert known.order is Order.BROKEN


@pytest.mark.parametrize(
    ("raw", "name"),
    [
        (b'{"id": "chatcmpl-1", "choices": []}', b"chatcmpl-1"),
        (b'{"responseId" : "x"}', b"x"),
        (b'{"id": ""}', b""),
        (b'{"id": 7}', b""),
        (b'{"id": "chatcmpl-', b""),
    ],
)
def test_a_reply_is_known_by_its_name(raw, name):
    assert reply_id(raw) == name
