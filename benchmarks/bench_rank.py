"""Rank-SVM: against one linear SVM per label, against Frank–Wolfe, and how it grows.

Processor time of one thread (run with OMP_NUM_THREADS=1), so that a busy machine does not disturb
the ratios. Everything is on scaled features (mean 0, mean squared norm 1) on both sides.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import time
import warnings

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Ridge
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import LinearSVC

from benchmarks._data import real
from benchmarks._timing import median_seconds, ratio, rounds, show
from hyperlabel import CalibratedLabelRanking, RankSVM, rank_svm_path
from hyperlabel.solvers.rank.dual_coordinate_descent import solve_rank_dcd
from hyperlabel.solvers.rank.frank_wolfe import solve_rank_frank_wolfe
from hyperlabel.solvers.rank.problem import RankProblem
from hyperlabel.solvers.rank.scaling import FeatureScaling


def seconds(run, repeats=3, warm=1):
    return median_seconds(run, repeats=repeats, warm=warm, clock=time.process_time)


def scaled(X):
    return FeatureScaling.fit(X, "standard").rows(X)


def rows_and_labels(name, part=None):
    found = real(name, part)
    return found.X, sparse.csr_array(found.Y)


def paper_sample(name, n, *, top=None, above=None):
    """A random sample of the size the paper used: its most frequent labels, or those above a count."""
    X, Y = rows_and_labels(name)
    rows = np.random.RandomState(0).permutation(X.shape[0])[:n]
    X, Y = X[rows], Y[rows].toarray()
    counts = Y.sum(axis=0)
    kept = np.argsort(-counts, kind="stable")[:top] if top else np.flatnonzero(counts > above)
    return scaled(X), sparse.csr_array(Y[:, kept].astype(float))


def measured(name="yeast", part=None, n_rounds=9):
    """Seconds of one linear SVM per label, of the whole fit to gap 1e-3, and of its solve alone."""
    X, Y = rows_and_labels(name, part)
    X, dense = scaled(X), Y.toarray()
    problem = RankProblem.build(X, Y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        times = rounds(
            {
                "theirs": lambda: OneVsRestClassifier(LinearSVC(dual=True, random_state=0)).fit(X, dense),
                "solve": lambda: solve_rank_dcd(problem, C=1.0, tol=1e-3),
                "ours": lambda: RankSVM(C=1.0, tol=1e-3, random_state=0).fit(X, Y),
            },
            n_rounds,
        )
    return times | {"n": X.shape[0], "d": X.shape[1], "k": Y.shape[1], "pairs": problem.n_pairs}


def against_one_svm_per_label():
    rows = []
    for name, part, wanted, n_rounds in (("yeast", None, 0.5, 9), ("mediamill-disc3", "train", 0.2, 1)):
        found = measured(name, part, n_rounds)
        size = f"{name} {found['n']}×{found['d']}×{found['k']}, {found['pairs'] / 1e6:.2f} M pairs"
        solve, whole = (ratio(found[which], found["theirs"]) for which in ("solve", "ours"))
        rows.append((f"{size}: solve to gap 1e-3", solve, f"at most {wanted}x"))
        rows.append(("  the whole fit (scaling, solve, set size)", whole, ""))
    show("To gap 1e-3, against OneVsRest(LinearSVC(dual=True))", rows)


def epochs_on_yeast():
    X, Y = rows_and_labels("yeast")
    rows = []
    for title, X_used in (("raw", X), ("scaled", scaled(X))):
        problem = RankProblem.build(X_used, Y)
        found = [solve_rank_dcd(problem, C=1.0, tol=1e-4, seed=seed) for seed in range(5)]
        worst = max(result.n_iter for result in found)
        gap = max(result.gap for result in found)
        rows.append((f"{title} features: most epochs of 5 orders", f"{worst}", "at most 15"))
        rows.append(("  largest gap", f"{gap:.1e}", "at most 1e-4"))
    show("yeast, all rows, C = 1, relative gap 1e-4", rows)


def against_frank_wolfe():
    rows = []
    clef, mill = paper_sample("imageclef07a", 2000, top=60), paper_sample("mediamill-real4k", 1500, above=15)
    for name, sample, printed in (
        ("imageclef07a 2000 rows, 60 labels", clef, 7834.2 / 155.2),
        ("mediamill-real4k 1500 rows, 42 labels", mill, 4519.8 / 87.3),
    ):
        problem = RankProblem.build(*sample)
        for C in (1.0, 8.0):
            fast = seconds(lambda p=problem, C=C: solve_rank_dcd(p, C=C, tol=1e-2), repeats=5)
            slow = seconds(lambda p=problem, C=C: solve_rank_frank_wolfe(p, C=C, tol=1e-2, max_iter=10**5))
            wanted = f"at least 15x (paper: {printed:.1f}x)" if C == 8 else ""
            rows.append((f"{name}, C = {C:g}", f"{slow / fast:.1f}x", wanted))
    show("Frank–Wolfe / dual coordinate descent to gap 1e-2", rows)


def growth():
    X, Y = rows_and_labels("mediamill-disc3", "train")
    X, order = scaled(X), np.random.RandomState(0).permutation(X.shape[0])
    rows, first = [], 0.0
    for share in (8, 4, 2, 1):
        kept = order[: len(order) // share]
        problem = RankProblem.build(X[kept], Y[kept])
        with_one, with_six = (
            seconds(lambda p=problem, e=e: solve_rank_dcd(p, tol=0.0, max_iter=e, shrinking=False))
            for e in (1, 6)
        )
        per_row = (with_six - with_one) / 5 / len(kept) * 1e6
        first = first or per_row
        rows.append(
            (
                f"{len(kept)} rows: an epoch, per row",
                f"{per_row:.2f} us",
                f"{per_row / first:.2f} of the first",
            )
        )
    show("Epoch cost on mediamill-disc3 (linear in n: constant per row)", rows)


def warm_starts():
    X, Y = paper_sample("mediamill-real4k", 1500, above=15)
    Cs = [2.0**e for e in range(-2, 5)]
    options = {"scaling": "none", "random_state": 0}
    path = rank_svm_path(X, Y, Cs=Cs, **options)
    cold = [RankSVM(C, **options).fit(X, Y) for C in Cs]
    epochs = sum(m.n_iter_ for m in path) / sum(m.n_iter_ for m in cold)
    rows = [("epochs of a path of 7 C / separate fits", f"{epochs:.2f}x", "below 1x")]
    show("Warm starts, mediamill-real4k 1500 rows, C = 1/4 … 16, gap 1e-3", rows)


def pairwise_ridge():
    X, Y = paper_sample("mediamill-real4k", 4387, above=30)
    dense = Y.toarray()
    ours = seconds(lambda: CalibratedLabelRanking().fit(X, Y), repeats=1)

    def one_by_one():
        for p in range(dense.shape[1]):
            for q in range(p + 1, dense.shape[1]):
                differ = dense[:, p] != dense[:, q]
                Ridge().fit(X[differ], dense[differ, p] - dense[differ, q])

    theirs = seconds(one_by_one, repeats=1, warm=0)
    title = f"{Y.shape[1] * (Y.shape[1] - 1) // 2} pairs: shared moments / scikit-learn Ridge per pair"
    show("Calibrated label ranking, mediamill-real4k", [(title, f"{ours / theirs:.2f}x", "below 1x")])


def delicious_memory():
    """Peak resident memory of a fresh process that fits delicious' training part."""
    rows = []
    for dtype in ("float64", "float32"):
        script = (
            "import resource, time\n"
            "from benchmarks.bench_rank import rows_and_labels\n"
            "from hyperlabel import RankSVM\n"
            "X, Y = rows_and_labels('delicious', 'train')\n"
            f"model = RankSVM(solver_options={{'dual_dtype': '{dtype}'}}, random_state=0)\n"
            "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
            "start = time.process_time(); model.fit(X, Y); taken = time.process_time() - start\n"
            "after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
            "print(model.estimate_memory(X, Y) / 2**30, (after - before) / 2**20, after / 2**20, taken, "
            "model.dual_gap_, model.n_iter_)\n"
        )
        done = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
        estimate, added, peak, taken, gap, epochs = map(float, done.stdout.split())
        rows += [
            (f"{dtype} duals: peak of the process", f"{peak:.2f} GiB", "within 4 GB"),
            ("  added by the fit / estimate before it", f"{added / estimate:.2f}x", "within 1.5x"),
            ("  processor seconds, epochs, gap", f"{taken:.1f} {epochs:.0f} {gap:.1e}", ""),
        ]
    show("delicious, training part, C = 1, gap 1e-3", rows)


def main() -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    epochs_on_yeast()
    against_frank_wolfe()
    warm_starts()
    growth()
    pairwise_ridge()
    delicious_memory()
    against_one_svm_per_label()


if __name__ == "__main__":
    main()
