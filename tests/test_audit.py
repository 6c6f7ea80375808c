"""The dependency audit: what is open is named with its way out, and what was not looked up is never called fine."""

import sys

import pytest
from conftest import ROOT

sys.path.insert(0, str(ROOT / "bench"))
import audit

WEAK = {"name": "w", "version": "1", "vulns": [{"id": "PYSEC-1", "aliases": ["CVE-1"], "fix_versions": ["2"]}]}
FINE = {"name": "f", "version": "1", "vulns": []}
UNKNOWN = {"name": "u", "skip_reason": "not found"}


@pytest.mark.parametrize(
    ("packages", "said", "code"),
    [
        ([FINE], "audit: 1 pinned packages looked up, 0 open advisories", 0),
        ([FINE, FINE, UNKNOWN], "1 pinned packages looked up, 1 not found in the database, 0 open", 0),
        (
            [WEAK, WEAK, FINE],
            "w 1: PYSEC-1 CVE-1; mended in 2\naudit: 2 pinned packages looked up, 1 open",
            1,
        ),
        ([UNKNOWN], "audit: not done, none of 1 packages", 0),
    ],
)
def test_what_an_audit_says(monkeypatch, capsys, packages, said, code):
    monkeypatch.setattr(audit, "audited", lambda files, folder: {"dependencies": packages})
    with pytest.raises(SystemExit) as end:
        audit.main()
    assert end.value.code == code
    assert said in capsys.readouterr().out


def test_no_network_fails_nothing(monkeypatch, capsys):
    monkeypatch.setattr(audit, "audited", lambda files, folder: "the database was not reached: no route")
    audit.main()
    assert "audit: not done, the database was not reached: no route" in capsys.readouterr().out


def test_ci_audits():
    """Beside other work, and what comes of it is waited for."""
    script = (ROOT / ".ci" / "run").read_text()
    assert "\naside audit make audit\n" in script
    assert "\njoined audit " in script
    assert all(file.is_file() for file in audit.EVERY)
