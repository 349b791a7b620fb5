"""Which thresholds `hyperlabel fit` should choose by default: shrinkage and measure, over the real data sets.

Run: python -m benchmarks.default_thresholds [names …]
Ridge scores out of fold on the training rows; thresholds are chosen on four fifths of them and judged on the
last, five times. The last figure counts wrong predictions of labels on less than 2 % of the rows, for each
hundred rows: the absurd tags that a reader notices. The rule is chosen leaving one set out: on each set, by
the mean of macro- and micro-F1 over all the others.
"""

from __future__ import annotations

import sys

import numpy as np
from scipy import sparse

from benchmarks._data import real
from hyperlabel import BinaryRelevance
from hyperlabel.datasets import load_debtags
from hyperlabel.decision import per_label_thresholds
from hyperlabel.decision.calibrators import Calibrators
from hyperlabel.metrics import f1_score, precision_score
from hyperlabel.model_selection import IterativeStratifiedKFold

SETS = (
    *("emotions", "scene", "yeast", "medical", "enron", "birds", "slashdot", "bibtex", "corel5k", "20ng"),
    *("yahoo-arts", "yahoo5k-computers", "mediamill-real4k", "imageclef07a", "ohsumed", "debtags"),
)
RULES = {
    **{f"macro, m={m}": ("f1_macro", float(m), 0.0) for m in (10, 20, 40)},
    **{f"macro, m=10, p>{p}": ("f1_macro", 10.0, p) for p in (0.05, 0.1, 0.15, 0.2, 0.3)},
    "macro, m=20, p>0.1": ("f1_macro", 20.0, 0.1),
    "micro, m=10": ("f1_micro", 10.0, 0.0),
}
MOST_ROWS = 3000


def training_rows(name: str):
    if name == "debtags":
        return load_debtags()
    try:
        data = real(name, "train")
    except (ValueError, KeyError, FileNotFoundError):
        data = real(name)
    return data


def judge(name: str) -> dict[str, tuple[float, float, float, float]]:
    data = training_rows(name)
    rows = np.random.default_rng(0).permutation(len(data))[:MOST_ROWS]
    Y = sparse.csr_array(data.Y[rows]).astype(float)
    Y = Y[:, np.flatnonzero(np.asarray(Y.sum(axis=0)).ravel() >= 5)]
    model = BinaryRelevance(alpha="auto" if data.n_features < 2000 else 1.0, cv=5).fit(data.X[rows], Y)
    scores = np.asarray(model.oof_scores_)
    is_rare = np.asarray(Y.mean(axis=0)).ravel() < 0.02
    folds = list(IterativeStratifiedKFold(5, shuffle=True, random_state=1).split(scores, Y))
    results = {}
    p = np.zeros(scores.shape)
    for train, test in folds:
        p[test] = Calibrators.fit(scores[train], Y[train], None).probabilities(scores[test])
    for rule, (scoring, shrinkage, floor) in RULES.items():
        predicted = np.zeros(scores.shape, dtype=bool)
        for train, test in folds:
            options = {"scoring": scoring, "shrinkage": shrinkage}
            thresholds = per_label_thresholds(scores[train], Y[train], **options).thresholds
            predicted[test] = (scores[test] > thresholds) & (p[test] >= floor)
        wrong = predicted & ~(Y.toarray() > 0)
        results[rule] = (
            float(f1_score(Y, predicted, average="macro")),
            float(f1_score(Y, predicted, average="micro")),
            float(precision_score(Y, predicted, average="micro")),
            100 * float(wrong[:, is_rare].sum()) / len(Y.toarray()),
        )
    return results


def main() -> None:
    table = {}
    print(f"{'set':18} " + " ".join(f"{rule:>26}" for rule in RULES))
    for name in sys.argv[1:] or SETS:
        table[name] = judge(name)
        cells = [f"{a:.3f} {b:.3f} {p:.3f} {wrong:5.1f}".rjust(26) for a, b, p, wrong in table[name].values()]
        print(f"{name:18} " + " ".join(cells), flush=True)
    values = {rule: np.array([table[name][rule] for name in table]) for rule in RULES}
    print(
        f"{'mean':18} "
        + " ".join(
            "{:.3f} {:.3f} {:.3f} {:5.1f}".format(*values[rule].mean(axis=0)).rjust(26) for rule in RULES
        )
    )
    for i, left_out in enumerate(table):
        means = {rule: np.delete(values[rule], i, axis=0)[:, :2].mean() for rule in RULES}
        best = max(means, key=means.__getitem__)
        base, chosen = table[left_out]["macro, m=10"], table[left_out][best]
        macro_gain, micro_gain = chosen[0] - base[0], chosen[1] - base[1]
        print(f"without {left_out:18} {best}: there macro {macro_gain:+.3f} micro {micro_gain:+.3f}")


if __name__ == "__main__":
    main()
