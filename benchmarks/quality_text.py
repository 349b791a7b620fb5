"""The command line's text features beside one-vs-rest LinearSVC: Debian descriptions and their tags.

Run: python -m benchmarks.quality_text
The rows and tags of `load_debtags`, with their texts (apt must know Debian bookworm, see
tools/build_debtags.py). A quarter of the rows is held out, sources whole. Every model gets one threshold a
label, tuned for macro-F1 on three folds of its training rows: features and classifiers are compared, not
thresholds.
"""

from __future__ import annotations

import time
from collections import Counter
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import LinearSVC

from hyperlabel import BinaryRelevance
from hyperlabel.datasets import Dataset
from hyperlabel.decision import per_label_thresholds
from hyperlabel.metrics import evaluate
from hyperlabel.model_selection import IterativeStratifiedKFold, iterative_train_test_split
from hyperlabel.tabular.model_file import ModelColumns
from hyperlabel.tabular.pipeline import Choices, features_step, learned_rows
from tools.build_debtags import MIN_PACKAGES, choose, fetch_lists


def texts_and_tags() -> tuple[list[str], sparse.csr_array, np.ndarray, list[str]]:
    """Return texts, indicator, source packages and names of the tags."""
    texts, tags, sources = choose(*fetch_lists())
    frequent = Counter(tag for row in tags for tag in row)
    names = sorted(tag for tag, count in frequent.items() if count >= MIN_PACKAGES)
    Y = sparse.csr_array([[int(name in row) for name in names] for row in tags])
    return texts, Y, np.array(sources), names


def main() -> None:
    texts, Y, sources, names = texts_and_tags()
    train, test = iterative_train_test_split(
        np.arange(len(texts)), y=Y, test_size=0.25, random_state=0, groups=sources
    )
    folds = list(IterativeStratifiedKFold(3, shuffle=True, random_state=0).split(train[:, None], Y[train]))
    known, new = ([texts[i] for i in part] for part in (train, test))
    columns = ModelColumns("table", names, text=["text"])
    table = Dataset(np.zeros((len(known), 0)), Y[train], None, names, text=known)

    def ours(words: int | None, ngrams: int) -> tuple[Any, Any]:
        step = features_step(columns, table, Choices(words=words, ngrams=ngrams))
        return learned_rows(step, known, None, None), step.transform(new)

    def plain(**options: Any) -> tuple[Any, Any]:
        step = TfidfVectorizer(sublinear_tf=True, **options)
        return step.fit_transform(known), step.transform(new)

    print(f"{len(train)} texts to learn from, {len(test)} held out, {len(names)} tags")
    print(f"{'':46} features  micro-F1  macro-F1    P@1  nDCG@5  CPU s")
    for title, rows, is_ours in (
        ("hyperlabel fit: words and pairs", ours(None, 2), True),
        ("hyperlabel fit --ngrams 1: words", ours(None, 1), True),
        ("hyperlabel fit --words 2500 --ngrams 1", ours(2500, 1), True),
        ("LinearSVC per tag, words", plain(), False),
        ("LinearSVC per tag, words and pairs in two rows", plain(ngram_range=(1, 2), min_df=2), False),
    ):
        X, Z = (sparse.csr_array(part) for part in rows)
        start = time.process_time()
        out_of_fold, scores = (shared_ridge if is_ours else one_each)(X, Y[train], Z, folds)
        seconds = time.process_time() - start
        thresholds = per_label_thresholds(out_of_fold, Y[train], scoring="f1_macro").thresholds
        found = evaluate(Y[test], scores > thresholds, scores)
        values = [found[name] for name in ("f1_micro", "f1_macro", "precision_at_1", "ndcg_at_5")]
        shown = "  ".join(f"{value:8.4f}" for value in values)
        print(f"{title:46} {X.shape[1]:8d}  {shown}  {seconds:5.1f}", flush=True)


def shared_ridge(X: Any, Y: Any, Z: Any, folds: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return out-of-fold scores and scores of new rows of the ridge that `fit` uses."""
    model = BinaryRelevance(alpha=1.0, cv=folds).fit(X, Y)
    return model.oof_scores_, model.decision_function(Z)


def one_each(X: Any, Y: Any, Z: Any, folds: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the same of a LinearSVC for each tag."""
    scores = np.zeros(Y.shape)
    for part, rest in folds:
        scores[rest] = OneVsRestClassifier(LinearSVC()).fit(X[part], Y[part]).decision_function(X[rest])
    return scores, OneVsRestClassifier(LinearSVC()).fit(X, Y).decision_function(Z)


if __name__ == "__main__":
    main()
