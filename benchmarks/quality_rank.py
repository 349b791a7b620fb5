"""Every ranker under every decision rule on mediamill-real4k, with parameters chosen inside.

    python -m benchmarks.quality_rank [--splits 10] [--save table.json]

Each split draws 3000 rows, half for training and half for testing, and keeps the labels with more
than 30 positives among them: the sizes of CVPR'09, table 2. The paper compares its rankers under
one decision rule only. Here every ranker meets every rule; its parameters are those whose
three-fold out-of-fold scores do best under that rule by the measure of the table (nested: test
rows choose nothing). Features are z-scored on the training rows and divided by √d for everybody.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from pathlib import Path

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.model_selection import KFold
from sklearn.svm import LinearSVC

from benchmarks._data import real
from hyperlabel import BinaryRelevance, rank_svm_path
from hyperlabel.decision import LabelSetSize, best_k, global_threshold, per_label_thresholds
from hyperlabel.metrics import ranking_loss
from hyperlabel.solvers.rank.scaling import FeatureScaling

CS = (8.0, 64.0)
RANK_CS = (32.0, 512.0)
WEIGHTS, NUS = (0.3, 3.0), (1.0, 4.0)
RULES = ("set size §3.4", "set size, out-of-fold", "per-label threshold", "global threshold", "top k")
MEASURES = {"macro": "f1_macro", "micro": "f1_micro"}


def binary_svms(X, Y):
    return [BinaryRelevance(LinearSVC(C=C, dual=False)).fit(X, Y) for C in CS]


def logistic(X, Y):
    return [BinaryRelevance(LogisticRegression(C=C, solver="newton-cholesky")).fit(X, Y) for C in CS]


def paths(X, Y, **options):
    options = {"scaling": "none", "tol": 1e-2, "random_state": 0, **options}
    return rank_svm_path(X, Y, Cs=RANK_CS, **options)


def hypergraph_paths(X, Y):
    return [model for nu in NUS for model in paths(X, Y, hypergraph_weights=WEIGHTS, nu=nu)]


RANKERS = {
    "Binary-SVM": binary_svms,
    "Rank-SVM": paths,
    "Rank-SVM balanced": lambda X, Y: paths(X, Y, label_cost="balanced"),
    "Rank-HLapSVM": hypergraph_paths,
    "logistic": logistic,
}


COMPARED = (
    ("Rank-SVM", "Binary-SVM"),
    ("Rank-HLapSVM", "Rank-SVM"),
    ("Rank-SVM balanced", "Rank-SVM"),
    ("Rank-HLapSVM", "logistic"),
)


def scores_of(model, X):
    return model.rank_scores(X) if hasattr(model, "rank_scores") else model.decision_function(X)


def describe(model):
    inner = getattr(model, "estimator", model)
    weight = getattr(model, "hypergraph_weight", 0.0)
    return [inner.C, weight, getattr(model, "nu", 0.0) if weight else 0.0]


def top(scores, k):
    order = np.argsort(-scores, axis=1, kind="stable")[:, :k]
    found = np.zeros(scores.shape, dtype=bool)
    np.put_along_axis(found, order, True, axis=1)
    return found


def fit_rule(rule, scoring, X, scores, Y):
    """A function from (rows, scores) to label sets."""
    if rule.startswith("set size"):
        return LabelSetSize(scaling="none").fit(X, scores, Y).decide
    if rule == "per-label threshold":
        thresholds = per_label_thresholds(scores, Y, scoring=scoring).thresholds
        return lambda X, scores: scores > thresholds
    if rule == "global threshold":
        thresholds = global_threshold(scores, Y, scoring=scoring).thresholds
        return lambda X, scores: scores > thresholds
    k = best_k(scores, Y, scoring=scoring)[0]
    return lambda X, scores: top(scores, k)


def f1(Y, found, measure):
    return float(f1_score(Y.toarray(), found, average=measure, zero_division=0))


def draw(split, X, Y):
    order = np.random.default_rng(split).permutation(len(Y))[:3000]
    kept = Y[order].sum(axis=0) > 30
    train, test = order[:1500], order[1500:]
    scaled = FeatureScaling.fit(X[train], "standard")
    labels = [sparse.csr_array(Y[part][:, kept].astype(float)) for part in (train, test)]
    return scaled.rows(X[train]), labels[0], scaled.rows(X[test]), labels[1]


def run_split(split, X, Y):
    X, Y, X_test, Y_test = draw(split, X, Y)
    results = {}
    for name, fit in RANKERS.items():
        start = time.process_time()
        final = fit(X, Y)
        held_out = np.zeros((len(final), *Y.shape))
        sized = np.zeros((len(final), *Y.shape), dtype=bool)
        for inside, outside in KFold(3, shuffle=True, random_state=split).split(X):
            for g, model in enumerate(fit(X[inside], Y[inside])):
                held_out[g, outside] = scores_of(model, X[outside])
                rule = fit_rule(RULES[0], None, X[inside], scores_of(model, X[inside]), Y[inside])
                sized[g, outside] = rule(X[outside], held_out[g, outside])
        for measure, scoring in MEASURES.items():
            for rule in RULES:
                inside = rule == RULES[0]  # as in the paper: h learned on the scores of the training rows
                fitted = [] if inside else [fit_rule(rule, scoring, X, F, Y) for F in held_out]
                sets = sized if inside else [r(X, F) for r, F in zip(fitted, held_out, strict=True)]
                g = int(np.argmax([f1(Y, found, measure) for found in sets]))
                decide = fit_rule(rule, None, X, scores_of(final[g], X), Y) if inside else fitted[g]
                found = decide(X_test, scores_of(final[g], X_test))
                results[f"{name}|{rule}|{measure}"] = f1(Y_test, found, measure)
                results[f"{name}|{rule}|{measure}|chosen"] = describe(final[g])
        results[f"{name}|gap"] = max(getattr(model, "dual_gap_", 0.0) for model in final)
        losses = [ranking_loss(Y, held_out[g]) for g in range(len(final))]
        results[f"{name}|ranking loss"] = float(
            ranking_loss(Y_test, scores_of(final[int(np.argmin(losses))], X_test))
        )
        results[f"{name}|seconds"] = time.process_time() - start
    return results


def show(results):
    def column(key):
        return np.array([one[key] for one in results])

    for measure in MEASURES:
        print(f"\n{measure}-F1, mean over {len(results)} splits")
        print(f"{'':18}" + "".join(f"{rule:>23}" for rule in RULES))
        for name in RANKERS:
            print(
                f"{name:18}"
                + "".join(f"{column(f'{name}|{rule}|{measure}').mean():>23.4f}" for rule in RULES)
            )
        print("  median of the chosen C (λ, ν)")
        for name in RANKERS:
            chosen = [
                np.median([one[f"{name}|{rule}|{measure}|chosen"] for one in results], axis=0)
                for rule in RULES
            ]
            print(f"{name:18}" + "".join(f"{f'{C:g} ({w:g}, {nu:g})':>23}" for C, w, nu in chosen))
        print("  paired differences: mean [smallest, largest], splits above 0")
        for a, b in COMPARED:
            for rule in RULES:
                gap = column(f"{a}|{rule}|{measure}") - column(f"{b}|{rule}|{measure}")
                print(
                    f"  {a} − {b}, {rule}: {gap.mean():+.4f} [{gap.min():+.4f}, {gap.max():+.4f}], "
                    f"{(gap > 0).sum()} of {len(gap)}"
                )
    print("\nranking loss (parameters by inner ranking loss), processor seconds a split, largest duality gap")
    for name in RANKERS:
        loss, taken = column(f"{name}|ranking loss").mean(), column(f"{name}|seconds").mean()
        print(f"{name:18}{loss:.4f} {taken:6.0f} {column(f'{name}|gap').max():.1e}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--first", type=int, default=0, help="number of the first split")
    parser.add_argument("--save", default=None, help="JSON file of one record a split")
    parser.add_argument("--show", nargs="*", default=None, help="only print the table of saved files")
    options = parser.parse_args()
    if options.show:
        show([record for file in options.show for record in json.loads(Path(file).read_text())])
        return
    data = real("mediamill-real4k")
    X, Y = data.X, sparse.csr_array(data.Y).toarray()
    warnings.simplefilter("ignore", ConvergenceWarning)
    results = []
    for split in range(options.first, options.first + options.splits):
        results.append(run_split(split, X, Y))
        print({key: round(value) for key, value in results[-1].items() if key.endswith("seconds")})
        if options.save:
            Path(options.save).write_text(json.dumps(results))
    show(results)


if __name__ == "__main__":
    main()
