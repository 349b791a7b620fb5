"""Inside the training rows: what AutoMultiLabel trusts, and how it reads scores, against choosing the best.

Training rows are split again, 65 to 35, several times; no test row of the published splits is looked at (of
genbase and the Debian texts, which have no such split, a third is left out). Candidates are fitted once for
each measure asked for and chosen among by several rules, with everything on the rows held out:

- asked for nDCG@5: whatever came out best, or landmarks and trees unless something is better by a spread, and
  the ridge alone, its scores as they are and as they are read;
- asked for macro-F1: likewise, or the ridge unless something gains more than its noise over the folds.

Run: OMP_NUM_THREADS=1 HYPERLABEL_DATA=… python -m benchmarks.quality_nested [name …] [--splits 2]
"""

from __future__ import annotations

import argparse
import warnings
from typing import Any

import numpy as np
from scipy import sparse

from benchmarks.quality_published import split, threshold
from hyperlabel import AutoMultiLabel
from hyperlabel.datasets import load_debtags
from hyperlabel.meta.candidate_selection import OF_WORDS, TRUSTED
from hyperlabel.metrics import f1_score, ndcg_at_k, precision_at_k, ranking_loss
from hyperlabel.solvers.clock import working_cpu_seconds

WORDS = ("medical", "genbase", "yahoo5k-computers", "yahoo-arts", "debtags")
DENSE = ("emotions", "scene", "yeast")
METHODS = ("ridge", "kernel-ridge", "forest", "linear-svm")
RULES: dict[str, tuple[str, ...]] = {"best": (), "landmarks and trees": TRUSTED, "ridge": OF_WORDS}


class Kept(AutoMultiLabel):
    """Keeps what was tried, and landmarks with trees in equal parts, to choose again under another rule."""

    def _fit_winner(self, task: Any, candidate_runs: Any, candidate_scores: Any, selector: Any) -> None:
        alone = [j for j in candidate_scores if len(j.members) == 1]
        pair = [i for i in selector.leaders(candidate_runs, alone) if candidate_runs[i].name in TRUSTED]
        both = selector._judge_blends(
            [("blend of", tuple(pair), False)], [candidate_runs[i] for i in pair], 0.0
        )
        self.found = task, candidate_runs, candidate_scores + both, selector
        super()._fit_winner(task, candidate_runs, candidate_scores, selector)

    def under(self, trusted: tuple[str, ...], among: tuple[str, ...] = ()) -> Kept:
        """Choose again, trusting these methods in equal parts, among all or some by name."""
        task, candidate_runs, candidate_scores, selector = self.found
        selector.trusted = trusted
        some = [j for j in candidate_scores if not j.stacked and (not among or j.name in among)]
        super()._fit_winner(task, candidate_runs, selector.ordered(candidate_runs, some), selector)
        return self


def training_rows(name: str) -> tuple[Any, Any]:
    if name != "debtags":
        return tuple(split(name)[:2])
    data = load_debtags()
    some = np.random.default_rng(0).permutation(data.X.shape[0])[: 2 * data.X.shape[0] // 3]
    return data.X[some], sparse.csr_array(data.Y)[some].astype(float)


def ranked(T: Any, scores: np.ndarray) -> list[float]:
    k = min(5, T.shape[1])
    return [precision_at_k(T, scores, k=1), ndcg_at_k(T, scores, k=k), -ranking_loss(T, scores)]


def measured(X: Any, Y: Any, C: Any, T: Any, options: Any) -> dict[str, list[float]]:
    asked = {"time_budget": options.budget, "methods": options.methods}
    model, found = Kept("ndcg_at_5", **asked).fit(X, Y), {}
    scores = model.under((), ("ridge",)).decision_function(C)
    as_they_are = model.estimators_[0].decision_function(model._prepare_rows(C))
    found |= {"ridge as it is": ranked(T, as_they_are), "ridge as read": ranked(T, scores)}
    for rule in ("best", "landmarks and trees"):
        scores = model.under(RULES[rule]).decision_function(C)
        micro = threshold("micro", model.oof_scores_, Y, scores)[1]
        found[f"nDCG@5, {rule}"] = [*ranked(T, scores), f1_score(T, micro, average="micro")]
    model = Kept("f1_macro", **asked).fit(X, Y)
    for rule, trusted in RULES.items():
        found[f"macro-F1, {rule}"] = [f1_score(T, model.under(trusted).predict(C), average="macro")]
    return {title: [100 * value for value in values] for title, values in found.items()}


def gains(found: dict[str, list[float]]) -> np.ndarray:
    """What reading, and trusting, gains in each measure: greater is better."""
    pairs = (
        ("ridge as read", "ridge as it is"),
        ("nDCG@5, landmarks and trees", "nDCG@5, best"),
        *((f"macro-F1, {rule}", "macro-F1, best") for rule in ("landmarks and trees", "ridge")),
    )
    return np.concatenate([np.subtract(found[ours], found[other]) for ours, other in pairs])


def row(title: str, values: Any) -> str:
    cells = [" / ".join(texts) for texts in (values[:3], values[3:7], values[7:8], values[8:9])]
    return f"| {title} | {' | '.join(cells)} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=(*WORDS, *DENSE))
    parser.add_argument("--splits", type=int, default=2)
    parser.add_argument("--rows", type=int, default=1000)
    parser.add_argument("--budget", type=float, default=30.0)
    parser.add_argument("--methods", nargs="+", default=METHODS)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    AutoMultiLabel._clock = staticmethod(working_cpu_seconds)
    print("| gains ×100 | ridge as read: P@1 / nDCG@5 / ranking loss ", end="")
    print("| landmarks and trees: the same / micro-F1 ", end="")
    print(f"| their macro-F1 | macro-F1 of the trusted ridge |\n|{'---|' * 5}", flush=True)
    sets: dict[str, np.ndarray] = {}
    for name in options.names:
        X, Y = training_rows(name)
        splits = []
        for seed in range(options.splits):
            order = np.random.default_rng(seed).permutation(X.shape[0])[: options.rows]
            train, test = (np.sort(part) for part in np.split(order, [int(0.65 * len(order))]))
            splits.append(gains(measured(X[train], Y[train], X[test], Y[test], options)))
        sets[name] = np.mean(splits, axis=0)
        print(row(name, [f"{gain:+.1f}" for gain in sets[name]]), flush=True)
    for title, names in (("sparse", WORDS), ("dense", DENSE)):
        some = np.array([sets[name] for name in names if name in sets])
        if len(some) > 1:
            errors = some.std(axis=0, ddof=1) / np.sqrt(len(some))
            pairs = zip(some.mean(axis=0), errors, strict=True)
            print(row(f"mean, {title}", [f"{gain:+.1f} ± {error:.1f}" for gain, error in pairs]))


if __name__ == "__main__":
    main()
