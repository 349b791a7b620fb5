"""All methods on all shared sets, in one command, and a page of it.

Every method has the same CPU seconds for each set, the same rows, folds and thresholds. Peers try their
settings on rows as they are and as tf-idf (dense ones on columns of unit variance), 3 folds each, until the
seconds are spent; for each of four measures the best out of fold is kept: ranking loss, nDCG@5, micro-F1,
macro-F1. `AutoMultiLabel` is called once for each, with a quarter of the seconds. Thresholds for label sets
come from out-of-fold scores: one for all labels (micro-F1, Hamming loss, subset accuracy) or one for each
(macro-F1). Probabilities are those of a sigmoid for each label, fitted on out-of-fold scores. What was
predicted is kept in the folder OUT, one file for each set and method: a measure can be added later, and a run
goes on where it stopped.

``--quick`` draws at most 600 training rows, 1500 test rows and 30 labels of each set.

Run: OMP_NUM_THREADS=1 HYPERLABEL_DATA=… python -m benchmarks.arena OUT [name …] [--quick] [--budget 120]
     [--enter my_method.py] [--page FILE.md]
"""

from __future__ import annotations

import argparse
import time
import warnings
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from benchmarks._arena_methods import PEERS, Entrant, calibrated, read_entrant
from benchmarks._arena_page import write_page
from benchmarks.quality_published import at_most, limit, split
from benchmarks.rule_cache import SETS, prepare_rows
from hyperlabel import AutoMultiLabel
from hyperlabel._base import score_rows
from hyperlabel.decision import global_threshold, per_label_thresholds
from hyperlabel.metrics import ndcg_at_k, ranking_loss
from hyperlabel.model_selection import resolve_cv
from hyperlabel.solvers.clock import working_cpu_seconds

OURS = "AutoMultiLabel"
ASKED = ("ranking_loss", "ndcg_at_5", "f1_micro", "f1_macro")
QUICK_ROWS, QUICK_TEST_ROWS, QUICK_LABELS = 600, 1500, 30


@dataclass(frozen=True, eq=False)
class Contest:
    """One set: training rows and test rows."""

    X: Any
    Y: sparse.csr_array
    C: Any
    T: sparse.csr_array

    @classmethod
    def draw(cls, name: str, *, quick: bool) -> Contest:
        X, Y, C, T = split(name)
        if not quick:
            return cls(X, Y, C, T)
        rng = np.random.default_rng(0)
        train = np.sort(rng.permutation(X.shape[0])[:QUICK_ROWS])
        test = np.sort(rng.permutation(C.shape[0])[:QUICK_TEST_ROWS])
        positives = np.asarray(Y[train].sum(axis=0)).ravel()
        usable = np.flatnonzero((positives > 0) & (positives < len(train)))
        labels = np.sort(rng.permutation(usable)[:QUICK_LABELS])
        return cls(X[train], Y[train][:, labels], C[test], T[test][:, labels])


def out_of_fold_values(oof: np.ndarray, Y: Any) -> dict[str, float]:
    """Return what each measure reaches out of fold, greater being better."""
    return {
        "ranking_loss": -ranking_loss(Y, oof),
        "ndcg_at_5": ndcg_at_k(Y, oof, k=min(5, Y.shape[1])),
        "f1_micro": global_threshold(oof, Y, scoring="f1_micro").value,
        "f1_macro": per_label_thresholds(oof, Y, scoring="f1_macro").value,
    }


def read_scores(oof: np.ndarray, Y: Any, scores: np.ndarray, asked: str) -> np.ndarray:
    """Return scores above 0 where a label is predicted for the measure that was asked for."""
    if asked == "f1_micro":
        return scores - global_threshold(oof, Y, scoring="f1_micro").thresholds
    if asked == "f1_macro":
        return scores - per_label_thresholds(oof, Y, scoring="f1_macro").thresholds
    return scores


