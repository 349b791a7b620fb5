"""Reports in a real browser: Debian's chromium, headless, from file://, with every request watched."""
# ruff: noqa: E501 - lines of JavaScript

from __future__ import annotations

import json
import re

import pytest
from tests.report.browsing import AUDIT
from tests.report.made_model import HOSTILE, rows, run

from hyperlabel.apps.report import comparison_report

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


def test_a_switch_shows_one_data_set_and_filters_find_rows(browser, many):
    browser.open(comparison_report(many))
    shown = "[...new Set([...document.querySelectorAll('[data-of]')].filter((e) => !e.hidden).map((e) => e.dataset.of))]"
    assert browser.run(shown) == ["one", "two"]
    browser.run(
        "(() => { const s = document.getElementById('switch'); s.value = 'two'; s.dispatchEvent(new Event('change')); })()"
    )
    assert browser.run(shown) == ["two"]
    rows = "[...document.querySelectorAll('#labels-2 tbody tr')].filter((e) => !e.hidden).map((e) => e.cells[0].textContent)"
    assert len(browser.run(rows)) > 12
    browser.run(
        "(() => { const s = document.querySelector('[data-filters=labels-2]'); s.value = 'LABEL & 1'; s.dispatchEvent(new Event('input')); })()"
    )
    found = browser.run(rows)
    assert found
    assert all(name.startswith("label & 1") for name in found)
    assert browser.run("getComputedStyle(document.querySelector('nav')).position") == "sticky"


def test_the_answer_stands_large_beside_the_best_methods(browser, comparison):
    browser.open(comparison_report(comparison))
    assert browser.run("parseFloat(getComputedStyle(document.querySelector('.big')).fontSize)") > 48
    value = browser.run("parseFloat(document.querySelector('.big').textContent)")
    assert value == pytest.approx(comparison.mean("made", comparison.best("made")), abs=5e-4)
    bars = browser.run(
        "[...document.querySelectorAll('.bars li')].map((e) => [e.querySelector('.name').textContent, e.querySelector('.point').getBoundingClientRect().left, Number(e.querySelector('.value').textContent)])"
    )
    assert bars[0][0] == "BinaryRelevance (shared ridge)"
    assert [bar[2] for bar in bars] == sorted((bar[2] for bar in bars), reverse=True)
    # an axis of their own: differences are seen, and drawn in proportion
    steps = [(bars[0][1] - bar[1]) / (bars[0][2] - bar[2]) for bar in bars[1:] if bars[0][2] - bar[2] > 0.01]
    assert steps
    assert max(steps) / min(steps) < 1.2


@pytest.mark.parametrize(("width", "dark"), [(1280, True), (390, False)])
def test_data_files_have_a_page_of_the_same_design(browser, made, tmp_path, width, dark):
    run("data", "report", made["data"], "--labels", "tags", "-o", tmp_path / "data.html")
    browser.open((tmp_path / "data.html").read_text(encoding="utf-8"), width=width, dark=dark)
    text = browser.run("document.body.textContent")
    words = ["labels per row", "taken for", "share of rows", "correlation φ", HOSTILE]
    assert [word for word in words if word not in text] == []
    assert "/home/me" not in text
    assert browser.run(AUDIT) == []
    assert browser.run("document.title") != "hijacked"
    assert browser.console == []
    assert browser.asked == []


def test_data_report_counts_missing_cells_and_says_what_columns_are_for(tmp_path):
    file = tmp_path / "t.csv"
    file.write_text(
        "id,body,n,tags\n1,some words of text,3,a;b\n2,more words of text,,a\n3,,5,\n", encoding="utf-8"
    )
    options = ("--labels", "tags", "--text", "body", "--features", "n")
    run("data", "report", file, *options, "-o", tmp_path / "data.html")
    html = (tmp_path / "data.html").read_text(encoding="utf-8")
    rows = re.findall(r"<tr>(.*?)</tr>", html[html.index('id="columns-1"') :], flags=re.S)
    found = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row) for row in rows[1:5]]
    assert [(name, use, missing, distinct) for name, use, _, missing, _, distinct, _ in found] == [
        ("id", "left out", "0", "3"),
        ("body", "text", "1", "2"),
        ("n", "numbers", "1", "2"),
        ("tags", "labels", "1", "2"),
    ]
    assert found[1][-1] == "some words of text"


def test_evaluate_writes_the_page_of_rows_the_model_has_not_seen(browser, made, tmp_path):
    other = tmp_path / "other.jsonl"
    other.write_text("".join(json.dumps(row) + "\n" for row in rows(80, seed=1)), encoding="utf-8")
    run("evaluate", made["model"], other, "--report", tmp_path / "page.html")
    browser.open((tmp_path / "page.html").read_text(encoding="utf-8"))
    assert browser.run("hyperlabelPage.data.kind") == "as new rows"
    assert "taken as new" in browser.run("document.getElementById('worth').textContent")
    assert browser.run(AUDIT) == []
    assert browser.console == []
