"""The checker of the import contract sees what import-linter cannot; the drawing shows the architecture."""

from __future__ import annotations

import ast
import xml.etree.ElementTree as ET

import pytest
from architecture import Architecture
from call_trace import DRAWING, MOST_TURNS, draw, journeys, trace
from sklearn.datasets import make_multilabel_classification

import hyperlabel as hl

LAYERS = """
[tool.importlinter]
[[tool.importlinter.contracts]]
type = "layers"
layers = ["(upper)", "middle | (beside)", "lower", "_base"]
"""
DOOR = (
    '_PACKAGES = {"upper": ("Roof",), "middle": ("Floor",), "lower": ("Cellar",)}\n_MODULES = ("beside",)\n'
)


def build(tmp_path, **modules):
    """A small package called hyperlabel; modules are given as room__file="source"."""
    package = tmp_path / "hyperlabel"
    for folder in ("upper", "middle", "beside", "lower"):
        (package / folder).mkdir(parents=True)
        (package / folder / "__init__.py").write_text("")
    (package / "__init__.py").write_text(DOOR)
    (package / "_base.py").write_text("")
    for name, source in modules.items():
        folder, _, file = name.partition("__")
        (package / folder / f"{file}.py").write_text(source)
    project = tmp_path / "pyproject.toml"
    project.write_text(LAYERS)
    return Architecture(package, project)


@pytest.mark.parametrize(
    ("source", "kind"),
    [
        ("from hyperlabel.upper import Roof", "import"),
        ("from hyperlabel import Roof", "import"),
        ("import hyperlabel.upper", "import"),
        ("import hyperlabel as hl\ndef make():\n    return hl.Roof()", "lazy name"),
        ("import hyperlabel\nmake = lambda: hyperlabel.Roof()", "lazy name"),
        ("import hyperlabel as hl\nmake = lambda: hl.beside", "lazy name"),
        ("import hyperlabel as hl\nmake = lambda name: getattr(hl, name)", "lazy name"),
        ("PARTS = {'a': ('hyperlabel.upper', 'Roof')}", "string"),
        (
            "_PACKAGES = ('lower', 'upper')\nload = lambda r: importlib.import_module(f'hyperlabel.{r}')",
            "string",
        ),
        ("load = lambda r: import_module(f'hyperlabel.{r}.parts')", "string"),
    ],
)
def test_no_way_up_or_aside_stays_unseen(tmp_path, source, kind):
    faults = build(tmp_path, middle__work=source).faults()
    assert len(faults) == 1, faults
    assert "hyperlabel/middle/work.py:" in faults[0]
    assert f"({kind}), which is" in faults[0]


@pytest.mark.parametrize(
    "source",
    [
        "from hyperlabel.lower import Cellar",
        "from hyperlabel._base import Base",
        "from hyperlabel import __version__",
        "from hyperlabel.middle._own import _part",
        "import hyperlabel as hl\ndef make():\n    return hl.Cellar()",
        "_PACKAGES = ('lower', '_base')\nload = lambda r: importlib.import_module(f'hyperlabel.{r}')",
        "text = f'hyperlabel.{name} says: see hyperlabel.upper for more'",
    ],
)
def test_ways_down_and_within_a_room_are_free(tmp_path, source):
    assert build(tmp_path, middle__work=source).faults() == []


@pytest.mark.parametrize(
    "source", ["from hyperlabel.lower._parts import Stone", "from hyperlabel.lower.parts import _stone"]
)
def test_private_names_stay_in_their_room(tmp_path, source):
    (fault,) = build(tmp_path, middle__work=source).faults()
    assert "private names stay in their package" in fault


def test_a_room_without_a_floor_is_named(tmp_path):
    architecture = build(tmp_path)
    (architecture.package / "attic").mkdir()
    (architecture.package / "attic" / "__init__.py").write_text("")
    assert architecture.faults() == ["attic stands in no layer: add it to the layers in pyproject.toml."]


def test_the_drawing_changes_with_the_imports(tmp_path):
    before = draw(build(tmp_path / "before"))
    after = draw(build(tmp_path / "after", upper__work="import hyperlabel as hl\nmake = lambda: hl.Cellar"))
    assert before != after
    assert "upper imports lower" in after


def test_the_drawing_has_every_room_and_fits_the_page():
    drawing = ET.fromstring(DRAWING.read_text(encoding="utf-8"))
    packages = [text.text for text in drawing.iter("{http://www.w3.org/2000/svg}text")]
    assert set(Architecture().packages) <= set(packages)
    assert int(drawing.attrib["width"]) <= 900


