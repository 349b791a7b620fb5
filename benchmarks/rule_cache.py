"""Out-of-fold and held-out scores of every candidate of AutoMultiLabel on many sets, kept in files.

Rules that choose, blend and read candidates are then compared in seconds (`benchmarks.quality_rules`), and a
measure can be added later. Only training rows of published splits are used (of sets without one, two thirds
of the rows). Each split draws its own training rows, held-out rows and labels, so few that a set stays cheap.
Candidates are those of the portfolio, fitted by its own functions on the rows that serve the ridge best
(``--all-rows``: linear ones on rows as they are, at unit length and as tf-idf). What chooses its penalty by a
measure is fitted once for each kind of measure. Beside them: logistic regression with balanced classes, a
random forest and ML-kNN.

Run: OMP_NUM_THREADS=1 HYPERLABEL_DATA=… python -m benchmarks.rule_cache FOLDER [name …] [--splits 3]
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import Normalizer, StandardScaler

from benchmarks.quality_published import split
from hyperlabel import BinaryRelevance
from hyperlabel._base import score_rows
from hyperlabel._validation import checked_indicator
from hyperlabel.meta import portfolio
from hyperlabel.meta.candidate_selection import AttainableScore
from hyperlabel.meta.portfolio import CandidateRun, Task
from hyperlabel.metrics import get_scorer
from hyperlabel.model_selection.folds import make_folds
from hyperlabel.solvers.arrays import mostly_zero
from hyperlabel.solvers.clock import working_cpu_seconds

SETS = (
    "emotions", "scene", "yeast", "genbase", "medical", "corel5k", "delicious", "yahoo-arts",
    "yahoo5k-computers", "mediamill-real4k", "imageclef07a", "bibtex", "enron", "birds", "flags", "slashdot",
    "tmc2007-500", "20ng", "ohsumed", "rcv1sub1", "yahoo-reference",
)  # fmt: skip
TRAIN_ROWS, HELD_OUT_ROWS, LABELS, FOLDS = 700, 1500, 50, 3
KINDS = ("ndcg_at_5", "ranking_loss", "f1_macro")  # of measures, that grids are judged by
ANY = "any"  # kind of a candidate without such a grid
LATE = 8.0  # CPU seconds after which the grid of a slow method is left where it is


def draw_split(name: str, seed: int) -> tuple[Any, Any, Any, Any]:
    """Return X, Y, held-out X and held-out Y of one split of the training rows."""
    X, Y = split(name)[:2]
    rng = np.random.default_rng(seed)
    order = rng.permutation(X.shape[0])
    n_train = min(TRAIN_ROWS, int(0.65 * len(order)))
    train, held_out = np.sort(order[:n_train]), np.sort(order[n_train:][:HELD_OUT_ROWS])
    counts = np.asarray(Y[train].sum(axis=0)).ravel()
    labels = np.sort(rng.permutation(np.flatnonzero((counts > 0) & (counts < n_train)))[:LABELS])
    return X[train], Y[train][:, labels], X[held_out], Y[held_out][:, labels]


def prepare_rows(X: Any, C: Any) -> dict[str, tuple[Any, Any]]:
    """Return training and held-out rows under each preparation."""
    if not mostly_zero(X):
        X, C = (Z.toarray() if sparse.issparse(Z) else Z for Z in (X, C))
        scaler = StandardScaler().fit(X)
        return {"scaled": (scaler.transform(X), scaler.transform(C))}
    X, C = sparse.csr_array(X).astype(float), sparse.csr_array(C).astype(float)
    makers: dict[str, Any] = {"unit": Normalizer(), "raw": None}
    if X.data.min(initial=0.0) >= 0:
        makers["tfidf"] = TfidfTransformer()
    prepared = {}
    for title, maker in makers.items():
        rows = (X, C) if maker is None else (maker.fit_transform(X), maker.transform(C))
        prepared[title] = (sparse.csr_array(rows[0]), sparse.csr_array(rows[1]))
    return prepared


def best_rows(tasks: dict[str, Task]) -> str:
    """Return the preparation under which the shared ridge ranks best out of fold, as AutoMultiLabel does."""
    values = {}
    for title, task in tasks.items():
        model = BinaryRelevance(alpha="auto", threshold=0.0, cv=task.splits, scoring=task.criterion)
        values[title] = float(task.fit(model).cv_results_["mean_test_score"][0])
    return max(values, key=lambda title: values[title])


class DenseForest(RandomForestClassifier):
    """scikit-learn's forest on labels that come sparse."""

    def fit(self, X: Any, y: Any) -> Any:
        return super().fit(X, y.toarray() if sparse.issparse(y) else y)


def refits(name: str, params: dict[str, Any], model: Any) -> Callable[[Task, float], Iterator[CandidateRun]]:
    def run(task: Task, deadline: float) -> Iterator[CandidateRun]:
        yield portfolio._run_refits(name, params, model, task, deadline)

    return run


