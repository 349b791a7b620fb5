"""What the first call reaches: λ and threshold from the moments against α = 1 with the threshold at 0.

Every shared set, random splits with as many training rows as the published split (two thirds where there is
none), ten (two where there are more than 5000). Each way to prepare the rows is a line of its own: as they
are ("raw"), columns of unit variance ("z", dense), rows of unit length ("unit", sparse). Micro-F1, macro-F1
and nDCG@5 of ``BinaryRelevance(alpha=1.0, threshold=0.0)`` and of ``BinaryRelevance()``; "best" is the
nDCG@5 of the best of 29 λ, four to a decade, on the test rows of each split, which nobody can choose. Ends
with the limits of the project and whether they are kept.

Run: OMP_NUM_THREADS=1 HYPERLABEL_DATA=… python -m benchmarks.quality_defaults [name …] [--splits 10]

With --rank [--hypergraph] the same splits compare RankSVM at C = 1 and C = "auto", on at most 3000 (--rows)
training and as many test rows, and the embedded Debian packages (split by source) join them; "fits paid" is
the CPU time of the choice and the fit over that of one fit at the C chosen.
"""

from __future__ import annotations

import argparse
import time
import warnings
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.preprocessing import StandardScaler, normalize

from benchmarks._data import real
from hyperlabel import BinaryRelevance, HypergraphRankSVM, RankSVM
from hyperlabel.datasets import load_debtags
from hyperlabel.metrics import f1_score, ndcg_at_k, precision_at_k
from hyperlabel.solvers.ridge.routes import choose_route, solve_ridge

TRAINING_ROWS = {
    "emotions": 391,
    "scene": 1211,
    "yeast": 1500,
    "genbase": 463,
    "medical": 333,
    "corel5k": 4500,
    "delicious": 12920,
    "yahoo-arts": 5056,
    "yahoo5k-computers": 2000,
    "mediamill-real4k": 2925,
    "imageclef07a": 10000,
    "mediamill-disc3": 30970,
}
MEASURES = ("micro-F1", "macro-F1", "nDCG@5")
STEPS = np.arange(29) / 4  # decades


def prepared(X: Any, train: np.ndarray) -> dict[str, Any]:
    """Return the rows in each preparation."""
    if sparse.issparse(X):
        return {"raw": X, "unit": sparse.csr_array(normalize(X))}
    return {"raw": X, "z": StandardScaler().fit(X[train]).transform(X)}


def best_ndcg(A: Any, B: Any, C: Any, truth: Any) -> float:
    """The best nDCG@5 on the test rows over 29 λ around the mean diagonal of the smaller Gram."""
    squares = A.multiply(A).sum() if sparse.issparse(A) else np.sum((A - A.mean(axis=0)) ** 2)
    krylov = choose_route(A, len(STEPS)) == "krylov"
    low = -3.5 if krylov else -5.0  # a Krylov space for smaller λ would take minutes
    grid = float(squares) / min(A.shape) * 10 ** (low + STEPS)
    path = solve_ridge(A, B, alphas=tuple(grid), tol=1e-4)
    found = []
    for alpha in grid:
        ridge = path.solve(float(alpha))
        found.append(ndcg_at_k(truth, np.asarray(C @ ridge.coef) + ridge.intercept, k=5))
    return max(found)


def measures(model: Any, X: Any, truth: Any) -> list[float]:
    scores, predicted = model.decision_function(X), model.predict(X)
    return [
        f1_score(truth, predicted, average="micro"),
        f1_score(truth, predicted, average="macro"),
        ndcg_at_k(truth, scores, k=5),
    ]


def run(name: str, splits: int) -> dict[str, np.ndarray]:
    """Return, per preparation, an array splits × 7: three measures twice and the best nDCG@5."""
    data = real(name)
    Y = sparse.csr_array(data.Y)
    found: dict[str, list[list[float]]] = {}
    for seed in range(splits):
        order = np.random.default_rng(seed).permutation(Y.shape[0])
        train, test = np.split(order, [TRAINING_ROWS[name]])
        for way, X in prepared(data.X, train).items():
            A, B, C, truth = X[train], Y[train], X[test], Y[test]
            old = BinaryRelevance(alpha=1.0, threshold=0.0).fit(A, B)
            new = BinaryRelevance(alpha="auto", threshold="auto").fit(A, B)
            row = measures(old, C, truth) + measures(new, C, truth) + [best_ndcg(A, B, C, truth)]
            found.setdefault(way, []).append(row)
    return {way: np.array(rows) for way, rows in found.items()}


