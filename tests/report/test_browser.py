"""Reports in a real browser: Debian's chromium, headless, from file://, watched through its net log."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess

import pytest

from hyperlabel.report import comparison_report

FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update", "--hide-scrollbars"),
    *("--enable-logging=stderr", "--log-level=0", "--virtual-time-budget=3000"),
)
PROBE = """
<script>
addEventListener("load", () => {
  const table = document.getElementById("scores-1");
  const column = () => [...table.tBodies[0].rows].map((row) => row.cells[1].dataset.sort);
  const button = table.tHead.rows[0].cells[1].querySelector("button");
  const found = { before: column() };
  button.focus(); button.click(); found.down = column();
  found.state = table.tHead.rows[0].cells[1].getAttribute("aria-sort");
  button.click(); found.up = column();
  found.said = document.getElementById("said").textContent;
  found.focus = document.activeElement === button;
  found.figures = [...document.querySelectorAll("figure svg")].map((s) => s.getBoundingClientRect().width);
  found.wide = document.documentElement.scrollWidth - document.documentElement.clientWidth;
  found.text = getComputedStyle(document.body).color;
  document.body.dataset.found = JSON.stringify(found);
});
</script>
"""


@pytest.fixture(scope="module")
def chromium():
    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if found is None:
        message = "chromium is missing: apt-get install -y chromium"
        if os.environ.get("HYPERLABEL_BROWSER") == "required":
            pytest.fail(message)
        pytest.skip(message)
    return found


def browse(chromium, folder, html, width=1200):
    page = folder / "report.html"
    page.write_text(html, encoding="utf-8")
    log = folder / "net.json"
    command = [chromium, *FLAGS, f"--user-data-dir={folder / 'profile'}", f"--log-net-log={log}"]
    command += [f"--window-size={width},900", "--dump-dom", page.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    console = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
    events = json.loads(log.read_text(encoding="utf-8"))["events"]
    started = [e["params"] for e in events if "initiator" in e.get("params", {})]
    # What the browser itself asks for (time, updates) has no origin; a file's own requests have "null".
    return done.stdout, console, [p["url"] for p in started if p["initiator"] != "not an origin"]


def found_in(dom):
    text = re.search(r'data-found="([^"]*)"', dom)
    assert text is not None, "the probe did not run"
    return json.loads(text.group(1).replace("&quot;", '"').replace("&amp;", "&"))


@pytest.mark.parametrize("width", [1200, 390])
def test_a_report_opens_sorts_and_asks_for_nothing(chromium, comparison, tmp_path, width):
    html = comparison_report(comparison).replace("</body>", PROBE + "</body>")
    dom, console, asked = browse(chromium, tmp_path, html, width)
    assert console == []
    assert asked == []
    found = found_in(dom)
    numbers = [float(x) for x in found["before"]]
    assert [float(x) for x in found["down"]] == sorted(numbers, reverse=True)
    assert [float(x) for x in found["up"]] == sorted(numbers)
    assert found["state"] == "descending"
    assert found["said"] == "Sorted by f1_macro, ascending."
    assert found["focus"]
    assert len(found["figures"]) >= 7
    assert min(found["figures"]) > 250
    assert found["wide"] <= 0  # wide tables scroll inside the page, the page itself does not


def test_the_watchers_see_errors_and_requests(chromium, tmp_path):
    """The test above would be worthless if the log stayed empty whatever the page did."""
    html = (
        "<!doctype html><body><img src='http://127.0.0.1:9/x.png'>"
        "<script>console.error('seen'); missing();</script></body>"
    )
    _, console, asked = browse(chromium, tmp_path, html)
    assert any("seen" in line for line in console)
    assert any("127.0.0.1:9" in url for url in asked)
