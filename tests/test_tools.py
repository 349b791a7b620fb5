"""Tools of the repository: pinned versions carry hashes, and a mutant is one change."""

from __future__ import annotations

import ast
import re
import tomllib
from importlib import metadata
from pathlib import Path

import lock
import minimum
import mutate
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
