"""Quality of the label-space methods on real data: the paper's Table 3, and what Hamming loss hides.

90 % of the rows to train, 10 % to test, 20 random partitions, ridge λ = 0.01 as in the paper; M* is
the paper's. Micro-F1 uses one threshold for all labels, tuned on a fifth of the training rows. Prints mean
± standard error, the paper's figure, and whether the two lie within three combined standard errors.

Run: OMP_NUM_THREADS=1 HYPERLABEL_DATA=… python -m benchmarks.quality_labelspace [name …] [--splits 20]
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from scipy import sparse

from benchmarks._timing import data_folder
from hyperlabel import PLST, BinaryRelevance, CompressedSensing, PartialBinaryRelevance
from hyperlabel.datasets import concat, read_arff
from hyperlabel.metrics import f1_score, hamming_loss, ndcg_at_k, precision_at_k, propensities, psp_at_k
from hyperlabel.solvers.labels.nested_metric_path import score_nested

FILES = {
    "emotions": ("emotions.arff",),
    "yeast": ("yeast.arff",),
    "corel5k": ("Corel5k-sparse.arff",),
    "delicious": ("delicious-train.arff.gz", "delicious-test.arff.gz"),
}
M_STAR = {"emotions": 2, "yeast": 4, "corel5k": 16, "delicious": 129}
# Tai & Lin (2012), Table 3: mean and standard error of the Hamming loss
PAPER = {
    ("emotions", "BR"): (0.20653, 0.00412),
    ("emotions", "PLST"): (0.20542, 0.00467),
    ("emotions", "CS"): (0.31042, 0.00393),
    ("yeast", "BR"): (0.19916, 0.00211),
    ("yeast", "PLST"): (0.20320, 0.00204),
    ("yeast", "CS"): (0.29390, 0.00189),
    ("corel5k", "BR"): (0.00940, 0.00002),
    ("corel5k", "PLST"): (0.00944, 0.00002),
    ("corel5k", "CS"): (0.01021, 0.00002),
    ("delicious", "BR"): (0.01813, 0.00003),
    ("delicious", "PLST"): (0.01819, 0.00003),
    ("delicious", "CS"): (0.01954, 0.00003),
}
ALPHA = 0.01


def load(name: str) -> tuple[Any, sparse.csr_array]:
    parts = [read_arff(data_folder() / name / file) for file in FILES[name]]
    data = parts[0] if len(parts) == 1 else concat(parts)
    return data.X, sparse.csr_array(data.Y)


def tuned_threshold(model: Any, X: Any, Y: sparse.csr_array) -> float:
    """The one threshold with the best micro-F1 on a fifth of the rows, learned on the rest."""
    len_train = X.shape[0] * 4 // 5
    scores = model.fit(X[:len_train], Y[:len_train]).decision_function(X[len_train:])
    truth = Y[len_train:].toarray() > 0
    order = np.argsort(-scores, axis=None)
    found = np.cumsum(truth.ravel()[order])
    f1 = 2 * found / (np.arange(1, len(order) + 1) + truth.sum())
    return float(scores.ravel()[order[f1.argmax()]]) - 1e-12


def measure(scores: np.ndarray, threshold: float, Y: sparse.csr_array, p: np.ndarray) -> dict[str, float]:
    return {
        "hamming": hamming_loss(Y, (scores > 0).astype(np.int8)),
        "micro-F1": f1_score(Y, (scores > threshold).astype(np.int8), average="micro"),
        "nDCG@5": ndcg_at_k(Y, scores, k=5),
        "P@1": precision_at_k(Y, scores, k=1),
        "PSP@1": psp_at_k(Y, scores, propensities=p, k=1),
    }


def one_split(name: str, X: Any, Y: sparse.csr_array, seed: int) -> dict[str, dict[str, Any]]:
    n, K, M = X.shape[0], Y.shape[1], M_STAR[name]
    order = np.random.default_rng(seed).permutation(n)
    train, test = order[: n * 9 // 10], order[n * 9 // 10 :]
    A, B, C, D = X[train], Y[train], X[test], Y[test]
    p = propensities(B)
    frequency = np.tile(np.asarray(B.mean(axis=0)).ravel(), (len(test), 1))
    top = np.sort(frequency[0])[::-1][max(round(B.nnz / len(train)) - 1, 0)]
    out = {
        "nothing": measure(np.full((len(test), K), -1.0), 0.0, D, p),
        "most frequent": measure(frequency - 0.5, float(top) - 0.5 - 1e-12, D, p),
    }
    models = {
        "BR": BinaryRelevance(alpha=ALPHA),
        "PLST": PLST(M, alpha=ALPHA),
        "PBR": PartialBinaryRelevance(M, alpha=ALPHA),
        "CS": CompressedSensing(M, alpha=ALPHA, random_state=seed),
        "PLST auto": PLST(alpha=ALPHA),
    }
    for label, model in models.items():
        threshold = tuned_threshold(model, A, B)
        out[label] = measure(model.fit(A, B).decision_function(C), threshold, D, p)
    auto = models["PLST auto"]
    full = PLST(None, alpha=ALPHA).fit(A, B)
    grid = auto.dimension_path_["n_components"]
    steps, place = np.unique(np.minimum(grid, full.encoder_.n_components_), return_inverse=True)
    codes, encoder = full.predict_codes(C), full.encoder_
    every = score_nested(codes, encoder.components_, encoder.offset_ - 0.5, D, steps)[place]
    out["PLST auto"] |= {"M": auto.dimension_path_["chosen"], "every M": every}
    return out


def report(name: str, runs: list[dict[str, dict[str, Any]]]) -> None:
    print(f"\n{name}: {len(runs)} partitions, M* = {M_STAR[name]}", flush=True)
    for label in runs[0]:
        cells = []
        for metric in runs[0][label]:
            values = np.array([run[label][metric] for run in runs])
            if metric == "every M":  # nDCG@5 on the test rows: splits × M
                got = np.array([run[label]["nDCG@5"] for run in runs])
                best_fixed, best_each = values.mean(axis=0).max(), values.max(axis=1)
                cells.append(f"of best fixed M {got.mean() / best_fixed:.4f}")
                cells.append(f"of each partition's own best {np.mean(got / best_each):.4f}")
                continue
            error = values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else 0.0
            digits = 1 if metric == "M" else 5 if metric == "hamming" else 4
            cells.append(f"{metric} {values.mean():.{digits}f} ± {error:.{digits}f}")
            if metric == "hamming" and (name, label) in PAPER:
                mean, std = PAPER[name, label]
                ratio = abs(values.mean() - mean) / np.hypot(error, std)
                cells[-1] += f" (paper {mean:.5f}, {ratio:.1f} combined SE)"
        print(f"  {label:<13} " + " | ".join(cells), flush=True)


def tail(name: str, X: Any, Y: sparse.csr_array) -> None:
    """P@1 and PSP@1 along M, one partition: what a global low rank does to rare labels."""
    n = X.shape[0]
    order = np.random.default_rng(0).permutation(n)
    train, test = order[: n * 9 // 10], order[n * 9 // 10 :]
    p = propensities(Y[train])
    rare = np.asarray(Y[train].sum(axis=0)).ravel()
    rare = rare <= np.median(rare)
    print(f"\n{name}: along M (one partition)", flush=True)
    for M in [m for m in (4, 16, 64, 129, 256, 512) if m < Y.shape[1]] + [None]:
        scores = PLST(M, alpha=ALPHA).fit(X[train], Y[train]).decision_function(X[test])
        best = np.argsort(-scores, axis=1)[:, :5]
        shown = len(np.unique(best[:, 0]))
        print(
            f"  M = {M or 'all':>4}  P@1 {precision_at_k(Y[test], scores, k=1):.4f}"
            f"  PSP@1 {psp_at_k(Y[test], scores, propensities=p, k=1):.4f}"
            f"  PSP@5 {psp_at_k(Y[test], scores, propensities=p, k=5):.4f}"
            f"  labels ever first {shown}  rarer half among the five best {rare[best].mean():.4f}",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*", default=list(FILES))
    parser.add_argument("--splits", type=int, default=20)
    given = parser.parse_args()
    for name in given.names or FILES:
        X, Y = load(name)
        report(name, [one_split(name, X, Y, seed) for seed in range(given.splits)])
        if name in ("corel5k", "delicious"):
            tail(name, X, Y)


if __name__ == "__main__":
    main()
