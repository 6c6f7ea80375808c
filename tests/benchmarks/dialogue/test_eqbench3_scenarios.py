"""EQ-Bench 3's scenario file, in made-up words: its data are not here."""

import pytest

from eqlab.benchmarks.dialogue.eqbench3 import parse_scenarios
from eqlab.core.errors import DataError

TEXT = """Some words before the first scenario.

######## 1 | Work | A quarrel | in the kitchen
####### Prompt1
First line,
  and more of it.

####### Prompt2
Second line.
# a heading inside

######## 7 | Analysis
####### Prompt1
One line.\u2028Still the same.

######## 8 | Empty

######## 409 | Family | Odd
####### 1
Said under a heading of its own kind.
"""


@pytest.mark.parametrize("text", [TEXT, TEXT.replace("\n", "\r\n"), "\ufeff" + TEXT])
def test_scenarios_and_their_lines(text):
    one, two, odd = parse_scenarios(text.encode(), "f")
    assert (one.id, one.kind, one.title) == ("1", "Work", "A quarrel | in the kitchen")
    assert one.lines == ("First line,\n  and more of it.", "Second line.\n# a heading inside")
    assert (two.id, two.kind, two.title) == ("7", "Analysis", "")
    assert two.lines == ("One line.\u2028Still the same.",)
    assert (odd.id, odd.lines) == ("409", ("Said under a heading of its own kind.",))
    assert [one.as_published, two.as_published, odd.as_published] == [True, True, False]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "no scenarios"),
        ("words only\n", "no scenarios"),
        ("######## 1\n####### Prompt1\na\n######## 1\n####### Prompt1\nb", "line 4: scenario 1 stands there twice"),
        ("a\n########\n####### Prompt1\nb", "line 2: a scenario without a number"),
        ("########  | Work\n", "line 1: a scenario without a number"),
    ],
)
def test_a_broken_file_says_where(text, words):
    with pytest.raises(DataError, match=words):
        parse_scenarios(text.encode(), "f.txt")


def test_a_file_that_is_no_text():
    with pytest.raises(DataError, match=r"f\.txt is no UTF-8"):
        parse_scenarios(b"########\xff", "f.txt")
