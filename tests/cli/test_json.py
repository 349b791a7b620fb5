"""``--json`` of every command is what docs/cli.md says, and the page names every option."""

from __future__ import annotations

import json
import re
from pathlib import Path

import click
import numpy as np
import pytest
from click.testing import CliRunner
from tests.json_schema import faults

from hyperlabel import datasets
from hyperlabel.apps.cli import _COMMANDS, main
from hyperlabel.apps.cli import demo as demo_module
from hyperlabel.datasets import load_debtags

PAGE = (Path(__file__).parents[2] / "docs" / "cli.md").read_text(encoding="utf-8")
SCHEMA = json.loads(re.search(r"## JSON.*?```json\n(.*?)```", PAGE, re.DOTALL)[1])


def test_the_check_finds_faults():
    kind = {"a": "int", "b?": ["text"], "*": "number?"}
    assert faults({"a": 1, "c": None, "b": ["x"]}, kind) == []
    assert len(faults({"a": True, "b": [1], "c": "x"}, kind)) == 3
    assert faults({}, kind) == ["$: no a"]
    assert faults({"a": 1, "d": 2}, {"a": "int"}) == ["$: d is not documented"]


def run(*arguments):
    done = CliRunner().invoke(main, [str(a) for a in arguments])
    assert done.exit_code == 0, done.output
    return done.stdout


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("json")
    rng = np.random.default_rng(0)
    for name, n in (("old", 120), ("new", 60)):
        lines = ["body,section,size,tags"]
        for _ in range(n):
            tags = [tag for tag in ("red", "blue", "green") if rng.random() < 0.4]
            words = " ".join([*tags, "said", "here", f"w{rng.integers(9)}"])
            lines.append(f"{words},{rng.choice(['a', 'b'])},{rng.random():.2f},{';'.join(tags)}")
        (folder / f"{name}.csv").write_text("\n".join(lines) + "\n")
    for more in ((), ("--precision", 0.5)):
        run("fit", folder / "old.csv", "--labels", "tags", *more, "-o", folder / f"m{len(more)}.hyper")
    run("fit", folder / "old.csv", "--labels", "tags", "--method", "plst", "-o", folder / "plst.hyper")
    return folder


TAGS = ("--labels", "tags")
COMPARE = ("--methods", "ridge,prior", "--folds", 2, "--repeats", 1, "--no-curves", "--no-tune")
CALLS = {
    "fit": [("fit", "{p}/old.csv", *TAGS, "-o", "{p}/x.hyper")],
    "fit --dry-run": [("fit", "{p}/old.csv", *TAGS, "--dry-run")],
    "predict, a line for each row": [
        ("predict", "{p}/m0.hyper", "{p}/new.csv", "--top", 2),
        ("predict", "{p}/m0.hyper", "{p}/new.csv", "--top", 2, "--scores"),
    ],
    "evaluate": [
        ("evaluate", "{p}/m0.hyper", "{p}/new.csv", "--worst", 2),
        ("evaluate", "{p}/m2.hyper", "{p}/new.csv"),
    ],
    "explain": [
        ("explain", "{p}/m0.hyper", "{p}/new.csv", "--row", 2),
        ("explain", "{p}/plst.hyper", "--label", "red"),
    ],
    "update": [("update", "{p}/m0.hyper", "{p}/new.csv", "--rename-label", "red=rot", "-o", "{p}/u.hyper")],
    "compare": [("compare", "{p}/old.csv", *TAGS, *COMPARE, "--store", "{p}/s.sqlite", "-o", "{p}/r.html")],
    "compare --list-methods": [("compare", "--list-methods")],
    "demo": [("demo", "--out", "{p}/demo.html")],
    "doctor": [("doctor",)],
    "data info": [("data", "info", "{p}/old.csv", *TAGS), ("data", "info", "debtags")],
    "data split": [("data", "split", "{p}/old.csv", *TAGS, "--out", "{p}/parts")],
    "data drift": [("data", "drift", "{p}/old.csv", "{p}/new.csv", "--model", "{p}/m0.hyper")],
}


@pytest.mark.parametrize("name", list(SCHEMA))
def test_json_is_what_the_page_says(name, place, monkeypatch):
    few = load_debtags()[:300]
    if name == "demo":
        monkeypatch.setattr(datasets, "load_debtags", lambda: few)
        monkeypatch.setattr(demo_module, "_METHODS", ["ridge", "mlknn"])
    for call in CALLS[name]:
        printed = run(*(str(part).format(p=place) for part in call), "--json")
        each = printed.splitlines() if name.startswith("predict") else [printed]
        for value in map(json.loads, each):
            assert faults(value, SCHEMA[name]) == []
            assert "NaN" not in printed


def commands():
    """Yield every command by its name, those of `data` with both words."""
    context = click.Context(main)
    for name in _COMMANDS:
        command = main.get_command(context, name)
        inside = getattr(command, "commands", None)
        yield from ((f"{name} {key}", one) for key, one in inside.items()) if inside else [(name, command)]


def test_every_command_with_json_is_on_the_page():
    with_json = {name for name, command in commands() if any("--json" in p.opts for p in command.params)}
    described = {re.match(r"(data )?\w+", name)[0] for name in SCHEMA}
    assert with_json == described
    assert set(CALLS) == set(SCHEMA)


def test_every_option_is_on_the_page():
    for name, command in commands():
        options = [o for p in command.params for o in [*p.opts, *p.secondary_opts] if o.startswith("--")]
        missing = [option for option in options if f"`{option}" not in PAGE]
        assert missing == [], name
