"""Tools of the repository: pinned versions carry hashes, and a mutant is one change."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace

import lock
import minimum
import mutate
import places
import pytest
import reliability
from packaging.specifiers import SpecifierSet

ROOT = Path(__file__).parents[1]
PINS = lock.pinned((ROOT / "constraints.txt").read_text())


def plain(name):
    return re.sub(r"[-_.]+", "-", name).lower()


def test_everything_setup_installs_is_pinned_and_has_hashes():
    """`make setup` installs constraints.txt and nothing else: what is not in it is not there."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    extras = project["project"]["optional-dependencies"]
    wanted = [*project["project"]["dependencies"], *project["build-system"]["requires"]]
    for extra in extras.keys() - {"bench"}:
        wanted += extras[extra]
    names = {plain(re.split(r"[<>=\[]", one)[0]) for one in wanted} - {"hyperlabel"}
    assert names <= {plain(name) for name in PINS}
    blocks = re.split(r"\n(?=\S)", (ROOT / "constraints.txt").read_text().strip())
    assert len(blocks) == len(PINS)
    assert all(re.search(r"--hash=sha256:[0-9a-f]{64}", block) for block in blocks)


def test_pinned_versions_are_not_below_the_lower_bounds():
    def number(version):
        return tuple(int(part) for part in re.findall(r"\d+", version))

    pins = {plain(name): version for name, version in PINS.items()}
    bounds = dict(re.split(r"(?:\[.*\])?==", bound) for bound in minimum.bounds("all"))
    assert len(bounds) > 15
    assert {name for name, low in bounds.items() if number(pins[plain(name)]) < number(low)} == set()


def test_pinned_versions_run_on_the_oldest_python_the_project_allows():
    """Debian 12 has 3.11.2: a pin that asks for 3.11.5 would end `make demo` there."""
    needs = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["requires-python"]
    oldest = needs.removeprefix(">=") + ".0"
    refused = {}
    for found in metadata.distributions():
        asked = found.metadata.get("Requires-Python")
        if PINS.get(found.name) == found.version and asked and oldest not in SpecifierSet(asked):
            refused[found.name] = asked
    assert refused == {}


def test_hashes_are_kept_of_files_this_project_can_use():
    assert lock.fits("numpy-2.4.6-cp312-cp312-manylinux_2_27_x86_64.manylinux_2_28_x86_64.whl")
    assert lock.fits("click-8.5.1-py3-none-any.whl")
    assert not lock.fits("numpy-2.4.6-cp313-cp313t-macosx_14_0_arm64.whl")
    assert not lock.fits("numpy-2.4.6-cp310-cp310-win_amd64.whl")
    assert not lock.fits("numpy-2.4.6.tar.gz")


SOURCE = '''
def f(a: int = 0, *, b=True) -> "3":
    """Not 5."""
    if a < 1 and b:
        raise ValueError("1 + 1" if a > 2 else "")
    a += 2.5
    return -a * b
'''


def test_every_mutant_is_one_change_of_what_runs():
    number = len(list(mutate.sites(ast.parse(SOURCE))))
    changed = [mutate.mutant(SOURCE, i) for i in range(number)]
    assert {what for _, _, what, _ in changed} >= {
        "a < 1 → a <= 1",
        "a < 1 and b → a < 1 or b",
        "1 → 2",
        "True → False",
        "2.5 → 5.0",
        "a += 2.5 → a -= 2.5",
        "-a * b → -a / b",
        "-a → a",
        "return -a * b → return None",
    }
    original = ast.unparse(ast.parse(SOURCE))
    for source, function, what, line in changed:
        assert source != original
        assert ast.parse(source)
        assert function in ("", "f")
        assert line > 1
        assert "Not 5" in source
        assert "1 + 1" not in what
    assert len({source for source, *_ in changed}) == number


def test_the_nearest_tests_come_first():
    near = mutate.near_tests(ROOT, "hyperlabel/decision/thresholds.py")
    assert near[0].name == "test_thresholds.py"
    assert {path.name for path in (ROOT / "tests" / "decision").glob("test_*.py")} <= {p.name for p in near}


