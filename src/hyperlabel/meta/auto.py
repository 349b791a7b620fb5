"""AutoMultiLabel: try a portfolio on the same folds, tune the cuts, say what was chosen and how sure.

1. Every candidate gives out-of-fold scores on the same folds (`meta.portfolio`).
2. A candidate's worth is its measure with cuts tuned on the *other* folds, fold by fold: the cuts
   never see the rows they are judged on.
3. The best few are also blended (mean of calibrated log-odds); calibration is refitted likewise.
4. The winner is fitted on all rows, with cuts from all out-of-fold scores.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.preprocessing import StandardScaler

from hyperlabel._base import KnownScores, MultiLabelClassifier, decode, score_batches, score_rows
from hyperlabel._tables import Table
from hyperlabel.decision import Sigmoid, global_cut, per_label_cuts
from hyperlabel.meta.portfolio import PORTFOLIO, Candidate, OutOfTime, Task, Tried
from hyperlabel.meta.view import View, view
from hyperlabel.metrics import get_scorer
from hyperlabel.metrics.statistics import corrected_resampled_t
from hyperlabel.model_selection import resolve_cv
from hyperlabel.moments.cross_validate import as_indicator
from hyperlabel.moments.probabilities import OutOfFoldProbabilities

_CUT_MEASURES = ("f1_macro", "f1_micro", "hamming_loss")
_SET_MEASURES = ("f1_", "precision_m", "precision_s", "precision_w", "recall_", "hamming", "subset")


@dataclass(frozen=True, eq=False)
class _Judged:
    """A candidate (or blend) with its value on each fold and the rule that reached it."""

    name: str
    members: tuple[int, ...]
    rule: str
    values: np.ndarray
    seconds: float


class AutoMultiLabel(OutOfFoldProbabilities, MultiLabelClassifier):
    """Choose among the library's methods and scikit-learn's baselines, with tuned cuts.

    Parameters
    ----------
    scoring : str or callable, default="f1_macro"
        What to maximise: a name of `hyperlabel.metrics.get_scorer_names`, or
        ``scorer(estimator, X, y)``.
    time_budget : float, default=60.0
        Seconds for everything, the final fit included. A candidate that would not finish is left
        out and listed as such; the cheapest one is always tried.
    cv : None, int, splitter or iterable of (train, test), default=None
        Folds on which candidates are compared; None means 5 stratified folds (3 above 4000 rows).
        Give groups to `fit` for grouped folds, a `TimeOrderedSplit` for time-ordered ones.
    methods : sequence of str, default=None
        Names to try, of ``ridge``, ``kernel-ridge``, ``plst``, ``spectral``, ``hopls-mlknn``,
        ``linear-svm``, ``rank-svm``, ``logistic`` and ``chain-ensemble``; None is all.
    blend : bool, default=True
        Whether to try the mean of the best candidates' calibrated log-odds as well.
    n_jobs : int, default=None
        Labels fitted in parallel where a method fits them one by one.
    random_state : int, default=0
        Seed of the folds and of the kernel approximation.

    Attributes
    ----------
    leaderboard_ : list of dict
        Everything tried, best first: ``method``, ``params``, ``rule`` (cuts), ``score`` and
        ``spread`` over the folds, ``behind`` the best with its corrected 95 % interval ``low``,
        ``high`` (Nadeau & Bengio), ``seconds``; then what was left out or failed, with the reason
        as ``left_out``.
    summary_ : str
        What was chosen, why, and how sure.
    members_ : list of classifiers
        The fitted model, or the blended ones.
    thresholds_ : ndarray of shape (n_labels,)
        Predict where score > threshold.
    oof_scores_ : ndarray of shape (n_samples, n_labels)
        Out-of-fold scores of the winner.

    Notes
    -----
    The winner is picked on the folds it is scored on, so its score is slightly optimistic: judge it
    on rows it has not seen. Columns are standardised first, unless most entries are zeros (text).

    Examples
    --------
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from hyperlabel import AutoMultiLabel
    >>> X, Y = make_multilabel_classification(n_samples=150, random_state=0)
    >>> model = AutoMultiLabel(methods=["ridge", "plst"]).fit(X, Y)
    >>> model.leaderboard_[0]["score"] >= model.leaderboard_[1]["score"]
    True
    """

    def __init__(
        self,
        scoring: Any = "f1_macro",
        *,
        time_budget: float = 60.0,
        cv: Any = None,
        methods: Sequence[str] | None = None,
        blend: bool = True,
        n_jobs: int | None = None,
        random_state: int | None = 0,
    ) -> None:
        self.scoring = scoring
        self.time_budget = time_budget
        self.cv = cv
        self.methods = methods
        self.blend = blend
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: Any, y: Any, groups: Any = None) -> AutoMultiLabel:
        """Try the portfolio on folds that keep `groups` together, and fit the winner on all rows."""
        deadline = time.perf_counter() + float(self.time_budget)
        X, Y = self._check_fit(X, y, min_samples=2)
        self._mostly_zero = density(X) < 0.5
        X = self._as_rows(X)
        self.scaler_ = None if self._mostly_zero else StandardScaler().fit(X)
        X = self._scaled(X)
        scorer = get_scorer(self.scoring)
        splits = self._splits(X, Y, groups)
        task = Task(
            X, Y, as_indicator(self._layout), splits, self._criterion(scorer), self.n_jobs, self.random_state
        )
        judge = _Judge(task, scorer, self._cut_scoring())
        tried, judged, left_out = self._try_all(task, judge, deadline)
        judged.sort(key=lambda j: -j.values.mean())
        if self.blend:
            judged += judge.blends(tried, judged, deadline)
            judged.sort(key=lambda j: -j.values.mean())
        self._finish(task, tried, judged, judge)
        self._report(task, tried, judged, left_out)
        return self

    def predict(self, X: Any) -> Any:
        """Label sets of each row by `thresholds_`, in the form y had in `fit`."""
        X = self._check_predict(X)
        cuts = self.thresholds_ if self._layout.kind != "multiclass" else 0.0
        return decode(self._layout, (block - cuts for _, block in self._score_blocks(X)))

    # -- trying -------------------------------------------------------------------------------------

    def _try_all(
        self, task: Task, judge: _Judge, deadline: float
    ) -> tuple[list[Tried], list[_Judged], dict[str, str]]:
        tried: list[Tried] = []
        judged: list[_Judged] = []
        left_out: dict[str, str] = {}
        failure: Exception | None = None
        for candidate in self._candidates():
            # judging it, and the refit and cuts of what is best so far, must still fit in
            reserve = max((t.refit_seconds for t in tried), default=0.0) + 2 * judge.seconds
            needed = 1.5 * tried[0].seconds if tried and candidate.like_ridge else 0.0
            if tried and time.perf_counter() + reserve + needed > deadline:
                left_out[candidate.name] = str(OutOfTime(needed)) if needed else "no time left"
                continue
            try:
                for found in candidate.run(task, deadline - reserve if tried else np.inf):
                    judged.append(judge.one(len(tried), found))
                    tried.append(found)
            except Exception as refusal:  # of this method on these rows: the others may do
                left_out[candidate.name] = str(refusal) or type(refusal).__name__
                failure = failure or refusal
        if not tried:
            name, reason = next(iter(left_out.items()))
            raise ValueError(f"No method of AutoMultiLabel could be fitted; {name}: {reason}") from failure
        return tried, judged, left_out

    def _candidates(self) -> list[Candidate]:
        chosen = [c for c in PORTFOLIO if self.methods is None or c.name in self.methods]
        unknown = set(self.methods or ()) - {c.name for c in PORTFOLIO}
        if unknown or not chosen:
            names = ", ".join(c.name for c in PORTFOLIO)
            raise ValueError(f"methods must name some of: {names}; got {self.methods}.")
        # Where no label varies any model says the same.
        return chosen[:1] if self._constant.all() else chosen

    def _splits(self, X: Any, Y: sparse.csr_array, groups: Any) -> list[tuple[np.ndarray, np.ndarray]]:
        cv = self.cv
        if cv is None:
            cv = min(3 if X.shape[0] > 4000 else 5, X.shape[0])
        return [(np.asarray(a), np.asarray(b)) for a, b in resolve_cv(cv, Y, groups).split(X, Y, groups)]

    def _cut_scoring(self) -> str:
        return self.scoring if self.scoring in _CUT_MEASURES else "f1_macro"

    def _criterion(self, scorer: Any) -> Any:
        """Return the scorer of grids: for measures of label sets, the best that cuts could reach."""
        by_sets = isinstance(self.scoring, str) and self.scoring.startswith(_SET_MEASURES)
        return _AttainableScore(self._cut_scoring()) if by_sets else scorer

    # -- the winner ---------------------------------------------------------------------------------

    def _finish(self, task: Task, tried: list[Tried], judged: list[_Judged], judge: _Judge) -> None:
        best = judged[0]
        chosen = [tried[i] for i in best.members]
        self.calibrations_ = [] if len(chosen) == 1 else [judge.calibration(t.scores) for t in chosen]
        known = judge.known
        oof = _combine([t.scores[known] for t in chosen], self.calibrations_)
        self.thresholds_ = judge.cuts(best.rule, oof, task.Y[known])
        scores = np.full(task.Y.shape, np.nan)
        scores[known] = oof
        self.oof_scores_ = scores[:, 0] if self._layout.kind == "binary" else scores
        self._keep_truth(task.Y)
        self.members_ = [clone(t.model).fit(task.X, task.Y) for t in chosen]
        self._indicator = task.layout

    def _report(
        self, task: Task, tried: list[Tried], judged: list[_Judged], left_out: dict[str, str]
    ) -> None:
        share = float(np.mean([len(test) / len(train) for train, test in task.splits]))
        best = judged[0]
        rows: list[dict[str, Any]] = []
        for j in judged:
            paired = (
                corrected_resampled_t(best.values, j.values, test_share=share)
                if len(j.values) > 1 and j is not best
                else None
            )
            rows.append(
                {
                    "method": j.name,
                    "params": [tried[i].params for i in j.members],
                    "rule": j.rule,
                    "score": float(j.values.mean()),
                    "spread": float(j.values.std()),
                    "behind": 0.0 if paired is None else paired.mean,
                    "low": 0.0 if paired is None else paired.low,
                    "high": 0.0 if paired is None else paired.high,
                    "seconds": j.seconds,
                }
            )
        left = [{"method": name, "left_out": why} for name, why in left_out.items()]
        self.leaderboard_ = Table(rows + left)
        text = f"{best.name} with {best.rule} cuts: {rows[0]['score']:.3f} over {len(best.values)} folds"
        others = [row for j, row in zip(judged, rows, strict=True) if not set(j.members) & set(best.members)]
        if others:
            near = others[0]
            sure = "clearly better than" if near["low"] > 0 else "not clearly better than"
            text += (
                f"; {sure} {near['method']} ({near['score']:.3f}, behind by {near['behind']:.3f}, "
                f"95 % interval {near['low']:.3f} to {near['high']:.3f})"
            )
        self.summary_ = text + "."

    # -- scores -------------------------------------------------------------------------------------

    def _as_rows(self, X: Any) -> Any:
        """Rows that are mostly zeros are worked on sparse, others dense, however they came."""
        if self._mostly_zero:
            return sparse.csr_array(X)
        return X.toarray() if sparse.issparse(X) else X

    def _scaled(self, X: Any) -> Any:
        return X if self.scaler_ is None else self.scaler_.transform(X)

    def _scores(self, X: Any) -> np.ndarray:
        X = self._scaled(self._as_rows(X))
        return _combine([score_rows(m, X, self._indicator) for m in self.members_], self.calibrations_)

    def _view(self, Z: Any, names: Any, columns: Any) -> View:
        Z = None if Z is None else self._scaled(self._as_rows(Z))
        if any(hasattr(member, "steps") for member in self.members_):
            raise ValueError(
                "The model AutoMultiLabel chose goes through kernels or other steps: it is not linear."
            )
        parts = [view(member, Z, names, columns) for member in self.members_]
        if not self.calibrations_:
            return parts[0]
        odds = zip(parts, self.calibrations_, strict=True)
        scaled = [part.scaled(found.slope, found.intercept, columns) for part, found in odds]
        coef = np.mean([part.coef for part in scaled], axis=0)
        return View(parts[0].Z, names, coef, np.mean([part.intercept for part in scaled], axis=0))

    def _score_blocks(self, X: Any) -> Iterator[tuple[slice, np.ndarray]]:
        # members place constant labels themselves
        for batch in score_batches(X.shape[0], self._layout.n_columns):
            yield batch, self._scores(X[batch])


def density(X: Any) -> float:
    """Return the share of entries that are not zero."""
    return (X.nnz if sparse.issparse(X) else np.count_nonzero(X)) / max(X.shape[0] * X.shape[1], 1)


class _Judge:
    """Values of scores on each fold, with everything tuned on the other folds."""

    def __init__(self, task: Task, scorer: Any, cut_scoring: str) -> None:
        self.task, self.scorer, self.cut_scoring = task, scorer, cut_scoring
        tests = [test for _, test in task.splits]
        self.known = np.unique(np.concatenate(tests))
        self.folds = [(np.setdiff1d(self.known, test), test) for test in tests]
        self.seconds = 0.0  # what judging one candidate took last

    def cuts(self, rule: str, scores: np.ndarray, Y: sparse.csr_array) -> np.ndarray:
        if rule == "per-label":
            return per_label_cuts(scores, Y, scoring=self.cut_scoring).cuts
        return global_cut(scores, Y, scoring=self.cut_scoring).cuts

    def calibration(self, scores: np.ndarray) -> Sigmoid:
        return Sigmoid.fit(scores[self.known], self.task.Y[self.known])

    def one(self, index: int, tried: Tried) -> _Judged:
        start = time.perf_counter()
        found = self._best(tried.name, (index,), [tried], tried.seconds)
        self.seconds = time.perf_counter() - start
        return found

    def blends(self, tried: list[Tried], judged: list[_Judged], deadline: float) -> list[_Judged]:
        """Blends of the best two, three and five candidates of different kinds, while time allows."""
        order: list[int] = []
        for j in judged:  # one of each kind
            if all(tried[i].name != tried[j.members[0]].name for i in order):
                order.append(j.members[0])
        found: list[_Judged] = []
        for size in (2, 3, 5):
            members = tuple(order[:size])
            refits = sum(tried[i].refit_seconds for i in members)
            judging = (2 + size) * self.seconds  # members are calibrated as well
            if len(members) < size or time.perf_counter() + judging + 1.5 * refits > deadline:
                break
            parts = [tried[i] for i in members]
            name = "blend of " + ", ".join(p.name for p in parts)
            found.append(self._best(name, members, parts, sum(p.seconds for p in parts)))
        return found

    def _best(self, name: str, members: tuple[int, ...], parts: list[Tried], seconds: float) -> _Judged:
        rules = ("per-label", "global")
        table = np.empty((len(rules), len(self.folds)))
        for fold, (others, test) in enumerate(self.folds):
            Y = self.task.Y[others]
            calibrated = [Sigmoid.fit(p.scores[others], Y) for p in parts] if len(parts) > 1 else []
            fitted_on = _combine([p.scores[others] for p in parts], calibrated)
            judged_on = _combine([p.scores[test] for p in parts], calibrated)
            for row, rule in enumerate(rules):
                cuts = self.cuts(rule, fitted_on, Y)
                table[row, fold] = self._value(judged_on, cuts, test)
        best = int(table.mean(axis=1).argmax())
        return _Judged(name, members, rules[best], table[best], seconds)

    def _value(self, scores: np.ndarray, cuts: np.ndarray, test: np.ndarray) -> float:
        layout = self.task.layout
        truth = self.task.Y[test] if layout.is_sparse else self.task.Y[test].toarray().astype(int)
        return float(self.scorer(_CutScores(scores, cuts, layout), self.task.X[test], truth))


class _CutScores(KnownScores):
    """Known scores whose label sets come from cuts, the scores themselves staying as they are."""

    def __init__(self, scores: np.ndarray, cuts: np.ndarray, layout: Any) -> None:
        super().__init__(scores, layout)
        self.cuts = cuts

    def predict(self, X: Any) -> Any:
        return decode(self.layout, iter([self.scores - self.cuts]))


class _AttainableScore:
    """Scorer of a grid: the measure that the best cuts reach on the fold itself."""

    def __init__(self, scoring: str) -> None:
        self.scoring = scoring

    def __call__(self, estimator: Any, X: Any, y: Any) -> float:
        scores = estimator.decision_function(X)
        value = per_label_cuts(scores, sparse.csr_array(y), scoring=self.scoring, shrinkage=0.0).value
        return -value if self.scoring == "hamming_loss" else value


def _combine(scores: list[np.ndarray], calibrations: list[Sigmoid]) -> np.ndarray:
    """Return the scores of one model as they are, or the mean calibrated log-odds of several."""
    if not calibrations:
        return scores[0]
    odds = [s * c.slope + c.intercept for s, c in zip(scores, calibrations, strict=True)]
    return np.mean(odds, axis=0)
