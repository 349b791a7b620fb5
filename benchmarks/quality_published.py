"""Published splits: one call of AutoMultiLabel beside published records and tuned peers.

Nothing is chosen on test rows. A call asked for nDCG@5 gives P@1/3/5 and ranking loss; cuts for micro-F1 (one
for all labels) and macro-F1 (one each) come from its out-of-fold scores. Peers are tuned on folds of the same
training rows, for ranking and for each F1 by itself, with our cuts; settings are tried in the order of
`PEERS` until the budget is spent, and "2 of 4" says how many were. omikuji and napkinXC take part where they
are installed. With ``--cpu`` budgets are seconds of processor time, for machines that others use too: with
one thread that is what an idle core would take.

Run: OMP_NUM_THREADS=1 HYPERLABEL_DATA=… python -m benchmarks.quality_published [name …] [--cpu]
"""

from __future__ import annotations

import argparse
import importlib.util
import tempfile
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler, normalize
from sklearn.svm import LinearSVC

from benchmarks._data import real
from benchmarks.peer_runner import Napkin, NapkinPLT
from hyperlabel import AutoMultiLabel, BinaryRelevance
from hyperlabel.decision import global_cut, per_label_cuts
from hyperlabel.linear import ChainEnsemble
from hyperlabel.metrics import f1_score, ndcg_at_k, precision_at_k, ranking_loss
from hyperlabel.model_selection import resolve_cv

NAMES = ("emotions", "scene", "yeast", "medical", "corel5k", "yahoo-arts", "mediamill-disc3", "delicious")
# P@1/3/5 ×100, Extreme Classification Repository, table of 2019-01-10
PUBLISHED = {
    "delicious": {
        "one-vs-all": (65.0, 58.9, 53.3),
        "CPLST": (65.3, 60.0, 55.3),
        "LEML": (65.7, 60.6, 56.1),
        "SLEEC": (67.6, 61.4, 56.6),
        "Parabel": (67.4, 61.8, 56.8),
        "PfastreXML": (67.1, 62.3, 58.6),
        "FastXML": (69.6, 64.1, 59.3),
    }
}
TUNED_C = (0.1, 1.0, 0.01, 10.0)
CUTS: dict[str, Callable[..., Any]] = {"micro": global_cut, "macro": per_label_cuts}


