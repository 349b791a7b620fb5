"""Reports in a real browser: Debian's chromium, headless, from file://, with every request watched."""
# ruff: noqa: E501 - lines of JavaScript

from __future__ import annotations

import pytest
from tests.report.browsing import AUDIT

from hyperlabel.report import comparison_report

PROBE = """(() => {
  const table = document.getElementById("scores-1");
  const column = () => [...table.tBodies[0].rows].map((row) => row.cells[1].dataset.sort);
  const button = table.tHead.rows[0].cells[1].querySelector("button");
  const found = { before: column() };
  button.focus(); button.click(); found.down = column();
  found.state = table.tHead.rows[0].cells[1].getAttribute("aria-sort");
  button.click(); found.up = column();
  found.said = document.getElementById("said").textContent;
  found.focus = document.activeElement === button;
  found.figures = [...document.querySelectorAll("figure svg")].filter((s) => s.checkVisibility()).map((s) => s.getBoundingClientRect().width);
  return found;
})()"""


@pytest.mark.parametrize(("width", "dark"), [(1280, False), (390, True)])
def test_a_report_opens_sorts_and_asks_for_nothing(browser, comparison, width, dark):
    browser.open(comparison_report(comparison), width=width, dark=dark)
    found = browser.run(PROBE)
    numbers = [float(x) for x in found["before"]]
    assert [float(x) for x in found["down"]] == sorted(numbers, reverse=True)
    assert [float(x) for x in found["up"]] == sorted(numbers)
    assert found["state"] == "descending"
    assert found["said"] == "Sorted by f1_macro, ascending."
    assert found["focus"]
    assert len(found["figures"]) >= 6
    assert min(found["figures"]) > 250
    assert browser.run(AUDIT) == []
    assert browser.console == []
    assert browser.asked == []


def test_the_watchers_see_errors_requests_and_bad_pages(browser):
    """The tests would be worthless if nothing were noticed whatever the page did."""
    browser.open(
        "<!doctype html><body style='color:#999'><img src='http://127.0.0.1:9/x.png'><p id=a>pale</p><i id=a></i>"
        "<button></button><h3>jump</h3><div style='width:200vw'>.</div>"
        "<script>console.error('seen'); missing();</script></body>"
    )
    found = " ".join(browser.run(AUDIT))
    for what in ("no name", "id twice", "heading jumps", "no language", "contrast", "wider"):
        assert what in found
    assert any("seen" in line for line in browser.console)
    assert any("missing is not defined" in line for line in browser.console)
    assert any("127.0.0.1:9" in url for url in browser.asked)
