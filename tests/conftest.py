"""Shared helpers: the real benchmark files, where they exist."""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Callable, Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from hyperlabel.datasets import Dataset, concat, load_npz, read_arff

# A slow machine is no fault of the code: nothing here is judged by the clock. In CI a commit is judged by the
# same examples every time; by hand (`make test`) they are drawn anew.
settings.register_profile("hyperlabel", deadline=None, derandomize=bool(os.environ.get("CI")))
settings.load_profile("hyperlabel")

_ROOT = Path(__file__).resolve().parents[1]
_OUR_SENTENCE = re.compile(r"pip install 'hyperlabel\[(\w+)\]'")
_EXTRAS = {
    "report": ["matplotlib", "jinja2"],
    "tables": ["pandas", "pyarrow"],
    "serve": ["starlette", "uvicorn"],
    "dask": ["dask", "distributed"],
    "onnx": ["onnx"],
}
# name → (folder, full file or None, train file, test file)
_ARFF: dict[str, tuple[str, str | None, str, str]] = {
    "emotions": ("emotions", "emotions.arff", "emotions-train.arff", "emotions-test.arff"),
    "scene": ("scene", None, "scene-train.arff.gz", "scene-test.arff.gz"),
    "yeast": ("yeast", "yeast.arff", "yeast-train.arff", "yeast-test.arff"),
    "genbase": ("genbase", "genbase.arff", "genbase-train.arff", "genbase-test.arff"),
    "medical": ("medical", "medical.arff", "medical-train.arff", "medical-test.arff"),
    "corel5k": (
        "corel5k",
        "Corel5k-sparse.arff",
        "Corel5k-train-sparse.arff",
        "Corel5k-test-sparse.arff",
    ),
    "delicious": ("delicious", None, "delicious-train.arff.gz", "delicious-test.arff.gz"),
}
_NPZ = ("yahoo-arts", "yahoo5k-computers", "mediamill-real4k", "mediamill-disc3", "imageclef07a")
REAL_NAMES = (*_ARFF, *_NPZ)


def real_folder() -> Path:
    """Folder of the real files; skips the test where there is none."""
    given = os.environ.get("HYPERLABEL_DATA")
    folder = (Path(given) if given else _ROOT.parent / "shared" / "data").resolve()
    if not folder.is_dir():
        pytest.skip("the real data folder is missing: set HYPERLABEL_DATA to it")
    return folder


@cache
def _load(folder: Path, name: str, part: str | None) -> Dataset:
    if name in _NPZ:
        return load_npz(folder / f"{name}.npz", part=part, name=name)
    if name not in _ARFF:
        raise ValueError(f"{name!r} is not a real data set; there are {', '.join(REAL_NAMES)}.")
    sub, full, train, test = _ARFF[name]
    if part is None and full is None:
        return concat([_load(folder, name, "train"), _load(folder, name, "test")], name=name)
    file = {None: full, "train": train, "test": test}[part]
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*left out text or id columns 'protein'.*")
        return read_arff(folder / sub / str(file), name=name)


def load_real(name: str, part: str | None = None) -> Dataset:
    """A real data set (`Dataset`, cached: do not write to it); part is None, "train" or "test".

    In tests take it as the fixture ``load_real``; skips when the folder is missing.
    """
    return _load(real_folder(), name, part)


@pytest.fixture(name="load_real", scope="session")
def _load_real() -> Callable[..., Dataset]:
    return load_real


@pytest.fixture(scope="session")
def real_data_folder() -> Path:
    return real_folder()


@pytest.fixture(scope="session")
def made(tmp_path_factory):
    """A text model, the file it was fitted on, and its page."""
    from tests.report.made_model import make

    return make(tmp_path_factory.mktemp("model"))


@pytest.fixture(scope="session")
def browser(tmp_path_factory):
    from tests.report.browsing import Browser

    found = Browser(tmp_path_factory.mktemp("browser"))
    yield found
    found.close()


# -- without optional packages (make test-core) ---------------------------------------------------------


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    """Skip a test that ended in our own sentence about an extra, or in an import of its own, both missing.

    A `ModuleNotFoundError` from inside the library stays a failure: there should have been the sentence.
    """
    report: Any = yield
    if report.failed and call.excinfo is not None:
        wanted = _OUR_SENTENCE.findall(f"{call.excinfo.value} {report.longreprtext}")
        if (
            call.excinfo.errisinstance(ModuleNotFoundError)
            and "tests" in call.excinfo.traceback[-1].path.parts
        ):
            wanted = [call.excinfo.value.name]
        missing = sorted(
            {name for name in wanted for part in _EXTRAS.get(name, [name]) if not find_spec(part)}
        )
        if missing:
            path, line, _ = item.location
            report.outcome, report.longrepr = "skipped", (path, line, f"needs {', '.join(missing)}")
    return report


# -- what `make test-fast` leaves out ---------------------------------------------------------------------

SLOW = frozenset((_ROOT / "tests" / "slow.txt").read_text(encoding="utf-8").split())


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the files and tests that slow.txt lists: half a second or more each, warm."""
    for item in items:
        file = item.path.relative_to(_ROOT).as_posix() if item.path.is_relative_to(_ROOT) else ""
        if file in SLOW or f"{file}::{getattr(item, 'originalname', item.name)}" in SLOW:
            item.add_marker(pytest.mark.slow)
