"""AutoMultiLabel: try a portfolio on the same folds, tune the thresholds, say what was chosen and how sure.

1. Rows are prepared in the way that serves the shared ridge best, out of fold.
2. Every candidate gives out-of-fold scores on the same folds (`meta.portfolio`).
3. A candidate's worth is its measure with thresholds tuned on the *other* folds, fold by fold: the thresholds
   never see the rows they are judged on.
4. The best few are also blended (`meta.candidate_selection`); calibration and weights are refitted likewise.
5. Landmarks and trees in equal parts win unless something else is better by more than a spread over folds;
   for macro-F1 of sparse rows the ridge does, unless something gains more than its noise.
6. The winner is fitted on all rows, with thresholds from all out-of-fold scores.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from hyperlabel._base import MultiLabelClassifier, decode_scores, score_batches, score_rows
from hyperlabel._params import NONE, Rule, callable_, whole
from hyperlabel._tables import Table
from hyperlabel.meta.candidate_selection import BLENDED, AttainableScore, CandidateScore, Selector
from hyperlabel.meta.linear_view import LinearView, linear_view
from hyperlabel.meta.portfolio import PORTFOLIO, Candidate, CandidateRun, OutOfTime, Task, choose_preprocessor
from hyperlabel.metrics import get_scorer
from hyperlabel.metrics.statistics import corrected_resampled_t
from hyperlabel.model_selection import resolve_cv
from hyperlabel.moments.cross_validate import as_indicator
from hyperlabel.moments.linear_map import not_linear
from hyperlabel.moments.probabilities import OutOfFoldProbabilities
from hyperlabel.solvers.arrays import mostly_zero
from hyperlabel.solvers.clock import working_seconds

_THRESHOLD_MEASURES = ("f1_macro", "f1_micro", "hamming_loss")
_SET_MEASURES = ("f1_", "precision_m", "precision_s", "precision_w", "recall_", "hamming", "subset")
_RANK_MEASURES = ("precision_at", "ndcg", "label_ranking", "ranking", "one_error", "coverage", "roc_auc")
TESTED, LEAST_TESTED = 2e7, 3000  # scores, and rows, that candidates of large tables are judged on


@dataclass(eq=False, repr=False)
class AutoMultiLabel(OutOfFoldProbabilities, MultiLabelClassifier):
    """Choose among the library's methods and scikit-learn's baselines, with tuned thresholds.

    Parameters
    ----------
    scoring : str or callable, default="f1_macro"
        What to maximise: a name of `hyperlabel.metrics.get_scorer_names`, or
        ``scorer(estimator, X, y)``.
    time_budget : float, default=60.0
        Seconds for everything, the final fit included. A candidate that would not finish is left
        out and listed as such; the cheapest one is always tried. Compiling code, which the first calls after
        an installation do, is not counted.
    cv : None, int, splitter or iterable of (train, test), default=None
        Folds on which candidates are compared; None means 5 stratified folds (3 above 4000 rows), of which
        large tables test a part of the rows: 20 million scores.
        Give groups to `fit` for grouped folds, a `TimeOrderedSplit` for time-ordered ones.
    methods : sequence of str, default=None
        Names to try, of ``ridge``, ``kernel-ridge``, ``forest``, ``plst``, ``spectral``, ``hopls-mlknn``,
        ``linear-svm``, ``rank-svm``, ``logistic`` and ``chain-ensemble``; None is all.
    blend : bool, default=True
        Whether to try means of the best candidates' calibrated scores as well, with equal weights and with
        weights learned for `scoring`.
    n_jobs : int, default=None
        Labels (trees) fitted in parallel where a method fits them one by one.
    random_state : int, default=0
        Seed of landmarks, trees and chains.
    verbose : int, default=0
        1 prints a line for each candidate as soon as it is judged.
    on_candidate : callable, default=None
        Called with the row of the leaderboard of each candidate as soon as it is judged, or left out.

    Attributes
    ----------
    leaderboard_ : list of dict
        Everything tried, what was chosen and then the best first: ``method``, ``params``,
        ``threshold_strategy``,
        ``score`` and ``std`` over the folds, ``score_difference`` to the chosen with its corrected 95 %
        interval
        ``low``, ``high`` (Nadeau & Bengio), ``seconds``, for blends ``weights``; then what was left out or
        failed, with the reason as ``skipped``.
    preprocessor_ : transformer or None
        What was done to the rows first: unit variance of dense columns; unit length, tf-idf or nothing for
        rows that are mostly zeros, as served the shared ridge best out of fold.
    summary_ : str
        What was chosen, why, and how sure.
    estimators_ : list of classifiers
        The fitted model, or the blended ones.
    thresholds_ : ndarray of shape (n_labels,)
        Predict where score > threshold.
    oof_scores_ : ndarray of shape (n_samples, n_labels)
        Out-of-fold scores of the winner.

    Notes
    -----
    The winner is picked on the folds it is scored on, so its score is slightly optimistic: judge it
    on rows it has not seen.

    Examples
    --------
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from hyperlabel import AutoMultiLabel
    >>> X, Y = make_multilabel_classification(n_samples=150, random_state=0)
    >>> model = AutoMultiLabel(methods=["ridge", "plst"]).fit(X, Y)
    >>> model.leaderboard_[0]["score"] >= model.leaderboard_[1]["score"]
    True
    """

    _rules: ClassVar[dict[str, Rule]] = {"verbose": whole(0), "on_candidate": callable_() | NONE}

    scoring: Any = "f1_macro"
    _: KW_ONLY
    time_budget: float = 60.0
    cv: Any = None
    methods: Sequence[str] | None = None
    blend: bool = True
    n_jobs: int | None = None
    random_state: int | None = 0
    verbose: int = 0
    on_candidate: Callable[[dict[str, Any]], Any] | None = None

    def fit(self, X: Any, y: Any, groups: Any = None) -> AutoMultiLabel:
        """Try the portfolio on folds that keep `groups` together, and fit the winner on all rows."""
        deadline = self._clock() + float(self.time_budget)
        X, Y = self._check_fit(X, y, min_samples=2)
        self._mostly_zero = mostly_zero(X)
        X = self._as_rows(X)
        scorer = get_scorer(self.scoring)
        task = Task(
            X,
            Y,
            as_indicator(self._layout),
            self._splits(X, Y, groups),
            self._criterion(scorer),
            self.n_jobs,
            self.random_state,
            self._clock,
        )
        self.preprocessor_, X = choose_preprocessor(task, deadline)
        task = replace(task, X=X)
        selector = Selector(task, scorer, self._threshold_scoring(), ranks=self._starts(_RANK_MEASURES))
        candidate_runs, candidate_scores, skipped = self._try_all(task, selector, deadline)
        if self.blend:
            for found in selector.blends(candidate_runs, candidate_scores, deadline):
                candidate_scores.append(found)
                self._tell(self._row(found, candidate_runs))
        candidate_scores = selector.ordered(candidate_runs, candidate_scores)
        self._finish(task, candidate_runs, candidate_scores, selector)
        self._report(task, candidate_runs, candidate_scores, skipped)
        return self

    def predict(self, X: Any) -> Any:
        """Label sets of each row by `thresholds_`, in the form y had in `fit`."""
        X = self._check_predict(X)
        thresholds = self.thresholds_ if self._layout.kind != "multiclass" else 0.0
        return decode_scores(self._layout, (block - thresholds for _, block in self._score_blocks(X)))

    @staticmethod
    def _clock() -> float:
        """Return the seconds that `time_budget` limits; a benchmark may put another clock here."""
        return working_seconds()

    # -- trying -------------------------------------------------------------------------------------

    def _try_all(
        self, task: Task, selector: Selector, deadline: float
    ) -> tuple[list[CandidateRun], list[CandidateScore], dict[str, str]]:
        candidate_runs: list[CandidateRun] = []
        candidate_scores: list[CandidateScore] = []
        skipped: dict[str, str] = {}
        failure: Exception | None = None
        for candidate in self._candidates():
            # judging it, and the blend and the refits of what is best so far, must still fit in
            leaders = selector.leaders(candidate_runs, candidate_scores)[: BLENDED if self.blend else 1]
            reserve = selector.seconds + selector.needs(candidate_runs, leaders)
            needed = 1.5 * candidate_runs[0].seconds if candidate_runs and candidate.like_ridge else 0.0
            if candidate_runs and self._clock() + reserve + needed > deadline:
                skipped[candidate.name] = str(OutOfTime(needed)) if needed else "no time left"
                self._tell({"method": candidate.name, "skipped": skipped[candidate.name]})
                continue
            try:
                for found in candidate.run(task, deadline - reserve if candidate_runs else np.inf):
                    candidate_scores.append(selector.one(len(candidate_runs), found))
                    candidate_runs.append(found)
                    self._tell(self._row(candidate_scores[-1], candidate_runs))
            except Exception as refusal:  # of this method on these rows: the others may do
                skipped[candidate.name] = str(refusal) or type(refusal).__name__
                failure = failure or refusal
                self._tell({"method": candidate.name, "skipped": skipped[candidate.name]})
        if not candidate_runs:
            name, reason = next(iter(skipped.items()))
            raise ValueError(f"No method of AutoMultiLabel could be fitted; {name}: {reason}") from failure
        return candidate_runs, candidate_scores, skipped

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
        splits = [(np.asarray(a), np.asarray(b)) for a, b in resolve_cv(cv, Y, groups).split(X, Y, groups)]
        most = int(max(TESTED / Y.shape[1], LEAST_TESTED) / len(splits)) if self.cv is None else X.shape[0]
        rng = np.random.default_rng(0)
        return [(train, np.sort(rng.permutation(test)[:most])) for train, test in splits]

    def _threshold_scoring(self) -> str:
        return self.scoring if self.scoring in _THRESHOLD_MEASURES else "f1_macro"

    def _criterion(self, scorer: Any) -> Any:
        """Return the scorer of grids: for measures of label sets, the best that thresholds could reach."""
        return AttainableScore(self._threshold_scoring()) if self._starts(_SET_MEASURES) else scorer

    def _starts(self, names: tuple[str, ...]) -> bool:
        return isinstance(self.scoring, str) and self.scoring.startswith(names)

    # -- the winner ---------------------------------------------------------------------------------

    def _finish(
        self,
        task: Task,
        candidate_runs: list[CandidateRun],
        candidate_scores: list[CandidateScore],
        selector: Selector,
    ) -> None:
        best = candidate_scores[0]
        chosen = [candidate_runs[i] for i in best.members]
        known = selector.known
        self.blend_ = selector.blend(best, chosen)
        oof = self.blend_([t.scores[known] for t in chosen])
        self.thresholds_ = selector.thresholds(best.threshold_strategy, oof, task.Y[known])
        scores = np.full(task.Y.shape, np.nan)
        scores[known] = oof
        self.oof_scores_ = scores[:, 0] if self._layout.kind == "binary" else scores
        self._keep_truth(task.Y)
        self.estimators_ = [t.fitted(task) for t in chosen]
        self._indicator = task.layout

    def _row(
        self,
        candidate_scores: CandidateScore,
        candidate_runs: list[CandidateRun],
        best: np.ndarray | None = None,
        share: float = 0.0,
    ) -> Any:
        """Return a row of the leaderboard, compared with the values of the best where they are known."""
        row: dict[str, Any] = {
            "method": candidate_scores.name,
            "params": [candidate_runs[i].params for i in candidate_scores.members],
            "threshold_strategy": candidate_scores.threshold_strategy,
            "score": float(candidate_scores.values.mean()),
            "std": float(candidate_scores.values.std()),
        }
        if best is not None:
            same = len(best) < 2 or candidate_scores.values is best
            paired = None if same else corrected_resampled_t(best, candidate_scores.values, test_share=share)
            row |= {name: getattr(paired, name, 0.0) for name in ("low", "high")}
            row["score_difference"] = getattr(paired, "mean", 0.0)
        if len(candidate_scores.members) > 1:
            row["weights"] = [round(weight, 3) for weight in candidate_scores.weights]
        return row | {"seconds": candidate_scores.seconds}

    def _tell(self, row: dict[str, Any]) -> None:
        if self.verbose:
            words = row.get("skipped") or f"{row['score']:.4f} ± {row['std']:.4f}  {row['seconds']:7.1f} s"
            print(f"{row['method']:40.40s}  {words}", flush=True)
        if self.on_candidate is not None:
            self.on_candidate(row)

    def _report(
        self,
        task: Task,
        candidate_runs: list[CandidateRun],
        candidate_scores: list[CandidateScore],
        skipped: dict[str, str],
    ) -> None:
        share = float(np.mean([len(test) / len(train) for train, test in task.splits]))
        best = candidate_scores[0]
        rows = [self._row(j, candidate_runs, best.values, share) for j in candidate_scores]
        left = [{"method": name, "skipped": why} for name, why in skipped.items()]
        self.leaderboard_ = Table(rows + left)
        text = (
            f"{best.name} with {best.threshold_strategy} thresholds: {rows[0]['score']:.3f} "
            f"over {len(best.values)} folds"
        )
        others = [
            row
            for j, row in zip(candidate_scores, rows, strict=True)
            if not set(j.members) & set(best.members)
        ]
        if others:
            near = others[0]
            sure = "clearly better than" if near["low"] > 0 else "not clearly better than"
            text += (
                f"; {sure} {near['method']} ({near['score']:.3f}, lower by {near['score_difference']:.3f}, "
                f"95 % interval {near['low']:.3f} to {near['high']:.3f})"
            )
        self.summary_ = text + "."

    # -- scores -------------------------------------------------------------------------------------

    def _as_rows(self, X: Any) -> Any:
        """Rows that are mostly zeros are worked on sparse, others dense, however they came."""
        if self._mostly_zero:
            return sparse.csr_array(X)
        return X.toarray() if sparse.issparse(X) else X

    def _prepared(self, X: Any) -> Any:
        X = self._as_rows(X)
        return X if self.preprocessor_ is None else self.preprocessor_.transform(X)

    def _scores(self, X: Any) -> np.ndarray:
        X = self._prepared(X)
        return self.blend_([score_rows(member, X, self._indicator) for member in self.estimators_])

    def _linear_view(self, Z: Any, names: Any, columns: Any) -> LinearView:
        Z = None if Z is None else self._prepared(Z)
        if any(hasattr(member, "steps") for member in self.estimators_):
            raise ValueError(
                "The model AutoMultiLabel chose goes through kernels or other steps: it is not linear."
            )
        parts = [linear_view(member, Z, names, columns) for member in self.estimators_]
        if not self.blend_.calibrations:
            return parts[0]
        if not self.blend_.linear:
            raise not_linear("A blend of probabilities")
        ones = np.ones(len(self._constant))
        scaled = []
        for part, found, weight in zip(parts, self.blend_.calibrations, self.blend_.weights, strict=True):
            slope, intercept = found.linear()
            scaled.append(part.scaled(weight * slope * ones, weight * intercept * ones, columns))
        coef = np.sum([part.coef for part in scaled], axis=0)
        return LinearView(parts[0].Z, names, coef, np.sum([part.intercept for part in scaled], axis=0))

    def _score_blocks(self, X: Any) -> Iterator[tuple[slice, np.ndarray]]:
        # members place constant labels themselves
        for batch in score_batches(X.shape[0], self._layout.n_columns):
            yield batch, self._scores(X[batch])
