"""Labels that nobody looked at, and annotators who disagree: what gaps and shares in y are worth.

``--chemistry``: tox21, toxcast and (no gaps, the control) sider on three random halves of their molecules.
Area under the ROC curve, the mean over labels with both classes among the known test entries, and CPU
seconds, beside one `LogisticRegression` for each label, its C chosen by three-fold cross-validation among
four. MoleculeNet publishes other splits (by scaffold), so published figures differ.

``--masks``: entries of complete sets hidden at random; macro-F1 of `ThresholdTuner` beside the same with gaps
taken for 0, and with rows that have a gap dropped.

``--annotators``: three simulated annotators with 20 % error; shares beside the majority's labels.

Run: OMP_NUM_THREADS=1 HYPERLABEL_DATA=… python -m benchmarks.missing_labels [--chemistry] [--masks] …
"""

from __future__ import annotations

import argparse
import time
import warnings
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV

from benchmarks._timing import data_folder
from hyperlabel import BinaryRelevance
from hyperlabel.metrics import f1_score

CHEMISTRY = ("tox21", "toxcast", "sider")
COMPLETE = ("enron", "birds", "slashdot", "yahoo-arts", "imageclef07a", "tmc2007-500")
MASKED = (0.0, 0.3, 0.7, 0.95)
MOST_ROWS = 6000
CANDIDATES = (0.01, 0.1, 1.0, 10.0)


def read(name: str) -> tuple[Any, np.ndarray]:
    """Return rows and targets with NaN for unknown entries."""
    with np.load(data_folder() / f"{name}.npz", allow_pickle=True) as arrays:
        if "X_data" in arrays:
            parts = (arrays["X_data"].astype(np.float64), arrays["X_indices"], arrays["X_indptr"])
            X: Any = sparse.csr_array(parts, shape=tuple(arrays["X_shape"]))
        else:
            X = np.asarray(arrays["X"], dtype=np.float64)
        if "Y" in arrays:
            Y = np.asarray(arrays["Y"], dtype=np.float64)
        else:
            indices, indptr = arrays["Y_indices"], arrays["Y_indptr"]
            shape = tuple(arrays["Y_shape"]) if "Y_shape" in arrays else (len(indptr) - 1, indices.max() + 1)
            Y = sparse.csr_array((np.ones(len(indices)), indices, indptr), shape=shape).toarray()
    return X, Y


