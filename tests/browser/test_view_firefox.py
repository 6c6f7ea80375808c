"""The view in Firefox: by keyboard from the first page to the words, three widths, in the dark, nothing for axe."""

import pytest

pytest.importorskip("aiohttp")
pytest.importorskip("starlette")
pytest.importorskip("axe_playwright_python")

from browser.firefox import firefox
from eqlab.view.app import make_site, serving


@pytest.mark.claims
def test_from_the_first_page_to_the_words(skilled_store, tmp_path):
    site = make_site(str(skilled_store[0]))
    with serving(site) as address, firefox(tmp_path / "profile", "dark") as window:
        if window is None:
            pytest.skip("firefox is not installed")
        site.shelf.settle(60)

        def check(width):
            window.wide(width)
            assert window.run("document.documentElement.scrollWidth <= window.innerWidth")
            assert window.violations() == []

        window.goto(address)
        assert window.run("matchMedia('(prefers-color-scheme: dark)').matches")
        assert "lab/careful is best" in window.run("document.body.innerText")
        assert "token" not in window.run("location.href")
        check(360)
        window.press("j", "x", "j", "x")
        assert window.run("document.querySelectorAll('input[name=s]:checked').length") == 2
        window.run("document.querySelector('.act button').click()")  # Enter needs a window in focus, which none has
        window.wait("location.pathname.endsWith('/compare') && document.querySelector('.versus-item a')")
        assert "is better than" in window.run("document.querySelector('.lead').textContent")
        check(768)
        window.run("document.querySelector('.versus-item a').click()")
        window.wait("location.pathname.endsWith('/item') && document.readyState === 'complete'")
        check(1280)
        first = window.run("location.href")
        window.press("j")
        window.wait(f"location.href !== '{first}' && document.readyState === 'complete'")
        window.run("document.body.append(document.createElement('img'))")
        assert any("image-alt" in one for one in window.violations())  # axe did look
        assert window.problems == []
