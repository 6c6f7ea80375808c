"""The pictures of docs/view.md: a store of three made-up models, seen in Chromium.

    python bench/view_pictures.py [FOLDER]
"""

import sys
import tempfile
from pathlib import Path
from urllib.parse import urlencode

from playwright.sync_api import sync_playwright
from view_case import fill, prepared

from eqlab.view.app import make_site, serving

FOLDER = Path(sys.argv[1] if len(sys.argv) > 1 else "docs")
FLAGS = ("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update")


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        where = str(Path(folder) / "s.db")
        run = fill(where, prepared(limit=40))
        pair = [("s", f"{run}:model:lab/{name}") for name in ("careful", "hasty")]
        with serving(make_site(where)) as address, sync_playwright() as play:
            browser = play.chromium.launch(executable_path="/usr/bin/chromium", args=list(FLAGS))
            page = browser.new_page(viewport={"width": 1180, "height": 820})
            page.goto(address)
            page.wait_for_selector("table.scores")
            page.screenshot(path=FOLDER / "view-runs.png")
            page.goto(f"{address.split('/?')[0]}/compare?{urlencode(pair)}")
            page.evaluate("document.getElementById('items').scrollIntoView()")
            page.screenshot(path=FOLDER / "view-compare.png")
            page.locator(".versus-item h3 a").first.click()
            page.wait_for_selector(".answers")
            page.screenshot(path=FOLDER / "view-item.png")
            browser.close()


if __name__ == "__main__":
    main()
