"""Run a small suite, killed with SIGKILL at random moments, until it is finished; print its table.

Run by test_runner.py in a process of its own: forking from a process without threads is safe, and
costs no imports, so that many kills fit in a second or two.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import time

from sklearn.datasets import make_multilabel_classification
from sklearn.tree import DecisionTreeClassifier

from hyperlabel import BinaryRelevance
from hyperlabel.apps.comparison import Method, Protocol, Splits, Store, run
from hyperlabel.datasets import Dataset


def suite() -> Protocol:
    X, Y = make_multilabel_classification(n_samples=80, n_features=6, n_classes=4, random_state=0)
    methods = [
        Method("ridge", BinaryRelevance(), {"alpha": [0.1, 10.0]}),
        Method("tree", DecisionTreeClassifier(max_depth=3)),
        Method("broken", BinaryRelevance(alpha=-1.0)),
    ]
    return Protocol("small", [Dataset(X, Y, name="made")], methods, Splits("random", 4, train_size=50))


def compute(path: str) -> None:
    protocol = suite()
    with Store(path) as store:
        run(protocol.cells(), store, protocol.name)


def check_equal(folder: str, name: str) -> None:
    with Store(f"{folder}/whole.sqlite") as one, Store(f"{folder}/{name}") as other:
        assert repr(one.values("small")) == repr(other.values("small"))
        assert len(other.cells("small")) == 12
        assert sum(cell["status"] == "failed" for cell in other.cells("small")) == 4


def main(folder: str, kills: int, seed: int) -> None:
    compute(f"{folder}/whole.sqlite")  # compiles what needs compiling
    start = time.perf_counter()
    compute(f"{folder}/timed.sqlite")
    whole = time.perf_counter() - start
    rng = random.Random(seed)
    killed, file = 0, 0
    while killed < kills:
        child = os.fork()
        if child == 0:
            compute(f"{folder}/{file}.sqlite")
            os._exit(0)
        # Any moment of the run: early ones hit the opening of the file, later ones a write.
        time.sleep(rng.uniform(0.0, whole))
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        if os.WIFSIGNALED(status):
            killed += 1
        else:  # finished before the kill: start over with a new file
            check_equal(folder, f"{file}.sqlite")
            file += 1
    compute(f"{folder}/{file}.sqlite")
    check_equal(folder, f"{file}.sqlite")
    print(killed)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
