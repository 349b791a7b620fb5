"""How fast the library was at which commit: ratios to NumPy, SciPy and scikit-learn, which a machine cancels.

Run: python -m benchmarks.history           measure and add a line to benchmarks/history.jsonl, draw it anew
     python -m benchmarks.history --check   fail where one of `CHECKED` is over 1.5 times its last line
     python -m benchmarks.history --draw    draw docs/images/speed-history.svg alone

Every ratio is the processor time of our work over that of the reference, in one process and one thread, both
in turns, the median of nine rounds. A ratio that fails is measured twice more, and the smallest counts: what
else a busy machine does can only add.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import label_ranking_loss
from sklearn.model_selection import KFold
from sklearn.neighbors import NearestNeighbors
from threadpoolctl import threadpool_limits

from benchmarks._timing import rounds
from benchmarks.measure import ROOT
from hyperlabel import BinaryRelevance, MLkNN, RankSVM, ThresholdTuner
from hyperlabel.metrics import ranking_loss
from hyperlabel.model_selection import IterativeStratifiedKFold

HISTORY, DRAWING = ROOT / "benchmarks" / "history.jsonl", ROOT / "docs" / "images" / "speed-history.svg"
Runs = tuple[Callable[[], Any], Callable[[], Any]]  # ours, and the reference
CHECKED = ("ridge", "wide text", "thresholds")  # the cheap ones that CI compares
LIMIT, ROUNDS = 1.5, 9


def dense_rows(n: int, d: int, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows and labels that depend on them."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    return X, (X @ rng.normal(size=(d, k)) / np.sqrt(d) + rng.normal(size=(n, k)) > 1.3).astype(float)


def ridge() -> Runs:
    """Default `BinaryRelevance` against one `Ridge` at a given λ."""
    X, Y = dense_rows(6000, 150, 60)
    return lambda: BinaryRelevance().fit(X, Y), lambda: Ridge().fit(X, Y)


def wide_text() -> Runs:
    """`BinaryRelevance` on wide sparse rows against ten products XᵀXW of SciPy."""
    rng = np.random.default_rng(0)
    columns = (20_000 * rng.random(40 * 3000) ** 3).astype(int)
    entries = (rng.random(len(columns)), (np.repeat(np.arange(3000), 40), columns))
    X = sparse.csr_array(entries, shape=(3000, 20_000))
    Y = sparse.csr_array((X[:, :64].toarray() > 0.5).astype(float))
    W = rng.normal(size=(20_000, 64))

    def products() -> None:
        for _ in range(10):
            X.T @ (X @ W)

    return lambda: BinaryRelevance(alpha=1.0).fit(X, Y), products


def thresholds() -> Runs:
    """`ThresholdTuner` with ten folds against one `Ridge` at a given λ."""
    X, Y = dense_rows(6000, 150, 60)
    return lambda: ThresholdTuner().fit(X, Y), lambda: Ridge().fit(X, Y)


def rank_svm() -> Runs:
    """`RankSVM` at C = 1 against a logistic regression for each label."""
    X, Y = dense_rows(1500, 30, 8)

    def one_by_one() -> None:
        for j in range(Y.shape[1]):
            LogisticRegression().fit(X, Y[:, j])

    return lambda: RankSVM(C=1.0).fit(X, Y), one_by_one


def neighbours() -> Runs:
    """Fit of `MLkNN` against the search for the same neighbours."""
    X, Y = dense_rows(3000, 40, 20)
    return lambda: MLkNN().fit(X, Y), lambda: NearestNeighbors(n_neighbors=11).fit(X).kneighbors(X)


def folds() -> Runs:
    """Stratified folds against plain ones and the label counts of each."""
    _, Y = dense_rows(20_000, 10, 40)
    Y = sparse.csr_array(Y)

    def plain() -> None:
        for train, test in KFold(5).split(Y):
            Y[train].sum(axis=0), Y[test].sum(axis=0)

    return lambda: list(IterativeStratifiedKFold(5).split(Y, Y)), plain


def ranking() -> Runs:
    """Ranking loss against scikit-learn's."""
    rng = np.random.default_rng(0)
    scores, Y = rng.normal(size=(4000, 100)), (rng.random((4000, 100)) < 0.05).astype(int)
    return lambda: ranking_loss(Y, scores), lambda: label_ranking_loss(Y, scores)


