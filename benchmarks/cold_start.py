"""What compiled code costs a first call: CPU seconds with an empty compile cache, a kept one, and warm.

Run: python -m benchmarks.cold_start                 (the README's calls and tests/estimators.py)
     python -m benchmarks.cold_start PLST RankSVM    (names that contain one of these words)
     python -m benchmarks.cold_start --kernels PLST  (also which kernels were compiled, and for how long)
Each call runs in a process of its own, twice: the first one with an empty cache. Cold is the first fit and
prediction of the first process, kept those of the second; warm is the third fit and prediction of a process.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile

# The calls that README.md shows, on small data.
README_CALLS = (
    "BinaryRelevance()",
    "ThresholdTuner(scoring='f1_micro')",
    "PLST()",
    "RankSVM()",
    "MLkNN()",
    "MultiLabelCalibrator()",
    "LabelForest(10, random_state=0)",
    "sparse LabelForest(10, random_state=0)",
    "sparse ThresholdTuner()",
    "sparse BinaryRelevance(loss='squared_hinge')",
    "sparse RankSVM()",
)

CHILD = r"""
import json, sys, time, warnings
warnings.filterwarnings("ignore")
import numpy as np, scipy.sparse as sp, sklearn.linear_model, scipy.optimize
import hyperlabel
from hyperlabel import *
from sklearn.base import clone
from tests.estimators import CLASSIFIERS, TRANSFORMERS, UNSUPERVISED
call, log = sys.argv[1], []
if "--log" in sys.argv:
    from numba.core import event
    class Log(event.Listener):
        stack = []
        def on_start(self, e): self.stack.append([e.data["dispatcher"], time.process_time(), 0.0])
        def on_end(self, e):
            dispatcher, start, inner = self.stack.pop()
            whole = time.process_time() - start
            if self.stack: self.stack[-1][2] += whole
            kernel = dispatcher.py_func
            name = kernel.__module__.split(".", 1)[-1] + "." + kernel.__name__
            log.append((name, whole - inner))
    event.register("numba:compile", Log())
rng = np.random.default_rng(0)
if call.startswith("sparse "):
    call = call.split(" ", 1)[1]
    X = sp.random_array((600, 3000), density=0.01, rng=rng, format="csr")
    Y = (X @ rng.normal(size=(3000, 12)) > 1.5).astype(int)
else:
    X = rng.normal(size=(300, 20))
    Y = (X @ rng.normal(size=(20, 8)) + 2 * rng.normal(size=(300, 8)) > 4).astype(int)
prototype = eval(call)
times = []
for _ in range(3):
    model, start = clone(prototype), time.process_time()
    model.fit(X, Y)
    model.predict(X) if hasattr(model, "predict") else model.transform(X)
    times.append(time.process_time() - start)
print(json.dumps(dict(times=times, log=log)))
"""


def run_child(call: str, cache: str, *more: str) -> dict:
    """Run one call in a new process with this compile cache."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": cache}
    child = subprocess.run(
        [sys.executable, "-c", CHILD, call, *more], env=environment, capture_output=True, text=True
    )
    if child.returncode:
        raise SystemExit(f"{call}: {child.stderr[-1500:]}")
    return json.loads(child.stdout.splitlines()[-1])


def estimator_calls() -> dict[str, str]:
    """Every estimator of the tests' table, and how a child process finds it."""
    from tests.estimators import CLASSIFIERS, TRANSFORMERS, UNSUPERVISED

    tables = {"CLASSIFIERS": CLASSIFIERS, "TRANSFORMERS": TRANSFORMERS, "UNSUPERVISED": UNSUPERVISED}
    return {
        " ".join(repr(model).split()): f"{table}[{index}]"
        for table, models in tables.items()
        for index, model in enumerate(models)
    }


def main() -> None:
    words = [word for word in sys.argv[1:] if not word.startswith("-")]
    calls = {call: call for call in README_CALLS} | estimator_calls()
    print(f"{'call':70} {'cold':>6} {'kept':>6} {'warm':>7} {'cold-warm':>9}  kernels")
    for name, call in calls.items():
        if words and not any(word in name for word in words):
            continue
        with tempfile.TemporaryDirectory() as cache:
            first, second = run_child(call, cache, "--log"), run_child(call, cache)
        cold, kept, warm = first["times"][0], second["times"][0], second["times"][2]
        kernels = first["log"]
        print(
            f"{name[:70]:70} {cold:6.2f} {kept:6.2f} {warm:7.3f} {cold - warm:9.2f}  {len(kernels)}",
            flush=True,
        )
        if "--kernels" in sys.argv:
            totals: dict[str, list[float]] = {}
            for kernel, alone in kernels:
                entry = totals.setdefault(kernel, [0.0, 0])
                entry[0] += alone
                entry[1] += 1
            for kernel, (seconds, count) in sorted(totals.items(), key=lambda item: -item[1][0])[:25]:
                print(f"      {seconds:5.2f}  ×{count}  {kernel}")


if __name__ == "__main__":
    main()
