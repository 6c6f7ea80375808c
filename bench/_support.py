"""Puts tests/support on the path: the servers, faults and databases that tests and measurements share."""

import sys
from pathlib import Path

SUPPORT = Path(__file__).parent.parent / "tests" / "support"
sys.path.insert(0, str(SUPPORT))