def halves(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return rows to fit on (at most `MOST_ROWS`) and rows to judge on, in halves."""
    order = np.random.default_rng(seed).permutation(n)[: 2 * MOST_ROWS]
    return np.sort(order[: len(order) // 2]), np.sort(order[len(order) // 2 :])


def mean_auc(truth: np.ndarray, scores: np.ndarray) -> float:
    """Return the mean area under the ROC curve over labels with both classes among known entries."""
    areas = []
    for target, score in zip(truth.T, scores.T, strict=True):
        known = ~np.isnan(target)
        if 0 < target[known].sum() < known.sum():
            areas.append(roc_auc_score(target[known], score[known]))
    return float(np.mean(areas))


def one_by_one(X: Any, Y: np.ndarray, test: Any, *, tuned: bool) -> np.ndarray:
    """Return scores of a logistic regression for each label on its known rows."""
    scores = np.zeros((test.shape[0], Y.shape[1]))
    for j, target in enumerate(Y.T):
        known = np.flatnonzero(~np.isnan(target))
        counts = np.bincount(target[known].astype(int), minlength=2)
        if counts.min() == 0:
            continue
        model: Any = LogisticRegression(max_iter=1000, solver="liblinear")
        if tuned and counts.min() >= 3:
            model = GridSearchCV(model, {"C": CANDIDATES}, cv=3, scoring="roc_auc")
        scores[:, j] = model.fit(X[known], target[known]).decision_function(test)
    return scores


def chemistry(names: list[str], splits: int) -> None:
    """Compare areas under the curve and CPU seconds with one tuned model for each label."""
    methods: dict[str, Any] = {
        "ridge": BinaryRelevance(),
        "logistic": BinaryRelevance(loss="logistic"),
    }
    print("data       method                       AUC   (s)      CPU s   of one by one")
    for name in names:
        X, Y = read(name)
        areas: dict[str, list[float]] = {}
        seconds: dict[str, list[float]] = {}
        for seed in range(splits):
            train, test = halves(len(Y), seed)
            for method, model in {"one by one, tuned": None, "one by one, C = 1": None, **methods}.items():
                start = time.process_time()
                if model is None:
                    tuned = method == "one by one, tuned"
                    scores = one_by_one(X[train], Y[train], X[test], tuned=tuned)
                else:
                    scores = model.fit(X[train], Y[train]).decision_function(X[test])
                seconds.setdefault(method, []).append(time.process_time() - start)
                areas.setdefault(method, []).append(mean_auc(Y[test], scores))
        base = np.mean(seconds["one by one, tuned"])
        for method in areas:
            mean, spread, cpu = np.mean(areas[method]), np.std(areas[method]), np.mean(seconds[method])
            print(f"{name:10s} {method:24s}   {mean:.4f} {spread:.4f} {cpu:10.2f} {cpu / base:10.3f}")


def macro_f1(model: Any, X: Any, truth: np.ndarray) -> float:
    """Return macro-F1 of a model's label sets."""
    return float(f1_score(truth.astype(int), np.asarray(model.predict(X)).astype(int), average="macro"))


def decide(X: Any, Y: np.ndarray, rows: np.ndarray) -> Any:
    """Fit a shared ridge whose labels are predicted above a threshold read off the sums."""
    return BinaryRelevance(alpha="auto", threshold="auto").fit(X[rows], Y[rows])


def masks(names: list[str], splits: int) -> None:
    """Compare gaps left out with gaps taken for 0 and with rows dropped."""
    print("data          hidden   left out   taken for 0   rows dropped    (macro-F1, mean of splits)")
    for name in names:
        X, Y = read(name)
        for share in MASKED:
            found = np.full((splits, 3), np.nan)
            for seed in range(splits):
                train, test = halves(len(Y), seed)
                hidden = np.random.default_rng(seed).random(Y.shape) < share
                gaps = np.where(hidden, np.nan, Y)
                complete = train[~hidden[train].any(axis=1)]
                found[seed, 0] = macro_f1(decide(X, gaps, train), X[test], Y[test])
                found[seed, 1] = macro_f1(decide(X, np.where(hidden, 0.0, Y), train), X[test], Y[test])
                if len(complete) >= 2:
                    found[seed, 2] = macro_f1(decide(X, Y, complete), X[test], Y[test])
            means = ["    –" if np.isnan(v).all() else f"{np.nanmean(v):.4f}" for v in found.T]
            print(f"{name:14s} {share:5.2f} {means[0]:>10s} {means[1]:>12s} {means[2]:>14s}")


def annotators(names: list[str], splits: int) -> None:
    """Compare shares of three annotators with the labels of their majority."""
    print("data           loss            shares   majority   (AUC; macro-F1 beside)")
    for name in names:
        X, Y = read(name)
        for loss in ("squared", "logistic"):
            found = np.zeros((splits, 4))
            for seed in range(splits):
                train, test = halves(len(Y), seed)
                rng = np.random.default_rng(seed)
                votes = np.mean([np.where(rng.random(Y.shape) < 0.2, 1 - Y, Y) for _ in range(3)], axis=0)
                for column, targets in enumerate((votes, np.round(votes))):
                    model = BinaryRelevance(loss=loss).fit(X[train], targets[train])
                    found[seed, column] = mean_auc(Y[test], model.decision_function(X[test]))
                    found[seed, 2 + column] = macro_f1(model, X[test], Y[test])
            means = found.mean(axis=0)
            print(f"{name:14s} {loss:12s} {means[0]:9.4f} {means[1]:9.4f}   {means[2]:9.4f} {means[3]:9.4f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for part in ("chemistry", "masks", "annotators"):
        parser.add_argument(f"--{part}", action="store_true")
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--names", nargs="*")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.chemistry:
        chemistry(options.names or list(CHEMISTRY), options.splits)
    if options.masks:
        masks(options.names or list(COMPLETE), options.splits)
    if options.annotators:
        annotators(options.names or list(COMPLETE), options.splits)


if __name__ == "__main__":
    main()
