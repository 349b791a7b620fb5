"""Guaranteed precision, checked like a theorem: known truth, then resplits of real data, then cost.

``python -m benchmarks.guarantees synthetic [TRIALS]``, ``… made [TRIALS]`` (what becomes of the guarantees
made, by the strength of the signal), ``… real SET [RESPLITS]``, ``… cost``, or, with MAPIE in another
interpreter (it is no dependency), ``MAPIE_PYTHON=/path/to/python … mapie [TRIALS]``.

On real rows a guarantee counts as broken when a one-sided binomial test on fresh rows (one row a group)
rejects it at 5 %; so 1 − confidence of the labels may be guaranteed and violated, and 5 % of the guarantees
that are kept look broken to the test.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

import numpy as np
from scipy import optimize, sparse, stats

from benchmarks._data import real
from benchmarks._timing import show
from hyperlabel import BinaryRelevance
from hyperlabel.datasets import load_debtags
from hyperlabel.decision import guarantee_precision, guarantee_recall, label_errors
from hyperlabel.decision.risk_control import group_shuffle_split
from hyperlabel.decision.risk_control_overall import guarantee_overall_precision, guarantee_overall_recall
from hyperlabel.meta.wrapper_base import held_out_rows

RATE, SHIFT = 0.1, 2.5
CONFIDENCE, FRESH_LEVEL = 0.9, 0.05
COLUMNS = 1000
MEASURED = "guaranteed and violated / broken among guaranteed / guaranteed / coverage over the oracle's"
MAPIE = """
import sys, warnings
import numpy as np
warnings.simplefilter("ignore")
from mapie.risk_control import BinaryClassificationController
for path in sys.argv[2:]:
    data = np.load(path)
    first = len(data["Y"]) // 4  # learns the order, as ours do
    for method in ("bonferroni_holm", "split_fixed_sequence"):
        thresholds = []
        for p, y in zip(data["P"].T, data["Y"].T.astype(int)):
            both = np.column_stack([1 - p, p])
            rule = BinaryClassificationController(
                lambda X: X, "precision", float(sys.argv[1]), confidence_level=0.9, fwer_method=method
            )
            try:
                if method == "split_fixed_sequence":
                    rule.learn_fixed_sequence_order(both[:first], y[:first])
                    rule.calibrate(both[first:], y[first:])
                else:
                    rule.calibrate(both, y)
                found = rule.best_predict_param
            except ValueError:  # no cut to begin with
                found = None
            thresholds.append(np.inf if found is None else float(found))
        np.save(f"{path}.{method}.npy", thresholds)