def prediction() -> Runs:
    """Prediction of 5000 rows against the product alone."""
    X, Y = dense_rows(5000, 150, 100)
    model = BinaryRelevance(alpha=1.0).fit(X, Y)
    W = np.ascontiguousarray(model.coef_.T)
    return lambda: model.predict(X), lambda: (X @ W + model.intercept_ > 0).astype(float)


RATIOS: dict[str, Callable[[], Runs]] = {
    "ridge": ridge,
    "wide text": wide_text,
    "thresholds": thresholds,
    "Rank-SVM": rank_svm,
    "ML-kNN": neighbours,
    "folds": folds,
    "ranking loss": ranking,
    "predict": prediction,
}


def measured(name: str) -> float:
    """Median over the rounds of our time over that of the reference."""
    ours, theirs = RATIOS[name]()
    with threadpool_limits(1):
        times = rounds({"ours": ours, "theirs": theirs}, ROUNDS)
    return round(float(np.median(times["ours"] / times["theirs"])), 4)


def read(path: Path = HISTORY) -> list[dict[str, Any]]:
    """Return the lines of the history, oldest first."""
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def slower(now: dict[str, float], last: dict[str, float]) -> list[str]:
    """Return the ratios above `LIMIT` times those of the last line."""
    return [name for name, value in now.items() if name in last and value > LIMIT * last[name]]


def check() -> int:
    """Compare the cheap ratios with the last line; return the exit code."""
    last = read()[-1]
    now = {name: measured(name) for name in CHECKED}
    for _ in range(2):
        for name in slower(now, last["ratios"]):
            now[name] = min(now[name], measured(name))
    for name, value in now.items():
        print(f"{name:<12}{value:>8.3f}, at {last['commit']} {last['ratios'][name]:.3f}")
    if late := slower(now, last["ratios"]):
        print(f"More than {LIMIT} times the last line of benchmarks/history.jsonl: {', '.join(late)}.")
    return int(bool(late))


def record() -> None:
    """Measure every ratio at the commit checked out, and add or replace its line."""
    say = ["git", "-C", str(ROOT), "log", "-1", "--format=%h %cs"]
    commit, date = subprocess.run(say, check=True, capture_output=True, text=True).stdout.split()
    ratios = {}
    for name in RATIOS:
        ratios[name] = measured(name)
        print(f"{name:<14}{ratios[name]:>8.3f}", flush=True)
    lines = [line for line in read() if line["commit"] != commit]
    lines.append({"commit": commit, "date": date, "ratios": ratios})
    HISTORY.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")


def draw() -> None:
    """Draw every ratio over the commits."""
    import matplotlib as mpl

    mpl.use("svg")
    import matplotlib.pyplot as plt

    mpl.rcParams |= {"svg.hashsalt": "hyperlabel", "svg.fonttype": "none", "font.size": 9}
    lines = read()
    figure, axes = plt.subplots(2, 4, figsize=(8.6, 4.0), sharex=True, layout="constrained")
    for ax, name in zip(axes.flat, RATIOS, strict=True):
        points = [(i, line["ratios"][name]) for i, line in enumerate(lines) if name in line["ratios"]]
        places, values = zip(*points, strict=True)
        ax.plot(places, values, marker="o", ms=3, color="#2f6f9f")
        ax.set_ylim(0, 1.25 * max(values))
        ax.set_title(f"{name}: {values[-1]:.2g}", fontsize=9)
        ax.set_xticks(range(len(lines)), [line["commit"] for line in lines], rotation=90, fontsize=7)
        ax.spines[["top", "right"]].set_visible(False)
    figure.savefig(DRAWING, metadata={"Date": None})


def main() -> int:
    parser = argparse.ArgumentParser(description="measure, compare or draw the history of speed")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--draw", action="store_true")
    given = parser.parse_args()
    if given.check:
        return check()
    if not given.draw:
        record()
    draw()
    return 0


if __name__ == "__main__":
    sys.exit(main())
