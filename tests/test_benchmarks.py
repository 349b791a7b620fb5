"""Benchmarks run one way, and the documents that quote them say so."""

from __future__ import annotations

import ast
import importlib.util
import re
from pathlib import Path

import numpy as np
import pytest

from benchmarks import history
from benchmarks._timing import ratio

ROOT = Path(__file__).parents[1]
SCRIPTS = sorted(
    path for path in (ROOT / "benchmarks").glob("*.py") if path.stem != "measure" and path.stem[0] != "_"
)
PAGES = [
    path
    for path in (*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), ROOT / "Makefile", *SCRIPTS)
    if "_build" not in path.parts
]


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_a_benchmark_runs_as_a_module_of_benchmarks(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    assert any(isinstance(node, ast.If) and "__name__" in ast.unparse(node.test) for node in tree.body)
    beside = {other.stem for other in (ROOT / "benchmarks").glob("*.py")}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            assert node.module not in beside, f"{node.module} is found only when run as a script"
            if node.module.startswith("benchmarks."):
                assert importlib.util.find_spec(node.module) is not None


def test_pages_quote_benchmarks_by_the_one_way_to_run_them():
    quoted = set()
    for path in PAGES:
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"python3? +(-m benchmarks(?![.\w])|benchmarks/)", text), path
        assert not re.search(r"`(benchmarks/)?(bench|quality|scale)_\w+\.py`", text), path
        quoted |= set(re.findall(r"python -m benchmarks\.(\w+)", text))
    assert quoted - {"NAME"} <= {path.stem for path in SCRIPTS}
    assert {"bench_closed_form_cv", "bench_foundation"} <= quoted


def test_a_ratio_is_a_median_with_its_range():
    assert ratio(np.array([2.0, 9.0, 4.0]), np.array([1.0, 3.0, 4.0])) == "2x (1 to 3)"


def test_the_history_of_speed_is_whole_and_drawn():
    lines = history.read()
    assert lines
    assert len({line["commit"] for line in lines}) == len(lines)
    assert set(history.CHECKED) <= set(lines[-1]["ratios"]) <= set(history.RATIOS)
    assert all(0 < value < 1000 for line in lines for value in line["ratios"].values())
    drawing, page = history.DRAWING.read_text(encoding="utf-8"), (ROOT / "docs" / "speed.md").read_text()
    assert all(f">{line['commit']}<" in drawing for line in lines)
    assert all(f"| {name} |" in page for name in history.RATIOS)


def test_a_ratio_above_its_limit_fails_and_noise_is_measured_again(monkeypatch, capsys):
    last = {"commit": "abc", "ratios": dict.fromkeys(history.CHECKED, 2.0)}
    monkeypatch.setattr(history, "read", lambda: [last])
    values = {name: iter([2.9]) for name in history.CHECKED}
    monkeypatch.setattr(history, "measured", lambda name: next(values[name]))
    assert history.check() == 0
    values = {name: iter([2.9]) for name in history.CHECKED} | {"ridge": iter([4.0, 3.2, 2.5])}
    assert history.check() == 0  # the third time was quiet
    values = {name: iter([2.9]) for name in history.CHECKED} | {"ridge": iter([4.0, 3.2, 3.1])}
    assert history.check() == 1
    assert "More than 1.5 times the last line of benchmarks/history.jsonl: ridge." in capsys.readouterr().out
