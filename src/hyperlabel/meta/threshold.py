"""Label sets from the scores of any classifier, by thresholds tuned on out-of-fold scores."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.utils.metaestimators import available_if

from hyperlabel._base import decode_scores, label_probabilities
from hyperlabel._params import NONE, one_of
from hyperlabel._sklearn_compat import safe_indexing
from hyperlabel._validation import TargetLayout, check_features
from hyperlabel.decision.calibrators import Calibrators
from hyperlabel.decision.risk_control import ERROR_CONTROLS
from hyperlabel.decision.strategies import (
    STRATEGIES,
    OutOfFold,
    Strategy,
    constant_thresholds,
    cross_decide,
    make_strategy,
)
from hyperlabel.decision.thresholds import decide
from hyperlabel.meta.wrapper_base import WrappingClassifier
from hyperlabel.metrics.measures import get_measure, score_parts
from hyperlabel.metrics.statistics import split_std
from hyperlabel.model_selection.folds import count_units, make_folds


def _has_probabilities(self: Any) -> bool:
    scored_estimator = self.estimator_ if hasattr(self, "estimator_") else self._get_estimator()
    return hasattr(self, "calibrators_") or hasattr(scored_estimator, "predict_proba")


@dataclass(eq=False, repr=False)
class ThresholdTuner(WrappingClassifier):
    r"""Decide which scores are high enough, by a rule tuned on out-of-fold scores.

    Label j of row x is predicted where :math:`f_j(x) > c_j`,

    where:

    - :math:`f_j` is the wrapped estimator's score, passed through unchanged: `decision_function`,
      `predict_topk` and every ranking stay as they were;
    - :math:`c_j` (`thresholds_`) is chosen on scores of rows the model had not seen.

    Strategies:

    ``"per_label"``
        A threshold for each label that maximises `scoring`. A label with P positives is drawn to the best
        shared threshold with weight `shrinkage` / (P + `shrinkage`).
    ``"global"``
        One threshold for all labels that maximises `scoring`.
    ``"top_k"``
        The `k` best labels of every row; None: the k that maximises `scoring`.
    ``"proportional"``
        Each label as often as in the training labels.
    ``"label_set_size"``
        A threshold h(x) for each row, regressed on x (:class:`hyperlabel.decision.LabelSetSize`); X must be
        numeric.
    ``"expected_f1"``
        For each row the set of greatest expected F1 under calibrated probabilities.
    ``"precision_at_least"``
        For each label the lowest threshold whose precision is at least `precision` with the `confidence`
        asked for (:func:`hyperlabel.decision.guarantee_precision`): P(guaranteed and violated) ≤ 1 −
        confidence. `guarantees_` lists threshold, bound and rows of each label, or how many more positive
        rows it would take; a label that cannot be guaranteed is never predicted. `coverage_` is the share of
        the true labels that are predicted.
    ``"recall_at_least"``
        For each label the highest threshold that misses at most 1 − `recall` of its rows, in expectation
        (conformal risk control).

    With ``cv="split"`` or ``"prefit"`` a guarantee is a theorem for independent rows (groups); with
    cross-fitted scores it rests on more rows and is measured only (``benchmarks/guarantees.py``), since the
    model fitted on all rows is another one than those that gave the scores. Every row counts alike in a
    guarantee, whatever its sample weight.

    Out-of-fold scores that the estimator brings along (`oof_scores_`) are used as they are; otherwise it
    is cross-validated. y may hold NaN where nobody knows a label, if the estimator takes it (a fitted one
    need not): thresholds are then tuned on the entries that are known; guarantees need all. A share between 0
    and 1 counts as the likelier answer here, and as unknown at ½. A 1-D y asks for one class of each row, not
    for thresholds: it is predicted as the
    estimator does.

    Parameters
    ----------
    estimator : classifier, default=None
        Anything with `decision_function` or `predict_proba`; None: :class:`BinaryRelevance`.
    strategy : str, default="per_label"
        See above.
    scoring : str, default="f1_macro"
        A measure of label sets: what `cv_score_` is, and what ``"per_label"``, ``"global"`` and ``"top_k"``
        maximise. They can do so for "f1_macro", "f1_micro", "f1_samples" (not ``"per_label"``),
        "hamming_loss", "jaccard_macro" and "jaccard_micro".
    cv : None, int, splitter, iterable, "split" or "prefit", default=None
        Folds of the out-of-fold scores: None takes the estimator's own if it has them, else 10 stratified
        folds where they have a closed form (the shared ridge), 5 elsewhere. ``"split"``: a third of the rows
        (groups) is held out for the rule, and the estimator fitted on the rest alone. ``"prefit"``: the
        estimator is fitted already and (X, y) are other rows.
    k : int, default=None
        Of ``"top_k"``.
    precision, recall : float, default=0.9
        Of ``"precision_at_least"`` and ``"recall_at_least"``.
    confidence : float, default=0.9
        Of ``"precision_at_least"``; a recall holds in expectation, without it.
    error_control : {None, "fdr", "per_label", "overall"}, default=None
        What is guaranteed: ``"fdr"`` (precision only) that the expected share of violated guarantees among
        the guaranteed labels is at most 1 − confidence, ``"per_label"`` each label by itself, ``"overall"``
        the precision of all that is predicted, or the mean share of a row's labels that is predicted. None
        is ``"fdr"`` for a precision and ``"per_label"`` for a recall.
    shrinkage : float, default=10.0
        Of ``"per_label"``, in positives; 0 leaves every label to itself.
    label_tree : LabelTree or mapping of labels to parents, default=None
        Labels that lie under labels. Ancestors are added to the training labels, no score is above that of an
        ancestor, and no label is predicted without its ancestors. A label whose precision cannot be
        guaranteed is predicted as its nearest ancestor that has a guarantee (`guarantees_` names it).
    n_jobs : int, default=None
        Folds fitted in parallel.

    Attributes
    ----------
    estimator_ : classifier
        Fitted on all rows.
    thresholds_ : ndarray of shape (n_labels,)
        The thresholds; inf for labels never predicted, -inf for labels always on in training (of the
        strategies with a threshold for each label).
    cv_score_, cv_score_std_ : float
        `scoring` on rows that neither the model nor the rule had seen, the rule being fitted on the other
        folds, and its standard deviation over the folds; a loss with a minus sign. Not of guarantees, which
        are tested on rows of their own.
    k_ : int
        Of ``"top_k"``.
    set_size_ : LabelSetSize
        Of ``"label_set_size"``.
    f1_sigmoid_ : Sigmoid
        Of ``"expected_f1"``.
    calibrators_ : Calibrators
        From scores to probabilities, where the estimator has no `predict_proba` of its own.
    guarantees_ : Guarantees
        Of ``"precision_at_least"`` and ``"recall_at_least"``: one line a label (one in all with
        ``error_control="overall"``); ``pandas.DataFrame(list(tuner.guarantees_))`` is a table.
    coverage_ : float
        Of the same: share of all true labels that are predicted, on the rows tested.
    classes_, label_names_ : ndarray
        As in every classifier of the library.

    References
    ----------
    Y. Yang, *A study of thresholding strategies for text categorization*, SIGIR 2001. R.-E. Fan,
    C.-J. Lin, *A study on threshold selection for multi-label classification*, 2007.

    Examples
    --------
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from hyperlabel import ThresholdTuner
    >>> X, y = make_multilabel_classification(n_samples=200, random_state=0)
    >>> tuned = ThresholdTuner().fit(X, y)
    >>> tuned.thresholds_.shape, bool(0.5 < tuned.cv_score_ < 1)
    ((5,), True)
    >>> (tuned.decision_function(X) == tuned.estimator_.decision_function(X)).all()
    np.True_
    """

    _rules: ClassVar = {"error_control": one_of(*ERROR_CONTROLS) | NONE}

    estimator: Any = None
    _: KW_ONLY
    strategy: str = "per_label"
    scoring: str = "f1_macro"
    cv: Any = None
    k: int | None = None
    precision: float = 0.9
    recall: float = 0.9
    confidence: float = 0.9
    error_control: str | None = None
    shrinkage: float = 10.0
    label_tree: Any = None
    n_jobs: int | None = None

    def fit(self, X: Any, y: Any, *, groups: Any = None, **params: Any) -> ThresholdTuner:
        """Fit the estimator on all rows and the rule on out-of-fold scores.

        `X` is anything the estimator takes. Rows of one of the `groups` stay together in every fold, the
        estimator's own among them. `params` go to the estimator's `fit` (a `sample_weight` also weighs in
        the tuning); they and the groups are routed as requested when metadata routing is enabled.
        """
        X, Y, routed = self._fit_estimator(X, y, groups, params, kinds=("multilabel",))
        if self._layout.kind != "multilabel":
            return self
        if self._constant.all() and not STRATEGIES[self.strategy].guarantees:
            self.thresholds_ = constant_thresholds(self._constant)
            return self
        on_new_rows = self._is_prefit() or self._is_split()
        scores, Y, weights, rows = self._out_of_fold_scores(X, y, Y, routed)
        if not hasattr(self.estimator_, "predict_proba"):
            self.calibrators_ = Calibrators.fit(scores, Y, weights)
        groups = routed["split"].get("groups")
        groups = None if groups is None else np.asarray(groups)[rows]
        Z = self._numeric_rows(X, rows) if STRATEGIES[self.strategy].needs_rows else None
        data = OutOfFold(scores, Y, weights, Z, self._constant, groups, self.label_names_, on_new_rows)
        self._fit_strategy(data)
        return self

    def _fit_strategy(self, data: OutOfFold) -> None:
        """Take over what the strategy fits, and score it on the other folds."""
        strategy = self._strategy()
        fitted = strategy.fit(data)
        if strategy.guarantees and self.error_control != "overall":
            guarantees = self._back_off(fitted["guarantees_"])
            fitted |= {"guarantees_": guarantees, "thresholds_": guarantees.thresholds}
        for name, value in fitted.items():
            setattr(self, name, value)
        if not strategy.guarantees:
            self._cross_score(strategy, data)

    def _check_settings(self, layout: TargetLayout) -> None:
        self._strategy().check(len(layout.classes))
        is_overall = STRATEGIES[self.strategy].guarantees and self.error_control == "overall"
        if self.label_tree is not None and is_overall and self.strategy == "precision_at_least":
            raise ValueError(
                "error_control='overall' counts all that is predicted, and a tree would add ancestors to "
                "it: guarantee each label, or leave label_tree=None."
            )
        if get_measure(self.scoring).reads != "label_sets":  # cv_score_ is of label sets
            raise ValueError(f"scoring must name a measure of label sets, got {self.scoring!r}.")

    def _strategy(self) -> Strategy:
        """Return the strategy with its parameters."""
        return make_strategy(self.strategy, self.get_params(deep=False))

    def _cross_score(self, strategy: Strategy, data: OutOfFold) -> None:
        """Score the rule on each fold, fitted on the others: all folds pooled, and their standard deviation.

        All folds are judged as one test set: macro-F1 of a small fold would count every label it lacks as 0.
        """
        self.cv_score_, self.cv_score_std_ = np.nan, np.nan
        if count_units(len(data.scores), data.groups) < 2:
            return
        folds = make_folds(None, data.Y, data.groups, at_most_rows=True)
        label_sets = self._raise(cross_decide(strategy, data, folds))
        parts = [slice(None), *(test_rows for _, test_rows in folds)]
        Y, weights = data.Y, data.sample_weight
        if weights is not None and weights.ndim == 2:  # a measure counts entries alike, or not at all
            Y, weights = sparse.csr_array(np.where(weights > 0, Y.toarray(), np.nan)), None
        self.cv_score_, *fold_scores = score_parts(get_measure(self.scoring), Y, label_sets, parts, weights)
        self.cv_score_std_ = split_std(fold_scores)

    def _numeric_rows(self, X: Any, rows: Any) -> Any:
        return check_features(self, safe_indexing(X, rows))

    def predict(self, X: Any) -> Any:
        """Label sets of each row, in the form y had in `fit`: its dtype, and sparse if that was sparse."""
        X = self._check_predict(X)
        if self._layout.kind != "multilabel":
            return decode_scores(self._layout, (block for _, block in self._score_blocks(X)))
        signs = (np.where(self._sets(X, rows, block), 1.0, -1.0) for rows, block in self._score_blocks(X))
        return decode_scores(self._layout, signs)

    def _sets(self, X: Any, rows: Any, scores: np.ndarray) -> np.ndarray:
        """Apply the rule to a block of scores; no label comes without its ancestors."""
        return self._raise(self._own_sets(X, rows, scores))

    def _own_sets(self, X: Any, rows: Any, scores: np.ndarray) -> np.ndarray:
        strategy = self._strategy()
        if hasattr(self, "thresholds_") and not strategy.guarantees:
            return decide(scores, self.thresholds_)
        Z = self._numeric_rows(X, rows) if strategy.needs_rows else None
        return strategy.decide(vars(self), scores, Z, self._constant)

    @available_if(_has_probabilities)
    def predict_proba(self, X: Any) -> Any:
        """Probability of each label, of shape (n_samples, n_labels): the wrapped estimator's own.

        Where it has none, its scores are calibrated by curves fitted on the out-of-fold ones.
        """
        X = self._check_predict(X)
        if not hasattr(self, "calibrators_"):
            return label_probabilities(self.estimator_, X)
        tiny = np.finfo(np.float32).eps
        return np.clip(self.calibrators_.probabilities(self.decision_function(X)), tiny, 1 - tiny)
