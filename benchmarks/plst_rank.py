"""How many components `PLST()` should take: rules over the same held-out path, on training rows only.

Run: OMP_NUM_THREADS=1 HYPERLABEL_DATA=… python -m benchmarks.plst_rank [name …]
Two splits of at most 3000 training rows of each data set, two thirds to learn from. "best" takes the M of the
highest mean over the folds; "se c" the smallest M whose mean falls short of that by at most c standard errors
of the difference between the two over the folds; "share s" the smallest M with at least the share s of it.
Figures are M / labels, and on the third held out P@1, nDCG@5, micro- and macro-F1. The last lines leave each
data set out in turn: the rule is the one with the fewest components whose mean loss on the *other* sets is at
most .001 in every measure.
"""

from __future__ import annotations

import sys
from collections import Counter
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.preprocessing import StandardScaler, normalize

from benchmarks.row_scales import TEXTS, training_rows
from hyperlabel import PLST
from hyperlabel.metrics import f1_score, ndcg_at_k, precision_at_k

SETS = (
    *(
        "emotions",
        "scene",
        "yeast",
        "medical",
        "enron",
        "birds",
        "slashdot",
        "bibtex",
        "corel5k",
        "delicious",
    ),
    *("20ng", "ohsumed", "yahoo-arts", "yahoo5k-computers", "yahoo-reference", "mediamill-real4k"),
    *("imageclef07a", "tmc2007-500", *TEXTS),
)
RULES = ("best", "se 0.5", "se 1", "se 2", "share 0.998", "share 0.995", "share 0.99")
MOST_ROWS, MOST_LABELS, SPLITS = 3000, 500, 2


def choose(path: dict[str, Any], rule: str) -> int:
    """Return the M that a rule takes from a `dimension_path_`."""
    kind, *number = rule.split()
    best = path["mean"].argmax()
    if kind == "best":
        return int(path["n_components"][best])
    if kind == "share":
        enough = path["mean"] >= float(number[0]) * path["mean"][best]
    else:
        shortfall = path["fold_scores"][:, [best]] - path["fold_scores"]
        error = shortfall.std(axis=0, ddof=1) / np.sqrt(len(shortfall))
        enough = shortfall.mean(axis=0) <= float(number[0]) * error
    return int(path["n_components"][np.flatnonzero(enough)[0]])


def judge(X: Any, Y: sparse.csr_array, seed: int) -> np.ndarray:
    """Rules × (share of the labels, P@1, nDCG@5, micro-F1, macro-F1)."""
    rows = np.random.default_rng(seed).permutation(X.shape[0])[:MOST_ROWS]
    train, test = rows[: 2 * len(rows) // 3], rows[2 * len(rows) // 3 :]
    X = normalize(X) if sparse.issparse(X) else StandardScaler().fit(X[train]).transform(X)
    path = PLST().fit(X[train], Y[train]).dimension_path_
    figures: dict[int, list[float]] = {}
    for rule in RULES:
        M = choose(path, rule)
        if M not in figures:
            model = PLST(M).fit(X[train], Y[train])
            scores, label_sets = model.decision_function(X[test]), model.predict(X[test])
            f1 = [f1_score(Y[test], label_sets, average=average) for average in ("micro", "macro")]
            ranking = [precision_at_k(Y[test], scores, k=1), ndcg_at_k(Y[test], scores, k=5)]
            figures[M] = [M / Y.shape[1], *ranking, *f1]
    return np.array([figures[choose(path, rule)] for rule in RULES])


def main(*names: str) -> None:
    found = {}
    print(f"{'':<20}{'labels':>7}  " + "  ".join(f"{rule:<34}" for rule in RULES))
    for name in names or SETS:
        X, Y = training_rows(name)
        Y = Y[:, np.argsort(-Y.sum(axis=0), kind="stable")[:MOST_LABELS]]
        found[name] = np.mean([judge(X, Y, seed) for seed in range(SPLITS)], axis=0)
        cells = ["  ".join(f"{value:.3f}" for value in row) for row in found[name]]
        print(f"{name:<20}{Y.shape[1]:>7}  " + "  ".join(f"{cell:<34}" for cell in cells), flush=True)
    table = np.stack(list(found.values()))
    cells = ["  ".join(f"{value:.3f}" for value in row) for row in table.mean(axis=0)]
    print(f"{'mean':<29}" + "  ".join(f"{cell:<34}" for cell in cells))
    chosen = []
    for left_out in range(len(table)):
        others = np.delete(table, left_out, axis=0).mean(axis=0)
        fine = np.flatnonzero((others[:, 1:] >= others[0, 1:] - 1e-3).all(axis=1))
        chosen.append(int(fine[others[fine, 0].argmin()]))
    own = table[np.arange(len(table)), chosen]
    print("left out in turn:", Counter(RULES[c] for c in chosen))
    print("share of the labels", own[:, 0].mean().round(3), "against", table[:, 0, 0].mean().round(3))
    print("change of P@1, nDCG@5, micro-F1, macro-F1", (own - table[:, 0])[:, 1:].mean(axis=0).round(4))
    print("largest losses", (own - table[:, 0])[:, 1:].min(axis=0).round(4))


if __name__ == "__main__":
    main(*sys.argv[1:])
