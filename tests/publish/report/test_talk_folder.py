"""The folder of talks: the same files whoever writes them, and none of an earlier report stay."""

import pytest
from test_talk_pages import two

from eqlab.core.errors import EqlabError
from eqlab.publish.groups import group
from eqlab.publish.report import talk_pages as talk_folder
from eqlab.publish.report.talk_pages import Home, talk_files, write_talks
from eqlab.runs.parallel import WorkerProcesses

HOME = Home("Report", "../r.html", 0.0, "1")


def read(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_the_same_files_here_and_elsewhere(tmp_path, monkeypatch):
    records = [two()]
    wanted = dict(talk_files(records, back="../r.html", generated_at=0.0, version="1"))
    write_talks(tmp_path / "here", group(records), HOME).result()
    monkeypatch.setattr(talk_folder, "MANY", 1)
    with WorkerProcesses(2) as workers:
        write_talks(tmp_path / "not-started", group(records), HOME, workers).result()
        assert not workers.started  # a process is not started for talks alone
        workers.submit(abs, 1).result()
        write_talks(tmp_path / "there", group(records), HOME, workers).result()
    assert read(tmp_path / "here") == read(tmp_path / "there") == read(tmp_path / "not-started") == wanted


def test_pages_of_an_earlier_report_go_and_what_is_not_ours_stays(tmp_path):
    folder = tmp_path / "r-talks"
    folder.mkdir()
    for name in ("talk-99.html", "persona-9.html", "notes.html"):
        (folder / name).write_text("old")
    write_talks(folder, group([two()]), HOME).result()
    assert not {"talk-99.html", "persona-9.html"} & set(read(folder))
    assert (folder / "notes.html").read_text() == "old"


def test_a_failure_elsewhere_keeps_its_way_out(tmp_path, monkeypatch):
    monkeypatch.setattr(talk_folder, "MANY", 1)
    folder = tmp_path / "r-talks"
    (folder / "talk-1.html").mkdir(parents=True)  # a folder where a page should be
    with WorkerProcesses(2) as workers:
        workers.submit(abs, 1).result()
        with pytest.raises(EqlabError, match="is a folder"):
            write_talks(folder, group([two()]), HOME, workers).result()
