"""A file of weights is hashed whole, once."""

import hashlib
import os

import pytest

from eqlab.models import weights as module
from eqlab.models.weights import fingerprint


@pytest.fixture(autouse=True)
def _small(monkeypatch, tmp_path):
    monkeypatch.setattr(module, "WORTH", 1000)
    monkeypatch.setenv("EQLAB_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def read(monkeypatch):
    """How often a file was read."""
    times = []
    real = module.sha256
    monkeypatch.setattr(module, "sha256", lambda path: times.append(path) or real(path))
    return times


def test_the_end_of_a_large_file_counts_and_it_is_read_once(tmp_path, read):
    """0.1 hashed the first MiB of a file above 1 GiB: fine-tunes of one model had one fingerprint."""
    one, other = tmp_path / "one.gguf", tmp_path / "other.gguf"
    one.write_bytes(bytes(5000) + b"a")
    other.write_bytes(bytes(5000) + b"b")
    assert fingerprint(one) == hashlib.sha256(bytes(5000) + b"a").hexdigest()
    assert fingerprint(one) != fingerprint(other)
    assert fingerprint(one) == hashlib.sha256(bytes(5000) + b"a").hexdigest()
    assert read == [one, other]


def test_a_file_that_changes_is_read_again_whatever_its_date(tmp_path, read):
    path = tmp_path / "m.gguf"
    path.write_bytes(bytes(5000) + b"a")
    before = path.stat()
    first = fingerprint(path)
    path.write_bytes(bytes(5000) + b"b")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))  # as cp -p or rsync -t would leave it
    assert fingerprint(path) != first
    assert len(read) == 2


@pytest.mark.parametrize("broken", [b"", b"[]", b"{", b'{"x": 3}', b"\xff"])
def test_a_broken_cache_costs_time_alone(tmp_path, broken):
    path = tmp_path / "m.gguf"
    path.write_bytes(bytes(5000))
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / "fingerprints.json").write_bytes(broken)
    assert fingerprint(path) == hashlib.sha256(bytes(5000)).hexdigest()


def test_a_cache_that_cannot_be_written_costs_time_alone(tmp_path):
    path = tmp_path / "m.gguf"
    path.write_bytes(bytes(5000))
    (tmp_path / "cache").write_text("a file, not a folder")
    assert fingerprint(path) == hashlib.sha256(bytes(5000)).hexdigest()
