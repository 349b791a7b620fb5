"""The kernels that a first call compiles: containers and each upgrade start without compiled code."""

import json
import os
import subprocess
import sys

import pytest

_FIRST_CALL = """
import numpy as np
import scipy.sparse
import hyperlabel
from numba.core import event

class Count(event.Listener):
    n_compiled = 0

    def on_start(self, event):
        self.n_compiled += 1

    def on_end(self, event):
        pass

compile_count = Count()
event.register("numba:compile", compile_count)
rng = np.random.default_rng(0)
X = rng.normal(size=(200, 10))
Y = (X @ rng.normal(size=(10, 6)) > 1).astype(int)
{call}.fit(X, Y).predict(X)
{call}.fit(scipy.sparse.csr_array(X * (X > 1)), Y) if "LabelForest" in "{call}" else None
print(compile_count.n_compiled)
"""


_EVERY_ESTIMATOR = """
import json
import warnings
import numpy as np
from sklearn.base import clone
from hyperlabel.solvers.compiling import counting_compiled
from tests.estimators import CLASSIFIERS, TRANSFORMERS, UNSUPERVISED

warnings.simplefilter("ignore")
rng = np.random.default_rng(0)
X = rng.normal(size=(200, 10))
Y = (X @ rng.normal(size=(10, 6)) + rng.normal(size=(200, 6)) > 1).astype(int)
counts = []
for prototype in [*CLASSIFIERS, *TRANSFORMERS, *UNSUPERVISED]:
    with counting_compiled() as names:
        model = clone(prototype).fit(X, Y)
        (model.predict if hasattr(model, "predict") else model.transform)(X)
    counts.append([type(prototype).__name__, len(names)])
print(json.dumps(counts))
"""

# The most that one estimator of a class compiles; the others compile nothing.
_MOST_COMPILED = {
    "BinaryRelevance": 8,  # losses other than the squared
    "LabelSpaceClassifier": 13,  # Hadamard codes
    "CompressedSensing": 13,
    "RankSVM": 7,
    "HypergraphRankSVM": 7,
    "LabelPowerset": 2,
    "KernelDependencyEstimation": 2,
    "MLkNN": 4,
    "LabelForest": 10,
}


def test_every_estimator_compiles_few_kernels(tmp_path):
    """One process fits them in turn, so that each counts what those before it have not compiled."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    child = subprocess.run(
        [sys.executable, "-c", _EVERY_ESTIMATOR], env=environment, capture_output=True, text=True, check=True
    )
    counts = json.loads(child.stdout.splitlines()[-1])
    assert [item for item in counts if item[1] > _MOST_COMPILED.get(item[0], 0)] == []
    assert 20 <= sum(n_compiled for _, n_compiled in counts) <= 48


@pytest.mark.parametrize(
    ("call", "most_compiled"),
    [
        ("hyperlabel.BinaryRelevance()", 0),
        ("hyperlabel.ThresholdTuner()", 0),
        ("hyperlabel.MultiLabelCalibrator(hyperlabel.BinaryRelevance())", 0),
        ("hyperlabel.PLST()", 0),
        ("hyperlabel.MLkNN()", 4),
        ("hyperlabel.RankSVM()", 8),
        ("hyperlabel.LabelForest(5)", 10),
        ("hyperlabel.CompressedSensing()", 14),
    ],
)
def test_a_first_call_compiles_few_kernels(call, most_compiled, tmp_path):
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    child = subprocess.run(
        [sys.executable, "-c", _FIRST_CALL.format(call=call)],
        env=environment, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert int(child.stdout) <= most_compiled
