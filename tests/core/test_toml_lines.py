"""Where keys of a TOML file stand: by hand, and for whatever the standard reader accepts."""

import tomllib

from hypothesis import example, given
from hypothesis import strategies as st

from eqlab.core.toml_lines import lines_of


def paths(value, path=()):
    """Every path of a parsed file."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, own in inside:
        yield (*path, key)
        yield from paths(own, (*path, key))


FILE = '''\
# a comment with [brackets] and key = 1
title = "x"   # [no.table]
deep.er."quoted key" = 1
"\\u00e4" = 2

[places]
batch_size = 10
text = """
size = 3
[fake]
ends with a quote""""
after = \'\'\'literal \\ = [x]\'\'\'
list = [
  "a",  # ] not the end
  { one = 1, two = "}" },
]
[[tutorial.question]]
text = "a"
[tutorial.question.more]
x = 1
[[tutorial.question]]
text = "b"
'''


def test_lines_by_hand():
    lines = lines_of(FILE)
    assert lines["title",] == 2
    assert lines["deep", "er", "quoted key"] == lines["deep",] == 3
    assert lines["ä",] == 4
    assert lines["places",] == 6
    assert lines["places", "batch_size"] == 7
    assert lines["places", "text"] == 8
    assert lines["places", "after"] == 12
    assert (lines["places", "list", 0], lines["places", "list", 1, "two"]) == (14, 15)
    assert lines["tutorial", "question", 0, "text"] == 18
    assert lines["tutorial", "question", 0, "more", "x"] == 20
    assert (lines["tutorial", "question", 1], lines["tutorial", "question", 1, "text"]) == (21, 22)
    assert set(lines) == set(paths(tomllib.loads(FILE)))


KEY = st.sampled_from(["a", "b", "c-d", '"q k"', "'l.k'", "a.b", 'x . "y z".w'])
STRING = st.sampled_from(
    ['"plain"', '"es\\"c # ["', "'lit\\'", '"""\nmany\n[lines]\n"""', "'''\n'x' = 1\n'''", '""""q""""', '"\\\\"']
)
SIMPLE = st.one_of(STRING, st.sampled_from(["1", "-2.5", "true", "2027-01-31", "07:30:00", "1e3", "0xff", "inf"]))
VALUE = st.recursive(
    SIMPLE,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(lambda own: "[\n  # ] \n" + ",\n".join(own) + "\n]"),
        st.lists(st.tuples(KEY, inner), max_size=3).map(
            lambda own: "{" + ", ".join(f"{k} = {v}" for k, v in own) + "}"
        ),
    ),
    max_leaves=6,
)
LINE = st.one_of(
    st.tuples(KEY, VALUE).map(lambda pair: f"{pair[0]} = {pair[1]}  # note = [1]"),
    KEY.map(lambda key: f"[{key}]"),
    KEY.map(lambda key: f"  [[ {key} ]] # x"),
    st.sampled_from(["", "# [c]", "\t"]),
)


@given(st.lists(LINE, max_size=12))
@example(["[[a]]", "[[a.b]]", "a = 1", "[[a.b]]", "a = 2", "[[a]]", "[a.b]", "a = 3"])
def test_every_key_of_an_accepted_file_has_its_line(lines):
    text = "\n".join(lines)
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return
    found = lines_of(text)
    assert set(found) == set(paths(data))
    written = text.split("\n")
    for path, line in found.items():
        if isinstance(path[-1], str):
            assert path[-1] in written[line - 1]
