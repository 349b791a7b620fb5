"""AutoMultiLabel: try a portfolio on the same folds, tune the thresholds, say what was chosen and how sure.

1. Rows are prepared in the way that serves the shared ridge best, out of fold.
2. Every candidate gives out-of-fold scores on the same folds (`meta.portfolio`).
3. A candidate's worth is its measure with thresholds tuned on the *other* folds, fold by fold: the thresholds
   never see the rows they are judged on.
4. The best few are also blended (`meta.candidate_selection`); calibration and weights are refitted likewise.
5. A stacked blend of the best few wins unless another is better by more than one standard deviation over the
   folds. For macro-F1 the equal blend of landmarks and trees does, and for sparse rows the ridge, unless
   another gains more than its noise.
6. The winner is fitted on all rows, with thresholds from all out-of-fold scores.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from hyperlabel._base import MultiLabelClassifier, decode_scores, score_batches, score_dtype, score_rows
from hyperlabel._callbacks import CallbackSupportMixin, FitSteps, report_fit
from hyperlabel._missing_labels import label_counts
from hyperlabel._params import NONE, Rule, callable_, whole
from hyperlabel._tables import Table
from hyperlabel.decision.thresholds import can_tune_each_label
from hyperlabel.linear.fit_rows import known_rows_only
from hyperlabel.meta.candidate_selection import BLENDED, AttainableScore, CandidateScore, Selector
from hyperlabel.meta.label_trees import ConsistentLabels
from hyperlabel.meta.linear_view import LinearView, linear_view
from hyperlabel.meta.portfolio import PORTFOLIO, Candidate, CandidateRun, OutOfTime, Task, choose_preprocessor
from hyperlabel.metrics import get_scorer
from hyperlabel.metrics.measures import find_measure
from hyperlabel.metrics.statistics import corrected_resampled_t
from hyperlabel.model_selection.folds import make_folds
from hyperlabel.moments.cross_validate import as_indicator
from hyperlabel.moments.linear_map import not_linear
from hyperlabel.moments.probabilities import OutOfFoldProbabilities
from hyperlabel.solvers.arrays import mostly_zero
from hyperlabel.solvers.clock import working_seconds

TESTED, LEAST_TESTED = 2e7, 3000  # scores, and rows, that candidates of large tables are judged on


@dataclass(eq=False, repr=False)
class AutoMultiLabel(CallbackSupportMixin, ConsistentLabels, OutOfFoldProbabilities, MultiLabelClassifier):
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
        large tables test only some rows: 20 million scores.
        Give groups to `fit` for grouped folds, a `TimeOrderedSplit` for time-ordered ones.
    methods : sequence of str, default=None
        Names to try, of ``ridge``, ``kernel-ridge``, ``forest``, ``plst``, ``spectral``, ``hopls-mlknn``,
        ``linear-svm``, ``rank-svm``, ``logistic`` and ``chain-ensemble``; None is all.
    blend : bool, default=True
        Whether to try means of the best candidates' calibrated scores as well, with equal weights and with
        weights of least log-loss.
    label_tree : LabelTree or mapping of labels to parents, default=None
        Labels that lie under labels. Ancestors are added to the training labels, no score is above that of an
        ancestor, and no label is predicted without its ancestors.
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
        rows that are mostly zeros, whichever gave the shared ridge the best out-of-fold score.
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

    y may hold NaN where nobody knows a label: methods that need every label are skipped, and say so.

    scikit-learn's callbacks (its version 1.9) hear of every method and of the last fit: see `set_callbacks`.

    Examples
    --------
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from hyperlabel import AutoMultiLabel
    >>> X, Y = make_multilabel_classification(n_samples=150, random_state=0)
    >>> model = AutoMultiLabel(methods=["ridge", "plst"]).fit(X, Y)
    >>> model.leaderboard_[0]["score"] >= model.leaderboard_[1]["score"]
    True
    """

    _accepts_missing_labels = True
    _rules: ClassVar[dict[str, Rule]] = {"verbose": whole(0), "on_candidate": callable_() | NONE}

    scoring: Any = "f1_macro"
    _: KW_ONLY
    time_budget: float = 60.0
    cv: Any = None
    methods: Sequence[str] | None = None
    blend: bool = True
    label_tree: Any = None
    n_jobs: int | None = None
    random_state: int | None = 0
    verbose: int = 0
    on_candidate: Callable[[dict[str, Any]], Any] | None = None

    def fit(self, X: Any, y: Any, groups: Any = None) -> AutoMultiLabel:
        """Try the portfolio on folds that keep `groups` together, and fit the winner on all rows."""
        deadline = self._clock() + float(self.time_budget)
        X, Y = self._check_fit(X, self._imply_sets(y), min_samples=2)
        if self.label_tree is not None:
            Y = self._imply_columns(Y, self._layout)
            counts, known_rows = label_counts(Y, None)
            self._set_targets(self._layout, counts=counts, n_rows=known_rows)
        candidates = self._select_candidates()
        with report_fit(self, X, y, n_steps=len(candidates) + 1) as steps:
            self._fit_portfolio(X, Y, groups, candidates, deadline, steps)
        return self

    def _fit_portfolio(
        self,
        X: Any,
        Y: sparse.csr_array,
        groups: Any,
        candidates: list[Candidate],
        deadline: float,
        steps: FitSteps,
    ) -> None:
        X, Y, groups, cv = known_rows_only(X, Y, groups, self.cv)
        self._mostly_zero = mostly_zero(X)
        X = self._as_rows(X)
        scorer = get_scorer(self.scoring)
        task = Task(
            X,
            Y,
            as_indicator(self._layout),
            self._make_splits(X, Y, groups, cv),
            self._choose_criterion(scorer),
            self.n_jobs,
            self.random_state,
            self._clock,
        )
        self.preprocessor_, X = choose_preprocessor(task, deadline)
        task = replace(task, X=X)
        selector = Selector(task, scorer, self._threshold_scoring(), ranks=self._scoring_reads("scores"))
        candidate_runs, candidate_scores, skipped = self._try_candidates(
            candidates, task, selector, deadline, steps
        )
        end_step = steps.begin("fit the winner")
        if self.blend:
            for blend_score in selector.blends(candidate_runs, candidate_scores, deadline):
                candidate_scores.append(blend_score)
                self._announce_row(self._make_board_row(blend_score, candidate_runs))
        candidate_scores = selector.ordered(candidate_runs, candidate_scores)
        self._fit_winner(task, candidate_runs, candidate_scores, selector)
        self._write_report(task, candidate_runs, candidate_scores, skipped)
        end_step()

    def predict(self, X: Any) -> Any:
        """Label sets of each row by `thresholds_`, in the form y had in `fit`."""
        X = self._check_predict(X)
        thresholds = self.thresholds_ if self._layout.kind != "multiclass" else 0.0
        margins = (self._raise(block - thresholds) for _, block in self._score_blocks(X))
        return decode_scores(self._layout, margins)

    @staticmethod
    def _clock() -> float:
        """Return the seconds that `time_budget` limits; a benchmark may put another clock here."""
        return working_seconds()

    # -- trying -------------------------------------------------------------------------------------

    def _try_candidates(
        self, candidates: list[Candidate], task: Task, selector: Selector, deadline: float, steps: FitSteps
    ) -> tuple[list[CandidateRun], list[CandidateScore], dict[str, str]]:
        candidate_runs: list[CandidateRun] = []
        candidate_scores: list[CandidateScore] = []
        skipped: dict[str, str] = {}
        first_failure: Exception | None = None
        for i, candidate in enumerate(candidates, 1):
            end_step = steps.begin(candidate.name)
            try:
                self._try_candidate(candidate, task, selector, deadline, candidate_runs, candidate_scores)
            except Exception as refusal:  # one method may fail on these samples where others work
                skipped[candidate.name] = str(refusal) or type(refusal).__name__
                first_failure = first_failure or refusal
                self._announce_row({"method": candidate.name, "skipped": skipped[candidate.name]})
            if end_step() and candidate_runs:
                skipped |= {unseen.name: "stopped by a callback" for unseen in candidates[i:]}
                break
        if not candidate_runs:
            name, reason = next(iter(skipped.items()))
            raise ValueError(
                f"No method of AutoMultiLabel could be fitted; {name}: {reason}"
            ) from first_failure
        return candidate_runs, candidate_scores, skipped

    def _try_candidate(
        self,
        candidate: Candidate,
        task: Task,
        selector: Selector,
        deadline: float,
        candidate_runs: list[CandidateRun],
        candidate_scores: list[CandidateScore],
    ) -> None:
        """Run a candidate and add what it gives to runs and scores; one that would not finish is refused."""
        # Scoring it, then blending and refitting the best so far, must still fit in the budget.
        leading_runs = selector.leaders(candidate_runs, candidate_scores)[: BLENDED if self.blend else 1]
        reserved_seconds = selector.seconds + selector.needs(candidate_runs, leading_runs)
        needed = 1.5 * candidate_runs[0].seconds if candidate_runs and candidate.like_ridge else 0.0
        if candidate_runs and self._clock() + reserved_seconds + needed > deadline:
            is_too_slow = self._clock() + needed > deadline
            raise OutOfTime(needed) if is_too_slow else TimeoutError("no time left")
        for candidate_run in candidate.run(task, deadline - reserved_seconds if candidate_runs else np.inf):
            candidate_scores.append(selector.one(len(candidate_runs), candidate_run))
            candidate_runs.append(candidate_run)
            self._announce_row(self._make_board_row(candidate_scores[-1], candidate_runs))

    def _select_candidates(self) -> list[Candidate]:
        chosen_candidates = [c for c in PORTFOLIO if self.methods is None or c.name in self.methods]
        unknown_names = set(self.methods or ()) - {c.name for c in PORTFOLIO}
        if unknown_names or not chosen_candidates:
            portfolio_names = ", ".join(c.name for c in PORTFOLIO)
            raise ValueError(f"methods must name some of: {portfolio_names}; got {self.methods}.")
        # Where no label varies, every model predicts the same.
        return chosen_candidates[:1] if self._constant.all() else chosen_candidates

    def _make_splits(
        self, X: Any, Y: sparse.csr_array, groups: Any, cv: Any
    ) -> list[tuple[np.ndarray, np.ndarray]]:
        if cv is None:
            cv = min(3 if X.shape[0] > 4000 else 5, X.shape[0])
        splits = make_folds(cv, Y, groups, X=X)
        max_test_rows = (
            int(max(TESTED / Y.shape[1], LEAST_TESTED) / len(splits)) if self.cv is None else X.shape[0]
        )
        rng = np.random.default_rng(0)
        return [
            (train_rows, np.sort(rng.permutation(test_rows)[:max_test_rows]))
            for train_rows, test_rows in splits
        ]

    def _threshold_scoring(self) -> str:
        return self.scoring if can_tune_each_label(self.scoring) else "f1_macro"

    def _choose_criterion(self, scorer: Any) -> Any:
        """Return the scorer of grids: for measures of label sets, the best that thresholds could reach."""
        return AttainableScore(self._threshold_scoring()) if self._scoring_reads("label_sets") else scorer

    def _scoring_reads(self, kind: str) -> bool:
        measure = find_measure(self.scoring)
        return measure is not None and measure.reads == kind

    # -- the winner ---------------------------------------------------------------------------------

    def _fit_winner(
        self,
        task: Task,
        candidate_runs: list[CandidateRun],
        candidate_scores: list[CandidateScore],
        selector: Selector,
    ) -> None:
        best_score = candidate_scores[0]
        chosen_runs = [candidate_runs[i] for i in best_score.members]
        oof_rows = selector.oof_rows
        self.blend_ = selector.blend(best_score, chosen_runs)
        oof_scores = self._raise(self.blend_([run.scores[oof_rows] for run in chosen_runs]))
        self.thresholds_ = selector.thresholds(best_score.threshold_strategy, oof_scores, task.Y[oof_rows])
        all_scores = np.full(task.Y.shape, np.nan)
        all_scores[oof_rows] = oof_scores
        self.oof_scores_ = all_scores[:, 0] if self._layout.kind == "binary" else all_scores
        self._keep_truth(task.Y)
        self.estimators_ = [run.fitted(task) for run in chosen_runs]
        self._indicator = task.layout

    def _make_board_row(
        self,
        candidate_score: CandidateScore,
        candidate_runs: list[CandidateRun],
        best_values: np.ndarray | None = None,
        test_share: float = 0.0,
    ) -> Any:
        """Return a row of the leaderboard, compared with the values of the best where they are known."""
        board_row: dict[str, Any] = {
            "method": candidate_score.name,
            "params": [candidate_runs[i].params for i in candidate_score.members],
            "threshold_strategy": candidate_score.threshold_strategy,
            "score": float(candidate_score.values.mean()),
            "std": float(candidate_score.values.std()),
        }
        if best_values is not None:
            is_best = len(best_values) < 2 or candidate_score.values is best_values
            paired_test = (
                None
                if is_best
                else corrected_resampled_t(best_values, candidate_score.values, test_share=test_share)
            )
            board_row |= {name: getattr(paired_test, name, 0.0) for name in ("low", "high")}
            board_row["score_difference"] = getattr(paired_test, "mean", 0.0)
        if len(candidate_score.members) > 1:
            board_row["weights"] = [round(weight, 3) for weight in candidate_score.weights]
        return board_row | {"seconds": candidate_score.seconds}

    def _announce_row(self, row: dict[str, Any]) -> None:
        if self.verbose:
            outcome_text = (
                row.get("skipped") or f"{row['score']:.4f} ± {row['std']:.4f}  {row['seconds']:7.1f} s"
            )
            print(f"{row['method']:40.40s}  {outcome_text}", flush=True)
        if self.on_candidate is not None:
            self.on_candidate(row)

    def _write_report(
        self,
        task: Task,
        candidate_runs: list[CandidateRun],
        candidate_scores: list[CandidateScore],
        skipped: dict[str, str],
    ) -> None:
        test_share = float(np.mean([len(test) / len(train) for train, test in task.splits]))
        best_score = candidate_scores[0]
        board_rows = [
            self._make_board_row(score, candidate_runs, best_score.values, test_share)
            for score in candidate_scores
        ]
        skipped_rows = [{"method": name, "skipped": reason} for name, reason in skipped.items()]
        self.leaderboard_ = Table(board_rows + skipped_rows)
        summary = (
            f"{best_score.name} with {best_score.threshold_strategy} thresholds: "
            f"{board_rows[0]['score']:.3f} over {len(best_score.values)} folds"
        )
        rival_rows = [
            row
            for score, row in zip(candidate_scores, board_rows, strict=True)
            if not set(score.members) & set(best_score.members)
        ]
        if rival_rows:
            rival = rival_rows[0]
            verdict = "clearly better than" if rival["low"] > 0 else "not clearly better than"
            summary += (
                f"; {verdict} {rival['method']} ({rival['score']:.3f}, "
                f"lower by {rival['score_difference']:.3f}, "
                f"95 % interval {rival['low']:.3f} to {rival['high']:.3f})"
            )
        self.summary_ = summary + "."

    # -- scores -------------------------------------------------------------------------------------

    def _as_rows(self, X: Any) -> Any:
        """Rows that are mostly zeros are worked on sparse, others dense, however they came."""
        if self._mostly_zero:
            return sparse.csr_array(X)
        return X.toarray() if sparse.issparse(X) else X

    def _prepare_rows(self, X: Any) -> Any:
        X = self._as_rows(X)
        return X if self.preprocessor_ is None else self.preprocessor_.transform(X)

    def _scores(self, X: Any) -> np.ndarray:
        X = self._prepare_rows(X)
        return self.blend_([score_rows(member, X, self._indicator) for member in self.estimators_])

    def _linear_view(self, Z: Any, names: Any, columns: Any) -> LinearView:
        Z = None if Z is None else self._prepare_rows(Z)
        if any(hasattr(member, "steps") for member in self.estimators_):
            raise ValueError(
                "The model AutoMultiLabel chose goes through kernels or other steps: it is not linear."
            )
        member_views = [linear_view(member, Z, names, columns) for member in self.estimators_]
        if not self.blend_.calibrations:
            return member_views[0]
        if not self.blend_.linear:
            raise not_linear("A blend of probabilities")
        ones = np.ones(len(self._constant))
        scaled_views = []
        for view, calibrator, weight in zip(
            member_views, self.blend_.calibrations, self.blend_.weights, strict=True
        ):
            slope, intercept = calibrator.linear()
            scaled_views.append(view.scaled(weight * slope * ones, weight * intercept * ones, columns))
        coef = np.sum([view.coef for view in scaled_views], axis=0)
        return LinearView(
            member_views[0].Z, names, coef, np.sum([view.intercept for view in scaled_views], axis=0)
        )

    def _score_blocks(self, X: Any) -> Iterator[tuple[slice, np.ndarray]]:
        # The estimators set the scores of constant labels themselves.
        for batch in score_batches(X.shape[0], self._layout.n_columns):
            yield batch, self._raise(self._scores(X[batch])).astype(score_dtype(X), copy=False)
