"""Take the pictures of docs/reports.md: pages made anew from the embedded data, in Debian's chromium.

Run ``python tools/picture_pages.py [FOLDER]``; pages that FOLDER holds are not made again.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
IMAGES = ROOT / "docs" / "images"
DESK, PHONE = (1280, 900), (390, 844)
# picture → page, part of it, size, dark
PICTURES = {
    "model-overview": ("model", "#overview", DESK, False),
    "model-label": ("model", "#label=game::strategy", DESK, False),
    "model-map": ("model", "#map", DESK, False),
    "model-row": ("model", "#row", DESK, True),
    "model-phone": ("model", "#label=game::strategy", PHONE, False),
    "demo": ("demo", "", DESK, False),
    "demo-phone": ("demo", "", PHONE, True),
    "data": ("data", "", DESK, False),
}


def pages(folder: Path) -> None:
    """Make the pages by the commands a user would type."""
    from benchmarks.bench_serve import texts

    texts(folder)
    labelled = ["--labels", "tags", "--text", "body"]
    for command in (
        ["fit", "packages.jsonl", *labelled, "-o", "packages.hyper"],
        ["report", "packages.hyper", "packages.jsonl", "-o", "model.html"],
        ["data", "report", "packages.jsonl", *labelled, "-o", "data.html"],
        ["demo", "--out", "demo.html"],
    ):
        if not (folder / command[-1]).exists():
            subprocess.run([sys.executable, "-m", "hyperlabel", *command], cwd=folder, check=True)


def main() -> None:
    sys.path.insert(0, str(ROOT))
    from tests.report.browsing import Browser

    with tempfile.TemporaryDirectory() as name:
        folder = Path(sys.argv[1] if len(sys.argv) > 1 else name)
        pages(folder)
        browser = Browser(Path(name))
        for picture, (page, part, (width, height), dark) in PICTURES.items():
            html = (folder / f"{page}.html").read_text(encoding="utf-8")
            browser.open(html, width=width, height=height, dark=dark, hash=part)
            browser.run("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
            browser.picture(str(IMAGES / f"{picture}.png"))
        browser.close()


if __name__ == "__main__":
    main()
