"""Compiled code where nothing can be kept on disk."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import hyperlabel

USE = """
import numpy as np
import hyperlabel as hl
from hyperlabel.solvers.neighbors import nearest
assert nearest._insert_neighbor.ready()._cache.__class__.__name__ == "{cache}"
rng = np.random.default_rng(0)
X = rng.normal(size=(40, 3))
Y = (X + rng.normal(size=X.shape) > 0).astype(int)
for model in (hl.BinaryRelevance(), hl.PLST(2), hl.ThresholdTuner(hl.BinaryRelevance()), hl.MLkNN(3)):
    assert model.fit(X, Y).predict(X).shape == Y.shape
print(hl.__file__)
"""


def run(source: Path, home: str, cache: str) -> str:
    taken = ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME", "PYTHONPYCACHEPREFIX")
    env = {name: value for name, value in os.environ.items() if name not in taken}
    env |= {"HOME": home, "PYTHONPATH": str(source), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [sys.executable, "-c", USE.format(cache=cache)], env=env, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def copy_of_the_package(folder: Path) -> Path:
    source = Path(hyperlabel.__file__).parent
    return shutil.copytree(source, folder / "hyperlabel", ignore=shutil.ignore_patterns("__pycache__"))


def test_a_read_only_install_with_an_unwritable_home_works(tmp_path):
    """A file named __pycache__ and a home below a device stop even root from keeping anything."""
    package = copy_of_the_package(tmp_path)
    for folder in [package / "solvers", *(path for path in (package / "solvers").iterdir() if path.is_dir())]:
        (folder / "__pycache__").write_text("in the way")
    assert run(tmp_path, "/dev/null/home", "NullCache") == str(package / "__init__.py")


def test_compiled_code_is_kept_where_it_can_be(tmp_path):
    package = copy_of_the_package(tmp_path)
    run(tmp_path, str(tmp_path), "FunctionCache")
    assert list((package / "solvers").glob("*/__pycache__/*.nbi"))
