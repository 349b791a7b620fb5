"""Planted label errors: how many are among the first 200 suspects, beside cleanlab 2.9.

``CLEANLAB_PYTHON=/path/to/python python -m benchmarks.label_errors [SEEDS] [SET …]``; that interpreter has
cleanlab installed (it is no dependency). Both get the same out-of-fold probabilities; cleanlab orders entries
by its label quality score of each class. Errors: 5 % of all entries flipped, 5 % of the tags missing, or 5 %
of the tags swapped for another. Shown are means over the seeds and the difference with its 95 % interval.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from scipy import sparse, stats

from benchmarks._data import real
from hyperlabel import BinaryRelevance
from hyperlabel.datasets import load_debtags
from hyperlabel.decision import label_errors

SETS = ("yeast", "scene", "medical", "emotions", "yahoo5k-computers")  # on which the rule was chosen
OTHERS = ("genbase", "mediamill-real4k", "imageclef07a")
KINDS = ("flipped", "missing", "swapped")
FIRST = 200
CLEANLAB = """
import sys, warnings
import numpy as np
warnings.simplefilter("ignore")
from cleanlab.internal.multilabel_scorer import MultilabelScorer
for path in sys.argv[1:]:
    data = np.load(path)
    scores = MultilabelScorer().get_class_label_quality_scores(data["Y"].astype(int), data["P"])
    np.save(path + ".scores.npy", scores)
"""


def main(seeds: int, names: list[str]) -> None:
    for name in names:
        data = load_debtags() if name == "debtags" else real(name)
        for kind in KINDS:
            ours, theirs, planted = _compare(data, kind, seeds)
            gap = ours - theirs
            half = stats.t.ppf(0.975, seeds - 1) * gap.std(ddof=1) / np.sqrt(seeds)
            print(
                f"{name:<18} {kind:<8} {planted:7.0f} planted: ours {ours.mean():6.1f}, cleanlab "
                f"{theirs.mean():6.1f}, difference {gap.mean():+6.1f} ± {half:.1f}",
                flush=True,
            )


def _compare(data, kind: str, seeds: int) -> tuple[np.ndarray, np.ndarray, float]:
    truth = data.Y.toarray() > 0
    ours, wrong, paths = [], [], []
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(seeds):
            Y = planted(truth, kind, np.random.default_rng(seed))
            model = BinaryRelevance(alpha=1.0, cv=5).fit(data.X, sparse.csr_array(Y * 1.0))
            model._calibrate()
            P = np.clip(model.calibrators_.probabilities(model.oof_scores_), 1e-6, 1 - 1e-6)
            listed = label_errors(Y, P, proba=True, n_entries=FIRST)
            wrong.append(truth != Y)
            ours.append(wrong[-1][listed.row, listed.label].sum())
            paths.append(str(Path(folder, f"{seed}.npz")))
            np.savez(paths[-1], Y=Y, P=P)
        subprocess.run([os.environ["CLEANLAB_PYTHON"], "-c", CLEANLAB, *paths], check=True, env={})
        order = [np.argsort(np.load(f"{path}.scores.npy").ravel(), kind="stable")[:FIRST] for path in paths]
    theirs = [errors.ravel()[first].sum() for errors, first in zip(wrong, order, strict=True)]
    return np.array(ours, float), np.array(theirs, float), float(np.mean([errors.sum() for errors in wrong]))


def planted(truth: np.ndarray, kind: str, rng: np.random.Generator, rate: float = 0.05) -> np.ndarray:
    """Return labels with errors."""
    if kind == "flipped":
        return truth ^ (rng.random(truth.shape) < rate)
    Y = truth.copy()
    row, label = np.nonzero(truth)
    hit = rng.random(len(row)) < rate
    for i, j in zip(row[hit], label[hit], strict=True):
        others = np.flatnonzero(~Y[i])
        Y[i, j] = False
        if kind == "swapped" and len(others):
            Y[i, rng.choice(others)] = True
    return Y


if __name__ == "__main__":
    main(int(sys.argv[1]) if sys.argv[1:] else 10, sys.argv[2:] or [*SETS, *OTHERS])
