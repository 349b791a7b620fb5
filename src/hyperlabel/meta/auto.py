"""AutoMultiLabel: try a portfolio on the same folds, tune the cuts, say what was chosen and how sure.

1. Rows are prepared in the way that serves the shared ridge best, out of fold.
2. Every candidate gives out-of-fold scores on the same folds (`meta.portfolio`).
3. A candidate's worth is its measure with cuts tuned on the *other* folds, fold by fold: the cuts
   never see the rows they are judged on.
4. The best few are also blended (`meta.judging`); calibration and weights are refitted likewise.
5. Landmarks and trees in equal parts win unless something else is better by more than a spread over folds;
   for macro-F1 of sparse rows the ridge does, unless something gains more than its noise.
6. The winner is fitted on all rows, with cuts from all out-of-fold scores.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from hyperlabel._base import MultiLabelClassifier, decode, score_batches, score_rows
from hyperlabel._params import NONE, Rule, callable_, whole
from hyperlabel._tables import Table
from hyperlabel.meta.judging import BLENDED, AttainableScore, Judge, Judged
from hyperlabel.meta.portfolio import PORTFOLIO, Candidate, OutOfTime, Task, Tried, choose_preparation
from hyperlabel.meta.view import View, view
from hyperlabel.metrics import get_scorer
from hyperlabel.metrics.statistics import corrected_resampled_t
from hyperlabel.model_selection import resolve_cv
from hyperlabel.moments.cross_validate import as_indicator
from hyperlabel.moments.linear_map import not_linear
from hyperlabel.moments.probabilities import OutOfFoldProbabilities
from hyperlabel.solvers._compile import working_seconds
from hyperlabel.solvers.arrays import mostly_zero

_CUT_MEASURES = ("f1_macro", "f1_micro", "hamming_loss")
_SET_MEASURES = ("f1_", "precision_m", "precision_s", "precision_w", "recall_", "hamming", "subset")
_RANK_MEASURES = ("precision_at", "ndcg", "label_ranking", "ranking", "one_error", "coverage", "roc_auc")
TESTED, LEAST_TESTED = 2e7, 3000  # scores, and rows, that candidates of large tables are judged on


@dataclass(eq=False, repr=False)
class AutoMultiLabel(OutOfFoldProbabilities, MultiLabelClassifier):
    """Choose among the library's methods and scikit-learn's baselines, with tuned cuts.

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
        Everything tried, what was chosen and then the best first: ``method``, ``params``, ``rule`` (cuts),
        ``score`` and ``spread`` over the folds, ``behind`` the chosen with its corrected 95 % interval
        ``low``, ``high`` (Nadeau & Bengio), ``seconds``, for blends ``weights``; then what was left out or
        failed, with the reason as ``left_out``.
    preparation_ : transformer or None
        What was done to the rows first: unit variance of dense columns; unit length, tf-idf or nothing for
        rows that are mostly zeros, as served the shared ridge best out of fold.
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
        self.preparation_, X = choose_preparation(task, deadline)
        task = replace(task, X=X)
        judge = Judge(task, scorer, self._cut_scoring(), ranks=self._starts(_RANK_MEASURES))
        tried, judged, left_out = self._try_all(task, judge, deadline)
        if self.blend:
            for found in judge.blends(tried, judged, deadline):
                judged.append(found)
                self._tell(self._row(found, tried))
        judged = judge.ordered(tried, judged)
        self._finish(task, tried, judged, judge)
        self._report(task, tried, judged, left_out)
        return self

    def predict(self, X: Any) -> Any:
        """Label sets of each row by `thresholds_`, in the form y had in `fit`."""
        X = self._check_predict(X)
        cuts = self.thresholds_ if self._layout.kind != "multiclass" else 0.0
        return decode(self._layout, (block - cuts for _, block in self._score_blocks(X)))

    @staticmethod
    def _clock() -> float:
        """Return the seconds that `time_budget` limits; a benchmark may put another clock here."""
        return working_seconds()

    # -- trying -------------------------------------------------------------------------------------

    def _try_all(
        self, task: Task, judge: Judge, deadline: float
    ) -> tuple[list[Tried], list[Judged], dict[str, str]]:
        tried: list[Tried] = []
        judged: list[Judged] = []
        left_out: dict[str, str] = {}
        failure: Exception | None = None
        for candidate in self._candidates():
            # judging it, and the blend and the refits of what is best so far, must still fit in
            leaders = judge.leaders(tried, judged)[: BLENDED if self.blend else 1]
            reserve = judge.seconds + judge.needs(tried, leaders)
            needed = 1.5 * tried[0].seconds if tried and candidate.like_ridge else 0.0
            if tried and self._clock() + reserve + needed > deadline:
                left_out[candidate.name] = str(OutOfTime(needed)) if needed else "no time left"
                self._tell({"method": candidate.name, "left_out": left_out[candidate.name]})
                continue
            try:
                for found in candidate.run(task, deadline - reserve if tried else np.inf):
                    judged.append(judge.one(len(tried), found))
                    tried.append(found)
                    self._tell(self._row(judged[-1], tried))
            except Exception as refusal:  # of this method on these rows: the others may do
                left_out[candidate.name] = str(refusal) or type(refusal).__name__
                failure = failure or refusal
                self._tell({"method": candidate.name, "left_out": left_out[candidate.name]})
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
        splits = [(np.asarray(a), np.asarray(b)) for a, b in resolve_cv(cv, Y, groups).split(X, Y, groups)]
        most = int(max(TESTED / Y.shape[1], LEAST_TESTED) / len(splits)) if self.cv is None else X.shape[0]
        rng = np.random.default_rng(0)
        return [(train, np.sort(rng.permutation(test)[:most])) for train, test in splits]

    def _cut_scoring(self) -> str:
        return self.scoring if self.scoring in _CUT_MEASURES else "f1_macro"

    def _criterion(self, scorer: Any) -> Any:
        """Return the scorer of grids: for measures of label sets, the best that cuts could reach."""
        return AttainableScore(self._cut_scoring()) if self._starts(_SET_MEASURES) else scorer

    def _starts(self, names: tuple[str, ...]) -> bool:
        return isinstance(self.scoring, str) and self.scoring.startswith(names)

    # -- the winner ---------------------------------------------------------------------------------

    def _finish(self, task: Task, tried: list[Tried], judged: list[Judged], judge: Judge) -> None:
        best = judged[0]
        chosen = [tried[i] for i in best.members]
        known = judge.known
        self.blend_ = judge.blend(best, chosen)
        oof = self.blend_([t.scores[known] for t in chosen])
        self.thresholds_ = judge.cuts(best.rule, oof, task.Y[known])
        scores = np.full(task.Y.shape, np.nan)
        scores[known] = oof
        self.oof_scores_ = scores[:, 0] if self._layout.kind == "binary" else scores
        self._keep_truth(task.Y)
        self.members_ = [t.fitted(task) for t in chosen]
        self._indicator = task.layout

    def _row(
        self, judged: Judged, tried: list[Tried], best: np.ndarray | None = None, share: float = 0.0
    ) -> Any:
        """Return a row of the leaderboard, compared with the values of the best where they are known."""
        row: dict[str, Any] = {
            "method": judged.name,
            "params": [tried[i].params for i in judged.members],
            "rule": judged.rule,
            "score": float(judged.values.mean()),
            "spread": float(judged.values.std()),
        }
        if best is not None:
            same = len(best) < 2 or judged.values is best
            paired = None if same else corrected_resampled_t(best, judged.values, test_share=share)
            row |= {name: getattr(paired, name, 0.0) for name in ("low", "high")}
            row["behind"] = getattr(paired, "mean", 0.0)
        if len(judged.members) > 1:
            row["weights"] = [round(weight, 3) for weight in judged.weights]
        return row | {"seconds": judged.seconds}

    def _tell(self, row: dict[str, Any]) -> None:
        if self.verbose:
            words = (
                row.get("left_out") or f"{row['score']:.4f} ± {row['spread']:.4f}  {row['seconds']:7.1f} s"
            )
            print(f"{row['method']:40.40s}  {words}", flush=True)
        if self.on_candidate is not None:
            self.on_candidate(row)

    def _report(self, task: Task, tried: list[Tried], judged: list[Judged], left_out: dict[str, str]) -> None:
        share = float(np.mean([len(test) / len(train) for train, test in task.splits]))
        best = judged[0]
        rows = [self._row(j, tried, best.values, share) for j in judged]
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

    def _prepared(self, X: Any) -> Any:
        X = self._as_rows(X)
        return X if self.preparation_ is None else self.preparation_.transform(X)

    def _scores(self, X: Any) -> np.ndarray:
        X = self._prepared(X)
        return self.blend_([score_rows(member, X, self._indicator) for member in self.members_])

    def _view(self, Z: Any, names: Any, columns: Any) -> View:
        Z = None if Z is None else self._prepared(Z)
        if any(hasattr(member, "steps") for member in self.members_):
            raise ValueError(
                "The model AutoMultiLabel chose goes through kernels or other steps: it is not linear."
            )
        parts = [view(member, Z, names, columns) for member in self.members_]
        if not self.blend_.calibrations:
            return parts[0]
        if not self.blend_.linear:
            raise not_linear("A blend of chances")
        ones = np.ones(len(self._constant))
        scaled = []
        for part, found, weight in zip(parts, self.blend_.calibrations, self.blend_.weights, strict=True):
            slope, intercept = found.linear()
            scaled.append(part.scaled(weight * slope * ones, weight * intercept * ones, columns))
        coef = np.sum([part.coef for part in scaled], axis=0)
        return View(parts[0].Z, names, coef, np.sum([part.intercept for part in scaled], axis=0))

    def _score_blocks(self, X: Any) -> Iterator[tuple[slice, np.ndarray]]:
        # members place constant labels themselves
        for batch in score_batches(X.shape[0], self._layout.n_columns):
            yield batch, self._scores(X[batch])
