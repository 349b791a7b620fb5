"""The recipes of docs/engines.md run as they stand, and give the model of one process on the same rows."""

import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

import hyperlabel
from hyperlabel import BinaryRelevance

pd, pa = pytest.importorskip("pandas"), pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

PAGE = (Path(__file__).resolve().parents[1] / "docs" / "engines.md").read_text(encoding="utf-8")
RECIPES = dict(re.findall(r"^## ([^\n]+)\n(?:(?!^## |^```).)*?^```python\n(.*?)^```", PAGE, re.S | re.M))
LABELS = ["red", "round", "soft"]
PREDICTION = "Prediction: an Arrow batch in, an Arrow batch out"


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1200, 4)) * [1.0, 30.0, 0.1, 5.0] + [0.0, 1000.0, 1.0, -40.0]
    Y = (X - X.mean(axis=0)) / X.std(axis=0) @ rng.normal(size=(4, 3)) > 0.4
    frame = pd.DataFrame(X, columns=["age", "weight", "price", "depth"])
    return frame, pd.DataFrame(Y.astype(np.int8), columns=LABELS)


@pytest.fixture(scope="module")
def folder(rows, tmp_path_factory):
    """Shards of very different sizes, several row groups in some."""
    folder = tmp_path_factory.mktemp("engines")
    (folder / "rows").mkdir()
    table = pa.Table.from_pandas(pd.concat(rows, axis=1), preserve_index=False)
    for i, (first, last) in enumerate([(0, 7), (7, 600), (600, 601), (601, 1200)]):
        part = table.slice(first, last - first)
        pq.write_table(part, folder / "rows" / f"{i}.parquet", row_group_size=100)
    return folder


def bound(frame):
    X = frame.to_numpy()
    spectrum = np.linalg.eigvalsh(np.cov(X.T, bias=True) * len(X) + np.eye(X.shape[1]))
    return 1e-8 * max(1.0, spectrum[-1] / spectrum[0] / 1e6)


def test_every_recipe_is_short_and_known():
    assert len(RECIPES) == 7
    assert max(recipe.count("\n") for recipe in RECIPES.values()) < 30


def runnable():
    spark = pytest.mark.skipif(find_spec("pyspark") is None, reason="make test-spark runs it")
    fits = [name for name in RECIPES if name != PREDICTION]
    return [pytest.param(name, marks=[spark] if name == "Spark" else []) for name in fits]


@pytest.mark.parametrize("name", runnable())
def test_a_recipe_gives_the_model_of_one_process(name, rows, folder):
    frame, labels = rows
    (folder / "model.hyper").unlink(missing_ok=True)
    (folder / "recipe.py").write_text(RECIPES[name], encoding="utf-8")
    source = str(Path(hyperlabel.__file__).parents[1])
    run = subprocess.run(
        [sys.executable, "-W", "error::DeprecationWarning:__main__", "recipe.py"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": source},
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stderr
    model = hyperlabel.load(folder / "model.hyper")
    one = BinaryRelevance().fit(frame, labels)
    assert_allclose(model.decision_function(frame), one.decision_function(frame), rtol=0, atol=bound(frame))
    assert model.label_names_.tolist() == LABELS
    assert model.feature_names_in_.tolist() == list(frame.columns)


def test_prediction_maps_an_arrow_batch_to_an_arrow_batch(rows, tmp_path):
    frame, labels = rows
    model = BinaryRelevance().fit(frame, labels)
    hyperlabel.save(model, tmp_path / "model.hyper")
    recipe = {}
    exec(compile(RECIPES[PREDICTION], "engines.md", "exec"), recipe)
    batch = pa.RecordBatch.from_pandas(frame[frame.columns[::-1]].iloc[:50], preserve_index=False)
    found = recipe["predict"](batch, str(tmp_path / "model.hyper"))
    assert isinstance(found, pa.RecordBatch)
    sets = model.predict(frame.iloc[:50])
    expected = [[LABELS[j] for j in np.flatnonzero(row)] for row in np.asarray(sets)]
    assert found.column("labels").to_pylist() == expected
    assert any(expected)
    scores = np.array(found.column("scores").to_pylist())
    assert_allclose(scores, model.decision_function(frame.iloc[:50]))
    assert recipe["model_of"](str(tmp_path / "model.hyper")) is recipe["model_of"](
        str(tmp_path / "model.hyper")
    )
