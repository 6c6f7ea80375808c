"""A file is there whole or not at all."""

import os
import stat

import pytest

from eqlab.core.errors import DataError, UsageError
from eqlab.data.files import whole_file, write_whole


def test_a_file_is_replaced_in_one_step(tmp_path):
    path = tmp_path / "new" / "report.html"
    write_whole(path, "one")
    write_whole(path, "zwei ü")
    assert path.read_text(encoding="utf-8") == "zwei ü"
    assert [one.name for one in path.parent.iterdir()] == ["report.html"]
    os.umask(mask := os.umask(0))
    assert stat.S_IMODE(path.stat().st_mode) == 0o666 & ~mask  # a file to pass on follows the umask


def half(path, failure):
    with whole_file(path) as file:
        file.write(b"half of it")
        raise failure


def test_a_failure_leaves_the_old_file_and_nothing_beside_it(tmp_path):
    path = tmp_path / "answers.csv"
    path.write_text("old")
    with pytest.raises(DataError, match=r"answers\.csv cannot be written: No space left on device.*another place"):
        half(path, OSError(28, "No space left on device"))
    with pytest.raises(KeyboardInterrupt):
        half(path, KeyboardInterrupt())
    assert path.read_text() == "old"
    assert [one.name for one in tmp_path.iterdir()] == ["answers.csv"]


def test_a_folder_is_no_file_and_a_file_no_folder(tmp_path):
    with pytest.raises(UsageError, match="is a folder"):
        write_whole(tmp_path, "x")
    (tmp_path / "file").write_text("x")
    with pytest.raises(DataError, match="cannot be written"):
        write_whole(tmp_path / "file" / "inside.html", "x")


def test_what_is_no_file_is_written_to_as_it_is(tmp_path):
    write_whole(__import__("pathlib").Path("/dev/null"), "x")
    assert os.path.exists("/dev/null")
    assert not os.path.isfile("/dev/null")