def decisions(function):
    """Ways through a function: branches, loops, and-or, comprehensions and their conditions."""
    count = 1
    for node in ast.walk(function):
        match node:
            case (
                ast.If() | ast.IfExp() | ast.ExceptHandler() | ast.Assert() | ast.match_case() | ast.Lambda()
            ):
                count += 1
            case ast.For() | ast.While():
                count += 1 + bool(node.orelse)
            case ast.BoolOp():
                count += len(node.values) - 1
            case ast.comprehension():
                count += 1 + len(node.ifs)
    return count


def most_decisions(function):
    """15; 17 in a kernel, where each helper is one more function that a first call compiles."""
    is_kernel = any("compiled" in ast.unparse(decorator) for decorator in function.decorator_list)
    return 17 if is_kernel else 15


def test_no_function_takes_more_than_fifteen_decisions():
    too_many = {
        f"{path.name}: {node.name}": decisions(node)
        for path in sorted(Architecture().package.rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef) and decisions(node) > most_decisions(node)
    }
    assert too_many == {}


@pytest.mark.parametrize(("name", "most"), MOST_TURNS.items())
def test_data_walks_one_way(name, most):
    """Steps between packages that go back on the step before, in every fit of this kind that we follow."""
    turns = {title: trace(fit).turns for title, fit in journeys().items() if title.startswith(name)}
    assert turns
    assert {title: count for title, count in turns.items() if count > most} == {}


def test_wrappers_validate_y_once():
    """Also where they fit other classifiers on it, on all rows and on folds."""
    X, Y = make_multilabel_classification(n_samples=80, n_classes=4, random_state=0)
    wrappers = {
        "ThresholdTuner": hl.ThresholdTuner(hl.BinaryRelevance()),
        "ThresholdTuner, split": hl.ThresholdTuner(hl.BinaryRelevance(), cv="split"),
        "MultiLabelCalibrator": hl.MultiLabelCalibrator(),
        "AutoMultiLabel": hl.AutoMultiLabel(methods=["ridge"]),
        "closed form": hl.ClosedFormSearchCV(hl.BinaryRelevance(), {"alpha": [1.0, 10.0]}),
        "refits": hl.ClosedFormSearchCV(hl.LPP(2), {"alpha": [1.0, 10.0]}, cv=2),
        "nested": hl.ThresholdTuner(hl.ClosedFormSearchCV(hl.BinaryRelevance(), {"alpha": [1.0, 10.0]})),
    }
    counts = {name: trace(lambda w=w: w.fit(X, Y)).y_validations for name, w in wrappers.items()}
    assert counts == dict.fromkeys(wrappers, 1)


def test_every_journey_has_a_limit():
    assert [title for title in journeys() if not title.startswith(tuple(MOST_TURNS))] == []


def private_sklearn(source):
    """Names and modules of scikit-learn with an underscore that a source imports, and functions unwrapped."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "sklearn":
            names = [*node.module.split("."), *(alias.name for alias in node.names)]
            found += [name for name in names if name.startswith("_")]
        if isinstance(node, ast.Attribute) and node.attr == "__wrapped__":
            found.append(node.attr)
    return found


def test_private_parts_of_scikit_learn_are_imported_in_one_place():
    assert private_sklearn("from sklearn.a._b import c, _d\nf.__wrapped__(1)") == ["_b", "_d", "__wrapped__"]
    package = Architecture().package
    private_uses = {
        str(path.relative_to(package)): names
        for path in sorted(package.rglob("*.py"))
        if (names := private_sklearn(path.read_text(encoding="utf-8")))
    }
    assert private_uses.keys() == {"_sklearn_compat.py", "solvers/compiling.py"}
    assert set(private_uses["solvers/compiling.py"]) == {"__wrapped__"}  # of compiled functions, not theirs


@pytest.mark.parametrize(
    "old_list",
    [
        "LOWER_IS_BETTER",
        "THRESHOLD_MEASURES",
        "WALKED",
        'removeprefix("f1_")',
        'startswith("f1',
        'strategy == "per_label":',
        'strategy == "global"',
        'strategy == "proportional"',
        'strategy == "top_k"',
        '"global", "top_k"',
        '"global", "label_set_size"',
    ],
)
def test_facts_of_measures_and_strategies_stand_once(old_list):
    """`Measure` and `Strategy` hold them; tables of names elsewhere go wrong for the next one."""
    allowed = {"thresholds.py"}  # which objectives each search knows
    sources = {path: path.read_text(encoding="utf-8") for path in Architecture().package.rglob("*.py")}
    assert [
        path.name for path, text in sources.items() if old_list in text and path.name not in allowed
    ] == []


def test_folds_are_made_in_one_place():
    package = Architecture().package
    makers = [
        str(path.relative_to(package))
        for path in sorted(package.rglob("*.py"))
        if any(
            isinstance(node, ast.Call) and getattr(node.func, "id", "") == "check_cv"
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        )
    ]
    assert makers == ["model_selection/folds.py"]
