"""The list of slow tests names files and functions that are there."""

from __future__ import annotations

import ast
from pathlib import Path
from types import SimpleNamespace

import pytest
from tests.conftest import SLOW, pytest_collection_modifyitems

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize("entry", sorted(SLOW))
def test_every_entry_names_a_file_or_a_test(entry):
    file, _, function = entry.partition("::")
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    names = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    assert function in names if function else any(name.startswith("test_") for name in names)


def test_listed_files_and_functions_are_marked_and_no_others(tmp_path):
    marked = []

    def item(file, function):
        path = (ROOT if file.startswith("tests") else tmp_path) / file
        return SimpleNamespace(
            path=path, originalname=function, name=f"{function}[0]", add_marker=marked.append
        )

    whole = next(entry for entry in sorted(SLOW) if "::" not in entry)
    file, _, function = next(entry for entry in sorted(SLOW) if "::" in entry).partition("::")
    pytest_collection_modifyitems([item(whole, "test_any"), item(file, function)])
    assert [mark.name for mark in marked] == ["slow", "slow"]
    pytest_collection_modifyitems([item(file, "test_any"), item("elsewhere.py", function)])
    assert len(marked) == 2