def split(name: str) -> list[Any]:
    """Return X, Y, X_test, Y_test: the published split, or the first two thirds of the rows."""
    try:
        parts = [real(name, part) for part in ("train", "test")]
        X, C = (part.X for part in parts)
        Y, T = (sparse.csr_array(part.Y).astype(float) for part in parts)
    except (KeyError, ValueError):
        whole = real(name)
        rows, labels = sparse.csr_array(whole.Y).astype(float), whole.X
        order = np.random.default_rng(0).permutation(rows.shape[0])
        train, test = np.split(order, [2 * len(order) // 3])
        X, C, Y, T = labels[train], labels[test], rows[train], rows[test]
    return [X, Y, C, T]


def sets_of(average: str, oof: np.ndarray, Y: Any, scores: np.ndarray, T: Any) -> tuple[float, float]:
    """Return F1 out of fold (as cuts reach it there) and on test rows."""
    found = CUTS[average](oof, Y, scoring=f"f1_{average}")
    return found.value, f1_score(T, sparse.csr_array(scores > found.cuts).astype(int), average=average)


def ranked(T: Any, scores: np.ndarray) -> list[float]:
    return [100 * precision_at_k(T, scores, k=k) for k in (1, 3, 5)] + [ranking_loss(T, scores)]


def line(name: str, values: list[float], micro: float, macro: float, seconds: float, note: str = "") -> None:
    p = "/".join(f"{value:.1f}" for value in values[:3])
    print(f"  {name:22} {p:16} {values[3]:.4f}  {micro:.4f}  {macro:.4f} {seconds:8.0f}  {note}", flush=True)


def ours(X: Any, Y: Any, C: Any, T: Any, **options: Any) -> None:
    start = time.process_time()
    model = AutoMultiLabel("ndcg_at_5", **options).fit(X, Y)
    spent = time.process_time() - start
    scores, oof = model.decision_function(C), model.oof_scores_
    known = ~np.isnan(oof).any(axis=1)
    micro, macro = (sets_of(average, oof[known], Y[known], scores, T)[1] for average in CUTS)
    line("AutoMultiLabel", ranked(T, scores), micro, macro, spent, model.leaderboard_[0]["method"])


class Trees:
    """omikuji's trees, scores of all labels."""

    def __init__(self, **settings: Any) -> None:
        self.settings = settings

    def fit(self, X: Any, Y: Any) -> Trees:
        import omikuji

        X, self.k = sparse.csr_array(X), Y.shape[1]
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
            kept = np.flatnonzero((np.diff(X.indptr) > 0) & (np.diff(Y.indptr) > 0))
            file.write(f"{len(kept)} {X.shape[1]} {self.k}\n")
            for i in kept:
                labels = ",".join(map(str, Y.indices[Y.indptr[i] : Y.indptr[i + 1]]))
                pairs = " ".join(f"{j}:{v:.6g}" for j, v in self._pairs(X, i))
                file.write(f"{labels} {pairs}\n")
            file.flush()
            options = omikuji.Model.default_hyper_param()
            for name, value in self.settings.items():
                setattr(options, name, value)
            self.model = omikuji.Model.train_on_data(file.name, options, n_threads=1)
        return self

    def scores(self, X: Any) -> np.ndarray:
        X = sparse.csr_array(X)
        scores = np.zeros((X.shape[0], self.k))
        for i in range(X.shape[0]):
            for label, value in self.model.predict(self._pairs(X, i), beam_size=self.k, top_k=self.k):
                scores[i, label] = value
        return scores

    def _pairs(self, X: Any, i: int) -> list[tuple[int, float]]:
        here = slice(X.indptr[i], X.indptr[i + 1])
        return [(int(j), float(v)) for j, v in zip(X.indices[here], X.data[here], strict=True)]


class Each:
    """A classifier for each label, or one for all."""

    def __init__(self, model: Any, *, dense: bool = False) -> None:
        self.model, self.dense = model, dense

    def fit(self, X: Any, Y: Any) -> Each:
        self.model.fit(self._rows(X), Y)
        return self

    def scores(self, X: Any) -> np.ndarray:
        return self.model.decision_function(self._rows(X))

    def _rows(self, X: Any) -> Any:
        return X.toarray() if self.dense and sparse.issparse(X) else X


def relevance(make: Any, **options: Any) -> Any:
    return lambda setting: Each(BinaryRelevance(make(**setting)), **options)


# title: how a setting is made, the settings with the likeliest first, and what must be installed
PEERS: dict[str, tuple[Any, list[dict[str, Any]], str]] = {
    "LinearSVC": (relevance(LinearSVC), [{"C": C} for C in TUNED_C], "sklearn"),
    "LogisticRegression": (
        relevance(lambda C: LogisticRegression(C=C, max_iter=1000)),
        [{"C": C} for C in TUNED_C],
        "sklearn",
    ),
    "RandomForest": (
        relevance(lambda **leaf: RandomForestClassifier(100, random_state=0, **leaf)),
        [{"min_samples_leaf": leaf} for leaf in (1, 3)],
        "sklearn",
    ),
    "HistGradientBoosting": (
        relevance(lambda **rate: HistGradientBoostingClassifier(random_state=0, **rate), dense=True),
        [{"learning_rate": 0.1}, {"learning_rate": 0.03}],
        "sklearn",
    ),
    "chain ensemble": (
        lambda setting: Each(ChainEnsemble(LogisticRegression(max_iter=1000, **setting), random_state=0)),
        [{"C": C} for C in (1.0, 0.1)],
        "sklearn",
    ),
    "shared ridge (ours)": (
        lambda setting: Each(BinaryRelevance(**setting)),
        [{"alpha": alpha} for alpha in ("auto", 1.0, 10.0, 100.0, 0.1)],
        "sklearn",
    ),
    "napkinXC": (
        lambda setting: Napkin() if setting["trees"] == 0 else NapkinPLT(),
        [{"trees": 0}, {"trees": 1}],
        "napkinxc",
    ),
    "omikuji": (
        lambda setting: Trees(**setting),
        [{}, {"linear_c": 0.1}, {"cluster_balanced": False, "max_depth": 2, "cluster_k": 16}],
        "omikuji",
    ),
}


def theirs(title: str, X: Any, Y: Any, C: Any, T: Any, budget: float) -> None:
    """Tune one peer on three folds and print its line."""
    make, settings, needed = PEERS[title]
    if importlib.util.find_spec(needed) is None:
        print(f"  {title:22} is not installed here")
        return
    splits = list(resolve_cv(3, Y, None).split(X, Y))
    start, best, done = time.perf_counter(), {}, 0
    for setting in settings:
        if done and (time.perf_counter() - start) * (done + 1) / done > budget:
            break
        oof = np.empty(Y.shape)
        for train, test in splits:
            model = make(setting)
            model.fit(X[train], Y[train])
            oof[test] = model.scores(X[test])
            if time.perf_counter() - start > budget:
                break
        else:
            model = make(setting)
            model.fit(X, Y)
            scores, done = model.scores(C), done + 1
            found = {"rank": (ndcg_at_k(Y, oof, k=min(5, Y.shape[1])), ranked(T, scores))}
            found |= {average: sets_of(average, oof, Y, scores, T) for average in CUTS}
            for measure, pair in found.items():
                if measure not in best or pair[0] > best[measure][0]:
                    best[measure] = pair
    spent = time.perf_counter() - start
    if not done:
        print(f"  {title:22} does not finish within {budget:.0f} s", flush=True)
        return
    note = f"{done} of {len(settings)} settings, our cuts"
    line(title, best["rank"][1], best["micro"][1], best["macro"][1], spent, note)


def on_one_scale(X: Any, C: Any) -> tuple[Any, Any]:
    if sparse.issparse(X):
        return sparse.csr_array(normalize(X)), sparse.csr_array(normalize(C))
    scaler = StandardScaler().fit(X)
    return scaler.transform(X), scaler.transform(C)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=NAMES)
    parser.add_argument("--budget", type=float, default=300.0)
    parser.add_argument("--cpu", action="store_true")
    parser.add_argument("--peers", nargs="*", default=list(PEERS), help="titles; none leaves peers out")
    parser.add_argument("--verbose", type=int, default=0)
    parser.add_argument("--methods", nargs="+", default=None)
    options = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    if options.cpu:
        time.perf_counter = time.process_time  # type: ignore[assignment]
    for name in options.names:
        X, Y, C, T = split(name)
        print(f"{name}: {X.shape[0]}×{X.shape[1]}, {Y.shape[1]} labels, {T.shape[0]} test rows")
        print(f"  {'':22} {'P@1/3/5':16} {'rank':6}  {'micro':6}  {'macro':6} {'cpu s':>8}")
        for title, values in PUBLISHED.get(name, {}).items():
            print(f"  {title:22} {'/'.join(map(str, values))}")
        ours(X, Y, C, T, time_budget=options.budget, methods=options.methods, verbose=options.verbose)
        X, C = on_one_scale(X, C)
        for title in options.peers:
            theirs(title, X, Y, C, T, options.budget)


if __name__ == "__main__":
    main()