"""


def mapie(trials: int, target: float = 0.9) -> None:
    """The same labels, MAPIE with the true probabilities (its thresholds are shares of 1) and all rows."""
    rng = np.random.default_rng(0)
    best = optimize.brentq(lambda threshold: _precision(threshold) - target, -5, 10)
    for positives in (100, 400, 1500):
        thresholds: dict[str, list[np.ndarray]] = {}
        with tempfile.TemporaryDirectory() as folder:
            for trial in range(max(1, trials // 50)):
                Y, scores = _drawn(rng, round(positives / RATE))
                ours = guarantee_precision(
                    scores,
                    sparse.csr_array(Y * 1.0),
                    target,
                    confidence=CONFIDENCE,
                    error_control="per_label",
                ).thresholds
                thresholds.setdefault("ours", []).append(ours)
                path = Path(folder, f"{trial}.npz")
                np.savez(path, Y=Y, P=_posterior(scores))
                run = [os.environ["MAPIE_PYTHON"], "-c", MAPIE, str(target), str(path)]
                subprocess.run(run, check=True, env={})
                for method in ("bonferroni_holm", "split_fixed_sequence"):
                    p = np.load(f"{path}.{method}.npy")
                    threshold = np.where(np.isinf(p), np.inf, _score_at(np.where(np.isinf(p), 0.5, p)))
                    thresholds.setdefault(f"MAPIE, {method}", []).append(threshold)
        rows = [
            (name, _judged(np.concatenate(found), target, best), "") for name, found in thresholds.items()
        ]
        show(f"p = {target}, {positives} positives: {MEASURED}", rows)


def _posterior(scores):
    right, wrong = RATE * stats.norm.pdf(scores - SHIFT), (1 - RATE) * stats.norm.pdf(scores)
    return right / (right + wrong)


def _score_at(p):
    """Return the score at which the posterior is p."""
    return (np.log(np.maximum(p, 1e-12) / (1 - p) * (1 - RATE) / RATE) + SHIFT**2 / 2) / SHIFT


def synthetic(trials: int) -> None:
    """Scores N(2.5·y, 1), base rate .1: precision and recall of every threshold are known."""
    rng = np.random.default_rng(0)
    rows = []
    for target in (0.9, 0.8):
        best = optimize.brentq(lambda threshold, t=target: _precision(threshold) - t, -5, 10)
        for positives in (50, 100, 200, 400, 800, 1500, 3000):
            n = round(positives / RATE)
            for error_control in ("per_label", "fdr"):
                found = [_trial(rng, n, target, error_control) for _ in range(max(1, trials // 50))]
                thresholds = np.concatenate(found)
                title = f"p = {target}, {positives} positives, {error_control} ({len(thresholds)})"
                rows.append((title, _judged(thresholds, target, best), ""))
    show(f"{MEASURED}, confidence .9", rows)


def made(trials: int, k: int = 60, target: float = 0.8) -> None:
    """Scores N(shift·y, 1): the share of violated guarantees among those made, its mean over the trials."""
    signals = {
        "weak": np.full(k, 1.5),
        "mixed": np.resize([0.0, 1.2, 1.5, 1.8, 2.5], k),
        "strong": np.full(k, SHIFT),
    }
    rows = []
    for signal, shifts in signals.items():
        for n in (500, 1000, 4000):
            for error_control in ("per_label", "fdr"):
                rng, found = np.random.default_rng(0), []
                for _ in range(trials):
                    Y = rng.random((n, k)) < RATE
                    scores = rng.normal(size=Y.shape) + shifts * Y
                    thresholds = guarantee_precision(
                        scores,
                        sparse.csr_array(Y * 1.0),
                        target,
                        confidence=CONFIDENCE,
                        error_control=error_control,
                    ).thresholds
                    is_made = np.isfinite(thresholds)
                    at = np.where(is_made, thresholds, 0.0)
                    is_violated = is_made & (_precision(at, shifts) < target)
                    cover = np.where(is_made, stats.norm.sf(at - shifts), 0.0).mean()
                    found.append((is_violated.sum() / max(is_made.sum(), 1), is_made.mean(), cover))
                share, guaranteed, cover = np.mean(found, axis=0)
                title = f"{signal}, {n} rows, {error_control}"
                rows.append((title, f"{share:.3f} / {guaranteed:.2f} / {cover:.3f}", ""))
    show(f"{trials} trials: violated among those made / labels guaranteed / recall", rows)


def _judged(thresholds: np.ndarray, target: float, best: float) -> str:
    guaranteed = np.isfinite(thresholds)
    violated = guaranteed & (_precision(np.where(guaranteed, thresholds, 0.0)) < target)
    cover = np.where(guaranteed, stats.norm.sf(np.where(guaranteed, thresholds, 0.0) - SHIFT), 0.0).mean()
    cover /= stats.norm.sf(best - SHIFT)
    among = violated.sum() / max(guaranteed.sum(), 1)
    return f"{violated.mean():.3f} / {among:.3f} / {guaranteed.mean():.2f} / {cover:.2f}"


def _drawn(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Fifty independent labels at once."""
    Y = rng.random((n, 50)) < RATE
    return Y, rng.normal(size=Y.shape) + SHIFT * Y


