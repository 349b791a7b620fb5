"""Label names as a prior of the shared ridge, beside the ridge without them, on held-out texts.

Features are tf-idf of words or of character 4- to 6-grams inside words; names are rows of the same features,
without what stands in brackets. λ and g come from the evidence: nothing is chosen on the test rows.
Candidates are the labels of the training rows, or all labels of the file.
F1@5 is the mean of 2·hits/(5 + true labels).

Run: OMP_NUM_THREADS=1 HYPERLABEL_DATA=… python -m benchmarks.label_names [name …] [--rows N] [--alpha A]
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
import time
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.feature_extraction.text import TfidfVectorizer

from benchmarks._timing import data_folder
from hyperlabel import BinaryRelevance

SETS = {  # file, features, whether the labels are words
    "kirjastonhoitaja": ("kirjastonhoitaja.jsonl.gz", "characters"),
    "makupalat": ("makupalat.jsonl.gz", "characters"),
    "reuters": ("reuters21578-90.jsonl.gz", "words"),
}


def read(name: str, n_rows: int = 0) -> tuple[list[str], list[list[str]], list[str], list[list[str]]]:
    """Return texts and labels of training (and validation) rows, and of test rows."""
    with gzip.open(data_folder() / "texts" / SETS[name][0], "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    train = [row for row in rows if row["split"] != "test"]
    test = [row for row in rows if row["split"] == "test"]
    if n_rows:
        order = np.random.default_rng(0).permutation(len(train))[:n_rows]
        train = [train[i] for i in order]
    texts, labels = ([row[field] for row in train] for field in ("text", "labels"))
    return texts, labels, [row["text"] for row in test], [row["labels"] for row in test]


def make_vectorizer(features: str) -> TfidfVectorizer:
    """Return tf-idf of words and pairs, or of character 4- to 6-grams inside words."""
    if features == "words":
        return TfidfVectorizer(sublinear_tf=True, min_df=2)
    return TfidfVectorizer(analyzer="char_wb", ngram_range=(4, 6), sublinear_tf=True, min_df=2)


def f1_at_5(scores: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """Return 2·hits/(5 + true) of each row."""
    best = np.argpartition(-scores, 5, axis=1)[:, :5]
    return 2 * np.take_along_axis(truth, best, axis=1).sum(axis=1) / (5 + truth.sum(axis=1))


def ndcg_at_10(scores: np.ndarray, truth: np.ndarray) -> float:
    """Return nDCG@10, the ideal ranking holding all true labels."""
    best = np.argsort(-scores, axis=1, kind="stable")[:, :10]
    discount = 1 / np.log2(np.arange(2, 12))
    ideal = np.array([discount[: min(10, count)].sum() for count in truth.sum(axis=1)])
    gain = (np.take_along_axis(truth, best, axis=1) * discount).sum(axis=1)
    return float(np.mean(gain / np.maximum(ideal, 1e-12)))


def compare(name: str, n_rows: int, alpha: Any, seed: int | None = None) -> None:
    """Print the measures with and without names, and with shuffled ones."""
    texts, labels, test_texts, test_labels = read(name, n_rows)
    trained = sorted({label for row in labels for label in row})
    seen = set(trained)
    unseen = sorted({label for row in test_labels for label in row} - seen)
    names = trained + unseen
    column = {label: j for j, label in enumerate(names)}
    truth = np.zeros((len(test_labels), len(names)), dtype=bool)
    for i, row in enumerate(test_labels):
        truth[i, [column[label] for label in row]] = True
    Y = sparse.lil_array((len(labels), len(names)))
    for i, row in enumerate(labels):
        Y[i, [column[label] for label in row]] = 1
    start = time.process_time()
    vectorizer = make_vectorizer(SETS[name][1])
    X, Z = vectorizer.fit_transform(texts), vectorizer.transform(test_texts)
    V = vectorizer.transform([re.sub(r"\s*\([^)]*\)", "", label) for label in names])
    read_seconds = time.process_time() - start
    order = np.random.default_rng(0).permutation(len(names))
    per_row = {}
    for what, rows in (("with names", V), ("shuffled", V[order]), ("without", None)):
        start = time.process_time()
        model = BinaryRelevance(alpha=alpha, label_features=rows)
        if rows is None:
            # the same solver, so that the comparison is one of names alone
            model.set_params(label_features=sparse.csr_array(V.shape))
        scores = model.fit(X, sparse.csr_array(Y)).decision_function(Z)
        seconds = read_seconds + time.process_time() - start
        known = scores[:, : len(trained)]
        per_row[what] = f1_at_5(known, truth[:, : len(trained)])
        # true labels without a training row count as missed
        all_known = np.hstack([known, np.full((len(known), len(unseen)), -np.inf)])
        line = (
            f"{name:17} n {X.shape[0]} d {X.shape[1]} k {len(names)} {what:10} g {model.label_scale_:.4f} "
            f"λ {model.alpha_:.3g}  F1@5 {f1_at_5(all_known, truth).mean():.4f} "
            f"nDCG@10 {ndcg_at_10(all_known, truth):.4f}"
        )
        if unseen and rows is not None:
            best = np.zeros_like(truth)
            np.put_along_axis(best, np.argsort(-scores, axis=1)[:, :10], True, axis=1)
            found = (best & truth)[:, len(trained) :].sum() / truth[:, len(trained) :].sum()
            line += (
                f"  all names: F1@5 {f1_at_5(scores, truth).mean():.4f} "
                f"nDCG@10 {ndcg_at_10(scores, truth):.4f} recall@10 of {len(unseen)} unseen {found:.3f}"
            )
        print(f"{line}  {seconds:.0f} CPU s", flush=True)
    gain = per_row["with names"] - per_row["without"]
    print(
        f"{name:17} gain {gain.mean():+.4f}, standard error {gain.std() / np.sqrt(len(gain)):.4f}", flush=True
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=list(SETS))
    parser.add_argument("--rows", type=int, default=0, help="so many random training rows")
    parser.add_argument("--alpha", default="auto")
    options = parser.parse_args()
    alpha: Any = options.alpha if options.alpha == "auto" else float(options.alpha)
    for name in options.names:
        compare(name, options.rows, alpha)


if __name__ == "__main__":
    main()
