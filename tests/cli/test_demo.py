"""The demo runs on the embedded data and its numbers are better than guessing."""

import json

from click.testing import CliRunner

from hyperlabel import datasets
from hyperlabel.cli import demo as demo_module
from hyperlabel.cli import main
from hyperlabel.datasets import load_debtags


def test_demo_prints_a_table_and_a_report(monkeypatch, tmp_path):
    few = load_debtags()[:500]
    monkeypatch.setattr(datasets, "load_debtags", lambda: few)
    wanted = [row for row in demo_module._methods() if "LinearSVC" not in row[0] and "cuts" not in row[0]]
    monkeypatch.setattr(demo_module, "_methods", lambda: wanted)
    page = tmp_path / "demo.html"
    table = CliRunner().invoke(main, ["demo", "--out", str(page)])
    assert table.exit_code == 0, table.output
    assert "BinaryRelevance" in table.stdout
    assert table.stdout.rstrip().endswith("demo.html")
    assert "Which method should I use here?" in page.read_text()


def test_demo_beats_guessing(monkeypatch, tmp_path):
    wanted = [row for row in demo_module._methods() if "shared ridge" in row[0]]
    monkeypatch.setattr(demo_module, "_methods", lambda: wanted)
    numbers = CliRunner().invoke(main, ["demo", "--json", "--out", str(tmp_path / "demo.html")])
    for row in json.loads(numbers.stdout)["results"]:
        assert row["precision_at_1"] > 0.7  # the most frequent tag alone reaches .43
        assert row["ranking_loss"] < 0.1


def test_help_lists_the_commands_without_importing_them():
    page = CliRunner().invoke(main, ["--help"])
    assert page.exit_code == 0
    assert "demo" in page.stdout


def test_unknown_command_and_bad_option_end_with_code_2():
    assert CliRunner().invoke(main, ["nonsense"]).exit_code == 2
    assert CliRunner().invoke(main, ["demo", "--seed", "x"]).exit_code == 2
