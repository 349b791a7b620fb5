"""Every command shown in docs/cli.md works as it is shown."""

from __future__ import annotations

import csv
import re
import shlex
from pathlib import Path

from click.testing import CliRunner

from hyperlabel.apps.cli import main

PAGE = Path(__file__).parents[2] / "docs" / "cli.md"
TEXTS = {
    ("printing", "hardware"): "The printer jams,\nthe tray is stuck and toner leaks on page {i}.",
    ("billing",): "Invoice {i} was charged twice, please refund.",
    ("hardware",): "The screen of laptop {i} is broken.",
    (): "Hello, just a question.",
}


def write(path, n):
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "body", "minutes", "tags"])
        for i in range(n):
            tags = list(TEXTS)[i % 4]
            writer.writerow([i, TEXTS[tags].format(i=i), 3 * i % 17, "; ".join(tags)])


def test_the_page(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, n in (("tickets", 60), ("new", 16), ("held-out", 16)):
        write(f"{name}.csv", n)
    page = PAGE.read_text(encoding="utf-8")
    Path("run.toml").write_text(re.search(r"```toml\n(.*?)```", page, re.DOTALL)[1])
    lines = re.findall(r"^\$ (.*)$", page, re.MULTILINE)
    assert len(lines) > 20
    for line in lines:
        stdin, _, command = line.rpartition(" | ")
        typed = shlex.split(stdin)[1] + "\n" if stdin else None
        words = shlex.split(command)
        assert words[0] == "hyperlabel"
        done = CliRunner().invoke(main, words[1:], input=typed)
        assert done.exit_code == 0, f"{line}\n{done.output}"