def ours(contest: Contest, seconds: float) -> dict[str, Any]:
    """Call AutoMultiLabel once for each measure."""
    kept: dict[str, Any] = {}
    for asked in ASKED:
        model = AutoMultiLabel(asked, time_budget=seconds / len(ASKED)).fit(contest.X, contest.Y)
        scores, oof = model.decision_function(contest.C), model.oof_scores_
        known = ~np.isnan(oof).any(axis=1)
        kept[asked] = scores - model.thresholds_ if asked.startswith("f1") else scores
        kept[f"oof {asked}"] = model.leaderboard_[0]["score"]
        kept[f"note {asked}"] = model.leaderboard_[0]["method"]
        if asked == "ranking_loss":
            kept["proba"] = calibrated(oof[known], contest.Y[known], scores)
    return kept


def theirs(contest: Contest, entrant: Entrant, seconds: float) -> dict[str, Any]:
    """Tune a peer for each measure until the seconds are spent."""
    kept: dict[str, Any] = {}
    splits = list(resolve_cv(3, contest.Y, None).split(contest.X, contest.Y))
    prepared = prepare_rows(contest.X, contest.C)
    titles = [title for title in ("tfidf", "unit", "scaled") if title in prepared][:1]
    titles += ["raw"] if "raw" in prepared else []
    start, n_done = time.process_time(), 0
    with suppress(TimeoutError), at_most(seconds / 2, cpu=True):
        for setting in entrant.settings:
            for title in titles:
                X, C = prepared[title]
                oof = np.empty(contest.Y.shape)
                for train, test in splits:
                    model = entrant.make(setting).fit(X[train], contest.Y[train])
                    oof[test] = score_rows(model, X[test])
                scores = score_rows(entrant.make(setting).fit(X, contest.Y), C)
                for asked, value in out_of_fold_values(oof, contest.Y).items():
                    if value > kept.get(f"oof {asked}", -np.inf):
                        kept |= {asked: read_scores(oof, contest.Y, scores, asked), f"oof {asked}": value}
                        kept[f"note {asked}"] = f"{setting} on {title} rows"
                        if asked == "ranking_loss":
                            kept["proba"] = calibrated(oof, contest.Y, scores)
                n_done += 1
                limit(max(seconds - (time.process_time() - start), 0.01), cpu=True)
    if kept:
        kept["settings"] = f"{n_done} of {len(entrant.settings) * len(titles)}"
    return kept


def keep(path: Path, made: dict[str, Any], seconds: float, contest: Contest) -> None:
    """Write what a method predicted; arrays in single precision."""
    path.parent.mkdir(parents=True, exist_ok=True)
    arrays = {
        key: value.astype(np.float32) if isinstance(value, np.ndarray) else np.array(value)
        for key, value in made.items()
    }
    truth = {"T": contest.T.toarray().astype(np.uint8), "cpu_seconds": np.array(seconds)}
    np.savez(path, n_train=np.array(contest.X.shape[0]), **truth, **arrays)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("names", nargs="*", default=SETS)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--budget", type=float, default=120.0, help="CPU seconds of each method and set")
    parser.add_argument("--enter", type=Path, nargs="*", default=[], help="Python files, one method each")
    parser.add_argument("--page", type=Path, default=None)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    AutoMultiLabel._clock = staticmethod(working_cpu_seconds)
    entrants = [*PEERS, *(read_entrant(path) for path in options.enter)]
    for name in options.names:
        contest = Contest.draw(name, quick=options.quick)
        for title in (OURS, *(e.title for e in entrants)):
            path = options.out / f"{name}@{title}.npz"
            entrant = next((e for e in entrants if e.title == title), None)
            if path.exists() or (entrant is not None and not entrant.is_installed):
                continue
            start = time.process_time()
            if entrant is None:
                made = ours(contest, options.budget)
            else:
                made = theirs(contest, entrant, options.budget)
            spent = time.process_time() - start
            keep(path, made, spent, contest)
            print(f"{name} {title}: {spent:.1f} CPU s, {made.get('settings', '')}", flush=True)
    if options.page is not None:
        scale = "quick form" if options.quick else "whole form"
        missing = [e.title for e in entrants if not e.is_installed]
        write_page(options.page, options.out, OURS, f"{scale}, {options.budget:.0f} CPU s", missing)


if __name__ == "__main__":
    main()
