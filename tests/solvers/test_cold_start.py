"""The kernels that a first call compiles: containers and each upgrade start without compiled code."""

import os
import subprocess
import sys

import pytest

_FIRST_CALL = """
import numpy as np
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
print(compile_count.n_compiled)
"""


@pytest.mark.parametrize(
    ("call", "most_compiled"),
    [
        ("hyperlabel.BinaryRelevance()", 0),
        ("hyperlabel.ThresholdTuner()", 8),
        ("hyperlabel.MultiLabelCalibrator(hyperlabel.BinaryRelevance())", 8),
    ],
)
def test_a_first_call_compiles_few_kernels(call, most_compiled, tmp_path):
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    child = subprocess.run(
        [sys.executable, "-c", _FIRST_CALL.format(call=call)],
        env=environment, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert int(child.stdout) <= most_compiled
