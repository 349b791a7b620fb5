"""The page of a model that the documentation's front page carries, in a real browser."""

from pathlib import Path

import pytest
from site_page import write_model_page
from tests.report.browsing import AUDIT

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(scope="module")
def html(tmp_path_factory):
    page = tmp_path_factory.mktemp("site") / "model-page.html"
    write_model_page(page)
    return page.read_text(encoding="utf-8")


def test_the_front_page_leads_to_the_page_that_the_site_carries():
    assert ":::{button-link} model-page.html" in (DOCS / "index.md").read_text(encoding="utf-8")
    assert '"_build" / "extra" / "model-page.html"' in (DOCS / "conf.py").read_text(encoding="utf-8")


@pytest.mark.parametrize(("width", "dark"), [(1280, False), (390, True)])
def test_a_visitor_tries_the_model(browser, html, width, dark):
    browser.open(html, width=width, dark=dark, hash="#try")
    browser.run(
        "document.getElementById('try-text').value = 'Convert and resize photos in many image formats'"
    )
    browser.run("document.getElementById('try-text').dispatchEvent(new Event('input'))")
    browser.until("document.querySelectorAll('#try-marked mark').length > 0")
    shown = browser.run("document.getElementById('try-labels').textContent")
    assert "works-with::image:raster" in shown
    assert browser.run(AUDIT) == []
    assert browser.console == []
    assert browser.asked == []
