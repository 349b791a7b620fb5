"""Published splits: one call of AutoMultiLabel beside published records and tuned one-vs-rest models.

Nothing is chosen on test rows. A call asked for nDCG@5 gives P@1/3/5 and ranking loss; cuts for micro-F1 (one
for all labels) and macro-F1 (one each) come from its out-of-fold scores. Opponents are one-vs-rest LinearSVC
and LogisticRegression: C chosen on the same folds, for ranking and for each F1 by itself, and our cuts. With
``--cpu`` budgets are seconds of processor time, for machines that others use too: with one thread that is
what an idle core would take.

Run: OMP_NUM_THREADS=1 HYPERLABEL_DATA=… python -m benchmarks.quality_published [name …] [--cpu]
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler, normalize
from sklearn.svm import LinearSVC

from benchmarks._data import real
from hyperlabel import AutoMultiLabel, BinaryRelevance
from hyperlabel.decision import global_cut, per_label_cuts
from hyperlabel.metrics import f1_score, ndcg_at_k, precision_at_k, ranking_loss
from hyperlabel.model_selection import out_of_fold_scores

NAMES = ("emotions", "scene", "yeast", "medical", "corel5k", "yahoo-arts", "mediamill-disc3", "delicious")
# P@1/3/5 ×100, Extreme Classification Repository, table of 2019-01-10
PUBLISHED = {
    "delicious": {
        "one-vs-all": (65.0, 58.9, 53.3),
        "CPLST": (65.3, 60.0, 55.3),
        "LEML": (65.7, 60.6, 56.1),
        "SLEEC": (67.6, 61.4, 56.6),
        "Parabel": (67.4, 61.8, 56.8),
        "PfastreXML": (67.1, 62.3, 58.6),
        "FastXML": (69.6, 64.1, 59.3),
    }
}
TUNED_C = (0.01, 0.1, 1.0, 10.0)
MOST_LABELS = 400  # of sets whose one-vs-rest models are fitted here
CUTS: dict[str, Callable[..., Any]] = {"micro": global_cut, "macro": per_label_cuts}


def split(name: str) -> list[Any]:
    """Return X, Y, X_test, Y_test: the published split, or the first two thirds of the rows."""
    try:
        parts = [real(name, part) for part in ("train", "test")]
        X, C = (part.X for part in parts)
        Y, T = (sparse.csr_array(part.Y).astype(float) for part in parts)
    except (KeyError, ValueError):
        whole = real(name)
        rows, labels = sparse.csr_array(whole.Y).astype(float), whole.X
        order = np.random.default_rng(0).permutation(rows.shape[0])
        train, test = np.split(order, [2 * len(order) // 3])
        X, C, Y, T = labels[train], labels[test], rows[train], rows[test]
    return [X, Y, C, T]


def sets_of(average: str, oof: np.ndarray, Y: Any, scores: np.ndarray, T: Any) -> tuple[float, float]:
    """Return F1 out of fold (as cuts reach it there) and on test rows."""
    found = CUTS[average](oof, Y, scoring=f"f1_{average}")
    return found.value, f1_score(T, sparse.csr_array(scores > found.cuts).astype(int), average=average)


def ranked(T: Any, scores: np.ndarray) -> list[float]:
    return [100 * precision_at_k(T, scores, k=k) for k in (1, 3, 5)] + [ranking_loss(T, scores)]


def line(name: str, values: list[float], micro: float, macro: float, seconds: float, note: str = "") -> None:
    p = "/".join(f"{value:.1f}" for value in values[:3])
    print(f"  {name:22} {p:16} {values[3]:.4f}  {micro:.4f}  {macro:.4f} {seconds:8.0f}  {note}", flush=True)


def ours(X: Any, Y: Any, C: Any, T: Any, **options: Any) -> None:
    start = time.process_time()
    model = AutoMultiLabel("ndcg_at_5", **options).fit(X, Y)
    spent = time.process_time() - start
    scores, oof = model.decision_function(C), model.oof_scores_
    known = ~np.isnan(oof).any(axis=1)
    micro, macro = (sets_of(average, oof[known], Y[known], scores, T)[1] for average in CUTS)
    line("AutoMultiLabel", ranked(T, scores), micro, macro, spent, model.leaderboard_[0]["method"])


def theirs(X: Any, Y: Any, C: Any, T: Any) -> None:
    if sparse.issparse(X):
        X, C = sparse.csr_array(normalize(X)), sparse.csr_array(normalize(C))
    else:
        scaler = StandardScaler().fit(X)
        X, C = scaler.transform(X), scaler.transform(C)
    for title, each in {
        "LinearSVC": LinearSVC(),
        "LogisticRegression": LogisticRegression(max_iter=1000),
    }.items():
        start = time.process_time()
        best: dict[str, tuple[float, Any]] = {}
        for strength in TUNED_C:
            model = BinaryRelevance(each.set_params(C=strength))
            oof = out_of_fold_scores(model, X, Y, cv=3)
            scores = model.fit(X, Y).decision_function(C)
            found = {"rank": (ndcg_at_k(Y, oof, k=min(5, Y.shape[1])), ranked(T, scores))}
            found |= {average: sets_of(average, oof, Y, scores, T) for average in CUTS}
            for measure, pair in found.items():
                if measure not in best or pair[0] > best[measure][0]:
                    best[measure] = pair
        spent = time.process_time() - start
        line(title, best["rank"][1], best["micro"][1], best["macro"][1], spent, "C tuned, our cuts")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=NAMES)
    parser.add_argument("--budget", type=float, default=300.0)
    parser.add_argument("--cpu", action="store_true")
    parser.add_argument("--alone", action="store_true", help="leave the opponents out")
    parser.add_argument("--verbose", type=int, default=0)
    parser.add_argument("--methods", nargs="+", default=None)
    options = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    if options.cpu:
        time.perf_counter = time.process_time  # type: ignore[assignment]
    for name in options.names:
        X, Y, C, T = split(name)
        print(f"{name}: {X.shape[0]}×{X.shape[1]}, {Y.shape[1]} labels, {T.shape[0]} test rows")
        print(f"  {'':22} {'P@1/3/5':16} {'rank':6}  {'micro':6}  {'macro':6} {'cpu s':>8}")
        for title, values in PUBLISHED.get(name, {}).items():
            print(f"  {title:22} {'/'.join(map(str, values))}")
        ours(X, Y, C, T, time_budget=options.budget, methods=options.methods, verbose=options.verbose)
        if not options.alone and Y.shape[1] <= MOST_LABELS:
            theirs(X, Y, C, T)


if __name__ == "__main__":
    main()