def _trial(rng: np.random.Generator, n: int, target: float, error_control: str) -> np.ndarray:
    Y, scores = _drawn(rng, n)
    return guarantee_precision(
        scores, sparse.csr_array(Y * 1.0), target, confidence=CONFIDENCE, error_control=error_control
    ).thresholds


def _precision(threshold, shift=SHIFT):
    right, wrong = RATE * stats.norm.sf(threshold - shift), (1 - RATE) * stats.norm.sf(threshold)
    return right / (right + wrong)


def resplits(name: str, count: int, target: float = 0.8) -> None:
    """Fit on 60 % of the rows (groups), look at the rest; as ThresholdTuner does, each model fitted once."""
    data = load_debtags() if name == "debtags" else real(name)
    X = data.X
    if X.shape[1] > COLUMNS:  # the most frequent words
        X = X[:, np.sort(np.argsort(-np.asarray((X != 0).sum(axis=0)).ravel(), kind="stable")[:COLUMNS])]
    groups = None if data.groups is None else np.asarray(data.groups)
    by_label: dict[str, list[tuple[float, ...]]] = {"split": [], "cross-fitted": []}
    shared: dict[str, list[tuple[float, ...]]] = {"split": [], "cross-fitted": []}
    overall: dict[str, list[tuple[float, ...]]] = {"split": [], "cross-fitted": []}
    start = time.perf_counter()
    for seed in range(count):
        fresh, known = group_shuffle_split(data.n_rows, groups, 0.4, one_each=False, seed=1000 + seed)
        known_groups = None if groups is None else groups[known]
        one_each = group_shuffle_split(
            len(fresh), None if groups is None else groups[fresh], 1.0, one_each=True, seed=seed
        )[0]
        train, held_out = held_out_rows(len(known), known_groups)
        model = BinaryRelevance(alpha=1.0).fit(X[known[train]], data.Y[known[train]])
        whole = BinaryRelevance(alpha=1.0, cv=5).fit(X[known], data.Y[known], groups=known_groups)
        for kind, fitted, rows, scores in (
            ("split", model, held_out, model.decision_function(X[known[held_out]])),
            ("cross-fitted", whole, np.arange(len(known)), whole.oof_scores_),
        ):
            together = None if known_groups is None else known_groups[rows]
            fresh_scores = fitted.decision_function(X[fresh])
            truth = data.Y[fresh].toarray() > 0
            for rule, into, outcome in (
                (partial(guarantee_precision, error_control="per_label"), by_label, _by_label),
                (partial(guarantee_precision, error_control="fdr"), shared, _by_label),
                (guarantee_overall_precision, overall, _overall),
            ):
                kept = rule(scores, data.Y[known[rows]], target, confidence=CONFIDENCE, groups=together)
                into[kind].append(outcome(kept, fresh_scores, truth, one_each, target))
    for kind in by_label:
        for control, labels in (("per_label", by_label[kind]), ("fdr", shared[kind])):
            title = f"{name}, precision {target} guaranteed, {count} resplits, {kind}, {control}"
            _say(title, labels, overall[kind])
    print(f"  {time.perf_counter() - start:.0f} s")


def _say(title: str, labels: list[tuple[float, ...]], overall: list[tuple[float, ...]]) -> None:
    guaranteed, violated, total, cover, oracle = np.sum(labels, axis=0)
    done = np.array(overall)
    precision = np.nanmean(done[:, 2]) if done[:, 0].any() else float("nan")
    rows = [
        ("labels guaranteed", f"{guaranteed / total:.3f}", f"{int(guaranteed)} of {int(total)}"),
        ("guaranteed and violated", f"{violated / total:.4f}", "at most .1"),
        ("broken among guaranteed", f"{violated / max(guaranteed, 1):.4f}", "the test alone: .05"),
        ("coverage / the oracle threshold's", f"{cover / len(done):.3f} / {oracle / len(done):.3f}", ""),
        (
            "overall: guaranteed / broken",
            f"{done[:, 0].mean():.2f} / {done[:, 1].mean():.3f}",
            f"mean precision {precision:.3f}",
        ),
    ]
    show(title, rows)


