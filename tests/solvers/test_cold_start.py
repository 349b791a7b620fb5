"""The kernels that a first call compiles: containers and each upgrade start without compiled code."""

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
