"""Trees of labels: consistent models beside flat ones on gene functions and X-ray codes.

Fitted on the training (and validation) part, judged on the test part by the area under the pooled
precision–recall curve (micro average precision), without the root. "flat" is the same call without
``label_tree=``. ``--generated K`` times a tree of K labels in place of the files.

Run: OMP_NUM_THREADS=1 HYPERLABEL_DATA=… python -m benchmarks.label_trees [name …] [--ridge] [--generated K]
"""

from __future__ import annotations

import argparse
import time
import warnings
from typing import Any

import numpy as np
import pandas as pd
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline

from benchmarks._timing import data_folder
from hyperlabel import AutoMultiLabel, BinaryRelevance, NystroemRBF, ThresholdTuner
from hyperlabel.datasets import concat, read_arff
from hyperlabel.geometry import LabelTree
from hyperlabel.metrics import average_precision_score, f1_score
from hyperlabel.solvers.clock import working_cpu_seconds

NAMES = ("cellcycle_FUN", "derisi_FUN", "eisen_FUN", "church_FUN", "ImCLEF07A", "ImCLEF07D")
MEASURE = "average_precision_micro"


def read(name: str) -> tuple[Any, Any]:
    """Return the training and the test part."""
    folder = data_folder() / "trees"
    if name.startswith("ImCLEF"):
        train, test = (read_arff(folder / f"{name}_{part}.arff.gz") for part in ("Train", "Test"))
        return train, test
    parts = {
        part: read_arff(folder / f"{name}.{part}.arff.gz", nominal="onehot")
        for part in ("train", "valid", "test")
    }
    return concat([parts["train"], parts["valid"]], name=name), parts["test"]


def landmarks_and_ridge() -> Any:
    """Return RBF landmarks and the shared ridge, thresholds tuned."""
    from sklearn.preprocessing import StandardScaler

    return make_pipeline(StandardScaler(), NystroemRBF(1500, random_state=0), BinaryRelevance())


def compare(name: str, budget: float, ridge: bool) -> None:
    """Print one line for a data set."""
    train, test = read(name)
    tree = LabelTree.from_paths(train.label_names)
    truth = tree.imply(test.Y, test.label_names)
    columns = tree.columns(train.label_names)
    impute = SimpleImputer(keep_empty_features=True).fit(train.X)
    X, Z = impute.transform(train.X), impute.transform(test.X)
    targets = pd.DataFrame(tree.imply(train.Y, train.label_names).toarray(), columns=train.label_names)
    start = time.process_time()
    if ridge:
        flat_model: Any = landmarks_and_ridge().fit(X, targets)
        model: Any = ThresholdTuner(landmarks_and_ridge(), label_tree=tree, cv=3).fit(X, targets)
    else:
        flat_model = AutoMultiLabel(MEASURE, time_budget=budget).fit(X, targets)
        flat_seconds = time.process_time() - start
        start = time.process_time()
        model = AutoMultiLabel(MEASURE, time_budget=budget, label_tree=tree).fit(X, targets)
    seconds = time.process_time() - start
    flat, consistent = flat_model.decision_function(Z), model.decision_function(Z)
    assert (consistent[:, columns.parent] >= consistent[:, columns.child]).all()
    sets = model.predict(Z)
    chosen = "landmarks and ridge" if ridge else model.leaderboard_[0]["method"]
    print(
        f"{name:14} n {X.shape[0]} d {X.shape[1]} k {len(train.label_names)}  "
        f"flat {average_precision_score(truth, flat, average='micro'):.4f}  "
        f"flat raised {average_precision_score(truth, columns.raise_scores(flat), average='micro'):.4f}  "
        f"consistent {average_precision_score(truth, consistent, average='micro'):.4f}  "
        f"hierarchical F1 {f1_score(truth, sets, average='micro'):.4f}  {seconds:.0f} CPU s"
        + ("" if ridge else f" (flat {flat_seconds:.0f})")
        + f"; {chosen}",
        flush=True,
    )


def time_generated(k: int) -> None:
    """Fit and predict with a tree of k labels on made rows."""
    rng = np.random.default_rng(0)
    width = max(2, round(k ** (1 / 3)))
    leaves = [f"{a}/{b}/{c}" for a in range(width) for b in range(width) for c in range(width)][:k]
    X = rng.normal(size=(5000, 100))
    y = [[leaves[j] for j in rng.choice(len(leaves), 3, replace=False)] for _ in X]
    start = time.process_time()
    tree = LabelTree.from_paths(leaves)
    made = time.process_time()
    model = ThresholdTuner(BinaryRelevance(alpha=10.0), label_tree=tree, strategy="global", cv=3).fit(X, y)
    fitted = time.process_time()
    model.predict(X)
    end = time.process_time()
    print(
        f"{len(tree)} labels, 5000 rows: tree {made - start:.2f}, fit {fitted - made:.1f}, "
        f"predict {end - fitted:.1f} CPU s"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=NAMES)
    parser.add_argument("--budget", type=float, default=60.0)
    parser.add_argument("--ridge", action="store_true", help="landmarks and ridge in place of AutoMultiLabel")
    parser.add_argument("--generated", type=int, default=0)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    AutoMultiLabel._clock = staticmethod(working_cpu_seconds)  # the machine may be busy
    if options.generated:
        time_generated(options.generated)
        return
    for name in options.names:
        compare(name, options.budget, options.ridge)


if __name__ == "__main__":
    main()
