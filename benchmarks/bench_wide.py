"""Wide text: BR and PLST end to end on 200 000 × 100 000 synthetic TF-IDF rows and 2000 power-law labels.

Run: python -m benchmarks.bench_wide [fraction]   (1: full size, an hour; 0.25 shrinks all sizes alike)
Rows have 60 terms: 12 from the topics of their labels, the rest from a Zipf background; float32.
Every method runs in its own process; the time includes everything from validation to the kept model.
What pruning costs is read off the model with all weights, pruned afterwards: the solution is the same.
"""

from __future__ import annotations

import json
import sys
import time

import numpy as np
from scipy import sparse

from benchmarks.measure import in_process, peak_gb

TERMS, TOLD, TOPIC = 60, 12, 40  # terms per row, those that its labels tell, terms of a topic
METHODS = {
    "BR, 100 weights per label": "BinaryRelevance(alpha=1.0, max_nonzero_coefs=100, memory_limit=5e8)",
    "BR, all weights": "BinaryRelevance(alpha=1.0, memory_limit=5e8)",
    "PLST, 100 components": "PLST(100, alpha=1.0)",
}


def make(
    n: int, d: int, k: int, seed: int = 0, terms: int = TERMS
) -> tuple[sparse.csr_array, sparse.csr_array]:
    """Text whose labels have topics; label frequencies fall as a power of their rank."""
    topics = np.random.default_rng(1).integers(0, max(d // 10, 1), size=(k, TOPIC))  # they overlap
    rng = np.random.default_rng(seed)
    weight = np.arange(1, k + 1) ** -0.9
    carried = rng.choice(k, size=(n, 4), p=weight / weight.sum())
    told = np.take_along_axis(carried, rng.integers(0, 4, size=(n, TOLD)), axis=1)
    from_topics = topics[told, rng.integers(0, TOPIC, size=told.shape)]
    background = np.minimum(rng.zipf(1.3, size=(n, terms - TOLD)) - 1, d - 1)
    columns = np.hstack([from_topics, background]).astype(np.int32)
    X = sparse.csr_array(
        (np.ones(n * terms, dtype=np.float32), columns.ravel(), np.arange(0, n * terms + 1, terms)),
        shape=(n, d),
    )
    X.sum_duplicates()
    idf = np.log((1 + n) / (1 + np.bincount(X.indices, minlength=d))).astype(np.float32) + 1
    X.data *= idf[X.indices]
    X.data /= np.repeat(np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel()), np.diff(X.indptr))
    Y = sparse.csr_array((np.ones(n * 4), carried.ravel(), np.arange(0, n * 4 + 1, 4)), shape=(n, k))
    Y.sum_duplicates()
    Y.data[:] = 1
    return X, Y


def size_mb(model: object) -> float:
    """Bytes of the arrays a prediction needs."""
    total = 0
    for value in (*vars(model).values(), *vars(getattr(model, "encoder_", object)).values()):
        parts = (value.data, value.indices, value.indptr) if sparse.issparse(value) else (value,)
        total += sum(part.nbytes for part in parts if isinstance(part, np.ndarray) and part.dtype != object)
    return total / 1e6


def one(method: str, n: int, d: int, k: int) -> None:
    from hyperlabel import PLST, BinaryRelevance, metrics
    from hyperlabel.solvers.ridge.label_blocks import keep_largest

    X, Y = make(n, d, k)
    n_test = min(5_000, n // 10)
    model = eval(METHODS[method], {"PLST": PLST, "BinaryRelevance": BinaryRelevance})  # our own strings
    start = time.process_time()
    model.fit(X[n_test:], Y[n_test:])
    fit = time.process_time() - start
    start = time.process_time()
    best = model.predict_topk(X[:n_test], k=5)
    predict = time.process_time() - start
    truth = Y[:n_test]
    found = {
        "fit": fit,
        "rows_s": n_test / predict,
        "peak_gb": peak_gb(),
        "model_mb": size_mb(model),
        "p1": metrics.precision_at_k(truth, best, k=1),
        "p5": metrics.precision_at_k(truth, best, k=5),
    }
    if method == "BR, all weights":
        whole, intercept = model.coef_, model.intercept_
        centre = np.asarray(X[n_test:].mean(axis=0, dtype=np.float64)).ravel()
        for count in (1000, 100, 30):
            model.coef_ = keep_largest(whole, count)  # and the mean score stays, as in BinaryRelevance
            model.intercept_ = intercept + whole @ centre - model.coef_ @ centre
            best = model.predict_topk(X[:n_test], k=5)
            found[f"pruned to {count}"] = [metrics.precision_at_k(truth, best, k=k) for k in (1, 5)]
    print(json.dumps(found))


def main(fraction: float = 1.0) -> None:
    n, d, k = (round(fraction * full) for full in (200_000, 100_000, 2_000))
    print(
        f"{n:,} × {d:,} TF-IDF, {TERMS} terms per row, {k:,} labels, float32, one thread; CPU seconds",
        flush=True,
    )
    print(f"  {'method':<28}{'fit s':>8}{'rows/s':>9}{'peak GB':>9}{'model MB':>10}{'P@1':>7}{'P@5':>7}")
    for method in METHODS:
        row = in_process(__file__, method, n, d, k)
        print(
            f"  {method:<28}{row['fit']:>8.0f}{row['rows_s']:>9.0f}{row['peak_gb']:>9.2f}"
            f"{row['model_mb']:>10.1f}{row['p1']:>7.3f}{row['p5']:>7.3f}",
            flush=True,
        )
        for name, (p1, p5) in ((key, value) for key, value in row.items() if key.startswith("pruned")):
            print(f"    {name + ' weights per label':<62}{p1:>7.3f}{p5:>7.3f}", flush=True)


if __name__ == "__main__":
    if len(sys.argv) == 5:
        one(sys.argv[1], *(int(value) for value in sys.argv[2:]))
    else:
        main(*(float(value) for value in sys.argv[1:]))
