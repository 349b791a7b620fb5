"""Every command shown in docs/cli.md works as it is shown."""

from __future__ import annotations

import csv
import random
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


WORDS = {
    "printer": ["paper", "toner", "jam", "printer", "page"],
    "network": ["router", "wifi", "cable", "connection", "slow"],
    "billing": ["invoice", "refund", "charged", "payment", "euro"],
    "urgent": ["immediately", "urgent", "deadline", "today", "asap"],
}
SMALL_TALK = ["please", "help", "with", "the", "our", "we", "have", "since", "morning", "still"]


def write_messy_export(path, n):
    """Write the export of docs/guides/messy-files.md: Latin-1, semicolons, decimal commas, odd cells."""
    rng = random.Random(0)
    lines = ["Ticket no;Message;Amount;Office;Tags"]
    for i in range(n):
        tags = rng.sample(list(WORDS), rng.choice([1, 1, 2, 2, 3]))
        words = [word for tag in tags for word in rng.sample(WORDS[tag], 3)] + rng.sample(SMALL_TALK, 4)
        price = f"{rng.randint(1, 1999)},{rng.randint(0, 99):02}"
        amount = "about 30" if i in (1, 99) else "n/a" if i % 37 == 5 else price
        office = ("Jyv\xe4skyl\xe4", "Turku", "")[rng.randrange(3)]
        lines.append(";".join([f"T-{1000 + i}", " ".join(words), amount, office, ", ".join(tags)]))
    Path(path).write_text("\n".join(lines) + "\n", encoding="latin-1")


def test_the_guide_to_messy_files(tmp_path, monkeypatch):
    """Each command is run, and each line that the guide shows is among what the command says."""
    monkeypatch.chdir(tmp_path)
    write_messy_export("tickets.csv", 240)
    guide = (PAGE.parent / "guides" / "messy-files.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```console\n(.*?)```", guide, re.DOTALL)
    commands = [command for block in blocks for command in block.removeprefix("$ ").split("\n$ ")]
    assert len(commands) == 3
    for command in commands:
        typed, *shown = command.strip().split("\n")
        done = CliRunner().invoke(main, shlex.split(typed)[1:], env={"COLUMNS": "400"})
        assert done.exit_code == 0, done.output
        said = [line.strip() for line in done.output.splitlines()]
        assert [line for line in shown if line not in said] == [], done.output
