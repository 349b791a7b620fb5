"""Squared hinge and logistic loss of all labels together, beside scikit-learn label by label.

``python -m benchmarks.bench_losses [SET …]``: CPU seconds of one thread to one relative gradient (1e-3 of
that at zero, C = 1), rows of unit variance (dense) and as they are (sparse). A peer gets the loosest of its
tolerances that reaches the gradient, for each label by itself; only that run counts, the rest is free. Twelve
labels from frequent to rare stand for all of them. Shown is the fastest peer on dense or sparse rows.

With ``--quality`` each loss chooses its λ around that of the evidence on three folds (nDCG@5), its
thresholds on their scores, and is judged on the test rows of the published split; sparse rows have unit
length.
"""

from __future__ import annotations

import sys
import time
import warnings

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import Normalizer, StandardScaler
from sklearn.svm import LinearSVC

from benchmarks.quality_published import split
from hyperlabel import BinaryRelevance
from hyperlabel.decision import global_threshold, per_label_thresholds
from hyperlabel.metrics import f1_score, ndcg_at_k, precision_at_k, ranking_loss
from hyperlabel.solvers.margin.losses import solve_margins

GRADIENT, LABELS = 1e-3, 12
LOOSE = 1e-2  # a ranking has settled by then
AROUND = (0.1, 0.3, 1.0, 3.0, 10.0)  # λ over that of the evidence
TOLERANCES = (1e2, 1e1, 1.0, 1e-1, 1e-2, 1e-3, 1e-4, 1e-5)
PEERS = {
    "squared_hinge": {"LinearSVC": lambda tol: LinearSVC(dual=False, tol=tol, max_iter=5000)},
    "logistic": {
        "lbfgs": lambda tol: LogisticRegression(tol=tol, max_iter=5000),
        "liblinear": lambda tol: LogisticRegression(solver="liblinear", tol=tol, max_iter=5000),
        "newton-cholesky": lambda tol: LogisticRegression(solver="newton-cholesky", tol=tol, max_iter=5000),
    },
}


def relative_gradient(loss, X, t, w, b):
    """Norm of the gradient of ½‖w‖² + Σ loss over that at zero."""

    def norm(w, b):
        m = t * (X @ w + b)
        slope = (
            -2 * np.maximum(1 - m, 0) if loss == "squared_hinge" else -1 / (1 + np.exp(np.clip(m, -50, 50)))
        )
        return np.linalg.norm(np.r_[X.T @ (t * slope) + w, (t * slope).sum()])

    return norm(w, b) / norm(np.zeros_like(w), 0.0)


def peer_seconds(make, loss, X, t):
    for tol in TOLERANCES:
        start = time.process_time()
        model = make(tol).fit(X, t)
        spent = time.process_time() - start
        if relative_gradient(loss, X, t, model.coef_[0], model.intercept_[0]) <= GRADIENT:
            return spent
    return np.inf


def quality(names) -> None:
    print("P@1, nDCG@5, ranking loss, micro-F1, macro-F1")
    for name in names:
        X, Y, rows, truth = split(name)
        scaler = (Normalizer() if sparse.issparse(X) else StandardScaler()).fit(X)
        X, rows = scaler.transform(X), scaler.transform(rows)
        for loss in ("squared", *PEERS):
            model = BinaryRelevance(loss=loss, threshold=0.0, tol=5e-4 if loss == "squared" else LOOSE).fit(
                X, Y
            )
            alphas = [factor * model.alpha_ for factor in AROUND]
            model.set_params(alpha=alphas, cv=3, scoring="ndcg_at_5").fit(X, Y)
            scores, known = model.decision_function(rows), sparse.csr_array(Y, dtype=float)
            each = scores > per_label_thresholds(model.oof_scores_, known, scoring="f1_macro").thresholds
            shared = scores > global_threshold(model.oof_scores_, known, scoring="f1_micro").thresholds
            ranks = (
                precision_at_k(truth, scores, k=1),
                ndcg_at_k(truth, scores, k=5),
                ranking_loss(truth, scores),
            )
            sets = f1_score(truth, shared, average="micro"), f1_score(truth, each, average="macro")
            print(f"{name:16} {loss:14}", " ".join(f"{value:.3f}" for value in (*ranks, *sets)), flush=True)


def main(names) -> None:
    warnings.simplefilter("ignore", ConvergenceWarning)
    for name in names:
        X, Y, _, _ = split(name)
        counts = np.asarray(Y.sum(axis=0)).ravel()
        varying = np.flatnonzero((counts > 0) & (counts < X.shape[0]))
        T = np.where(Y[:, varying].toarray() > 0, 1, -1).astype(np.int8)
        forms = (
            {"sparse": X, "dense": X.toarray()}
            if sparse.issparse(X)
            else {"dense": StandardScaler().fit_transform(X)}
        )
        ours_on = forms.get("sparse", forms["dense"])
        order = varying[np.argsort(-counts[varying], kind="stable")]
        few = np.searchsorted(varying, order[np.linspace(0, len(order) - 1, LABELS).astype(int)])
        for loss, peers in PEERS.items():
            solve_margins(ours_on[:50], T[:50], loss, 0.5)  # compiled
            runs = []
            for _ in range(3):
                start = time.process_time()
                found = solve_margins(ours_on, T, loss, 0.5, tol=GRADIENT)
                runs.append(time.process_time() - start)
            best, by = np.inf, ""
            for form, rows in forms.items():
                for peer, make in peers.items():
                    spent = sum(peer_seconds(make, loss, rows, T[:, j].astype(float)) for j in few)
                    if spent * T.shape[1] / LABELS < best:
                        best, by = spent * T.shape[1] / LABELS, f"{peer}, {form}"
            ours = float(np.median(runs))
            print(
                f"{name} {X.shape[0]}×{X.shape[1]}×{T.shape[1]} {loss}: ours {ours:.2f} s (gradient "
                f"{found.residual:.1e}), {by} {best:.1f} s: {best / ours:.1f} times",
                flush=True,
            )


if __name__ == "__main__":
    given = [name for name in sys.argv[1:] if name != "--quality"]
    if "--quality" in sys.argv:
        quality(given or ["emotions", "scene", "yeast", "medical", "corel5k", "mediamill-disc3"])
    else:
        main(given or ["mediamill-disc3", "delicious"])
