"""Which test comes to which place of the source: marks in a copy of it, read after each test.

A mark is a call before a statement. It costs a look into a set, works in other processes, and is left out of
compiled functions, where `mutate.py` asks the tests that enter the file.
"""

from __future__ import annotations

import ast
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

NAME = "places_met"  # the module that marks call, written beside the package
FILE, PROCESS = "PLACES_MET_FILE", "PLACES_MET_PROCESS"
MODULE = f"""
import os, time
met, last, file = set(), {{}}, os.environ.get("{FILE}", os.devnull)
def at(place):
    if os.environ.get("{PROCESS}") == str(os.getpid()):
        met.add(place)
    elif time.monotonic() - last.get(place, -1.0) > 0.2:
        last[place] = time.monotonic()
        with open(file, "a") as stream:
            stream.write(place + "\\n")
"""


def marked(source: str, file: str, lines: set[int]) -> str:
    """Return the source with a mark in every function and before the statements of some lines."""
    tree = ast.parse(source)
    _mark_statements(tree, file, lines, "")
    is_first = [
        not (isinstance(one, ast.ImportFrom) and one.module == "__future__")
        and not (isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant))
        for one in tree.body
    ]
    tree.body.insert([*is_first, True].index(True), ast.parse(f"import {NAME}").body[0])
    return ast.unparse(ast.fix_missing_locations(tree))


def _mark_statements(node: ast.AST, file: str, lines: set[int], function: str) -> None:
    for field in ("body", "orelse", "finalbody", "handlers", "cases"):
        statements = getattr(node, field, None)
        if not isinstance(statements, list):
            continue
        marked_statements: list[Any] = []
        for one in statements:
            if isinstance(one, ast.stmt) and function:
                marked_statements += [_mark(f"{file}:{line}") for line in sorted(_own_lines(one) & lines)]
            marked_statements.append(one)
            if isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef)):
                if any("compiled" in ast.unparse(decorator) for decorator in one.decorator_list):
                    continue
                inside = f"{function}.{one.name}".strip(".")
                _mark_statements(one, file, lines, inside)
                has_docstring = isinstance(one.body[0], ast.Expr) and isinstance(
                    one.body[0].value, ast.Constant
                )
                one.body[int(has_docstring) : int(has_docstring)] = [_mark(f"{file}:{inside}"), _mark(file)]
            elif isinstance(one, ast.ClassDef):
                _mark_classes(one, file, lines, f"{function}.{one.name}".strip("."))
            else:
                _mark_statements(one, file, lines, function)
        setattr(node, field, marked_statements)


def _mark_classes(node: ast.ClassDef, file: str, lines: set[int], name: str) -> None:
    """Mark the methods of a class; what stands in its body is run when it is imported."""
    for one in node.body:
        if isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef)):
            holder = ast.Module(body=[one], type_ignores=[])
            one.name, own = f"{name}.{one.name}", one.name
            _mark_statements(holder, file, lines, "")
            one.name = own


def _own_lines(statement: ast.stmt) -> set[int]:
    """Return the lines of a statement without those of the statements inside it."""
    found = set(range(statement.lineno, (statement.end_lineno or statement.lineno) + 1))
    for one in ast.walk(statement):
        if isinstance(one, ast.stmt) and one is not statement:
            found -= set(range(one.lineno, (one.end_lineno or one.lineno) + 1))
    return found


def _mark(place: str) -> ast.stmt:
    return ast.parse(f"{NAME}.at({place!r})").body[0]


class Noting:
    """A pytest plugin: notes the time of a test that passes, and the marks that it comes to."""

    def __init__(self, told: Path) -> None:
        self.told, self.elsewhere = told, told.with_suffix(".elsewhere")
        self.start, self.passed = 0.0, True

    def pytest_sessionstart(self) -> None:
        os.environ |= {FILE: str(self.elsewhere), PROCESS: str(os.getpid())}

    def pytest_runtest_setup(self) -> None:
        self.start, self.passed = time.process_time(), True
        self._met()

    def _met(self) -> set[str]:
        """Return what was met since the last call, in other processes too."""
        module = sys.modules.get(NAME)
        met = set(module.met) if module else set()
        if module:
            module.met.clear()
        if self.elsewhere.exists():
            met |= set(self.elsewhere.read_text().splitlines())
            self.elsewhere.unlink()
        return met

    def pytest_runtest_logreport(self, report: Any) -> None:
        self.passed &= report.passed
        if report.when == "teardown" and self.passed:
            one = {"test": report.nodeid, "seconds": time.process_time() - self.start}
            with self.told.open("a") as stream:
                stream.write(json.dumps(one | {"met": sorted(self._met())}) + "\n")


def tests_of(traced: list[dict[str, Any]], places: list[str]) -> list[str]:
    """Return the tests, the quickest first, that come to the first of some places that any test comes to."""
    for place in places:
        found = sorted((one["seconds"], one["test"]) for one in traced if place in one["met"])
        if found:
            return [test for _, test in found]
    return []
