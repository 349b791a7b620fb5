"""The report of reproduced tables and figures: its numbers, and the page in a real browser."""

from __future__ import annotations

import pytest
from tests.report.browsing import AUDIT
from tests.report.html_checks import checked

from reproduction import Curve, Number, Result
from reproduction.html_report import reproduction_report


def spectral_result():
    return Result(
        "kdd08-table2",
        "mean ROC",
        [Number("HG", "scene", 0.861, 0.01, 5, 0.8548), Number("HG", "arts", float("nan"))],
        [Curve("a curve", [1.0, 2.0], {"PLST": [[0.1, 0.2]]}, "M", "loss", log_y=True)],
        ["Data differ."],
        ["Computers: no data"],
    )


def test_a_reproduction_report_shows_both_figures_and_the_difference():
    result = spectral_result()
    html = reproduction_report(
        [result], {"command": "python -m reproduction", "environments": [{"python": "3"}]}
    )
    checked(html)
    for text in ("0.8548", "0.8610", "+0.0062", "Data differ.", "Computers: no data"):
        assert text in html
    markdown = result.markdown()
    assert "| HG | 0.8548 | 0.8610 | 0.0100 | +0.0062 | – | – |" in markdown
    assert "Not reproduced: Computers: no data" in markdown
    assert result.as_dict()["numbers"][1]["ours"] is None


@pytest.mark.parametrize(("width", "dark"), [(1280, True), (390, False)])
def test_the_page_of_reproduced_papers_is_of_the_same_design(browser, width, dark):
    record = {"command": "python -m reproduction --data /home/me/data", "environments": [{"python": "3"}]}
    browser.open(reproduction_report([spectral_result()], record), width=width, dark=dark)
    text = browser.run("document.body.textContent")
    words = ["0.8548", "+0.0062", "python -m reproduction --data data"]
    assert [word for word in words if word not in text] == []
    assert "/home/me" not in text
    assert browser.run(AUDIT) == []
    assert browser.console == []
    assert browser.asked == []
