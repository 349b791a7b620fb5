"""What scaling the rows does for the first call: `BinaryRelevance()` on rows as they are, and scaled.

Run: OMP_NUM_THREADS=1 HYPERLABEL_DATA=… python -m benchmarks.row_scales [name …]
Three random splits of the training rows of every sparse data set (at most 4000 of them), two thirds to learn
from; test rows decide nothing. "unit" divides rows by their length, "tf-idf" is
``TfidfTransformer(sublinear_tf=True)``. Texts are counted by ``CountVectorizer(min_df=3)``. Rows are counts
where all numbers are whole and some are above 1: only there would a scale be a guess about the user's data.
"""

from __future__ import annotations

import gzip
import json
import sys
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer
from sklearn.preprocessing import normalize

from benchmarks._data import real
from benchmarks._timing import data_folder
from hyperlabel import BinaryRelevance
from hyperlabel.metrics import f1_score, ndcg_at_k, precision_at_k

SETS = (
    *("medical", "corel5k", "delicious", "bibtex", "enron", "slashdot", "tmc2007-500", "20ng", "ohsumed"),
    *("rcv1sub1", "yahoo5k-computers", "yahoo-arts", "yahoo-reference"),
)
TEXTS = ("reuters21578-90", "makupalat", "kirjastonhoitaja")
MOST_ROWS, SPLITS = 4000, 3


def counted(name: str) -> tuple[sparse.csr_array, sparse.csr_array]:
    """Words of the training texts of a file of texts, and their labels of at least 5 texts."""
    with gzip.open(data_folder() / "texts" / f"{name}.jsonl.gz", "rt", encoding="utf-8") as file:
        texts = [row for row in map(json.loads, file) if row["split"] == "train"]
    X = sparse.csr_array(CountVectorizer(min_df=3).fit_transform([row["text"] for row in texts]))
    names = sorted({label for row in texts for label in row["labels"]})
    place = {label: j for j, label in enumerate(names)}
    entries = [(i, place[label]) for i, row in enumerate(texts) for label in set(row["labels"])]
    rows, columns = np.array(entries).T
    Y = sparse.csr_array((np.ones(len(rows)), (rows, columns)), shape=(len(texts), len(names)))
    return X, Y[:, np.flatnonzero(Y.sum(axis=0) >= 5)]


def training_rows(name: str) -> tuple[sparse.csr_array, sparse.csr_array]:
    """Training rows of a data set: the published ones where there are some."""
    if name in TEXTS:
        return counted(name)
    try:
        data = real(name, "train")
    except (ValueError, KeyError, FileNotFoundError):
        data = real(name)
    X = sparse.csr_array(data.X) if sparse.issparse(data.X) else data.X
    return X, sparse.csr_array(data.Y).astype(float)


def measures(X: Any, Y: Any, train: np.ndarray, test: np.ndarray) -> list[float]:
    """λ, P@1, nDCG@5, micro- and macro-F1 of the first call on held-out rows."""
    model = BinaryRelevance().fit(X[train], Y[train])
    scores, label_sets = model.decision_function(X[test]), model.predict(X[test])
    f1 = [f1_score(Y[test], label_sets, average=average) for average in ("micro", "macro")]
    return [model.alpha_, precision_at_k(Y[test], scores, k=1), ndcg_at_k(Y[test], scores, k=5), *f1]


def main(*names: str) -> None:
    print(f"{'':<20}{'':<8}{'λ':>9}{'P@1':>7}{'nDCG@5':>8}{'micro-F1':>10}{'macro-F1':>10}")
    for name in names or (*SETS, *TEXTS):
        X, Y = training_rows(name)
        is_counts = bool((X.data == np.round(X.data)).all() and X.data.max() > 1)
        found: dict[str, list[list[float]]] = {"raw": [], "unit": [], "tf-idf": []}
        for seed in range(SPLITS):
            rows = np.random.default_rng(seed).permutation(X.shape[0])[:MOST_ROWS]
            train, test = rows[: 2 * len(rows) // 3], rows[2 * len(rows) // 3 :]
            found["raw"].append(measures(X, Y, train, test))
            found["unit"].append(measures(normalize(X), Y, train, test))
            weighted = TfidfTransformer(sublinear_tf=True).fit(X[train]).transform(X)
            found["tf-idf"].append(measures(weighted, Y, train, test))
        for scale, splits in found.items():
            alpha, *values = np.mean(splits, axis=0)
            figures = f"{values[0]:>7.3f}{values[1]:>8.3f}{values[2]:>10.3f}{values[3]:>10.3f}"
            title = f"{name}{' (counts)' if is_counts else ''}" if scale == "raw" else ""
            print(f"{title:<26}{scale:<8}{alpha:>9.3g}{figures}", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