MARKED = '''
"""A module."""
from __future__ import annotations

def outer(n):
    """Not a mark."""
    if n > 1:
        total = sum(
            range(n))
    elif n:
        total = 1
    else:
        total = 0
    return total

@compiled(fastmath=True)
def kernel(n):
    return n + 1

class Thing:
    def method(self):
        return 2
'''


def test_marks_tell_which_functions_and_lines_are_met():
    met = set()
    names = {"places_met": SimpleNamespace(at=met.add), "compiled": lambda **_: lambda function: function}
    source = places.marked(MARKED, "m.py", {7, 9, 11, 13, 18})
    exec(source.replace("import places_met", "pass"), names)
    assert (names["outer"](0), met) == (0, {"m.py", "m.py:outer", "m.py:7", "m.py:13"})
    met.clear()
    assert (names["outer"](3), met) == (3, {"m.py", "m.py:outer", "m.py:7", "m.py:9"})
    met.clear()
    assert (names["kernel"](1), met) == (2, set())
    assert (names["Thing"]().method(), met) == (2, {"m.py", "m.py:Thing.method"})
    assert source.index("Not a mark") < source.index("m.py:outer")


MADE_TESTS = """
import subprocess, sys
import places_met

CODE = "import places_met; places_met.at('there')"

def test_here():
    places_met.at("here")

def test_there():
    subprocess.run([sys.executable, "-c", CODE], check=True)

def test_failing():
    places_met.at("failed")
    assert False
"""


def test_what_a_test_met_in_another_process_counts_and_belongs_to_it_alone(tmp_path):
    (tmp_path / "places_met.py").write_text(places.MODULE)
    (tmp_path / "test_made.py").write_text(MADE_TESTS)
    program = f"import sys; sys.path.insert(0, {str(ROOT / 'tools')!r}); import pytest, places, pathlib;"
    program += (
        "pytest.main(['-q', '-p', 'no:cacheprovider', '.'], plugins=[places.Noting(pathlib.Path('told'))])"
    )
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    subprocess.run([sys.executable, "-c", program], cwd=tmp_path, env=environment, stdout=subprocess.DEVNULL)
    told = [json.loads(line) for line in (tmp_path / "told").read_text().splitlines()]
    assert [(one["test"].partition("::")[2], one["met"]) for one in told] == [
        ("test_here", ["here"]),
        ("test_there", ["there"]),
    ]
    assert places.tests_of(told, ["nowhere", "there"]) == ["test_made.py::test_there"]


def test_every_package_can_be_drawn_from_and_has_its_tests():
    drawn = mutate.draw(ROOT, 400, 0, [])
    packages = {mutate.package_of(file) for file, _ in drawn}
    assert packages >= {"apps/cli", "apps/serve", "datasets", "meta", "modules", "persistence", "tabular"}
    assert {mutate.package_of(file) for file, _ in mutate.draw(ROOT, 5, 0, ["apps/serve"])} == {"apps/serve"}
    near = mutate.near_tests(ROOT, "hyperlabel/apps/serve/app.py")
    assert near[0].parent.name == "serve"
    assert mutate.near_tests(ROOT, "hyperlabel/_files.py")[0].name == "test_files.py"


def test_recorded_figures_stand_in_the_pages_and_a_stale_page_is_seen(tmp_path):
    results = {"planted": {"faults": {"a": True, "b": False}, "day": "2026-01-02", "commit": "abc"}}
    page = "x\n<!-- figures: tools/reliability.py -->\nold\n<!-- end of figures -->\ny\n"
    new = reliability.filled(page, ("figures",), results)
    assert "1 of 2 found; missed: b | 2026-01-02, commit abc |" in new
    assert "old" not in new
    assert new.startswith("x\n<!-- figures")
    assert new.endswith("<!-- end of figures -->\ny\n")
    assert reliability.filled(new, ("figures",), results) == new
    with pytest.raises(SystemExit, match="no place for mutants"):
        reliability.filled(page, ("mutants",), results)
    done = subprocess.run([sys.executable, "tools/reliability.py", "--check"], cwd=ROOT, capture_output=True)
    assert done.returncode == 0, done.stdout
