"""What axe finds wrong with a page; what it finds right need not be described, which would take longer."""

from typing import Any

from later import Later

Axe = Later("axe_playwright_python.sync_playwright", "Axe")


def sound(page: Any) -> None:
    found = Axe().run(page, options={"resultTypes": ["violations"]})
    assert found.violations_count == 0, found.generate_report()