def _by_label(kept, scores, truth, one_each, target) -> tuple[float, ...]:
    """Guaranteed, broken, labels, coverage and the oracle's."""
    sets = kept.decide(scores)
    guaranteed = ~np.isnan(kept.bound)
    found, right = sets[one_each].sum(axis=0), (sets & truth)[one_each].sum(axis=0)
    violated = guaranteed & (found > 0) & (stats.binom.cdf(right, found, target) < FRESH_LEVEL)
    cover = (sets & truth).sum() / truth.sum()
    return guaranteed.sum(), violated.sum(), len(guaranteed), cover, _oracle(scores, truth, target)


def _overall(kept, scores, truth, one_each, target) -> tuple[float, ...]:
    """Guaranteed, broken, precision."""
    if np.isnan(kept.bound[0]):
        return 0.0, 0.0, float("nan")
    sets = kept.decide(scores)
    gap = ((sets & ~truth).sum(axis=1) - (1 - target) * sets.sum(axis=1))[one_each]
    is_violated = gap.mean() > stats.norm.isf(FRESH_LEVEL) * gap.std() / np.sqrt(len(gap))
    return 1.0, float(is_violated and gap.any()), (sets & truth).sum() / max(sets.sum(), 1)


def _oracle(scores: np.ndarray, truth: np.ndarray, target: float) -> float:
    """Coverage of the lowest thresholds that keep the precision on the fresh rows themselves."""
    order = np.argsort(-scores, axis=0)
    right = np.cumsum(np.take_along_axis(truth, order, axis=0), axis=0)
    kept = right / np.arange(1, len(scores) + 1)[:, None] >= target
    return float(np.where(kept, right, 0).max(axis=0).sum() / truth.sum())


def cost(n: int = 100_000, k: int = 1000) -> None:
    """Processor seconds and memory above the scores themselves."""
    rng = np.random.default_rng(0)
    rates = np.clip(0.2 / np.arange(1, k + 1) ** 0.7, 0.0005, 1)
    columns = [np.sort(rng.choice(n, int(n * rate), replace=False)) for rate in rates]
    starts = np.r_[0, np.cumsum([len(rows) for rows in columns])]
    Y = sparse.csc_array((np.ones(starts[-1]), np.concatenate(columns), starts), shape=(n, k)).tocsr()
    scores = rng.standard_normal((n, k))
    entries = Y.tocoo()
    scores[entries.row, entries.col] += 3
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    guarantee_overall_precision(scores[:200], Y[:200], 0.5)  # compiles
    label_errors(Y[:200], scores[:200])
    rows = []
    rules = (guarantee_precision, guarantee_recall, guarantee_overall_precision, guarantee_overall_recall)
    for rule in (*rules, label_errors):
        start = time.process_time()
        rule(*((Y, scores) if rule is label_errors else (scores, Y, 0.9)))
        spent = time.process_time() - start
        above = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 2**20
        rows.append((rule.__name__, f"{spent:.1f} s, {above:.2f} GB", "at most 5 s, 1 GB"))
    show(f"{n} rows, {k} labels, {Y.nnz} entries: processor time, memory above the scores so far", rows)


if __name__ == "__main__":
    what, *rest = sys.argv[1:] or ["synthetic"]
    if what == "synthetic":
        synthetic(int(rest[0]) if rest else 500)
    elif what == "made":
        made(int(rest[0]) if rest else 100)
    elif what == "cost":
        cost()
    elif what == "mapie":
        mapie(int(rest[0]) if rest else 500)
    else:
        resplits(rest[0], int(rest[1]) if rest[1:] else 200)
