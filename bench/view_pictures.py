"""The pictures of docs/view.md, from a store with two models or more: its first page, a comparison, an item.

python bench/view_pictures.py STORE [FOLDER]
"""

import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

from eqlab.view.app import make_site, serving

FLAGS = ("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update")


def main(where: str, folder: Path) -> None:
    with serving(make_site(where)) as address, sync_playwright() as play:
        browser = play.chromium.launch(executable_path="/usr/bin/chromium", args=list(FLAGS))
        page = browser.new_page(viewport={"width": 1180, "height": 820})
        page.goto(address)
        page.wait_for_selector("table.scores")
        page.screenshot(path=folder / "view-runs.png")
        for box in page.locator("table.scores input[type=checkbox]").all()[:2]:
            box.check()
        page.get_by_role("button", name="Compare the chosen").click()
        page.evaluate("document.getElementById('items').scrollIntoView()")
        page.screenshot(path=folder / "view-compare.png")
        page.locator(".versus-item h3 a").first.click()
        page.wait_for_selector(".answers")
        page.screenshot(path=folder / "view-item.png")
        browser.close()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2] if len(sys.argv) > 2 else "docs"))
