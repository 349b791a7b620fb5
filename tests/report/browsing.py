"""Debian's chromium, headless, driven over its debugging pipe: real time, real keys, and a watch on requests."""
# ruff: noqa: E501 - lines of JavaScript

from __future__ import annotations

import base64
import fcntl
import json
import os
import select
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update", "--hide-scrollbars"),
    *("--remote-debugging-pipe", "--force-color-profile=srgb"),
)

# What an accessibility checker calls serious: controls and pictures without names, repeated ids, jumps in
# the order of headings, text that stands out too little from what is behind it.
AUDIT = """(() => {
  const found = [], seen = (e) => e.checkVisibility({ visibilityProperty: true });
  const said = (e) => (e.getAttribute("aria-label") || (e.getAttribute("aria-labelledby") || "").split(" ").map((i) => document.getElementById(i)?.textContent ?? "").join("")
    || [...(e.labels ?? [])].map((l) => l.textContent).join("") || e.textContent || e.title || "").trim();
  for (const e of document.querySelectorAll("button, a[href], input, select, textarea, svg[role=img], [role=region], table, summary")) {
    if (seen(e) && !said(e)) found.push("no name: " + e.outerHTML.slice(0, 90));
  }
  const ids = [...document.querySelectorAll("[id]")].map((e) => e.id);
  for (const id of new Set(ids.filter((id, i) => ids.indexOf(id) !== i))) found.push("id twice: " + id);
  let level = 0;
  for (const e of document.querySelectorAll("h1, h2, h3, h4")) {
    if (!seen(e)) continue;
    const now = Number(e.tagName[1]);
    if (now > level + 1) found.push("heading jumps: " + e.textContent);
    level = now;
  }
  for (const e of document.querySelectorAll("[aria-labelledby], [aria-controls]")) {
    for (const id of (e.getAttribute("aria-labelledby") || "").split(" ").filter(Boolean)) if (!document.getElementById(id)) found.push("points nowhere: " + id);
  }
  if (!document.documentElement.lang) found.push("no language");
  const parts = (c) => c.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => { const f = (v) => { v /= 255; return v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; }; return 0.2126 * f(r) + 0.7152 * f(g) + 0.0722 * f(b); };
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const worst = new Map();
  while (walker.nextNode()) {
    const e = walker.currentNode.parentElement;
    if (!walker.currentNode.textContent.trim() || !e || !seen(e) || e.closest("svg, script, style, noscript, datalist, option, :disabled, mark, .unseen, .skip")) continue;
    let back = e;
    while (back && (parts(getComputedStyle(back).backgroundColor)[3] ?? 1) < 1) back = back.parentElement;
    const a = light(parts(getComputedStyle(e).color)), b = light(back ? parts(getComputedStyle(back).backgroundColor) : [255, 255, 255]);
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) worst.set(e.className + " " + e.tagName, ratio.toFixed(2) + " " + e.textContent.slice(0, 30));
  }
  for (const [name, ratio] of worst) found.push("contrast: " + name + " " + ratio);
  if (document.documentElement.scrollWidth > document.documentElement.clientWidth) found.push("wider than the window");
  return found;
})()"""


def find_chromium() -> str:
    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if found is None:
        message = "chromium is missing: apt-get install -y chromium"
        if os.environ.get("HYPERLABEL_BROWSER") == "required":
            pytest.fail(message)
        pytest.skip(message)
    return found


def _high(fd: int) -> int:
    """Move a descriptor out of the way of 3 and 4."""
    moved = fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 10)
    os.close(fd)
    return moved


class Browser:
    """One chromium with one tab; `console` and `asked` say what the page complained of and asked for."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.console: list[str] = []
        self.asked: list[str] = []
        self._next, self._rest = 0, b""
        read, self._out = map(_high, os.pipe())
        self._in, write = map(_high, os.pipe())

        def pipes() -> None:  # chromium reads commands from 3 and answers on 4
            os.dup2(read, 3)
            os.dup2(write, 4)

        self._process = subprocess.Popen(
            [find_chromium(), *FLAGS, f"--user-data-dir={folder / 'profile'}"],
            pass_fds=(3, 4),
            preexec_fn=pipes,
            stderr=subprocess.DEVNULL,
        )
        os.close(read)
        os.close(write)
        self._session: str | None = None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")

    def close(self) -> None:
        self._process.terminate()
        self._process.wait(timeout=20)
        os.close(self._out)
        os.close(self._in)

    def call(self, method: str, **params: Any) -> Any:
        self._next += 1
        message: dict[str, Any] = {"id": self._next, "method": method, "params": params}
        if self._session is not None:
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._read()
            if answer.get("id") == self._next:
                assert "error" not in answer, answer
                return answer["result"]

    def _read(self) -> dict[str, Any]:
        end = time.monotonic() + 60
        while b"\0" not in self._rest:
            if not select.select([self._in], [], [], max(0.0, end - time.monotonic()))[0]:
                raise TimeoutError("chromium does not answer")
            part = os.read(self._in, 1 << 20)
            assert part, "chromium has ended"
            self._rest += part
        line, self._rest = self._rest.split(b"\0", 1)
        message: dict[str, Any] = json.loads(line)
        self._note(message.get("method", ""), message.get("params", {}))
        return message

    def _note(self, method: str, params: dict[str, Any]) -> None:
        if method == "Runtime.consoleAPICalled":
            self.console.append(" ".join(str(a.get("value", "")) for a in params["args"]))
        elif method == "Runtime.exceptionThrown":
            detail = params["exceptionDetails"]
            self.console.append(detail.get("exception", {}).get("description", detail["text"]))
        elif method == "Log.entryAdded":
            self.console.append(params["entry"]["text"])
        elif method == "Network.requestWillBeSent" and not params["request"]["url"].startswith(
            ("data:", "blob:")
        ):
            self.asked.append(params["request"]["url"])

    def open(
        self, html: str, *, width: int = 1280, height: int = 900, dark: bool = False, hash: str = ""
    ) -> None:
        """Show a page; waits until its scripts say that they are done."""
        page = self.folder / "page.html"
        page.write_text(html, encoding="utf-8", errors="surrogatepass")
        self.visit(page.as_uri() + hash, width=width, height=height, dark=dark)
        self.asked = [url for url in self.asked if not url.startswith(page.as_uri())]

    def visit(self, url: str, *, width: int = 1280, height: int = 900, dark: bool = False) -> None:
        self.call("Page.navigate", url="about:blank")
        self.console, self.asked = [], []
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])
        self.call("Page.navigate", url=url)
        self.until(
            "document.readyState === 'complete' && (!document.getElementById('packed') || document.body.dataset.ready)"
        )

    def until(self, condition: str, seconds: float = 30) -> None:
        end = time.monotonic() + seconds
        while not self.run(f"Boolean({condition})"):
            assert time.monotonic() < end, (condition, self.console)
            time.sleep(0.02)

    def run(self, expression: str) -> Any:
        """Evaluate JavaScript (a guarantee is waited for) and return its value."""
        found = self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def press(self, *keys: str) -> None:
        for key in keys:
            text = key if len(key) == 1 else ""
            self.call("Input.dispatchKeyEvent", type="keyDown", key=key, text=text)
            self.call("Input.dispatchKeyEvent", type="keyUp", key=key)

    def picture(self, path: str, *, whole: bool = False) -> None:
        shot = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        Path(path).write_bytes(base64.b64decode(shot["data"]))