def linear_runs() -> dict[str, Any]:
    runs: dict[str, Any] = {
        f"{loss}-shared": refits(f"{loss}-shared", {}, BinaryRelevance(loss=loss))
        for loss in ("squared_hinge", "logistic")
    }
    runs["rank-svm"] = portfolio._run_rank_svm
    runs |= {c.name: c.run for c in portfolio.PORTFOLIO if c.name in ("linear-svm", "logistic")}
    balanced = LogisticRegression(class_weight="balanced", max_iter=1000)
    runs["logistic-balanced"] = refits("logistic-balanced", {"C": 1.0}, BinaryRelevance(balanced))
    return runs


def other_runs(task: Task) -> dict[str, Any]:
    random_forest = DenseForest(150, min_samples_leaf=2, random_state=0)
    return {
        "forest": portfolio._run_forest,
        "hopls-mlknn": portfolio._run_neighbors,
        "chain-ensemble": portfolio._run_chains,
        "mlknn": refits("mlknn", {}, task.make("mlknn")),
        "random-forest": refits("random-forest", {}, random_forest),
    }


GRIDS = {
    "ridge": portfolio._run_ridge,
    "kernel-ridge": portfolio._run_kernel_ridge,
    "plst": portfolio._run_plst,
    "spectral": portfolio._run_spectral,
}


def runs_of(
    prepared: dict[str, tuple[Any, Any]], Y: Any, all_rows: bool
) -> Iterator[tuple[str, str, CandidateRun, Task]]:
    """Yield rows, kind of measure, candidate and task of everything that can be fitted."""
    layout = checked_indicator(Y).layout
    splits = make_folds(FOLDS, Y, None, X=next(iter(prepared.values()))[0])
    criteria = {kind: get_scorer(kind) for kind in KINDS} | {"f1_macro": AttainableScore("f1_macro")}
    tasks = {
        (title, kind): Task(X, Y, layout, splits, criterion, None, 0, working_cpu_seconds)
        for title, (X, _) in prepared.items()
        for kind, criterion in criteria.items()
    }
    chosen = best_rows({title: task for (title, kind), task in tasks.items() if kind == KINDS[0]})
    jobs = [("ridge", run, title, kind) for title, kind in tasks for run in (GRIDS["ridge"],)]
    jobs += [
        (n, run, t, ANY) for t in (prepared if all_rows else [chosen]) for n, run in linear_runs().items()
    ]
    jobs += [(n, run, chosen, ANY) for n, run in other_runs(tasks[chosen, KINDS[0]]).items()]
    jobs += [(n, run, chosen, kind) for n, run in GRIDS.items() if n != "ridge" for kind in KINDS]
    for name, run, title, kind in jobs:
        task, start = tasks[title, KINDS[0] if kind == ANY else kind], time.process_time()
        deadline = np.inf if name in ("kernel-ridge", "forest") else working_cpu_seconds() + LATE
        if name in ("kernel-ridge", "forest"):
            deadline = working_cpu_seconds() + 3 * LATE
        try:
            for candidate_run in run(task, deadline):
                yield title, kind, candidate_run, task
                if time.process_time() - start > LATE:
                    break
        except Exception as refusal:
            print(f"    {name} on {title} rows: {refusal}", flush=True)


def make(name: str, seed: int, path: Path, *, verbose: bool, all_rows: bool) -> None:
    X, Y, C, T = draw_split(name, seed)
    prepared = prepare_rows(X, C)
    names, oof, held_out, seconds, folds = [], [], [], [], None
    for title, kind, candidate_run, task in runs_of(prepared, Y, all_rows):
        start = time.process_time()
        model = candidate_run.fitted(task)
        fit_seconds = candidate_run.seconds + time.process_time() - start
        held_out.append(score_rows(model, prepared[title][1], task.layout).astype(np.float32))
        oof.append(candidate_run.scores.astype(np.float32))
        params = ",".join(
            f"{key}={value if isinstance(value, str) else format(value, '.3g')}"
            for key, value in candidate_run.params.items()
        )
        is_linear = candidate_run.linear and candidate_run.name not in ("mlknn", "random-forest")
        names.append("|".join((candidate_run.name, title, kind, params, "linear" if is_linear else "other")))
        seconds.append(fit_seconds)
        if verbose:
            print(f"    {fit_seconds:6.2f} s  {names[-1]}", flush=True)
        if folds is None:
            folds = np.zeros(X.shape[0], dtype=np.int8)
            for fold, (_, test_rows) in enumerate(task.splits):
                folds[test_rows] = fold
    path.parent.mkdir(parents=True, exist_ok=True)
    truth = {"Y": Y.toarray().astype(np.uint8), "T": T.toarray().astype(np.uint8), "folds": folds}
    arrays = {
        "names": np.array(names),
        "seconds": np.array(seconds),
        "sparse": np.array("scaled" not in prepared),
    }
    np.savez(path, oof=np.array(oof), held_out=np.array(held_out), **truth, **arrays)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*", default=SETS)
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--verbose", action="store_true")
    parser.add_argument("--all-rows", action="store_true", help="linear candidates on rows of each kind")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    for seed in range(options.splits):
        for name in options.names:
            path, start = options.folder / f"{name}.{seed}.npz", time.process_time()
            if not path.exists():
                make(name, seed, path, verbose=options.verbose, all_rows=options.all_rows)
                print(f"{name} {seed}: {time.process_time() - start:.1f} CPU s", flush=True)


if __name__ == "__main__":
    main()
