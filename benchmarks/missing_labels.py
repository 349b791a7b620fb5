"""Labels that nobody looked at, and annotators who disagree: what gaps and shares in y are worth.

``--chemistry``: tox21, toxcast and (no gaps, the control) sider on three random halves of their molecules.
Area under the ROC curve, the mean over labels with both classes among the known test entries, and CPU
seconds, beside one `LogisticRegression` for each label, its C chosen by three-fold cross-validation among
four. MoleculeNet publishes other splits (by scaffold), so published figures differ.

``--masks``: entries of complete sets hidden at random; macro-F1 of the shared ridge with its threshold from
sums, beside the same with gaps taken for 0, and with rows that have a gap dropped.

``--annotators``: three simulated annotators with 20 % error; their shares beside the majority's labels, and
beside the probability of each label by Bayes, with the error known and the prevalence read off the votes.

``--weights``: n×k weights beside one weighted scikit-learn `Ridge` for each label: the largest difference.

Dense columns are brought to unit variance. Run:
OMP_NUM_THREADS=1 HYPERLABEL_DATA=… python -m benchmarks.missing_labels [--chemistry] [--masks] [--weights] …
"""

from __future__ import annotations

import argparse
import time
import warnings
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV
from sklearn.preprocessing import StandardScaler

from benchmarks._timing import data_folder
from hyperlabel import BinaryRelevance, ThresholdTuner
from hyperlabel.metrics import f1_score

CHEMISTRY = ("tox21", "toxcast", "sider")
COMPLETE = ("enron", "birds", "slashdot", "yahoo-arts", "imageclef07a", "tmc2007-500")
MASKED = (0.0, 0.3, 0.7, 0.95)
MOST_ROWS = 6000
ERROR = 0.2  # of a simulated annotator
CANDIDATES = (0.01, 0.1, 1.0, 10.0)


def read(name: str) -> tuple[Any, np.ndarray]:
    """Return rows and targets with NaN for unknown entries."""
    with np.load(data_folder() / f"{name}.npz", allow_pickle=True) as arrays:
        if "X_data" in arrays:
            parts = (arrays["X_data"].astype(np.float64), arrays["X_indices"], arrays["X_indptr"])
            X: Any = sparse.csr_array(parts, shape=tuple(arrays["X_shape"]))
        else:
            X = StandardScaler().fit_transform(np.asarray(arrays["X"], dtype=np.float64))
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
            means = ["–" if np.isnan(v).all() else f"{np.nanmean(v):.4f}" for v in found.T]
            print(f"{name:14s} {share:5.2f} {means[0]:>10s} {means[1]:>12s} {means[2]:>14s}")


def posteriors(positive_votes: np.ndarray, n_votes: int, error: float) -> np.ndarray:
    """Return the probability of each label given its votes, the prevalences estimated from all of them."""
    prevalence = np.clip((positive_votes.mean(axis=0) / n_votes - error) / (1 - 2 * error), 1e-4, 1 - 1e-4)
    on = prevalence * (1 - error) ** positive_votes * error ** (n_votes - positive_votes)
    off = (1 - prevalence) * error**positive_votes * (1 - error) ** (n_votes - positive_votes)
    return on / (on + off)


def annotators(names: list[str], splits: int) -> None:
    """Compare shares of three annotators with the labels of their majority, and with probabilities."""
    columns = ("shares", "majority", "by Bayes")
    print("data           AUC ridge " + " ".join(f"{c:>9s}" for c in columns), end="")
    print("   macro-F1 tuned " + " ".join(f"{c:>9s}" for c in columns), end="")
    print("   AUC logistic " + " ".join(f"{c:>9s}" for c in columns))
    for name in names:
        X, Y = read(name)
        results = np.zeros((splits, 3, 3))
        for seed in range(splits):
            train, test = halves(len(Y), seed)
            rng = np.random.default_rng(seed)
            votes = np.sum([np.where(rng.random(Y.shape) < ERROR, 1 - Y, Y) for _ in range(3)], axis=0)
            given = (votes / 3, np.round(votes / 3), posteriors(votes[train], 3, ERROR))
            for column, targets in enumerate(given):
                fit_targets = targets if len(targets) == len(train) else targets[train]
                tuner = ThresholdTuner().fit(X[train], fit_targets)
                results[seed, 0, column] = mean_auc(Y[test], tuner.decision_function(X[test]))
                results[seed, 1, column] = macro_f1(tuner, X[test], Y[test])
                logistic = BinaryRelevance(loss="logistic").fit(X[train], fit_targets)
                results[seed, 2, column] = mean_auc(Y[test], logistic.decision_function(X[test]))
        parts = ["  ".join(f"{value:9.4f}" for value in row) for row in results.mean(axis=0)]
        print(f"{name:14s} " + "   |   ".join(parts), flush=True)


def weights(names: list[str]) -> None:
    """Compare n×k weights with one weighted `Ridge` for each label."""
    print("data             d      k   largest difference of a score, of the largest score")
    for name in names:
        X, Y = read(name)
        train, test = halves(min(len(Y), 2000), 0)
        X = X[:, :400] if X.shape[1] > 400 else X
        W = np.random.default_rng(0).gamma(1.0, size=Y.shape) * (
            np.random.default_rng(1).random(Y.shape) > 0.2
        )
        ours = BinaryRelevance(alpha=1.0).fit(X[train], Y[train], sample_weight=W[train])
        scores, dense = ours.decision_function(X[test]), [X[rows] for rows in (train, test)]
        dense = [rows.toarray() if sparse.issparse(rows) else rows for rows in dense]
        theirs = np.column_stack(
            [
                Ridge(alpha=1.0, solver="cholesky")
                .fit(dense[0], 2 * Y[train, j] - 1, sample_weight=W[train, j])
                .predict(dense[1])
                for j in range(Y.shape[1])
            ]
        )
        varying = ours._constant == 0
        difference = np.abs(scores + ours.threshold_ - theirs)[:, varying].max() / np.abs(theirs).max()
        print(f"{name:14s} {X.shape[1]:4d} {Y.shape[1]:6d}   {difference:.1e}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for part in ("chemistry", "masks", "annotators", "weights"):
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
    if options.weights:
        weights(options.names or list(COMPLETE))


if __name__ == "__main__":
    main()
