"""What is shown while a run goes: how much is done, and how long the rest will take at the pace of this session."""

import io

import pytest
from rich.console import Console

from eqlab.cli.session import Progress
from eqlab.core.answers import Answer

SUBJECT = "model:m"


class Watched:
    """A progress on a terminal, or on a file, with a clock of its own."""

    def __init__(self, *, live=True):
        self.now = 1000.0
        self.out = Console(
            file=io.StringIO(), force_terminal=live, width=160, get_time=lambda: self.now, color_system=None
        )
        self.progress = Progress(self.out)
        self._asked = 0

    def answer(self, seconds, count=1, status="ok", attempt=1):
        for _ in range(count):
            self.now += seconds
            self._asked += 1
            given = Answer("r", f"t{self._asked}", SUBJECT, 0, attempt, "", status, {"calm": 5}, at=self.now)
            self.progress.stored([given])

    def shown(self):
        with self.out.capture() as found:
            self.out.print(self.progress._progress.get_renderable())
        return found.get()


def test_the_time_left_is_that_of_the_pace():
    watched = Watched()
    watched.progress.begun({SUBJECT: (0, 100)})
    assert "-:--:--" in watched.shown(), "nothing is known yet"
    watched.answer(2.0, 10)
    assert "10/100" in watched.shown()
    assert "0:03:00" in watched.shown(), "90 at 2 seconds each"
    watched.answer(2.0, 90)
    assert "0:00:00" in watched.shown()
    assert "calm 5" in watched.shown()


def test_what_was_answered_before_is_no_pace():
    """A run that goes on: 950 of 1,000 in an earlier session must not make the rest look quick."""
    watched = Watched()
    watched.progress.begun({SUBJECT: (950, 1000)})
    watched.answer(10.0, 3)
    assert "953/1000" in watched.shown()
    assert "0:07:50" in watched.shown(), "47 at 10 seconds each"
    assert "950 of 1000 answered before" in watched.out.file.getvalue()


def test_more_to_ask_takes_longer():
    watched = Watched()
    watched.progress.begun({SUBJECT: (0, 20)})
    watched.answer(1.0, 10)
    assert "0:00:10" in watched.shown()
    watched.progress.extended(SUBJECT, 70)
    assert "0:01:00" in watched.shown()
    watched.progress.grown(SUBJECT, 130)
    assert "0:02:00" in watched.shown()


@pytest.mark.parametrize(("status", "attempt"), [("error", 1), ("ok", 2)])
def test_lost_requests_and_second_tries_are_no_progress(status, attempt):
    watched = Watched()
    watched.progress.begun({SUBJECT: (0, 10)})
    watched.answer(1.0, 5, status, attempt)
    assert "0/10" in watched.shown()
    assert watched.progress.heard == 5


def test_elsewhere_than_on_a_terminal_lines_say_it():
    watched = Watched(live=False)
    watched.progress.begun({SUBJECT: (2, 4)})
    watched.answer(1.0, 2)
    said = watched.out.file.getvalue().splitlines()
    assert said[:2] == ["m: 2 of 4 answered before; going on.", "m: 2 trials to ask."]
    assert said[-1] == "m: 4 of 4 answered; last: calm 5"


def test_further_tries_after_the_last_trial_are_not_said_again():
    watched = Watched(live=False)
    watched.progress.begun({SUBJECT: (0, 2)})
    watched.answer(0.0, 2, status="unparseable")
    watched.answer(0.0, 4, status="unparseable", attempt=2)
    said = watched.out.file.getvalue().splitlines()
    assert said[-1] == "m: 2 of 2 answered; last: unparseable"
    assert len(said) == 3


def test_a_long_answer_is_cut_where_one_sees_it():
    watched = Watched(live=False)
    watched.progress.begun({SUBJECT: (0, 1)})
    values = {f"word{number}": number for number in range(20)}
    watched.progress.stored([Answer("r", "t", SUBJECT, 0, 1, "", "ok", values)])
    assert watched.out.file.getvalue().splitlines()[-1].endswith("word6 6, word7 …")
