"""Published data: the manifest, a folder of the user's, and fetching from a server on loopback."""

import hashlib
from collections import Counter

import pytest

from eqlab.core.errors import DataError
from eqlab.data import published
from eqlab.data.published import PinnedFile, fetch, find, manifest, published_folder, read, state

CONTENT = b"the file"
PINNED = PinnedFile("eqbench", "O/R", "c0ffee", "data/a file.json", 8, hashlib.sha256(CONTENT).hexdigest())


def test_the_manifest_pins_everything():
    assert Counter(pinned.source for pinned in manifest()) == {
        "emobench": 3,
        "emotionbench": 18,
        "empathy": 1,
        "eqbench": 89,
        "sage": 20,
        "seceu": 5,
        "kumar": 41,
        "culemo": 74,
        "tombench": 6,
        "every_eval_ever": 2,
    }
    assert len({pinned.name for pinned in manifest()}) == len(manifest())
    assert all(len(pinned.sha256) == 64 and len(pinned.commit) == 40 for pinned in manifest())


def test_the_published_folder_is_what_the_manifest_says(published):
    states = [state(pinned, published) for pinned in manifest()]
    assert "changed" not in states
    assert states.count("ok") > 50


def fetched(folder):
    said = []
    fetch([PINNED], folder, lambda pinned, outcome: said.append(outcome))
    return said[0]


@pytest.fixture
def mirror(server, monkeypatch):
    monkeypatch.setenv("EQLAB_MIRROR", server.url.removesuffix("/v1"))
    return server


def test_fetch_keeps_what_is_right_and_replaces_what_is_not(mirror, tmp_path):
    mirror.files["O/R/c0ffee/data/a file.json"] = CONTENT
    assert fetched(tmp_path) == "fetched"
    assert (tmp_path / "eqbench" / "data" / "a file.json").read_bytes() == CONTENT
    assert fetched(tmp_path) == "kept"
    (tmp_path / "eqbench" / "data" / "a file.json").write_bytes(b"other")
    assert state(PINNED, tmp_path) == "changed"
    assert fetched(tmp_path) == "fetched"
    assert state(PINNED, tmp_path) == "ok"


def test_a_file_that_is_not_what_was_pinned_is_refused(mirror, tmp_path):
    mirror.files["O/R/c0ffee/data/a file.json"] = b"tampered"
    assert "sha256" in fetched(tmp_path)
    assert state(PINNED, tmp_path) == "missing"


def test_a_missing_file_and_a_missing_server(mirror, tmp_path, monkeypatch):
    assert fetched(tmp_path).startswith("failed")
    monkeypatch.setenv("EQLAB_MIRROR", "http://127.0.0.1:9")
    with pytest.raises(DataError, match=r"127\.0\.0\.1:9 cannot be reached"):
        fetched(tmp_path)


def test_the_default_address_is_the_pinned_commit():
    assert PINNED.url == "https://raw.githubusercontent.com/O/R/c0ffee/data/a%20file.json"


def test_which_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("EQLAB_CACHE", str(tmp_path / "cache"))
    assert published_folder() == tmp_path / "cache" / "published"
    monkeypatch.setenv("EQLAB_DATA", str(tmp_path))
    assert published_folder() == tmp_path
    with pytest.raises(DataError, match="does not exist"):
        published_folder(tmp_path / "no")


def test_a_missing_file_names_the_command(tmp_path):
    with pytest.raises(DataError, match="eqlab data fetch eqbench"):
        read("eqbench/data/x.json", tmp_path)


def test_find_sees_files_the_manifest_does_not_know(tmp_path):
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "b" / "new.json").write_text("{}")
    assert find("a/**/*.json", tmp_path) == [tmp_path / "a" / "b" / "new.json"]
    assert published.find("a/*.csv", tmp_path) == []
