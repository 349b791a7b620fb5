"""Stratified 5-fold of delicious: against the package iterative-stratification, in one run."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from benchmarks._timing import data_folder, median_seconds, show
from hyperlabel.datasets import concat, read_arff
from hyperlabel.model_selection import IterativeStratifiedKFold


def balance(Y: sparse.csr_array, tests: list[np.ndarray]) -> tuple[float, float, int]:
    """Return Sechidis' label distribution measure, the mean deviation in rows, and the size spread."""
    n, total = Y.shape[0], Y.sum(axis=0)
    counts = np.array([Y[test].sum(axis=0) for test in tests])
    sizes = np.array([len(test) for test in tests])[:, None]
    odds = np.abs(counts / (sizes - counts) - total / (n - total))
    due = total * sizes / n
    return float(odds.mean()), float(np.abs(counts - due).mean()), int(np.ptp(sizes))


def main() -> None:
    from iterstrat.ml_stratifiers import MultilabelStratifiedKFold

    folder = data_folder() / "delicious"
    Y = concat([read_arff(folder / f"delicious-{part}.arff.gz") for part in ("train", "test")]).Y
    dense = Y.toarray().astype(np.int64)
    rows = np.zeros((Y.shape[0], 1))
    ours = IterativeStratifiedKFold(5, shuffle=True, random_state=0)
    theirs = MultilabelStratifiedKFold(5, shuffle=True, random_state=0)
    our_time = median_seconds(lambda: list(ours.split(rows, Y)))
    their_time = median_seconds(lambda: list(theirs.split(rows, dense)), repeats=1, warm=0)
    our_odds, our_off, our_std = balance(Y, [test for _, test in ours.split(rows, Y)])
    odds, off, std = balance(Y, [test for _, test in theirs.split(rows, dense)])
    show(
        f"Stratified 5-fold of delicious ({Y.shape[0]}×{Y.shape[1]}), hyperlabel / iterative-stratification",
        [
            ("time", f"{our_time / their_time:.4f}", "at most 1"),
            ("label distribution measure", f"{our_odds:.2e} / {odds:.2e}", "no worse"),
            ("mean deviation per label and fold, rows", f"{our_off:.3f} / {off:.3f}", "no worse"),
            ("spread of fold sizes, rows", f"{our_std} / {std}", "no worse"),
        ],
    )


if __name__ == "__main__":
    main()