def ranked(kind: Any, name: str, splits: int, most: int) -> np.ndarray:
    """Return an array splits × 10: four measures twice, C and the price of its choice."""
    data = load_debtags() if name == "debtags" else real(name)
    Y, found = sparse.csr_array(data.Y), []
    for seed in range(splits):
        rng = np.random.default_rng(seed)
        order, size = rng.permutation(Y.shape[0]), TRAINING_ROWS.get(name)
        if data.groups is not None:  # packages of one source share their description
            _, source = np.unique(data.groups, return_inverse=True)
            order = order[np.argsort(rng.permutation(source.max() + 1)[source[order]], kind="stable")]
            size = 3 * len(order) // 4
        train, test = order[:size][:most], order[size:][:most]
        A, B, C, truth = data.X[train], Y[train], data.X[test], Y[test]
        row, seconds, chosen = [], [], 1.0
        for C_asked in (1.0, "auto"):
            start = time.process_time()
            model = kind(C_asked, random_state=seed).fit(A, B)
            seconds.append(time.process_time() - start)
            chosen = model.C_
            row += [*measures(model, C, truth), precision_at_k(truth, model.decision_function(C), k=1)]
        start = time.process_time()
        kind(chosen, random_state=seed).fit(A, B)
        found.append([*row, chosen, seconds[1] / (time.process_time() - start)])
    return np.array(found)


def rank_table(kind: Any, names: list[str], splits: int, most: int) -> None:
    print("| set | micro-F1 | macro-F1 | nDCG@5 | P@1 | C chosen | fits paid |\n|" + "---|" * 7, flush=True)
    kind(1.0, tol=0.1).fit(np.eye(4), np.eye(4)[:, :2])  # compiled code is ready
    for name in names:
        rows = ranked(kind, name, splits, most)
        mean, change = rows.mean(axis=0), (rows[:, 4:8] - rows[:, :4]).mean(axis=0)
        cells = [f"{mean[j]:.3f} → {mean[4 + j]:.3f} ({change[j]:+.3f})" for j in range(4)]
        chosen = f"{rows[:, 8].min():g}" + (f" to {rows[:, 8].max():g}" if np.ptp(rows[:, 8]) else "")
        print(f"| {name} | " + " | ".join(cells) + f" | {chosen} | {np.median(rows[:, 9]):.1f} |", flush=True)


def line(name: str, way: str, rows: np.ndarray) -> str:
    mean, change = rows.mean(axis=0), (rows[:, 3:6] - rows[:, :3]).mean(axis=0)
    cells = [f"{mean[j]:.3f} → {mean[3 + j]:.3f} ({change[j]:+.3f})" for j in range(3)]
    return f"| {name} | {way} | " + " | ".join(cells) + f" | {mean[6]:.3f} ({mean[5] - mean[6]:+.3f}) |"


def verdict(title: str, chosen: dict[str, np.ndarray]) -> None:
    """Print the limits of the issue for one preparation per set."""
    means = np.array([rows.mean(axis=0) for rows in chosen.values()])
    change, gap = means[:, 3:6] - means[:, :3], means[:, 6] - means[:, 5]
    names = list(chosen)
    print(f"\n{title}")
    for j, measure in enumerate(MEASURES):
        worst = int(change[:, j].argmin())
        print(f"  {measure}: mean {change[:, j].mean():+.4f}, worst {change[worst, j]:+.4f} ({names[worst]})")
    furthest = names[int(gap.argmax())]
    print(f"  below the best λ on test: mean {gap.mean():.4f}, worst {gap.max():.4f} ({furthest})")
    kept = {
        "no measure more than .01 below": change.min() >= -0.01,
        "micro-F1 at least .04 above on average": change[:, 0].mean() >= 0.04,
        "nDCG@5 at least .007 above on average": change[:, 2].mean() >= 0.007,
        "within .02 of the best λ everywhere": gap.max() <= 0.02,
        "within .005 of it on average": gap.mean() <= 0.005,
    }
    for limit, holds in kept.items():
        print(f"  {'kept' if holds else 'BROKEN'}: {limit}")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*")
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--rank", action="store_true")
    parser.add_argument("--hypergraph", action="store_true")
    parser.add_argument("--rows", type=int, default=3000)
    given = parser.parse_args()
    if given.rank:
        kind = HypergraphRankSVM if given.hypergraph else RankSVM
        return rank_table(kind, given.names or [*TRAINING_ROWS, "debtags"], given.splits, given.rows)
    warnings.filterwarnings("ignore", message="The Krylov solver stopped")
    header = " | ".join(["set", "rows", *MEASURES, "nDCG@5 of the best λ"])
    print(f"| {header} |\n|" + "---|" * 6, flush=True)
    raw, ready, scaled = {}, {}, {}
    for name in given.names or TRAINING_ROWS:
        found = run(name, min(given.splits, 2) if TRAINING_ROWS[name] > 5000 else given.splits)
        for way, rows in found.items():
            print(line(name, way, rows), flush=True)
        raw[name], ready[name] = found["raw"], found.get("unit", found["raw"])
        # new default with z-scores against the old one without
        scaled[name] = ready[name]
        if "z" in found:
            scaled[name] = np.hstack([found["raw"][:, :3], found["z"][:, 3:]])
    verdict("Rows as they are:", raw)
    verdict("Sparse rows of unit length, dense ones as they are:", ready)
    verdict("Sparse rows of unit length, z-scores for dense ones (against α = 1 without them):", scaled)


if __name__ == "__main__":
    main()
